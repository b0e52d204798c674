//! Decodes arbitrary bytes as keys, rows and patches, for a few schemas that contain every kind of column.

use super::patch::{self, Bounds};
use super::row::{Entry, entry_key};
use super::row::{Raw, RowView, encode, primary_key_of};
use super::schema::{Decimal, Kind, Schema, Value, asc, desc};
use crate::fuzzing::{Input, add_counted};
use std::sync::OnceLock;

/// A key that fits a page of the usual size.
const KEY_BYTES_MAX: usize = 1024;

/// Every kind in the key, in both orders, with nulls; every kind in the row; one with columns added later;
/// one with nothing but its key.
fn schemas() -> &'static [Schema] {
    static SCHEMAS: OnceLock<Vec<Schema>> = OnceLock::new();
    SCHEMAS.get_or_init(|| {
        let kinds = [
            ("i", Kind::Int),
            ("f", Kind::Float),
            ("d", Kind::Decimal { scale: 2 }),
            ("t", Kind::Text),
            ("b", Kind::Bytes),
            ("s", Kind::Timestamp),
            ("o", Kind::Bool),
            ("u", Kind::Unsigned),
            ("y", Kind::Date),
            ("q", Kind::Uuid),
        ];
        let mut all = Schema::table("all");
        let mut key = Vec::new();
        for (name, kind) in kinds {
            let (nullable, in_row) = (format!("n{name}"), format!("r{name}"));
            all = all.column(name, kind).nullable(nullable.clone(), kind);
            all = all.nullable(in_row, kind).column(format!("p{name}"), kind);
            key.push(if key.len() % 2 == 0 { asc(name) } else { desc(name) });
        }
        let all = all.key(key).unique("u", [asc("nt").nulls_last(), desc("nb")]);
        let all = all.index("x", [desc("nf"), asc("pt"), asc("ns")]).build();
        let small = Schema::table("small").column("id", Kind::Int).column("v", Kind::Text);
        let small = small.key(["id"]).build().expect("a good schema");
        let grown = small.with_nullable("w", Kind::Bytes, Value::Null);
        let grown = grown.expect("a good schema").with_column("x", Kind::Int, Value::Int(7));
        let grown = grown.expect("a good schema").with_column("y", Kind::Text, Value::Text("y"));
        let bare = Schema::table("bare").column("id", Kind::Text).key([desc("id")]).build();
        let (all, bare) = (all.expect("a good schema"), bare.expect("a good schema"));
        vec![all, small, grown.expect("a good schema"), bare]
    })
}

/// Input: the number of a schema, the key's length, the key; the rest is the row.
pub fn row(data: &[u8]) {
    let mut input = Input(data);
    let schema = &schemas()[usize::from(input.byte()) % schemas().len()];
    let (key, value) = (input.counted(), input.0);
    let mut plain = Vec::new();
    let Ok(view) = RowView::open(schema, key, value, &mut plain) else {
        return;
    };
    let columns = 0..schema.columns().len();
    let values: Result<Vec<_>, _> = columns.map(|column| view.value(column)).collect();
    if view.check().is_err() {
        return;
    }
    let values = values.expect("a checked row can be read");
    let (mut key_again, mut again) = (Vec::new(), Vec::new());
    encode(schema, &values, &mut key_again, &mut again)
        .expect("values that were read can be written");
    assert_eq!(key_again, key, "a key has another encoding");
    let mut plain_again = Vec::new();
    let reread = RowView::open(schema, key, &again, &mut plain_again).expect("it was written");
    assert_eq!(reread.check(), Ok(()));
    for (column, value) in values.iter().enumerate() {
        assert!(same(reread.value(column), *value), "column {column} has changed");
    }
    for index in 0..schema.indexes().len() {
        let mut entry = Vec::new();
        entry_key(schema, index, &view, &mut entry).expect("an indexed column has its kind");
        let key_of_entry = primary_key_of(schema, index, Entry { key: &entry, value: key });
        assert_eq!(key_of_entry, Ok(key), "an index entry leads to another row");
    }
}

fn same(found: Result<Value<'_>, super::key::Malformed>, value: Value<'_>) -> bool {
    match (found, value) {
        (Ok(Value::Float(one)), Value::Float(other)) => one.to_bits() == other.to_bits(),
        (found, value) => found == Ok(value),
    }
}

