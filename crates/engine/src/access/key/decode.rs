//! Decodes keys.
//!
//! Text and bytes cannot be borrowed directly from a key: they may contain escapes, and may be inverted. So a
//! key is *unfolded* once, after which any of its values can be borrowed. The unfolded form holds for each
//! non-null text or bytes column its end in the key (u32), its length (u32), and its plain bytes. It is empty
//! for keys of fixed columns.

use super::encode::{END, ESCAPE, NULL_FIRST, NULL_LAST, PRESENT, SIGN, first_low, ordered};
use crate::access::schema::{KeyShape, Kind, Part, Value};

/// Why bytes cannot be decoded: this engine did not write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

const SHORT: Malformed = Malformed("a key ends too early");

/// A key after unfolding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyView<'a> {
    pub(crate) shape: &'a KeyShape,
    pub(crate) bytes: &'a [u8],
    pub(crate) plain: &'a [u8],
}

impl<'a> KeyView<'a> {
    /// The value of the key's column at `position`.
    #[inline]
    pub(crate) fn value(&self, position: usize) -> Result<Value<'a>, Malformed> {
        if self.shape.is_plain {
            let bytes = self.bytes.get(8 * position..).ok_or(SHORT)?;
            return fixed(&self.shape.parts[position], bytes);
        }
        self.value_behind_others(position)
    }

    fn value_behind_others(&self, position: usize) -> Result<Value<'a>, Malformed> {
        let mut bytes = self.bytes;
        let mut plain = self.plain;
        for part in &self.shape.parts[..position] {
            let Some(rest) = past_tag(part, bytes)? else {
                bytes = &bytes[1..];
                continue;
            };
            if part.kind.is_fixed() {
                bytes = rest.get(8..).ok_or(SHORT)?;
            } else {
                let (end, _, rest) = next_plain(plain)?;
                bytes = self.bytes.get(end..).ok_or(SHORT)?;
                plain = rest;
            }
        }
        let part = &self.shape.parts[position];
        let Some(rest) = past_tag(part, bytes)? else {
            return Ok(Value::Null);
        };
        if part.kind.is_fixed() {
            return fixed(part, rest);
        }
        let (_, bytes, _) = next_plain(plain)?;
        Value::of_bytes(part.kind, bytes).ok_or(Malformed("text in a key is not UTF-8"))
    }
}

/// Unfolds the columns of a key into `plain`, which is cleared first. Returns their length in bytes; later
/// bytes are ignored.
#[inline]
pub(crate) fn unfold(
    shape: &KeyShape,
    bytes: &[u8],
    plain: &mut Vec<u8>,
) -> Result<usize, Malformed> {
    plain.clear();
    if shape.is_plain {
        return plain_bytes(shape, bytes);
    }
    unfold_parts(shape, bytes, plain)
}

/// The length of the columns of a plain key, in bytes.
#[inline]
fn plain_bytes(shape: &KeyShape, bytes: &[u8]) -> Result<usize, Malformed> {
    let length = 8 * shape.parts.len();
    if bytes.len() < length {
        return Err(SHORT);
    }
    Ok(length)
}

fn unfold_parts(shape: &KeyShape, bytes: &[u8], plain: &mut Vec<u8>) -> Result<usize, Malformed> {
    let mut at = 0;
    for part in &shape.parts {
        let rest = &bytes[at..];
        let Some(value) = past_tag(part, rest)? else {
            at += 1;
            continue;
        };
        at += rest.len() - value.len();
        if part.kind.is_fixed() {
            fixed(part, value)?;
            at += 8;
        } else {
            at += unescape(part, value, at, plain)?;
        }
    }
    Ok(at)
}

/// The length of the columns at the beginning of a key, in bytes.
pub(crate) fn skip(shape: &KeyShape, bytes: &[u8]) -> Result<usize, Malformed> {
    if shape.is_plain {
        return plain_bytes(shape, bytes);
    }
    let mut at = 0;
    for part in &shape.parts {
        let rest = &bytes[at..];
        let Some(value) = past_tag(part, rest)? else {
            at += 1;
            continue;
        };
        at += rest.len() - value.len();
        at += if part.kind.is_fixed() {
            if value.len() < 8 {
                return Err(SHORT);
            }
            8
        } else {
            let end = if part.descending { !END } else { END };
            let found = value.iter().position(|byte| *byte == end);
            found.ok_or(SHORT)? + 1
        };
    }
    Ok(at)
}

