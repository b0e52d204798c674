//! Errors in input files: maps and stacks files.

use thiserror::Error;

/// The reason why a map or a stacks file was refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The map breaks a rule of its format.
    #[error("{origin}, line {line}: {what}")]
    Map {
        /// The map's file, or a name for a map that has no file.
        origin: String,
        /// From one.
        line: usize,
        /// The key and the mistake.
        what: String,
    },
    /// The stacks file breaks a rule of its format.
    #[error("the stacks file, line {line}: {what}")]
    Stacks {
        /// From one.
        line: u64,
        /// The mistake.
        what: String,
    },
    /// The stacks file could not be read.
    #[error("the stacks file cannot be read: {0}")]
    Read(#[source] std::io::Error),
}
