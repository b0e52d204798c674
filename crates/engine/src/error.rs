//! The engine's errors: what failed, where, and what to do.

use crate::conflict::Conflict;
use crate::ids::{Csn, DatabaseId, TreeId};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The largest allowed `record_bytes_max` of a log; what to do about a longer record depends on it.
pub(crate) const RECORD_BYTES_MAX: u64 = 64 << 20;

/// A result of the engine, or with its own error of a caller.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed operation of the engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The disk failed, or another process holds the log's lock.
    #[error(transparent)]
    Disk(#[from] syncline_vfs::Error),
    /// An option lies outside its limits.
    #[error("option {option} is {value}, but {rule}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// The given value.
        value: u64,
        /// The allowed values, and why.
        rule: &'static str,
    },
    /// A log that must exist is missing or incomplete.
    #[error("no log in {directory}: {what}")]
    Missing {
        /// The path that was searched.
        directory: PathBuf,
        /// What is missing, and what to do.
        what: String,
    },
    /// A new database or log was to be made in a directory that is not empty.
    #[error("{directory} is not empty; open the database there, or choose another directory")]
    Exists {
        /// The directory.
        directory: PathBuf,
    },
    /// A file has a log's name but is not a log.
    #[error(
        "{path} is not a log segment of this engine; move it away, or choose another directory"
    )]
    NotASegment {
        /// The file.
        path: PathBuf,
    },
    /// The log was written by a later version.
    #[error("{path} has format {found}, but this program reads up to {known}; use a newer program")]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format it names.
        found: u32,
        /// The latest format known here.
        known: u32,
    },
    /// The file is of an earlier format.
    #[error(
        "{path} is of format {found}, which this program does not read (it knows {known}); use the program that made it, or \
         create the database again"
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// The format it names.
        found: u32,
        /// The format known here.
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
    /// Stable data has become unreadable. Opening would lose acknowledged commits.
    #[error("{path} is damaged at byte {offset}: {what}; restore it from a backup")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The position in the file, in bytes.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// No space is left for another log segment or for the data file to grow. Nothing is lost; free
    /// some space and try again.
    #[error(
        "no space for {segment_bytes} more bytes in {directory}; free some space and try again"
    )]
    Full {
        /// The directory of the log or of the data file.
        directory: PathBuf,
        /// The bytes that another segment, or the data file, needs.
        segment_bytes: u64,
    },
    /// The log waits for a checkpoint that the caller must make, since the database makes none by itself.
    /// Nothing is lost: take a checkpoint, and commit again.
    #[error(
        "the log holds {bytes} bytes that wait for a checkpoint, over the cap of {bytes_max}; make a checkpoint and try again"
    )]
    LogLong {
        /// Bytes of log segments that no checkpoint has released.
        bytes: u64,
        /// The cap in bytes: twice `checkpoint_segment_bytes`, or `log_bytes_max` of the log, which counts
        /// prepared and free files as well.
        bytes_max: u64,
    },
    /// A data file that must exist is missing or unfinished.
    #[error("no data file at {path}: {what}")]
    NoDataFile {
        /// The path that was searched.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: &'static str,
    },
    /// A new data file was to be made at a path that already exists.
    #[error("{path} already exists; open it, or choose another path")]
    DataFileExists {
        /// The file.
        path: PathBuf,
    },
    /// The file at the data file's path is not a data file.
    #[error("{path} is not a data file of this engine; move it away, or name the right one")]
    NotADataFile {
        /// The file.
        path: PathBuf,
    },
    /// The data file uses features that this program does not know.
    #[error("{path} uses features unknown here (bits {bits:#x}); {advice}")]
    Feature {
        /// The file.
        path: PathBuf,
        /// The unknown bits.
        bits: u64,
        /// What to do.
        advice: &'static str,
    },
    /// No backup can be made now.
    #[error("no backup can be made: {what}")]
    Backup {
        /// Why not, and what to do.
        what: &'static str,
    },
    /// The directory cannot be the log's archive, or lacks what a restore needs.
    #[error("the archive {directory} cannot be used: {what}")]
    Archive {
        /// The archive.
        directory: PathBuf,
        /// Why not, and what to do.
        what: String,
    },
    /// A backup cannot be restored as asked; the target holds nothing.
    #[error("the backup cannot be restored: {what}")]
    Restore {
        /// Why not, and what to do.
        what: String,
    },
    /// The ring or the prepared segments are full at this moment; wait for some commit to complete.
    #[error("the log has no room at this moment; wait for a commit in flight to complete")]
    Busy,
    /// The log's own threads cannot be started.
    #[error("the log's threads cannot be started: {source}")]
    Thread {
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A transaction writes more than a log record may hold. The write that crosses the cap is refused and
    /// leaves the transaction as it was; an excess that only the commit can detect is refused there.
    #[error(
        "the transaction needs a log record of {bytes} bytes or more, over the cap of {bytes_max}; {}",
        advice(*.bytes_max)
    )]
    TooLarge {
        /// A lower bound of the record's length in bytes.
        bytes: u64,
        /// The cap in bytes.
        bytes_max: u64,
    },
    /// An earlier write or sync failed; nothing can be committed until the log, or the store, is opened
    /// again.
    #[error("closed after a failure ({because}); open again to recover")]
    Poisoned {
        /// The cause of the failure.
        because: Arc<str>,
    },
    /// The commit was in flight when the log failed: it may or may not exist after recovery.
    #[error(
        "it is not known whether {csn} was committed: the log failed ({because}); open it again and check"
    )]
    Indeterminate {
        /// The commit.
        csn: Csn,
        /// The cause of the failure.
        because: Arc<str>,
    },
    /// A memory limit was reached; nothing was changed.
    #[error("{what} would take {bytes} bytes, but the cap is {bytes_max}; {advice}")]
    Capped {
        /// The limited resource.
        what: &'static str,
        /// The bytes that it would take.
        bytes: u64,
        /// The cap in bytes.
        bytes_max: u64,
        /// What to do; this differs while the database is being opened.
        advice: &'static str,
    },
    /// A key, a value or a transaction is longer than allowed.
    #[error(
        "{what} of {bytes} bytes is over the cap of {bytes_max}; make it shorter or raise the cap"
    )]
    TooLong {
        /// What is too long.
        what: &'static str,
        /// Its length in bytes.
        bytes: u64,
        /// The cap in bytes.
        bytes_max: u64,
    },
    /// A log record cannot be redone.
    #[error("the log record of {csn} cannot be redone: {what}; restore the database from a backup")]
    Record {
        /// The commit.
        csn: Csn,
        /// What is wrong with it.
        what: String,
    },
    /// Rows from which a table or an index is built share a key.
    #[error("two rows of table {table} share a key of {}; they must differ", .index.as_deref().unwrap_or("the table"))]
    DuplicateBuilt {
        /// The table.
        table: String,
        /// The unique index; none for the primary key.
        index: Option<String>,
    },
    /// A conflict with another transaction; nothing was changed.
    #[error("the transaction must be run again: {0}")]
    Conflict(Conflict),
    /// A row that was to be added already exists.
    #[error("{tree} already has a row with that key; choose another key, or replace the row")]
    Duplicate {
        /// The tree of the table or of the unique index.
        tree: TreeId,
        /// The row's key, encoded.
        key: Box<[u8]>,
    },
    /// A row that was to be changed or deleted does not exist.
    #[error("{tree} has no row with that key; it may have been deleted meanwhile")]
    Absent {
        /// The table's tree.
        tree: TreeId,
        /// The row's key, encoded.
        key: Box<[u8]>,
    },
    /// A row exists, but a change of parts of it cannot be applied.
    #[error("a row of {tree} cannot take the change: {failure}")]
    Patch {
        /// The table's tree.
        tree: TreeId,
        /// The row's key, encoded.
        key: Box<[u8]>,
        /// Why not.
        failure: PatchFailure,
    },
    /// The maximum number of sessions is open.
    #[error("{sessions_max} sessions are open, which is the maximum; end one first")]
    Sessions {
        /// The cap.
        sessions_max: usize,
    },
    /// An invalid schema.
    #[error("the schema of table {table} cannot be used: {what}")]
    Schema {
        /// The table.
        table: String,
        /// What is wrong with it.
        what: String,
    },
    /// There is no table, index or column of that name.
    #[error("there is no {kind} {name}")]
    NoSuch {
        /// "table", "index" or "column".
        kind: &'static str,
        /// The requested name.
        name: String,
    },
    /// The name is taken.
    #[error("{kind} {name} already exists; choose another name")]
    Taken {
        /// "table" or "index".
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A value of another kind than its column's.
    #[error("column {column} of table {table} holds {expected}, not {found}")]
    WrongKind {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The kind that the column holds.
        expected: String,
        /// The kind that was given.
        found: String,
    },
    /// Null for a column that is never null.
    #[error("column {column} of table {table} may not be null")]
    IsNull {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// More or fewer values than columns.
    #[error("{expected} values are expected for table {table} here, not {found}")]
    WrongCount {
        /// The table.
        table: String,
        /// The required number, or the maximum for leading columns of a key.
        expected: usize,
        /// The given number.
        found: usize,
    },
    /// A change of a kind that the column does not allow.
    #[error("column {column} of table {table} {what}")]
    Unchangeable {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Why not, and what to do.
        what: &'static str,
    },
    /// An encoded key is longer than the cap.
    #[error(
        "a key of {object} takes {bytes} bytes, over the cap of {bytes_max}; store less in its columns or raise key_bytes_max"
    )]
    KeyTooLarge {
        /// The table or the index.
        object: String,
        /// The bytes of the key.
        bytes: u64,
        /// The cap in bytes.
        bytes_max: u64,
    },
    /// Bytes of a row, of an index entry or of the catalogue that this engine did not write.
    #[error("{object} holds damaged bytes: {what}; restore the database from a backup")]
    DamagedRow {
        /// Which table, index or object.
        object: String,
        /// What is wrong there.
        what: &'static str,
    },
    /// A column outside the primary key, in a row of which only the key was read.
    #[error(
        "column {column} of table {table} was not read, only the primary key was; use scan instead of scan_keys"
    )]
    OnlyKey {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A handle of a table that has been dropped or changed since it was opened.
    #[error("table {table} has been dropped or changed; open it again")]
    TableChanged {
        /// The table's name.
        table: String,
    },
    /// A row with that primary key, or with these values in a unique index, already exists.
    #[error("{} already has a row with that key; choose another one, or replace the row", named(.table, .index.as_deref()))]
    DuplicateKey {
        /// The table.
        table: String,
        /// The unique index; none if it is the primary key.
        index: Option<String>,
    },
    /// A row that was to be changed or deleted does not exist.
    #[error("table {table} has no row with that key; it may have been deleted meanwhile")]
    NoRow {
        /// The table.
        table: String,
    },
    /// A handle of another database, or of an earlier opening of this one. Nothing was done.
    #[error(
        "{object} belongs to {found}, but is used in {expected}; open it in the database that uses it"
    )]
    OtherDatabase {
        /// The handle: "table accounts".
        object: String,
        /// The database that the handle belongs to.
        found: String,
        /// The database in which it was used.
        expected: String,
    },
    /// An object that was made for one table is used with another. Nothing was done.
    #[error("{object} was not made for table {table}; {advice}")]
    OtherTable {
        /// The object: "the key".
        object: &'static str,
        /// The table with which it was used.
        table: String,
        /// How to make one for this table.
        advice: &'static str,
    },
    /// A mark (savepoint) of another transaction or session, or one that a rollback has passed. Nothing was
    /// rolled back.
    #[error("the mark {what}; roll back to a mark of this transaction")]
    OtherMark {
        /// Why it cannot be used.
        what: &'static str,
    },
    /// A ticket that this database has not issued since it was opened.
    #[error(
        "the ticket of {csn} was not issued by this database since it was opened; wait for it where it was committed"
    )]
    OtherTicket {
        /// The ticket's commit.
        csn: Csn,
    },
    /// A call that needs a transaction, in a session without one.
    #[error("no transaction is open in this session; begin one first")]
    NotBegun,
    /// A begin in a session that has a transaction open, which stays as it is.
    #[error("a transaction is open in this session; commit or abort it before the next begin")]
    AlreadyBegun,
    /// A write in a read-only transaction. The transaction stays as it is.
    #[error("a read-only transaction cannot write; begin it as Serializable or Snapshot")]
    ReadOnly,
    /// A write, or an exclusive transaction, in a database that is open for reading only.
    #[error("the database is open for reading only; open it with Database::open to change it")]
    ReadOnlyDatabase,
    /// A position at which the table has no column.
    #[error("table {table} has no column at position {column}; its {columns} columns count from 0")]
    NoColumn {
        /// The table.
        table: String,
        /// The requested position.
        column: usize,
        /// How many columns there are.
        columns: usize,
    },
    /// A table that was to be opened or made exists with another definition.
    #[error(
        "table {table} exists with {what}; change it with change_table, or choose another name"
    )]
    OtherDefinition {
        /// The table.
        table: String,
        /// The difference.
        what: String,
    },
    /// A sequence has given all of its numbers.
    #[error("sequence {sequence} has given all numbers of 63 bits; begin another one")]
    Exhausted {
        /// The sequence.
        sequence: String,
    },
    /// A value that cannot be read as the requested type.
    #[error("column {column} of table {table} holds {what}")]
    Unreadable {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// What it holds, and the type that was asked for.
        what: String,
    },
    /// One row was requested by an index that may have several rows for the same values.
    #[error(
        "index {index} of table {table} is not unique, so it may have several rows for these values; scan it"
    )]
    NotUnique {
        /// The table.
        table: String,
        /// The index.
        index: String,
    },
    /// The calling thread would wait for an exclusive transaction that the same thread has begun.
    #[error(
        "an exclusive transaction that this thread has begun is open, and the call would wait for its end; end it first"
    )]
    ExclusiveHere,
    /// An exclusive transaction was open for too long while this call waited for its end. Nothing was
    /// changed.
    #[error(
        "an exclusive transaction that thread {thread} began {held_ms} ms ago is still open; end it, or raise exclusive_wait_ms"
    )]
    ExclusiveTooLong {
        /// The thread that began it, by name or number.
        thread: String,
        /// How long it has been open, in milliseconds.
        held_ms: u64,
    },
    /// A call from inside a closure that borrows a row in its page.
    #[error(
        "the closure of show_prefetched cannot use the engine, since a page is latched meanwhile; call get_prefetched instead"
    )]
    InShownRow,
    /// A large object that is no longer whole.
    #[error("large object {id} of {name} cannot be used: {what}")]
    LargeObject {
        /// The table.
        name: String,
        /// Its id.
        id: i64,
        /// Why not, and what to do.
        what: &'static str,
    },
    /// A row exists, but a sum in it would overflow or exceed a bound.
    #[error("a row of table {table} cannot take the change: {failure}")]
    Unfit {
        /// The table.
        table: String,
        /// Why not.
        failure: PatchFailure,
    },
}

