//! Errors that prevent a probe or a log writer test.
//!
//! A failure during a probe is not an error: the result is then partial and has a reason.

use std::io;
use std::path::PathBuf;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error that leaves nothing to report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory cannot be read.
    #[error("cannot probe {path}: {source}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The path exists but is not a directory.
    #[error("cannot probe {path}: it is not a directory")]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// No directory was named.
    #[error("name at least one directory to probe")]
    NoDirectory,
    /// The log writer's file already exists.
    #[error("{path} already exists: name another file with -f, or remove it")]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// An option is outside its range.
    #[error("{option} is {given}, but {must}")]
    Option {
        /// The option, as the user writes it.
        option: &'static str,
        /// The given value.
        given: String,
        /// The allowed values.
        must: &'static str,
    },
    /// A load could not be started.
    #[error("cannot start {load}: {source}")]
    Load {
        /// The load in words.
        load: String,
        /// The operating system's reason.
        source: io::Error,
    },
    /// There is no space for the file of a load.
    #[error("too little space is free in {directory} for the file of a load: 32 MiB are needed")]
    LoadSpace {
        /// The directory.
        directory: PathBuf,
    },
    /// A file operation failed.
    #[error(transparent)]
    Disk(#[from] syncline_vfs::Error),
}
