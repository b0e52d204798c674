//! Converts values: parameters for Java, and cells from Java.
//!
//! | kind | Java |
//! |---|---|
//! | int | `long` |
//! | float | `double` |
//! | decimal | `BigDecimal` of the column's scale |
//! | text, bytes | `String`, `byte[]` |
//! | timestamp | `java.sql.Timestamp`; the JVM's time zone is UTC, so nothing is shifted |
//!
//! A text that repeats as the same parameter is not converted again: Java strings are immutable, so the
//! earlier object is reused. Byte arrays are mutable, and a store in this process may keep the passed
//! array as its row, so each is created anew.

use super::jvm::{Java, Local, Methods, Shared, Thrown, given};
use jni::sys::jvalue;
use std::collections::VecDeque;
use syncline_contract::{Decimal, Kind, Rows, Value};

/// SQL's type numbers, for nulls.
fn type_number(kind: Kind) -> i32 {
    match kind {
        Kind::Int => -5,           // BIGINT
        Kind::Float => 8,          // DOUBLE
        Kind::Decimal { .. } => 3, // DECIMAL
        Kind::Text => 12,          // VARCHAR
        Kind::Bytes => -3,         // VARBINARY
        Kind::Timestamp => 93,     // TIMESTAMP
    }
}

/// How many texts of one parameter are cached, and after how many misses the cache is abandoned because
/// texts do not repeat.
const TEXTS: usize = 32;
const MISSES_MAX: u32 = 256;

/// The recent texts of one parameter, as Java objects.
#[derive(Debug, Default)]
pub(super) struct Texts {
    kept: VecDeque<(String, Shared)>,
    misses: u32,
}

impl Texts {
    /// Sets a text as parameter `place` of a statement.
    fn set_parameter(
        &mut self,
        java: &mut Java,
        methods: &Methods,
        statement: &Shared,
        place: jvalue,
        text: &str,
    ) -> Result<(), Thrown> {
        let set = &methods.prepared_set_string;
        if let Some((_, kept)) = self.kept.iter().find(|(kept, _)| kept == text) {
            self.misses = 0;
            return java.call::<()>(statement, set, &[place, given(kept)]);
        }
        let made = java.text(text)?;
        java.call::<()>(statement, set, &[place, given(&made)])?;
        if self.misses < MISSES_MAX {
            self.misses += 1;
            if self.kept.len() == TEXTS {
                self.kept.pop_front();
            }
            self.kept.push_back((text.to_owned(), java.share(&made)?));
        } else {
            self.kept.clear();
        }
        Ok(())
    }
}

/// Sets a value as parameter `place`, from 1, of a statement.
#[inline]
pub(super) fn set_parameter(
    java: &mut Java,
    methods: &Methods,
    statement: &Shared,
    place: i32,
    kind: Kind,
    value: Value<'_>,
    texts: &mut Texts,
) -> Result<(), Thrown> {
    let place = jvalue { i: place };
    match value {
        Value::Null => {
            let number = jvalue { i: type_number(kind) };
            java.call::<()>(statement, &methods.prepared_set_null, &[place, number])
        }
        Value::Int(number) => {
            let number = jvalue { j: number };
            java.call::<()>(statement, &methods.prepared_set_long, &[place, number])
        }
        Value::Float(number) => {
            let number = jvalue { d: number };
            java.call::<()>(statement, &methods.prepared_set_double, &[place, number])
        }
        Value::Text(text) => texts.set_parameter(java, methods, statement, place, text),
        Value::Bytes(bytes) => {
            let bytes = java.bytes(bytes)?;
            let set = &methods.prepared_set_bytes;
            java.call::<()>(statement, set, &[place, given(&bytes)])
        }
        Value::Decimal(Decimal { units, scale }) => {
            let (units, scale) = (jvalue { j: units }, jvalue { i: i32::from(scale) });
            let decimal = java.of_class(&methods.decimal_of, &[units, scale])?;
            let set = &methods.prepared_set_decimal;
            java.call::<()>(statement, set, &[place, given(&decimal)])
        }
        Value::Timestamp(micros) => {
            let millis = jvalue { j: micros.div_euclid(1_000) };
            let time = java.make(&methods.timestamp_new, &[millis])?;
            let nanos = jvalue { i: (micros.rem_euclid(1_000_000) * 1_000) as i32 };
            java.call::<()>(&time, &methods.timestamp_set_nanos, &[nanos])?;
            let set = &methods.prepared_set_timestamp;
            java.call::<()>(statement, set, &[place, given(&time)])
        }
    }
}

/// Memory for reading cells, reused.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    text: String,
    bytes: Vec<u8>,
}

/// Reads column `place`, from 1, of the current row of a result, and appends it to some rows.
#[inline]
pub(super) fn take(
    java: &mut Java,
    methods: &Methods,
    result: &Local,
    place: i32,
    (kind, nullable): (Kind, bool),
    scratch: &mut Scratch,
    into: &mut Rows,
) -> Result<(), Thrown> {
    let place = [jvalue { i: place }];
    let was_null = |java: &mut Java| -> Result<bool, Thrown> {
        Ok(nullable && java.call::<bool>(result, &methods.result_was_null, &[])?)
    };
    let value = match kind {
        Kind::Int => {
            let number = java.call::<i64>(result, &methods.result_long, &place)?;
            if was_null(java)? { Value::Null } else { Value::Int(number) }
        }
        Kind::Float => {
            let number = java.call::<f64>(result, &methods.result_double, &place)?;
            if was_null(java)? { Value::Null } else { Value::Float(number) }
        }
        Kind::Text => {
            let text = java.call::<Local>(result, &methods.result_string, &place)?;
            if text.is_null() {
                Value::Null
            } else {
                java.read_text(&text, &mut scratch.text)?;
                Value::Text(&scratch.text)
            }
        }
        Kind::Bytes => {
            let bytes = java.call::<Local>(result, &methods.result_bytes, &place)?;
            if bytes.is_null() {
                Value::Null
            } else {
                java.read_bytes(&bytes, &mut scratch.bytes)?;
                Value::Bytes(&scratch.bytes)
            }
        }
        Kind::Decimal { scale } => {
            let decimal = java.call::<Local>(result, &methods.result_decimal, &place)?;
            if decimal.is_null() {
                Value::Null
            } else {
                // Exact: a value that does not fit the scale, or 64 bits, throws.
                let digits = [jvalue { i: i32::from(scale) }];
                let scaled = java.call::<Local>(&decimal, &methods.decimal_scaled, &digits)?;
                let units = java.call::<Local>(&scaled, &methods.decimal_units, &[])?;
                let units = java.call::<i64>(&units, &methods.integer_long, &[])?;
                Value::Decimal(Decimal { units, scale })
            }
        }
        Kind::Timestamp => {
            let time = java.call::<Local>(result, &methods.result_timestamp, &place)?;
            if time.is_null() {
                Value::Null
            } else {
                let millis = java.call::<i64>(&time, &methods.timestamp_millis, &[])?;
                let nanos = java.call::<i32>(&time, &methods.timestamp_nanos, &[])?;
                let seconds = millis.div_euclid(1_000);
                Value::Timestamp(seconds * 1_000_000 + i64::from(nanos) / 1_000)
            }
        }
    };
    into.push(value);
    Ok(())
}
