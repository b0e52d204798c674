//! The limit on the log's length where only the user runs checkpoints.

use crate::access::schema::{Kind, Schema, Value};
use crate::database::create::create;
use crate::database::engine::Engine;
use crate::database::open::open;
use crate::error::{Error, Result};
use crate::log::Threads;
use crate::options::Options;
use crate::table::TypedSession;
use crate::txn::Begin;
use std::path::Path;
use std::sync::Arc;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::{Crash, Metadata};

type TestEngine = Engine<SimulatedDisk>;

fn options() -> Options {
    Options { checkpoint_segment_bytes: 64 << 10, ..Options::tiny() }
}

fn schema(name: &str) -> Schema {
    let table = Schema::table(name).column("id", Kind::Int).column("bytes", Kind::Bytes);
    table.key(["id"]).build().unwrap()
}

fn put(engine: &Arc<TestEngine>, id: i64) -> Result<()> {
    let table = engine.table("rows")?;
    let mut session = TypedSession::new(&engine.core)?;
    let row = [Value::Int(id % 20), Value::Bytes(&[7; 1_000])];
    let run = session.run(Begin::Serializable, |tx| tx.put(&table, &row));
    session.wait(run?.1)
}

/// Commits until a commit is refused.
fn fill(engine: &Arc<TestEngine>) {
    let refused = (0..10_000).find_map(|id| put(engine, id).err());
    let cap = 2 * options().checkpoint_segment_bytes;
    match refused {
        Some(Error::LogLong { bytes, bytes_max }) => {
            assert!(bytes_max == cap && bytes > cap && bytes <= cap + 2 * (16 << 10));
        }
        other => panic!("{other:?}"),
    }
}

fn read(engine: &Arc<TestEngine>) -> bool {
    let table = engine.table("rows").unwrap();
    let mut session = TypedSession::new(&engine.core).unwrap();
    session.begin(Begin::Serializable).unwrap();
    let row = session.get(&table, &[Value::Int(1)]).unwrap();
    row.is_some()
}

#[test]
fn a_log_that_waits_for_its_users_checkpoint_refuses_commits_until_there_is_one() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let engine = create(&disk, Path::new("db"), options(), Threads::None).unwrap();
    engine.create_table(schema("rows")).unwrap();
    let checkpoints = |engine: &Arc<TestEngine>| {
        let checkpoints = engine.checkpoints.as_ref().expect("it is on a disk");
        checkpoints.run(&engine.core, &engine.tree_directory).unwrap();
    };
    for _ in 0..2 {
        fill(&engine);
        // It stays that way, for tables too, and nothing is half done; reading goes on.
        assert!(matches!(put(&engine, 1), Err(Error::LogLong { .. })));
        let made = engine.create_table(schema("more"));
        assert!(matches!(made, Err(Error::LogLong { .. })), "{made:?}");
        assert!(read(&engine));
        assert_eq!(engine.verify().unwrap(), Vec::<String>::new());
        checkpoints(&engine);
        put(&engine, 1).unwrap();
    }
    // A commit during a checkpoint moves it on.
    fill(&engine);
    let running = engine.checkpoints.as_ref().expect("it is on a disk");
    assert!(running.begin(&engine.core, &engine.tree_directory).unwrap());
    put(&engine, 2).unwrap();
    // The log is as long after opening as before.
    fill(&engine);
    let again = disk.crash(Crash::DropAll);
    let engine = open(&again, Path::new("db"), options(), Threads::None).unwrap();
    assert!(matches!(put(&engine, 1), Err(Error::LogLong { .. })));
    checkpoints(&engine);
    put(&engine, 1).unwrap();
    engine.create_table(schema("more")).unwrap();
}
