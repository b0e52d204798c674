//! The maintenance thread prepares the memory that a growing store needs next, and moves checkpoints on.

use crate::database::maintenance_thread::MaintenanceThread;
use crate::database::open::transient;
use crate::options::Options;
use crate::table::TypedSession;
use crate::txn::Begin;
use crate::{Database, Kind, Schema, Value};
use std::path::Path;
use std::thread::yield_now;
use syncline_instrument::clock;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::Metadata;

#[test]
fn the_thread_replaces_used_blocks() {
    let engine = transient(Options::default()).unwrap();
    let schema = Schema::table("rows").column("id", Kind::Int);
    let schema = schema.column("text", Kind::Text).key(["id"]);
    engine.create_table(schema.build().unwrap()).unwrap();
    let table = engine.table("rows").unwrap();
    let mut session = TypedSession::new(&engine.core).unwrap();
    let text = "x".repeat(1_000);
    // Twice the size at which blocks are used.
    for batch in 0..80 {
        session.begin(Begin::Serializable).unwrap();
        for id in batch * 100..(batch + 1) * 100 {
            let row = [Value::Int(id), Value::Text(&text)];
            session.insert(&table, &row).unwrap();
        }
        session.commit().unwrap();
    }
    let buffer = &engine.core.buffer;
    assert!(buffer.runs_low() && buffer.low().is_raised());
    let thread = MaintenanceThread::start(&engine).unwrap();
    let since = clock::now();
    while buffer.runs_low() {
        assert!(clock::now() - since < 60 * clock::SECOND, "the thread adds no block");
        yield_now();
    }
    drop(thread);
}

/// A writer that lacked room had begun one and left it when there was room again; the thread began none,
/// since one was running, and so writers had to wait for each.
#[test]
fn the_thread_finishes_a_checkpoint_that_a_writer_has_begun() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let database = Database::create_on(&disk, Path::new("db"), Options::default()).unwrap();
    let schema = Schema::table("rows").column("id", Kind::Int).key(["id"]);
    let table = database.create_table(schema.build().unwrap()).unwrap();
    database.run(|transaction| transaction.insert(&table, &[Value::Int(1)])).unwrap();
    let engine = database.engine();
    let checkpoints = engine.checkpoints.as_ref().unwrap();
    let before = checkpoints.stats().finished;
    assert!(checkpoints.begin(&engine.core, &engine.tree_directory).unwrap());
    let since = clock::now();
    while checkpoints.stats().finished == before {
        assert!(clock::now() - since < 60 * clock::SECOND, "nobody finishes it");
        yield_now();
    }
}
