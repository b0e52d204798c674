//! The role of a file in its store: a fault counts as exercised per class.

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
    /// The files that list the other files or mark where recovery begins.
    Control,
    /// Anything else: locks, shared memory, messages.
    Other,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 5] =
        [Class::Log, Class::Data, Class::Doublewrite, Class::Control, Class::Other];

    /// The name in reports.
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

/// Returns the class of a path below the mount.
pub type Classify = fn(&Path) -> Class;
