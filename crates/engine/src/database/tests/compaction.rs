//! The data file becomes smaller, by a call or by itself, while others read and write.

use crate::buffer::Miss;
use crate::database::backup::{BackupStep, RunningBackup};
use crate::database::checkpoints::Checkpoints;
use crate::database::engine::Engine;
use crate::error::{Error, Result};
use crate::options::{BufferMode, Options};
use crate::planted_bug::{self, PlantedBug};
use crate::step::{self, Step};
use crate::{Database, Kind, Schema, Table, Value};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_vfs::simulated::{Crash, Metadata};
use syncline_vfs::{Disk, File, OpenOptions, SimulatedDisk};

const ROWS: i64 = 4_000;

fn directory() -> &'static Path {
    Path::new("database")
}

/// A cache of some pages. Checkpoints are made by the caller.
fn options() -> Options {
    let options = Options { buffer_mode: BufferMode::Disk, ..Options::tiny() };
    Options { resident_bytes_max: 384 << 10, ..options }
}

fn filled(disk: &SimulatedDisk) -> (Database<SimulatedDisk>, Table) {
    let database = Database::create_on(disk, directory(), options()).unwrap();
    let schema = Schema::table("t").column("id", Kind::Int).column("bytes", Kind::Bytes);
    let rows = (0..ROWS).map(|id| [Value::Int(id), Value::Bytes(bytes(id))]);
    let table = database.load_table(schema.key(["id"]).build().unwrap(), rows).unwrap();
    (database, table)
}

/// Short ones, and a few that lie in extents.
fn bytes(id: i64) -> &'static [u8] {
    if id % 100 == 0 { &[5; 3_000] } else { &[6; 60] }
}

/// Deletes all rows but every `keeps`-th, with checkpoints.
fn thin_out(database: &Database<SimulatedDisk>, table: &Table, keeps: i64) {
    for first in (0..ROWS).step_by(100) {
        let deleted = database.run(|tx| {
            let gone = (first..first + 100).filter(|id| id % keeps != 0);
            gone.into_iter().try_for_each(|id| tx.delete(table, &[Value::Int(id)]).map(drop))
        });
        deleted.unwrap();
        if first % 500 == 0 {
            database.checkpoint().unwrap();
        }
    }
    database.checkpoint().unwrap();
}

/// Every `keeps`-th row is there, and nothing is wrong.
fn check(database: &Database<SimulatedDisk>, keeps: i64) {
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    let table = database.table("t").unwrap();
    let checked = database.run(|tx| -> Result<_> {
        for id in 0..ROWS {
            let row = tx.get(&table, &[Value::Int(id)])?;
            let expected = (id % keeps == 0).then(|| Value::Bytes(bytes(id)));
            let found = row.as_ref().map(|row| row.value(1)).transpose()?;
            assert_eq!(found, expected, "row {id}");
        }
        Ok(())
    });
    checked.unwrap();
}

fn file_bytes(disk: &SimulatedDisk) -> u64 {
    disk.open(&directory().join("data"), OpenOptions::READ).unwrap().len().unwrap()
}

#[test]
fn a_compacted_file_is_cut_and_holds_every_row_also_after_a_crash() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let (database, table) = filled(&disk);
    thin_out(&database, &table, 9);
    let (before, after) = database.compact().unwrap();
    assert!(after < before / 3 * 2, "{before} bytes, then {after}");
    assert_eq!(file_bytes(&disk), after);
    check(&database, 9);
    let again = database.compact().unwrap();
    assert!(again.1 > after / 10 * 9, "{again:?}: it was compact");
    let left = disk.crash(Crash::DropAll);
    check(&Database::open_on(&left, directory(), options()).unwrap(), 9);
    // It grows again.
    let rows = (0..ROWS).filter(|id| id % 9 != 0);
    for id in rows {
        let row = [Value::Int(id), Value::Bytes(bytes(id))];
        database.run(|tx| tx.insert(&table, &row)).unwrap();
        if id % 100 == 1 {
            database.checkpoint().unwrap();
        }
    }
    check(&database, 1);
}