/// Input: the patch's length, the patch, the row to which it is applied. It is applied a second time with the
/// block of a real schema before its steps.
pub fn patch(data: &[u8]) {
    let mut input = Input(data);
    let schema = &schemas()[usize::from(input.byte()) % schemas().len()];
    let (bytes, row) = (input.counted(), input.0);
    check_patch(bytes, row);
    let mut fitting = Vec::new();
    patch::begin(schema, &mut fitting);
    fitting.extend_from_slice(bytes);
    let Some(new) = check_patch(&fitting, row) else {
        return;
    };
    let opened = Raw::open(&new, |version| schema.layout(version));
    assert_eq!(opened.expect("a patched row can be read").version, schema.version());
}

/// The patched row, if the patch applied.
fn check_patch(patch: &[u8], row: &[u8]) -> Option<Vec<u8>> {
    let mut new = vec![1, 2, 3];
    let outcome = patch::apply(patch, row, &mut new);
    let mut again = Vec::new();
    assert_eq!(
        patch::apply(patch, row, &mut again),
        outcome,
        "applying a patch twice gave another outcome"
    );
    match outcome {
        Ok(()) => {
            assert_eq!(new, again, "applying a patch twice gave another row");
            Some(new)
        }
        Err(_) => None,
    }
}

/// Values that fit a schema, some of them null.
fn values(schema: &Schema, with_nulls: bool) -> Vec<Value<'static>> {
    let value = |column: &super::schema::Column| match column.kind() {
        _ if with_nulls && column.is_nullable() => Value::Null,
        Kind::Int => Value::Int(-300),
        Kind::Float => Value::Float(-0.5),
        Kind::Decimal { scale } => Value::Decimal(Decimal { units: 12_345, scale }),
        Kind::Text => Value::Text("one\0two\u{1}three"),
        Kind::Bytes => Value::Bytes(&[0, 1, 2, 255]),
        Kind::Timestamp => Value::Timestamp(1),
        Kind::Bool => Value::Bool(true),
        Kind::Unsigned => Value::Unsigned(u64::MAX),
        Kind::Date => Value::Date(-1),
        Kind::Uuid => Value::Uuid(&[1; 16]),
    };
    schema.columns().iter().map(value).collect()
}

fn rows() -> impl Iterator<Item = (u8, Vec<u8>, Vec<u8>)> {
    schemas().iter().enumerate().flat_map(|(number, schema)| {
        [false, true].map(|with_nulls| {
            let (mut key, mut row) = (Vec::new(), Vec::new());
            let values = values(schema, with_nulls);
            encode(schema, &values, &mut key, &mut row).expect("the values fit");
            assert!(key.len() <= KEY_BYTES_MAX);
            (number as u8, key, row)
        })
    })
}

/// Rows as tables write them, and one of an older version.
pub(crate) fn row_seeds() -> Vec<Vec<u8>> {
    let seed = |number: u8, key: &[u8], row: &[u8]| {
        let mut seed = vec![number];
        add_counted(&mut seed, key);
        seed.extend_from_slice(row);
        seed
    };
    let mut seeds: Vec<_> = rows().map(|(number, key, row)| seed(number, &key, &row)).collect();
    let older = rows().filter(|(number, ..)| *number == 1);
    seeds.extend(older.map(|(_, key, row)| seed(2, &key, &row)));
    seeds
}

/// Patches as transactions write them: complete ones, and steps alone.
pub(crate) fn patch_seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (number, _, row) in rows() {
        let schema = &schemas()[usize::from(number)];
        let mut whole = Vec::new();
        patch::begin(schema, &mut whole);
        let head = whole.len();
        for (column, value) in values(schema, false).into_iter().enumerate() {
            let no_bounds = Bounds { lower: None, upper: None };
            // Key columns are refused, and so are additions to anything but numbers.
            let sets = patch::set(schema, column, value, &mut whole).is_ok();
            let adds = patch::add(schema, column, value, no_bounds, &mut whole).is_ok();
            assert!(sets || !adds, "a column accepts an addition but cannot be set");
        }
        for steps in [&whole[..], &whole[head..]] {
            let mut seed = vec![number];
            add_counted(&mut seed, steps);
            seed.extend_from_slice(&row);
            seeds.push(seed);
        }
    }
    seeds
}
