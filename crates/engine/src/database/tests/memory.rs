//! Memory of a whole database: it is released when rows are deleted, and a checkpoint does not prevent that.

use crate::access::schema::{Kind, Schema, Value};
use crate::database::create::create;
use crate::database::definitions::encoded;
use crate::database::engine::Engine;
use crate::database::open::{open, transient};
use crate::error::{Error, Result};
use crate::log::Threads;
use crate::options::Options;
use crate::table::TypedSession;
use crate::txn::Begin;
use std::path::Path;
use std::sync::Arc;
use syncline_vfs::simulated::{Crash, Metadata};
use syncline_vfs::{Disk, SimulatedDisk};

fn schema() -> Schema {
    let table = Schema::table("rows")
        .column("id", Kind::Int)
        .column("bytes", Kind::Bytes)
        .key(["id"])
        .index("by_bytes", ["bytes"]);
    table.build().unwrap()
}

fn plain() -> Schema {
    let table = Schema::table("rows").column("id", Kind::Int).column("bytes", Kind::Bytes);
    table.key(["id"]).build().unwrap()
}

fn put<D: Disk>(engine: &Arc<Engine<D>>, id: i64, value: &[u8]) -> Result<()> {
    let table = engine.table("rows")?;
    let mut session = TypedSession::new(&engine.core)?;
    let row = [Value::Int(id), Value::Bytes(value)];
    let run = session.run(Begin::Serializable, |tx| tx.put(&table, &row));
    session.wait(run?.1)
}

/// D4: images of pages that were freed after a checkpoint's snapshot stay, and count, until it captures them.
#[test]
fn a_long_row_can_be_updated_again_and_again_during_a_stalled_checkpoint() {
    let options = Options { resident_bytes_max: 64 << 10, ..Options::tiny() };
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let engine = create(&disk, Path::new("db"), options.clone(), Threads::None).unwrap();
    engine.create_table(plain()).unwrap();
    let checkpoints = engine.checkpoints.as_ref().expect("it is on a disk");
    for update in 0..60_u8 {
        put(&engine, 1, &[update; 4_000]).unwrap_or_else(|error| panic!("{update}: {error}"));
        checkpoints.begin(&engine.core, &engine.tree_directory).unwrap();
    }
    assert_eq!(engine.verify().unwrap(), Vec::<String>::new());
    engine.core.log.flush().unwrap();
    // Redo fits the same cap.
    let again = disk.crash(Crash::DropAll);
    let engine = open(&again, Path::new("db"), options, Threads::None).unwrap();
    assert_eq!(engine.verify().unwrap(), Vec::<String>::new());
}

/// Fault: a load was refused memory held by old versions and deleted rows, since only commits released it.
#[test]
fn a_load_reclaims_the_memory_of_deleted_rows() {
    // Ascending rows are appended, others inserted. Values of 90 bytes are in leaves, those of 1,000 in
    // extents.
    for (step, bytes) in [(1, 90), (1, 1_000), (7, 90), (7, 1_000)] {
        let options = Options {
            resident_bytes_max: 320 << 10,
            definition_bytes_max: 4 << 10,
            ..Options::tiny()
        };
        let engine = transient(options).unwrap();
        engine.create_table(plain()).unwrap();
        let table = engine.table("rows").unwrap();
        // A number of rows that is not divisible by seven, so that the steps reach all of them.
        let ids = 0..if bytes == 90 { 1_000 } else { 120 };
        let mut session = TypedSession::new(&engine.core).unwrap();
        let value = vec![1; bytes];
        for id in ids.clone() {
            let row = [Value::Int(id), Value::Bytes(&value)];
            let run = session.run(Begin::Serializable, |tx| tx.insert(&table, &row));
            session.wait(run.unwrap().1).unwrap();
        }
        // The reader keeps every row; when it ends no commit follows.
        let mut reader = TypedSession::new(&engine.core).unwrap();
        reader.begin(Begin::ReadOnly).unwrap();
        for id in ids.clone() {
            let key = [Value::Int(id)];
            let run = session.run(Begin::Serializable, |tx| tx.delete(&table, &key));
            session.wait(run.unwrap().1).unwrap();
        }
        reader.abort();
        let taken = engine.core.buffer.resident_bytes();
        assert!(taken > 160 << 10, "{taken} bytes of deleted rows");
        let count = ids.end;
        let loaded = Schema::table("loaded")
            .column("id", Kind::Int)
            .column("bytes", Kind::Bytes)
            .key(["id"])
            .build()
            .unwrap();
        let rows = (0..count).map(|at| [Value::Int(at * step % count), Value::Bytes(&value)]);
        let rows = encoded(&loaded, rows, 64);
        let entry = engine.load_table(loaded.clone(), rows);
        entry.unwrap_or_else(|error| panic!("step {step}, {bytes} bytes: {error}"));
        assert_eq!(engine.verify().unwrap(), Vec::<String>::new());
        let table = engine.table("loaded").unwrap();
        session.begin(Begin::ReadOnly).unwrap();
        let is_there = |id: &i64| session.get(&table, &[Value::Int(*id)]).unwrap().is_some();
        assert_eq!(ids.filter(is_there).count() as i64, count);
    }
}

