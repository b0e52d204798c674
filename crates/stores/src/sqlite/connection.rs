//! Opens a connection, applies the settings, and verifies them.

use super::failure::outside;
use super::settings::{Settings, Synchronous, Wait};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::thread;
use std::time::Duration;
use syncline_contract::{Failure, FailureKind, TargetResult};

/// How long `wait=even` sleeps between two attempts.
const EVEN_WAIT_MS: u32 = 1;

/// Opens a connection with those settings; fails if they are not in force.
pub(super) fn open(path: &Path, settings: &Settings) -> TargetResult<Connection> {
    let set = try_open(path, settings).map_err(|error| outside(&error, "open", path))?;
    verify(&set, path, settings)?;
    Ok(set)
}

fn try_open(path: &Path, settings: &Settings) -> rusqlite::Result<Connection> {
    // Each connection stays on one thread, so SQLite need not guard it with a mutex.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    let timeout_ms = settings.busy_timeout_ms;
    match settings.wait {
        Wait::Sqlite => connection.busy_timeout(Duration::from_millis(timeout_ms.into()))?,
        Wait::Even => connection.busy_handler(Some(move |tries: i32| {
            let retries = (tries as u32).saturating_mul(EVEN_WAIT_MS) < timeout_ms;
            if retries {
                thread::sleep(Duration::from_millis(EVEN_WAIT_MS.into()));
            }
            retries
        }))?,
    }
    for pragma in pragmas(settings) {
        connection.execute_batch(&pragma)?;
    }
    Ok(connection)
}

/// The statements for each connection, in order: the page size precedes the journal mode, which writes
/// the first page of a new database.
pub(super) fn pragmas(settings: &Settings) -> Vec<String> {
    let mut pragmas = vec![
        // Before the journal mode, which takes locks that are kept.
        format!("PRAGMA locking_mode={}", settings.locking.word()),
        // Before the journal mode, which writes the first page of a new database.
        format!("PRAGMA page_size={}", settings.page_bytes),
        format!("PRAGMA journal_mode={}", settings.journal.word()),
        format!("PRAGMA synchronous={}", settings.synchronous.number()),
        format!("PRAGMA wal_autocheckpoint={}", settings.checkpoint_pages),
    ];
    let cache = settings.cache_kib;
    pragmas.extend(cache.map(|kib| format!("PRAGMA cache_size=-{kib}")));
    pragmas
}

/// The synchronous level that a connection reports.
pub(super) fn synchronous_of(connection: &Connection) -> rusqlite::Result<Option<Synchronous>> {
    let number = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    Ok(Synchronous::from_number(number))
}

/// The journal mode that a connection reports, in SQLite's word.
pub(super) fn journal_of(connection: &Connection) -> rusqlite::Result<String> {
    connection.pragma_query_value(None, "journal_mode", |row| row.get(0))
}

fn verify(connection: &Connection, path: &Path, settings: &Settings) -> TargetResult<()> {
    let read = |error: &rusqlite::Error| outside(error, "read the settings of", path);
    let synchronous = synchronous_of(connection).map_err(|error| read(&error))?;
    let journal = journal_of(connection).map_err(|error| read(&error))?;
    if synchronous == Some(settings.synchronous) && journal == settings.journal.word() {
        return Ok(());
    }
    let what = format!(
        "synchronous={} and journal_mode={} were set on {}, but SQLite reports {} and {journal}",
        settings.synchronous.name(),
        settings.journal.word(),
        path.display(),
        synchronous.map_or("another level", Synchronous::name),
    );
    Err(Failure::new(FailureKind::Storage, what))
}
