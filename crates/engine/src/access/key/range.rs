//! Encodes complete keys, and ranges given by values of the leading columns.

use super::encode::{Unfit, push};
use crate::access::schema::{KeyShape, Schema, Value};
use crate::error::{Error, Result};
use std::ops::Bound;

/// A range of keys, given by values of the key's leading columns. A bound with fewer columns than the key
/// covers all keys that begin with it: an included bound includes them all, an excluded one none.
///
/// Bounds follow the order of the key: in a descending column the greater value is the lower bound.
///
/// ```
/// use syncline_engine::{KeyRange, Value};
///
/// let customer = [Value::Int(7)];
/// let all_of_one = KeyRange::prefix(&customer);
/// let from_on = KeyRange::from(&customer);
/// assert_eq!(all_of_one.lower, from_on.lower);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyRange<'v> {
    /// The lower bound.
    pub lower: Bound<&'v [Value<'v>]>,
    /// The upper bound.
    pub upper: Bound<&'v [Value<'v>]>,
}

impl<'v> KeyRange<'v> {
    /// The whole key space.
    pub const ALL: KeyRange<'static> =
        KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded };

    /// All keys that begin with these values; one key if they are all of its columns.
    pub fn prefix(values: &'v [Value<'v>]) -> KeyRange<'v> {
        KeyRange::between(values, values)
    }

    /// From these values on, included.
    pub fn from(lower: &'v [Value<'v>]) -> KeyRange<'v> {
        KeyRange { lower: Bound::Included(lower), upper: Bound::Unbounded }
    }

    /// From some values to others, both included.
    pub fn between(lower: &'v [Value<'v>], upper: &'v [Value<'v>]) -> KeyRange<'v> {
        KeyRange { lower: Bound::Included(lower), upper: Bound::Included(upper) }
    }
}

/// A range of encoded keys, in reused memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByteRange {
    /// The first key that may be in it; empty: from the beginning.
    pub(crate) lower: Vec<u8>,
    /// The first key after it, if `has_upper`.
    pub(crate) upper: Vec<u8>,
    /// False if it has no end.
    pub(crate) has_upper: bool,
}

impl ByteRange {
    /// Encodes a range of keys. Returns false if no key can be in it.
    pub(crate) fn set(
        &mut self,
        schema: &Schema,
        shape: &KeyShape,
        range: KeyRange<'_>,
    ) -> Result<bool> {
        self.lower.clear();
        self.upper.clear();
        let mut begins = true;
        match range.lower {
            Bound::Unbounded => {}
            Bound::Included(values) => {
                encode(schema, shape, values.iter().copied(), &mut self.lower)?;
            }
            Bound::Excluded(values) => {
                encode(schema, shape, values.iter().copied(), &mut self.lower)?;
                begins = after_prefix(&mut self.lower);
            }
        }
        self.has_upper = match range.upper {
            Bound::Unbounded => false,
            Bound::Included(values) => {
                encode(schema, shape, values.iter().copied(), &mut self.upper)?;
                after_prefix(&mut self.upper)
            }
            Bound::Excluded(values) => {
                encode(schema, shape, values.iter().copied(), &mut self.upper)?;
                true
            }
        };
        Ok(begins && (!self.has_upper || self.lower < self.upper))
    }

    /// The end, if there is one.
    pub(crate) fn upper(&self) -> Option<&[u8]> {
        self.has_upper.then_some(self.upper.as_slice())
    }
}

/// Appends the values of all or of the leading columns of a key to `out`.
///
/// # Errors
///
/// [`Error::WrongCount`] with more values than columns, [`Error::WrongKind`], [`Error::IsNull`].
pub(crate) fn encode<'v>(
    schema: &Schema,
    shape: &KeyShape,
    values: impl IntoIterator<Item = Value<'v>>,
    out: &mut Vec<u8>,
) -> Result<usize> {
    let mut count = 0;
    for value in values {
        let Some(part) = shape.parts.get(count) else {
            return Err(schema.wrong_count(shape.parts.len(), count + 1));
        };
        push(part, value, out).map_err(|unfit| schema.unfit(part.column, unfit, value))?;
        count += 1;
    }
    Ok(count)
}

/// Turns encoded leading columns into the least bytes above every key that begins with them. Returns false if
/// there are none: then the range has no end.
pub(crate) fn after_prefix(prefix: &mut Vec<u8>) -> bool {
    while let Some(last) = prefix.last_mut() {
        if *last < u8::MAX {
            *last += 1;
            return true;
        }
        prefix.pop();
    }
    false
}

/// Refuses a key that is too long.
#[inline]
pub(crate) fn check_length(object: &str, bytes: usize, bytes_max: usize) -> Result<()> {
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(Error::KeyTooLarge {
        object: object.to_owned(),
        bytes: bytes as u64,
        bytes_max: bytes_max as u64,
    })
}

impl Schema {
    /// The error for a wrong number of values.
    pub(crate) fn wrong_count(&self, expected: usize, found: usize) -> Error {
        Error::WrongCount { table: self.name().to_owned(), expected, found }
    }

    /// Fails if the table has no column at that position.
    #[inline]
    pub(crate) fn check_column(&self, column: usize) -> Result<()> {
        if column < self.columns().len() {
            return Ok(());
        }
        Err(Error::NoColumn {
            table: self.name().to_owned(),
            column,
            columns: self.columns().len(),
        })
    }

    /// The error for a value that its column cannot hold.
    pub(crate) fn unfit(&self, column: usize, unfit: Unfit, value: Value<'_>) -> Error {
        let table = self.name().to_owned();
        let about = &self.columns()[column];
        let column = about.name().to_owned();
        match (unfit, value.kind()) {
            (Unfit::Kind, Some(found)) => Error::WrongKind {
                table,
                column,
                expected: about.kind().to_string(),
                found: found.to_string(),
            },
            _ => Error::IsNull { table, column },
        }
    }

    /// The error for a column that was not read with the key.
    pub(crate) fn only_key(&self, column: usize) -> Error {
        Error::OnlyKey {
            table: self.name().to_owned(),
            column: self.columns()[column].name().to_owned(),
        }
    }

    /// The error for bytes that this engine did not write.
    pub(crate) fn damaged(&self, what: super::Malformed) -> Error {
        Error::DamagedRow { object: format!("table {}", self.name()), what: what.0 }
    }
}
