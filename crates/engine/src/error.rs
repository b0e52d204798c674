//! What can go wrong in the engine: what failed, where, and what to do.

use crate::ids::{Csn, DatabaseId};
use std::path::PathBuf;
use std::sync::Arc;

/// A result of the engine.
pub type Result<T> = std::result::Result<T, Error>;

/// A failed operation of the engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The disk failed, or another process holds the log's lock.
    #[error(transparent)]
    Disk(#[from] syncline_disk::Error),
    /// An option lies outside its limits.
    #[error("option {option} is {value}, but {rule}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// What was given.
        value: u64,
        /// What is allowed, and why.
        rule: &'static str,
    },
    /// There is no log where one must be.
    #[error("no log in {directory}: {what}")]
    Missing {
        /// Where it was looked for.
        directory: PathBuf,
        /// What was found instead, and what to do.
        what: String,
    },
    /// There is a log where a new one shall be made.
    #[error("{directory} already holds a log; open it, or choose another directory")]
    Exists {
        /// The directory.
        directory: PathBuf,
    },
    /// A file carries a log's name but is none.
    #[error(
        "{path} is not a log segment of this engine; move it away, or choose another directory"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The log was written by a later version.
    #[error(
        "{path} has log format {found}, but this program reads up to {known}; use a newer program"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format it names.
        found: u32,
        /// The latest format known here.
        known: u32,
    },
    /// The log belongs to another database.
    #[error("{path} belongs to database {found}, not to {expected}; name the right log directory")]
    WrongDatabase {
        /// The file.
        path: PathBuf,
        /// The database that is being opened.
        expected: DatabaseId,
        /// The database that the file names.
        found: DatabaseId,
    },
    /// What had been stable is unreadable now. Opening would lose acknowledged commits.
    #[error("{path} is damaged at byte {offset}: {what}; restore the log from a backup")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it, in bytes.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// No space is left for another log segment. Nothing is lost; free some space and try again.
    #[error(
        "no space for another log segment of {segment_bytes} bytes in {directory}; free some space and try again"
    )]
    Full {
        /// The log's directory.
        directory: PathBuf,
        /// What a segment needs, in bytes.
        segment_bytes: u64,
    },
    /// The ring or the prepared segments are full at this moment; wait for some commit to complete.
    #[error("the log has no room at this moment; wait for a commit in flight to complete")]
    Busy,
    /// The log's own threads cannot be had.
    #[error("the log's threads cannot be started: {source}")]
    Thread {
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A record is larger than the cap.
    #[error(
        "a log record of {bytes} bytes is over the cap of {bytes_max}; split the transaction or raise record_bytes_max"
    )]
    TooLarge {
        /// The record's length in bytes.
        bytes: u64,
        /// The cap in bytes.
        bytes_max: u64,
    },
    /// An earlier write or sync failed; nothing can be committed until the log is opened again.
    #[error("the log is closed after a failure ({because}); open it again to recover")]
    Poisoned {
        /// What had failed.
        because: Arc<str>,
    },
    /// The commit was in flight when the log failed: it may or may not be there after recovery.
    #[error(
        "it is not known whether {csn} was committed: the log failed ({because}); open it again and look"
    )]
    Indeterminate {
        /// The commit.
        csn: Csn,
        /// What had failed.
        because: Arc<str>,
    },
}
