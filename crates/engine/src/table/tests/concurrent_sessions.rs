//! Many concurrent sessions: index entries still match the rows, and unique indexes stay unique.

use super::fixture::Store;
use crate::access::key::KeyRange;
use crate::access::schema::{Kind, Schema, Value};
use crate::error::{Error, Result};
use crate::planted_bug::{PlantedBug, with};
use crate::table::{Change, Table, TypedSession};
use crate::txn::{Begin, Direction};
use fastrand::Rng;
use std::ops::ControlFlow;
use std::thread;
use syncline_vfs::SimulatedDisk;

/// These rows compete for these names.
const ROWS: i64 = 12;
const NAMES: i64 = 16;

fn store(miss_every: Option<u32>) -> Store {
    let schema = Schema::table("seat")
        .column("id", Kind::Int)
        .nullable("name", Kind::Int)
        .column("group", Kind::Int)
        .column("points", Kind::Int)
        .key(["id"])
        .unique("by_name", ["name"])
        .index("by_group", ["group"]);
    let store = Store::new(schema.build().expect("a good schema"), miss_every);
    let (table, mut session) = (&store.table, store.session());
    let fill = session.run(Begin::Serializable, |tx| {
        (0..ROWS).try_for_each(|id| {
            tx.insert(table, &[Value::Int(id), Value::Null, Value::Int(0), Value::Int(0)])
        })
    });
    fill.expect("no other transaction runs");
    store
}

/// One random call. Points only move from one row to another.
fn call(rng: &mut Rng, session: &mut TypedSession<SimulatedDisk>, table: &Table) -> Result<()> {
    let id = [Value::Int(rng.i64(0..ROWS))];
    match rng.u8(..7) {
        0 => {
            let name = Change::set(1, Value::Int(rng.i64(0..NAMES)));
            session.update(table, &id, &[name])
        }
        1 => session.update(table, &id, &[Change::set(1, Value::Null)]),
        2 => session.update(table, &id, &[Change::set(2, Value::Int(rng.i64(0..4)))]),
        3 => {
            let points = rng.i64(0..5);
            let other = [Value::Int(rng.i64(0..ROWS))];
            session.update(table, &id, &[Change::add(3, Value::Int(points))])?;
            session.update(table, &other, &[Change::add(3, Value::Int(-points))])
        }
        4 => {
            let name = [Value::Int(rng.i64(0..NAMES))];
            session.get_by(table.by("by_name")?, &name).map(drop)
        }
        5 => {
            let row = session.get(table, &id)?;
            let row = row.expect("a deleted row is inserted again at once");
            let name = row.value(1)?.as_int().map_or(Value::Null, Value::Int);
            let points = row.value(3)?.as_int().expect("points");
            let again = [id[0], name, Value::Int(rng.i64(0..4)), Value::Int(points)];
            session.delete(table, &id)?;
            session.insert(table, &again)
        }
        _ => count(session, table).map(drop),
    }
}

/// The number of rows, read by one of the indexes, and the sum of their points.
fn count(session: &mut TypedSession<SimulatedDisk>, table: &Table) -> Result<(i64, i64)> {
    let (mut rows, mut points) = (0, 0);
    let by_group = table.by("by_group")?;
    session.scan(by_group, KeyRange::ALL, Direction::Ascending, usize::MAX, |row| {
        rows += 1;
        points += row.value(3)?.as_int().expect("points");
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((rows, points))
}

fn is_expected(error: &Error) -> bool {
    matches!(error, Error::Conflict(_) | Error::DuplicateKey { .. })
}

/// Sessions take turns call by call. Returns false if index entries do not match the rows.
fn turns_hold(seed: u64) -> (bool, usize) {
    let mut rng = Rng::with_seed(seed);
    let store = store([None, Some(3)][rng.usize(..2)]);
    let mut sessions: Vec<_> = (0..3).map(|_| store.session()).collect();
    let mut conflicts = 0;
    for _ in 0..120 {
        let at = rng.usize(..sessions.len());
        let session = &mut sessions[at];
        if !session.is_open() {
            let begin = [Begin::Serializable, Begin::Snapshot][rng.usize(..2)];
            session.begin(begin).expect("the log is sound");
        }
        let result = if rng.u8(..4) == 0 {
            session.commit().map(drop)
        } else {
            call(&mut rng, session, &store.table)
        };
        if let Err(error) = result {
            assert!(is_expected(&error), "seed {seed}: {error}");
            conflicts += usize::from(matches!(error, Error::Conflict(_)));
            session.abort();
        }
    }
    drop(sessions);
    let mut session = store.session();
    session.begin(Begin::Serializable).expect("the log is sound");
    let counted = count(&mut session, &store.table).expect("no other transaction runs");
    session.abort();
    drop(session);
    store.assert_sound();
    (store.indexes_follow() && counted == (ROWS, 0), conflicts)
}

#[test]
fn sessions_that_take_turns_keep_indexes_and_rows_together() {
    let mut conflicts = 0;
    for seed in 0..300 {
        let (holds, conflicted) = turns_hold(seed);
        assert!(holds, "seed {seed}");
        conflicts += conflicted;
    }
    assert!(conflicts > 300, "too few conflicts: {conflicts}");
}

#[test]
fn an_entry_left_behind_by_one_of_many_is_found() {
    let missed = (0..20).all(|seed| with(Some(PlantedBug::KeepOldEntry), || turns_hold(seed).0));
    assert!(!missed, "the planted bug was not found");
}

#[test]
fn threads_keep_indexes_and_rows_together() {
    let store = store(Some(11));
    thread::scope(|scope| {
        for seed in 0..4 {
            let store = &store;
            scope.spawn(move || {
                let (mut rng, mut session) = (Rng::with_seed(seed), store.session());
                for _ in 0..1_500 {
                    session.begin(Begin::Serializable).expect("the log is sound");
                    let calls = rng.usize(1..3);
                    let called =
                        (0..calls).try_for_each(|_| call(&mut rng, &mut session, &store.table));
                    let ended = called.and_then(|()| session.commit().map(drop));
                    if let Err(error) = ended {
                        assert!(is_expected(&error), "{error}");
                        session.abort();
                    }
                }
            });
        }
    });
    assert!(store.indexes_follow());
    let mut session = store.session();
    session.begin(Begin::Serializable).expect("the log is sound");
    assert_eq!(count(&mut session, &store.table).expect("no other transaction runs"), (ROWS, 0));
    drop(session);
    store.assert_sound();
}
