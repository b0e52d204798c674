//! Encodes and decodes values: parameters and rows in the binary form of prepared statements.
//!
//! | kind | column | parameter | bytes |
//! |---|---|---|---|
//! | int | `BIGINT` | `LONGLONG` | eight |
//! | float | `DOUBLE` | `DOUBLE` | eight |
//! | decimal | `DECIMAL(19, scale)` | `NEWDECIMAL` | text after its length |
//! | text | `VARCHAR`, `TEXT` | `VAR_STRING` | after their length |
//! | bytes | `VARBINARY`, `BLOB` | `BLOB` | after their length |
//! | timestamp | `DATETIME(6)`, in UTC | `DATETIME` | year to microsecond |
//!
//! A column of another type, which a user's statement may return, is decoded as the nearest kind. A
//! cell that the plan's kind cannot hold keeps its own kind, and the transaction refuses it.

use super::calendar_time::CalendarTime;
use super::packet::{Malformed, Reader, put_bytes};
use syncline_contract::{Decimal, Kind, Rows, Value};

/// The types of the protocol that this module uses.
pub(super) mod wire {
    pub(in crate::mysql) const TINY: u8 = 1;
    pub(in crate::mysql) const SHORT: u8 = 2;
    pub(in crate::mysql) const LONG: u8 = 3;
    pub(in crate::mysql) const FLOAT: u8 = 4;
    pub(in crate::mysql) const DOUBLE: u8 = 5;
    pub(in crate::mysql) const NULL: u8 = 6;
    pub(in crate::mysql) const TIMESTAMP: u8 = 7;
    pub(in crate::mysql) const LONGLONG: u8 = 8;
    pub(in crate::mysql) const INT24: u8 = 9;
    pub(in crate::mysql) const DATE: u8 = 10;
    pub(in crate::mysql) const TIME: u8 = 11;
    pub(in crate::mysql) const DATETIME: u8 = 12;
    pub(in crate::mysql) const YEAR: u8 = 13;
    pub(in crate::mysql) const OLD_DECIMAL: u8 = 0;
    pub(in crate::mysql) const NEWDECIMAL: u8 = 246;
    pub(in crate::mysql) const BLOB: u8 = 252;
    pub(in crate::mysql) const VAR_STRING: u8 = 253;
}

/// The character set of binary bytes.
const BINARY: u16 = 63;
/// The flag of an unsigned column.
const UNSIGNED: u16 = 0x20;
/// The length of the fixed part at the end of a description, in bytes.
const FIXED: usize = 12;

/// A column of an answer, as the server describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    wire: u8,
    unsigned: bool,
    binary: bool,
    /// Digits after the decimal point; more than 30 if it has none.
    digits: u8,
}

impl Column {
    /// Decodes the packet of a description.
    #[inline]
    pub(super) fn read(payload: &[u8]) -> Result<Column, Malformed> {
        let at = payload
            .len()
            .checked_sub(FIXED)
            .ok_or(Malformed("an invalid description of a column"))?;
        let mut reader = Reader::new(&payload[at..]);
        let charset = reader.u16()?;
        reader.u32()?;
        let wire = reader.u8()?;
        let flags = reader.u16()?;
        Ok(Column {
            wire,
            unsigned: flags & UNSIGNED != 0,
            binary: charset == BINARY,
            digits: reader.u8()?,
        })
    }

    /// The name of a column, from the packet of its description.
    pub(super) fn name(payload: &[u8]) -> Result<String, Malformed> {
        let mut reader = Reader::new(payload);
        for _ in 0..4 {
            reader.bytes()?;
        }
        Ok(String::from_utf8_lossy(reader.bytes()?).into_owned())
    }
}

/// The type with which a value is sent; null is valid with any.
#[inline]
pub(super) fn wire_type(value: &Value<'_>) -> u8 {
    match value {
        Value::Null => wire::NULL,
        Value::Int(_) => wire::LONGLONG,
        Value::Float(_) => wire::DOUBLE,
        Value::Decimal(_) => wire::NEWDECIMAL,
        Value::Text(_) => wire::VAR_STRING,
        Value::Bytes(_) => wire::BLOB,
        Value::Timestamp(_) => wire::DATETIME,
    }
}

/// The type with which values of a kind are sent.
pub(super) fn wire_type_of(kind: Kind) -> u8 {
    match kind {
        Kind::Int => wire::LONGLONG,
        Kind::Float => wire::DOUBLE,
        Kind::Decimal { .. } => wire::NEWDECIMAL,
        Kind::Text => wire::VAR_STRING,
        Kind::Bytes => wire::BLOB,
        Kind::Timestamp => wire::DATETIME,
    }
}

