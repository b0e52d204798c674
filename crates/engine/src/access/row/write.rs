//! Encodes a row from its values.

use super::raw::{WIDE, set_end};
use crate::access::key::{self, Unfit};
use crate::access::schema::{ColumnSlot, Schema, Value};
use crate::error::Result;

/// Appends the key and the row of `values`, one for each column in order, to `key` and `row`.
///
/// # Errors
///
/// [`WrongCount`], [`WrongKind`], [`IsNull`]; then the contents of the two buffers are undefined.
///
/// [`WrongCount`]: crate::Error::WrongCount
/// [`WrongKind`]: crate::Error::WrongKind
/// [`IsNull`]: crate::Error::IsNull
pub(crate) fn encode(
    schema: &Schema,
    values: &[Value<'_>],
    key: &mut Vec<u8>,
    row: &mut Vec<u8>,
) -> Result<()> {
    if values.len() != schema.columns().len() {
        return Err(schema.wrong_count(schema.columns().len(), values.len()));
    }
    let shape = schema.key_shape();
    let in_key = shape.parts.iter().map(|part| values[part.column]);
    key::encode(schema, shape, in_key, key)?;

    let layout = schema.layout(schema.version()).expect("the newest version has a layout");
    let start = row.len();
    let bytes = variable_bytes(schema, values);
    let wide = layout.variable > 1 && bytes > usize::from(u16::MAX);
    row.reserve(layout.bytes_start(wide) + bytes);
    row.resize(start + layout.bytes_start(wide), 0);
    let head = schema.version() | if wide { WIDE } else { 0 };
    row[start..start + 2].copy_from_slice(&head.to_le_bytes());
    for (column, value) in values.iter().enumerate() {
        put(schema, column, *value, row, Position { start, wide })?;
    }
    Ok(())
}

fn variable_bytes(schema: &Schema, values: &[Value<'_>]) -> usize {
    let lengths = values.iter().enumerate().map(|(column, value)| {
        let in_row = matches!(schema.slot(column), ColumnSlot::Variable { .. });
        value.variable_bytes().filter(|_| in_row).map_or(0, <[u8]>::len)
    });
    lengths.sum()
}

#[derive(Clone, Copy)]
struct Position {
    start: usize,
    wide: bool,
}

fn put(
    schema: &Schema,
    column: usize,
    value: Value<'_>,
    row: &mut Vec<u8>,
    at: Position,
) -> Result<()> {
    let slot = schema.slot(column);
    let (ColumnSlot::Fixed { ordinal, null_bit } | ColumnSlot::Variable { ordinal, null_bit }) =
        slot
    else {
        return Ok(());
    };
    check(schema, column, value)?;
    let layout = schema.layout(schema.version()).expect("the newest version has a layout");
    if let (Value::Null, Some(bit)) = (value, null_bit) {
        row[at.start + 2 + usize::from(bit / 8)] |= 1 << (bit % 8);
    }
    if let (ColumnSlot::Fixed { .. }, Some(bits)) = (slot, value.fixed_bits()) {
        let to = at.start + layout.fixed_start() + 8 * usize::from(ordinal);
        row[to..to + 8].copy_from_slice(&bits.to_le_bytes());
    }
    if let ColumnSlot::Variable { .. } = slot {
        row.extend_from_slice(value.variable_bytes().unwrap_or(&[]));
        if ordinal + 1 < layout.variable {
            let end = row.len() - at.start - layout.bytes_start(at.wide);
            let to = at.start + layout.ends_start();
            set_end(&mut row[to..], ordinal, end, at.wide);
        }
    }
    Ok(())
}

/// Refuses a value that its column cannot hold.
#[inline]
pub(crate) fn check(schema: &Schema, column: usize, value: Value<'_>) -> Result<()> {
    let about = &schema.columns()[column];
    let unfit = match value.kind() {
        None if about.nullable => return Ok(()),
        None => Unfit::Null,
        Some(kind) if kind == about.kind => return Ok(()),
        Some(_) => Unfit::Kind,
    };
    Err(schema.unfit(column, unfit, value))
}
