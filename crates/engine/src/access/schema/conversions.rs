//! Conversions between values and the types of Rust.
//!
//! Into a value: each type becomes the kind that holds all of its values. Back: the value must be of a kind
//! that the type is for, and within its range; null only becomes an `Option`.

use crate::access::schema::date::Date;
use crate::access::schema::owned_value::OwnedValue;
use crate::access::schema::uuid::Uuid;
use crate::access::schema::value::{Decimal, Kind, Value};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A type that a value can be read as; see [`Row::get`](crate::Row::get).
///
/// | type | from |
/// |---|---|
/// | `i8` to `i64`, `u8` to `u64`, `isize`, `usize` | an integer, signed or not, within its range; `i64` also from a timestamp, in microseconds |
/// | `bool` | a boolean |
/// | `f64` | a floating point number |
/// | [`Decimal`] | a decimal |
/// | `&str`, `String`, `Box<str>` | text |
/// | `&[u8]`, `Vec<u8>`, `Box<[u8]>` | bytes |
/// | `[u8; N]` | exactly `N` bytes |
/// | [`SystemTime`] | a timestamp |
/// | [`Date`] | a date |
/// | [`Uuid`] | a UUID |
/// | `Option<T>` | null, or what `T` is read from |
/// | [`Value`], [`OwnedValue`] | any value |
pub trait FromValue<'a>: Sized {
    /// The value as this type; none if it is not one.
    fn from_value(value: Value<'a>) -> Option<Self>;
}

macro_rules! integers {
    (into: $($into:ty),*; from: $($from:ty),*) => {
        $(
            impl From<$into> for Value<'_> {
                fn from(value: $into) -> Self {
                    Value::Int(i64::from(value))
                }
            }
        )*
        $(
            impl FromValue<'_> for $from {
                fn from_value(value: Value<'_>) -> Option<Self> {
                    match value {
                        Value::Int(value) => <$from>::try_from(value).ok(),
                        Value::Unsigned(value) => <$from>::try_from(value).ok(),
                        _ => None,
                    }
                }
            }
        )*
    };
}

integers! {
    into: i8, i16, i32, i64, u8, u16, u32;
    from: i8, i16, i32, isize, u8, u16, u32, u64, usize
}

impl FromValue<'_> for i64 {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Int(value) | Value::Timestamp(value) => Some(value),
            Value::Unsigned(value) => i64::try_from(value).ok(),
            _ => None,
        }
    }
}

impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Value::Unsigned(value)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl FromValue<'_> for bool {
    fn from_value(value: Value<'_>) -> Option<Self> {
        value.as_bool()
    }
}

impl From<Date> for Value<'_> {
    fn from(date: Date) -> Self {
        Value::Date(date.days())
    }
}

impl FromValue<'_> for Date {
    fn from_value(value: Value<'_>) -> Option<Self> {
        value.as_date().map(Date::from_days)
    }
}

impl<'a> From<&'a Uuid> for Value<'a> {
    fn from(uuid: &'a Uuid) -> Self {
        Value::Uuid(&uuid.0)
    }
}

impl FromValue<'_> for Uuid {
    fn from_value(value: Value<'_>) -> Option<Self> {
        value.as_uuid().map(|bytes| Uuid(*bytes))
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl From<f32> for Value<'_> {
    fn from(value: f32) -> Self {
        Value::Float(f64::from(value))
    }
}

impl FromValue<'_> for f64 {
    fn from_value(value: Value<'_>) -> Option<Self> {
        value.as_float()
    }
}

impl From<Decimal> for Value<'_> {
    fn from(value: Decimal) -> Self {
        Value::Decimal(value)
    }
}

impl FromValue<'_> for Decimal {
    fn from_value(value: Value<'_>) -> Option<Self> {
        value.as_decimal()
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Value::Text(text)
    }
}

impl<'a> FromValue<'a> for &'a str {
    fn from_value(value: Value<'a>) -> Option<Self> {
        value.as_text()
    }
}

impl FromValue<'_> for String {
    fn from_value(value: Value<'_>) -> Option<Self> {
        value.as_text().map(str::to_owned)
    }
}

impl FromValue<'_> for Box<str> {
    fn from_value(value: Value<'_>) -> Option<Self> {
        value.as_text().map(Box::from)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Value::Bytes(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Value<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Value::Bytes(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Value::Bytes(bytes)
    }
}

impl<'a> FromValue<'a> for &'a [u8] {
    fn from_value(value: Value<'a>) -> Option<Self> {
        value.as_bytes()
    }
}

