//! Why a probe, a log writer test or a calculation could not be done at all.
//!
//! What goes wrong in the middle of a probe is not an error but a partial result with a reason.

use std::io;
use std::path::PathBuf;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure that leaves nothing to report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory cannot be looked at.
    #[error("cannot probe {path}: {source}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The path is there but is no directory.
    #[error("cannot probe {path}: it is not a directory")]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// No directory was named.
    #[error("name at least one directory to probe")]
    NoDirectory,
    /// A file of someone else stands where the log writer wants to write.
    #[error("{path} exists and is not ours: name another file with -f, or remove it")]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// An option is outside its range.
    #[error("{option} is {given}, but {must}")]
    Option {
        /// The option, as the user writes it.
        option: &'static str,
        /// What was given.
        given: String,
        /// What it must be.
        must: &'static str,
    },
    /// A file operation failed.
    #[error(transparent)]
    Disk(#[from] syncline_vfs::Error),
}
