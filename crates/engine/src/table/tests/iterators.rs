//! Iterators whose transaction writes between their steps, and reads beside which others write.

use super::fixture::Store;
use crate::access::key::KeyRange;
use crate::access::schema::{Kind, Schema, Value};
use crate::error::{Error, Result};
use crate::planted_bug::{PlantedBug, with};
use crate::table::{Change, Transaction};
use crate::txn::{Begin, Direction};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::panic::catch_unwind;
use syncline_vfs::SimulatedDisk;

fn store() -> Store {
    let schema = Schema::table("item").column("id", Kind::Int).column("part", Kind::Int);
    let schema = schema.key(["id"]).index("by_part", ["part"]);
    Store::new(schema.build().expect("the schema is right"), None)
}

/// The rows: part by id.
type Model = BTreeMap<i64, i64>;

/// The sort key of a row: in the table its id, in the index part and id.
fn place(by_part: bool, id: i64, part: i64) -> (i64, i64) {
    if by_part { (part, id) } else { (id, 0) }
}

fn write(rng: &mut Rng, model: &mut Model, (store, tx): (&Store, &Transaction<'_, SimulatedDisk>)) {
    let (id, part) = (rng.i64(..60), rng.i64(..8));
    let written = match rng.u8(..4) {
        0 => {
            model.remove(&id);
            tx.delete_range(&store.table, KeyRange::prefix(&[id.into()])).map(drop)
        }
        1 => {
            model.insert(id, part);
            tx.put(&store.table, &[id.into(), part.into()])
        }
        2 => {
            model.entry(id).and_modify(|it| *it = part).or_insert(part);
            let changes = [Change::set("part", part)];
            tx.upsert(&store.table, &[id.into(), part.into()], &changes).map(drop)
        }
        _ => {
            // Undone at once.
            let mark = tx.mark().expect("a transaction is open");
            tx.put(&store.table, &[id.into(), part.into()]).expect("no conflict");
            tx.rollback_to(mark)
        }
    };
    written.expect("no conflict");
}

/// One iteration against the model; each step must return what comes next in the model at that moment.
fn iterate(
    rng: &mut Rng,
    model: &mut Model,
    (store, tx): (&Store, &Transaction<'_, SimulatedDisk>),
) {
    let by_part = rng.bool();
    let path = if by_part {
        store.table.by("by_part").expect("it is there")
    } else {
        (&store.table).into()
    };
    let bounds = [Value::Int(rng.i64(..8)), Value::Int(rng.i64(..60))];
    let range = if rng.bool() {
        KeyRange::ALL
    } else {
        KeyRange { lower: Bound::Excluded(&bounds[..1]), upper: Bound::Included(&bounds[1..]) }
    };
    let leading = |(place, _): (i64, i64)| {
        let within = |bound: Value<'_>| bound.as_int().expect("an integer");
        range == KeyRange::ALL || (place > within(bounds[0]) && place <= within(bounds[1]))
    };
    let writes = rng.bool();
    let limit = [usize::MAX, 5][rng.usize(..2)];
    let rows = if rng.bool() { tx.rows(path, range) } else { tx.keys(path, range) };
    let mut rows = rows.expect("the range fits").limit(limit);
    let (mut front, mut back) = (None, None);
    for taken in 0.. {
        if writes && rng.u8(..4) == 0 {
            write(rng, model, (store, tx));
        }
        let places = model.iter().map(|(id, part)| (place(by_part, *id, *part), *id));
        let open = places.filter(|(place, _)| {
            leading(*place)
                && front.is_none_or(|front| *place > front)
                && back.is_none_or(|back| *place < back)
        });
        let direction = if rng.u8(..3) > 0 { Direction::Ascending } else { Direction::Descending };
        let expected = match direction {
            Direction::Ascending => open.min(),
            Direction::Descending => open.max(),
        };
        let expected = expected.filter(|_| taken < limit);
        let row = rows.step(direction).expect("no conflict");
        let id = row.map(|row| row.get::<i64>("id").expect("a whole row"));
        assert_eq!(id, expected.map(|(_, id)| id));
        let Some((place, _)) = expected else {
            break;
        };
        match direction {
            Direction::Ascending => front = Some(place),
            Direction::Descending => back = Some(place),
        }
        // Moving rows ahead of the cursor again and again would not end.
        if taken > 200 {
            break;
        }
    }
}

#[test]
fn a_step_returns_what_comes_next_in_the_transaction_at_that_moment() {
    (0..300).for_each(iterates);
}

#[test]
fn rows_read_ahead_before_a_write_are_found() {
    let found = with(Some(PlantedBug::KeepReadAhead), || {
        (0..40).any(|seed| catch_unwind(|| iterates(seed)).is_err())
    });
    assert!(found, "the planted bug was not found");
}

/// Some transactions with iterations.
fn iterates(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let store = store();
    let mut session = store.session();
    let mut committed = Model::new();
    for _ in 0..6 {
        let tx = session.transaction(Begin::Serializable).expect("the log is sound");
        let mut model = committed.clone();
        for _ in 0..rng.usize(..60) {
            write(&mut rng, &mut model, (&store, &tx));
        }
        for _ in 0..rng.usize(..4) {
            iterate(&mut rng, &mut model, (&store, &tx));
        }
        tx.commit().expect("no other transaction runs");
        committed = model;
    }
    store.assert_sound();
}

fn filled(ids: i64) -> Store {
    let store = store();
    let fill = store.session().run(Begin::Serializable, |tx| -> Result<()> {
        (0..ids).try_for_each(|id| tx.insert(&store.table, &[id.into(), Value::Int(0)]))
    });
    fill.expect("no other transaction runs");
    store
}

#[test]
fn rows_beyond_a_limit_are_not_read() {
    let store = filled(100);
    let (mut reader, mut writer) = (store.session(), store.session());
    let commit_after = |rows: usize,
                        changed: i64,
                        reader: &mut crate::TypedSession<_>,
                        writer: &mut crate::TypedSession<_>| {
        let tx = reader.transaction(Begin::Serializable).expect("the log is sound");
        let read = tx.rows(&store.table, KeyRange::ALL).expect("the range fits").limit(rows);
        assert_eq!(read.collect::<Result<Vec<_>>>().expect("no conflict").len(), rows);
        tx.insert(&store.table, &[Value::Int(1_000 + changed), Value::Int(0)])
            .expect("no conflict");
        let change = [Change::set("part", 1)];
        let write = writer
            .run(Begin::Serializable, |tx| tx.update(&store.table, &[changed.into()], &change));
        write.expect("the reader holds nothing");
        tx.commit()
    };
    assert!(commit_after(3, 3, &mut reader, &mut writer).is_ok());
    assert!(commit_after(1, 1, &mut reader, &mut writer).is_ok());
    let conflict = commit_after(4, 2, &mut reader, &mut writer);
    assert!(matches!(conflict, Err(Error::Conflict(_))), "{conflict:?}");
}

#[test]
fn first_and_last_read_one_row_each() {
    let store = filled(10);
    let mut session = store.session();
    let tx = session.transaction(Begin::Serializable).expect("the log is sound");
    let id = |row: Option<crate::OwnedRow>| row.map(|row| row.get::<i64>(0).expect("a whole row"));
    let some = [Value::Int(3)];
    assert_eq!(id(tx.first(&store.table, KeyRange::from(&some)).expect("no conflict")), Some(3));
    assert_eq!(id(tx.last(&store.table, KeyRange::ALL).expect("no conflict")), Some(9));
    let none = [Value::Int(50)];
    assert_eq!(id(tx.first(&store.table, KeyRange::from(&none)).expect("no conflict")), None);
}

#[test]
fn rows_can_be_kept_beside_one_another_and_after_their_transaction() {
    let store = filled(3);
    let mut session = store.session();
    let tx = session.transaction(Begin::Serializable).expect("the log is sound");
    let get =
        |id: i64| tx.get(&store.table, &[id.into()]).expect("no conflict").expect("it is there");
    let (one, other) = (get(1), get(2));
    tx.update(&store.table, &[Value::Int(1)], &[Change::set("part", 7)]).expect("no conflict");
    tx.commit().expect("no other transaction runs");
    drop(session);
    let parts = |row: &crate::OwnedRow| (row.get::<i32>("id"), row.get::<Option<u8>>("part"));
    assert!(matches!(parts(&one), (Ok(1), Ok(Some(0)))), "{one:?}");
    assert!(matches!(parts(&other), (Ok(2), Ok(Some(0)))), "{other:?}");
}

#[test]
fn a_column_is_read_as_what_it_holds_or_not_at_all() {
    let schema = Schema::table("item").column("id", Kind::Int).nullable("note", Kind::Text);
    let store = Store::new(schema.key(["id"]).build().expect("the schema is right"), None);
    let mut session = store.session();
    let tx = session.transaction(Begin::Serializable).expect("the log is sound");
    tx.insert(&store.table, crate::values![-300, None::<&str>]).expect("no conflict");
    let row =
        tx.get(&store.table, crate::values![-300]).expect("no conflict").expect("it is there");
    assert_eq!(row.get::<Option<String>>("note").expect("null is none"), None);
    let message = |error: Result<()>| error.expect_err("it cannot be read so").to_string();
    assert_eq!(
        message(row.get::<i8>("id").map(drop)),
        "column id of table item holds the integer -300, which cannot be read as i8"
    );
    assert_eq!(
        message(row.get::<String>("note").map(drop)),
        "column note of table item holds null, which cannot be read as String"
    );
    assert_eq!(message(row.get::<i64>("nothing").map(drop)), "there is no column nothing");
}