impl FromValue<'_> for Vec<u8> {
    fn from_value(value: Value<'_>) -> Option<Self> {
        value.as_bytes().map(<[u8]>::to_vec)
    }
}

impl FromValue<'_> for Box<[u8]> {
    fn from_value(value: Value<'_>) -> Option<Self> {
        value.as_bytes().map(Box::from)
    }
}

impl<const N: usize> FromValue<'_> for [u8; N] {
    fn from_value(value: Value<'_>) -> Option<Self> {
        value.as_bytes()?.try_into().ok()
    }
}

/// A timestamp, in whole microseconds: what is between them is cut off towards the past. A time outside of
/// what a timestamp holds, some 292,000 years, becomes the first or last timestamp.
impl From<SystemTime> for Value<'_> {
    fn from(time: SystemTime) -> Self {
        let time_us = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
            Err(before) => {
                let before = before.duration().as_nanos().div_ceil(1_000);
                i64::try_from(before).map_or(i64::MIN, |before| -before)
            }
        };
        Value::Timestamp(time_us)
    }
}

impl FromValue<'_> for SystemTime {
    fn from_value(value: Value<'_>) -> Option<Self> {
        let time_us = value.as_timestamp()?;
        let distance = Duration::from_micros(time_us.unsigned_abs());
        if time_us < 0 {
            UNIX_EPOCH.checked_sub(distance)
        } else {
            UNIX_EPOCH.checked_add(distance)
        }
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, T::into)
    }
}

impl<'a, T: FromValue<'a>> FromValue<'a> for Option<T> {
    fn from_value(value: Value<'a>) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::from_value(value).map(Some) }
    }
}

impl<'a> FromValue<'a> for Value<'a> {
    fn from_value(value: Value<'a>) -> Option<Self> {
        Some(value)
    }
}

impl FromValue<'_> for OwnedValue {
    fn from_value(value: Value<'_>) -> Option<Self> {
        Some(OwnedValue::from(value))
    }
}

/// A type whose values can be passed as values of columns.
pub trait AsValue {
    /// The value, borrowed.
    fn as_value(&self) -> Value<'_>;
}

/// A type that has a kind of column: see [`Builder::column_of`](crate::Builder::column_of).
pub trait ColumnType: AsValue + for<'a> FromValue<'a> {
    /// The kind of the column.
    const KIND: Kind;
    /// True if the column may be null.
    const NULLABLE: bool = false;
}

macro_rules! columns {
    ($($kind:ident: $($of:ty),*;)*) => {
        $($(
            impl AsValue for $of {
                fn as_value(&self) -> Value<'_> {
                    columns!(@value $kind, self)
                }
            }

            impl ColumnType for $of {
                const KIND: Kind = Kind::$kind;
            }
        )*)*
    };
    (@value Text, $self:ident) => { Value::Text($self) };
    (@value Bytes, $self:ident) => { Value::Bytes($self) };
    (@value Uuid, $self:ident) => { Value::from($self) };
    (@value $kind:ident, $self:ident) => { Value::from(*$self) };
}

columns! {
    Int: i8, i16, i32, i64, u8, u16, u32;
    Float: f64;
    Text: String, Box<str>;
    Bytes: Vec<u8>, Box<[u8]>;
    Timestamp: SystemTime;
    Bool: bool;
    Unsigned: u64;
    Date: Date;
    Uuid: Uuid;
}

impl<const N: usize> AsValue for [u8; N] {
    fn as_value(&self) -> Value<'_> {
        Value::Bytes(self)
    }
}

impl<const N: usize> ColumnType for [u8; N] {
    const KIND: Kind = Kind::Bytes;
}

impl AsValue for Decimal {
    fn as_value(&self) -> Value<'_> {
        Value::Decimal(*self)
    }
}

impl<T: AsValue> AsValue for Option<T> {
    fn as_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, T::as_value)
    }
}

impl<T: ColumnType> ColumnType for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
}

/// The values of a row or key, each converted: `values![1, "ada", 100]` is a `&[Value<'_>; 3]`.
///
/// ```
/// use syncline_engine::{Value, values};
///
/// let owner = String::from("ada");
/// assert_eq!(values![1, &owner, None::<i64>], &[Value::Int(1), Value::Text("ada"), Value::Null]);
/// ```
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        &[$($crate::Value::from($value)),*]
    };
}
