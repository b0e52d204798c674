//! Stores that earlier formats left: each opens, holds every row, and goes on in the present format.
//!
//! `tests/data/format-N.bin` is a store of format N: the files of a directory after [`make`], copied while
//! the database was open, so that the log holds commits behind the second checkpoint. The program of that
//! format wrote it; [`expected`] computes its rows. Pages have 512 bytes, so that most values are long.
//!
//! An archive is a list of files: length of the name (2), name, length of the file (4), and pieces until that
//! length is reached. A piece begins with a number of 2 bytes: with its highest bit set, the rest counts how
//! often the next byte repeats; otherwise it counts bytes that follow as they are.
//!
//! To add a format, run the last test with the environment variable `SYNCLINE_ARCHIVE`: it writes the archive
//! of the present format to the file of that name.

use crate::access::row;
use crate::database::engine::Engine;
use crate::database::open::open;
use crate::log::Threads;
use crate::{Begin, Database, Direction, KeyRange, Kind, Options, Schema, Value, log};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use syncline_vfs::simulated::{Crash, Metadata};
use syncline_vfs::{Disk, File, OpenOptions, RealDisk, SimulatedDisk};

type Rows = BTreeMap<i64, (i64, Vec<u8>)>;

/// One change of the table: a row with its new number and body, or none to delete it.
type Step = (i64, Option<(i64, Vec<u8>)>);

fn options() -> Options {
    Options { log: log::Options { direct: false, ..log::Options::tiny() }, ..Options::tiny() }
}

fn schema() -> Schema {
    Schema::table("values")
        .column("id", Kind::Int)
        .column("number", Kind::Int)
        .column("body", Kind::Bytes)
        .key(["id"])
        .index("by_number", ["number"])
        .build()
        .unwrap()
}

/// The body of a row's version: none, short, a few pages or many pages long.
fn body(id: i64, version: i64) -> Vec<u8> {
    let bytes = match (id + version) % 6 {
        0 => 0,
        1 => 20 + id,
        2 => 100,
        3 => 472 + id,
        4 => 2 * 472,
        _ => 3_000 + 7 * id,
    };
    let byte = |at: i64| if at % 64 == 0 { (at / 64) as u8 } else { (id * 3 + version) as u8 };
    (0..bytes).map(byte).collect()
}

/// The changes before the first checkpoint, before the second, and after it.
fn steps(part: i64) -> Vec<Step> {
    let row = |id: i64| (id, Some((id % 10 + part, body(id, part))));
    match part {
        0 => (0..60).map(row).collect(),
        1 => {
            let changed = (0..60).step_by(3).map(row);
            let deleted = (0..60).skip(1).step_by(7).map(|id| (id, None));
            changed.chain(deleted).chain((60..75).map(row)).collect()
        }
        _ => {
            let changed = (0..70).step_by(11).map(row);
            let deleted = (2..70).step_by(13).map(|id| (id, None));
            changed.chain(deleted).chain((75..82).map(row)).collect()
        }
    }
}

fn expected() -> Rows {
    let mut rows = Rows::new();
    for (id, row) in (0..3).flat_map(steps) {
        match row {
            Some(row) => rows.insert(id, row),
            None => rows.remove(&id),
        };
    }
    rows
}

/// Commits the changes of a part one by one, without deletes of rows that are not there.
fn commit<D: Disk>(database: &Database<D>, part: i64, rows: &mut Rows) {
    let table = database.table("values").unwrap();
    for (id, row) in steps(part) {
        match row {
            Some((number, body)) => {
                let values = [Value::Int(id), Value::Int(number), Value::Bytes(&body)];
                database.run(|transaction| transaction.put(&table, &values)).unwrap();
                rows.insert(id, (number, body));
            }
            None if rows.remove(&id).is_some() => {
                let key = [Value::Int(id)];
                database.run(|transaction| transaction.delete(&table, &key)).unwrap();
            }
            None => {}
        }
    }
}

/// Makes the store. An open snapshot keeps deleted rows and old values through the second checkpoint.
fn make(directory: &Path) -> Database {
    let database = Database::create(directory, options()).unwrap();
    database.create_table(schema()).unwrap();
    let mut rows = Rows::new();
    commit(&database, 0, &mut rows);
    database.checkpoint().unwrap();
    let mut reader = database.session().unwrap();
    reader.begin(Begin::ReadOnly).unwrap();
    commit(&database, 1, &mut rows);
    database.checkpoint().unwrap();
    reader.abort();
    drop(reader);
    commit(&database, 2, &mut rows);
    assert_eq!(rows, expected());
    database
}

