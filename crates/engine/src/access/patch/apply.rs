//! Applies a patch to a row's bytes.

use super::block::Block;
use super::build::{
    ADD_FLOAT, ADD_INTEGER, HEAD_BYTES, LOWER, NEVER_NULL, NULL_FIXED, NULL_VARIABLE, SET_FIXED,
    SET_VARIABLE, UPPER,
};
use crate::access::key::Malformed;
use crate::access::row::{Raw, VERSION_MASK, WIDE, end_at, set_end};
use crate::access::schema::Layout;
use crate::planted_bug::{PlantedBug, planted};
use std::ops::Range;

/// Why a patch cannot be applied to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchError {
    /// The sum does not fit the column's type.
    Overflow {
        /// The column's position in the table.
        column: u16,
    },
    /// The sum violates the bounds of its step.
    OutOfBounds {
        /// The column's position in the table.
        column: u16,
    },
    /// The row or the patch cannot be decoded.
    Malformed(Malformed),
}

impl From<Malformed> for PatchError {
    fn from(malformed: Malformed) -> PatchError {
        PatchError::Malformed(malformed)
    }
}

const SHORT: Malformed = Malformed("a patch ends too early");
const NO_SLOT: Malformed = Malformed("a patch names a column slot that rows do not have");

/// Writes the patched `old` row to `new`, which is cleared first. After a failure the contents of `new` are
/// undefined.
pub(crate) fn apply(patch: &[u8], old: &[u8], new: &mut Vec<u8>) -> Result<(), PatchError> {
    let (block, mut steps) = Block::of(patch)?;
    let row = Raw::open(old, |version| block.layout(version))?;
    if row.version == block.version() {
        new.clear();
        new.extend_from_slice(old);
    } else {
        block.upgrade(&row, new)?;
    }
    while let Some(step) = Step::next(&mut steps)? {
        step.act(&block, new)?;
    }
    Ok(())
}

/// One step of a patch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'p> {
    pub(super) code: u8,
    pub(super) column: u16,
    ordinal: u16,
    null_bit: u16,
    payload: &'p [u8],
}

