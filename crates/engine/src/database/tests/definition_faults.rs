//! A disk that is full, or fails, at every I/O of a definition: all of the change is there or nothing.

use crate::access::schema::{Kind, Schema, Value};
use crate::database::create::create;
use crate::database::engine::Engine;
use crate::database::open::open;
use crate::error::{Error, Result};
use crate::ids::TreeId;
use crate::log::Threads;
use crate::options::Options;
use crate::table::TypedSession;
use crate::txn::Begin;
use std::path::Path;
use std::sync::Arc;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::{Crash, Fault, FaultRule, Metadata};

type TestEngine = Engine<SimulatedDisk>;

const ROWS: i64 = 300;

fn schema(name: &str) -> Schema {
    let table = Schema::table(name).column("id", Kind::Int).column("text", Kind::Text).key(["id"]);
    table.build().unwrap()
}

fn indexed(name: &str) -> Schema {
    schema(name).with_index("by_text", ["text"], false).unwrap()
}

fn text(id: i64) -> String {
    format!("{:030}", id * 7919 % 1_000)
}

/// The changes to test.
const CHANGES: [&str; 8] =
    ["create", "load", "index", "column", "without column", "rename", "truncate", "drop"];

fn change(engine: &TestEngine, change: &str) -> Result<()> {
    match change {
        "create" => engine.create_table(indexed("new")).map(drop),
        "load" => {
            let texts: Vec<String> = (0..ROWS).map(text).collect();
            let rows = texts.iter().enumerate().map(|(id, text)| {
                let id = Value::Int(id.try_into().expect("few rows"));
                [id, Value::Text(text)]
            });
            let schema = indexed("new");
            let rows = super::super::definitions::encoded(&schema, rows, 64);
            engine.load_table(schema.clone(), rows).map(drop)
        }
        "index" => engine.change_table(&indexed("old")).map(drop),
        "column" => {
            let more = schema("old").with_column("more", Kind::Int, Value::Int(7));
            engine.change_table(&more.unwrap()).map(drop)
        }
        "without column" => {
            engine.change_table(&schema("old").without_column("text").unwrap()).map(drop)
        }
        "rename" => engine.rename_table("old", "new").map(drop),
        "truncate" => engine.truncate_table("old").map(drop),
        _ => engine.drop_table("old"),
    }
}

/// Where the disk is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// At that I/O of the change, after this many commits.
    At { skip: u64, commits: i64 },
    /// In the log, whose last prepared file is used up.
    InLog,
}

fn put(engine: &Arc<TestEngine>, ids: std::ops::Range<i64>) -> Result<()> {
    let table = engine.table("old")?;
    let mut session = TypedSession::new(&engine.core)?;
    let run = session.run(Begin::Serializable, |tx| {
        ids.clone().try_for_each(|id| {
            let row = [Value::Int(id), Value::Text(&text(id))];
            tx.put(&table, &row)
        })
    });
    session.wait(run?.1)
}

/// A database with a table of rows.
fn database(disk: &SimulatedDisk) -> Arc<TestEngine> {
    let engine = create(disk, Path::new("db"), Options::tiny(), Threads::None).unwrap();
    engine.create_table(schema("old")).unwrap();
    (0..3).for_each(|part| put(&engine, ROWS / 3 * part..ROWS / 3 * (part + 1)).unwrap());
    engine
}

/// The definitions of all tables, with the trees of their rows.
fn definitions(engine: &TestEngine) -> Vec<(Schema, TreeId)> {
    let catalog = engine.catalog();
    catalog.tables().map(|entry| (entry.schema.clone(), entry.tree)).collect()
}

fn assert_whole(engine: &TestEngine, what: &str) {
    assert_eq!(engine.verify().unwrap(), Vec::<String>::new(), "{what}");
}

/// Runs one change with a fault; false if no fault struck.
fn one(name: &str, fault: Fault, location: Where, full: &mut u64) -> bool {
    let what = format!("{name}, {fault:?}, {location:?}");
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let engine = database(&disk);
    let before = definitions(&engine);
    let arm = |skip, under| {
        disk.arm(FaultRule { skip, repeat: true, ..FaultRule::next(fault, under) });
    };
    match location {
        Where::At { skip, commits } => {
            (0..commits).for_each(|commit| put(&engine, commit..commit + 1).unwrap());
            arm(skip, "");
        }
        Where::InLog => {
            arm(0, "db/log");
            let refused = (0..ROWS).find_map(|id| put(&engine, id..id + 1).err());
            assert!(matches!(refused, Some(Error::Full { .. })), "{refused:?}");
        }
    }
    let changed = change(&engine, name);
    let struck = disk.faults_injected() > 0;
    disk.disarm();
    match changed {
        Ok(()) => assert_ne!(definitions(&engine), before, "{what}"),
        // The failed preparation of a log segment had promised nothing: the database goes on.
        Err(ref error)
            if matches!(error, Error::Full { .. }) || engine.core.log.check().is_ok() =>
        {
            *full += u64::from(matches!(error, Error::Full { .. }));
            assert_eq!(definitions(&engine), before, "{what}");
            assert_whole(&engine, &what);
            change(&engine, name).unwrap_or_else(|error| panic!("{what}, again: {error}"));
            assert_ne!(definitions(&engine), before, "{what}");
            assert_whole(&engine, &what);
        }
        Err(error) => {
            // The database is closed for good. Opening it again shows its contents.
            assert!(engine.core.log.check().is_err(), "{what}: {error}");
            let again = disk.crash(Crash::KeepAll);
            let engine = open(&again, Path::new("db"), Options::tiny(), Threads::None).unwrap();
            assert_whole(&engine, &what);
            if definitions(&engine) == before {
                change(&engine, name).unwrap_or_else(|error| panic!("{what}, later: {error}"));
            }
            assert_ne!(definitions(&engine), before, "{what}");
            return struck;
        }
    }
    let after = definitions(&engine);
    engine.core.log.flush().unwrap();
    let again = disk.crash(Crash::DropAll);
    let engine = open(&again, Path::new("db"), Options::tiny(), Threads::None).unwrap();
    assert_eq!(definitions(&engine), after, "{what}");
    assert_whole(&engine, &what);
    struck
}

#[test]
fn a_change_on_a_full_disk_changes_nothing_and_succeeds_with_space() {
    let fault = Fault::PreallocateFull;
    let mut of_changes = [0; CHANGES.len()];
    for (name, full) in CHANGES.iter().zip(&mut of_changes) {
        one(name, fault, Where::InLog, full);
        for commits in [0, 3, 5, 9, 16] {
            for skip in 0.. {
                if !one(name, fault, Where::At { skip, commits }, full) {
                    break;
                }
            }
        }
    }
    // A build must grow the data file at several points. A drop frees space: the log's reserve exists for it.
    let (dropping, adding) = of_changes.split_last().expect("there are changes");
    assert!(adding.iter().all(|full| *full > 0), "{of_changes:?}");
    assert_eq!(*dropping, 0, "{of_changes:?}");
    assert!(of_changes[1] > 3 && of_changes[2] > 3, "{of_changes:?}");
}

#[test]
fn a_change_that_fails_otherwise_is_whole_or_absent_after_opening() {
    for name in CHANGES {
        for fault in [Fault::WriteFull, Fault::WriteError, Fault::SyncFull] {
            let (mut full, mut struck) = (0, 0);
            for skip in 0.. {
                let location = Where::At { skip, commits: 3 };
                if !one(name, fault, location, &mut full) {
                    break;
                }
                struck += 1;
            }
            assert!(struck > 0, "{name}, {fault:?}");
        }
    }
}
