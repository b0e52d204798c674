//! Rows and keys as bytes.
//!
//! A row is its columns one after another: a tag, then the value; integers little endian, texts and
//! bytes with their length before them (4 bytes). A key is its columns one after another, so that the
//! order of the bytes is the order of the values: null before all else, integers big endian with the
//! sign turned, floats by their bits with sign and magnitude turned, texts and bytes ended by two
//! zeros, with zeros inside doubled by 255.

use syncline_contract::{Decimal, Rows, Value};

const NULL: u8 = 0;
const INT: u8 = 1;
const FLOAT: u8 = 2;
const DECIMAL: u8 = 3;
const TEXT: u8 = 4;
const BYTES: u8 = 5;
const TIMESTAMP: u8 = 6;

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

/// Appends all columns of a row.
pub(super) fn put_all(row: &mut Vec<u8>, values: &[Value<'_>]) {
    for value in values {
        put(row, *value);
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

/// One column of a row; null if the row has fewer.
pub(super) fn column(row: &[u8], index: usize) -> Value<'_> {
    Columns(row).nth(index).unwrap_or(Value::Null)
}

/// Adds the chosen columns of a row to an answer.
pub(super) fn answer(rows: &mut Rows, row: &[u8], columns: impl Iterator<Item = usize>) {
    for index in columns {
        rows.push(column(row, index));
    }
}

/// Appends a column of a key.
pub(super) fn put_key(key: &mut Vec<u8>, value: Value<'_>) {
    const SIGN: u64 = 1 << 63;
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

/// A key of these columns.
pub(super) fn key_of(values: &[Value<'_>]) -> Box<[u8]> {
    let mut key = Vec::with_capacity(9 * values.len());
    for value in values {
        put_key(&mut key, *value);
    }
    key.into()
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
    use super::{Columns, column, key_of, put_all};
    use syncline_contract::{Decimal, Value};

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
        let mut row = Vec::new();
        put_all(&mut row, &values);
        assert!(Columns(&row).eq(values));
        assert_eq!(column(&row, 4), Value::Text("søk\0"));
        assert_eq!(column(&row, 7), Value::Null);
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
        assert!(
            ordered
                .windows(2)
                .all(|pair| key_of(&pair[0]) < key_of(&pair[1]))
        );
        let texts = ["", "\0", "\0a", "a", "a\0", "a\0b", "aa", "b"];
        assert!(texts.windows(2).all(|pair| {
            let [low, high] = [pair[0], pair[1]].map(Value::Text);
            key_of(&[low, Value::Int(9)]) < key_of(&[high, Value::Int(0)])
        }));
        let floats = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-9, 2.0, f64::INFINITY];
        assert!(
            floats
                .windows(2)
                .all(|pair| key_of(&[Value::Float(pair[0])]) < key_of(&[Value::Float(pair[1])]))
        );
    }
}
