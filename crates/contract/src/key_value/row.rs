//! Encodes rows as values: all columns in order, read in place.
//!
//! | kind | bytes |
//! |---|---|
//! | int, timestamp, decimal (its units) | 1 to 10: zigzag, seven bits per byte, lowest first |
//! | float | 8, little-endian |
//! | text, bytes | length with seven bits per byte, then the bytes |
//! | column that may be null | prefixed by 1; null is a single 0 |
//!
//! The row includes the key columns: their bytes in the key sort, those in the row decode exactly.

use super::key::misfit;
use crate::outcome::Failure;
use crate::schema::{Column, ColumnId};
use crate::value::{Decimal, Kind, Value};

/// Appends the value of a column.
pub(super) fn put(row: &mut Vec<u8>, column: &Column, value: Value<'_>) -> Result<(), Failure> {
    if column.nullable {
        let is_null = value == Value::Null;
        row.push(u8::from(!is_null));
        if is_null {
            return Ok(());
        }
    }
    match (column.kind, value) {
        (Kind::Int, Value::Int(number)) | (Kind::Timestamp, Value::Timestamp(number)) => {
            put_number(row, number);
        }
        (Kind::Decimal { scale }, Value::Decimal(decimal)) if scale == decimal.scale => {
            put_number(row, decimal.units);
        }
        (Kind::Float, Value::Float(number)) => row.extend(number.to_le_bytes()),
        (Kind::Text, Value::Text(text)) => put_bytes(row, text.as_bytes()),
        (Kind::Bytes, Value::Bytes(bytes)) => put_bytes(row, bytes),
        _ => return Err(misfit(column, value)),
    }
    Ok(())
}

/// The offset of each column in one row, in reused memory.
#[derive(Debug, Default)]
pub(super) struct ColumnOffsets(Vec<usize>);

impl ColumnOffsets {
    /// Locates the columns of a row; none if the bytes are not a row of this table.
    pub(super) fn find(&mut self, columns: &[Column], row: &[u8]) -> Option<()> {
        self.0.clear();
        let mut rest = row;
        for column in columns {
            self.0.push(row.len() - rest.len());
            (_, rest) = take(column, rest)?;
        }
        self.0.push(row.len());
        rest.is_empty().then_some(())
    }

    /// The bytes of a column in the located row.
    pub(super) fn bytes<'r>(&self, column: usize, row: &'r [u8]) -> &'r [u8] {
        &row[self.0[column]..self.0[column + 1]]
    }

    /// The value of a column in the located row.
    pub(super) fn value<'r>(&self, columns: &[Column], id: ColumnId, row: &'r [u8]) -> Value<'r> {
        let taken = take(&columns[id.0], self.bytes(id.0, row));
        taken.expect("the row was validated by `find`").0
    }
}

/// The first value and the rest; none if the bytes do not begin with a value of this column.
fn take<'r>(column: &Column, bytes: &'r [u8]) -> Option<(Value<'r>, &'r [u8])> {
    let bytes = match (column.nullable, bytes.split_first()) {
        (false, _) => bytes,
        (true, Some((0, rest))) => return Some((Value::Null, rest)),
        (true, Some((1, rest))) => rest,
        (true, _) => return None,
    };
    Some(match column.kind {
        Kind::Int => {
            let (number, rest) = take_number(bytes)?;
            (Value::Int(number), rest)
        }
        Kind::Timestamp => {
            let (number, rest) = take_number(bytes)?;
            (Value::Timestamp(number), rest)
        }
        Kind::Decimal { scale } => {
            let (units, rest) = take_number(bytes)?;
            (Value::Decimal(Decimal { units, scale }), rest)
        }
        Kind::Float => {
            let (float, rest) = bytes.split_first_chunk()?;
            (Value::Float(f64::from_le_bytes(*float)), rest)
        }
        Kind::Text => {
            let (text, rest) = take_bytes(bytes)?;
            (Value::Text(str::from_utf8(text).ok()?), rest)
        }
        Kind::Bytes => {
            let (bytes, rest) = take_bytes(bytes)?;
            (Value::Bytes(bytes), rest)
        }
    })
}

fn put_number(row: &mut Vec<u8>, number: i64) {
    put_length(row, ((number << 1) ^ (number >> 63)) as u64);
}

fn take_number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (word, rest) = take_length(bytes)?;
    Some(((word >> 1) as i64 ^ -((word & 1) as i64), rest))
}

fn put_bytes(row: &mut Vec<u8>, bytes: &[u8]) {
    put_length(row, bytes.len() as u64);
    row.extend_from_slice(bytes);
}

fn take_bytes(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = take_length(bytes)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

fn put_length(row: &mut Vec<u8>, mut word: u64) {
    while word > 127 {
        row.push(word as u8 | 128);
        word >>= 7;
    }
    row.push(word as u8);
}

fn take_length(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut word = 0;
    for (index, byte) in bytes.iter().enumerate().take(10) {
        word |= u64::from(byte & 127) << (7 * index);
        if *byte < 128 {
            return Some((word, &bytes[index + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{ColumnOffsets, put};
    use crate::schema::{ColumnId, Table};
    use crate::value::{Decimal, Kind, Value};

    const INTS: [i64; 9] = [i64::MIN, -256, -64, -1, 0, 63, 64, 1 << 32, i64::MAX];

    fn table() -> Table {
        Table::new("t")
            .column("int", Kind::Int)
            .column("float", Kind::Float)
            .column("price", Kind::Decimal { scale: 2 })
            .text("name", 9)
            .bytes("blob", 9)
            .column("at", Kind::Timestamp)
            .nullable()
    }

    fn values(number: i64) -> [Value<'static>; 6] {
        let at = if number == 0 { Value::Null } else { Value::Timestamp(number) };
        [
            Value::Int(number),
            Value::Float(number as f64),
            Value::Decimal(Decimal { units: number, scale: 2 }),
            Value::Text("søk"),
            Value::Bytes(&[0, 255, 128]),
            at,
        ]
    }

    fn row(values: &[Value<'_>]) -> Vec<u8> {
        let mut row = Vec::new();
        for (column, value) in table().columns.iter().zip(values) {
            put(&mut row, column, *value).unwrap();
        }
        row
    }

    #[test]
    fn values_come_back_exactly() {
        let (columns, mut places) = (table().columns, ColumnOffsets::default());
        for number in INTS {
            let row = row(&values(number));
            places.find(&columns, &row).unwrap();
            for (index, expected) in values(number).into_iter().enumerate() {
                assert_eq!(places.value(&columns, ColumnId(index), &row), expected);
            }
        }
        let row = row(&values(-1));
        assert_eq!(row.len(), 1 + 8 + 1 + 5 + 4 + 2, "rows are compact");
    }

    #[test]
    fn invalid_rows_are_detected() {
        let (columns, mut places) = (table().columns, ColumnOffsets::default());
        let whole = row(&values(300));
        for end in 0..whole.len() {
            assert_eq!(places.find(&columns, &whole[..end]), None, "truncated at {end}");
        }
        let longer = [whole.as_slice(), &[0]].concat();
        assert_eq!(places.find(&columns, &longer), None);
        let text = Table::new("t").text("name", 9).columns;
        assert_eq!(places.find(&text, &[2, 0xff, 0xff]), None, "not UTF-8");
        assert_eq!(places.find(&text, &[0xff; 12]), None, "an endless length");
    }
}
