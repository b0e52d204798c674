//! The part that servers share: an unmodified server runs as its product's user on a given directory.
//!
//! The options of such a store are the server's own settings under their own names, as in
//! `synchronous_commit=off`. `durability=` sets one of them; `isolation=` is set by the clients.

use crate::durability::adapter::{Adapter, Running, Setting};
use crate::error::{Error, Result};
use crate::power::Classify;
use std::path::{Path, PathBuf};
use std::time::Duration;
use syncline_launcher::{AttachedInstance, NotStarted, Product, ShutdownMode};

/// A memory file system that every user may enter, if there is one.
const MEMORY: &str = "/dev/shm";

/// An option that clients set for themselves; it is not a setting of the server.
const CLIENTS_OWN: &str = "isolation";

/// A setting and its value.
type Pair = (String, String);

/// The differences between servers.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) product: Product,
    /// See [`Adapter::settings`].
    pub(super) settings: &'static [Setting],
    /// See [`Adapter::ballast`].
    pub(super) ballast: i64,
    /// Settings for every run that keep files small and often written.
    pub(super) small: &'static str,
    /// The setting for a durability level; none for a level that the product does not have.
    pub(super) durability: fn(&str) -> Option<&'static str>,
    /// The durability level that settings amount to.
    pub(super) word: fn(&Values<'_>) -> &'static str,
    /// The setting that loses data only when a page is torn.
    pub(super) needs_tears: &'static str,
    /// Settings that may lose the latest transactions, and the documented time within which they may.
    pub(super) late: (&'static [&'static str], Duration),
    /// See [`Adapter::known`]: a part of a failure's text, and its known cause.
    pub(super) known_causes: &'static [(&'static str, &'static str)],
    /// See [`Adapter::classify`].
    pub(super) classify: Classify,
    /// See [`Adapter::of_the_machine`].
    pub(super) of_the_machine: &'static [&'static str],
}

/// The value of a setting, in lower case, by its name; none if it was not given.
pub(super) type Values<'v> = dyn Fn(&str) -> Option<String> + 'v;

/// A running server.
#[derive(Debug)]
struct RunningServer {
    instance: AttachedInstance,
    url: String,
}

impl Adapter for Server {
    fn name(&self) -> &'static str {
        self.product.word()
    }

    fn supports_replicas(&self) -> bool {
        true
    }

    fn settings(&self) -> &'static [Setting] {
        self.settings
    }

    fn needs_tears(&self, options: &str) -> bool {
        options == self.needs_tears
    }

    fn known_cause(&self, what: &str) -> Option<&'static str> {
        let found = self.known_causes.iter().find(|(words, _)| what.contains(words));
        found.map(|(_, known)| *known)
    }

    fn ballast(&self) -> i64 {
        self.ballast
    }

    fn window(&self, options: &str) -> Option<Duration> {
        let (settings, window) = self.late;
        let is_late = options.split('&').any(|option| settings.contains(&option));
        is_late.then_some(window)
    }

    fn fast_directory(&self) -> Option<PathBuf> {
        memory()
    }

    fn classify(&self) -> Classify {
        self.classify
    }

    fn make(&self, directory: &Path) -> Result<()> {
        AttachedInstance::make(self.product, directory, &self.all("")?)
            .map_err(|why| self.failed(&why))
    }

    fn start(&self, directory: &Path, options: &str) -> Result<Box<dyn Running>> {
        let all = self.all(options)?;
        let instance = AttachedInstance::start(self.product, directory, &all)
            .map_err(|why| self.failed(&why))?;
        let value = |name: &str| {
            let last = all.iter().rev().find(|(of, _)| of == name);
            last.map(|(_, value)| value.to_ascii_lowercase())
        };
        // The server may still list connections of a killed client for a moment; `live=yes` accepts them.
        let mut url =
            format!("{}?schema=verify&live=yes&durability={}", instance.url(), (self.word)(&value));
        let words = options.split('&').filter(|option| {
            let name = option.split_once('=').map(|(name, _)| name);
            name == Some(CLIENTS_OWN)
        });
        for word in words {
            url = url + "&" + word;
        }
        Ok(Box::new(RunningServer { instance, url }))
    }

    fn of_the_machine(&self) -> &'static [&'static str] {
        self.of_the_machine
    }
}

impl Server {
    /// Parses options into settings and values.
    fn named(&self, options: &str) -> Result<Vec<Pair>> {
        let mut all = Vec::new();
        for option in options.split('&').filter(|text| !text.is_empty()) {
            let wrong = |why: &str| {
                let product = self.product.word();
                Error::cannot(format!(
                    "{option} {why}: the options of {product} are its own settings, as name=value, or \
                     durability=LEVEL"
                ))
            };
            let (name, value) = option.split_once('=').ok_or_else(|| wrong("has no value"))?;
            let plain =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
            if name.is_empty() || !name.bytes().all(plain) {
                return Err(wrong("does not name a setting"));
            }
            if name == CLIENTS_OWN {
                continue;
            }
            if name == "durability" {
                let meant = (self.durability)(value);
                let meant =
                    meant.ok_or_else(|| wrong("is not a durability level of this product"))?;
                all.extend(self.named(meant)?);
            } else {
                all.push((name.to_owned(), value.to_owned()));
            }
        }
        Ok(all)
    }

    /// The settings that keep the server small, then the given options, which take precedence.
    fn all(&self, options: &str) -> Result<Vec<Pair>> {
        let mut all = self.named(self.small)?;
        all.extend(self.named(options)?);
        Ok(all)
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

/// The fastest directory for servers, if it exists.
pub(super) fn memory() -> Option<PathBuf> {
    let memory = PathBuf::from(MEMORY);
    memory.is_dir().then_some(memory)
}

impl Running for RunningServer {
    fn url(&self) -> String {
        self.url.clone()
    }

    fn end(&mut self, ending: ShutdownMode) -> Result<()> {
        self.instance.end(ending).map_err(Error::CannotRun)
    }

    fn most_severe_line(&self) -> Option<String> {
        self.instance.most_severe_line()
    }
}

#[cfg(test)]
mod tests {
    use super::super::postgres::POSTGRES;

    #[test]
    fn options_are_the_servers_own_settings() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let settings = POSTGRES.named("fsync=off&log_line_prefix=a=b").unwrap();
        assert_eq!(settings, [pair("fsync", "off"), pair("log_line_prefix", "a=b")]);
        let meant = POSTGRES.named("durability=none").unwrap();
        assert_eq!(meant, [pair("synchronous_commit", "off")]);
        assert!(POSTGRES.named("durability=data").unwrap().is_empty());
        let mixed = POSTGRES.named("isolation=snapshot&fsync=on").unwrap();
        assert_eq!(mixed, [pair("fsync", "on")]);
        for wrong in ["fsync", "=on", "a b=1", "durability=much"] {
            let why = POSTGRES.named(wrong).unwrap_err().to_string();
            assert!(why.contains(wrong) && why.contains("own settings"), "{why}");
        }
    }
}
