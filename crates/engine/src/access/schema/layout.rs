//! Layouts: the slots of the columns of a row, for each version of the schema.
//!
//! Columns are only added, and only at the end; one that is removed keeps its slot. So a column has one slot
//! forever (its position among the fixed or the variable columns, and its bit among the nullable ones), and
//! three counts describe a version of the schema.
//!
//! The *layout block* holds everything that a function without the schema needs to change a row of any
//! version: it goes with every patch. Numbers are little-endian.
//!
//! | bytes | contents |
//! |---|---|
//! | 2 | the current version, v |
//! | 6 each, v times | counts of nullable, fixed and variable columns of versions 1 to v |
//! | 2 | count of columns added after version 1, removed ones included, without key columns |
//! | each: 1 | bit 0: variable, bit 1: nullable, bit 2: has a default |
//! | 8, or 4 + n | if it has a default: its bits, or its length and bytes |

use crate::access::schema::{Column, Definition, KeyColumn, Kind};

/// The slot of a column's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnSlot {
    /// In the key, at that position among its columns.
    Key { position: u16 },
    /// In the row, as that 8-byte value of its fixed part.
    Fixed { ordinal: u16, null_bit: Option<u16> },
    /// In the row, at that position among its variable columns.
    Variable { ordinal: u16, null_bit: Option<u16> },
}

/// The counts of columns in a row of one version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Nullable columns.
    pub(crate) nullable: u16,
    /// Columns of eight bytes.
    pub(crate) fixed: u16,
    /// Columns of variable length.
    pub(crate) variable: u16,
}

/// Flag of a column in the block: it is variable.
pub(crate) const BLOCK_VARIABLE: u8 = 1;
/// Flag of a column in the block: it is nullable.
pub(crate) const BLOCK_NULLABLE: u8 = 2;
/// Flag of a column in the block: it has a default.
pub(crate) const BLOCK_DEFAULT: u8 = 4;

/// The slots of the columns that were not removed, and the layout of every version from 1 on.
pub(crate) fn slots(definition: &Definition) -> (Vec<ColumnSlot>, Vec<Layout>) {
    let mut layouts: Vec<Layout> = Vec::new();
    let mut counts = Layout::default();
    let mut slots = Vec::with_capacity(definition.columns.len());
    for (position, column) in definition.stored() {
        while layouts.len() + 1 < usize::from(column.since) {
            layouts.push(counts);
        }
        let slot = slot(position, column, &definition.key, &mut counts);
        if position.is_some() {
            slots.push(slot);
        }
    }
    layouts.push(counts);
    (slots, layouts)
}

fn slot(
    position: Option<usize>,
    column: &Column,
    key: &[KeyColumn],
    counts: &mut Layout,
) -> ColumnSlot {
    if let Some(position) = key.iter().position(|part| Some(part.column) == position) {
        let position = position as u16;
        return ColumnSlot::Key { position };
    }
    let null_bit = column.nullable.then_some(counts.nullable);
    counts.nullable += u16::from(column.nullable);
    if column.kind.is_fixed() {
        counts.fixed += 1;
        let ordinal = counts.fixed - 1;
        ColumnSlot::Fixed { ordinal, null_bit }
    } else {
        counts.variable += 1;
        let ordinal = counts.variable - 1;
        ColumnSlot::Variable { ordinal, null_bit }
    }
}

/// For each variable column in the order of rows: how many consecutive texts that are never null begin with
/// it.
pub(crate) fn text_runs(definition: &Definition) -> Box<[u16]> {
    let mut runs: Vec<u16> = Vec::new();
    for (position, column) in outside_key(definition) {
        if !column.kind.is_fixed() {
            let is_text = column.kind == Kind::Text && !column.nullable;
            runs.push(u16::from(is_text && position.is_some()));
        }
    }
    for at in (1..runs.len()).rev() {
        runs[at - 1] *= 1 + runs[at];
    }
    runs.into()
}

/// The stored columns that are not in the primary key.
fn outside_key(definition: &Definition) -> impl Iterator<Item = (Option<usize>, &Column)> + Clone {
    let key = &definition.key;
    let in_key = |position| key.iter().any(|part| Some(part.column) == position);
    definition.stored().filter(move |(position, _)| !in_key(*position))
}

/// The layout block described in the module.
pub(crate) fn block(definition: &Definition, layouts: &[Layout]) -> Box<[u8]> {
    let mut out = Vec::new();
    out.extend_from_slice(&(layouts.len() as u16).to_le_bytes());
    for layout in layouts {
        for count in [layout.nullable, layout.fixed, layout.variable] {
            out.extend_from_slice(&count.to_le_bytes());
        }
    }
    let added = outside_key(definition).filter(|(_, column)| column.since > 1);
    out.extend_from_slice(&(added.clone().count() as u16).to_le_bytes());
    for (_, column) in added {
        block_column(column, &mut out);
    }
    out.into()
}

fn block_column(column: &Column, out: &mut Vec<u8>) {
    let mut flags = 0;
    flags |= BLOCK_VARIABLE * u8::from(!column.kind.is_fixed());
    flags |= BLOCK_NULLABLE * u8::from(column.nullable);
    flags |= BLOCK_DEFAULT * u8::from(column.default.is_some());
    out.push(flags);
    let default = column.default();
    if let Some(bits) = default.fixed_bits() {
        out.extend_from_slice(&bits.to_le_bytes());
    } else if let Some(bytes) = default.variable_bytes() {
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    }
}
