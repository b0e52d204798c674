//! Why a verification could not be made: what was tried, where, and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// A result of this room.
pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no finding. What a store did wrong is a finding, never one of these.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused or failed what the verification itself needs.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried: "read", "mount a file system at", ...
        action: String,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A store that should run ended as it began; what it said last. Of a crash image this is a finding.
    #[error("{0}")]
    Ended(String),
    /// A store was not there in time. Of a crash image this is a finding.
    #[error("{0}")]
    Hangs(String),
    /// Anything else, as one sentence.
    #[error("{0}")]
    CannotRun(String),
}

impl Error {
    /// An operating system error with what was tried and where.
    pub fn io(action: impl Into<String>, path: &Path, source: io::Error) -> Error {
        Error::Io { action: action.into(), path: path.to_owned(), source }
    }

    /// One sentence without a final period.
    pub fn cannot(why: impl Into<String>) -> Error {
        Error::CannotRun(why.into())
    }
}

/// Adds what was tried and where to an operating system error.
pub(crate) fn doing<'a>(
    action: &'a str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> Error + use<'a> {
    move |source| Error::io(action, path, source)
}
