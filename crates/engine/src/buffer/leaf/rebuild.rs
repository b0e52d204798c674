//! Making leaves from leaves: empty ones, compaction, splitting, merging, and moving a fence.
//!
//! A split puts the rows below a separator into one leaf and the others into a second. The separator is the
//! shortest string that distinguishes the two neighbours. It falls in the middle of the bytes; but a row that
//! goes to the end of its leaf, or continues an ascending run in the leaf's second half, leaves the rows
//! before it together, so that sorted inserts fill leaves.
//!
//! A split is always possible: with the caps of [`Leaf::key_bytes_max`] one row fits with any two fences, and
//! the rows after the first fit with a lower fence that is at most one byte longer than the first row's key.

use super::change::row_bytes;
use super::last_insert::LastInsert;
use super::view::{
    CAPACITY_AT, COUNT_AT, DEAD_AT, HEAD_BYTES, HEAP_AT, LENGTH_AT, LOWER_AT, Leaf, NO_FENCE,
    OFFSET_BYTES, PREFIX_AT, ROW_BYTES, SLOT_BYTES, SUFFIX_AT, UPPER_AT, common_bytes, head_of,
};
use crate::buffer::blocks::PageBytes;
use crate::buffer::page::{self, HEADER_BYTES, Kind, put_u16, put_u32, put_u64, u16_at};
use crate::ids::{PageId, TreeId};
use std::ops::Range;

/// Where a leaf will be split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SplitPlan {
    /// Rows that stay left.
    pub(crate) left_count: usize,
    /// The left leaf's upper fence and the right leaf's lower one.
    pub(crate) separator: Vec<u8>,
}

impl Leaf {
    /// A leaf without rows.
    pub(crate) fn empty(
        page_bytes: usize,
        page: PageId,
        tree: TreeId,
        lower: &[u8],
        upper: Option<&[u8]>,
    ) -> Leaf {
        let mut image = vec![0; page_bytes].into_boxed_slice();
        page::label(&mut image, page, tree, Kind::Leaf, 0);
        put_u16(&mut image, COUNT_AT, 0);
        put_u16(&mut image, PREFIX_AT, prefix_bytes(lower, upper) as u16);
        put_u16(&mut image, LOWER_AT, lower.len() as u16);
        put_u16(&mut image, UPPER_AT, upper.map_or(NO_FENCE, |upper| upper.len() as u16));
        put_u16(&mut image, HEAP_AT, page_bytes as u16);
        put_u16(&mut image, DEAD_AT, 0);
        let upper = upper.unwrap_or_default();
        let (start, middle) = (HEADER_BYTES, HEADER_BYTES + lower.len());
        image[start..middle].copy_from_slice(lower);
        image[middle..middle + upper.len()].copy_from_slice(upper);
        let mut leaf = Leaf::from_image(image.into());
        leaf.spare_max = 0;
        leaf
    }

    /// The longest key in bytes that trees on such pages accept: it makes every split possible.
    pub(crate) fn key_bytes_max(page_bytes: usize) -> usize {
        let row = SLOT_BYTES + row_bytes(0, Leaf::value_bytes_max(page_bytes));
        ((page_bytes - HEADER_BYTES - row) / 3).min(1024)
    }

    /// The longest value in a leaf, in bytes; longer ones go to extents.
    pub(crate) fn value_bytes_max(page_bytes: usize) -> usize {
        page_bytes / 4
    }

    /// The bytes of a row in a leaf without a key prefix.
    pub(crate) fn row_bytes_in_page(key_bytes: usize, value_bytes: usize) -> usize {
        SLOT_BYTES + row_bytes(key_bytes, value_bytes)
    }

    /// The same rows under the same number with other fences; none if they do not fit.
    pub(crate) fn with_fences(&self, lower: &[u8], upper: Option<&[u8]>) -> Option<Leaf> {
        let rows = self.rows_bytes(prefix_bytes(lower, upper), 0..self.count());
        if fixed_bytes(lower, upper) + rows > self.bytes.len() {
            return None;
        }
        let mut leaf = Leaf::empty(self.bytes.len(), self.page(), self.tree, lower, upper);
        leaf.fill(&[(self, 0..self.count())], None);
        Some(leaf)
    }

