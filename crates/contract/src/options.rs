//! Options as a user gives them to a target or a workload: pairs of name and value, each taken once,
//! none left over; and their listings, from which help and lists are drawn. `option_table.rs` has the macros
//! that declare them.

use crate::option_table::OptionForm;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// An option as a listing shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionListing {
    /// Its name.
    pub name: &'static str,
    /// What it takes, in words: "a whole number from 1 to 1000000", "ascending, random or server".
    pub takes: &'static str,
    /// Its default, in words.
    pub default: &'static str,
    /// What it chooses.
    pub meaning: &'static str,
}

/// What can be wrong with options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// There is no such option.
    #[error("{of} has no option \"{option}\"; it has: {known}")]
    Unknown {
        /// Whose options they are: "target sqlite".
        of: String,
        /// What was given.
        option: String,
        /// The options there are.
        known: String,
    },
    /// An option has a value that it does not take.
    #[error("option {option} of {of} is \"{value}\"; it takes {takes}")]
    BadValue {
        /// Whose option it is.
        of: String,
        /// The option.
        option: &'static str,
        /// What was given.
        value: String,
        /// What it takes, in words.
        takes: &'static str,
    },
    /// An option was given twice.
    #[error("option {option} of {of} is given twice")]
    Twice {
        /// Whose option it is.
        of: String,
        /// The option.
        option: String,
    },
}

/// The options given to one target or workload, from which it takes what it knows.
#[derive(Clone, Debug)]
pub struct OptionArgs<'a> {
    of: String,
    listed: &'static [OptionListing],
    pairs: &'a [(String, String)],
    /// Defaults that take the place of the listed ones.
    implied: Vec<(&'static str, &'static str)>,
}

