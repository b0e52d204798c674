//! Why the index could not be used.

use std::path::PathBuf;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure, as one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder of records cannot be read.
    #[error(transparent)]
    Records(#[from] syncline_record::Error),
    /// SQLite failed.
    #[error("cannot use the index {}: {source}; delete it, it is made again", path.display())]
    Index {
        /// The index.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
}
