//! Rows and index entries against the values that they were made from.

use super::{Entries, RowView, encode, entry_key, primary_key_of};
use crate::access::row::Entry;
use crate::access::schema::random::{self, Cell, from_key, lend, lend_all, same};
use crate::access::schema::{Kind, Schema, Value};
use crate::planted_bug::{PlantedBug, with};
use fastrand::Rng;
use std::collections::BTreeMap;

fn encoded(schema: &Schema, cells: &[Cell]) -> (Vec<u8>, Vec<u8>) {
    let (mut key, mut row) = (Vec::new(), Vec::new());
    encode(schema, &lend_all(cells), &mut key, &mut row).expect("the values fit");
    (key, row)
}

/// The expected value of a column.
fn expected<'a>(schema: &'a Schema, cells: &'a [Cell], column: usize) -> Value<'a> {
    let in_key = schema.key().iter().any(|part| part.column == column);
    match cells.get(column) {
        None => schema.columns()[column].default(),
        Some(cell) if in_key => from_key(lend(cell)),
        Some(cell) => lend(cell),
    }
}

#[test]
fn rows_of_any_version_are_read_by_the_newest() {
    let mut rng = Rng::with_seed(1);
    let mut plain = Vec::new();
    for _ in 0..4_000 {
        let mut schema = random::schema(&mut rng);
        let mut cells = random::cells(&mut rng, &schema);
        let (mut key, mut row) = encoded(&schema, &cells);
        for _ in 0..6 {
            let view = RowView::open(&schema, &key, &row, &mut plain).expect("the row is whole");
            view.check().expect("the row is whole");
            let mut columns: Vec<usize> = (0..schema.columns().len()).collect();
            rng.shuffle(&mut columns);
            for column in columns {
                let value = view.value(column).expect("the column is whole");
                let expected = expected(&schema, &cells, column);
                assert!(same(value, expected), "{column}: {value:?} {expected:?}");
            }
            texts_are_the_values(&schema, &view);
            match rng.u8(..4) {
                0 => schema = random::renamed(&mut rng, &schema),
                1 => {
                    if let Some((gone, without)) = random::without_one(&mut rng, &schema) {
                        schema = without;
                        if gone < cells.len() {
                            cells.remove(gone);
                        }
                    }
                }
                _ => schema = random::grown(&mut rng, &schema),
            }
            if rng.u8(..4) == 0 {
                cells = random::cells(&mut rng, &schema);
                (key, row) = encoded(&schema, &cells);
            }
        }
    }
}

#[test]
fn a_new_row_holds_nothing_of_removed_columns() {
    let schema = Schema::table("t").column("id", Kind::Int).key(["id"]);
    let schema = schema.column("a", Kind::Text).column("b", Kind::Text).column("n", Kind::Int);
    let schema = schema.column("c", Kind::Bytes).build().unwrap();
    let values = [Value::Int(1), Value::Text("aa"), Value::Text("bb"), Value::Int(7)];
    let values = [&values[..], &[Value::Bytes(b"cc")]].concat();
    for gone in ["a", "b", "n", "c"] {
        let position = schema.column(gone).unwrap();
        let without = schema.without_column(gone).unwrap();
        let mut kept = values.clone();
        kept.remove(position);
        let (mut old_key, mut old, mut key, mut row) = Default::default();
        encode(&schema, &values, &mut old_key, &mut old).unwrap();
        encode(&without, &kept, &mut key, &mut row).unwrap();
        assert_eq!(old_key, key);
        if gone == "n" {
            assert_eq!(old.len(), row.len(), "its slot stays");
        } else {
            assert_eq!(old.len(), row.len() + 2, "{gone}");
        }
        for row in [&old, &row] {
            let mut plain = Vec::new();
            let view = RowView::open(&without, &key, row, &mut plain).unwrap();
            view.check().unwrap();
            for (column, value) in kept.iter().enumerate() {
                assert_eq!(view.value(column).unwrap(), *value, "without {gone}");
            }
        }
    }
}

