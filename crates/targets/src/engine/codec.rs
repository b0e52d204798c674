//! Rows and keys as bytes.
//!
//! A row is its columns one after another: a tag, then the value; integers little endian, texts and
//! bytes with their length before them (4 bytes). A key is its columns one after another, so that the
//! order of the bytes is the order of the values: null before all else, integers big endian with the
//! sign turned, floats by their bits with sign and magnitude turned, texts and bytes ended by two
//! zeros, with zeros inside doubled by 255.

use super::key::Key;
use super::table::Row;
use syncline_contract::{Decimal, Rows, Value};

const NULL: u8 = 0;
const INT: u8 = 1;
const FLOAT: u8 = 2;
const DECIMAL: u8 = 3;
const TEXT: u8 = 4;
const BYTES: u8 = 5;
const TIMESTAMP: u8 = 6;

/// The highest bit, which says that an integer is negative.
const SIGN: u64 = 1 << 63;

/// Appends a column of a row.
pub(super) fn put(row: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Null => row.push(NULL),
        Value::Int(int) => number(row, INT, int.to_le_bytes()),
        Value::Float(float) => number(row, FLOAT, float.to_bits().to_le_bytes()),
        Value::Timestamp(time) => number(row, TIMESTAMP, time.to_le_bytes()),
        Value::Decimal(decimal) => {
            number(row, DECIMAL, decimal.units.to_le_bytes());
            row.push(decimal.scale);
        }
        Value::Text(text) => string(row, TEXT, text.as_bytes()),
        Value::Bytes(bytes) => string(row, BYTES, bytes),
    }
}

/// A row of these columns, in exactly the memory that it needs.
pub(super) fn row_of<'v>(values: impl Iterator<Item = Value<'v>> + Clone) -> Row {
    let mut row = Vec::with_capacity(values.clone().map(bytes_of).sum());
    for value in values {
        put(&mut row, value);
    }
    row.into()
}

/// How many bytes [`put`] appends.
fn bytes_of(value: Value<'_>) -> usize {
    match value {
        Value::Null => 1,
        Value::Int(_) | Value::Float(_) | Value::Timestamp(_) => 1 + 8,
        Value::Decimal(_) => 1 + 8 + 1,
        Value::Text(text) => 1 + 4 + text.len(),
        Value::Bytes(bytes) => 1 + 4 + bytes.len(),
    }
}

fn number(row: &mut Vec<u8>, tag: u8, bytes: [u8; 8]) {
    row.push(tag);
    row.extend_from_slice(&bytes);
}

fn string(row: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    row.push(tag);
    row.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    row.extend_from_slice(bytes);
}

/// The columns of a row that [`put`] wrote; ends early where the bytes are none.
#[derive(Clone, Debug)]
pub(super) struct Columns<'a>(pub(super) &'a [u8]);

impl<'a> Columns<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn take_string(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(self.take()?);
        let (taken, rest) = self.0.split_at_checked(length as usize)?;
        self.0 = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Columns<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let [tag] = self.take()?;
        Some(match tag {
            NULL => Value::Null,
            INT => Value::Int(i64::from_le_bytes(self.take()?)),
            FLOAT => Value::Float(f64::from_bits(u64::from_le_bytes(self.take()?))),
            TIMESTAMP => Value::Timestamp(i64::from_le_bytes(self.take()?)),
            DECIMAL => Value::Decimal(Decimal {
                units: i64::from_le_bytes(self.take()?),
                scale: u8::from_le_bytes(self.take()?),
            }),
            TEXT => Value::Text(str::from_utf8(self.take_string()?).ok()?),
            BYTES => Value::Bytes(self.take_string()?),
            _ => return None,
        })
    }
}

/// Adds the chosen columns of a row to an answer; null where the row has fewer. Columns that are
/// chosen in their order are found in one walk.
pub(super) fn answer(rows: &mut Rows, row: &[u8], columns: &[usize]) {
    let (mut rest, mut at) = (Columns(row), 0);
    for &column in columns {
        if column < at {
            (rest, at) = (Columns(row), 0);
        }
        rows.push(rest.nth(column - at).unwrap_or(Value::Null));
        at = column + 1;
    }
}

