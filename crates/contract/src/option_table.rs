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
//! the option's, where the field has another. A default in brackets is said in words only, and the field is
//! none where the option is not given (`cache_kib: u64 = ["the store's own"] in 1..=1_000_000`).
//! `struct Options and [SOCKET, TLS]` lists options that others read, behind the struct's own; `..[SOCKET];`
//! before a field lists them there.

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

impl OptionNumber for u32 {
    const IS_WHOLE: bool = true;
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
        $visible:vis struct $Options:ident $(and [$($further:expr),* $(,)?])? {
            $(
                $(..[$($before:expr),* $(,)?];)?
                $seen:vis $field:ident $(($name:literal))?: $kind:ty $(as $form:tt)?
                    = $default:tt $(in $low:literal..=$high:literal)?, $meaning:literal;
            )*
        }
    ) => {
        $(#[$attribute])*
        $visible struct $Options {
            $(#[doc = $meaning] $seen $field: $crate::options!(@type [$kind] $default),)*
        }

        impl $Options {
            /// The options for a listing.
            $visible const LISTING: &'static [$crate::OptionListing] = &[
                $($($($before,)*)? $crate::OptionListing {
                    name: $crate::options!(@name $field $($name)?),
                    takes: $crate::options!(@takes [$kind] [$($form)?] [$($low $high)?]),
                    default: $crate::options!(@default $default),
                    meaning: $meaning,
                },)*
                $($($further,)*)?
            ];

            /// Each as given, or its default.
            pub(crate) fn read(
                given: &$crate::OptionArgs<'_>,
            ) -> Result<$Options, $crate::OptionError> {
                Ok($Options {
                    $($field: $crate::options!(
                        @read given $default [$crate::options!(@name $field $($name)?)]
                            [$kind] [$($form)?] [$($low $high)?]
                    ),)*
                })
            }

            /// Pairs of name and value, in the order of the listing.
            #[allow(clippy::vec_init_then_push, reason = "an option without a value is not pushed")]
            pub(crate) fn pairs(&self) -> Vec<(&'static str, String)> {
                let mut pairs = Vec::new();
                $($crate::options!(
                    @push pairs self.$field, $default [$crate::options!(@name $field $($name)?)]
                        [$kind] [$($form)?] [$($low)?]
                );)*
                pairs
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

    (@type [$kind:ty] [$none:literal]) => { Option<$kind> };
    (@type [$kind:ty] $default:literal) => { $kind };

    (@default [$none:literal]) => { $none };
    (@default $default:literal) => { concat!($default) };

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

    (@read $given:ident [$none:literal] $name:tt $kind:tt $form:tt $range:tt) => {
        if $given.has($crate::options!(@inside $name)) {
            Some($crate::options!(@value $given $name $kind $form $range))
        } else {
            None
        }
    };
    (@read $given:ident $default:literal $name:tt $kind:tt $form:tt $range:tt) => {
        $crate::options!(@value $given $name $kind $form $range)
    };
    (@inside [$name:expr]) => { $name };

    (@value $given:ident [$name:expr] [$kind:ty] $takes:tt [$low:literal $high:literal]) => {
        $given.in_range::<$kind>($name, $low as $kind..=$high as $kind)?
    };
    (@value $given:ident [$name:expr] [$kind:ty] [$takes:literal] []) => {
        $given.plain::<$kind>($name)?
    };
    (@value $given:ident [$name:expr] [$kind:ty] [$form:ident] []) => {
        $given.form::<$kind, $form>($name)?
    };
    (@value $given:ident [$name:expr] [$kind:ty] [] []) => {
        $given.form::<$kind, $kind>($name)?
    };

    (@push $pairs:ident $value:expr, [$none:literal] [$name:expr] $kind:tt $form:tt $low:tt) => {
        if let Some(value) = &$value {
            $pairs.push(($name, $crate::options!(@text value, $kind $form $low)));
        }
    };
    (@push $pairs:ident $value:expr, $default:literal [$name:expr] $kind:tt $form:tt $low:tt) => {
        $pairs.push(($name, $crate::options!(@text &$value, $kind $form $low)));
    };

    (@text $value:expr, [$kind:ty] $takes:tt [$low:literal]) => { $value.to_string() };
    (@text $value:expr, [$kind:ty] [$takes:literal] []) => { $value.to_string() };
    (@text $value:expr, [$kind:ty] [$form:ident] []) => {
        <$form as $crate::OptionForm<$kind>>::text($value)
    };
    (@text $value:expr, [$kind:ty] [] []) => {
        <$kind as $crate::OptionForm<$kind>>::text($value)
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

        impl std::str::FromStr for $Name {
            type Err = ();

            fn from_str(text: &str) -> Result<$Name, ()> {
                let mut all = $Name::ALL.into_iter();
                all.find(|one| one.word().eq_ignore_ascii_case(text)).ok_or(())
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl $crate::OptionForm<$Name> for $Name {
            const TAKES: &'static str = $crate::words!(@takes $($word)*);

            fn read(text: &str) -> Option<$Name> {
                text.parse().ok()
            }

            fn text(value: &$Name) -> String {
                value.to_string()
            }
        }
    };

    (@takes $one:literal) => { $one };
    (@takes $one:literal $other:literal) => { concat!($one, " or ", $other) };
    (@takes $one:literal $($others:literal)+) => {
        concat!($one, ", ", $crate::words!(@takes $($others)+))
    };
}

#[cfg(test)]
mod tests {
    use super::YesOrNo;
    use crate::OptionArgs;

    crate::words! {
        /// A colour.
        enum Hue {
            /// The default.
            Red = "red",
            /// Another.
            Blue = "blue",
        }
    }

    crate::options! {
        /// Of a toy.
        #[derive(Debug, PartialEq)]
        struct Toy {
            size: u32 = 3 in 1..=9, "how big";
            share: f64 as "a share" = 0.5 in 0..=1, "how much";
            hue: Hue as "red, or blue by night" = "red", "which";
            quick: bool as YesOrNo = "yes", "how";
            cache ("cache_kib"): u64 = ["as much as there is"] in 1..=1_000, "how much it keeps";
        }
    }

    fn read(pairs: &[(&str, &str)]) -> Result<Toy, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let pairs: Vec<_> = pairs.iter().map(owned).collect();
        let given = OptionArgs::new("target toy".to_owned(), Toy::LISTING, &pairs);
        given.and_then(|given| Toy::read(&given)).map_err(|error| error.to_string())
    }

    #[test]
    fn one_declaration_lists_reads_and_writes_back() {
        let plain = Toy { size: 3, share: 0.5, hue: Hue::Red, quick: true, cache: None };
        assert_eq!((read(&[]).unwrap(), Toy::default().pairs().len()), (plain, 4));
        let given =
            [("size", "9"), ("share", "0"), ("hue", "BLUE"), ("quick", "no"), ("cache_kib", "7")];
        let other = Toy { size: 9, share: 0.0, hue: Hue::Blue, quick: false, cache: Some(7) };
        assert_eq!(read(&given).unwrap(), other);
        assert_eq!(other.pairs()[4], ("cache_kib", "7".to_owned()));
        let listed: Vec<_> = Toy::LISTING.iter().map(|one| (one.takes, one.default)).collect();
        assert_eq!(
            listed,
            [
                ("a whole number from 1 to 9", "3"),
                ("a share", "0.5"),
                ("red, or blue by night", "red"),
                ("yes or no", "yes"),
                ("a whole number from 1 to 1000", "as much as there is"),
            ]
        );
        for wrong in [("size", "10"), ("size", "-1"), ("share", "NaN"), ("cache_kib", "0")] {
            assert!(read(&[wrong]).unwrap_err().contains("it takes a"), "{wrong:?}");
        }
        assert!(read(&[("hue", "green")]).unwrap_err().ends_with("it takes red, or blue by night"));
    }
}
