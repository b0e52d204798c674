//! Errors of a disk: the operation, the file, and the reason.

use std::io;
use std::path::{Path, PathBuf};

/// A result of a disk operation.
pub type Result<T> = std::result::Result<T, Error>;

/// A failed disk operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system (or the simulation) refused or failed the operation.
    #[error("{action} {path}: {source}")]
    Io {
        /// What was tried: "open", "write 4096 bytes at 8192 of", ...
        action: String,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// Another process, or another handle of this one, holds the file's lock.
    #[error("{path} is in use: another handle or process has locked it")]
    Locked {
        /// The locked file.
        path: PathBuf,
    },
    /// The method does not exist here: blocked, not compiled in, or not offered by the file system.
    #[error("{method} is not possible on {path}: {reason}")]
    NotPossible {
        /// The sync method's name.
        method: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why, in words.
        reason: String,
    },
}

impl Error {
    /// An operating system error with what was tried and where.
    pub fn io(action: impl Into<String>, path: &Path, source: io::Error) -> Error {
        Error::Io { action: action.into(), path: path.to_owned(), source }
    }

    /// The operating system's kind of error, if this came from it.
    pub fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            Error::Io { source, .. } => Some(source.kind()),
            Error::Locked { .. } | Error::NotPossible { .. } => None,
        }
    }

    /// True if no space was left on the device or in the quota.
    pub fn is_full(&self) -> bool {
        matches!(self.kind(), Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    }
}
