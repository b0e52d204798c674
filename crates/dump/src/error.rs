//! The errors of dump and load.

use std::io;

/// Why a dump could not be written, or not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The dump cannot be read or written.
    #[error("cannot {action} the dump: {error}")]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// The error of the system.
        error: io::Error,
    },
    /// A line is not what the format says. Nothing was loaded.
    #[error("line {line} of the dump: {what}")]
    Line {
        /// Its number, from 1 on.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// A table of the dump is in the database already. Nothing was loaded.
    #[error(
        "the database has a table {table} already: drop it first, or load into another database"
    )]
    Taken {
        /// The table's name.
        table: String,
    },
    /// The database refused something. The tables are as they were before the load.
    #[error(transparent)]
    Engine(Box<syncline_engine::Error>),
    /// The load failed, and a table that it had made could not be dropped again.
    #[error("{failed}; table {table} is incomplete and could not be dropped: {error}")]
    Incomplete {
        /// Why the load failed.
        failed: Box<Error>,
        /// The table.
        table: String,
        /// Why it could not be dropped.
        error: Box<syncline_engine::Error>,
    },
}

impl From<syncline_engine::Error> for Error {
    fn from(error: syncline_engine::Error) -> Error {
        Error::Engine(Box::new(error))
    }
}

/// A result of this library.
pub type Result<T> = std::result::Result<T, Error>;
