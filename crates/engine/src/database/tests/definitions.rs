//! Tables and indexes made during transactions: which transactions see them.

use crate::planted_bug::{PlantedBug, with};
use crate::{
    Begin, Change, Conflict, Database, Direction, Error, KeyRange, Kind, Options, Result, Schema,
    Table, TypedSession, Value, values,
};
use std::ops::ControlFlow;
use std::path::Path;
use syncline_vfs::simulated::Metadata;
use syncline_vfs::{Disk, NullDisk, SimulatedDisk};

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

/// A database with a table of which columns are removed and renamed, and its rows before that.
fn with_contacts() -> (SimulatedDisk, Database<SimulatedDisk>) {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let database = Database::create_on(&disk, Path::new("db"), Options::tiny()).unwrap();
    let schema = Schema::table("contact").column("id", Kind::Int).column("fax", Kind::Text);
    let schema = schema.column("name", Kind::Text).column("age", Kind::Int).key(["id"]);
    let table = database.create_table(schema.index("by_age", ["age"]).build().unwrap()).unwrap();
    let filled = database.run(|tx| -> Result<_> {
        (0..ROWS).try_for_each(|id| tx.insert(&table, values![id, "0049", "ada", 30 + id]))
    });
    filled.unwrap();
    (disk, database)
}

#[test]
fn a_removed_column_is_gone_and_a_new_one_of_its_name_has_other_values() {
    let (disk, database) = with_contacts();
    let old = database.table("contact").unwrap();
    let table = database.change_table(&old.schema().without_column("fax").unwrap()).unwrap();
    let refused = database.run(|tx| tx.get(&old, values![1]));
    assert!(matches!(refused, Err(Error::TableChanged { .. })), "{refused:?}");
    database
        .run(|tx| -> Result<_> {
            tx.update(&table, values![1], &[Change::add("age", 1)])?;
            tx.put(&table, values![2, "bob", 50])
        })
        .unwrap();
    let table = database
        .change_table(&table.schema().with_column("fax", Kind::Text, Value::Text("none")).unwrap())
        .unwrap();
    database.run(|tx| tx.put(&table, values![3, "cyd", 51, "0044"])).unwrap();
    drop(database);
    let database = Database::open_on(&disk, Path::new("db"), Options::tiny()).unwrap();
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    let table = database.table("contact").unwrap();
    let row = |id| {
        let row = database.read(|tx| tx.get(&table, values![id])).unwrap().unwrap();
        let text = |name| row.get::<String>(name).unwrap();
        (text("name"), row.get::<i64>("age").unwrap(), text("fax"))
    };
    let expected = [(0, "ada", 30, "none"), (1, "ada", 32, "none"), (2, "bob", 50, "none")];
    for (id, name, age, fax) in expected.into_iter().chain([(3, "cyd", 51, "0044")]) {
        assert_eq!(row(id), (name.to_owned(), age, fax.to_owned()), "row {id}");
    }
    // The position of the indexed column has moved.
    let by_age = database.read(|tx| tx.count(table.by("by_age")?, KeyRange::prefix(values![51])));
    assert_eq!(by_age.unwrap(), 2, "rows 3 and 21");
}

#[test]
fn columns_in_keys_and_indexes_stay_until_the_index_is_removed() {
    let (_disk, database) = with_contacts();
    let schema = database.table("contact").unwrap().schema().clone();
    for (column, what) in [("id", "primary key"), ("age", "by_age"), ("none", "no column")] {
        let refused = schema.without_column(column).unwrap_err();
        assert!(refused.to_string().contains(what), "{refused}");
    }
    let without_index = schema.without_index("by_age").unwrap();
    database.change_table(&without_index).unwrap();
    database.change_table(&without_index.without_column("age").unwrap()).unwrap();
    // Two steps at once are refused.
    let two = without_index.without_column("age").unwrap().without_column("fax").unwrap();
    let two = two.without_column("name").unwrap();
    let refused = database.change_table(&two);
    assert!(matches!(refused, Err(Error::Schema { .. })), "{refused:?}");
}

#[test]
fn renamed_columns_and_tables_keep_their_rows() {
    let (disk, database) = with_contacts();
    let table = database.table("contact").unwrap();
    let renamed = table.schema().with_column_renamed("fax", "telefax").unwrap();
    database.change_table(&renamed).unwrap();
    let other = Schema::table("other").column("id", Kind::Int).key(["id"]).build().unwrap();
    database.create_table(other).unwrap();
    let refused = database.rename_table("contact", "other");
    assert!(matches!(refused, Err(Error::Taken { .. })), "{refused:?}");
    let table = database.rename_table("contact", "person").unwrap();
    assert_eq!(table.name(), "person");
    let gone = database.rename_table("contact", "friend");
    assert!(matches!(gone, Err(Error::NoSuch { .. })), "{gone:?}");
    drop((table, database));
    let database = Database::open_on(&disk, Path::new("db"), Options::tiny()).unwrap();
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    let table = database.table("person").unwrap();
    let row = database.read(|tx| tx.get(&table, values![7])).unwrap().unwrap();
    assert_eq!(row.get::<String>("telefax").unwrap(), "0049");
    assert!(database.table("contact").is_err());
}

#[test]
fn a_truncated_table_is_empty_and_so_are_its_indexes() {
    let (disk, database) = with_contacts();
    let old = database.table("contact").unwrap();
    let mut reader = database.session().unwrap();
    reader.begin(Begin::ReadOnly).unwrap();
    assert_eq!(count(&mut reader, &old, None).unwrap(), ROWS);
    let table = database.truncate_table("contact").unwrap();
    let later = count(&mut reader, &table, None);
    assert!(is_made_later(&later), "{later:?}");
    reader.abort();
    let refused = database.run(|tx| tx.put(&old, values![1, "", "", 1]));
    assert!(matches!(refused, Err(Error::TableChanged { .. })), "{refused:?}");
    database.run(|tx| tx.insert(&table, values![1, "1", "eve", 40])).unwrap();
    drop((table, database, reader));
    let database = Database::open_on(&disk, Path::new("db"), Options::tiny()).unwrap();
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    let table = database.table("contact").unwrap();
    let counts = database.read(|tx| -> Result<_> {
        Ok((tx.count(&table, KeyRange::ALL)?, tx.count(table.by("by_age")?, KeyRange::ALL)?))
    });
    assert_eq!(counts.unwrap(), (1, 1));
}