    /// The rows of this leaf and of the following one, under this leaf's number; none if they take more than
    /// `bytes_max` bytes of a page.
    pub(crate) fn merged(&self, behind: &Leaf, bytes_max: usize) -> Option<Leaf> {
        if self.rows_bytes_min() + behind.rows_bytes_min() > bytes_max {
            return None;
        }
        let (lower, upper) = (self.lower_fence(), behind.upper_fence());
        let prefix = prefix_bytes(lower, upper);
        let rows = self.rows_bytes(prefix, 0..self.count());
        let rows_behind = behind.rows_bytes(prefix, 0..behind.count());
        if fixed_bytes(lower, upper) + rows + rows_behind > bytes_max {
            return None;
        }
        let mut leaf = Leaf::empty(self.bytes.len(), self.page(), self.tree, lower, upper);
        leaf.fill(&[(self, 0..self.count()), (behind, 0..behind.count())], None);
        Some(leaf)
    }

    /// A lower bound of the bytes that the rows take with this prefix or a shorter one, computed without
    /// reading them.
    fn rows_bytes_min(&self) -> usize {
        let dead = usize::from(u16_at(&self.bytes, DEAD_AT));
        let heap = usize::from(u16_at(&self.bytes, HEAP_AT));
        let rows = self.bytes.len() - heap - dead;
        SLOT_BYTES * self.count() + rows.saturating_sub(usize::from(self.spare_max))
    }

    /// The same contents under another number, for a root that becomes an inner node or a leaf.
    pub(crate) fn renumbered(&self, page: PageId) -> Leaf {
        let mut image = PageBytes::from(&*self.bytes);
        page::label(&mut image, page, self.tree, Kind::Leaf, 0);
        Leaf { spare_max: self.spare_max, ..Leaf::from_image(image) }
    }

    /// The right half of a split, under that number.
    pub(crate) fn right_half(&self, plan: &SplitPlan, page: PageId) -> Leaf {
        let upper = self.upper_fence();
        let mut right = Leaf::empty(self.bytes.len(), page, self.tree, &plan.separator, upper);
        right.fill(&[(self, plan.left_count..self.count())], None);
        right
    }

    /// The left half of a split, under that number.
    pub(crate) fn left_half(&self, plan: &SplitPlan, page: PageId) -> Leaf {
        let (lower, upper) = (self.lower_fence(), Some(plan.separator.as_slice()));
        let mut left = Leaf::empty(self.bytes.len(), page, self.tree, lower, upper);
        left.fill(&[(self, 0..plan.left_count)], None);
        left
    }

    /// Takes over the contents of `other`, which is the new version of this page; the counter is renewed.
    pub(crate) fn become_leaf(&mut self, other: Leaf) {
        debug_assert_eq!(self.page(), other.page());
        // The bytes keep their address, which the translation table knows.
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.copy_from_slice(&other.bytes);
        *self = other;
        self.bytes = bytes;
    }

    /// Where to split so that the key's row, with a value of `capacity` bytes, gets closer to fitting. None
    /// if there is nothing to split: a single row that is the key's own.
    pub(crate) fn split_plan(&self, key: &[u8], capacity: usize) -> Option<SplitPlan> {
        let found = self.search(key);
        let merged = Merged { leaf: self, key, capacity, at: found };
        let count = merged.count();
        if count < 2 {
            return None;
        }
        if found == Err(self.count())
            && let Some(plan) = self.plan_behind(key, capacity)
        {
            return Some(plan);
        }
        let preferred = merged.preferred();
        let near = |distance: usize| {
            let lower = preferred.checked_sub(distance).filter(|cut| *cut >= 1);
            let upper = (distance > 0).then_some(preferred + distance).filter(|cut| *cut < count);
            [lower, upper]
        };
        for with_new in [true, false] {
            let mut cuts = (0..count).flat_map(near).flatten();
            let plan = cuts.find_map(|cut| merged.plan(cut, with_new));
            if plan.is_some() {
                return plan;
            }
        }
        None
    }

