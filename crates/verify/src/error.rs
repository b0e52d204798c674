//! Why a verification could not be made: what was tried, where, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no finding. A fault of the store is a finding, never an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused or failed a call that the verification itself needs.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried: "read", "mount a file system at", ...
        action: String,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A store that should be running exited while it started; holds its last message. For a crash image,
    /// this is a finding.
    #[error("{0}")]
    Ended(String),
    /// A store did not start within its time limit. For a crash image, this is a finding.
    #[error("{0}")]
    Hangs(String),
    /// Any other reason, as one sentence.
    #[error("{0}")]
    CannotRun(String),
}

impl Error {
    /// Wraps an operating system error with the action and the path.
    pub fn io(action: impl Into<String>, path: &Path, source: io::Error) -> Error {
        Error::Io { action: action.into(), path: path.to_owned(), source }
    }

    /// Makes an error from one sentence without a final period.
    pub fn cannot(why: impl Into<String>) -> Error {
        Error::CannotRun(why.into())
    }
}

impl From<syncline_history::Error> for Error {
    fn from(why: syncline_history::Error) -> Error {
        Error::CannotRun(why.to_string())
    }
}

/// Wraps an operating system error with the action and the path, for `map_err`.
pub(crate) fn doing<'a>(
    action: &'a str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> Error + use<'a> {
    move |source| Error::io(action, path, source)
}
