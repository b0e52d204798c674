//! Converts values from the contract to the engine and back; each crate has its own type.

use super::prepared::Columns;
use syncline_contract::{Decimal, Kind, Rows, Value};
use syncline_engine as engine;
use syncline_engine::Row;

/// The engine's kind for a column.
pub(super) fn kind_of(kind: Kind) -> engine::Kind {
    match kind {
        Kind::Int => engine::Kind::Int,
        Kind::Float => engine::Kind::Float,
        Kind::Decimal { scale } => engine::Kind::Decimal { scale },
        Kind::Text => engine::Kind::Text,
        Kind::Bytes => engine::Kind::Bytes,
        Kind::Timestamp => engine::Kind::Timestamp,
    }
}

/// Converts a value for the engine.
#[inline]
pub(super) fn to_engine(value: Value<'_>) -> engine::Value<'_> {
    match value {
        Value::Null => engine::Value::Null,
        Value::Int(int) => engine::Value::Int(int),
        Value::Float(float) => engine::Value::Float(float),
        Value::Decimal(Decimal { units, scale }) => {
            engine::Value::Decimal(engine::Decimal { units, scale })
        }
        Value::Text(text) => engine::Value::Text(text),
        Value::Bytes(bytes) => engine::Value::Bytes(bytes),
        Value::Timestamp(time_us) => engine::Value::Timestamp(time_us),
    }
}

/// Converts a value of the engine.
#[inline]
pub(super) fn from_engine(value: engine::Value<'_>) -> Value<'_> {
    match value {
        engine::Value::Null => Value::Null,
        engine::Value::Int(int) => Value::Int(int),
        engine::Value::Float(float) => Value::Float(float),
        engine::Value::Decimal(engine::Decimal { units, scale }) => {
            Value::Decimal(Decimal { units, scale })
        }
        engine::Value::Text(text) => Value::Text(text),
        engine::Value::Bytes(bytes) => Value::Bytes(bytes),
        engine::Value::Timestamp(time_us) => Value::Timestamp(time_us),
        engine::Value::Bool(_)
        | engine::Value::Unsigned(_)
        | engine::Value::Date(_)
        | engine::Value::Uuid(_) => {
            unreachable!("tables of the laboratory have columns of its own kinds only")
        }
    }
}

/// Adds the columns of a row to an answer.
#[inline]
pub(super) fn answer(rows: &mut Rows, row: Row<'_>, columns: &Columns) -> engine::Result<()> {
    if let Some(run) = columns.run
        && let Some(texts) = row.texts(run)?
    {
        rows.push_texts(texts.text(), texts.ends());
        return Ok(());
    }
    for column in &columns.list {
        rows.push(from_engine(row.value(*column)?));
    }
    Ok(())
}

/// Empties a list and changes the lifetime of its elements, keeping its memory: the values of one
/// operation are gone before those of the next exist, but their type names what they borrow from. The
/// standard library collects a list's own elements in place, so nothing is allocated.
#[inline]
pub(super) fn recycled<T, U>(mut list: Vec<T>) -> Vec<U> {
    list.clear();
    list.into_iter().map(|_| unreachable!("the list is empty")).collect()
}

#[cfg(test)]
mod tests {
    use super::{from_engine, recycled, to_engine};
    use syncline_contract::{Decimal, Value};

    #[test]
    fn every_value_survives_a_round_trip() {
        let decimal = Decimal { units: -5, scale: 3 };
        for value in [
            Value::Null,
            Value::Int(-1),
            Value::Float(0.5),
            Value::Decimal(decimal),
            Value::Text("text"),
            Value::Bytes(&[0, 255]),
            Value::Timestamp(7),
        ] {
            assert_eq!(from_engine(to_engine(value)), value);
        }
    }

    #[test]
    fn a_recycled_list_keeps_its_memory() {
        let mut list: Vec<Value<'static>> = Vec::with_capacity(64);
        list.push(Value::Int(1));
        let place = list.as_ptr();
        let text = "shorter lived".to_owned();
        let mut again: Vec<syncline_engine::Value<'_>> = recycled(list);
        assert!(again.is_empty() && again.capacity() >= 64);
        again.push(to_engine(Value::Text(&text)));
        let last: Vec<Value<'static>> = recycled(again);
        assert_eq!((last.as_ptr(), last.len()), (place, 0));
    }
}