impl Error {
    /// The conflict, if it is one.
    pub(crate) fn conflict(&self) -> Option<Conflict> {
        if let Error::Conflict(conflict) = self { Some(*conflict) } else { None }
    }
}

/// Why a patch does not fit a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchFailure {
    /// The result would violate the requested bound.
    Bound {
        /// The column's position in the table.
        column: u16,
    },
    /// The result is not a number of the column's type.
    Overflow {
        /// The column's position in the table.
        column: u16,
    },
    /// The existing row cannot be read.
    Damaged,
}

impl fmt::Display for PatchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatchFailure::Bound { column } => {
                write!(f, "column {column} would violate its requested bound")
            }
            PatchFailure::Overflow { column } => {
                write!(f, "column {column} cannot hold the result")
            }
            PatchFailure::Damaged => f.write_str("its bytes cannot be read; restore a backup"),
        }
    }
}

/// Refuses the value of an option for which its rule does not hold.
pub(crate) fn check_option(
    holds: bool,
    option: &'static str,
    value: u64,
    rule: &'static str,
) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::Option { option, value, rule })
}

/// What to do about a record over the cap: a cap at its maximum cannot be raised.
fn advice(bytes_max: u64) -> &'static str {
    if bytes_max < RECORD_BYTES_MAX {
        "split the transaction, or raise record_bytes_max"
    } else {
        "split the transaction, or load a new table with load_table"
    }
}

fn named(table: &str, index: Option<&str>) -> String {
    index
        .map_or_else(|| format!("table {table}"), |index| format!("index {index} of table {table}"))
}
