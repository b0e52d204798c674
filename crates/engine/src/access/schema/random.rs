//! Random schemas and values for tests.

use crate::access::schema::{
    Builder, Decimal, DefaultValue, KeyPart, Kind, Schema, Value, asc, desc,
};
use fastrand::Rng;

/// An owned value or null.
pub(crate) type Cell = Option<DefaultValue>;

/// The value of a cell.
pub(crate) fn lend(cell: &Cell) -> Value<'_> {
    cell.as_ref().map_or(Value::Null, DefaultValue::borrow)
}

/// The values of a row of cells.
pub(crate) fn lend_all(cells: &[Cell]) -> Vec<Value<'_>> {
    cells.iter().map(lend).collect()
}

pub(crate) fn kind(rng: &mut Rng) -> Kind {
    match rng.u8(..10) {
        6 => Kind::Bool,
        7 => Kind::Unsigned,
        8 => Kind::Date,
        9 => Kind::Uuid,
        0 => Kind::Int,
        1 => Kind::Float,
        2 => Kind::Decimal { scale: rng.u8(..5) },
        3 => Kind::Text,
        4 => Kind::Bytes,
        _ => Kind::Timestamp,
    }
}

/// A value of a kind: often a small one, so that values collide, sometimes an extreme one.
pub(crate) fn value(rng: &mut Rng, kind: Kind) -> DefaultValue {
    let integer = match rng.u8(..6) {
        0 => [i64::MIN, i64::MAX, -1, 0, 1, 255, 256][rng.usize(..7)],
        1 => rng.i64(..),
        _ => rng.i64(-4..5),
    };
    let owned = |value: Value<'_>| DefaultValue::of(value).expect("it is not null");
    match kind {
        Kind::Int => owned(Value::Int(integer)),
        Kind::Bool => owned(Value::Bool(integer > 0)),
        Kind::Unsigned => owned(Value::Unsigned(integer as u64)),
        Kind::Date => owned(Value::Date(integer as i32)),
        Kind::Uuid => owned(Value::Uuid(&u128::from(integer as u64).to_be_bytes())),
        Kind::Timestamp => owned(Value::Timestamp(integer)),
        Kind::Decimal { scale } => owned(Value::Decimal(Decimal { units: integer, scale })),
        Kind::Float => owned(Value::Float(float(rng))),
        Kind::Bytes => owned(Value::Bytes(&bytes(rng))),
        Kind::Text => {
            let text: String = bytes(rng).iter().map(|byte| char::from(*byte)).collect();
            owned(Value::Text(&text))
        }
    }
}

fn float(rng: &mut Rng) -> f64 {
    let special = [
        0.0,
        -0.0,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE,
        f64::MIN,
        f64::MAX,
        5e-324,
        -5e-324,
    ];
    match rng.u8(..4) {
        0 => special[rng.usize(..special.len())],
        1 => f64::from_bits(rng.u64(..)),
        _ => f64::from(rng.i8(-4..5)) / 2.0,
    }
}

fn bytes(rng: &mut Rng) -> Vec<u8> {
    let length = if rng.u8(..20) == 0 { 40 } else { 4 };
    let alphabet = [0, 1, 2, 3, 0x7f, 0x80, 0xfe, 0xff];
    (0..rng.usize(..length)).map(|_| alphabet[rng.usize(..8)]).collect()
}

/// A value for a column, or null where that is allowed.
pub(crate) fn cell(rng: &mut Rng, kind: Kind, nullable: bool) -> Cell {
    let is_null = nullable && rng.u8(..4) == 0;
    (!is_null).then(|| value(rng, kind))
}

/// A row's cells.
pub(crate) fn cells(rng: &mut Rng, schema: &Schema) -> Vec<Cell> {
    let columns = schema.columns().iter();
    columns.map(|column| cell(rng, column.kind(), column.is_nullable())).collect()
}

fn part(rng: &mut Rng, column: usize) -> KeyPart {
    let name = format!("c{column}");
    let part = if rng.bool() { asc(name) } else { desc(name) };
    match rng.u8(..4) {
        0 => part.nulls_first(),
        1 => part.nulls_last(),
        _ => part,
    }
}

fn key(rng: &mut Rng, mut from: Vec<usize>) -> Vec<KeyPart> {
    rng.shuffle(&mut from);
    let count = rng.usize(1..=from.len().min(3));
    from[..count].iter().map(|column| part(rng, *column)).collect()
}

/// A schema of a few columns, with indexes, at version 1.
pub(crate) fn schema(rng: &mut Rng) -> Schema {
    let count = rng.usize(1..12);
    let mut builder: Builder = Schema::table("random");
    let mut not_null = Vec::new();
    for column in 0..count {
        let name = format!("c{column}");
        if column == 0 || rng.bool() {
            not_null.push(column);
            builder = builder.column(name, kind(rng));
        } else {
            builder = builder.nullable(name, kind(rng));
        }
    }
    builder = builder.key(key(rng, not_null));
    for index in 0..rng.usize(..4) {
        let columns = key(rng, (0..count).collect());
        let name = format!("i{index}");
        builder =
            if rng.bool() { builder.index(name, columns) } else { builder.unique(name, columns) };
    }
    builder.build().expect("a random schema is valid")
}

/// The same schema with one more column.
pub(crate) fn grown(rng: &mut Rng, schema: &Schema) -> Schema {
    let name = format!("c{}", schema.definition().stored().count());
    let kind = kind(rng);
    let default = value(rng, kind);
    let grown = match rng.u8(..3) {
        0 => schema.with_nullable(&name, kind, Value::Null),
        1 => schema.with_nullable(&name, kind, default.borrow()),
        _ => schema.with_column(&name, kind, default.borrow()),
    };
    grown.expect("the column is valid")
}

/// The same schema without a random column, and the position that it had; none if all are in keys.
pub(crate) fn without_one(rng: &mut Rng, schema: &Schema) -> Option<(usize, Schema)> {
    let position = rng.usize(..schema.columns().len());
    let without = schema.without_column(schema.columns()[position].name());
    Some((position, without.ok()?))
}

/// The same schema with a random column renamed.
pub(crate) fn renamed(rng: &mut Rng, schema: &Schema) -> Schema {
    let column = &schema.columns()[rng.usize(..schema.columns().len())];
    let name = format!("{}, once {}", rng.u64(..), column.name());
    let name = &name[..name.len().min(40)];
    schema.with_column_renamed(column.name(), name).expect("the name is new")
}

/// True if two values are the same, not-a-number included.
pub(crate) fn same(one: Value<'_>, other: Value<'_>) -> bool {
    match (one, other) {
        (Value::Float(one), Value::Float(other)) => one.to_bits() == other.to_bits(),
        _ => one == other,
    }
}

/// The value after a round trip through a key: zero without a sign, one form of not-a-number.
pub(crate) fn from_key(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Float(0.0) => Value::Float(0.0),
        Value::Float(number) if number.is_nan() => Value::Float(f64::from_bits(0x7ff8 << 48)),
        _ => value,
    }
}

/// Bytes with a few of them changed, removed or inserted.
pub(crate) fn mutated(rng: &mut Rng, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(..=bytes.len());
        match rng.u8(..4) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, [0, 1, 2, 0x80, 0xff][rng.usize(..5)]),
            2 if at < bytes.len() => {
                bytes.remove(at);
            }
            _ if at < bytes.len() => bytes[at] ^= 1 << rng.u8(..8),
            _ => bytes.push(rng.u8(..)),
        }
    }
    bytes
}