    /// The plan that keeps all rows where they are and puts only the key's row into the right leaf, the
    /// preferred one for a row after all others; none if fitting the new fence can only be decided by reading
    /// the rows.
    fn plan_behind(&self, key: &[u8], capacity: usize) -> Option<SplitPlan> {
        let mut last = Vec::new();
        self.key_into(self.count() - 1, &mut last);
        let separator = &key[..=common_bytes(&last, key)];
        let upper = self.upper_fence();
        // The fences come closer, so the keys share at least as many bytes and rows do not grow.
        let dead = usize::from(u16_at(&self.bytes, DEAD_AT));
        let used = self.bytes.len() - self.gap_bytes() - dead;
        let left = used - upper.map_or(0, <[u8]>::len) + separator.len();
        let suffix_bytes = key.len() - prefix_bytes(separator, upper);
        let right = fixed_bytes(separator, upper) + SLOT_BYTES + row_bytes(suffix_bytes, capacity);
        (left <= self.bytes.len() && right <= self.bytes.len())
            .then(|| SplitPlan { left_count: self.count(), separator: separator.to_vec() })
    }

    /// Moves all rows to the page's end, in key order, and drops dead ones.
    pub(super) fn compact(&mut self, grown: Option<(usize, usize)>) {
        let (lower, upper) = (self.lower_fence(), self.upper_fence());
        let mut leaf = Leaf::empty(self.bytes.len(), self.page(), self.tree, lower, upper);
        leaf.fill(&[(self, 0..self.count())], grown);
        // No row was added, removed or moved to another slot, so the counter stays valid.
        leaf.counter = self.counter;
        leaf.last_insert = LastInsert::at(self.last_insert.slot());
        self.become_leaf(leaf);
    }

    /// Copies rows of leaves into this one, which is empty; `grown` is a slot of the only source leaf and its
    /// new capacity. The caller knows that they fit.
    fn fill(&mut self, parts: &[(&Leaf, Range<usize>)], grown: Option<(usize, usize)>) {
        debug_assert!(self.count == 0, "only an empty leaf may be filled");
        let mut key = Vec::new();
        let heads = self.heads_at();
        let count: usize = parts.iter().map(|(_, slots)| slots.len()).sum();
        let offsets = heads + HEAD_BYTES * count;
        let (mut row, mut spare) = (self.bytes.len(), 0);
        let slots =
            parts.iter().flat_map(|(from, slots)| slots.clone().map(move |slot| (*from, slot)));
        for (at, (from, slot)) in slots.enumerate() {
            from.key_into(slot, &mut key);
            let (value, kept) = (from.value(slot), from.capacity_kept(slot));
            let capacity = match grown {
                Some((grown, capacity)) if grown == slot => capacity.max(kept),
                _ => kept,
            };
            let suffix = &key[usize::from(self.prefix)..];
            let tail = suffix.get(HEAD_BYTES..).unwrap_or_default();
            row -= row_bytes(suffix.len(), capacity);
            let content = row + ROW_BYTES + tail.len();
            put_u64(&mut self.bytes, row, from.word(slot).0);
            put_u16(&mut self.bytes, row + SUFFIX_AT, suffix.len() as u16);
            put_u16(&mut self.bytes, row + LENGTH_AT, value.len() as u16);
            put_u16(&mut self.bytes, row + CAPACITY_AT, capacity as u16);
            self.bytes[row + ROW_BYTES..content].copy_from_slice(tail);
            self.bytes[content..content + value.len()].copy_from_slice(value);
            put_u32(&mut self.bytes, heads + HEAD_BYTES * at, head_of(suffix));
            put_u16(&mut self.bytes, offsets + OFFSET_BYTES * at, row as u16);
            spare += capacity - value.len();
        }
        put_u16(&mut self.bytes, HEAP_AT, row as u16);
        self.set_count(count as u16);
        self.spare_max = spare as u16;
        self.update_first_number();
    }

    /// Bytes of those rows with their slots, for a prefix of that length.
    fn rows_bytes(&self, prefix: usize, slots: Range<usize>) -> usize {
        slots
            .map(|slot| {
                SLOT_BYTES + row_bytes(self.key_bytes(slot) - prefix, self.capacity_kept(slot))
            })
            .sum()
    }
}

