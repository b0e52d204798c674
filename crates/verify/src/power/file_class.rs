//! What a file is to its store: a fault counts as exercised for one class and for no other.

use std::path::Path;

/// A class of paths.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The log that a commit waits for.
    Log,
    /// Rows and indexes.
    Data,
    /// Copies of pages, written before the pages themselves.
    Doublewrite,
    /// What says which files there are, and where recovery begins.
    Control,
    /// Anything else: locks, shared memory, messages.
    Other,
}

impl Class {
    /// Every class.
    pub const ALL: [Class; 5] =
        [Class::Log, Class::Data, Class::Doublewrite, Class::Control, Class::Other];

    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Class::Log => "log",
            Class::Data => "data",
            Class::Doublewrite => "doublewrite",
            Class::Control => "control",
            Class::Other => "other",
        }
    }
}

/// Says of a path below the mount what it is.
pub type Classify = fn(&Path) -> Class;
