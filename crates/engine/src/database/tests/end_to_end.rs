//! The parts of a database together: rows survive closing, checkpoints and definitions.

use crate::database::create::create;
use crate::database::engine::Engine;
use crate::database::open::{open, transient};
use crate::log::Threads;
use crate::own_process::in_own_process;
use crate::txn::{Begin, Session};
use crate::{Database, Error, Kind, Options, Result, SAMPLED_ONE_IN, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syncline_instrument::clock;
use syncline_vfs::{Disk, RealDisk};
use tempfile::TempDir;

fn schema(name: &str) -> crate::Schema {
    crate::Schema::table(name)
        .column("id", Kind::Int)
        .column("text", Kind::Text)
        .key(["id"])
        .build()
        .unwrap()
}

/// Writes a row of bytes into the table's tree; typed rows are not the subject here.
fn put<D: Disk>(engine: &Arc<Engine<D>>, table: &str, key: u32, value: &[u8]) {
    let tree = engine.catalog().table(table).unwrap().tree;
    let tree = engine.tree_directory.tree(tree).unwrap();
    let mut session = Session::new(&engine.core).unwrap();
    session.begin(Begin::Serializable).unwrap();
    session.put(&tree, &key.to_be_bytes(), value).unwrap();
    let ticket = session.commit().unwrap();
    session.wait(ticket).unwrap();
}

fn rows<D: Disk>(engine: &Engine<D>, table: &str) -> BTreeMap<u32, Vec<u8>> {
    let tree = engine.catalog().table(table).unwrap().tree;
    let tree = engine.tree_directory.tree(tree).unwrap();
    let mut rows = BTreeMap::new();
    tree.walk(&engine.core.buffer, &mut |key, value| {
        let key = u32::from_be_bytes(key.try_into().unwrap());
        rows.insert(key, value.to_vec());
        Ok(())
    })
    .unwrap();
    rows
}

/// A new database in a temporary folder, with table `one`; its directory.
fn created() -> (TempDir, PathBuf, Arc<Engine<RealDisk>>) {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("database");
    let engine = create(&RealDisk, &directory, Options::tiny(), Threads::None).unwrap();
    engine.create_table(schema("one")).unwrap();
    (folder, directory, engine)
}

fn reopened(directory: &Path) -> Result<Arc<Engine<RealDisk>>> {
    open(&RealDisk, directory, Options::tiny(), Threads::None)
}

#[test]
fn rows_come_back_from_the_log_from_a_checkpoint_and_from_both() {
    let (_folder, directory, engine) = created();
    let mut expected = BTreeMap::new();
    let mut write = |engine: &Arc<Engine<RealDisk>>, round: u32| {
        for row in 0..100 {
            let value = vec![round as u8; (row * 13 % 700) as usize];
            put(engine, "one", row * 7919 % (50 + round), &value);
            expected.insert(row * 7919 % (50 + round), value);
        }
        expected.clone()
    };
    let mut engine = engine;
    for round in 0..6 {
        let expected = write(&engine, round);
        if round % 3 == 1 {
            let checkpoints = engine.checkpoints.as_ref().unwrap();
            checkpoints.run(&engine.core, &engine.tree_directory).unwrap();
            assert_eq!(checkpoints.csn(), engine.core.log.durable_lsn());
        }
        let expected = if round % 2 == 0 { expected } else { write(&engine, round) };
        assert_eq!(rows(&engine, "one"), expected, "round {round}");
        drop(engine);
        engine = reopened(&directory).unwrap();
        assert_eq!(rows(&engine, "one"), expected, "round {round}, opened again");
    }
}

#[test]
fn a_table_that_was_dropped_stays_dropped_and_another_takes_its_name() {
    in_own_process(
        concat!(
            module_path!(),
            "::a_table_that_was_dropped_stays_dropped_and_another_takes_its_name"
        ),
        || {
            let (_folder, directory, engine) = created();
            assert!(matches!(engine.create_table(schema("one")), Err(Error::Taken { .. })));
            put(&engine, "one", 1, b"before");
            let pages = engine.core.buffer.resident_bytes();
            engine.create_table(schema("two")).unwrap();
            engine.drop_table("one").unwrap();
            engine.create_table(schema("one")).unwrap();
            engine.core.buffer.free_all_retired();
            assert!(engine.core.buffer.resident_bytes() <= pages + 4096, "pages were freed");
            put(&engine, "one", 2, b"after");
            drop(engine);
            let engine = reopened(&directory).unwrap();
            assert_eq!(rows(&engine, "one"), BTreeMap::from([(2, b"after".to_vec())]));
            assert!(rows(&engine, "two").is_empty());
            assert_eq!(engine.tree_directory.trees().len(), 3);
        },
    );
}

#[test]
fn a_directory_that_holds_something_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine"), "mine").unwrap();
    let made = create(&RealDisk, folder.path(), Options::tiny(), Threads::None);
    assert!(matches!(made, Err(Error::Exists { .. })));
    assert!(matches!(reopened(folder.path()), Err(Error::NoDataFile { .. })));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_transient_database_keeps_rows_in_memory() {
    let engine = transient(Options::tiny()).unwrap();
    engine.create_table(schema("one")).unwrap();
    for key in 0..1_000 {
        put(&engine, "one", key, b"value");
    }
    assert_eq!(rows(&engine, "one").len(), 1_000);
    engine.drop_table("one").unwrap();
    assert!(engine.catalog().table("one").is_none());
}

#[test]
fn parts_of_transactions_are_measured_and_the_sum_of_outcomes_holds() {
    let engine = transient(Options::tiny()).unwrap();
    engine.create_table(schema("one")).unwrap();
    let tree = engine.catalog().table("one").unwrap().tree;
    let tree = engine.tree_directory.tree(tree).unwrap();
    let mut session = Session::new(&engine.core).unwrap();
    for key in 0..640_u32 {
        session.begin(Begin::Serializable).unwrap();
        session.get(&tree, &key.to_be_bytes()).unwrap();
        session.put(&tree, &key.to_be_bytes(), b"value").unwrap();
        session.commit().unwrap();
    }
    engine.core.log.flush().unwrap();
    let stats = engine.stats();
    let parts = stats.latencies;
    for part in [
        parts.read_ns,
        parts.write_ns,
        parts.lock_ns,
        parts.timestamp_ns,
        parts.validate_ns,
        parts.apply_ns,
    ] {
        assert!(part.count >= 10 && part.max > 0, "{parts:?}");
    }
    assert_eq!(parts.scan_ns.count, 0);
    assert_eq!(stats.transactions.commits, 641, "one commit for each row and one for the table");
    assert_eq!(stats.log.group_commits.sum, 641, "all of them were written");
}

#[test]
fn long_values_seen_only_by_a_snapshot_leave_no_pages() {
    let (_folder, directory, engine) = created();
    put(&engine, "one", 1, &[1; 3_000]);
    let tree = engine.catalog().table("one").unwrap().tree;
    let pages = engine.core.buffer.pages_of(tree).len();
    let mut reader = Session::new(&engine.core).unwrap();
    reader.begin(Begin::ReadOnly).unwrap();
    put(&engine, "one", 1, &[2; 3_000]);
    let checkpoints = engine.checkpoints.as_ref().unwrap();
    checkpoints.run(&engine.core, &engine.tree_directory).unwrap();
    assert!(engine.core.buffer.pages_of(tree).len() > pages, "both values are kept");
    drop(reader);
    drop(engine);
    let engine = reopened(&directory).unwrap();
    assert_eq!(engine.core.buffer.pages_of(tree).len(), pages);
    assert_eq!(rows(&engine, "one")[&1], [2; 3_000]);
}

#[test]
fn the_paths_of_sampled_commits_have_all_their_steps() {
    let (_folder, _, engine) = created();
    let tree = engine.catalog().table("one").unwrap().tree;
    let tree = engine.tree_directory.tree(tree).unwrap();
    let mut session = Session::new(&engine.core).unwrap();
    drop(engine.core.take_paths());
    let started = clock::now();
    for key in 0..4 * SAMPLED_ONE_IN {
        session.begin(Begin::Serializable).unwrap();
        session.put(&tree, &key.to_be_bytes(), b"value").unwrap();
        let ticket = session.commit().unwrap();
        session.wait(ticket).unwrap();
    }
    let took = clock::now() - started;
    let paths = engine.core.take_paths();
    assert_eq!((paths.timed, paths.sample.len()), (4, 4));
    for path in &paths.sample {
        let [.., sync, _] = path.step_ns;
        assert!(sync > 0, "{path:?}");
        assert!(path.total_ns() < took, "{path:?} of {took} ns in all");
    }
    assert_eq!(paths.slowest.len(), 4);
}

#[test]
fn sessions_that_outlive_the_database_cannot_commit() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("database");
    let database = Database::create(&directory, Options::default()).unwrap();
    let table = database.create_table(schema("one")).unwrap();
    let row = [Value::Int(1), Value::Text("kept")];
    database.run(|transaction| transaction.insert(&table, &row)).unwrap();
    let (mut session, _prefetcher) = (database.session().unwrap(), database.prefetcher());
    drop(database);
    // The threads have ended, so no file appears in the removed directory.
    std::fs::remove_dir_all(&directory).unwrap();
    let refused = session.begin(Begin::Serializable).unwrap_err();
    assert!(refused.to_string().contains("was closed"), "{refused}");
    session.begin(Begin::ReadOnly).unwrap();
    let read = session.get(&table, &row[..1]).unwrap().unwrap();
    assert_eq!(read.value(1).unwrap(), row[1]);
}
