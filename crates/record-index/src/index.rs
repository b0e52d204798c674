//! The index: opened, brought up to date, asked.

use crate::filter::Filter;
use crate::{Error, Result};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, Transaction, params, params_from_iter};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use syncline_record::{SUMMARY_COLUMNS, Summary, SummaryValue, read, record_files};

/// The name of the index in a folder of records.
pub const FILE_NAME: &str = "index.sqlite";

/// Raised when a program of the old version would read the tables wrongly. New columns need no new version:
/// their number is a part of it.
const VERSION: i64 = 1;

/// How long a command waits for another that brings the index up to date.
const WAIT: Duration = Duration::from_secs(30);

/// The index of one folder.
#[derive(Debug)]
pub struct RecordIndex {
    folder: PathBuf,
    path: PathBuf,
    connection: Connection,
}

/// The answer to a filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The records that meet it, oldest first.
    pub records: Vec<Summary>,
    /// Why files of the folder could not be read; a filter does not apply to them.
    pub refused: Vec<String>,
}

/// A file's size and time of change, by which a change is seen.
type Stamp = (i64, i64);

impl RecordIndex {
    /// Opens the index of a folder and brings it up to date.
    ///
    /// Fails if the folder cannot be read. An index that cannot be opened or is damaged is made again; if it
    /// cannot be written, it is made in memory.
    pub fn open(folder: &Path) -> Result<RecordIndex> {
        let path = folder.join(FILE_NAME);
        let known = RecordIndex::up_to_date(folder, &path, Place::File);
        let again = match known {
            Err(Error::Index { source, .. }) if is_damaged(&source) => {
                // It fails in a folder that cannot be written, where memory is next.
                drop(fs::remove_file(&path));
                RecordIndex::up_to_date(folder, &path, Place::File)
            }
            other => other,
        };
        match again {
            Err(Error::Index { .. }) => RecordIndex::up_to_date(folder, &path, Place::Memory),
            other => other,
        }
    }

    fn up_to_date(folder: &Path, path: &Path, place: Place) -> Result<RecordIndex> {
        let failed = |source| Error::Index { path: path.to_owned(), source };
        let connection = connect(path, place).map_err(failed)?;
        let mut index =
            RecordIndex { folder: folder.to_owned(), path: path.to_owned(), connection };
        index.refresh()?;
        Ok(index)
    }

    /// Reads the records that are new or changed, and forgets those that are gone.
    fn refresh(&mut self) -> Result<()> {
        let failed = |source| Error::Index { path: self.path.clone(), source };
        let files = record_files(&self.folder)?;
        let stamped = files.into_iter().filter_map(|file| {
            let stamp = stamp(&file)?;
            let name = file.file_name()?.to_string_lossy().into_owned();
            Some((name, (file, stamp)))
        });
        let mut found: BTreeMap<String, (PathBuf, Stamp)> = stamped.collect();
        // Waits for a command that does the same, and then finds nothing left to do.
        let behavior = rusqlite::TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior).map_err(failed)?;
        let stamps = file_stamps(&transaction).map_err(failed)?;
        for (name, stamp) in stamps {
            match found.get(&name) {
                Some((_, now)) if *now == stamp => drop(found.remove(&name)),
                _ => forget(&transaction, &name).map_err(failed)?,
            }
        }
        for (name, (file, stamp)) in &found {
            let record = read(file).map(|record| record.summary());
            let record = record.map_err(|error| error.to_string());
            add(&transaction, name, *stamp, record.as_ref()).map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }

    /// The records that meet the filter, oldest first.
    pub fn list(&self, filter: &Filter) -> Result<Listing> {
        let failed = |source| Error::Index { path: self.path.clone(), source };
        self.listing(filter).map_err(failed)
    }

    fn listing(&self, filter: &Filter) -> rusqlite::Result<Listing> {
        let (condition, mut values) = filter.condition();
        let last = filter.last.map_or(-1, |last| i64::try_from(last).unwrap_or(i64::MAX));
        values.push(Value::Integer(last));
        let columns = names();
        let newest = format!(
            "SELECT {columns} FROM records WHERE {condition} ORDER BY started_wall_ns DESC, file DESC LIMIT ?"
        );
        let mut statement = self.connection.prepare(&newest)?;
        let rows = statement.query_map(params_from_iter(values), summary)?;
        let mut records = rows.collect::<rusqlite::Result<Vec<Summary>>>()?;
        records.reverse();
        let mut statement = self.connection.prepare("SELECT why FROM refused ORDER BY file")?;
        let refused = statement.query_map([], |row| row.get(0))?;
        Ok(Listing { records, refused: refused.collect::<rusqlite::Result<Vec<String>>>()? })
    }
}

