//! Tables and indexes made beside transactions: who sees them from when on.

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

/// How many rows a scan by the table's key, or by that index, hands out.
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

fn is_made_later<T: std::fmt::Debug>(told: &Result<T>) -> bool {
    matches!(told, Err(Error::Conflict(Conflict::MadeLater)))
}

const SNAPSHOTS: [Begin; 3] = [Begin::Snapshot, Begin::ReadOnly, Begin::ReadOnlyAtHorizon];

#[test]
fn a_snapshot_reads_on_but_not_through_an_index_that_was_built_after_its_begin() {
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
        let told = count(session, &table, Some("by_square"));
        assert!(is_made_later(&told), "{told:?}");
        // It is over, like after any other conflict.
        assert!(is_made_later(&session.get(&table, &[Value::Int(1)])));
        session.abort();
        session.begin(Begin::ReadOnly).unwrap();
        let again = count(session, &table, Some("by_square"));
        assert_eq!(again.unwrap(), ROWS + 1);
    }
}

#[test]
fn the_silence_that_was_is_what_the_planted_bug_brings_back() {
    let (database, table) = database();
    let mut session = database.session().unwrap();
    session.begin(Begin::ReadOnly).unwrap();
    let table = with_index(&database, &table);
    let told =
        with(Some(PlantedBug::UseMadeLater), || count(&mut session, &table, Some("by_square")));
    assert_eq!(told.unwrap(), 0);
}

#[test]
fn a_serializable_transaction_goes_on_to_where_the_index_was_built() {
    let (database, table) = database();
    let other = Schema::table("other").column("id", Kind::Int).key(["id"]);
    let other = database.create_table(other.build().unwrap()).unwrap();
    let mut session = database.session().unwrap();
    session.begin(Begin::Serializable).unwrap();
    assert_eq!(count(&mut session, &other, None).unwrap(), 0);
    let before = session.read_point().unwrap();
    let table = with_index(&database, &table);
    let told = count(&mut session, &table, Some("by_square"));
    assert_eq!(told.unwrap(), ROWS);
    assert!(session.read_point().unwrap() > before);
    session.insert(&table, &row(ROWS)).unwrap();
    session.commit().unwrap();
    // If what it had read was changed meanwhile it cannot go on.
    session.begin(Begin::Serializable).unwrap();
    assert_eq!(count(&mut session, &other, None).unwrap(), 0);
    database.run(|tx| tx.insert(&other, &[Value::Int(1)])).unwrap();
    let unique = table.schema().with_index("once", ["square"], true);
    let table = database.change_table(&unique.unwrap()).unwrap();
    let told = count(&mut session, &table, Some("once"));
    assert!(matches!(told, Err(Error::Conflict(Conflict::Phantom))), "{told:?}");
}

#[test]
fn rows_that_were_loaded_are_there_from_the_load_on_and_not_before() {
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
        let told = session.get(&loaded, &[Value::Int(1)]).map(|row| row.is_some());
        assert!(is_made_later(&told), "{told:?}");
        session.abort();
    }
    let mut session = database.session().unwrap();
    for begin in [Begin::Snapshot, Begin::ReadOnly, Begin::Serializable] {
        session.begin(begin).unwrap();
        assert_eq!(count(&mut session, &loaded, Some("by_square")).unwrap(), ROWS);
        session.abort();
    }
    // Whoever is run again comes to where it is there.
    let run = session
        .run(Begin::ReadOnlyAtHorizon, |tx| Ok(tx.get(&loaded, &[Value::Int(1)])?.is_some()));
    assert!(run.unwrap().0);
}

#[test]
fn a_handle_has_the_trees_of_its_own_definition_whoever_changes_the_table_beside() {
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
