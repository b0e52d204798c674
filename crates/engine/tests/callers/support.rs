//! Databases, tables, and a guard against calls that do not return.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use syncline_engine::{Database, Kind, Options, Schema, Table, Value};
use syncline_vfs::{NullDisk, RealDisk};
use tempfile::TempDir;

/// Calls that have not returned by then never will. Far longer than any of them takes.
const NEVER: Duration = Duration::from_secs(20);

/// The result of `body`. Panics if it panics or does not return.
pub(crate) fn returns<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(body()));
    match receiver.recv_timeout(NEVER) {
        Ok(result) => result,
        Err(RecvTimeoutError::Disconnected) => panic!("the call panicked"),
        Err(RecvTimeoutError::Timeout) => panic!("the call did not return"),
    }
}

/// Small files, and short waits for exclusive transactions.
pub(crate) fn options() -> Options {
    let mut options =
        Options { exclusive_wait_ms: 50, extent_bytes: 1 << 20, ..Options::default() };
    options.log.segment_bytes = 4 << 20;
    options
}

/// A database on disk, removed with its folder.
pub(crate) fn on_disk() -> (TempDir, Database<RealDisk>) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::create(folder.path().join("db"), options()).expect("a new database");
    (folder, database)
}

/// A database in memory.
pub(crate) fn in_memory() -> Database<NullDisk> {
    Database::transient(options()).expect("a new database")
}

/// Rows of a number and bytes.
pub(crate) fn schema(name: &str) -> Schema {
    let schema = Schema::table(name).column("k", Kind::Int).column("v", Kind::Bytes);
    schema.key(["k"]).build().expect("a good schema")
}

/// An empty table of that schema.
pub(crate) fn table<D: syncline_vfs::Disk>(database: &Database<D>, name: &str) -> Table {
    database.create_table(schema(name)).expect("a new table")
}

/// A row of it.
pub(crate) fn row(key: i64) -> [Value<'static>; 2] {
    [Value::Int(key), Value::Bytes(b"v")]
}
