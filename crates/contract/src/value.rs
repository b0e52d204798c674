//! Values of columns and parameters.

use std::cmp::Ordering;

/// The kind of a column or parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A signed 64-bit integer.
    Int,
    /// A 64-bit floating point number.
    Float,
    /// An exact number: an integer of units of `10^-scale`.
    Decimal {
        /// Digits after the point.
        scale: u8,
    },
    /// UTF-8 text.
    Text,
    /// Bytes.
    Bytes,
    /// Microseconds since 1970-01-01 UTC.
    Timestamp,
}

/// An exact number: `units * 10^-scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// The number without its point.
    pub units: i64,
    /// Digits after the point.
    pub scale: u8,
}

/// One value, borrowed from the owner of its bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// SQL's null.
    Null,
    /// See [`Kind::Int`].
    Int(i64),
    /// See [`Kind::Float`].
    Float(f64),
    /// See [`Kind::Decimal`].
    Decimal(Decimal),
    /// See [`Kind::Text`].
    Text(&'a str),
    /// See [`Kind::Bytes`].
    Bytes(&'a [u8]),
    /// See [`Kind::Timestamp`].
    Timestamp(i64),
}

impl Value<'_> {
    /// Its kind; null has none.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Value::Null => None,
            Value::Int(_) => Some(Kind::Int),
            Value::Float(_) => Some(Kind::Float),
            Value::Decimal(decimal) => Some(Kind::Decimal { scale: decimal.scale }),
            Value::Text(_) => Some(Kind::Text),
            Value::Bytes(_) => Some(Kind::Bytes),
            Value::Timestamp(_) => Some(Kind::Timestamp),
        }
    }

    /// The order of two values of one column: null first, numbers by size, text by its bytes. Values of
    /// different kinds, which no column holds, are equal.
    pub fn order(&self, other: &Value<'_>) -> Ordering {
        match (*self, *other) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => Ordering::Less,
            (_, Value::Null) => Ordering::Greater,
            (Value::Int(one), Value::Int(other))
            | (Value::Timestamp(one), Value::Timestamp(other)) => one.cmp(&other),
            (Value::Float(one), Value::Float(other)) => one.total_cmp(&other),
            (Value::Decimal(one), Value::Decimal(other)) => one.units.cmp(&other.units),
            (Value::Text(one), Value::Text(other)) => one.cmp(other),
            (Value::Bytes(one), Value::Bytes(other)) => one.cmp(other),
            _ => Ordering::Equal,
        }
    }
}
