//! Keys against their values: order, decoding, prefixes, and arbitrary bytes.

use super::{ByteRange, KeyRange, KeyView, encode, push, skip, unfold};
use crate::access::row::RowView;
use crate::access::schema::random::{self, Cell, from_key, lend, lend_all, same};
use crate::access::schema::{KeyShape, Kind, Part, Schema, Value, asc, desc};
use fastrand::Rng;
use std::cmp::Ordering;
use std::ops::Bound;

fn part(rng: &mut Rng, column: usize) -> Part {
    Part {
        column,
        kind: random::kind(rng),
        nullable: rng.bool(),
        descending: rng.bool(),
        nulls_first: rng.bool(),
    }
}

fn shape(rng: &mut Rng) -> KeyShape {
    let parts = (0..rng.usize(1..5)).map(|column| part(rng, column)).collect();
    KeyShape::of(parts)
}

fn tuple(rng: &mut Rng, shape: &KeyShape) -> Vec<Cell> {
    let parts = shape.parts.iter();
    parts.map(|part| random::cell(rng, part.kind, part.nullable)).collect()
}

fn bytes(shape: &KeyShape, tuple: &[Cell]) -> Vec<u8> {
    let mut out = Vec::new();
    for (part, cell) in shape.parts.iter().zip(tuple) {
        push(part, lend(cell), &mut out).expect("the value fits its column");
    }
    out
}

