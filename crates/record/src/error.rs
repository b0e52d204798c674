//! Why a record could not be written or read.

use std::io;
use std::path::PathBuf;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure, as one sentence: what happened, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The record's file could not be created.
    #[error(
        "cannot create the record {path}: {source}; choose another folder, or free space there"
    )]
    Create {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// No file can be created in the folder for records.
    #[error("cannot create records in the folder {path}: {source}; choose another with --runs")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A line could not be written; no part of it remains.
    #[error("cannot write to the record {path}: {source}; its earlier lines are intact")]
    Append {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The stacks could not be written next to a record.
    #[error(
        "cannot write the stacks {path}: {source}; the record is complete, but its cost cannot be folded \
         again"
    )]
    Stacks {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// There are no stacks next to a record.
    #[error("record {id} has no stacks: {why}")]
    NoStacks {
        /// The record.
        id: String,
        /// Why not, and what to do.
        why: String,
    },
    /// The stacks next to a record are damaged.
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
    /// The given name is neither a file nor a record's id.
    #[error(
        "there is no record {id}: no file has that name, and no record in {folder} has that id; syncline \
         list runs shows the records"
    )]
    NoRecord {
        /// The given name.
        id: String,
        /// The folder that was searched.
        folder: PathBuf,
    },
    /// Several records have the given id.
    #[error("{count} records have the id {id} in {folder}: name the file")]
    SameId {
        /// The id.
        id: String,
        /// Where they are.
        folder: PathBuf,
        /// How many.
        count: usize,
    },
    /// A survey was named where one record is expected.
    #[error(
        "{id} is a survey of {count} records, and one is expected: name one that syncline list runs shows"
    )]
    SurveyNamed {
        /// The survey's id.
        id: String,
        /// How many records it has.
        count: usize,
    },
    /// The file is empty.
    #[error("{path} is empty: its run ended before anything was written")]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a record.
    #[error("{path} is not a record of Syncline: it does not start with the record format")]
    NotARecord {
        /// The file.
        path: PathBuf,
    },
    /// A finding that an older `verify` wrote by itself, before findings were records.
    #[error(
        "{path} is a finding of verify of an older version, not a record: it has no time and no machine; \
         read it as JSON, or verify again"
    )]
    VerifiedAlone {
        /// The file.
        path: PathBuf,
    },
    /// The record was written by a later version.
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
    /// A line is damaged.
    #[error("{path} is damaged in line {line}: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// The file holds several records where one is expected.
    #[error("{path} holds {count} records, and one is expected: name a file that holds one")]
    Several {
        /// The file.
        path: PathBuf,
        /// How many it holds.
        count: usize,
    },
}
