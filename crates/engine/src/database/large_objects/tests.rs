//! Large objects come back whole, or nothing of them stays.

use super::handle::{LargeObjects, PART_BYTES_MAX};
use crate::error::Error;
use crate::{Begin, Database, Direction, KeyRange, Kind, Options, Result, Schema, Value};
use std::io::{BufRead, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::Path;
use syncline_vfs::simulated::{Crash, Metadata};
use syncline_vfs::{Disk, NullDisk, SimulatedDisk};

fn transient() -> Database<NullDisk> {
    Database::transient(Options::default()).unwrap()
}

fn content(bytes: usize) -> Vec<u8> {
    let mut content = vec![0; bytes];
    fastrand::Rng::with_seed(bytes as u64).fill(&mut content);
    content
}

/// Writes an object in pieces of odd lengths and finishes it.
fn write<D: Disk>(database: &Database<D>, objects: &LargeObjects, content: &[u8]) -> Result<i64> {
    let mut writer = objects.write(database)?;
    for piece in content.chunks(10_007) {
        writer.write_all(piece).map_err(engine_error)?;
    }
    assert_eq!(writer.len_bytes(), content.len() as u64);
    writer.finish(|_, id| Ok(id))
}

/// The engine's error in that of a reader or writer.
fn engine_error(error: std::io::Error) -> Error {
    *error.into_inner().expect("it has a cause").downcast().expect("it is one of the engine")
}

fn read<D: Disk>(
    database: &Database<D>,
    objects: &LargeObjects,
    id: i64,
) -> Result<Option<Vec<u8>>> {
    database.run(|transaction| {
        let Some(mut reader) = objects.read(transaction, id)? else {
            return Ok(None);
        };
        let mut content = Vec::new();
        reader.read_to_end(&mut content).map_err(engine_error)?;
        assert_eq!(content.len() as u64, reader.len_bytes());
        Ok(Some(content))
    })
}

fn rows<D: Disk>(database: &Database<D>, table: &str) -> usize {
    let table = database.table(table).unwrap();
    let mut session = database.session().unwrap();
    session.begin(Begin::Snapshot).unwrap();
    let mut rows = 0;
    let scanned =
        session.scan_keys(&table, KeyRange::ALL, Direction::Ascending, usize::MAX, |_| {
            rows += 1;
            Ok(ControlFlow::Continue(()))
        });
    scanned.unwrap();
    rows
}

#[test]
fn objects_at_the_borders_of_parts_come_back_after_a_checkpoint_and_a_redo() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("db");
    let database = Database::create(&directory, Options::default()).unwrap();
    let objects = database.large_objects("files").unwrap();
    let part = PART_BYTES_MAX;
    let lengths = [0, 1, part - 1, part, part + 1, 3 * part, 3 * part + 7];
    let (first, second) = lengths.split_at(4);
    let write = |bytes: &usize| (write(&database, &objects, &content(*bytes)).unwrap(), *bytes);
    let mut written: Vec<_> = first.iter().map(write).collect();
    database.checkpoint().unwrap();
    written.extend(second.iter().map(write));
    assert_eq!(rows(&database, "files"), lengths.len());
    drop(database);
    let database = Database::open(&directory, Options::default()).unwrap();
    let objects = database.large_objects("files").unwrap();
    for (id, bytes) in written {
        assert!(read(&database, &objects, id).unwrap().unwrap() == content(bytes), "{bytes}");
    }
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn a_reader_seeks_and_lends_what_it_has_loaded() {
    let database = transient();
    let objects = database.large_objects("files").unwrap();
    let content = content(2 * PART_BYTES_MAX + 100);
    let id = write(&database, &objects, &content).unwrap();
    let mut session = database.session().unwrap();
    let transaction = session.transaction(Begin::ReadOnlyDurable).unwrap();
    let mut reader = objects.read(&transaction, id).unwrap().unwrap();
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..100 {
        let at = random.usize(..content.len());
        reader.seek(SeekFrom::Start(at as u64)).unwrap();
        let mut piece = vec![0; random.usize(..1_000).min(content.len() - at)];
        reader.read_exact(&mut piece).unwrap();
        assert!(piece == content[at..at + piece.len()], "{} bytes at {at}", piece.len());
    }
    assert_eq!(reader.seek(SeekFrom::End(-3)).unwrap(), content.len() as u64 - 3);
    assert_eq!(reader.fill_buf().unwrap(), &content[content.len() - 3..]);
    assert_eq!(reader.seek(SeekFrom::Current(10)).unwrap(), content.len() as u64 + 7);
    assert_eq!(reader.read(&mut [0; 5]).unwrap(), 0);
    let refused = reader.seek(SeekFrom::End(-1 - content.len() as i64)).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn an_object_is_invisible_until_it_is_finished_and_gone_if_it_is_not() {
    let database = transient();
    let objects = database.large_objects("files").unwrap();
    let mut writer = objects.write(&database).unwrap();
    writer.write_all(&content(3 * PART_BYTES_MAX)).unwrap();
    let id = writer.id();
    // Neither a reader nor another handle of this opening ends it.
    assert_eq!(read(&database, &objects, id).unwrap(), None);
    assert!(!database.run(|transaction| objects.delete(transaction, id)).unwrap());
    let same = database.large_objects("files").unwrap();
    assert_eq!((rows(&database, "files"), rows(&database, "files.parts")), (1, 2));
    drop(writer);
    assert_eq!((rows(&database, "files"), rows(&database, "files.parts")), (0, 0));

    // The caller's transaction fails.
    let mut writer = same.write(&database).unwrap();
    writer.write_all(&content(PART_BYTES_MAX + 1)).unwrap();
    let refused = writer.finish(|transaction, _| {
        transaction.delete(same.table(), &[Value::Int(-1)])?;
        Ok(())
    });
    assert!(matches!(refused, Err(Error::NoRow { .. })), "{refused:?}");
    assert_eq!((rows(&database, "files"), rows(&database, "files.parts")), (0, 0));
}

#[test]
fn more_parts_than_one_log_record_can_delete_are_discarded() {
    let options = Options { checkpoint_by_itself: true, ..Options::tiny() };
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let database = Database::create_on(&disk, Path::new("db"), options).unwrap();
    let objects = database.large_objects("files").unwrap();
    let mut writer = objects.write(&database).unwrap();
    writer.write_all(&content(objects.part_bytes * 600)).unwrap();
    assert_eq!(rows(&database, "files.parts"), 599);
    drop(writer);
    assert_eq!((rows(&database, "files"), rows(&database, "files.parts")), (0, 0));
}

#[test]
fn a_deleted_object_stays_for_a_snapshot_and_its_id_is_not_used_again() {
    let database = transient();
    let objects = database.large_objects("files").unwrap();
    let content = content(PART_BYTES_MAX * 2);
    let id = write(&database, &objects, &content).unwrap();
    let mut session = database.session().unwrap();
    let snapshot = session.transaction(Begin::Snapshot).unwrap();
    assert!(database.run(|transaction| objects.delete(transaction, id)).unwrap());
    assert!(!database.run(|transaction| objects.delete(transaction, id)).unwrap());
    assert_eq!((rows(&database, "files"), rows(&database, "files.parts")), (0, 0));
    let mut old = Vec::new();
    objects.read(&snapshot, id).unwrap().unwrap().read_to_end(&mut old).unwrap();
    assert!(old == content);
    drop(snapshot);
    assert!(write(&database, &objects, b"new").unwrap() > id);
}

#[test]
fn two_threads_write_objects_at_the_same_time() {
    let database = transient();
    let objects = database.large_objects("files").unwrap();
    let written: Vec<_> = std::thread::scope(|scope| {
        let write = |number: usize| {
            let (database, objects) = (&database, &objects);
            scope.spawn(move || {
                let bytes = |round: usize| PART_BYTES_MAX * 2 + round * 100 + number;
                let write =
                    |round| (write(database, objects, &content(bytes(round))), bytes(round));
                (0..5).map(write).collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = (0..2).map(write).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    for (id, bytes) in written {
        assert!(read(&database, &objects, id.unwrap()).unwrap().unwrap() == content(bytes));
    }
    assert_eq!(rows(&database, "files"), 10);
}

#[test]
fn a_table_of_another_kind_another_database_and_missing_tables_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("db");
    let database = Database::create(&directory, Options::default()).unwrap();
    let schema = Schema::table("rows").column("id", Kind::Int).key(["id"]).build().unwrap();
    database.create_table(schema).unwrap();
    assert!(matches!(database.large_objects("rows"), Err(Error::Schema { .. })));

    let other = transient();
    let of_other = other.large_objects("files").unwrap();
    assert!(matches!(of_other.write(&database), Err(Error::OtherDatabase { .. })));

    let objects = database.large_objects("files").unwrap();
    let id = write(&database, &objects, b"text").unwrap();
    // Somebody changes the parts.
    let parts = database.table("files.parts").unwrap();
    let key = [Value::Int(id), Value::Int(0)];
    database.run(|transaction| transaction.delete(&parts, &key)).unwrap();
    let broken = read(&database, &objects, id);
    assert!(matches!(broken, Err(Error::LargeObject { .. })), "{broken:?}");

    database.close().unwrap();
    let reading = Database::open_read_only(&directory, Options::default()).unwrap();
    assert!(matches!(reading.large_objects("none"), Err(Error::NoSuch { .. })));
    reading.large_objects("files").unwrap();
}

#[test]
fn after_a_crash_at_any_io_an_object_is_whole_or_nothing_is_left_of_it() {
    let options = Options::tiny();
    let write_two = |disk: &SimulatedDisk| -> Result<()> {
        let database = Database::create_on(disk, Path::new("db"), options.clone())?;
        let objects = database.large_objects("files")?;
        write(&database, &objects, &content(9_000))?;
        write(&database, &objects, &content(7_000))?;
        Ok(())
    };
    let (mut whole, mut left) = (0, 0);
    for at in 0.. {
        let disk = SimulatedDisk::new(at, Metadata::Strict);
        disk.crash_after(at);
        let ended = write_two(&disk);
        for how in [Crash::KeepAll, Crash::DropAll, Crash::Subset { seed: at }] {
            let image = disk.crash(how);
            let Ok(database) = Database::open_on(&image, Path::new("db"), options.clone()) else {
                // The database had not been made.
                continue;
            };
            let before = database.table("files").map_or(0, |_| rows(&database, "files"));
            let objects = database.large_objects("files").unwrap();
            let (mut ids, mut parts) = (Vec::new(), 0);
            database
                .run(|transaction| {
                    ids.clear();
                    let all = KeyRange::ALL;
                    let up = Direction::Ascending;
                    transaction.scan(objects.table(), all, up, usize::MAX, |row| {
                        ids.push((
                            row.value(0)?.as_int().unwrap(),
                            row.value(1)?.as_int().unwrap(),
                        ));
                        Ok(ControlFlow::Continue(()))
                    })
                })
                .unwrap();
            for (id, bytes) in &ids {
                let read = read(&database, &objects, *id).unwrap().unwrap();
                assert!(read == content(*bytes as usize), "{bytes} at {at}, {how:?}");
                parts += read.len().div_ceil(objects.part_bytes);
            }
            assert_eq!(rows(&database, "files.parts"), parts, "crash at {at}, {how:?}");
            whole += usize::from(ids.len() == 2);
            left += before - ids.len();
            if ended.is_ok() {
                assert_eq!(ids.len(), 2);
            }
        }
        if ended.is_ok() {
            break;
        }
    }
    assert!(whole > 0 && left > 20, "{whole} whole, {left} discarded");
}