/// Appends a value; null appends nothing. Returns `false` and appends nothing for a timestamp outside
/// the years 0 to 9999.
#[inline]
pub(super) fn put(out: &mut Vec<u8>, value: &Value<'_>) -> bool {
    match *value {
        Value::Null => {}
        Value::Int(number) => out.extend_from_slice(&number.to_le_bytes()),
        Value::Float(number) => out.extend_from_slice(&number.to_le_bytes()),
        Value::Decimal(decimal) => {
            let mut buffer = [0; DECIMAL_MAX];
            put_bytes(out, decimal_text(decimal, &mut buffer));
        }
        Value::Text(text) => put_bytes(out, text.as_bytes()),
        Value::Bytes(bytes) => put_bytes(out, bytes),
        Value::Timestamp(micros) => {
            let Some(moment) = CalendarTime::of(micros) else {
                return false;
            };
            out.push(11);
            out.extend_from_slice(&moment.year.to_le_bytes());
            let CalendarTime { month, day, hour, minute, second, .. } = moment;
            out.extend_from_slice(&[month, day, hour, minute, second]);
            out.extend_from_slice(&moment.micros.to_le_bytes());
        }
    }
    true
}

/// A sign, twenty digits, a point and 255 zeros.
const DECIMAL_MAX: usize = 280;

/// A decimal as text, at the end of the buffer.
fn decimal_text(Decimal { units, scale }: Decimal, buffer: &mut [u8; DECIMAL_MAX]) -> &[u8] {
    let (mut left, scale) = (units.unsigned_abs(), usize::from(scale));
    let (mut at, mut digits) = (DECIMAL_MAX, 0);
    let mut push = |byte| {
        at -= 1;
        buffer[at] = byte;
        at
    };
    while left > 0 || digits <= scale {
        if digits == scale && scale > 0 {
            push(b'.');
        }
        push(b'0' + (left % 10) as u8);
        left /= 10;
        digits += 1;
    }
    let start = if units < 0 { push(b'-') } else { at };
    &buffer[start..]
}

/// Parses a number in units of `10^-scale`; `None` if it is malformed, too large, or has more nonzero
/// decimal places than `scale`.
fn units_of(text: &[u8], scale: u8) -> Option<i64> {
    let (negative, text) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text),
    };
    let (mut units, mut places, mut point) = (0_i64, 0, false);
    for byte in text {
        match byte {
            b'.' if !point => point = true,
            b'0' if point && places == scale => {}
            b'0'..=b'9' if !(point && places == scale) => {
                let digit = i64::from(byte - b'0');
                // Counts down, since the least number has no positive counterpart.
                units = units.checked_mul(10)?.checked_sub(digit)?;
                places += u8::from(point);
            }
            _ => return None,
        }
    }
    for _ in places..scale {
        units = units.checked_mul(10)?;
    }
    if negative { Some(units) } else { units.checked_neg() }
}

/// Adds a row of a prepared statement's answer; `kinds` are those of the plan, or empty.
#[inline]
pub(super) fn push_row(
    payload: &[u8],
    columns: &[Column],
    kinds: &[Kind],
    rows: &mut Rows,
) -> Result<(), Malformed> {
    let mut reader = Reader::new(payload);
    reader.take(1)?;
    // The first two bits of the bitmap are not used.
    let nulls = reader.take((columns.len() + 9) / 8)?;
    if !kinds.is_empty() && kinds.len() != columns.len() {
        return Err(Malformed("columns that differ from those of the plan"));
    }
    for (position, column) in columns.iter().enumerate() {
        let bit = position + 2;
        if nulls[bit / 8] & (1 << (bit % 8)) != 0 {
            rows.push(Value::Null);
        } else {
            push_cell(&mut reader, *column, kinds.get(position).copied(), rows)?;
        }
    }
    Ok(())
}

