//! Encodes values as bytes of a key.

use crate::access::schema::{Kind, Part, Value};

/// Tag: null, before all values.
pub(super) const NULL_FIRST: u8 = 0;
/// Tag: a value follows.
pub(super) const PRESENT: u8 = 1;
/// Tag: null, after all values.
pub(super) const NULL_LAST: u8 = 2;
/// Ends text and bytes.
pub(super) const END: u8 = 0;
/// Begins the two bytes that encode a 0 or a 1.
pub(super) const ESCAPE: u8 = 1;
/// The sign bit of a number, which is inverted.
pub(super) const SIGN: u64 = 1 << 63;

/// Why a column cannot hold a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The value is of another kind.
    Kind,
    /// The value is null, but the column must not be.
    Null,
}

/// Appends a value to `out`.
#[inline]
pub(crate) fn push(part: &Part, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), Unfit> {
    // The most common kind of key column is inlined into the caller.
    if let (Kind::Int, Value::Int(value), false) = (part.kind, value, part.nullable) {
        push_fixed(part, value as u64 ^ SIGN, out);
        return Ok(());
    }
    push_any(part, value, out)
}

fn push_any(part: &Part, value: Value<'_>, out: &mut Vec<u8>) -> Result<(), Unfit> {
    if part.nullable {
        if value.is_null() {
            let byte = if part.nulls_first { NULL_FIRST } else { NULL_LAST };
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
        (Kind::Bool, Value::Bool(value)) => push_fixed(part, value.into(), out),
        (Kind::Unsigned, Value::Unsigned(value)) => push_fixed(part, value, out),
        (Kind::Date, Value::Date(days)) => push_fixed(part, i64::from(days) as u64 ^ SIGN, out),
        (Kind::Uuid, Value::Uuid(bytes)) => push_variable(part, bytes, out),
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
    if first_low(bytes).is_none() {
        out.extend_from_slice(bytes);
    } else {
        for byte in bytes {
            if *byte <= ESCAPE {
                out.push(ESCAPE);
            }
            // 0 becomes 1 and 1 becomes 2, each after the escape byte.
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

/// The position of the first end or escape byte; compares eight bytes at a time.
#[inline]
pub(super) fn first_low(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const TWOS: u64 = 2 * ONES;
    const HIGHS: u64 = 128 * ONES;
    let (words, rest) = bytes.as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The lowest remaining bit is in the first byte below two; bits above it may be wrong.
        let low = word.wrapping_sub(TWOS) & !word & HIGHS;
        if low != 0 {
            return Some(8 * place + low.trailing_zeros() as usize / 8);
        }
    }
    let first = rest.iter().position(|byte| *byte <= ESCAPE);
    first.map(|at| 8 * words.len() + at)
}

#[cfg(test)]
mod tests {
    use super::{ESCAPE, first_low};

    #[test]
    fn first_low_returns_the_first_low_byte_at_any_position() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..20_000 {
            let mut bytes: Vec<u8> = (0..random.usize(..40)).map(|_| random.u8(2..)).collect();
            assert_eq!(first_low(&bytes), None, "{bytes:?}");
            for _ in 0..random.usize(..3).min(bytes.len()) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..4);
            }
            let expected = bytes.iter().position(|byte| *byte <= ESCAPE);
            assert_eq!(first_low(&bytes), expected, "{bytes:?}");
        }
    }
}
