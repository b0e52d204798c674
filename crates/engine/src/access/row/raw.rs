//! A row's bytes and its layout, without the schema.

use crate::access::key::Malformed;
use crate::access::schema::Layout;
use std::ops::Range;

/// The bits of the first two bytes that hold the version.
pub(crate) const VERSION_MASK: u16 = 0x7fff;
/// The bit for ends of four bytes.
pub(crate) const WIDE: u16 = 0x8000;

/// A row whose beginning was checked: everything except its variable columns is within its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) version: u16,
    pub(crate) layout: Layout,
    pub(crate) wide: bool,
}

impl Layout {
    /// Offset of the fixed columns.
    #[inline]
    pub(crate) fn fixed_start(self) -> usize {
        2 + usize::from(self.nullable).div_ceil(8)
    }

    /// Offset of the ends of the variable columns.
    #[inline]
    pub(crate) fn ends_start(self) -> usize {
        self.fixed_start() + 8 * usize::from(self.fixed)
    }

    /// Offset of the variable columns' bytes.
    #[inline]
    pub(crate) fn bytes_start(self, wide: bool) -> usize {
        let width = if wide { 4 } else { 2 };
        self.ends_start() + width * usize::from(self.variable.saturating_sub(1))
    }
}

impl<'a> Raw<'a> {
    /// Opens a row; `layout_of` returns the layout of a version.
    #[inline]
    pub(crate) fn open(
        bytes: &'a [u8],
        layout_of: impl FnOnce(u16) -> Option<Layout>,
    ) -> Result<Raw<'a>, Malformed> {
        let head = bytes.first_chunk().ok_or(Malformed("a row lacks its version"))?;
        let head = u16::from_le_bytes(*head);
        let version = head & VERSION_MASK;
        let layout = layout_of(version).ok_or(Malformed("a row is of an unknown version"))?;
        let wide = head & WIDE != 0;
        let start = layout.bytes_start(wide);
        if bytes.len() < start {
            return Err(Malformed("a row ends before its fixed columns do"));
        }
        if layout.variable == 0 && bytes.len() > start {
            return Err(Malformed("a row continues after its last column"));
        }
        Ok(Raw { bytes, version, layout, wide })
    }

    /// An absent row: of a version before the first, without columns.
    pub(crate) fn none() -> Raw<'a> {
        Raw { bytes: &[], version: 0, layout: Layout::default(), wide: false }
    }

    /// True for an absent row.
    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        self.version == 0
    }

    /// True if that nullable column is null.
    #[inline]
    pub(crate) fn is_null(&self, bit: u16) -> bool {
        self.bytes[2 + usize::from(bit / 8)] & (1 << (bit % 8)) != 0
    }

    /// The bits of a fixed column.
    #[inline]
    pub(crate) fn fixed(&self, ordinal: u16) -> u64 {
        let at = self.layout.fixed_start() + 8 * usize::from(ordinal);
        let bytes = self.bytes[at..].first_chunk();
        u64::from_le_bytes(*bytes.expect("`open` has checked all fixed columns"))
    }

    /// The range of a variable column's bytes in the row.
    #[inline]
    pub(crate) fn variable(&self, ordinal: u16) -> Result<Range<usize>, Malformed> {
        let begin = self.layout.bytes_start(self.wide);
        let start = if ordinal == 0 { begin } else { begin + self.end(ordinal - 1) };
        let end = if ordinal + 1 == self.layout.variable {
            self.bytes.len()
        } else {
            begin + self.end(ordinal)
        };
        if start <= end && end <= self.bytes.len() {
            Ok(start..end)
        } else {
            Err(Malformed("a column of a row ends outside of it"))
        }
    }

    /// The range of the bytes of neighbouring variable columns in the row.
    #[inline]
    pub(crate) fn run(&self, first: u16, count: u16) -> Result<Range<usize>, Malformed> {
        let start = self.variable(first)?.start;
        let end = self.variable(first + count - 1)?.end;
        if start <= end {
            Ok(start..end)
        } else {
            Err(Malformed("a column of a row ends outside of it"))
        }
    }

    /// The stored ends of `count` neighbouring variable columns; the end of the last one is not stored or not
    /// needed.
    #[inline]
    pub(crate) fn ends(&self, first: u16, count: u16) -> Ends<'a> {
        let width = if self.wide { 4 } else { 2 };
        let start = self.layout.ends_start() + width * usize::from(first);
        let bytes = &self.bytes[start..start + width * usize::from(count)];
        if self.wide { Ends::Wide(bytes.as_chunks().0) } else { Ends::Narrow(bytes.as_chunks().0) }
    }

    /// The stored end of a variable column that is not the last.
    #[inline]
    pub(crate) fn end(&self, ordinal: u16) -> usize {
        end_at(&self.bytes[self.layout.ends_start()..], ordinal, self.wide)
    }
}

/// Stored ends of neighbouring variable columns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ends<'a> {
    /// Two bytes each.
    Narrow(&'a [[u8; 2]]),
    /// Four bytes each.
    Wide(&'a [[u8; 4]]),
}

impl Ends<'_> {
    /// One of them; none after the last.
    #[inline]
    pub(crate) fn get(self, at: usize) -> Option<usize> {
        match self {
            Ends::Narrow(ends) => ends.get(at).map(|end| usize::from(u16::from_le_bytes(*end))),
            Ends::Wide(ends) => ends.get(at).map(|end| u32::from_le_bytes(*end) as usize),
        }
    }
}

/// The stored end of a variable column, in the ends of a checked row.
#[inline]
pub(crate) fn end_at(ends: &[u8], ordinal: u16, wide: bool) -> usize {
    let ordinal = usize::from(ordinal);
    let checked = "a row that was opened holds all its ends";
    if wide {
        let end = ends[4 * ordinal..].first_chunk().expect(checked);
        u32::from_le_bytes(*end) as usize
    } else {
        let end = ends[2 * ordinal..].first_chunk().expect(checked);
        usize::from(u16::from_le_bytes(*end))
    }
}

/// Writes the stored end of a variable column.
#[inline]
pub(crate) fn set_end(ends: &mut [u8], ordinal: u16, end: usize, wide: bool) {
    let ordinal = usize::from(ordinal);
    if wide {
        ends[4 * ordinal..4 * ordinal + 4].copy_from_slice(&(end as u32).to_le_bytes());
    } else {
        ends[2 * ordinal..2 * ordinal + 2].copy_from_slice(&(end as u16).to_le_bytes());
    }
}