/// A leaf's rows with one more, or with one of them grown.
struct Merged<'a> {
    leaf: &'a Leaf,
    key: &'a [u8],
    capacity: usize,
    at: Result<usize, usize>,
}

impl Merged<'_> {
    fn count(&self) -> usize {
        self.leaf.count() + usize::from(self.at.is_err())
    }

    /// The preferred split: how many merged rows go left.
    fn preferred(&self) -> usize {
        if self.at == Err(self.leaf.count()) {
            return self.leaf.count();
        }
        let middle = self.middle();
        let Err(at) = self.at else { return middle };
        let goes_on = at == self.leaf.last_insert.slot() + 1 && at >= middle;
        if goes_on { at } else { middle }
    }

    /// The split closest to half of the bytes.
    fn middle(&self) -> usize {
        let prefix = usize::from(self.leaf.prefix);
        let all: usize = (0..self.count()).map(|index| self.row_bytes(index, prefix)).sum();
        let mut left = 0;
        for index in 0..self.count() - 1 {
            let row = self.row_bytes(index, prefix);
            if left + row / 2 >= all / 2 {
                return index.max(1);
            }
            left += row;
        }
        self.count() - 1
    }

    fn row_bytes(&self, index: usize, prefix: usize) -> usize {
        match self.slot(index) {
            None => SLOT_BYTES + row_bytes(self.key.len() - prefix, self.capacity),
            Some(slot) => {
                let kept = self.leaf.capacity_kept(slot);
                let capacity = if self.at == Ok(slot) { self.capacity.max(kept) } else { kept };
                SLOT_BYTES + row_bytes(self.leaf.key_bytes(slot) - prefix, capacity)
            }
        }
    }

    /// The leaf's slot of a merged row; none for the new one.
    fn slot(&self, index: usize) -> Option<usize> {
        match self.at {
            Err(at) if index == at => None,
            Err(at) if index > at => Some(index - 1),
            _ => Some(index),
        }
    }

    fn key_of(&self, index: usize) -> Vec<u8> {
        let mut key = self.key.to_vec();
        if let Some(slot) = self.slot(index) {
            self.leaf.key_into(slot, &mut key);
        }
        key
    }

    /// The plan for a split after `cut` rows, if both sides fit: the existing rows, and with `with_new` also
    /// the new or grown one.
    fn plan(&self, cut: usize, with_new: bool) -> Option<SplitPlan> {
        let (left, mut separator) = (self.key_of(cut - 1), self.key_of(cut));
        separator.truncate(common_bytes(&left, &separator) + 1);
        let left_count = match self.at {
            Err(at) if cut > at => cut - 1,
            _ => cut,
        };
        let (lower, upper) = (self.leaf.lower_fence(), self.leaf.upper_fence());
        let left = self.side_bytes(0..cut, lower, Some(&separator), with_new);
        let right = self.side_bytes(cut..self.count(), &separator, upper, with_new);
        let page_bytes = self.leaf.bytes.len();
        (left <= page_bytes && right <= page_bytes).then_some(SplitPlan { left_count, separator })
    }

    fn side_bytes(
        &self,
        merged: Range<usize>,
        lower: &[u8],
        upper: Option<&[u8]>,
        with_new: bool,
    ) -> usize {
        let prefix = prefix_bytes(lower, upper);
        let rows: usize = if with_new {
            merged.map(|index| self.row_bytes(index, prefix)).sum()
        } else {
            let slots = merged.filter_map(|index| self.slot(index));
            slots.map(|slot| self.leaf.rows_bytes(prefix, slot..slot + 1)).sum()
        };
        fixed_bytes(lower, upper) + rows
    }
}

/// Bytes of a leaf before its heads.
fn fixed_bytes(lower: &[u8], upper: Option<&[u8]>) -> usize {
    HEADER_BYTES + lower.len() + upper.map_or(0, <[u8]>::len)
}

/// The length of the common prefix of all keys between two fences, in bytes.
fn prefix_bytes(lower: &[u8], upper: Option<&[u8]>) -> usize {
    upper.map_or(0, |upper| common_bytes(lower, upper))
}
