//! Why a record could not be written or read.

use std::io;
use std::path::PathBuf;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure, as one sentence that says what, where and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The record's file could not be made.
    #[error("cannot make the record {path}: {source}; name another folder, or make room there")]
    Create {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The folder for records takes no file.
    #[error("the folder {path} takes no records: {source}; name another by --runs")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A line could not be written; no half of it remains.
    #[error("cannot write to the record {path}: {source}; what it held before is whole")]
    Append {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The stacks could not be written beside a record.
    #[error(
        "cannot write the stacks {path}: {source}; the record beside it is whole, but cannot be folded \
         again"
    )]
    Stacks {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// There are no stacks beside a record.
    #[error("record {id} has no stacks beside it: {why}")]
    NoStacks {
        /// The record.
        id: String,
        /// Why not, and what to do.
        why: String,
    },
    /// The stacks beside a record are not what they must be.
    #[error("{path}: {source}")]
    DamagedStacks {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: syncline_profile::Error,
    },
    /// The file or folder could not be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// What was named is neither a file nor a record.
    #[error(
        "there is no record {id}: no such file, and none of that id in {folder}; syncline list runs \
         shows those there are"
    )]
    NoRecord {
        /// What was named.
        id: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// An id does not tell which record is meant.
    #[error("{count} records have the id {id} in {folder}: name the file")]
    SameId {
        /// The id.
        id: String,
        /// Where they are.
        folder: PathBuf,
        /// How many.
        count: usize,
    },
    /// A survey was named where one record is wanted.
    #[error(
        "{id} is a survey of {count} records, and one is wanted: name one that syncline list runs shows"
    )]
    SurveyNamed {
        /// The survey's id.
        id: String,
        /// How many records it has.
        count: usize,
    },
    /// Nothing is in it.
    #[error("{path} is empty: its run ended before anything was written")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It is something else.
    #[error("{path} is not a record of this program: it does not open with its format")]
    NotARecord {
        /// The file.
        path: PathBuf,
    },
    /// A finding of `verify` that was written by itself, before findings were records.
    #[error(
        "{path} is a finding of verify of an older version, which is not a record: it holds no time and no \
         machine; read it as JSON, or verify again"
    )]
    VerifiedAlone {
        /// The file.
        path: PathBuf,
    },
    /// It was written by a later version.
    #[error(
        "{path} is a record of format version {version}, and this program reads up to {newest}: \
         read it with the program that wrote it, or a newer one"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
        /// The newest version that can be read.
        newest: u64,
    },
    /// A line is not what it must be.
    #[error("{path} is damaged in line {line}: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// The file holds several records where one was asked for.
    #[error("{path} holds {count} records, and one is expected: name a file that holds one")]
    Several {
        /// The file.
        path: PathBuf,
        /// How many it holds.
        count: usize,
    },
}
