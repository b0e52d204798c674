//! Options as a user gives them: pairs of key and value, each taken once, none left over.

use crate::error::Error;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// An option as a listing shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionListing {
    /// Its name.
    pub name: &'static str,
    /// What it takes: "1 to 1000000", "ascending, random or server".
    pub takes: &'static str,
    /// Its default.
    pub default: &'static str,
    /// What it chooses.
    pub meaning: &'static str,
}

/// The options given to one workload, from which it takes what it knows.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    workload: &'static str,
    listed: &'static [OptionListing],
    pairs: &'a [(String, String)],
}

impl<'a> Given<'a> {
    /// Refuses names that the workload does not list, and names given twice.
    pub(crate) fn new(
        workload: &'static str,
        listed: &'static [OptionListing],
        pairs: &'a [(String, String)],
    ) -> Result<Given<'a>, Error> {
        for (index, (name, _)) in pairs.iter().enumerate() {
            if !listed.iter().any(|option| option.name == name) {
                let known: Vec<_> = listed.iter().map(|option| option.name).collect();
                return Err(Error::UnknownOption {
                    workload,
                    option: name.clone(),
                    known: known.join(", "),
                });
            }
            if pairs[..index].iter().any(|(before, _)| before == name) {
                let option = name.clone();
                return Err(Error::Twice { workload, option });
            }
        }
        Ok(Given {
            workload,
            listed,
            pairs,
        })
    }

    /// A whole number of that range, if given.
    pub(crate) fn number(
        &self,
        option: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, Error> {
        let Some(value) = self.value(option) else {
            return Ok(None);
        };
        let number = value.parse().ok().filter(|number| range.contains(number));
        number.map(Some).ok_or_else(|| self.bad(option, value))
    }

    /// One of some words, if given.
    pub(crate) fn word<T: Copy>(
        &self,
        option: &'static str,
        all: &[T],
        word: impl Fn(T) -> &'static str,
    ) -> Result<Option<T>, Error> {
        let Some(value) = self.value(option) else {
            return Ok(None);
        };
        let found = all.iter().copied().find(|choice| word(*choice) == value);
        found.map(Some).ok_or_else(|| self.bad(option, value))
    }

    fn value(&self, option: &str) -> Option<&'a str> {
        let pair = self.pairs.iter().find(|(name, _)| name == option);
        pair.map(|(_, value)| value.as_str())
    }

    fn bad(&self, option: &'static str, value: impl Display) -> Error {
        let listed = self.listed.iter().find(|listed| listed.name == option);
        Error::BadValue {
            workload: self.workload,
            option,
            value: value.to_string(),
            takes: listed.map_or_else(String::new, |listed| listed.takes.to_owned()),
        }
    }
}