impl<'p> Step<'p> {
    /// Decodes and removes the next step.
    pub(super) fn next(steps: &mut &'p [u8]) -> Result<Option<Step<'p>>, Malformed> {
        if steps.is_empty() {
            return Ok(None);
        }
        let (head, rest) = steps.split_first_chunk::<HEAD_BYTES>().ok_or(SHORT)?;
        let code = head[0];
        let (rest, length) = match code {
            SET_FIXED => (rest, 8),
            NULL_FIXED | NULL_VARIABLE => (rest, 0),
            SET_VARIABLE => {
                let (length, rest) = rest.split_first_chunk().ok_or(SHORT)?;
                (rest, u32::from_le_bytes(*length) as usize)
            }
            ADD_INTEGER | ADD_FLOAT => {
                let bounds = rest.first().ok_or(SHORT)?;
                if bounds & !(LOWER | UPPER) != 0 {
                    return Err(Malformed("a patch holds an unknown bound"));
                }
                (rest, 9 + 8 * bounds.count_ones() as usize)
            }
            _ => return Err(Malformed("a patch holds an unknown step")),
        };
        let (payload, rest) = rest.split_at_checked(length).ok_or(SHORT)?;
        *steps = rest;
        let number = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        Ok(Some(Step { code, column: number(1), ordinal: number(3), null_bit: number(5), payload }))
    }

    fn act(&self, block: &Block<'_>, new: &mut Vec<u8>) -> Result<(), PatchError> {
        let row = Raw::open(new, |version| block.layout(version))?;
        let is_variable = matches!(self.code, SET_VARIABLE | NULL_VARIABLE);
        let columns = if is_variable { row.layout.variable } else { row.layout.fixed };
        let has_bit = self.null_bit == NEVER_NULL || self.null_bit < row.layout.nullable;
        if self.ordinal >= columns || !has_bit {
            return Err(NO_SLOT.into());
        }
        let was_null = self.null_bit != NEVER_NULL && row.is_null(self.null_bit);
        match self.code {
            ADD_INTEGER | ADD_FLOAT if was_null => Ok(()),
            ADD_INTEGER => {
                let sum = self.sum_integer(row.fixed(self.ordinal) as i64)?;
                self.put_fixed(new, block, sum as u64)
            }
            ADD_FLOAT => {
                let sum = self.sum_float(f64::from_bits(row.fixed(self.ordinal)))?;
                self.put_fixed(new, block, sum.to_bits())
            }
            SET_FIXED | NULL_FIXED => {
                let bits = self.payload.first_chunk().map_or(0, |bits| u64::from_le_bytes(*bits));
                self.put_null(new)?;
                self.put_fixed(new, block, bits)
            }
            _ => {
                self.put_null(new)?;
                Ok(put_variable(block, new, self.ordinal, self.payload)?)
            }
        }
    }

    fn put_null(&self, new: &mut [u8]) -> Result<(), Malformed> {
        let is_null = matches!(self.code, NULL_FIXED | NULL_VARIABLE);
        if self.null_bit == NEVER_NULL {
            return if is_null { Err(NO_SLOT) } else { Ok(()) };
        }
        let byte = &mut new[2 + usize::from(self.null_bit / 8)];
        *byte &= !(1 << (self.null_bit % 8));
        *byte |= u8::from(is_null) << (self.null_bit % 8);
        Ok(())
    }

    fn put_fixed(&self, new: &mut [u8], block: &Block<'_>, bits: u64) -> Result<(), PatchError> {
        let layout = block.layout(block.version()).ok_or(NO_SLOT)?;
        let at = layout.fixed_start() + 8 * usize::from(self.ordinal);
        new[at..at + 8].copy_from_slice(&bits.to_le_bytes());
        Ok(())
    }

    /// The delta and the bounds of an addition, as bits.
    fn addition(&self) -> Result<(u64, Option<u64>, Option<u64>), Malformed> {
        let (flags, rest) = self.payload.split_first().ok_or(SHORT)?;
        let mut numbers = rest.chunks_exact(8).map(|bits| {
            u64::from_le_bytes(*bits.first_chunk().expect("chunks are of eight bytes"))
        });
        let delta = numbers.next().ok_or(SHORT)?;
        let lower = (flags & LOWER != 0).then(|| numbers.next()).flatten();
        let upper = (flags & UPPER != 0).then(|| numbers.next()).flatten();
        Ok((delta, lower, upper))
    }

    fn sum_integer(&self, old: i64) -> Result<i64, PatchError> {
        let column = self.column;
        let (delta, lower, upper) = self.addition()?;
        let sum = old.checked_add(delta as i64).ok_or(PatchError::Overflow { column })?;
        let checked = if planted(PlantedBug::BoundOfOldValue) { old } else { sum };
        let holds = lower.is_none_or(|lower| checked >= lower as i64)
            && upper.is_none_or(|upper| checked <= upper as i64);
        if holds { Ok(sum) } else { Err(PatchError::OutOfBounds { column }) }
    }

    fn sum_float(&self, old: f64) -> Result<f64, PatchError> {
        let column = self.column;
        let (delta, lower, upper) = self.addition()?;
        let delta = f64::from_bits(delta);
        let sum = old + delta;
        if old.is_finite() && delta.is_finite() && !sum.is_finite() {
            return Err(PatchError::Overflow { column });
        }
        // A sum that is not a number satisfies no bounds.
        let holds = lower.is_none_or(|lower| sum >= f64::from_bits(lower))
            && upper.is_none_or(|upper| sum <= f64::from_bits(upper));
        if holds { Ok(sum) } else { Err(PatchError::OutOfBounds { column }) }
    }
}

fn put_variable(
    block: &Block<'_>,
    new: &mut Vec<u8>,
    ordinal: u16,
    bytes: &[u8],
) -> Result<(), Malformed> {
    let row = Raw::open(new, |version| block.layout(version))?;
    let (layout, wide) = (row.layout, row.wide);
    let range = row.variable(ordinal)?;
    let later = ordinal..layout.variable.saturating_sub(1);
    check_ends(&row, later.clone(), range.end)?;
    let length = new.len() - range.len() + bytes.len();
    if u32::try_from(length).is_err() {
        return Err(Malformed("a row would be longer than 4 GiB"));
    }
    if layout.variable > 1 && !wide && length - layout.bytes_start(wide) > usize::from(u16::MAX) {
        widen(new, layout);
        return put_variable(block, new, ordinal, bytes);
    }
    let old_length = new.len();
    let tail = range.start + bytes.len();
    new.resize(length.max(old_length), 0);
    new.copy_within(range.end..old_length, tail);
    new.truncate(length);
    new[range.start..tail].copy_from_slice(bytes);
    let ends = &mut new[layout.ends_start()..];
    for later in later {
        let end = end_at(ends, later, wide) + bytes.len() - range.len();
        set_end(ends, later, end, wide);
    }
    Ok(())
}

/// Refuses ends before the one to be moved: they could not be moved with it.
fn check_ends(row: &Raw<'_>, later: Range<u16>, end: usize) -> Result<(), Malformed> {
    let start = row.layout.bytes_start(row.wide);
    let mut least = end - start;
    for later in later {
        let end = row.end(later);
        if end < least || end > row.bytes.len() - start {
            return Err(Malformed("a column of a row ends outside of it"));
        }
        least = end;
    }
    Ok(())
}

/// Converts a row to wide ends.
fn widen(row: &mut Vec<u8>, layout: Layout) {
    let length = row.len();
    let (narrow, wide) = (layout.bytes_start(false), layout.bytes_start(true));
    row.resize(length + wide - narrow, 0);
    row.copy_within(narrow..length, wide);
    let ends = &mut row[layout.ends_start()..];
    // From the last to the first, so that none is overwritten before it was read.
    for ordinal in (0..layout.variable.saturating_sub(1)).rev() {
        let end = end_at(ends, ordinal, false);
        set_end(ends, ordinal, end, true);
    }
    let head = u16::from_le_bytes([row[0], row[1]]) & VERSION_MASK | WIDE;
    row[..2].copy_from_slice(&head.to_le_bytes());
}
