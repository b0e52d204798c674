//! Encodes values as bytes that sort like the values.
//!
//! | kind | bytes |
//! |---|---|
//! | int, timestamp, decimal (its units) | 8, big-endian, sign bit inverted |
//! | float | 8, big-endian: sign bit inverted, or all bits of a negative number; -0 as 0 |
//! | text, bytes | the bytes, each 0 as `00 ff`, then `00 00` |
//! | column that may be null | prefixed by 1; null is a single 0, so it sorts first |
//!
//! Invariants:
//! 1. Of two values of a column, the lower one has the lower bytes; equal values have equal bytes.
//! 2. No value's bytes are a prefix of another's in the same column. So keys of several columns sort by
//!    their first difference, and a prefix of columns is a prefix of bytes.

use super::failure::statement;
use crate::outcome::Failure;
use crate::schema::Column;
use crate::value::{Kind, Value};

const SIGN: u64 = 1 << 63;

/// Appends the value of a column.
pub(super) fn put(key: &mut Vec<u8>, column: &Column, value: Value<'_>) -> Result<(), Failure> {
    if column.nullable {
        let is_null = value == Value::Null;
        key.push(u8::from(!is_null));
        if is_null {
            return Ok(());
        }
    }
    match (column.kind, value) {
        (Kind::Int, Value::Int(number)) | (Kind::Timestamp, Value::Timestamp(number)) => {
            put_number(key, number);
        }
        (Kind::Decimal { scale }, Value::Decimal(decimal)) if scale == decimal.scale => {
            put_number(key, decimal.units);
        }
        (Kind::Float, Value::Float(number)) => put_float(key, number),
        (Kind::Text, Value::Text(text)) => put_bytes(key, text.as_bytes()),
        (Kind::Bytes, Value::Bytes(bytes)) => put_bytes(key, bytes),
        _ => return Err(misfit(column, value)),
    }
    Ok(())
}

/// Appends an integer.
pub(super) fn put_number(key: &mut Vec<u8>, number: i64) {
    key.extend((number as u64 ^ SIGN).to_be_bytes());
}

/// Turns a prefix into the lowest bytes above everything that begins with it.
pub(super) fn pass(prefix: &mut Vec<u8>) {
    while prefix.pop_if(|byte| *byte == u8::MAX).is_some() {}
    let last = prefix.last_mut();
    *last.expect("a table's number is never all ones, so a byte remains") += 1;
}

/// The failure for a value that its column cannot hold.
pub(super) fn misfit(column: &Column, value: Value<'_>) -> Failure {
    let given = value.kind();
    let given = given.map_or("null".to_owned(), |kind| format!("{kind:?}"));
    let (name, kind) = (&column.name, column.kind);
    statement(format!("column {name} of kind {kind:?} cannot hold {given}"))
}

fn put_float(key: &mut Vec<u8>, number: f64) {
    // Adding zero makes a negative zero positive and changes nothing else.
    let bits = (number + 0.0).to_bits();
    let inverted = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    key.extend(inverted.to_be_bytes());
}

fn put_bytes(key: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        key.push(*byte);
        if *byte == 0 {
            key.push(u8::MAX);
        }
    }
    key.extend([0, 0]);
}

#[cfg(test)]
mod tests {
    use super::{pass, put};
    use crate::schema::{Column, Table};
    use crate::value::{Decimal, Kind, Value};
    use std::cmp::Ordering;

    fn columns() -> Vec<Column> {
        Table::new("t")
            .column("int", Kind::Int)
            .column("float", Kind::Float)
            .column("price", Kind::Decimal { scale: 2 })
            .bytes("bytes", 9)
            .text("note", 9)
            .nullable()
            .columns
    }