#[test]
fn a_file_that_is_mostly_free_shrinks_by_itself() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let (database, _table) = filled(&disk);
    let other = Schema::table("other").column("id", Kind::Int).key(["id"]).build().unwrap();
    let other = database.create_table(other).unwrap();
    let before = file_bytes(&disk);
    database.drop_table("t").unwrap();
    for id in 0..100 {
        database.run(|tx| tx.put(&other, &[Value::Int(id)])).unwrap();
        database.checkpoint().unwrap();
    }
    let after = file_bytes(&disk);
    assert!(after < before / 2, "{before} bytes, then {after}");
    assert!(database.stats().checkpoints.unwrap().cuts > 0);
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn readers_and_writers_go_on_during_a_compaction() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let (database, table) = filled(&disk);
    thin_out(&database, &table, 3);
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (database, table, ends) = (&database, &table, &ends);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(thread);
                while !ends.load(Ordering::Relaxed) {
                    let id = random.i64(0..ROWS / 3) * 3;
                    let row = [Value::Int(id), Value::Bytes(bytes(id))];
                    let done = database.run(|tx| {
                        assert!(tx.get(table, &row[..1])?.is_some(), "row {id}");
                        // Few pages change: they must fit into the cache until a checkpoint.
                        if id % 60 == 30 { tx.put(table, &row) } else { Ok(()) }
                    });
                    done.unwrap();
                }
            });
        }
        for _ in 0..4 {
            database.compact().unwrap();
        }
        ends.store(true, Ordering::Relaxed);
    });
    check(&database, 3);
}

fn checkpoints(engine: &Engine<SimulatedDisk>) -> &Checkpoints<SimulatedDisk> {
    engine.checkpoints.as_ref().expect("it has a data file")
}

/// The whole file is compacted while its last page is read.
fn read_moved(disk: &SimulatedDisk) -> Result<()> {
    let database = Database::open_on(disk, directory(), options()).unwrap();
    let engine = Arc::clone(database.engine());
    let page = checkpoints(&engine).last_in_file();
    let of_hook = Arc::clone(&engine);
    let mut is_compacted = false;
    let hook = move |step| {
        if step == Step::Read && !std::mem::replace(&mut is_compacted, true) {
            let compacted = checkpoints(&of_hook).compact(&of_hook.core, &of_hook.tree_directory);
            let (before, after) = compacted.unwrap();
            assert!(after < before, "it was not cut: {before} bytes, then {after}");
        }
    };
    let buffer = &engine.core.buffer;
    assert!(buffer.is_on_disk(page));
    step::with(Box::new(hook), || buffer.load(Miss(page)))?;
    assert!(!buffer.is_on_disk(page));
    Ok(())
}

#[test]
fn a_page_that_is_moved_while_it_is_read_is_read_again() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let (database, table) = filled(&disk);
    thin_out(&database, &table, 9);
    database.close().unwrap();
    let copy = disk.crash(Crash::DropAll);
    let trusted = planted_bug::with(Some(PlantedBug::TrustOldEntry), || read_moved(&copy));
    assert!(matches!(trusted, Err(Error::Damaged { .. })), "{trusted:?}");
    read_moved(&disk).unwrap();
}

#[test]
fn a_backup_that_holds_the_end_of_the_file_keeps_it_and_is_right() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let (database, table) = filled(&disk);
    database.checkpoint().unwrap();
    let mut backup = RunningBackup::begin(database.engine(), Path::new("copy"), 7).unwrap();
    thin_out(&database, &table, 3);
    database.compact().unwrap();
    while backup.step().unwrap() == BackupStep::Worked {}
    drop(backup);
    let copy = Database::open_on(&disk, Path::new("copy"), options()).unwrap();
    check(&copy, 1);
    let (before, after) = database.compact().unwrap();
    assert!(after < before, "the hold has ended: {before} bytes, then {after}");
    check(&database, 3);
}

#[test]
fn an_unreadable_page_is_not_moved_and_the_database_goes_on() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let (database, table) = filled(&disk);
    thin_out(&database, &table, 3);
    database.close().unwrap();
    let path = directory().join("data");
    let file = disk.open(&path, OpenOptions::READ_WRITE).unwrap();
    // Somewhere behind the middle an image is hit, not only free slots.
    let length = file.len().unwrap();
    for at in (length / 4 * 3..length - 8).step_by(4_096) {
        file.write_at(&[0xa5; 8], at).unwrap();
    }
    file.sync_all().unwrap();
    drop(file);
    let database = Database::open_on(&disk, directory(), options()).unwrap();
    let problems = database.verify().unwrap();
    assert!(!problems.is_empty(), "nothing was hit");
    database.compact().unwrap();
    let left = database.verify().unwrap().len();
    assert!((1..=problems.len()).contains(&left), "{left} of {}", problems.len());
    let table = database
        .create_table(Schema::table("u").column("id", Kind::Int).key(["id"]).build().unwrap());
    database.run(|tx| tx.insert(table.as_ref().unwrap(), &[Value::Int(1)])).unwrap();
    database.checkpoint().unwrap();
}