/// Appends a column of a key.
pub(super) fn put_key(key: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Null => key.push(0),
        Value::Int(int) | Value::Timestamp(int) => ordered(key, int.cast_unsigned() ^ SIGN),
        Value::Decimal(decimal) => ordered(key, decimal.units.cast_unsigned() ^ SIGN),
        Value::Float(float) => {
            let bits = float.to_bits();
            ordered(key, if bits & SIGN == 0 { bits ^ SIGN } else { !bits });
        }
        Value::Text(text) => escaped(key, text.as_bytes()),
        Value::Bytes(bytes) => escaped(key, bytes),
    }
}

/// A key of these columns; `bytes` is memory to be used again.
#[inline]
pub(super) fn key_of<'v>(bytes: &mut Vec<u8>, values: impl Iterator<Item = Value<'v>>) -> Key {
    bytes.clear();
    for value in values {
        put_key(bytes, value);
    }
    Key::new(bytes)
}

/// The key of one integer column, such as that of a row which the store numbers.
#[inline]
pub(super) fn numbered_key(number: i64) -> Key {
    let mut bytes = [1; 9];
    bytes[1..].copy_from_slice(&(number.cast_unsigned() ^ SIGN).to_be_bytes());
    Key::new(&bytes)
}

/// The number of a key that [`numbered_key`] gave: it stands behind the tag.
pub(super) fn given_key(key: &Key) -> i64 {
    let bits = (key.head() << 8 >> 64) as u64;
    (bits ^ SIGN).cast_signed()
}

fn ordered(key: &mut Vec<u8>, bits: u64) {
    key.push(1);
    key.extend_from_slice(&bits.to_be_bytes());
}

fn escaped(key: &mut Vec<u8>, bytes: &[u8]) {
    key.push(1);
    for &byte in bytes {
        key.push(byte);
        if byte == 0 {
            key.push(255);
        }
    }
    key.extend_from_slice(&[0, 0]);
}

#[cfg(test)]
mod tests {
    use super::{Columns, answer, given_key, key_of, numbered_key, row_of};
    use crate::engine::key::Key;
    use syncline_contract::{Decimal, Rows, Value};

    fn key(values: &[Value<'_>]) -> Key {
        key_of(&mut Vec::new(), values.iter().copied())
    }

    #[test]
    fn rows_read_back_and_cut_ones_end_early() {
        let values = [
            Value::Null,
            Value::Int(i64::MIN),
            Value::Float(-0.25),
            Value::Decimal(Decimal {
                units: -5,
                scale: 2,
            }),
            Value::Text("søk\0"),
            Value::Bytes(&[0, 255]),
            Value::Timestamp(7),
        ];
        let row = row_of(values.iter().copied());
        assert!(Columns(&row).eq(values));
        let columns = [4, 6, 6, 0, 7, 1];
        let mut rows = Rows::new(columns.len());
        answer(&mut rows, &row, &columns);
        assert!(rows.row(0).values().eq([
            Value::Text("søk\0"),
            Value::Timestamp(7),
            Value::Timestamp(7),
            Value::Null,
            Value::Null,
            Value::Int(i64::MIN),
        ]));
        for length in 0..row.len() {
            assert!(Columns(&row[..length]).count() < values.len());
        }
    }

    #[test]
    fn keys_are_ordered_as_their_values_are() {
        let ordered = [
            vec![Value::Null],
            vec![Value::Int(i64::MIN), Value::Int(5)],
            vec![Value::Int(-2), Value::Int(5)],
            vec![Value::Int(-1), Value::Int(-9)],
            vec![Value::Int(0), Value::Int(i64::MAX)],
            vec![Value::Int(i64::MAX), Value::Int(0)],
        ];
        assert!(ordered.windows(2).all(|pair| key(&pair[0]) < key(&pair[1])));
        let texts = ["", "\0", "\0a", "a", "a\0", "a\0b", "aa", "b"];
        assert!(texts.windows(2).all(|pair| {
            let [low, high] = [pair[0], pair[1]].map(Value::Text);
            key(&[low, Value::Int(9)]) < key(&[high, Value::Int(0)])
        }));
        let floats = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-9, 2.0, f64::INFINITY];
        assert!(
            floats
                .windows(2)
                .all(|pair| key(&[Value::Float(pair[0])]) < key(&[Value::Float(pair[1])]))
        );
    }

    #[test]
    fn a_key_that_the_store_gives_is_that_of_its_integer() {
        for number in [0, 1, 255, 256, i64::MAX, -1, i64::MIN] {
            assert_eq!(numbered_key(number), key(&[Value::Int(number)]));
            assert_eq!(given_key(&numbered_key(number)), number);
        }
    }
}
