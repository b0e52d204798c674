//! What can be wrong with what others wrote: maps and stacks files.

use thiserror::Error;

/// Why a map or a stacks file was refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The map breaks a rule of its format.
    #[error("{origin}, line {line}: {what}")]
    Map {
        /// The map's file, or what stands for it.
        origin: String,
        /// Counted from one.
        line: usize,
        /// The key and what is wrong with it.
        what: String,
    },
    /// The stacks file breaks a rule of its format.
    #[error("the stacks file, line {line}: {what}")]
    Stacks {
        /// Counted from one.
        line: u64,
        /// What is wrong.
        what: String,
    },
    /// The stacks file could not be read.
    #[error("the stacks file cannot be read: {0}")]
    Read(#[source] std::io::Error),
}