/// The bytes after the tag for null; none if the column is null.
#[inline]
fn past_tag<'a>(part: &Part, bytes: &'a [u8]) -> Result<Option<&'a [u8]>, Malformed> {
    if !part.nullable {
        return Ok(Some(bytes));
    }
    let null = if part.nulls_first { NULL_FIRST } else { NULL_LAST };
    match bytes.split_first() {
        None => Err(SHORT),
        Some((tag, rest)) if *tag == PRESENT => Ok(Some(rest)),
        Some((tag, _)) if *tag == null => Ok(None),
        Some(_) => Err(Malformed("a key column begins with a wrong byte")),
    }
}

#[inline]
fn fixed<'a>(part: &Part, bytes: &[u8]) -> Result<Value<'a>, Malformed> {
    let bits = u64::from_be_bytes(*bytes.first_chunk().ok_or(SHORT)?);
    let bits = if part.descending { !bits } else { bits };
    match part.kind {
        Kind::Float => {}
        Kind::Unsigned => return Ok(Value::Unsigned(bits)),
        Kind::Bool | Kind::Date => return narrow(part.kind, bits),
        kind => return Ok(Value::of_bits(kind, bits ^ SIGN)),
    }
    let value = f64::from_bits(if bits & SIGN == 0 { !bits } else { bits ^ SIGN });
    if ordered(value) == bits {
        Ok(Value::Float(value))
    } else {
        Err(Malformed("a number in a key is not normalized"))
    }
}

/// A value of a kind that does not use all of its bits.
fn narrow<'a>(kind: Kind, bits: u64) -> Result<Value<'a>, Malformed> {
    let bits = if kind == Kind::Date { bits ^ SIGN } else { bits };
    let value = Value::of_bits(kind, bits);
    if value.fixed_bits() == Some(bits) {
        Ok(value)
    } else {
        Err(Malformed("a key holds no value of its column's kind"))
    }
}

/// The end in the key, the plain bytes, and the rest.
fn next_plain(plain: &[u8]) -> Result<(usize, &[u8], &[u8]), Malformed> {
    const LACKS: Malformed = Malformed("a key was not unfolded");
    let (end, rest) = plain.split_first_chunk().ok_or(LACKS)?;
    let (length, rest) = rest.split_first_chunk().ok_or(LACKS)?;
    let length = u32::from_le_bytes(*length) as usize;
    let (bytes, rest) = rest.split_at_checked(length).ok_or(LACKS)?;
    Ok((u32::from_le_bytes(*end) as usize, bytes, rest))
}

/// Adds one column to the unfolded form; `at` is where its value begins in the key. Returns the length of the
/// value there.
fn unescape(part: &Part, value: &[u8], at: usize, plain: &mut Vec<u8>) -> Result<usize, Malformed> {
    let head = plain.len();
    plain.extend_from_slice(&[0; 8]);
    // Most values have no escapes and are not inverted: they are copied at once.
    if !part.descending
        && let Some(end) = first_low(value)
        && value[end] == END
    {
        plain.extend_from_slice(&value[..end]);
        return Ok(close(plain, head, at, end));
    }
    let mask = if part.descending { 0xff } else { 0 };
    let end = value.iter().position(|byte| byte ^ mask == END).ok_or(SHORT)?;
    let mut escaped = false;
    for byte in &value[..end] {
        let byte = byte ^ mask;
        if escaped {
            if byte > 2 {
                return Err(Malformed("a key holds a wrong escape"));
            }
            plain.push(byte - 1);
            escaped = false;
        } else if byte == ESCAPE {
            escaped = true;
        } else {
            plain.push(byte);
        }
    }
    if escaped {
        return Err(Malformed("a key ends within an escape"));
    }
    Ok(close(plain, head, at, end))
}

/// Writes the head before the plain bytes of a column whose value ends at `end`. Returns the length of the
/// value in the key.
#[inline]
fn close(plain: &mut [u8], head: usize, at: usize, end: usize) -> usize {
    let length = (plain.len() - head - 8) as u32;
    let past = (at + end + 1) as u32;
    plain[head..head + 4].copy_from_slice(&past.to_le_bytes());
    plain[head + 4..head + 8].copy_from_slice(&length.to_le_bytes());
    end + 1
}
