//! Ghosts of deleted rows disappear once no reader needs them, whatever happened to the table meanwhile.

use crate::database::engine::Engine;
use crate::database::open::transient;
use crate::options::Options;
use crate::planted_bug::{PlantedBug, with};
use crate::table::TypedSession;
use crate::txn::{Begin, strip_ghosts};
use crate::{Kind, Schema, Value};
use std::sync::Arc;
use syncline_vfs::NullDisk;

const ROWS: i64 = 100;

fn run(
    engine: &Arc<Engine<NullDisk>>,
    write: impl Fn(&mut TypedSession<NullDisk>, &crate::Table, i64),
) {
    let table = engine.table("rows").unwrap();
    let mut session = TypedSession::new(&engine.core).unwrap();
    session.begin(Begin::Serializable).unwrap();
    (0..ROWS).for_each(|id| write(&mut session, &table, id));
    session.commit().unwrap();
}

/// Deletes rows under an open snapshot, changes the table `changes` times, and returns the number of ghosts
/// left when no transaction is open any more.
fn left(changes: usize) -> usize {
    let engine = transient(Options::tiny()).unwrap();
    let table = Schema::table("rows")
        .column("id", Kind::Int)
        .column("number", Kind::Int)
        .key(["id"])
        .index("by_number", ["number"]);
    engine.create_table(table.build().unwrap()).unwrap();
    run(&engine, |session, table, id| {
        let row = [Value::Int(id), Value::Int(id % 7)];
        session.insert(table, &row).unwrap();
    });
    let mut reader = TypedSession::new(&engine.core).unwrap();
    reader.begin(Begin::Snapshot).unwrap();
    run(&engine, |session, table, id| {
        session.delete(table, &[Value::Int(id)]).unwrap();
    });
    for change in 0..changes {
        let schema = engine.table("rows").unwrap().schema().clone();
        let name = format!("column{change}");
        let more = schema.with_column(&name, Kind::Int, Value::Int(0));
        engine.change_table(&more.unwrap()).unwrap();
    }
    engine.core.log.flush().unwrap();
    engine.core.sweep();
    assert_eq!(engine.core.waiting_ghosts() as i64, 2 * ROWS, "ghosts of rows and entries");
    reader.abort();
    engine.core.sweep();
    assert_eq!(engine.core.waiting_ghosts(), 0);
    let trees = engine.tree_directory.trees();
    let ghosts = trees.iter().map(|tree| strip_ghosts(&engine.core.buffer, tree));
    ghosts.map(|ghosts| ghosts.expect("no checkpoint runs")).sum()
}

#[test]
fn ghosts_of_a_changed_table_are_removed_like_others() {
    assert_eq!(left(0), 0);
    assert_eq!(left(1), 0);
    assert_eq!(left(3), 0);
    let forgotten = with(Some(PlantedBug::ForgetGhosts), || left(1));
    assert_eq!(forgotten as i64, ROWS);
}
