//! Encodes and decodes values: binary for the plan's own operations, text for a user's statements,
//! whose types only the server knows.

use super::types::{FLOAT4, FLOAT8, INT2, INT4, INT8, Oid};
use bytes::{BufMut, BytesMut};
use postgres_protocol::IsNull;
use std::error::Error;
use std::fmt::Write;
use syncline_contract::{Decimal, Kind, Rows, Value};

/// The codec's type for an error of a value.
pub(super) type Refused = Box<dyn Error + Sync + Send>;

/// Microseconds from 1970 to 2000, the epoch of the server's times.
const EPOCH_US: i64 = 946_684_800_000_000;
/// A digit of the server's decimals has four decimal places.
const BASE: u64 = 10_000;
const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;

/// Writes a value in binary, as its kind.
#[inline]
pub(super) fn binary(value: Value<'_>, out: &mut BytesMut) -> Result<IsNull, Refused> {
    match value {
        Value::Null => return Ok(IsNull::Yes),
        Value::Int(number) => out.put_i64(number),
        Value::Float(number) => out.put_f64(number),
        Value::Decimal(decimal) => numeric(decimal, out),
        Value::Text(text) => out.put_slice(text.as_bytes()),
        Value::Bytes(bytes) => out.put_slice(bytes),
        Value::Timestamp(us) => {
            let us = us.checked_sub(EPOCH_US);
            out.put_i64(us.ok_or("a time before the server's epoch")?);
        }
    }
    Ok(IsNull::No)
}

/// Writes a value as text, for a parameter whose type only the server knows.
pub(super) fn text(value: Value<'_>, out: &mut BytesMut) -> Result<IsNull, Refused> {
    match value {
        Value::Null => return Ok(IsNull::Yes),
        Value::Int(number) => write!(out, "{number}")?,
        Value::Float(number) => write!(out, "{number}")?,
        Value::Decimal(Decimal { units, scale }) => {
            let one = 10_u64.pow(scale.into());
            let (whole, rest) = (units.unsigned_abs() / one, units.unsigned_abs() % one);
            let sign = if units < 0 { "-" } else { "" };
            write!(out, "{sign}{whole}")?;
            if scale > 0 {
                write!(out, ".{rest:0width$}", width = scale.into())?;
            }
        }
        Value::Text(text) => out.put_slice(text.as_bytes()),
        Value::Bytes(bytes) => {
            out.put_slice(b"\\x");
            for byte in bytes {
                write!(out, "{byte:02x}")?;
            }
        }
        // In the form in which the server itself prints a timestamp.
        Value::Timestamp(us) => timestamp_text(us, out)?,
    }
    Ok(IsNull::No)
}