/// The order of two values as the module describes it, computed independently.
fn order(part: &Part, one: Value<'_>, other: Value<'_>) -> Ordering {
    let null = |first: bool| {
        if first { Ordering::Less } else { Ordering::Greater }
    };
    let order = match (one, other) {
        (Value::Null, Value::Null) => return Ordering::Equal,
        (Value::Null, _) => return null(part.nulls_first),
        (_, Value::Null) => return null(!part.nulls_first),
        (Value::Int(one), Value::Int(other)) | (Value::Timestamp(one), Value::Timestamp(other)) => {
            one.cmp(&other)
        }
        (Value::Decimal(one), Value::Decimal(other)) => one.units.cmp(&other.units),
        (Value::Bool(one), Value::Bool(other)) => one.cmp(&other),
        (Value::Unsigned(one), Value::Unsigned(other)) => one.cmp(&other),
        (Value::Date(one), Value::Date(other)) => one.cmp(&other),
        (Value::Uuid(one), Value::Uuid(other)) => one.cmp(other),
        (Value::Text(one), Value::Text(other)) => one.cmp(other),
        (Value::Bytes(one), Value::Bytes(other)) => one.cmp(other),
        (Value::Float(one), Value::Float(other)) => {
            one.partial_cmp(&other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
        }
        _ => panic!("the values are of one kind"),
    };
    if part.descending { order.reverse() } else { order }
}

fn order_of(shape: &KeyShape, one: &[Cell], other: &[Cell]) -> Ordering {
    let pairs = one.iter().zip(other).zip(&shape.parts);
    pairs.fold(Ordering::Equal, |so_far, ((one, other), part)| {
        so_far.then_with(|| order(part, lend(one), lend(other)))
    })
}

#[test]
fn bytes_are_ordered_as_the_values_are() {
    let mut rng = Rng::with_seed(1);
    let mut orders = [0; 3];
    for _ in 0..3_000 {
        let shape = shape(&mut rng);
        let tuples: Vec<_> = (0..12).map(|_| tuple(&mut rng, &shape)).collect();
        for one in &tuples {
            for other in &tuples {
                let expected = order_of(&shape, one, other);
                let actual = bytes(&shape, one).cmp(&bytes(&shape, other));
                assert_eq!(actual, expected, "{one:?} {other:?} {shape:?}");
                orders[(expected as i8 + 1) as usize] += 1;
            }
        }
    }
    assert!(orders.iter().all(|count| *count > 20_000), "{orders:?}");
}

#[test]
fn keys_are_decoded_to_their_values() {
    let mut rng = Rng::with_seed(2);
    let mut plain = Vec::new();
    for _ in 0..50_000 {
        let shape = shape(&mut rng);
        let tuple = tuple(&mut rng, &shape);
        let mut bytes = bytes(&shape, &tuple);
        let length = bytes.len();
        bytes.extend_from_slice(b"what follows");
        assert_eq!(unfold(&shape, &bytes, &mut plain), Ok(length));
        assert_eq!(skip(&shape, &bytes), Ok(length));
        let key = KeyView { shape: &shape, bytes: &bytes, plain: &plain };
        for (position, cell) in tuple.iter().enumerate() {
            let actual = key.value(position).expect("the key is whole");
            assert!(same(actual, from_key(lend(cell))), "{actual:?} {cell:?}");
        }
    }
}

/// A schema whose first index has such a key.
fn schema_of(shape: &KeyShape) -> Schema {
    let mut builder = Schema::table("t").column("id", Kind::Int).key(["id"]);
    let mut columns = Vec::new();
    for (position, part) in shape.parts.iter().enumerate() {
        let name = format!("c{position}");
        builder = if part.nullable {
            builder.nullable(name.as_str(), part.kind)
        } else {
            builder.column(name.as_str(), part.kind)
        };
        let column = if part.descending { desc(name) } else { asc(name) };
        columns.push(if part.nulls_first { column.nulls_first() } else { column.nulls_last() });
    }
    builder.index("i", columns).build().expect("the schema is valid")
}

#[test]
fn a_range_holds_exactly_the_keys_between_its_bounds() {
    let mut rng = Rng::with_seed(3);
    let (mut inside, mut empty) = (0, 0);
    for _ in 0..6_000 {
        let shape = shape(&mut rng);
        let schema = schema_of(&shape);
        let tuples: Vec<_> = (0..20).map(|_| tuple(&mut rng, &shape)).collect();
        let bounds = [0, 1].map(|tuple| {
            let count = rng.usize(..=shape.parts.len());
            (tuples[tuple][..count].to_vec(), rng.u8(..3))
        });
        let values = bounds.clone().map(|(tuple, _)| tuple);
        let values = [lend_all(&values[0]), lend_all(&values[1])];
        let bound = |at: usize| match bounds[at].1 {
            0 => Bound::Unbounded,
            1 => Bound::Included(values[at].as_slice()),
            _ => Bound::Excluded(values[at].as_slice()),
        };
        let range = KeyRange { lower: bound(0), upper: bound(1) };
        let mut bytes_range = ByteRange::default();
        let may_hold = bytes_range.set(&schema, schema.index_shape(0), range).unwrap();
        empty += u32::from(!may_hold);
        for tuple in &tuples {
            let key = bytes(&shape, tuple);
            let below = bytes_range.upper().is_none_or(|upper| key.as_slice() < upper);
            let actual = may_hold && key >= bytes_range.lower && below;
            let order = |at: usize| order_of(&shape, tuple, &bounds[at].0);
            let expected = match bounds[0].1 {
                0 => true,
                1 => order(0).is_ge(),
                _ => order(0).is_gt(),
            } && match bounds[1].1 {
                0 => true,
                1 => order(1).is_le(),
                _ => order(1).is_lt(),
            };
            assert_eq!(actual, expected, "{range:?} {tuple:?} {shape:?}");
            inside += u32::from(actual);
        }
    }
    assert!(inside > 10_000 && empty > 300, "{inside} {empty}");
}

#[test]
fn one_integer_takes_eight_bytes_and_no_tag() {
    let schema = Schema::table("t").column("id", Kind::Int).key(["id"]);
    let schema = schema.build().unwrap();
    let mut key = Vec::new();
    encode(&schema, schema.key_shape(), [Value::Int(-1)], &mut key).unwrap();
    assert_eq!(key, [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
}

#[test]
fn values_that_do_not_fit_are_named() {
    let schema = Schema::table("t").column("id", Kind::Int).key(["id"]);
    let schema = schema.build().unwrap();
    let error = |values: &[Value<'static>]| {
        let values = values.iter().copied();
        let encoded = encode(&schema, schema.key_shape(), values, &mut Vec::new());
        encoded.unwrap_err().to_string()
    };
    assert_eq!(error(&[Value::Text("x")]), "column id of table t holds an integer, not text");
    assert_eq!(error(&[Value::Null]), "column id of table t may not be null");
    assert_eq!(
        error(&[Value::Int(1), Value::Int(2)]),
        "1 values are expected for table t here, not 2"
    );
}

#[test]
fn decoding_arbitrary_bytes_as_a_key_never_panics() {
    let mut rng = Rng::with_seed(4);
    let mut plain = Vec::new();
    let (mut whole, mut refused) = (0, 0);
    for _ in 0..100_000 {
        let shape = shape(&mut rng);
        let tuple = tuple(&mut rng, &shape);
        let bytes = random::mutated(&mut rng, &bytes(&shape, &tuple));
        let Ok(length) = unfold(&shape, &bytes, &mut plain) else {
            refused += 1;
            continue;
        };
        assert!(skip(&shape, &bytes) == Ok(length) && length <= bytes.len());
        whole += 1;
        let key = KeyView { shape: &shape, bytes: &bytes, plain: &plain };
        let values = (0..shape.parts.len()).map(|position| key.value(position));
        let Ok(values) = values.collect::<Result<Vec<_>, _>>() else {
            continue;
        };
        // Encoding the values again gives the same bytes: each value has one encoding.
        let mut again = Vec::new();
        for (part, value) in shape.parts.iter().zip(values) {
            push(part, value, &mut again).expect("the value was read from such a column");
        }
        assert_eq!(again, bytes[..length]);
    }
    assert!(whole > 10_000 && refused > 10_000, "{whole} {refused}");
}

/// A boolean or a date uses a part of its eight bytes only.
#[test]
fn bytes_that_no_value_of_a_column_has_are_refused() {
    for (kind, value) in [(Kind::Bool, Value::Bool(true)), (Kind::Date, Value::Date(-1))] {
        let schema = Schema::table("t").column("id", kind).key(["id"]).build().unwrap();
        let mut key = Vec::new();
        encode(&schema, schema.key_shape(), [value], &mut key).unwrap();
        let mut plain = Vec::new();
        let whole = RowView::of_key(&schema, &key, &mut plain).and_then(|view| view.value(0));
        assert_eq!(whole, Ok(value));
        key[1] ^= 1;
        let damaged = RowView::of_key(&schema, &key, &mut plain).and_then(|view| view.value(0));
        assert!(damaged.is_err(), "{kind}");
    }
}
