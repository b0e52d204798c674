//! What servers share: they run unmodified, as their product's user, on the directory that they are given.
//!
//! The options of such a store are the server's own settings, by its own names: `synchronous_commit=off`.
//! `durability=` stands for one of them.

use crate::durability::adapter::Running;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use syncline_targets::private::{Ending, Lent, NotStarted, Product};

/// A memory file system that every user may enter, where there is one.
const MEMORY: &str = "/dev/shm";

/// A setting with its value.
type Pair = (String, String);

/// What differs between servers.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) product: Product,
    /// Settings that every run gets, so that files are small and written often.
    pub(super) small: &'static str,
    /// The setting that a word of durability stands for; none for a word that the product has not.
    pub(super) durability: fn(&str) -> Option<&'static str>,
    /// The word of durability that settings come to.
    pub(super) word: fn(&Values<'_>) -> &'static str,
}

/// The value of a setting by its name, in lower case; none where it was not given.
pub(super) type Values<'v> = dyn Fn(&str) -> Option<String> + 'v;

/// One that runs.
#[derive(Debug)]
struct Served {
    lent: Lent,
    url: String,
}

impl Server {
    /// The settings that options name, each with its value.
    fn settings(&self, options: &str) -> Result<Vec<Pair>> {
        let mut all = Vec::new();
        for option in options.split('&').filter(|text| !text.is_empty()) {
            let wrong = |why: &str| {
                let product = self.product.word();
                Error::cannot(format!(
                    "{option} {why}: the options of {product} are its own settings, as name=value, or \
                     durability=WORD"
                ))
            };
            let (name, value) = option
                .split_once('=')
                .ok_or_else(|| wrong("has no value"))?;
            let plain =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
            if name.is_empty() || !name.bytes().all(plain) {
                return Err(wrong("names no setting"));
            }
            if name == "durability" {
                let meant = (self.durability)(value);
                let meant = meant.ok_or_else(|| wrong("is no durability of this product"))?;
                all.extend(self.settings(meant)?);
            } else {
                all.push((name.to_owned(), value.to_owned()));
            }
        }
        Ok(all)
    }

    /// The settings with those that make it small; what was asked for goes last and counts.
    fn all(&self, options: &str) -> Result<Vec<Pair>> {
        let mut all = self.settings(self.small)?;
        all.extend(self.settings(options)?);
        Ok(all)
    }

    /// See [`Adapter::make`](crate::durability::Adapter::make).
    pub(super) fn make(&self, directory: &Path) -> Result<()> {
        Lent::make(self.product, directory, &self.all("")?).map_err(|why| self.failed(&why))
    }

    /// See [`Adapter::start`](crate::durability::Adapter::start).
    pub(super) fn start(&self, directory: &Path, options: &str) -> Result<Box<dyn Running>> {
        let all = self.all(options)?;
        let lent = Lent::start(self.product, directory, &all).map_err(|why| self.failed(&why))?;
        let value = |name: &str| {
            let last = all.iter().rev().find(|(of, _)| of == name);
            last.map(|(_, value)| value.to_ascii_lowercase())
        };
        // Those whom a kill has cut off may still be listed for a moment: they are no strangers.
        let url = format!(
            "{}?schema=verify&live=yes&durability={}",
            lent.url(),
            (self.word)(&value)
        );
        Ok(Box::new(Served { lent, url }))
    }

    fn failed(&self, why: &NotStarted) -> Error {
        let product = self.product.word();
        match why {
            NotStarted::Cannot(_) => Error::CannotRun(format!("{product}: {why}")),
            NotStarted::Ended(_) => Error::Ended(why.to_string()),
            NotStarted::Hangs(_) => Error::Hangs(why.to_string()),
        }
    }
}

/// Where servers are quickest, if that is there.
pub(super) fn memory() -> Option<PathBuf> {
    let memory = PathBuf::from(MEMORY);
    memory.is_dir().then_some(memory)
}

impl Running for Served {
    fn url(&self) -> String {
        self.url.clone()
    }

    fn end(&mut self, ending: Ending) -> Result<()> {
        self.lent.end(ending).map_err(Error::CannotRun)
    }

    fn gravest(&self) -> Option<String> {
        self.lent.gravest()
    }
}

#[cfg(test)]
mod tests {
    use super::super::postgres::SERVER;

    #[test]
    fn options_are_the_servers_own_settings() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let said = SERVER.settings("fsync=off&log_line_prefix=a=b").unwrap();
        assert_eq!(said, [pair("fsync", "off"), pair("log_line_prefix", "a=b")]);
        let meant = SERVER.settings("durability=none").unwrap();
        assert_eq!(meant, [pair("synchronous_commit", "off")]);
        assert!(SERVER.settings("durability=data").unwrap().is_empty());
        for wrong in ["fsync", "=on", "a b=1", "durability=much"] {
            let why = SERVER.settings(wrong).unwrap_err().to_string();
            assert!(why.contains(wrong) && why.contains("own settings"), "{why}");
        }
    }
}
