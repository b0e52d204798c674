//! From a value to its bytes in a key.

use crate::access::schema::{Kind, Part, Value};

/// Null comes first.
pub(super) const NULL_FIRST: u8 = 0;
/// A value follows.
pub(super) const PRESENT: u8 = 1;
/// Null comes last.
pub(super) const NULL_LAST: u8 = 2;
/// Ends text and bytes.
pub(super) const END: u8 = 0;
/// Begins the two bytes that stand for a 0 or a 1.
pub(super) const ESCAPE: u8 = 1;
/// The sign of a number, and what it is turned over by.
pub(super) const SIGN: u64 = 1 << 63;

/// Why a value cannot stand in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// It is of another kind.
    Kind,
    /// It is null, and the column is never null.
    Null,
}

/// Writes a value behind `out`.
#[inline]
pub(crate) fn push(part: &Part, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), Unfit> {
    // What most key columns are stands where it is called.
    if let (Kind::Int, Value::Int(value), false) = (part.kind, value, part.nullable) {
        push_fixed(part, value as u64 ^ SIGN, out);
        return Ok(());
    }
    push_any(part, value, out)
}

fn push_any(part: &Part, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), Unfit> {
    if part.nullable {
        if value.is_null() {
            let byte = if part.nulls_first {
                NULL_FIRST
            } else {
                NULL_LAST
            };
            out.push(byte);
            return Ok(());
        }
        out.push(PRESENT);
    }
    match (part.kind, value) {
        (Kind::Int, Value::Int(value)) | (Kind::Timestamp, Value::Timestamp(value)) => {
            push_fixed(part, value as u64 ^ SIGN, out);
        }
        (Kind::Decimal { scale }, Value::Decimal(value)) if value.scale == scale => {
            push_fixed(part, value.units as u64 ^ SIGN, out);
        }
        (Kind::Float, Value::Float(value)) => push_fixed(part, ordered(value), out),
        (Kind::Text, Value::Text(text)) => push_variable(part, text.as_bytes(), out),
        (Kind::Bytes, Value::Bytes(bytes)) => push_variable(part, bytes, out),
        (_, Value::Null) => return Err(Unfit::Null),
        _ => return Err(Unfit::Kind),
    }
    Ok(())
}

/// Bits that compare as the numbers do; see the module's invariants 1 and 2.
pub(super) fn ordered(value: f64) -> u64 {
    let bits = if value.is_nan() {
        f64::NAN.to_bits() & !SIGN
    } else if value == 0.0 {
        0
    } else {
        value.to_bits()
    };
    if bits & SIGN == 0 { bits ^ SIGN } else { !bits }
}

#[inline]
fn push_fixed(part: &Part, bits: u64, out: &mut Vec<u8>) {
    let bits = if part.descending { !bits } else { bits };
    out.extend_from_slice(&bits.to_be_bytes());
}

fn push_variable(part: &Part, bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    if bytes.iter().all(|byte| *byte > ESCAPE) {
        out.extend_from_slice(bytes);
    } else {
        for byte in bytes {
            if *byte <= ESCAPE {
                out.push(ESCAPE);
            }
            // 0 becomes 1 and 1 becomes 2; both then follow the byte that announces them.
            out.push(byte + u8::from(*byte <= ESCAPE));
        }
    }
    out.push(END);
    if part.descending {
        for byte in &mut out[start..] {
            *byte = !*byte;
        }
    }
}
