//! What differs between stores, as far as their durability is tested.
//!
//! An acknowledgement is the success of COMMIT itself, for every store.

use crate::error::Result;
use crate::power::Classify;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;
use syncline_contract::encoded;
use syncline_launcher::Ending;

/// What a setting is expected to do when the power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// Lose nothing that was acknowledged.
    Hold,
    /// Lose: a control. If it does not, the test was too weak to see a loss.
    Lose,
    /// Lose the latest, and keep whole transactions.
    LoseLatest,
}

/// A setting of a store with what is expected of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The store's own words: "WAL, synchronous=NORMAL".
    pub name: &'static str,
    /// The options of its URL: "durability=os&synchronous=normal".
    pub options: &'static str,
    /// What is expected.
    pub expected: Expected,
}

/// A store that is running, or needs not be.
pub trait Running: Debug + Send {
    /// The URL by which it is reached.
    fn url(&self) -> String;

    /// Ends every process of the store, in that way.
    fn end(&mut self, _ending: Ending) -> Result<()> {
        Ok(())
    }

    /// The gravest line that the store itself has logged since it was started; none if there is none.
    fn gravest(&self) -> Option<String> {
        None
    }
}

/// What verification must know of a store. A store is a directory, and may be a process beside.
pub trait Adapter: Debug + Sync {
    /// The name in URLs: "sqlite".
    fn name(&self) -> &'static str;

    /// True if a private replica of a live server can be made; see the module `replica`.
    fn has_twins(&self) -> bool {
        false
    }

    /// The settings that are tested: one that must hold first, one that must lose, then others.
    fn settings(&self) -> &'static [Setting];

    /// True of a setting that loses nothing unless a page is torn.
    fn needs_tears(&self, _options: &str) -> bool {
        false
    }

    /// What is known of a failure by the words in which it was found, and what to do about it, as sentences
    /// without the last full stop.
    fn known(&self, _what: &str) -> Option<&'static str> {
        None
    }

    /// How far back what a setting may lose can reach, by the store's own documents; none where they
    /// name no time.
    fn window(&self, _options: &str) -> Option<Duration> {
        None
    }

    /// A directory for stores and images that is quicker than the current one, and that every user may
    /// enter; none where it makes no difference.
    fn place(&self) -> Option<PathBuf> {
        None
    }

    /// Long events, of four thousand bytes on average, that stand in a store from the beginning and that
    /// nobody touches: for stores whose small files grow with every page.
    fn ballast(&self) -> i64 {
        0
    }

    /// Variables of the environment for the process in which the store runs, if that is ours.
    fn environment(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// What a file is, by its path below the store's directory.
    fn classify(&self) -> Classify;

    /// Makes, in an empty directory, what every store begins with: once, and natively.
    fn make(&self, _directory: &Path) -> Result<()> {
        Ok(())
    }

    /// Starts the store in a directory that holds what [`Adapter::make`], `Task::Prepare` or an earlier
    /// process has left, or that is a crash image. A store in the child's own process starts there.
    fn start(&self, directory: &Path, options: &str) -> Result<Box<dyn Running>>;

    /// Files, below the store's directory, that a machine that boots again has not: sockets, locks with the
    /// numbers of processes.
    fn of_the_machine(&self) -> &'static [&'static str] {
        &[]
    }
}

/// A store that runs in the process of whoever opens it.
#[derive(Debug)]
pub(super) struct Embedded(String);

impl Embedded {
    /// At a path below the store's directory; options are joined.
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
