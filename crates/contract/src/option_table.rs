//! [`options!`](crate::options!) and [`words!`](crate::words!): an option's name, type, range, default and
//! meaning, declared once. The listing, the defaults and the parser come from that declaration.
//!
//! ```
//! syncline_contract::words! {
//!     /// Who chooses keys.
//!     pub enum Keys {
//!         /// The clients.
//!         Client = "client",
//!         /// The store.
//!         Server = "server",
//!     }
//! }
//!
//! syncline_contract::options! {
//!     /// What a user may choose.
//!     #[derive(Debug)]
//!     pub struct Options {
//!         pub rows: u64 = 1_000 in 1..=1_000_000, "rows of the table";
//!         pub keys: Keys = "client", "who chooses keys";
//!     }
//! }
//!
//! assert_eq!(Options::LISTING[0].takes, "a whole number from 1 to 1000000");
//! assert_eq!(Options::LISTING[1].takes, "client or server");
//! assert_eq!(Options::default().rows, 1_000);
//! ```
//!
//! A default is a literal in the form that a user would type. A number has a range. `as` names what reads
//! and writes the value if that is not its own type (`verify: bool as YesOrNo = "yes"`), or says in words
//! what it takes (`file: String as "files with commas" = "none"`). A name in parentheses behind a field is
//! the option's, where the field has another.

/// How values of a type are typed by a user and written into records.
pub trait OptionForm<T> {
    /// What it takes, in words.
    const TAKES: &'static str;

    /// The value of a text, if it is one.
    fn read(text: &str) -> Option<T>;

    /// The text of a value, which [`OptionForm::read`] reads back.
    fn text(value: &T) -> String;
}

/// Numbers that an option takes within a range.
pub trait OptionNumber {
    /// True if it has no fractions.
    const IS_WHOLE: bool;
}

impl OptionNumber for u64 {
    const IS_WHOLE: bool = true;
}

impl OptionNumber for f64 {
    const IS_WHOLE: bool = false;
}

crate::words! {
    /// A switch of sysbench's options.
    pub enum OnOrOff {
        /// True.
        On = "on",
        /// False.
        Off = "off",
    }
}

crate::words! {
    /// A yes or a no.
    pub enum YesOrNo {
        /// True.
        Yes = "yes",
        /// False.
        No = "no",
    }
}

impl OptionForm<bool> for OnOrOff {
    const TAKES: &'static str = <OnOrOff as OptionForm<OnOrOff>>::TAKES;

    fn read(text: &str) -> Option<bool> {
        <OnOrOff as OptionForm<OnOrOff>>::read(text).map(|word| word == OnOrOff::On)
    }

    fn text(value: &bool) -> String {
        if *value { "on" } else { "off" }.to_owned()
    }
}

impl OptionForm<bool> for YesOrNo {
    const TAKES: &'static str = <YesOrNo as OptionForm<YesOrNo>>::TAKES;

    fn read(text: &str) -> Option<bool> {
        <YesOrNo as OptionForm<YesOrNo>>::read(text).map(|word| word == YesOrNo::Yes)
    }

    fn text(value: &bool) -> String {
        if *value { "yes" } else { "no" }.to_owned()
    }
}