/// Every run of neighbouring texts must equal the columns read one by one.
fn texts_are_the_values(schema: &Schema, view: &RowView<'_>) {
    let count = schema.columns().len();
    for (first, end) in
        (0..count).flat_map(|first| (first + 1..=count).map(move |end| (first, end)))
    {
        let columns: Vec<usize> = (first..end).collect();
        let Some(run) = schema.text_run(&columns) else {
            continue;
        };
        let Some(texts) = view.texts(run).expect("the row is whole") else {
            let is_younger = |column: &usize| schema.columns()[*column].since > view.raw.version;
            assert!(columns.iter().any(is_younger), "the row has them all");
            continue;
        };
        let mut start = 0;
        for (column, end) in columns.iter().zip(texts.ends()) {
            let text = Value::Text(&texts.text()[start..end]);
            assert!(same(text, view.value(*column).expect("the column is whole")));
            start = end;
        }
        assert_eq!(start, texts.text().len());
    }
}

#[test]
fn neighbouring_texts_are_a_run_and_others_are_not() {
    let schema = Schema::table("t").column("id", Kind::Int).key(["id"]);
    let schema = schema
        .column("a", Kind::Text)
        .column("n", Kind::Int)
        .column("b", Kind::Text)
        .column("c", Kind::Bytes)
        .nullable("d", Kind::Text)
        .build()
        .unwrap();
    let is_run = |columns: &[usize]| schema.text_run(columns).is_some();
    assert!(is_run(&[1, 3]), "the column in between is fixed");
    assert!(!is_run(&[]) && !is_run(&[1]) && !is_run(&[3, 1]));
    assert!(!is_run(&[3, 4]) && !is_run(&[0, 1]) && !is_run(&[3, 5]));
    let values = [
        Value::Int(1),
        Value::Text("søk"),
        Value::Int(2),
        Value::Text(""),
        Value::Bytes(&[]),
        Value::Null,
    ];
    let (mut key, mut row, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    encode(&schema, &values, &mut key, &mut row).unwrap();
    let run = schema.text_run(&[1, 3]).unwrap();
    let texts = |row: &[u8], plain: &mut Vec<u8>| {
        let view = RowView::open(&schema, &key, row, plain).unwrap();
        let texts = view.texts(run);
        texts.map(|texts| texts.map(|texts| texts.ends().collect::<Vec<_>>()))
    };
    assert_eq!(texts(&row, &mut plain), Ok(Some(vec![4, 4])));
    // The first text's end, moved into its second character.
    let at = row.len() - "søk".len() - 6;
    row[at] = 2;
    assert!(texts(&row, &mut plain).is_err());
}

#[test]
fn long_rows_have_wide_ends() {
    let schema = Schema::table("t").column("id", Kind::Int).key(["id"]);
    let schema = schema.column("a", Kind::Text).column("b", Kind::Bytes).build().unwrap();
    for length in [0, 65_530, 65_535, 65_536, 200_000] {
        let (text, bytes) = ("x".repeat(length), vec![7; 3]);
        let values = [Value::Int(1), Value::Text(&text), Value::Bytes(&bytes)];
        let (mut key, mut row, mut plain) = (Vec::new(), Vec::new(), Vec::new());
        encode(&schema, &values, &mut key, &mut row).unwrap();
        let head = if length + 3 > 65_535 { 6 } else { 4 };
        assert_eq!(row.len(), head + length + 3);
        let view = RowView::open(&schema, &key, &row, &mut plain).unwrap();
        assert_eq!(view.value(2), Ok(Value::Bytes(&bytes)));
        assert_eq!(view.value(1), Ok(Value::Text(&text)));
    }
}

#[test]
fn a_row_of_one_text_costs_two_bytes_more() {
    let schema = Schema::table("t").column("id", Kind::Int).key(["id"]);
    let schema = schema.column("text", Kind::Text).build().unwrap();
    let (mut key, mut row) = (Vec::new(), Vec::new());
    let values = [Value::Int(1), Value::Text("hundred")];
    encode(&schema, &values, &mut key, &mut row).unwrap();
    assert_eq!((key.len(), row.as_slice()), (8, b"\x01\x00hundred".as_slice()));
}

#[test]
fn values_that_do_not_fit_are_named() {
    let schema = Schema::table("t").column("id", Kind::Int).key(["id"]);
    let schema = schema.column("at", Kind::Decimal { scale: 2 }).build().unwrap();
    let error = |values: &[Value<'_>]| {
        let refused = encode(&schema, values, &mut Vec::new(), &mut Vec::new());
        refused.unwrap_err().to_string()
    };
    assert_eq!(
        error(&[Value::Int(1), Value::Int(2)]),
        "column at of table t holds a decimal of scale 2, not an integer"
    );
    assert_eq!(error(&[Value::Int(1), Value::Null]), "column at of table t may not be null");
    assert_eq!(error(&[Value::Int(1)]), "2 values are expected for table t here, not 1");
}

#[test]
fn reading_arbitrary_bytes_as_a_row_never_panics() {
    let mut rng = Rng::with_seed(2);
    let mut plain = Vec::new();
    let (mut whole, mut refused) = (0, 0);
    let mut schema = random::schema(&mut rng);
    for round in 0..100_000 {
        if round % 20 == 0 {
            schema = random::schema(&mut rng);
            for _ in 0..rng.usize(..3) {
                schema = random::grown(&mut rng, &schema);
            }
        }
        let (key, row) = encoded(&schema, &random::cells(&mut rng, &schema));
        let row = random::mutated(&mut rng, &row);
        let view = RowView::open(&schema, &key, &row, &mut plain);
        let Ok(view) = view else {
            refused += 1;
            continue;
        };
        let read = (0..schema.columns().len()).all(|column| view.value(column).is_ok());
        if read {
            texts_are_the_values(&schema, &view);
        }
        match view.check() {
            Ok(()) => whole += 1,
            Err(_) => refused += 1,
        }
        assert!(read || view.check().is_err(), "the check must notice what reading notices");
    }
    assert!(whole > 10_000 && refused > 10_000, "{whole} {refused}");
}

type Trees = Vec<BTreeMap<Vec<u8>, Vec<u8>>>;

/// The entries of all rows, computed from scratch.
fn all_entries(schema: &Schema, rows: &BTreeMap<Vec<u8>, Vec<u8>>) -> Trees {
    let mut trees = vec![BTreeMap::new(); schema.indexes().len()];
    let mut plain = Vec::new();
    for (key, row) in rows {
        let view = RowView::open(schema, key, row, &mut plain).unwrap();
        for (index, tree) in trees.iter_mut().enumerate() {
            let mut entry = Vec::new();
            entry_key(schema, index, &view, &mut entry).unwrap();
            let unique = schema.indexes()[index].is_unique();
            let value = if unique { key.clone() } else { Vec::new() };
            let led = primary_key_of(schema, index, Entry { key: &entry, value: &value });
            assert_eq!(led, Ok(key.as_slice()));
            assert_eq!(tree.insert(entry, value), None, "two rows have the same entry");
        }
    }
    trees
}

/// Random inserts, changes and deletes of rows, with entries maintained by `Entries`. Returns true if they
/// are right.
fn entries_follow_rows(seed: u64) -> bool {
    let mut rng = Rng::with_seed(seed);
    let schema = random::schema(&mut rng);
    let mut rows: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut trees: Trees = vec![BTreeMap::new(); schema.indexes().len()];
    let mut entries = Entries::default();
    let (mut plain_old, mut plain_new) = (Vec::new(), Vec::new());
    for _ in 0..30 {
        let (key, row) = encoded(&schema, &random::cells(&mut rng, &schema));
        let old = rows.get(&key).cloned();
        let row = (rng.u8(..4) > 0).then_some(row);
        let view_old = old.as_ref().map(|old| {
            RowView::open(&schema, &key, old, &mut plain_old).expect("the row is whole")
        });
        let view_new = row.as_ref().map(|row| {
            RowView::open(&schema, &key, row, &mut plain_new).expect("the row is whole")
        });
        let mut collides = false;
        let mut staged = trees.clone();
        entries
            .changes(&schema, view_old.as_ref(), view_new.as_ref(), 1024, |index, old, new| {
                assert_ne!(old.map(|old| old.key), new.map(|new| new.key), "nothing changed");
                if let Some(old) = old {
                    assert!(staged[index].remove(old.key).is_some(), "the entry was there");
                }
                if let Some(new) = new {
                    let before = staged[index].insert(new.key.to_vec(), new.value.to_vec());
                    collides |= before.is_some();
                }
                Ok(())
            })
            .expect("the entries fit");
        if collides {
            continue;
        }
        trees = staged;
        match row {
            Some(row) => drop(rows.insert(key, row)),
            None => drop(rows.remove(&key)),
        }
        if trees != all_entries(&schema, &rows) {
            return false;
        }
    }
    true
}

#[test]
fn entries_follow_the_rows() {
    for seed in 0..600 {
        assert!(entries_follow_rows(seed), "seed {seed}");
    }
}

#[test]
fn an_entry_of_an_old_value_left_behind_is_found() {
    let missed =
        (0..60).all(|seed| with(Some(PlantedBug::KeepOldEntry), || entries_follow_rows(seed)));
    assert!(!missed, "the planted bug was not found");
}
