//! Builds patches step by step.

use crate::access::row::check;
use crate::access::schema::{ColumnSlot, Kind, Schema, Value};
use crate::error::{Error, Result};

pub(super) const SET_FIXED: u8 = 1;
pub(super) const NULL_FIXED: u8 = 2;
pub(super) const SET_VARIABLE: u8 = 3;
pub(super) const NULL_VARIABLE: u8 = 4;
pub(super) const ADD_INTEGER: u8 = 5;
pub(super) const ADD_FLOAT: u8 = 6;
/// Code, column, ordinal, null bit.
pub(super) const HEAD_BYTES: usize = 7;
/// The null bit of a column that is never null.
pub(super) const NEVER_NULL: u16 = 0xffff;
/// The sum has a lower bound.
pub(super) const LOWER: u8 = 1;
/// The sum has an upper bound.
pub(super) const UPPER: u8 = 2;

/// Inclusive bounds of a sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bounds<'v> {
    pub(crate) lower: Option<Value<'v>>,
    pub(crate) upper: Option<Value<'v>>,
}

/// Appends the beginning of a patch for a table's rows to `out`, without steps.
pub(crate) fn begin(schema: &Schema, out: &mut Vec<u8>) {
    let block = schema.block();
    out.extend_from_slice(&(block.len() as u32).to_le_bytes());
    out.extend_from_slice(block);
}

/// Adds a step that sets a column.
///
/// # Errors
///
/// [`Error::WrongKind`], [`Error::IsNull`], [`Error::Unchangeable`] for a key column.
pub(crate) fn set(
    schema: &Schema,
    column: usize,
    value: Value<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    check(schema, column, value)?;
    match schema.slot(column) {
        ColumnSlot::Key { .. } => {
            let what = "is in the primary key; delete the row and insert another";
            Err(unchangeable(schema, column, what))
        }
        slot @ ColumnSlot::Fixed { .. } => {
            let bits = value.fixed_bits();
            let code = if bits.is_some() { SET_FIXED } else { NULL_FIXED };
            head(code, column, slot, out);
            if let Some(bits) = bits {
                out.extend_from_slice(&bits.to_le_bytes());
            }
            Ok(())
        }
        slot @ ColumnSlot::Variable { .. } => {
            let bytes = value.variable_bytes();
            let code = if bytes.is_some() { SET_VARIABLE } else { NULL_VARIABLE };
            head(code, column, slot, out);
            if let Some(bytes) = bytes {
                out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                out.extend_from_slice(bytes);
            }
            Ok(())
        }
    }
}

/// Adds a step that adds to a number; the sum must satisfy the bounds.
///
/// # Errors
///
/// [`Error::WrongKind`] of the delta or a bound, [`Error::IsNull`] if one of them is null,
/// [`Error::Unchangeable`] for a key column, a kind to which nothing is added, and a bound that is not a
/// number.
pub(crate) fn add(
    schema: &Schema,
    column: usize,
    delta: Value<'_>,
    bounds: Bounds<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let kind = schema.columns()[column].kind();
    let slot = match (schema.slot(column), kind) {
        (ColumnSlot::Key { .. }, _) => {
            let what = "is in the primary key; delete the row and insert another";
            return Err(unchangeable(schema, column, what));
        }
        (_, kind) if !kind.is_number() => {
            let what = "is not a number, so nothing can be added to it; set it";
            return Err(unchangeable(schema, column, what));
        }
        (slot, _) => slot,
    };
    let delta = number(schema, column, delta)?;
    let bound = |bound: Option<Value<'_>>| bound.map(|value| number(schema, column, value));
    let (lower, upper) = (bound(bounds.lower).transpose()?, bound(bounds.upper).transpose()?);
    if kind == Kind::Float && [lower, upper].into_iter().flatten().any(is_nan) {
        let what = "cannot have not-a-number as a bound";
        return Err(unchangeable(schema, column, what));
    }
    let code = if kind == Kind::Float { ADD_FLOAT } else { ADD_INTEGER };
    head(code, column, slot, out);
    out.push(if lower.is_some() { LOWER } else { 0 } | if upper.is_some() { UPPER } else { 0 });
    for bits in [Some(delta), lower, upper].into_iter().flatten() {
        out.extend_from_slice(&bits.to_le_bytes());
    }
    Ok(())
}

fn number(schema: &Schema, column: usize, value: Value<'_>) -> Result<u64> {
    if value.kind().is_none() {
        return Err(schema.unfit(column, crate::access::key::Unfit::Null, value));
    }
    check(schema, column, value)?;
    Ok(value.fixed_bits().expect("the column is of a fixed kind, and so is the value"))
}

fn is_nan(bits: u64) -> bool {
    f64::from_bits(bits).is_nan()
}

fn head(code: u8, column: usize, slot: ColumnSlot, out: &mut Vec<u8>) {
    let (ordinal, null_bit) = match slot {
        ColumnSlot::Fixed { ordinal, null_bit } | ColumnSlot::Variable { ordinal, null_bit } => {
            (ordinal, null_bit.unwrap_or(NEVER_NULL))
        }
        ColumnSlot::Key { .. } => unreachable!("key columns are refused earlier"),
    };
    out.push(code);
    for number in [column as u16, ordinal, null_bit] {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

fn unchangeable(schema: &Schema, column: usize, what: &'static str) -> Error {
    Error::Unchangeable {
        table: schema.name().to_owned(),
        column: schema.columns()[column].name().to_owned(),
        what,
    }
}