/// Where an index lives.
#[derive(Clone, Copy, Debug)]
enum Place {
    File,
    Memory,
}

fn connect(path: &Path, place: Place) -> rusqlite::Result<Connection> {
    let connection = match place {
        Place::File => {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Connection::open_with_flags(path, flags)?
        }
        Place::Memory => Connection::open_in_memory()?,
    };
    connection.busy_timeout(WAIT)?;
    // What a power cut takes is made again.
    connection.pragma_update(None, "synchronous", "OFF")?;
    let version = VERSION << 16 | SUMMARY_COLUMNS.len() as i64;
    let found: i64 =
        connection.query_row("SELECT * FROM pragma_user_version", [], |row| row.get(0))?;
    if found != version || !has_tables(&connection) {
        let columns: Vec<String> = SUMMARY_COLUMNS
            .iter()
            .map(|column| format!("{} {}", column.name, column.kind))
            .collect();
        connection.execute_batch(&format!(
            "BEGIN IMMEDIATE;
             DROP TABLE IF EXISTS records; DROP TABLE IF EXISTS refused; DROP TABLE IF EXISTS files;
             CREATE TABLE files (file TEXT PRIMARY KEY, bytes INTEGER, changed_wall_ns INTEGER);
             CREATE TABLE records (file TEXT PRIMARY KEY, {});
             CREATE TABLE refused (file TEXT PRIMARY KEY, why TEXT);
             PRAGMA user_version = {version};
             COMMIT;",
            columns.join(", ")
        ))?;
    }
    Ok(connection)
}

/// True if every table has the columns that are read and written here.
fn has_tables(connection: &Connection) -> bool {
    let columns = names();
    let queries = [
        "SELECT file, bytes, changed_wall_ns FROM files".to_owned(),
        format!("SELECT file, {columns} FROM records"),
        "SELECT file, why FROM refused".to_owned(),
    ];
    queries.iter().all(|query| connection.prepare(query).is_ok())
}

/// True if the file is no index: made again, it works.
fn is_damaged(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::Unknown))
        || matches!(error, rusqlite::Error::InvalidColumnType(..))
}

fn stamp(file: &Path) -> Option<Stamp> {
    let about = fs::metadata(file).ok()?;
    let changed = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((i64::try_from(about.len()).ok()?, i64::try_from(changed.as_nanos()).ok()?))
}

fn file_stamps(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<(String, Stamp)>> {
    let mut statement = transaction.prepare("SELECT file, bytes, changed_wall_ns FROM files")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    rows.collect()
}

fn forget(transaction: &Transaction<'_>, name: &str) -> rusqlite::Result<()> {
    for table in ["files", "records", "refused"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE file = ?"), [name])?;
    }
    Ok(())
}

fn add(
    transaction: &Transaction<'_>,
    name: &str,
    (bytes, changed): Stamp,
    record: std::result::Result<&Summary, &String>,
) -> rusqlite::Result<()> {
    transaction.execute("INSERT INTO files VALUES (?, ?, ?)", params![name, bytes, changed])?;
    match record {
        Ok(summary) => {
            let marks = vec!["?"; SUMMARY_COLUMNS.len() + 1].join(", ");
            let file = Value::Text(name.to_owned());
            let values = std::iter::once(file).chain(summary.values().into_iter().map(value));
            let mut statement =
                transaction.prepare_cached(&format!("INSERT INTO records VALUES ({marks})"))?;
            statement.execute(params_from_iter(values))?;
        }
        Err(why) => {
            transaction.execute("INSERT INTO refused VALUES (?, ?)", params![name, why])?;
        }
    }
    Ok(())
}

fn names() -> String {
    let names: Vec<&str> = SUMMARY_COLUMNS.iter().map(|column| column.name).collect();
    names.join(", ")
}

fn value(value: SummaryValue) -> Value {
    match value {
        SummaryValue::Null => Value::Null,
        SummaryValue::Integer(number) => Value::Integer(number),
        SummaryValue::Real(number) => Value::Real(number),
        SummaryValue::Text(text) => Value::Text(text),
    }
}

fn summary(row: &Row<'_>) -> rusqlite::Result<Summary> {
    let mut values = Vec::with_capacity(SUMMARY_COLUMNS.len());
    for column in 0..SUMMARY_COLUMNS.len() {
        values.push(match row.get_ref(column)? {
            ValueRef::Integer(number) => SummaryValue::Integer(number),
            ValueRef::Real(number) => SummaryValue::Real(number),
            ValueRef::Text(text) => SummaryValue::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Null | ValueRef::Blob(_) => SummaryValue::Null,
        });
    }
    let wrong = || {
        rusqlite::Error::InvalidColumnType(0, "a summary".to_owned(), rusqlite::types::Type::Null)
    };
    Summary::from_values(values).ok_or_else(wrong)
}