/// `YYYY-MM-DD HH:MM:SS.ffffff`, by the calendar of the civil days (Howard Hinnant's algorithm).
fn timestamp_text(us: i64, out: &mut BytesMut) -> std::fmt::Result {
    let (days, of_day) = (us.div_euclid(86_400_000_000), us.rem_euclid(86_400_000_000));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (seconds, us) = (of_day / 1_000_000, of_day % 1_000_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    write!(out, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{us:06}")
}

/// A decimal in the server's form: the number of digits in base 10,000, the weight of the first, the
/// sign, the number of decimal places, the digits.
fn numeric(decimal: Decimal, out: &mut BytesMut) {
    let scale = u32::from(decimal.scale);
    // The fraction is padded to whole digits.
    let fraction_digits = scale.div_ceil(4);
    let one = 10_u128.pow(scale);
    let units = u128::from(decimal.units.unsigned_abs());
    let fill = 10_u128.pow(fraction_digits * 4 - scale);
    let (mut whole, mut fraction) = (units / one, units % one * fill);
    // At most 5 digits of the whole and 64 of a fraction of 255 places; i64 has 19 places.
    let mut digits = [0_u16; 80];
    let mut first = digits.len();
    for _ in 0..fraction_digits {
        first -= 1;
        digits[first] = (fraction % u128::from(BASE)) as u16;
        fraction /= u128::from(BASE);
    }
    let mut whole_digits = 0;
    while whole > 0 {
        first -= 1;
        whole_digits += 1;
        digits[first] = (whole % u128::from(BASE)) as u16;
        whole /= u128::from(BASE);
    }
    let digits = &digits[first..];
    let sign = if decimal.units < 0 { NEGATIVE } else { POSITIVE };
    out.put_u16(digits.len() as u16);
    out.put_i16(whole_digits - 1);
    out.put_u16(sign);
    out.put_u16(decimal.scale.into());
    for digit in digits {
        out.put_u16(*digit);
    }
}

/// The units of a decimal in the server's form, at a given scale; `None` if it does not fit.
fn units_of(mut bytes: &[u8], scale: u8) -> Option<i64> {
    let mut next = || -> Option<u16> {
        let (two, rest) = bytes.split_first_chunk::<2>()?;
        bytes = rest;
        Some(u16::from_be_bytes(*two))
    };
    let (count, weight, sign, _places) = (next()?, next()? as i16, next()?, next()?);
    let negative = match sign {
        POSITIVE => false,
        NEGATIVE => true,
        // Not a number, or infinite.
        _ => return None,
    };
    let scale = i32::from(scale);
    let mut units: i128 = 0;
    for position in 0..i32::from(count) {
        let digit = i128::from(next()?);
        // The decimal places after this digit's last one.
        let exponent = (i32::from(weight) - position) * 4 + scale;
        let part = if exponent >= 0 {
            digit.checked_mul(10_i128.checked_pow(exponent as u32)?)?
        } else {
            let divisor = 10_i128.checked_pow(exponent.unsigned_abs())?;
            if digit % divisor != 0 {
                return None;
            }
            digit / divisor
        };
        units = units.checked_add(part)?;
    }
    i64::try_from(if negative { -units } else { units }).ok()
}

/// Adds a binary cell of that kind; false if the bytes do not encode one.
#[inline]
pub(super) fn push_binary(bytes: Option<&[u8]>, kind: Kind, rows: &mut Rows) -> bool {
    let Some(bytes) = bytes else {
        rows.push(Value::Null);
        return true;
    };
    let value = match kind {
        Kind::Int => integer(bytes).map(Value::Int),
        Kind::Float => bytes.try_into().ok().map(|bytes| Value::Float(f64::from_be_bytes(bytes))),
        Kind::Decimal { scale } => {
            units_of(bytes, scale).map(|units| Value::Decimal(Decimal { units, scale }))
        }
        Kind::Text => str::from_utf8(bytes).ok().map(Value::Text),
        Kind::Bytes => Some(Value::Bytes(bytes)),
        Kind::Timestamp => {
            integer(bytes).and_then(|us| us.checked_add(EPOCH_US)).map(Value::Timestamp)
        }
    };
    value.is_some_and(|value| {
        rows.push(value);
        true
    })
}

#[inline]
fn integer(bytes: &[u8]) -> Option<i64> {
    if let Ok(eight) = bytes.try_into() {
        return Some(i64::from_be_bytes(eight));
    }
    if let Ok(four) = bytes.try_into() {
        return Some(i32::from_be_bytes(four).into());
    }
    let two = bytes.try_into().ok()?;
    Some(i16::from_be_bytes(two).into())
}

/// Adds a text cell of a user's statement, of the type that the server describes; false if it is not
/// text.
pub(super) fn push_text(bytes: Option<&[u8]>, oid: Oid, rows: &mut Rows) -> bool {
    let Some(bytes) = bytes else {
        rows.push(Value::Null);
        return true;
    };
    let Ok(text) = str::from_utf8(bytes) else {
        return false;
    };
    let value = match oid {
        INT2 | INT4 | INT8 => text.parse().ok().map(Value::Int),
        FLOAT4 | FLOAT8 => text.parse().ok().map(Value::Float),
        // All other types as the server prints them: decimals exactly, bytes in hexadecimal.
        _ => Some(Value::Text(text)),
    };
    value.is_some_and(|value| {
        rows.push(value);
        true
    })
}

#[cfg(test)]
mod tests {
    use super::{binary, push_binary, text, units_of};
    use bytes::BytesMut;
    use syncline_contract::{Decimal, Kind, Rows, Value};

    fn round_trip(value: Value<'_>, kind: Kind) -> Rows {
        let mut out = BytesMut::new();
        binary(value, &mut out).unwrap();
        let mut rows = Rows::new(1);
        assert!(push_binary(Some(&out), kind, &mut rows), "{value:?}");
        rows
    }

    #[test]
    fn every_kind_survives_a_round_trip() {
        for (value, kind) in [
            (Value::Int(i64::MIN), Kind::Int),
            (Value::Float(-0.1), Kind::Float),
            (Value::Text("søk"), Kind::Text),
            (Value::Bytes(&[0, 255]), Kind::Bytes),
            (Value::Timestamp(0), Kind::Timestamp),
            (Value::Timestamp(1_700_000_000_123_456), Kind::Timestamp),
        ] {
            assert_eq!(round_trip(value, kind).row(0).value(0), value);
        }
        let mut rows = Rows::new(1);
        assert!(push_binary(None, Kind::Int, &mut rows));
        assert_eq!(rows.row(0).value(0), Value::Null);
    }

    #[test]
    fn decimals_survive_a_round_trip_at_any_scale_and_size() {
        let mut random = fastrand::Rng::with_seed(11);
        let mut units = vec![0, 1, -1, 9_999, 10_000, -10_001, i64::MAX, i64::MIN];
        units.extend((0..500).map(|_| random.i64(..) >> random.u32(0..64)));
        for units in units {
            for scale in [0, 1, 2, 4, 5, 9, 18] {
                let value = Value::Decimal(Decimal { units, scale });
                let back = round_trip(value, Kind::Decimal { scale });
                assert_eq!(back.row(0).value(0), value);
            }
        }
    }

    #[test]
    fn the_servers_own_bytes_of_a_decimal_are_read() {
        // 12345.678 as PostgreSQL 15 sends it: digits 1, 2345, 6780; weight 1; scale 3.
        let bytes = [0, 3, 0, 1, 0, 0, 0, 3, 0, 1, 0x09, 0x29, 0x1a, 0x7c];
        assert_eq!(units_of(&bytes, 3), Some(12_345_678));
        assert_eq!(units_of(&bytes, 2), None, "a place would be lost");
        let nan = [0, 0, 0, 0, 0xc0, 0, 0, 0];
        assert_eq!(units_of(&nan, 2), None);
        assert_eq!(units_of(&bytes[..9], 3), None);
    }

    #[test]
    fn texts_of_values_are_valid_literals_for_the_server() {
        for (value, expected) in [
            (Value::Int(-5), "-5"),
            (Value::Float(0.25), "0.25"),
            (Value::Decimal(Decimal { units: -1_205, scale: 2 }), "-12.05"),
            (Value::Decimal(Decimal { units: 7, scale: 0 }), "7"),
            (Value::Bytes(&[1, 255]), "\\x01ff"),
            (Value::Timestamp(0), "1970-01-01 00:00:00.000000"),
            (Value::Timestamp(951_782_400_000_001), "2000-02-29 00:00:00.000001"),
            (Value::Timestamp(-1), "1969-12-31 23:59:59.999999"),
        ] {
            let mut out = BytesMut::new();
            text(value, &mut out).unwrap();
            assert_eq!(str::from_utf8(&out).unwrap(), expected);
        }
    }
}