fn pack(bytes: &[u8], archive: &mut Vec<u8>) {
    let mut rest = bytes;
    let run = |bytes: &[u8]| bytes.iter().take(0x7fff).take_while(|b| **b == bytes[0]).count();
    while !rest.is_empty() {
        let repeats = run(rest);
        if repeats > 3 {
            archive.extend_from_slice(&(repeats as u16 | 0x8000).to_le_bytes());
            archive.push(rest[0]);
            rest = &rest[repeats..];
            continue;
        }
        let ends = |at: &usize| run(&rest[*at..]) > 3;
        let literal = (1..rest.len().min(0x7fff)).find(ends).unwrap_or(rest.len().min(0x7fff));
        archive.extend_from_slice(&(literal as u16).to_le_bytes());
        archive.extend_from_slice(&rest[..literal]);
        rest = &rest[literal..];
    }
}

/// The files of an archive with their names.
fn unpacked(mut archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    fn take<'a>(archive: &mut &'a [u8], bytes: usize) -> &'a [u8] {
        archive.split_off(..bytes).expect("the archive is whole")
    }
    fn number(archive: &mut &[u8]) -> usize {
        usize::from(u16::from_le_bytes(take(archive, 2).try_into().unwrap()))
    }
    let mut files = Vec::new();
    while !archive.is_empty() {
        let name_bytes = number(&mut archive);
        let name = String::from_utf8(take(&mut archive, name_bytes).to_vec()).unwrap();
        let length = u32::from_le_bytes(take(&mut archive, 4).try_into().unwrap()) as usize;
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let count = number(&mut archive);
            if count & 0x8000 != 0 {
                let byte = take(&mut archive, 1)[0];
                bytes.resize(bytes.len() + (count & 0x7fff), byte);
            } else {
                bytes.extend_from_slice(take(&mut archive, count));
            }
        }
        assert_eq!(bytes.len(), length, "{name}");
        files.push((name, bytes));
    }
    files
}

/// Every released format with an archive of a store.
const ARCHIVES: [(u32, &[u8]); 1] = [(2, include_bytes!("../../../tests/data/format-2.bin"))];

/// A disk with the files of an archive, all of them stable.
fn disk_of(archive: &[u8]) -> SimulatedDisk {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    for directory in ["store", "store/log"] {
        disk.create_directory(Path::new(directory)).unwrap();
    }
    for (name, bytes) in unpacked(archive) {
        let file = disk.open(&Path::new("store").join(name), OpenOptions::READ_WRITE).unwrap();
        file.write_at(&bytes, 0).unwrap();
        file.sync_all().unwrap();
    }
    for directory in ["", "store", "store/log"] {
        disk.sync_directory(Path::new(directory)).unwrap();
    }
    disk
}

/// Opens the store and checks every row and every page.
fn opened(disk: &SimulatedDisk) -> crate::Result<Arc<Engine<SimulatedDisk>>> {
    let engine = open(disk, Path::new("store"), options(), Threads::None)?;
    assert_eq!(engine.verify()?, Vec::<String>::new());
    let schema = schema();
    let encoded = expected().into_iter().map(|(id, (number, body))| {
        let (mut key, mut row) = (Vec::new(), Vec::new());
        let values = [Value::Int(id), Value::Int(number), Value::Bytes(&body)];
        row::encode(&schema, &values, &mut key, &mut row).unwrap();
        (key, row)
    });
    let tree = engine.catalog().table("values").unwrap().tree;
    let tree = engine.tree_directory.tree(tree).unwrap();
    let mut rows = Vec::new();
    tree.walk(&engine.core.buffer, &mut |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        Ok(())
    })?;
    assert_eq!(rows, encoded.collect::<Vec<_>>());
    Ok(engine)
}

fn checkpoint(engine: &Engine<SimulatedDisk>) -> crate::Result<()> {
    let checkpoints = engine.checkpoints.as_ref().unwrap();
    checkpoints.run(&engine.core, &engine.tree_directory).map(drop)
}

