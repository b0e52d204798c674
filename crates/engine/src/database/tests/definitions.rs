//! Tables and indexes made during transactions: which transactions see them.

use crate::planted_bug::{PlantedBug, with};
use crate::{
    Begin, Conflict, Database, Direction, Error, KeyRange, Kind, Options, Result, Schema, Table,
    TypedSession, Value,
};
use std::ops::ControlFlow;
use syncline_vfs::{Disk, NullDisk};

const ROWS: i64 = 60;

fn schema() -> Schema {
    let table = Schema::table("numbers").column("id", Kind::Int).column("square", Kind::Int);
    table.key(["id"]).build().unwrap()
}

fn row(id: i64) -> [Value<'static>; 2] {
    [Value::Int(id), Value::Int(id * id)]
}

fn database() -> (Database<NullDisk>, Table) {
    let database = Database::transient(Options::tiny()).unwrap();
    let table = database.create_table(schema()).unwrap();
    let fill = database.run(|tx| (0..ROWS).try_for_each(|id| tx.insert(&table, &row(id))));
    fill.unwrap();
    (database, table)
}

fn with_index(database: &Database<NullDisk>, table: &Table) -> Table {
    let changed = table.schema().with_index("by_square", ["square"], false);
    database.change_table(&changed.unwrap()).unwrap()
}

/// The number of rows in a scan by the table's key, or by that index.
fn count<D: Disk>(
    session: &mut TypedSession<D>,
    table: &Table,
    index: Option<&str>,
) -> Result<i64> {
    let mut rows = 0;
    let path = index.map_or(Ok(table.into()), |index| table.by(index))?;
    session.scan(path, KeyRange::ALL, Direction::Ascending, usize::MAX, |_row| {
        rows += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(rows)
}

fn is_made_later<T: std::fmt::Debug>(answer: &Result<T>) -> bool {
    matches!(answer, Err(Error::Conflict(Conflict::MadeLater)))
}

const SNAPSHOTS: [Begin; 3] = [Begin::Snapshot, Begin::ReadOnly, Begin::ReadOnlyDurable];

#[test]
fn a_snapshot_reads_on_but_not_by_an_index_built_after_its_begin() {
    let (database, table) = database();
    let mut sessions = SNAPSHOTS.map(|begin| {
        let mut session = database.session().unwrap();
        session.begin(begin).unwrap();
        session
    });
    let table = with_index(&database, &table);
    database.run(|tx| tx.insert(&table, &row(ROWS))).unwrap();
    for session in &mut sessions {
        assert_eq!(count(session, &table, None).unwrap(), ROWS);
        let answer = count(session, &table, Some("by_square"));
        assert!(is_made_later(&answer), "{answer:?}");
        // The transaction is over, as after any other conflict.
        assert!(is_made_later(&session.get(&table, &[Value::Int(1)])));
        session.abort();
        session.begin(Begin::ReadOnly).unwrap();
        let again = count(session, &table, Some("by_square"));
        assert_eq!(again.unwrap(), ROWS + 1);
    }
}

#[test]
fn the_planted_bug_makes_an_index_made_later_look_empty() {
    let (database, table) = database();
    let mut session = database.session().unwrap();
    session.begin(Begin::ReadOnly).unwrap();
    let table = with_index(&database, &table);
    let answer = with(Some(PlantedBug::UseBeforeCreation), || {
        count(&mut session, &table, Some("by_square"))
    });
    assert_eq!(answer.unwrap(), 0);
}

#[test]
fn a_serializable_transaction_moves_to_the_commit_that_built_the_index() {
    let (database, table) = database();
    let other = Schema::table("other").column("id", Kind::Int).key(["id"]);
    let other = database.create_table(other.build().unwrap()).unwrap();
    let mut session = database.session().unwrap();
    session.begin(Begin::Serializable).unwrap();
    assert_eq!(count(&mut session, &other, None).unwrap(), 0);
    let before = session.read_point().unwrap();
    let table = with_index(&database, &table);
    let answer = count(&mut session, &table, Some("by_square"));
    assert_eq!(answer.unwrap(), ROWS);
    assert!(session.read_point().unwrap() > before);
    session.insert(&table, &row(ROWS)).unwrap();
    session.commit().unwrap();
    // It cannot go on if rows that it has read have changed meanwhile.
    session.begin(Begin::Serializable).unwrap();
    assert_eq!(count(&mut session, &other, None).unwrap(), 0);
    database.run(|tx| tx.insert(&other, &[Value::Int(1)])).unwrap();
    let unique = table.schema().with_index("once", ["square"], true);
    let table = database.change_table(&unique.unwrap()).unwrap();
    let answer = count(&mut session, &table, Some("once"));
    assert!(matches!(answer, Err(Error::Conflict(Conflict::Phantom))), "{answer:?}");
}

#[test]
fn loaded_rows_are_visible_from_the_load_on_and_not_before() {
    let (database, _table) = database();
    let mut sessions = SNAPSHOTS.map(|begin| {
        let mut session = database.session().unwrap();
        session.begin(begin).unwrap();
        session
    });
    let loaded = Schema::table("loaded").column("id", Kind::Int).column("square", Kind::Int);
    let loaded = loaded.key(["id"]).index("by_square", ["square"]);
    let rows = (0..ROWS).map(row);
    let loaded = database.load_table(loaded.build().unwrap(), rows).unwrap();
    for session in &mut sessions {
        let answer = session.get(&loaded, &[Value::Int(1)]).map(|row| row.is_some());
        assert!(is_made_later(&answer), "{answer:?}");
        session.abort();
    }
    let mut session = database.session().unwrap();
    for begin in [Begin::Snapshot, Begin::ReadOnly, Begin::Serializable] {
        session.begin(begin).unwrap();
        assert_eq!(count(&mut session, &loaded, Some("by_square")).unwrap(), ROWS);
        session.abort();
    }
    // A transaction that runs again begins late enough to see it.
    let run = session.run(Begin::ReadOnlyDurable, |tx| tx.exists(&loaded, &[Value::Int(1)]));
    assert!(run.unwrap().0);
}

#[test]
fn a_handle_has_the_trees_of_its_own_definition_despite_concurrent_changes() {
    let (database, _table) = database();
    let rounds = 300;
    std::thread::scope(|scope| {
        let changer = scope.spawn(|| {
            for _ in 0..rounds {
                let table = database.table("numbers").unwrap();
                let table = with_index(&database, &table);
                let without = table.schema().without_index("by_square").unwrap();
                database.change_table(&without).unwrap();
            }
        });
        for id in ROWS.. {
            if changer.is_finished() {
                break;
            }
            let table = database.table("numbers").unwrap();
            match database.run(|tx| tx.put(&table, &row(ROWS + id % 50))) {
                Ok(()) | Err(Error::TableChanged { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        changer.join().unwrap();
    });
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
}