    fn key(parts: &[(&Column, Value<'_>)]) -> Vec<u8> {
        let mut key = Vec::new();
        for (column, value) in parts {
            put(&mut key, column, *value).unwrap();
        }
        key
    }

    /// All strings of up to four of the bytes that affect escaping.
    fn strings() -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        let mut longest: Vec<Vec<u8>> = all.clone();
        for _ in 0..4 {
            longest = longest
                .iter()
                .flat_map(|short| [0, 1, 254, 255].map(|byte| [short.as_slice(), &[byte]].concat()))
                .collect();
            all.extend(longest.iter().cloned());
        }
        all
    }

    const INTS: [i64; 9] = [i64::MIN, -256, -1, 0, 1, 255, 256, 1 << 32, i64::MAX];

    /// Checks that keys sort like the values they encode.
    fn sorts_as<T>(all: &[T], key: impl Fn(&T) -> Vec<u8>, order: impl Fn(&T, &T) -> Ordering) {
        let keys: Vec<_> = all.iter().map(key).collect();
        for (one, one_key) in all.iter().zip(&keys) {
            for (other, other_key) in all.iter().zip(&keys) {
                assert_eq!(one_key.cmp(other_key), order(one, other));
                let inside = one_key != other_key && one_key.starts_with(other_key);
                assert!(!inside, "{one_key:?} begins with {other_key:?}");
            }
        }
    }

    #[test]
    fn numbers_sort_as_numbers() {
        let columns = columns();
        sorts_as(&INTS, |int| key(&[(&columns[0], Value::Int(*int))]), Ord::cmp);
        let price = |units: &i64| {
            let (units, scale) = (*units, 2);
            key(&[(&columns[2], Value::Decimal(Decimal { units, scale }))])
        };
        sorts_as(&INTS, price, Ord::cmp);
        let least = f64::MIN_POSITIVE;
        let floats = [f64::MIN, -1.5, -1.0, -least, -0.0, 0.0, least, 1.0, 1.5, f64::MAX];
        let float = |number: &f64| key(&[(&columns[1], Value::Float(*number))]);
        sorts_as(&floats, float, |one, other| one.partial_cmp(other).unwrap());
    }

    #[test]
    fn bytes_sort_as_bytes() {
        let columns = columns();
        let bytes = |bytes: &Vec<u8>| key(&[(&columns[3], Value::Bytes(bytes))]);
        sorts_as(&strings(), bytes, Ord::cmp);
    }

    fn text_of<'v>(value: &Value<'v>) -> Option<&'v str> {
        match value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    #[test]
    fn null_sorts_first() {
        let columns = columns();
        let texts = ["", "\0", "a", "ab"].map(Value::Text);
        let notes = [&[Value::Null][..], &texts].concat();
        let order = |one: &Value<'_>, other: &Value<'_>| text_of(one).cmp(&text_of(other));
        sorts_as(&notes, |note| key(&[(&columns[4], *note)]), order);
    }

    #[test]
    fn several_columns_sort_by_their_first_difference() {
        let columns = columns();
        let short: Vec<_> = strings().into_iter().filter(|s| s.len() < 3).collect();
        let pairs: Vec<_> =
            short.iter().flat_map(|bytes| INTS.map(|int| (bytes.clone(), int))).collect();
        let pair = |(bytes, int): &(Vec<u8>, i64)| {
            key(&[(&columns[3], Value::Bytes(bytes)), (&columns[0], Value::Int(*int))])
        };
        sorts_as(&pairs, pair, Ord::cmp);
    }

    #[test]
    fn the_bytes_above_a_prefix_are_the_lowest_possible() {
        let strings = strings();
        for prefix in &strings {
            let mut end = [&[0, 7], prefix.as_slice()].concat();
            pass(&mut end);
            for string in &strings {
                let whole = [&[0, 7], string.as_slice()].concat();
                let inside = string >= prefix && whole < end;
                assert_eq!(inside, string.starts_with(prefix), "{string:?} in {prefix:?}");
            }
        }
    }

    #[test]
    fn a_misfitting_value_is_refused_with_its_columns_name() {
        let columns = columns();
        let cents = Value::Decimal(Decimal { units: 1, scale: 3 });
        for (column, value) in [(0, Value::Null), (0, Value::Float(1.0)), (2, cents)] {
            let refused = put(&mut Vec::new(), &columns[column], value).unwrap_err();
            assert!(refused.what.contains(&*columns[column].name), "{refused}");
        }
    }
}