#[inline]
fn push_cell(
    reader: &mut Reader<'_>,
    column: Column,
    kind: Option<Kind>,
    rows: &mut Rows,
) -> Result<(), Malformed> {
    match column.wire {
        wire::LONGLONG => {
            let number = reader.u64()?;
            if column.unsigned && number > i64::MAX as u64 {
                rows.push(Value::Text(&number.to_string()));
            } else {
                rows.push(integer(number as i64, kind));
            }
        }
        wire::LONG | wire::INT24 => {
            let number = reader.u32()?;
            let signed = i64::from(number as i32);
            let number = if column.unsigned { i64::from(number) } else { signed };
            rows.push(integer(number, kind));
        }
        wire::SHORT | wire::YEAR => {
            let number = reader.u16()?;
            let signed = i64::from(number as i16);
            let number = if column.unsigned { i64::from(number) } else { signed };
            rows.push(integer(number, kind));
        }
        wire::TINY => {
            let number = reader.u8()?;
            let signed = i64::from(number as i8);
            let number = if column.unsigned { i64::from(number) } else { signed };
            rows.push(integer(number, kind));
        }
        wire::DOUBLE => rows.push(Value::Float(f64::from_bits(reader.u64()?))),
        wire::FLOAT => rows.push(Value::Float(f64::from(f32::from_bits(reader.u32()?)))),
        wire::NEWDECIMAL | wire::OLD_DECIMAL => {
            push_decimal(reader.bytes()?, column.digits, kind, rows)?;
        }
        wire::DATE | wire::DATETIME | wire::TIMESTAMP => {
            let length = usize::from(reader.u8()?);
            let moment = CalendarTime::read(reader.take(length)?)?;
            rows.push(Value::Timestamp(moment.micros()));
        }
        wire::TIME => {
            let length = usize::from(reader.u8()?);
            push_time(reader.take(length)?, rows)?;
        }
        wire::NULL => rows.push(Value::Null),
        _ => {
            let bytes = reader.bytes()?;
            let text = (!column.binary).then(|| str::from_utf8(bytes).ok()).flatten();
            rows.push(text.map_or(Value::Bytes(bytes), Value::Text));
        }
    }
    Ok(())
}

#[inline]
fn integer(number: i64, kind: Option<Kind>) -> Value<'static> {
    match kind {
        Some(Kind::Decimal { scale: 0 }) => Value::Decimal(Decimal { units: number, scale: 0 }),
        _ => Value::Int(number),
    }
}

/// Adds a decimal as the plan's kind: sums of integers are decimals in MySQL.
fn push_decimal(
    text: &[u8],
    digits: u8,
    kind: Option<Kind>,
    rows: &mut Rows,
) -> Result<(), Malformed> {
    let scale = match kind {
        Some(Kind::Decimal { scale }) => scale,
        Some(Kind::Int) => 0,
        _ => digits,
    };
    let as_text = || str::from_utf8(text).map_err(|_not| Malformed("a decimal that is not a text"));
    match (units_of(text, scale), kind) {
        (Some(units), Some(Kind::Int)) => rows.push(Value::Int(units)),
        (_, Some(Kind::Float)) => {
            let number = as_text()?.parse();
            rows.push(Value::Float(
                number.map_err(|_not| Malformed("a decimal that is not a number"))?,
            ));
        }
        (Some(units), _) => rows.push(Value::Decimal(Decimal { units, scale })),
        (None, _) => rows.push(Value::Text(as_text()?)),
    }
    Ok(())
}

/// Adds a duration, as the server prints it.
#[cold]
fn push_time(bytes: &[u8], rows: &mut Rows) -> Result<(), Malformed> {
    let mut whole = [0; 12];
    let there = whole.get_mut(..bytes.len());
    there.ok_or(Malformed("a time that is too long"))?.copy_from_slice(bytes);
    let [negative, d0, d1, d2, d3, hours, minutes, seconds, micros @ ..] = whole;
    let hours = u64::from(u32::from_le_bytes([d0, d1, d2, d3])) * 24 + u64::from(hours);
    let sign = if negative == 0 { "" } else { "-" };
    let mut text = format!("{sign}{hours:02}:{minutes:02}:{seconds:02}");
    match u32::from_le_bytes(micros) {
        0 => {}
        micros => text.push_str(&format!(".{micros:06}")),
    }
    rows.push(Value::Text(&text));
    Ok(())
}

