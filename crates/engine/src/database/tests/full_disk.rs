//! A full disk: deletes and a checkpoint work, and afterwards everything does, without space from outside.

use crate::access::schema::{Kind, Schema, Value};
use crate::database::create::create;
use crate::database::engine::Engine;
use crate::database::open::open;
use crate::error::{Error, Result};
use crate::log::Threads;
use crate::options::Options;
use crate::table::{Transaction, TypedSession};
use crate::txn::Begin;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::{Crash, Fault, FaultRule, Metadata};

type TestEngine = Engine<SimulatedDisk>;
type Tx<'s> = Transaction<'s, SimulatedDisk>;

/// A small database whose log holds more than its data file has free.
fn options() -> Options {
    let mut options = Options::tiny();
    options.log.segment_bytes = 64 << 10;
    options.log.segment_bytes_min = 64 << 10;
    options
}

fn database(disk: &SimulatedDisk) -> Arc<TestEngine> {
    database_with(disk, options())
}

fn database_with(disk: &SimulatedDisk, options: Options) -> Arc<TestEngine> {
    let engine = create(disk, Path::new("db"), options, Threads::None).unwrap();
    let schema =
        Schema::table("rows").column("id", Kind::Int).column("bytes", Kind::Bytes).key(["id"]);
    engine.create_table(schema.build().unwrap()).unwrap();
    engine
}

fn run(
    engine: &Arc<TestEngine>,
    body: impl Fn(&mut Tx<'_>, &crate::Table) -> Result<()>,
) -> Result<()> {
    let table = engine.table("rows")?;
    let mut session = TypedSession::new(&engine.core)?;
    let ((), ticket) = session.run(Begin::Serializable, |tx| body(tx, &table))?;
    session.wait(ticket)
}

fn put(engine: &Arc<TestEngine>, ids: Range<i64>, byte: u8) -> Result<()> {
    run(engine, |tx, table| {
        let value = [byte; 200];
        let put = |id| tx.put(table, &[Value::Int(id), Value::Bytes(&value)]);
        ids.clone().try_for_each(put)
    })
}

fn delete(engine: &Arc<TestEngine>, ids: Range<i64>) -> Result<()> {
    run(engine, |tx, table| {
        let mut ids = ids.clone();
        ids.try_for_each(|id| tx.delete(table, &[Value::Int(id)]))
    })
}

fn checkpoint(engine: &Arc<TestEngine>) -> Result<()> {
    let checkpoints = engine.checkpoints.as_ref().expect("it is on a disk");
    checkpoints.run(&engine.core, &engine.tree_directory).map(drop)
}

fn rows(engine: &Arc<TestEngine>) -> BTreeMap<i64, u8> {
    let table = engine.table("rows").unwrap();
    let mut session = TypedSession::new(&engine.core).unwrap();
    let mut rows = BTreeMap::new();
    session.begin(Begin::Serializable).unwrap();
    let visit = |row: crate::Row<'_>| {
        let (Value::Int(id), Value::Bytes(bytes)) = (row.value(0)?, row.value(1)?) else {
            panic!("an id and bytes")
        };
        rows.insert(id, bytes[0]);
        Ok(ControlFlow::Continue(()))
    };
    let all = crate::KeyRange::ALL;
    let scanned = session.scan(&table, all, crate::Direction::Ascending, usize::MAX, visit);
    scanned.unwrap();
    rows
}

/// From now on no file grows.
fn fill_disk(disk: &SimulatedDisk) {
    disk.arm(FaultRule { repeat: true, ..FaultRule::next(Fault::PreallocateFull, "") });
}