/// Declares options; see the module.
#[macro_export]
macro_rules! options {
    (
        $(#[$attribute:meta])*
        $visible:vis struct $Options:ident {
            $(
                $seen:vis $field:ident $(($name:literal))?: $kind:ty $(as $form:tt)?
                    = $default:literal $(in $low:literal..=$high:literal)?, $meaning:literal;
            )*
        }
    ) => {
        $(#[$attribute])*
        $visible struct $Options {
            $(#[doc = $meaning] $seen $field: $kind,)*
        }

        impl $Options {
            /// The options for a listing.
            pub const LISTING: &'static [$crate::OptionListing] = &[$($crate::OptionListing {
                name: $crate::options!(@name $field $($name)?),
                takes: $crate::options!(@takes [$kind] [$($form)?] [$($low $high)?]),
                default: concat!($default),
                meaning: $meaning,
            },)*];

            /// Each as given, or its default.
            pub(crate) fn read(
                given: &$crate::OptionArgs<'_>,
            ) -> Result<$Options, $crate::OptionError> {
                Ok($Options {
                    $($field: $crate::options!(
                        @read given [$crate::options!(@name $field $($name)?)]
                            [$kind] [$($form)?] [$($low $high)?]
                    ),)*
                })
            }

            /// Pairs of name and value, in the order of the listing.
            pub(crate) fn pairs(&self) -> Vec<(&'static str, String)> {
                vec![$((
                    $crate::options!(@name $field $($name)?),
                    $crate::options!(@text self.$field, [$kind] [$($form)?] [$($low)?]),
                ),)*]
            }
        }

        impl Default for $Options {
            fn default() -> $Options {
                $Options::read(&$crate::OptionArgs::none($Options::LISTING))
                    .expect("a default is a value")
            }
        }
    };

    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };

    (@takes [$kind:ty] [] [$low:literal $high:literal]) => {
        if <$kind as $crate::OptionNumber>::IS_WHOLE {
            concat!("a whole number from ", $low, " to ", $high)
        } else {
            concat!("a number from ", $low, " to ", $high)
        }
    };
    (@takes [$kind:ty] [$takes:literal] $range:tt) => { $takes };
    (@takes [$kind:ty] [$form:ident] []) => { <$form as $crate::OptionForm<$kind>>::TAKES };
    (@takes [$kind:ty] [] []) => { <$kind as $crate::OptionForm<$kind>>::TAKES };

    (@read $given:ident [$name:expr] [$kind:ty] $takes:tt [$low:literal $high:literal]) => {
        $given.in_range::<$kind>($name, $low as $kind..=$high as $kind)?
    };
    (@read $given:ident [$name:expr] [$kind:ty] [$takes:literal] []) => {
        $given.plain::<$kind>($name)?
    };
    (@read $given:ident [$name:expr] [$kind:ty] [$form:ident] []) => {
        $given.form::<$kind, $form>($name)?
    };
    (@read $given:ident [$name:expr] [$kind:ty] [] []) => {
        $given.form::<$kind, $kind>($name)?
    };

    (@text $value:expr, [$kind:ty] $takes:tt [$low:literal]) => { $value.to_string() };
    (@text $value:expr, [$kind:ty] [$takes:literal] []) => { $value.to_string() };
    (@text $value:expr, [$kind:ty] [$form:ident] []) => {
        <$form as $crate::OptionForm<$kind>>::text(&$value)
    };
    (@text $value:expr, [$kind:ty] [] []) => {
        <$kind as $crate::OptionForm<$kind>>::text(&$value)
    };
}

/// Declares the words that an option takes, as an enum; see the module.
#[macro_export]
macro_rules! words {
    (
        $(#[$attribute:meta])*
        $visible:vis enum $Name:ident {
            $($(#[$of:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visible enum $Name {
            $($(#[$of])* $variant,)*
        }

        impl $Name {
            /// All of them, in the order of their listing.
            $visible const ALL: [$Name; [$($word),*].len()] = [$($Name::$variant,)*];

            /// The word of the option.
            $visible fn word(self) -> &'static str {
                match self {
                    $($Name::$variant => $word,)*
                }
            }
        }

        impl $crate::OptionForm<$Name> for $Name {
            const TAKES: &'static str = $crate::words!(@takes $($word)*);

            fn read(text: &str) -> Option<$Name> {
                $Name::ALL.into_iter().find(|one| one.word().eq_ignore_ascii_case(text))
            }

            fn text(value: &$Name) -> String {
                value.word().to_owned()
            }
        }
    };

    (@takes $one:literal) => { $one };
    (@takes $one:literal $other:literal) => { concat!($one, " or ", $other) };
    (@takes $one:literal $($others:literal)+) => {
        concat!($one, ", ", $crate::words!(@takes $($others)+))
    };
}
