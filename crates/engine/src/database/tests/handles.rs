//! Handles of two databases side by side: each works only in its own database, however they are mixed up.

use crate::planted_bug::{PlantedBug, with};
use crate::{
    Begin, Database, Error, Kind, Options, PrefetchKey, Row, Schema, Table, TypedSession, Value,
};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use syncline_vfs::NullDisk;

/// This many random histories detect a handle that is trusted in the wrong database.
const BUDGET: u64 = 4;

const DATABASES: usize = 2;
const TABLES: usize = 2;

/// The rows of a table.
type Rows = BTreeMap<i64, i64>;

struct Side {
    database: Database<NullDisk>,
    session: TypedSession<NullDisk>,
    tables: Vec<Table>,
    rows: Vec<Rows>,
}

fn side(random: &mut Rng) -> Side {
    let database = Database::transient(Options::tiny()).unwrap();
    // Tables are made in random order, so that equal tree numbers mean different tables.
    let mut names: Vec<usize> = (0..TABLES).collect();
    random.shuffle(&mut names);
    for name in names {
        let schema = Schema::table(format!("t{name}"));
        let schema = schema.column("k", Kind::Int).column("v", Kind::Int);
        database.create_table(schema.key(["k"]).build().unwrap()).unwrap();
    }
    Side {
        session: database.session().unwrap(),
        tables: (0..TABLES).map(|name| database.table(&format!("t{name}")).unwrap()).collect(),
        rows: vec![Rows::new(); TABLES],
        database,
    }
}

/// One transaction of one call, with a table of either database; false if its result is wrong.
fn step(sides: &mut [Side; DATABASES], random: &mut Rng) -> bool {
    let (at, of, number) =
        (random.usize(..DATABASES), random.usize(..DATABASES), random.usize(..TABLES));
    let table = sides[of].tables[number].clone();
    let (key, value) = (random.i64(..8), random.i64(..));
    let (side, begin) = (&mut sides[at], [Begin::Serializable, Begin::Snapshot][random.usize(..2)]);
    let is_read = random.bool();
    let run = side.session.run(begin, |tx| {
        if !is_read {
            tx.put(&table, &[Value::Int(key), Value::Int(value)])?;
        }
        let row = tx.get(&table, &[Value::Int(key)])?;
        row.map(|row| row.get(1)).transpose()
    });
    match run {
        Err(Error::OtherDatabase { .. }) => at != of,
        Ok((found, _)) if at == of => {
            if !is_read {
                side.rows[number].insert(key, value);
            }
            found == side.rows[number].get(&key).copied()
        }
        _ => false,
    }
}

fn holds(seed: u64) -> bool {
    let mut random = Rng::with_seed(seed);
    let mut sides = [side(&mut random), side(&mut random)];
    (0..60).all(|_| step(&mut sides, &mut random))
        && sides.iter().all(|side| side.database.verify().is_ok_and(|found| found.is_empty()))
}

// D1
#[test]
fn mixed_up_handles_change_nothing_and_a_trusted_one_is_found() {
    assert!((0..BUDGET).all(holds));
    let found = (0..BUDGET).any(|seed| {
        let history = AssertUnwindSafe(|| with(Some(PlantedBug::StaleHandle), || holds(seed)));
        !catch_unwind(history).unwrap_or(false)
    });
    assert!(found, "no history detects a handle that is trusted in the wrong database");
}

/// Like H1: a closure with a borrowed row holds its leaf, which a definition needs while it holds the
/// catalogue. Calls that wait for the catalogue are refused there, and tables are listed without it.
#[test]
fn a_closure_that_is_shown_a_row_does_not_wait_for_the_catalogue() {
    let database = side(&mut Rng::with_seed(1)).database;
    let table = database.table("t0").unwrap();
    let row = [Value::Int(1), Value::Int(1)];
    database.run(|tx| tx.put(&table, &row)).unwrap();
    let held = database.engine().catalog.write();
    let (sender, answers) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = database.session().unwrap();
            let mut prefetch_key = PrefetchKey::default();
            session.begin(Begin::Serializable).unwrap();
            session.prepare_key(&table, &row[..1], &mut prefetch_key).unwrap();
            let read = |_row: Row<'_>| (database.tables().len(), database.table("t0").err());
            sender.send(session.show_prefetched(&table, &prefetch_key, read)).unwrap();
        });
        let answer = answers.recv_timeout(std::time::Duration::from_secs(20));
        drop(held);
        let (listed, refused) = answer
            .expect("the closure waits for the catalogue")
            .unwrap()
            .expect("the row is there");
        assert_eq!(listed, TABLES);
        assert!(matches!(refused, Some(Error::InShownRow)), "{refused:?}");
    });
}
