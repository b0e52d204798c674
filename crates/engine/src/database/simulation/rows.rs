//! Random tables, keys and rows: small, but with every variant that matters.

use crate::access::btree::Tree;
use crate::access::row::{self, Entry, RowView, entry_key, primary_key_of};
use crate::access::schema::{Kind, Schema, Value};
use crate::catalog::TableEntry;
use crate::error::PatchFailure;
use fastrand::Rng;
use std::sync::Arc;

/// The names that tables may have.
pub(super) const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The longest row that a patch may make, in bytes.
const PATCHED_BYTES_MAX: usize = 400;

/// A table with the trees that sessions use.
#[derive(Clone)]
pub(super) struct Table {
    pub(super) entry: Arc<TableEntry>,
    pub(super) rows: Arc<Tree>,
    pub(super) indexes: Vec<Arc<Tree>>,
}

/// The schema of a new table: a key, a number, a body at the end, and in some tables an index.
pub(super) fn schema(name: &str, random: &mut Rng) -> Schema {
    let kind = if random.bool() { Kind::Int } else { Kind::Bytes };
    let mut table = Schema::table(name)
        .column("id", kind)
        .column("number", Kind::Int)
        .column("body", Kind::Bytes)
        .key(["id"]);
    if random.u8(0..3) == 0 {
        table = table.index("by_number", ["number"]);
    }
    if random.u8(0..6) == 0 {
        table = table.unique("once", ["number", "id"]);
    }
    // Two rows may have the same number.
    if random.u8(0..4) == 0 {
        table = table.unique("alone", ["number"]);
    }
    table.build().expect("a sound schema")
}

/// A row with the encoded key and the encoded row.
pub(super) fn row(
    schema: &Schema,
    id: u32,
    is_heavy: bool,
    random: &mut Rng,
) -> (Vec<u8>, Vec<u8>) {
    let bytes = body(is_heavy, random);
    let is_alone = schema.index("alone").is_some();
    let number = Value::Int(random.i64(0..if is_alone { 60 } else { 20 }));
    let text = id_bytes(id);
    let mut values = vec![id_value(schema, id, &text), number, Value::Bytes(&bytes)];
    // Columns that were added later.
    values.resize(schema.columns().len(), Value::Int(random.i64(..)));
    let (mut key, mut row) = (Vec::new(), Vec::new());
    row::encode(schema, &values, &mut key, &mut row).expect("values of the columns' kinds");
    (key, row)
}

/// The encoded key alone.
pub(super) fn key(schema: &Schema, id: u32) -> Vec<u8> {
    let (text, mut key) = (id_bytes(id), Vec::new());
    let value = id_value(schema, id, &text);
    let shape = schema.key_shape();
    let pushed = crate::access::key::push(&shape.parts[0], value, &mut key);
    pushed.expect("a value of the column's kind");
    key
}

/// The entry of a row in an index: key and value.
pub(super) fn entry(schema: &Schema, index: usize, key: &[u8], row: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut plain, mut bytes) = (Vec::new(), Vec::new());
    let row = RowView::open(schema, key, row, &mut plain).expect("a row that was written here");
    entry_key(schema, index, &row, &mut bytes).expect("columns of the row");
    let value = if schema.indexes()[index].is_unique() { key } else { &[] };
    (bytes, value.to_vec())
}

/// The primary key in an index entry.
pub(super) fn key_of_entry(
    schema: &Schema,
    index: usize,
    (key, value): (&[u8], &[u8]),
) -> Result<Vec<u8>, String> {
    let key = primary_key_of(schema, index, Entry { key, value });
    key.map(<[u8]>::to_vec).map_err(|what| what.0.to_owned())
}

/// Only rows with bytes in the body, at their end, are longer than this.
const WITHOUT_BODY_BYTES_MAX: usize = 64;

/// The longest change that a patch makes in place.
const IN_PLACE_BYTES_MAX: usize = 16;

/// A patch appends bytes to the row's body, which is its end; if the body is long enough, some patches change
/// its end in place instead.
pub(super) fn append(patch: &[u8], old: &[u8], new: &mut Vec<u8>) -> Result<(), PatchFailure> {
    if old.len() + patch.len() > PATCHED_BYTES_MAX {
        return Err(PatchFailure::Bound { column: 0 });
    }
    new.extend_from_slice(old);
    let in_place = patch.len().min(IN_PLACE_BYTES_MAX);
    if patch.first().is_some_and(|first| first % 2 == 0)
        && old.len() >= WITHOUT_BODY_BYTES_MAX + in_place
    {
        let end = old.len() - in_place;
        new[end..].copy_from_slice(&patch[..in_place]);
    } else {
        new.extend_from_slice(patch);
    }
    Ok(())
}

/// The bytes of a random patch.
pub(super) fn patch(random: &mut Rng) -> Vec<u8> {
    let bytes = random.usize(1..70);
    filled(bytes, random)
}

fn id_value<'t>(schema: &Schema, id: u32, text: &'t [u8]) -> Value<'t> {
    match schema.columns()[0].kind() {
        Kind::Int => Value::Int(id.into()),
        _ => Value::Bytes(text),
    }
}

/// A key of varying length, which shares much with its neighbours and has a distinct end.
fn id_bytes(id: u32) -> Vec<u8> {
    let mut bytes = vec![b'k'; id as usize % 17];
    bytes.extend_from_slice(&id.to_be_bytes()[2..]);
    bytes
}

fn body(is_heavy: bool, random: &mut Rng) -> Vec<u8> {
    let bytes = match random.u8(if is_heavy { 0..4 } else { 0..24 }) {
        0 => random.usize(400..1_600),
        1..4 => random.usize(90..400),
        _ => random.usize(0..40),
    };
    filled(bytes, random)
}

/// Eight random bytes repeated: no two values are equal by chance. Some end with zeros.
fn filled(bytes: usize, random: &mut Rng) -> Vec<u8> {
    let word = random.u64(..).to_le_bytes();
    let mut filled: Vec<u8> = word.iter().copied().cycle().take(bytes).collect();
    if random.u8(0..4) == 0 {
        filled[bytes - bytes / 8..].fill(0);
    }
    filled
}