/// All rows and entries are deleted and inserted again: memory is released each time and does not grow.
#[test]
fn resident_bytes_are_released_each_time_all_rows_are_deleted() {
    let engine = transient(Options::tiny()).unwrap();
    engine.create_table(schema()).unwrap();
    let table = engine.table("rows").unwrap();
    let mut session = TypedSession::new(&engine.core).unwrap();
    let pages_at_rest = |session: &mut TypedSession<_>, writes: bool, round: i64| {
        for from in (0..1_000).step_by(50) {
            session.begin(Begin::Serializable).unwrap();
            for id in from..from + 50 {
                let bytes = (id * 7919 % 1_000 + round).to_be_bytes().repeat(3);
                if writes {
                    let row = [Value::Int(id), Value::Bytes(&bytes)];
                    session.insert(&table, &row).unwrap();
                } else {
                    session.delete(&table, &[Value::Int(id)]).unwrap();
                }
            }
            let ticket = session.commit().unwrap();
            session.wait(ticket).unwrap();
        }
        engine.core.log.flush().unwrap();
        engine.core.sweep();
        let pages = |tree| engine.core.buffer.pages_of(tree).len();
        let trees = engine.tree_directory.trees();
        trees.iter().map(|tree| pages(tree.id)).sum::<usize>()
    };
    let mut full = Vec::new();
    for round in 0..3 {
        full.push(pages_at_rest(&mut session, true, round));
        let empty = pages_at_rest(&mut session, false, round);
        assert!(empty <= 4, "round {round}: {empty} pages of the catalogue, rows and entries");
    }
    assert!(full[0] > 100, "{full:?}");
    let most = full[0] + full[0] / 10;
    assert!(full.iter().all(|pages| *pages <= most), "{full:?}");
}

/// Fault: `open` advised to delete rows, which it cannot do.
#[test]
fn opening_a_database_that_does_not_fit_gives_advice() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let engine = create(&disk, Path::new("db"), Options::tiny(), Threads::None).unwrap();
    engine.create_table(plain()).unwrap();
    (0..60).for_each(|id| put(&engine, id, &[7; 2_000]).unwrap());
    let small = Options { resident_bytes_max: 32 << 10, ..Options::tiny() };
    let refused = |disk: &SimulatedDisk| {
        let again = disk.crash(Crash::DropAll);
        let error = open(&again, Path::new("db"), small.clone(), Threads::None).err();
        let error = error.expect("it does not fit");
        assert!(matches!(error, Error::Capped { .. }), "{error}");
        assert!(error.to_string().ends_with("open it with a larger cap"), "{error}");
    };
    // In redo, then while pages are read.
    engine.core.log.flush().unwrap();
    refused(&disk);
    let checkpoints = engine.checkpoints.as_ref().expect("it is on a disk");
    checkpoints.run(&engine.core, &engine.tree_directory).unwrap();
    refused(&disk);
    let small = Options { resident_bytes_max: 64 << 10, ..Options::tiny() };
    let engine = create(&disk, Path::new("other"), small, Threads::None).unwrap();
    engine.create_table(plain()).unwrap();
    let full = (0..60).find_map(|id| put(&engine, id, &[7; 2_000]).err());
    let full = full.expect("it is full").to_string();
    assert!(full.ends_with("delete rows or raise it"), "{full}");
}
