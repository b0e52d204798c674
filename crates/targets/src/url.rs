//! Target URLs: `NAME`, `NAME?options`, `NAME:PATH`, `NAME:PATH?options`; options are `key=value`
//! joined by `&`.
//!
//! In paths and values `%3F`, `%26`, `%25` and the like stand for the character of that code.

use crate::error::Error;
use std::ops::RangeInclusive;

/// An option as a listing shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionListing {
    /// Its name.
    pub name: &'static str,
    /// What it takes, in words.
    pub takes: &'static str,
    /// Its default.
    pub default: &'static str,
    /// What it chooses.
    pub meaning: &'static str,
}

/// A target as a listing shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Its name, the first part of its URL.
    pub name: &'static str,
    /// What it is, in one line.
    pub what: &'static str,
    /// The form of its URL.
    pub form: &'static str,
    /// Its options.
    pub options: &'static [OptionListing],
}

/// A URL taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// As it was given.
    pub(crate) text: String,
    /// The target.
    pub(crate) name: String,
    /// What stands between colon and question mark; none without a colon.
    pub(crate) path: Option<String>,
    /// The options in order.
    pub(crate) pairs: Vec<(String, String)>,
}

const FORM: &str = "NAME or NAME:PATH?option=value&option=value";

impl Url {
    /// Takes a text apart.
    pub(crate) fn parse(text: &str) -> Result<Url, Error> {
        let malformed = |why| Error::Malformed {
            url: text.to_owned(),
            why,
            form: FORM,
        };
        let (place, options) = match text.split_once('?') {
            Some((place, options)) => (place, Some(options)),
            None => (text, None),
        };
        let (name, path) = match place.split_once(':') {
            Some((name, path)) => (name, Some(path)),
            None => (place, None),
        };
        if name.is_empty() {
            return Err(malformed("it names no target"));
        }
        let mut pairs = Vec::new();
        for pair in options.into_iter().flat_map(|options| options.split('&')) {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| malformed("an option has no value"))?;
            let value = decoded(value).ok_or_else(|| malformed("a % is not followed by a code"))?;
            pairs.push((key.to_owned(), value));
        }
        let path = match path {
            Some(path) => {
                Some(decoded(path).ok_or_else(|| malformed("a % is not followed by a code"))?)
            }
            None => None,
        };
        Ok(Url {
            text: text.to_owned(),
            name: name.to_owned(),
            path,
            pairs,
        })
    }
}

/// With every `%XX` replaced by its character; none if one is broken or the result is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'%' {
            let code = str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(code, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

/// The options given to one target, from which it takes what it knows.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    listing: &'static Listing,
    pairs: &'a [(String, String)],
}

impl<'a> Given<'a> {
    /// Refuses names that the target does not list, and names given twice.
    pub(crate) fn new(listing: &'static Listing, url: &'a Url) -> Result<Given<'a>, Error> {
        let target = listing.name;
        for (index, (name, _)) in url.pairs.iter().enumerate() {
            if !listing.options.iter().any(|option| option.name == name) {
                let known: Vec<_> = listing.options.iter().map(|option| option.name).collect();
                let known = if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                };
                let option = name.clone();
                return Err(Error::UnknownOption {
                    target,
                    option,
                    known,
                });
            }
            if url.pairs[..index].iter().any(|(before, _)| before == name) {
                let option = name.clone();
                return Err(Error::Twice { target, option });
            }
        }
        Ok(Given {
            listing,
            pairs: &url.pairs,
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

    fn bad(&self, option: &'static str, value: &str) -> Error {
        let listed = self
            .listing
            .options
            .iter()
            .find(|listed| listed.name == option);
        Error::BadValue {
            target: self.listing.name,
            option,
            value: value.to_owned(),
            takes: listed.map_or("another value", |listed| listed.takes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Url;

    #[test]
    fn a_url_comes_apart() {
        let url = Url::parse("sqlite:/data/a%3Fb.db?durability=data&client=queue").unwrap();
        assert_eq!(
            (url.name.as_str(), url.path.as_deref()),
            ("sqlite", Some("/data/a?b.db"))
        );
        assert_eq!(url.pairs.len(), 2);
        assert_eq!(url.pairs[1], ("client".to_owned(), "queue".to_owned()));
        assert_eq!(Url::parse("null").unwrap().path, None);
        assert_eq!(Url::parse("null:").unwrap().path.as_deref(), Some(""));
    }

    #[test]
    fn what_is_not_a_url_says_why() {
        for (text, why) in [
            ("", "names no target"),
            (":x", "names no target"),
            ("sqlite:x?durability", "has no value"),
            ("sqlite:x?", "has no value"),
            ("sqlite:a%zz", "not followed by a code"),
            ("sqlite:a%", "not followed by a code"),
        ] {
            let said = Url::parse(text).unwrap_err().to_string();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