fn format_of(engine: &Engine<SimulatedDisk>) -> u32 {
    engine.checkpoints.as_ref().unwrap().format()
}

#[test]
fn a_store_of_every_released_format_opens_with_all_rows_and_goes_on_in_the_present_format() {
    for (format, archive) in ARCHIVES {
        let disk = disk_of(archive);
        let engine = opened(&disk).unwrap();
        assert_eq!(format_of(&engine), format, "opening alone upgrades nothing");
        let values = engine.core.buffer.labelled(|_tree| true).filter(|(page, _)| {
            let guard = crate::buffer::pin();
            engine.core.buffer.frame(*page, &guard).is_some_and(|frame| frame.overflow().is_some())
        });
        assert_eq!(values.count(), 0, "no chain remains");
        drop(engine);
        // Converted again, from the files as they were.
        let engine = opened(&disk).unwrap();
        checkpoint(&engine).unwrap();
        assert_eq!(format_of(&engine), 3);
        drop(engine);
        for _ in 0..2 {
            let engine = opened(&disk).unwrap();
            assert_eq!(format_of(&engine), 3);
            checkpoint(&engine).unwrap();
        }
    }
}

#[test]
fn a_power_loss_at_any_io_of_an_upgrade_leaves_a_store_that_opens_with_all_rows() {
    for (format, archive) in ARCHIVES {
        let stable = disk_of(archive);
        let mut upgraded = [0, 0];
        for crash_at in 0.. {
            let disk = stable.crash(Crash::DropAll);
            disk.crash_after(crash_at);
            let done = opened(&disk).and_then(|engine| checkpoint(&engine));
            for how in [Crash::DropAll, Crash::KeepAll, Crash::Torn { seed: crash_at }] {
                let engine = opened(&disk.crash(how)).unwrap_or_else(|error| {
                    panic!("format {format}, {how:?} at {crash_at}: {error}");
                });
                upgraded[usize::from(format_of(&engine) > format)] += 1;
            }
            if done.is_ok() && disk.operations() <= crash_at {
                break;
            }
        }
        assert!(upgraded[0] > 20 && upgraded[1] > 2, "{upgraded:?}");
    }
}

#[test]
fn a_store_of_every_released_format_works_through_the_public_calls() {
    for (_, archive) in ARCHIVES {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("log")).unwrap();
        for (name, bytes) in unpacked(archive) {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        let mut rows = expected();
        for round in 0..2 {
            let database = Database::open(folder.path(), options()).unwrap();
            assert_eq!(database.verify().unwrap(), Vec::<String>::new());
            assert_eq!(rows_of(&database), rows);
            commit(&database, 1 - round, &mut rows);
            assert_eq!(rows_of(&database), rows);
            database.close().unwrap();
        }
    }
}

fn rows_of(database: &Database) -> Rows {
    let table = database.table("values").unwrap();
    let mut session = database.session().unwrap();
    session.begin(Begin::ReadOnly).unwrap();
    let mut rows = Rows::new();
    session
        .scan(&table, KeyRange::prefix(&[]), Direction::Ascending, usize::MAX, |row| {
            let number = |column| Ok::<_, crate::Error>(row.value(column)?.as_int().unwrap());
            let body = row.value(2)?.as_bytes().unwrap().to_vec();
            rows.insert(number(0)?, (number(1)?, body));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    session.abort();
    rows
}

#[test]
fn an_archive_of_the_present_format_opens_with_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("store");
    let database = make(&directory);
    let mut archive = Vec::new();
    for parent in ["", "log"] {
        let mut names = RealDisk.list(&directory.join(parent)).unwrap();
        names.sort();
        for name in names {
            let name = Path::new(parent).join(name);
            let file = directory.join(&name);
            if file.is_dir() {
                continue;
            }
            let bytes = std::fs::read(&file).unwrap();
            let name = name.to_str().unwrap();
            archive.extend_from_slice(&(name.len() as u16).to_le_bytes());
            archive.extend_from_slice(name.as_bytes());
            archive.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            pack(&bytes, &mut archive);
        }
    }
    drop(database);
    let engine = opened(&disk_of(&archive)).unwrap();
    assert_eq!(format_of(&engine), 3);
    if let Ok(path) = std::env::var("SYNCLINE_ARCHIVE") {
        std::fs::write(path, archive).unwrap();
    }
}
