//! Values: the contents of one column of one row.

use std::fmt;

/// The kind of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A signed 64-bit integer.
    Int,
    /// A 64-bit floating point number.
    Float,
    /// An exact number: a signed 64-bit count of units of `10^-scale`.
    Decimal {
        /// Digits after the point, at most 18.
        scale: u8,
    },
    /// UTF-8 text.
    Text,
    /// Bytes.
    Bytes,
    /// Microseconds since 1970-01-01 UTC.
    Timestamp,
}

impl Kind {
    /// True if every value takes eight bytes.
    pub(crate) fn is_fixed(self) -> bool {
        !matches!(self, Kind::Text | Kind::Bytes)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Int => f.write_str("an integer"),
            Kind::Float => f.write_str("a floating point number"),
            Kind::Decimal { scale } => write!(f, "a decimal of scale {scale}"),
            Kind::Text => f.write_str("text"),
            Kind::Bytes => f.write_str("bytes"),
            Kind::Timestamp => f.write_str("a timestamp"),
        }
    }
}

/// An exact number: `units * 10^-scale`. A column accepts only its own scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// The number without its point: 1234 is 12.34 at scale 2.
    pub units: i64,
    /// Digits after the point.
    pub scale: u8,
}

/// One value, borrowed.
///
/// ```
/// use syncline_engine::{Decimal, Kind, Value};
///
/// let price = Value::Decimal(Decimal { units: 1234, scale: 2 });
/// assert_eq!(price.kind(), Some(Kind::Decimal { scale: 2 }));
/// assert_eq!(Value::from("a name").as_text(), Some("a name"));
/// assert_eq!(Value::Null.kind(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value.
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
    /// See [`Kind::Timestamp`], in microseconds.
    Timestamp(i64),
}

impl<'a> Value<'a> {
    /// Its kind; null has none.
    pub fn kind(self) -> Option<Kind> {
        match self {
            Value::Null => None,
            Value::Int(_) => Some(Kind::Int),
            Value::Float(_) => Some(Kind::Float),
            Value::Decimal(Decimal { scale, .. }) => Some(Kind::Decimal { scale }),
            Value::Text(_) => Some(Kind::Text),
            Value::Bytes(_) => Some(Kind::Bytes),
            Value::Timestamp(_) => Some(Kind::Timestamp),
        }
    }

    /// True for null.
    pub fn is_null(self) -> bool {
        matches!(self, Value::Null)
    }

    /// The integer, if it is one.
    pub fn as_int(self) -> Option<i64> {
        if let Value::Int(value) = self { Some(value) } else { None }
    }

    /// The floating point number, if it is one.
    pub fn as_float(self) -> Option<f64> {
        if let Value::Float(value) = self { Some(value) } else { None }
    }

    /// The decimal, if it is one.
    pub fn as_decimal(self) -> Option<Decimal> {
        if let Value::Decimal(value) = self { Some(value) } else { None }
    }

    /// The text, if it is text.
    pub fn as_text(self) -> Option<&'a str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    /// The bytes, if it is bytes.
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        if let Value::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// The timestamp in microseconds, if it is one.
    pub fn as_timestamp(self) -> Option<i64> {
        if let Value::Timestamp(time_us) = self { Some(time_us) } else { None }
    }

    /// The eight bytes of a value of a fixed kind, as bits.
    #[inline]
    pub(crate) fn fixed_bits(self) -> Option<u64> {
        match self {
            Value::Int(value) | Value::Timestamp(value) => Some(value as u64),
            Value::Decimal(value) => Some(value.units as u64),
            Value::Float(value) => Some(value.to_bits()),
            Value::Null | Value::Text(_) | Value::Bytes(_) => None,
        }
    }

    /// The value of a fixed kind with those bits.
    #[inline]
    pub(crate) fn of_bits(kind: Kind, bits: u64) -> Value<'a> {
        match kind {
            Kind::Int => Value::Int(bits as i64),
            Kind::Float => Value::Float(f64::from_bits(bits)),
            Kind::Decimal { scale } => Value::Decimal(Decimal { units: bits as i64, scale }),
            Kind::Timestamp => Value::Timestamp(bits as i64),
            Kind::Text | Kind::Bytes => unreachable!("text and bytes are not of a fixed kind"),
        }
    }

    /// The bytes of a value of a variable kind.
    #[inline]
    pub(crate) fn variable_bytes(self) -> Option<&'a [u8]> {
        match self {
            Value::Text(text) => Some(text.as_bytes()),
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The value of a variable kind with those bytes; none if they should be text and are not UTF-8.
    #[inline]
    pub(crate) fn of_bytes(kind: Kind, bytes: &'a [u8]) -> Option<Value<'a>> {
        if kind == Kind::Text {
            str::from_utf8(bytes).ok().map(Value::Text)
        } else {
            Some(Value::Bytes(bytes))
        }
    }
}