/// Adds a row of a query's answer: every cell as text, or as bytes if it is not UTF-8.
pub(super) fn push_text_row(
    payload: &[u8],
    width: usize,
    rows: &mut Rows,
) -> Result<(), Malformed> {
    let mut reader = Reader::new(payload);
    for _ in 0..width {
        match reader.nullable_bytes()? {
            None => rows.push(Value::Null),
            Some(bytes) => {
                rows.push(str::from_utf8(bytes).map_or(Value::Bytes(bytes), Value::Text));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Column, DECIMAL_MAX, decimal_text, push_row, put, units_of, wire, wire_type};
    use crate::mysql::calendar_time::MICROS_OF_DAY;
    use syncline_contract::{Decimal, Kind, Rows, Value};

    fn column(wire: u8) -> Column {
        Column { wire, unsigned: false, binary: wire == wire::BLOB, digits: 2 }
    }

    /// Encodes and decodes a row of one cell.
    fn round_trip(value: Value<'_>, kind: Kind) -> Rows {
        let mut payload = vec![0, 0];
        assert!(put(&mut payload, &value));
        let mut rows = Rows::new(1);
        push_row(&payload, &[column(wire_type(&value))], &[kind], &mut rows).unwrap();
        rows
    }

    #[test]
    fn values_survive_a_round_trip() {
        let decimal = |units| Value::Decimal(Decimal { units, scale: 2 });
        for (value, kind) in [
            (Value::Int(i64::MIN), Kind::Int),
            (Value::Int(i64::MAX), Kind::Int),
            (Value::Float(-0.5), Kind::Float),
            (decimal(0), Kind::Decimal { scale: 2 }),
            (decimal(-1), Kind::Decimal { scale: 2 }),
            (decimal(i64::MIN), Kind::Decimal { scale: 2 }),
            (decimal(i64::MAX), Kind::Decimal { scale: 2 }),
            (Value::Text("søk"), Kind::Text),
            (Value::Bytes(&[0, 255]), Kind::Bytes),
            (Value::Timestamp(0), Kind::Timestamp),
            (Value::Timestamp(-1), Kind::Timestamp),
            (Value::Timestamp(4_102_444_800_000_001), Kind::Timestamp),
            (Value::Timestamp(1_735_689_600_123_456), Kind::Timestamp),
        ] {
            assert_eq!(round_trip(value, kind).row(0).value(0), value);
        }
        assert!(!put(&mut Vec::new(), &Value::Timestamp(i64::MIN)));
    }

    #[test]
    fn decimals_are_written_with_their_point() {
        for (units, scale, text) in [
            (0, 0, "0"),
            (7, 2, "0.07"),
            (-1234, 2, "-12.34"),
            (i64::MIN, 0, "-9223372036854775808"),
        ] {
            let mut buffer = [0; DECIMAL_MAX];
            let written = decimal_text(Decimal { units, scale }, &mut buffer);
            assert_eq!(written, text.as_bytes());
            assert_eq!(units_of(text.as_bytes(), scale), Some(units));
        }
        for (text, scale, units) in [
            ("12", 2, Some(1200)),
            ("1.5000", 1, Some(15)),
            ("1.55", 1, None),
            ("1e5", 1, None),
            ("99999999999999999999", 0, None),
        ] {
            assert_eq!(units_of(text.as_bytes(), scale), units, "{text}");
        }
    }

    #[test]
    fn sums_of_integers_are_integers_and_small_columns_keep_their_sign() {
        let mut rows = Rows::new(2);
        let payload = [0, 0, 2, b'1', b'2', 0xFE];
        let columns = [column(wire::NEWDECIMAL), column(wire::TINY)];
        push_row(&payload, &columns, &[Kind::Int, Kind::Int], &mut rows).unwrap();
        let got: Vec<_> = rows.row(0).values().collect();
        assert_eq!(got, [Value::Int(12), Value::Int(-2)]);
    }

    #[test]
    fn cells_of_a_users_statement_are_decoded_by_their_columns() {
        let mut rows = Rows::new(5);
        let unsigned = Column { unsigned: true, ..column(wire::LONGLONG) };
        let columns = [
            unsigned,
            column(wire::DATE),
            column(wire::TIME),
            column(wire::NEWDECIMAL),
            column(wire::VAR_STRING),
        ];
        let mut payload = vec![0, 0b100_0000];
        payload.extend_from_slice(&u64::MAX.to_le_bytes());
        payload.extend_from_slice(&[4, 0xB2, 0x07, 1, 2]);
        payload.extend_from_slice(&[8, 1, 1, 0, 0, 0, 2, 3, 4]);
        payload.extend_from_slice(&[4, b'1', b'.', b'2', b'5']);
        push_row(&payload, &columns, &[], &mut rows).unwrap();
        let got: Vec<_> = rows.row(0).values().collect();
        let quarter = Decimal { units: 125, scale: 2 };
        let expected = [
            Value::Text("18446744073709551615"),
            Value::Timestamp(MICROS_OF_DAY),
            Value::Text("-26:03:04"),
            Value::Decimal(quarter),
            Value::Null,
        ];
        assert_eq!(got, expected);
    }

    #[test]
    fn a_truncated_row_is_malformed() {
        let mut rows = Rows::new(1);
        let mut payload = vec![0, 0];
        assert!(put(&mut payload, &Value::Text("name")));
        for length in 0..payload.len() {
            let taken = push_row(&payload[..length], &[column(wire::VAR_STRING)], &[], &mut rows);
            assert!(taken.is_err(), "truncated to {length}");
        }
    }
}
