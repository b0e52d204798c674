//! Reads the values of events and constants by their types.

use super::bytes::{Bytes, ParseError, Text};
use super::metadata::{Classes, Field, Plain};

/// The maximum depth of nested values: real ones have a depth of four.
const DEPTH: usize = 12;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Whole(i64),
    Float(f64),
    Text(String),
    /// The constant with this type and number.
    Constant(i64, i64),
    /// The fields of a type, in order.
    Object(i64, Vec<Value>),
    Many(Vec<Value>),
}

/// Reads a value of a type.
pub(super) fn read(
    classes: &Classes,
    class: i64,
    bytes: &mut Bytes<'_>,
    depth: usize,
) -> Result<Value, ParseError> {
    if depth > DEPTH {
        return Err("values are nested too deeply".to_owned());
    }
    let found = classes.get(&class).ok_or_else(|| format!("there is no type {class}"))?;
    let Some(plain) = found.plain else {
        // Otherwise a few types could nest without consuming bytes of the file.
        if found.fields.is_empty() && depth > 0 {
            return Err(format!("{} is nested in another type and has no fields", found.name));
        }
        let mut values = Vec::with_capacity(found.fields.len());
        for field in &found.fields {
            values.push(read_field(classes, field, bytes, depth)?);
        }
        return Ok(Value::Object(class, values));
    };
    Ok(match plain {
        Plain::Boolean | Plain::Byte => Value::Whole(i64::from(bytes.byte()?)),
        Plain::Short | Plain::Char => Value::Whole(bytes.short()?),
        Plain::Int => Value::Whole(bytes.int()?),
        Plain::Long => Value::Whole(bytes.long()?),
        Plain::Float => Value::Float(f64::from(bytes.float()?)),
        Plain::Double => Value::Float(bytes.double()?),
        Plain::Text => match bytes.text()? {
            Text::Null => Value::Null,
            Text::Here(text) => Value::Text(text),
            Text::Constant(number) => Value::Constant(class, number),
        },
    })
}

fn read_field(
    classes: &Classes,
    field: &Field,
    bytes: &mut Bytes<'_>,
    depth: usize,
) -> Result<Value, ParseError> {
    let one = |bytes: &mut Bytes<'_>| {
        if field.constant {
            return Ok(Value::Constant(field.class, bytes.long()?));
        }
        read(classes, field.class, bytes, depth + 1)
    };
    if !field.many {
        return one(bytes);
    }
    let count = bytes.count()?;
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(one(bytes)?);
    }
    Ok(Value::Many(values))
}
