//! Reads the layout block of a patch, and uses it to upgrade rows of older versions.

use crate::access::key::Malformed;
use crate::access::row::{Raw, WIDE, set_end};
use crate::access::schema::{BLOCK_DEFAULT, BLOCK_NULLABLE, BLOCK_VARIABLE, Layout};

const SHORT: Malformed = Malformed("a patch ends too early");

/// The layout block; see `schema/layout.rs`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    version: u16,
    layouts: &'a [u8],
    added: &'a [u8],
}

/// A column that was added after version 1.
struct Added<'a> {
    flags: u8,
    default: &'a [u8],
}

impl<'a> Block<'a> {
    /// Reads the block of a patch. Also returns the steps after it.
    pub(super) fn of(patch: &'a [u8]) -> Result<(Block<'a>, &'a [u8]), Malformed> {
        let (length, rest) = patch.split_first_chunk().ok_or(SHORT)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (block, steps) = rest.split_at_checked(length).ok_or(SHORT)?;
        let (version, rest) = block.split_first_chunk().ok_or(SHORT)?;
        let version = u16::from_le_bytes(*version);
        let (layouts, added) = rest.split_at_checked(6 * usize::from(version)).ok_or(SHORT)?;
        let block = Block { version, layouts, added };
        Ok((block, steps))
    }

    /// The current version.
    pub(super) fn version(&self) -> u16 {
        self.version
    }

    /// The layout of rows of a version.
    #[inline]
    pub(super) fn layout(&self, version: u16) -> Option<Layout> {
        let at = 6 * usize::from(version).checked_sub(1)?;
        let counts: &[u8; 6] = self.layouts.get(at..)?.first_chunk()?;
        let count = |at: usize| u16::from_le_bytes([counts[at], counts[at + 1]]);
        Some(Layout { nullable: count(0), fixed: count(2), variable: count(4) })
    }

    /// Writes a row of an older version to `new` as one of the current version.
    pub(super) fn upgrade(&self, old: &Raw<'_>, new: &mut Vec<u8>) -> Result<(), Malformed> {
        const WRONG: Malformed = Malformed("a patch's versions do not follow each other");
        let to = self.layout(self.version).ok_or(WRONG)?;
        let from = old.layout;
        if to.nullable < from.nullable || to.fixed < from.fixed || to.variable < from.variable {
            return Err(WRONG);
        }
        let wide = to.variable > 1 && self.variable_bytes(old)? > usize::from(u16::MAX);
        new.clear();
        new.resize(to.bytes_start(wide), 0);
        let head = self.version | if wide { WIDE } else { 0 };
        new[..2].copy_from_slice(&head.to_le_bytes());
        let mut counts = copy_old(old, new, to, wide)?;
        for added in self.added_since(from)? {
            put_added(&added?, new, to, &mut counts, wide)?;
        }
        if counts == to { Ok(()) } else { Err(WRONG) }
    }

    fn variable_bytes(&self, old: &Raw<'_>) -> Result<usize, Malformed> {
        let mut bytes = old.bytes.len() - old.layout.bytes_start(old.wide);
        for added in self.added_since(old.layout)? {
            let added = added?;
            if added.flags & BLOCK_VARIABLE != 0 {
                bytes += added.default.len();
            }
        }
        Ok(bytes)
    }

    /// The columns that rows of that layout do not have yet.
    fn added_since(
        &self,
        from: Layout,
    ) -> Result<impl Iterator<Item = Result<Added<'a>, Malformed>> + use<'a>, Malformed> {
        let (count, rest) = self.added.split_first_chunk().ok_or(SHORT)?;
        let first = self.layout(1).ok_or(SHORT)?;
        let columns = |layout: Layout| usize::from(layout.fixed) + usize::from(layout.variable);
        let known = columns(from).saturating_sub(columns(first));
        let count = usize::from(u16::from_le_bytes(*count));
        let mut rest = rest;
        Ok((0..count).map(move |_| next_added(&mut rest)).skip(known))
    }
}

fn next_added<'a>(rest: &mut &'a [u8]) -> Result<Added<'a>, Malformed> {
    let (flags, after) = rest.split_first().ok_or(SHORT)?;
    let (length, after) = if flags & BLOCK_DEFAULT == 0 {
        (0, after)
    } else if flags & BLOCK_VARIABLE == 0 {
        (8, after)
    } else {
        let (length, after) = after.split_first_chunk().ok_or(SHORT)?;
        (u32::from_le_bytes(*length) as usize, after)
    };
    let (default, after) = after.split_at_checked(length).ok_or(SHORT)?;
    *rest = after;
    let flags = *flags;
    Ok(Added { flags, default })
}

/// Copies the columns of the old row. Returns the new counts of columns of each sort.
fn copy_old(old: &Raw<'_>, new: &mut Vec<u8>, to: Layout, wide: bool) -> Result<Layout, Malformed> {
    let from = old.layout;
    new[2..from.fixed_start()].copy_from_slice(&old.bytes[2..from.fixed_start()]);
    for bit in from.nullable..from.nullable.next_multiple_of(8) {
        if old.is_null(bit) {
            return Err(Malformed("a row has a bit set for a column that does not exist"));
        }
    }
    let fixed = &old.bytes[from.fixed_start()..from.ends_start()];
    new[to.fixed_start()..to.fixed_start() + fixed.len()].copy_from_slice(fixed);
    for ordinal in 0..from.variable {
        let bytes = &old.bytes[old.variable(ordinal)?];
        push_variable(new, bytes, to, ordinal, wide);
    }
    Ok(from)
}

fn put_added(
    added: &Added<'_>,
    new: &mut Vec<u8>,
    to: Layout,
    counts: &mut Layout,
    wide: bool,
) -> Result<(), Malformed> {
    const MORE: Malformed = Malformed("a patch adds more columns than its versions say");
    if added.flags & BLOCK_NULLABLE != 0 {
        if counts.nullable >= to.nullable {
            return Err(MORE);
        }
        let bit = counts.nullable;
        counts.nullable += 1;
        let is_null = added.flags & BLOCK_DEFAULT == 0;
        new[2 + usize::from(bit / 8)] |= u8::from(is_null) << (bit % 8);
    }
    if added.flags & BLOCK_VARIABLE != 0 {
        if counts.variable >= to.variable {
            return Err(MORE);
        }
        push_variable(new, added.default, to, counts.variable, wide);
        counts.variable += 1;
        return Ok(());
    }
    if counts.fixed >= to.fixed {
        return Err(MORE);
    }
    let at = to.fixed_start() + 8 * usize::from(counts.fixed);
    new[at..at + added.default.len()].copy_from_slice(added.default);
    counts.fixed += 1;
    Ok(())
}

fn push_variable(new: &mut Vec<u8>, bytes: &[u8], to: Layout, ordinal: u16, wide: bool) {
    new.extend_from_slice(bytes);
    if ordinal + 1 < to.variable {
        let end = new.len() - to.bytes_start(wide);
        set_end(&mut new[to.ends_start()..], ordinal, end, wide);
    }
}
