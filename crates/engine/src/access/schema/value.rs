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
    /// True or false; false comes first.
    Bool,
    /// An unsigned 64-bit integer.
    Unsigned,
    /// A day: days since 1970-01-01 in the Gregorian calendar; see [`Date`](crate::Date).
    Date,
    /// Sixteen bytes, ordered byte by byte; see [`Uuid`](crate::Uuid).
    Uuid,
}

impl Kind {
    /// True if every value takes eight bytes.
    pub(crate) fn is_fixed(self) -> bool {
        !matches!(self, Kind::Text | Kind::Bytes | Kind::Uuid)
    }

    /// True if something can be added to its values.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Kind::Int | Kind::Float | Kind::Decimal { .. } | Kind::Timestamp)
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
            Kind::Bool => f.write_str("a boolean"),
            Kind::Unsigned => f.write_str("an unsigned integer"),
            Kind::Date => f.write_str("a date"),
            Kind::Uuid => f.write_str("a UUID"),
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
    /// See [`Kind::Bool`].
    Bool(bool),
    /// See [`Kind::Unsigned`].
    Unsigned(u64),
    /// See [`Kind::Date`], in days.
    Date(i32),
    /// See [`Kind::Uuid`].
    Uuid(&'a [u8; 16]),
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
            Value::Bool(_) => Some(Kind::Bool),
            Value::Unsigned(_) => Some(Kind::Unsigned),
            Value::Date(_) => Some(Kind::Date),
            Value::Uuid(_) => Some(Kind::Uuid),
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

    /// The boolean, if it is one.
    pub fn as_bool(self) -> Option<bool> {
        if let Value::Bool(value) = self { Some(value) } else { None }
    }

    /// The unsigned integer, if it is one.
    pub fn as_unsigned(self) -> Option<u64> {
        if let Value::Unsigned(value) = self { Some(value) } else { None }
    }

    /// The date in days since 1970-01-01, if it is one.
    pub fn as_date(self) -> Option<i32> {
        if let Value::Date(days) = self { Some(days) } else { None }
    }

    /// The bytes of the UUID, if it is one.
    pub fn as_uuid(self) -> Option<&'a [u8; 16]> {
        if let Value::Uuid(bytes) = self { Some(bytes) } else { None }
    }

    /// The eight bytes of a value of a fixed kind, as bits.
    #[inline]
    pub(crate) fn fixed_bits(self) -> Option<u64> {
        match self {
            Value::Int(value) | Value::Timestamp(value) => Some(value as u64),
            Value::Decimal(value) => Some(value.units as u64),
            Value::Float(value) => Some(value.to_bits()),
            Value::Bool(value) => Some(value.into()),
            Value::Unsigned(value) => Some(value),
            Value::Date(days) => Some(i64::from(days) as u64),
            Value::Null | Value::Text(_) | Value::Bytes(_) | Value::Uuid(_) => None,
        }
    }

    /// The value of a fixed kind with those bits. Bits that no value of the kind has, which only damage can
    /// leave, become another value: `fixed_bits` then returns other bits.
    #[inline]
    pub(crate) fn of_bits(kind: Kind, bits: u64) -> Value<'a> {
        match kind {
            Kind::Int => Value::Int(bits as i64),
            Kind::Float => Value::Float(f64::from_bits(bits)),
            Kind::Decimal { scale } => Value::Decimal(Decimal { units: bits as i64, scale }),
            Kind::Timestamp => Value::Timestamp(bits as i64),
            Kind::Bool => Value::Bool(bits != 0),
            Kind::Unsigned => Value::Unsigned(bits),
            Kind::Date => Value::Date(bits as i32),
            Kind::Text | Kind::Bytes | Kind::Uuid => {
                unreachable!("text, bytes and UUIDs are not of a fixed kind")
            }
        }
    }

    /// The bytes of a value of a variable kind.
    #[inline]
    pub(crate) fn variable_bytes(self) -> Option<&'a [u8]> {
        match self {
            Value::Text(text) => Some(text.as_bytes()),
            Value::Bytes(bytes) => Some(bytes),
            Value::Uuid(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The value of a variable kind with those bytes; none if they should be text and are not UTF-8, or a
    /// UUID and are not sixteen.
    #[inline]
    pub(crate) fn of_bytes(kind: Kind, bytes: &'a [u8]) -> Option<Value<'a>> {
        match kind {
            Kind::Text => str::from_utf8(bytes).ok().map(Value::Text),
            Kind::Uuid => bytes.try_into().ok().map(Value::Uuid),
            _ => Some(Value::Bytes(bytes)),
        }
    }
}
