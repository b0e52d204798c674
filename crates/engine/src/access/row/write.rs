//! Encodes a row from its values.

use super::raw::{WIDE, set_end};
use crate::access::key::{self, Unfit};
use crate::access::schema::{ColumnSlot, Layout, Schema, Value};
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
    let mut at = Position { start, wide, variable: 0 };
    for (column, value) in values.iter().enumerate() {
        put(schema, column, *value, row, &mut at)?;
    }
    end_columns(layout, row, &mut at, layout.variable);
    Ok(())
}

fn variable_bytes(schema: &Schema, values: &[Value<'_>]) -> usize {
    let lengths = values.iter().enumerate().map(|(column, value)| {
        let in_row = matches!(schema.slot(column), ColumnSlot::Variable { .. });
        value.variable_bytes().filter(|_| in_row).map_or(0, <[u8]>::len)
    });
    lengths.sum()
}

struct Position {
    start: usize,
    wide: bool,
    /// Variable columns whose ends are set.
    variable: u16,
}

/// Sets the ends of the variable columns before that one to the end of the row so far. Removed ones are
/// empty.
#[inline]
fn end_columns(layout: Layout, row: &mut [u8], at: &mut Position, before: u16) {
    if at.variable == before {
        return;
    }
    let end = row.len() - at.start - layout.bytes_start(at.wide);
    // The end of the last one is the row's.
    for ordinal in at.variable..before.min(layout.variable.saturating_sub(1)) {
        set_end(&mut row[at.start + layout.ends_start()..], ordinal, end, at.wide);
    }
    at.variable = before;
}

fn put(
    schema: &Schema,
    column: usize,
    value: Value<'_>,
    row: &mut Vec<u8>,
    at: &mut Position,
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
        end_columns(layout, row, at, ordinal);
        row.extend_from_slice(value.variable_bytes().unwrap_or(&[]));
        end_columns(layout, row, at, ordinal + 1);
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
