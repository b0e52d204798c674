//! A value that owns its text or bytes.

use crate::access::schema::value::{Decimal, Value};

/// One value that owns its text or bytes; [`Value`] borrows them.
///
/// ```
/// use syncline_engine::{OwnedValue, Value};
///
/// let name = OwnedValue::from(String::from("ada"));
/// assert_eq!(name.as_value(), Value::Text("ada"));
/// assert_eq!(OwnedValue::from(Value::Null), OwnedValue::Null);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum OwnedValue {
    /// No value.
    #[default]
    Null,
    /// See [`Kind::Int`](crate::Kind::Int).
    Int(i64),
    /// See [`Kind::Float`](crate::Kind::Float).
    Float(f64),
    /// See [`Kind::Decimal`](crate::Kind::Decimal).
    Decimal(Decimal),
    /// See [`Kind::Text`](crate::Kind::Text).
    Text(String),
    /// See [`Kind::Bytes`](crate::Kind::Bytes).
    Bytes(Vec<u8>),
    /// See [`Kind::Timestamp`](crate::Kind::Timestamp), in microseconds.
    Timestamp(i64),
    /// See [`Kind::Bool`](crate::Kind::Bool).
    Bool(bool),
    /// See [`Kind::Unsigned`](crate::Kind::Unsigned).
    Unsigned(u64),
    /// See [`Kind::Date`](crate::Kind::Date), in days.
    Date(i32),
    /// See [`Kind::Uuid`](crate::Kind::Uuid).
    Uuid([u8; 16]),
}

impl OwnedValue {
    /// The value, borrowed.
    pub fn as_value(&self) -> Value<'_> {
        match self {
            OwnedValue::Null => Value::Null,
            OwnedValue::Int(value) => Value::Int(*value),
            OwnedValue::Float(value) => Value::Float(*value),
            OwnedValue::Decimal(value) => Value::Decimal(*value),
            OwnedValue::Text(text) => Value::Text(text),
            OwnedValue::Bytes(bytes) => Value::Bytes(bytes),
            OwnedValue::Timestamp(time_us) => Value::Timestamp(*time_us),
            OwnedValue::Bool(value) => Value::Bool(*value),
            OwnedValue::Unsigned(value) => Value::Unsigned(*value),
            OwnedValue::Date(days) => Value::Date(*days),
            OwnedValue::Uuid(bytes) => Value::Uuid(bytes),
        }
    }
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> OwnedValue {
        match value {
            Value::Null => OwnedValue::Null,
            Value::Int(value) => OwnedValue::Int(value),
            Value::Float(value) => OwnedValue::Float(value),
            Value::Decimal(value) => OwnedValue::Decimal(value),
            Value::Text(text) => OwnedValue::Text(text.to_owned()),
            Value::Bytes(bytes) => OwnedValue::Bytes(bytes.to_owned()),
            Value::Timestamp(time_us) => OwnedValue::Timestamp(time_us),
            Value::Bool(value) => OwnedValue::Bool(value),
            Value::Unsigned(value) => OwnedValue::Unsigned(value),
            Value::Date(days) => OwnedValue::Date(days),
            Value::Uuid(bytes) => OwnedValue::Uuid(*bytes),
        }
    }
}

impl From<String> for OwnedValue {
    fn from(text: String) -> OwnedValue {
        OwnedValue::Text(text)
    }
}

impl From<Vec<u8>> for OwnedValue {
    fn from(bytes: Vec<u8>) -> OwnedValue {
        OwnedValue::Bytes(bytes)
    }
}

impl<'a> From<&'a OwnedValue> for Value<'a> {
    fn from(value: &'a OwnedValue) -> Value<'a> {
        value.as_value()
    }
}