impl<'a> OptionArgs<'a> {
    /// The options of `of` ("target sqlite"); refuses names that are not listed or given twice.
    pub fn new(
        of: String,
        listed: &'static [OptionListing],
        pairs: &'a [(String, String)],
    ) -> Result<OptionArgs<'a>, OptionError> {
        for (index, (name, _)) in pairs.iter().enumerate() {
            let option = name.clone();
            if !listed.iter().any(|option| option.name == name) {
                let known: Vec<_> = listed.iter().map(|option| option.name).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                return Err(OptionError::Unknown { of, option, known });
            }
            if pairs[..index].iter().any(|(before, _)| before == name) {
                return Err(OptionError::Twice { of, option });
            }
        }
        Ok(OptionArgs { of, listed, pairs, implied: Vec::new() })
    }

    /// None at all, so that each listed option has its default.
    pub fn none(listed: &'static [OptionListing]) -> OptionArgs<'static> {
        OptionArgs { of: String::new(), listed, pairs: &[], implied: Vec::new() }
    }

    /// With other defaults than are listed; of two for an option the first holds.
    #[must_use]
    pub fn with_defaults(&self, implied: &[(&'static str, &'static str)]) -> OptionArgs<'a> {
        let mut with = self.clone();
        with.implied.extend_from_slice(implied);
        with
    }

    /// A number of that range, as given or by default.
    pub fn in_range<T: FromStr + PartialOrd>(
        &self,
        option: &'static str,
        range: RangeInclusive<T>,
    ) -> Result<T, OptionError> {
        self.by(option, |text| text.parse().ok().filter(|number| range.contains(number)))
    }

    /// What the type itself reads, as given or by default.
    pub fn plain<T: FromStr>(&self, option: &'static str) -> Result<T, OptionError> {
        self.by(option, |text| text.parse().ok())
    }

    /// What the form reads, as given or by default.
    pub fn form<T, F: OptionForm<T>>(&self, option: &'static str) -> Result<T, OptionError> {
        self.by(option, F::read)
    }

    /// True if it is given.
    pub fn has(&self, option: &str) -> bool {
        self.value(option).is_some()
    }

    fn by<T>(
        &self,
        option: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, OptionError> {
        let text = self.text(option);
        read(text).ok_or_else(|| self.bad(option, text))
    }

    /// The text of a value, as given or by default.
    fn text(&self, option: &str) -> &str {
        let implied = || self.implied.iter().find(|(name, _)| *name == option);
        let text = self.value(option).or_else(|| implied().map(|(_, text)| *text));
        text.unwrap_or_else(|| self.listing(option).default)
    }

    /// A whole number of that range, if given.
    pub fn number(
        &self,
        option: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, OptionError> {
        self.parsed(option, |value| value.parse().ok().filter(|number| range.contains(number)))
    }

    /// What `parse` makes of the value, if given; of what it refuses the listing says what it takes.
    pub fn parsed<T>(
        &self,
        option: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, OptionError> {
        let Some(value) = self.value(option) else {
            return Ok(None);
        };
        let parsed = parse(value);
        parsed.map(Some).ok_or_else(|| self.bad(option, value))
    }

    /// One of some words, in capitals or not, if given.
    pub fn word<T: Copy>(
        &self,
        option: &'static str,
        all: &[T],
        word: impl Fn(T) -> &'static str,
    ) -> Result<Option<T>, OptionError> {
        self.parsed(option, |value| {
            let mut all = all.iter().copied();
            all.find(|choice| word(*choice).eq_ignore_ascii_case(value))
        })
    }

    fn value(&self, option: &str) -> Option<&'a str> {
        let pair = self.pairs.iter().find(|(name, _)| name == option);
        pair.map(|(_, value)| value.as_str())
    }

    fn listing(&self, option: &str) -> &'static OptionListing {
        let listed = self.listed.iter().find(|listed| listed.name == option);
        listed.expect("an option is listed before it is asked for")
    }

    /// Why the value of an option is refused.
    pub fn refuse(&self, option: &'static str) -> OptionError {
        self.bad(option, self.text(option))
    }

    fn bad(&self, option: &'static str, value: &str) -> OptionError {
        OptionError::BadValue {
            of: self.of.clone(),
            option,
            value: value.to_owned(),
            takes: self.listing(option).takes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OptionArgs, OptionError, OptionListing};

    const LISTED: &[OptionListing] = &[
        OptionListing { name: "size", takes: "1 to 9", default: "1", meaning: "how big" },
        OptionListing { name: "hue", takes: "red or blue", default: "red", meaning: "which" },
    ];

    fn given<T>(
        pairs: &[(&str, &str)],
        take: impl Fn(&OptionArgs<'_>) -> Result<T, OptionError>,
    ) -> Result<T, OptionError> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let pairs: Vec<_> = pairs.iter().map(owned).collect();
        take(&OptionArgs::new("target toy".to_owned(), LISTED, &pairs)?)
    }

    #[test]
    fn what_is_given_is_taken_and_what_is_not_is_none() {
        let size = |given: &OptionArgs<'_>| given.number("size", 1..=9);
        let hue = |given: &OptionArgs<'_>| given.word("hue", &["red", "blue"], |word| word);
        assert_eq!(given(&[("size", "9")], size), Ok(Some(9)));
        assert_eq!(given(&[("hue", "blue")], hue), Ok(Some("blue")));
        let share = |given: &OptionArgs<'_>| given.in_range("size", 0.0..=1.0);
        assert_eq!((given(&[("size", "0.25")], share), given(&[], share)), (Ok(0.25), Ok(1.0)));
        for wrong in ["1.5", "NaN", "inf", "-0.1", ""] {
            assert!(given(&[("size", wrong)], share).is_err(), "{wrong}");
        }
        assert_eq!(given(&[("size", "9")], hue), Ok(None));
        let letter = |given: &OptionArgs<'_>| given.parsed("hue", |text| text.chars().next());
        assert_eq!(given(&[("hue", "blue")], letter), Ok(Some('b')));
        assert!(given(&[("hue", "")], letter).is_err());
    }

    #[test]
    fn every_refusal_is_one_sentence_that_names_the_option() {
        let size = |given: &OptionArgs<'_>| given.number("size", 1..=9);
        for (pairs, words) in [
            (&[("colour", "red")][..], "target toy has no option \"colour\"; it has: size, hue"),
            (&[("size", "1"), ("size", "2")], "option size of target toy is given twice"),
            (&[("size", "10")], "option size of target toy is \"10\"; it takes 1 to 9"),
            (&[("size", "many")], "option size of target toy is \"many\"; it takes 1 to 9"),
        ] {
            assert_eq!(given(pairs, size).unwrap_err().to_string(), words);
        }
    }
}
