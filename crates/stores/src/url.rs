//! Target URLs: `NAME`, `NAME?options`, `NAME:PATH`, `NAME:PATH?options`; options are `key=value`
//! joined by `&`.
//!
//! Paths and values may contain percent-encoded characters, such as `%3F`, `%26`, `%25`.

use crate::error::Error;
use crate::server::redacted_url;
use syncline_contract::{OptionArgs, OptionListing, decoded};

/// A target in a listing.
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

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// The given text without passwords: for messages.
    pub(crate) text: String,
    /// The target.
    pub(crate) name: String,
    /// The text between colon and question mark; `None` without a colon.
    pub(crate) path: Option<String>,
    /// The same, still encoded, for targets that split it first.
    pub(crate) raw_path: Option<String>,
    /// The options in order.
    pub(crate) pairs: Vec<(String, String)>,
}

const FORM: &str = "NAME or NAME:PATH?option=value&option=value";

impl Url {
    /// Parses a text.
    pub(crate) fn parse(text: &str) -> Result<Url, Error> {
        let malformed = |why| Error::Malformed { url: redacted_url(text), why, form: FORM };
        let (place, options) = match text.split_once('?') {
            Some((place, options)) => (place, Some(options)),
            None => (text, None),
        };
        let (name, path) = match place.split_once(':') {
            Some((name, path)) => (name, Some(path)),
            None => (place, None),
        };
        if name.is_empty() {
            return Err(malformed("it does not name a target"));
        }
        let mut pairs = Vec::new();
        for pair in options.into_iter().flat_map(|options| options.split('&')) {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| malformed("an option has no value"))?;
            if key.contains('@') {
                return Err(malformed(
                    "an option's name contains an @; in a password, write ? as %3F, or use ${NAME} for the password",
                ));
            }
            let value = decoded(value).ok_or_else(|| malformed("a % is not followed by a code"))?;
            pairs.push((key.to_owned(), value));
        }
        let raw_path = path.map(str::to_owned);
        let path = match path {
            Some(path) => {
                Some(decoded(path).ok_or_else(|| malformed("a % is not followed by a code"))?)
            }
            None => None,
        };
        Ok(Url { text: redacted_url(text), name: name.to_owned(), path, raw_path, pairs })
    }

    /// The value of an option.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        let pair = self.pairs.iter().find(|(given, _)| given == name);
        pair.map(|(_, value)| value.as_str())
    }

    /// Its options, checked against those that the target lists.
    pub(crate) fn option_args(&self, listing: &Listing) -> Result<OptionArgs<'_>, Error> {
        Ok(OptionArgs::new(format!("target {}", listing.name), listing.options, &self.pairs)?)
    }
}

#[cfg(test)]
mod tests {
    use super::Url;

    #[test]
    fn a_url_is_parsed() {
        let url = Url::parse("sqlite:/data/a%3Fb.db?durability=data&client=queue").unwrap();
        assert_eq!((url.name.as_str(), url.path.as_deref()), ("sqlite", Some("/data/a?b.db")));
        assert_eq!(url.pairs.len(), 2);
        assert_eq!(url.pairs[1], ("client".to_owned(), "queue".to_owned()));
        assert_eq!(Url::parse("null").unwrap().path, None);
        assert_eq!(Url::parse("null:").unwrap().path.as_deref(), Some(""));
    }

    #[test]
    fn malformed_urls_are_refused_with_a_reason() {
        for (text, why) in [
            ("", "does not name a target"),
            (":x", "does not name a target"),
            ("sqlite:x?durability", "has no value"),
            ("sqlite:x?", "has no value"),
            ("sqlite:a%zz", "not followed by a code"),
            ("sqlite:a%", "not followed by a code"),
        ] {
            let message = Url::parse(text).unwrap_err().to_string();
            assert!(message.contains(why), "{text}: {message}");
        }
    }
}
