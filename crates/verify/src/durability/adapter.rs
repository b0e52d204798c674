//! The differences between stores, for testing their durability.
//!
//! For every store, an acknowledgement is the success of COMMIT itself.

use crate::error::Result;
use crate::power::Classify;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;
use syncline_contract::encoded;
use syncline_launcher::ShutdownMode;

/// What a setting is expected to do in a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// Lose nothing that was acknowledged.
    Hold,
    /// Lose data: a control. If it does not, the test is too weak to detect a loss.
    Lose,
    /// Lose the latest transactions, but keep all others whole.
    LoseLatest,
}

/// A setting of a store and its expected behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// In the store's own terms: "WAL, synchronous=NORMAL".
    pub name: &'static str,
    /// The options of its URL: "durability=os&synchronous=normal".
    pub options: &'static str,
    /// The expected behaviour.
    pub expected: Expected,
}

/// A running store; an embedded store has no process of its own.
pub trait Running: Debug + Send {
    /// The URL at which clients reach it.
    fn url(&self) -> String;

    /// Ends every process of the store in the given way.
    fn end(&mut self, _ending: ShutdownMode) -> Result<()> {
        Ok(())
    }

    /// The most severe line that the store has logged since it was started, if any.
    fn most_severe_line(&self) -> Option<String> {
        None
    }
}

/// The differences between stores. A store is a directory, and for servers also a process.
pub trait Adapter: Debug + Sync {
    /// The name in URLs: "sqlite".
    fn name(&self) -> &'static str;

    /// True if a private replica of a live server can be made; see the module `replica`.
    fn supports_replicas(&self) -> bool {
        false
    }

    /// The settings that are tested: first one that must hold, then one that must lose, then others.
    fn settings(&self) -> &'static [Setting];

    /// True if the setting loses data only when a page is torn.
    fn needs_tears(&self, _options: &str) -> bool {
        false
    }

    /// The known cause of a failure, looked up by the failure's text, and what to do about it; sentences
    /// without the final period.
    fn known_cause(&self, _what: &str) -> Option<&'static str> {
        None
    }

    /// The documented time within which the latest transactions may be lost, if the store's documentation
    /// names one.
    fn window(&self, _options: &str) -> Option<Duration> {
        None
    }

    /// A faster directory for stores and images, which every user may enter; none if there is no faster one.
    fn fast_directory(&self) -> Option<PathBuf> {
        None
    }

    /// The number of long events, 4000 bytes on average, that a store contains from the beginning and that no
    /// client touches: for stores whose small files grow with every page.
    fn ballast(&self) -> i64 {
        0
    }

    /// Environment variables for the process in which an embedded store runs.
    fn environment(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The class of a file, by its path below the store's directory.
    fn classify(&self) -> Classify;

    /// Creates the initial state of every store in an empty directory: once, on a native file system.
    fn make(&self, _directory: &Path) -> Result<()> {
        Ok(())
    }

    /// Starts the store in a directory prepared by [`Adapter::make`], `Task::Prepare` or an earlier process,
    /// or in a crash image. An embedded store starts when the child opens its URL.
    fn start(&self, directory: &Path, options: &str) -> Result<Box<dyn Running>>;

    /// Files, below the store's directory, that a reboot would remove: sockets, and locks with process ids.
    fn of_the_machine(&self) -> &'static [&'static str] {
        &[]
    }
}

/// A store that runs in the process that opens it.
#[derive(Debug)]
pub(super) struct Embedded(String);

impl Embedded {
    /// A store at a path below the store's directory, with options to join.
    pub(super) fn at(name: &str, path: &Path, options: [&str; 2]) -> Box<dyn Running> {
        let options: Vec<_> = options.into_iter().filter(|text| !text.is_empty()).collect();
        let path = encoded(&path.to_string_lossy());
        Box::new(Embedded(format!("{name}:{path}?{}", options.join("&"))))
    }
}

impl Running for Embedded {
    fn url(&self) -> String {
        self.0.clone()
    }
}