/// Inserts rows, some per transaction, until the disk is full. Returns the first id that is absent.
fn put_until_full(engine: &Arc<TestEngine>, from: i64) -> i64 {
    for id in (from..100_000).step_by(10) {
        match put(engine, id..id + 10, 1) {
            Ok(()) => {}
            Err(Error::Full { .. }) => return id,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the log is never full")
}

/// D11: commits that only delete were refused as well, and the checkpoint that had found the disk full
/// blocked a later one that needs less space.
#[test]
fn deletes_and_a_checkpoint_make_room_on_a_full_disk() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let engine = database(&disk);
    // The background thread ensures two log files: a single one is never free for reuse.
    for _ in 0..30 {
        put(&engine, 0..20, 1).unwrap();
    }
    checkpoint(&engine).unwrap();
    fill_disk(&disk);
    for round in 0..3 {
        let end = put_until_full(&engine, 20);
        assert!(end > 100, "round {round}: {end}");
        assert!(matches!(put(&engine, 0..10, 2), Err(Error::Full { .. })));
        if round == 0 {
            let full = checkpoint(&engine);
            assert!(matches!(full, Err(Error::Full { .. })), "{full:?}");
            let reported = engine.stats().checkpoint_failure.expect("it was abandoned");
            assert_eq!(*reported, *full.expect_err("it was just matched").to_string());
        }
        for from in (0..end).step_by(50) {
            delete(&engine, from..end.min(from + 50))
                .unwrap_or_else(|error| panic!("round {round}, from {from}: {error}"));
        }
        assert_eq!(rows(&engine).len(), 0);
        checkpoint(&engine).unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert_eq!(engine.stats().checkpoint_failure, None);
        put(&engine, 0..20, 1).unwrap();
    }
    assert_eq!(engine.verify().unwrap(), Vec::<String>::new());
    let again = disk.crash(Crash::DropAll);
    again.disarm();
    let engine = open(&again, Path::new("db"), options(), Threads::None).unwrap();
    assert_eq!(rows(&engine).len(), 20);
    assert_eq!(engine.verify().unwrap(), Vec::<String>::new());
}

/// Half of a small segment is a small reserve, but it is there.
#[test]
fn small_log_files_have_a_reserve_for_deletes_too() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let mut options = options();
    options.log.segment_bytes_min = 16 << 10;
    let engine = database_with(&disk, options);
    for _ in 0..4 {
        put(&engine, 0..20, 1).unwrap();
    }
    fill_disk(&disk);
    let end = put_until_full(&engine, 20);
    for from in (0..end).step_by(10) {
        delete(&engine, from..end.min(from + 10))
            .unwrap_or_else(|error| panic!("from {from} of {end}: {error}"));
    }
    assert_eq!(rows(&engine).len(), 0);
    checkpoint(&engine).unwrap();
    put(&engine, 0..20, 1).unwrap();
    assert_eq!(engine.verify().unwrap(), Vec::<String>::new());
}

/// A half-prepared log file gives its space back.
#[test]
fn a_log_file_that_could_not_be_made_takes_no_space() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let engine = database(&disk);
    disk.arm(FaultRule { repeat: true, ..FaultRule::next(Fault::PreallocateFull, "db/log") });
    put_until_full(&engine, 0);
    let log = Path::new("db/log");
    let files = syncline_vfs::Disk::list(&disk, log).unwrap();
    let lengths = files.iter().map(|name| {
        let path = log.join(name);
        let file = syncline_vfs::Disk::open(&disk, &path, syncline_vfs::OpenOptions::READ_WRITE);
        syncline_vfs::File::len(&file.unwrap()).unwrap()
    });
    let lengths: Vec<u64> = lengths.collect();
    let is_whole_or_empty = |bytes: &u64| [0, 64 << 10].contains(bytes);
    assert!(lengths.iter().all(is_whole_or_empty), "{lengths:?}");
}

/// Random rows with checkpoints that find the disk full in any of their steps, while pages change: a later
/// checkpoint writes whatever an abandoned one did not.
fn episode(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let disk = SimulatedDisk::new(seed, Metadata::Strict);
    let mut engine = database(&disk);
    let mut model = BTreeMap::new();
    for _ in 0..random.usize(30..90) {
        let from = random.i64(..400);
        let ids = from..from + random.i64(1..20);
        match random.u8(..12) {
            0..=4 => {
                let byte = random.u8(..);
                match put(&engine, ids.clone(), byte) {
                    Ok(()) => model.extend(ids.map(|id| (id, byte))),
                    Err(Error::Full { .. }) => {}
                    Err(error) => panic!("seed {seed}: {error}"),
                }
            }
            5 | 6 => {
                let there: Vec<i64> = model.range(ids).map(|(id, _)| *id).collect();
                for id in there {
                    match delete(&engine, id..id + 1) {
                        Ok(()) => drop(model.remove(&id)),
                        Err(Error::Full { .. }) => {}
                        Err(error) => panic!("seed {seed}: {error}"),
                    }
                }
            }
            7 => {
                let checkpoints = engine.checkpoints.as_ref().expect("it is on a disk");
                checkpoints.begin(&engine.core, &engine.tree_directory).unwrap();
            }
            8 | 9 => {
                let checkpoints = engine.checkpoints.as_ref().expect("it is on a disk");
                for _ in 0..random.usize(..6) {
                    let step = checkpoints.drive(&engine.core);
                    assert!(
                        matches!(step, Ok(_) | Err(Error::Full { .. })),
                        "seed {seed}: {step:?}"
                    );
                }
            }
            10 if random.bool() => fill_disk(&disk),
            10 => disk.disarm(),
            _ => {
                engine.core.log.flush().unwrap();
                assert_eq!(engine.verify().unwrap(), Vec::<String>::new(), "seed {seed}");
            }
        }
    }
    disk.disarm();
    if random.bool() {
        checkpoint(&engine).unwrap();
    }
    assert_eq!(rows(&engine), model, "seed {seed}");
    engine.core.log.flush().unwrap();
    let again = disk.crash(Crash::DropAll);
    engine = open(&again, Path::new("db"), options(), Threads::None).unwrap();
    assert_eq!(rows(&engine), model, "seed {seed}");
    assert_eq!(engine.verify().unwrap(), Vec::<String>::new(), "seed {seed}");
}

#[test]
fn what_an_abandoned_checkpoint_has_not_written_a_later_one_writes() {
    (0..60).for_each(episode);
}
