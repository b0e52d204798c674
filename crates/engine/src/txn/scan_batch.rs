//! The rows of a scan in one leaf, copied under its latch, and the other state of a scan. All memory is
//! reused: a session that has scanned before allocates nothing for rows.

use crate::buffer::Leaf;
use crate::buffer::VersionWord;
use crate::ids::{Csn, PageId};
use crate::txn::transaction_pool::clear;
use crate::txn::validate::{leaf_position, next_fence};
use std::ops::{Bound, Range};

/// The memory that a session reuses from scan to scan.
#[derive(Debug, Default)]
pub(super) struct ScanMemory {
    pub(super) batch: Batch,
    pub(super) near: Edge,
    pub(super) last: Vec<u8>,
    /// A value from extents.
    pub(super) long: Vec<u8>,
}

impl ScanMemory {
    /// Forgets rows and values. Returns the memory that they keep, in bytes; keys are short.
    #[inline]
    pub(super) fn clear(&mut self) -> usize {
        self.batch.leaf_rows = 0;
        clear(&mut self.long) + clear(&mut self.batch.rows) + clear(&mut self.batch.bytes)
    }
}

/// An end of a range.
#[derive(Debug)]
pub(super) struct Edge {
    kind: Bound<()>,
    key: Vec<u8>,
}

impl Default for Edge {
    fn default() -> Edge {
        Edge { kind: Bound::Unbounded, key: Vec::new() }
    }
}

impl Edge {
    pub(super) fn get(&self) -> Bound<&[u8]> {
        self.kind.map(|()| &self.key[..])
    }

    pub(super) fn set(&mut self, bound: Bound<&[u8]>) {
        self.key.clear();
        self.kind = bound.map(|key| self.key.extend_from_slice(key));
    }
}

/// The rows of the range in one leaf.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// In the scan's direction.
    pub(super) rows: Vec<BatchRow>,
    /// Their keys and values.
    pub(super) bytes: Vec<u8>,
    pub(super) page: PageId,
    pub(super) counter: u64,
    /// The slots of the range.
    pub(super) slots: Range<u32>,
    /// All rows of the leaf; 0 before the first one of a scan.
    pub(super) leaf_rows: usize,
    /// The newest word among them, ghosts included.
    pub(super) newest: Csn,
    /// The start of the rest of the range, if there is one.
    next: Edge,
    has_next: bool,
}

/// A row of a batch.
#[derive(Debug)]
pub(super) struct BatchRow {
    pub(super) key: Range<u32>,
    pub(super) value: Range<u32>,
    /// Without the lock bit of a commit under way.
    pub(super) word: VersionWord,
    pub(super) slot: u32,
}

/// Which rows a batch takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Take<'a> {
    pub(super) lower: Bound<&'a [u8]>,
    pub(super) upper: Bound<&'a [u8]>,
    /// Maximum rows, including taken ghosts: whether the row existed is not known yet.
    pub(super) most: usize,
    /// Ghosts of deletes after that commit are taken, since their rows existed before; none without it.
    pub(super) ghosts_after: Option<Csn>,
}

impl Batch {
    /// Takes rows from one leaf, ascending or descending.
    pub(super) fn take(&mut self, leaf: &Leaf, page: PageId, take: Take<'_>, upwards: bool) {
        self.rows.clear();
        self.bytes.clear();
        self.page = page;
        self.counter = leaf.counter();
        self.leaf_rows = leaf.count();
        self.newest = Csn::ZERO;
        self.has_next = false;
        if upwards {
            self.take_upwards(leaf, take);
        } else {
            self.take_downwards(leaf, take);
        }
    }

    fn take_upwards(&mut self, leaf: &Leaf, take: Take<'_>) {
        let first = leaf_position(leaf, take.lower, false);
        let end = leaf_position(leaf, take.upper, true).max(first);
        for slot in first..end {
            self.take_row(leaf, slot, take.ghosts_after);
            if self.rows.len() == take.most && slot + 1 < end {
                self.slots = first as u32..slot as u32 + 1;
                self.continue_after_last();
                return;
            }
        }
        self.slots = first as u32..end as u32;
        if let Some(fence) = next_fence(leaf, take.upper) {
            self.continue_at(Bound::Included(fence));
        }
    }

    fn take_downwards(&mut self, leaf: &Leaf, take: Take<'_>) {
        let end = leaf_position(leaf, take.upper, true);
        let first = leaf_position(leaf, take.lower, false).min(end);
        for slot in (first..end).rev() {
            self.take_row(leaf, slot, take.ghosts_after);
            if self.rows.len() == take.most && slot > first {
                self.slots = slot as u32..end as u32;
                self.continue_after_last();
                return;
            }
        }
        self.slots = first as u32..end as u32;
        if let Some(fence) = leaf_before(leaf, take.lower) {
            self.continue_at(Bound::Excluded(fence));
        }
    }

    /// The start of the rest of the range; none if the range ends here.
    pub(super) fn next(&self) -> Option<Bound<&[u8]>> {
        self.has_next.then(|| self.next.get())
    }

    /// Swaps that start into `edge`, which is no longer needed; false if there is none.
    pub(super) fn take_next(&mut self, edge: &mut Edge) -> bool {
        std::mem::swap(&mut self.next, edge);
        std::mem::take(&mut self.has_next)
    }

    fn continue_at(&mut self, from: Bound<&[u8]>) {
        self.next.set(from);
        self.has_next = true;
    }

    fn continue_after_last(&mut self) {
        let last = self.rows.last().expect("a truncated batch has a row");
        let key = &self.bytes[last.key.start as usize..last.key.end as usize];
        self.next.set(Bound::Excluded(key));
        self.has_next = true;
    }

    #[inline]
    fn take_row(&mut self, leaf: &Leaf, slot: usize, ghosts_after: Option<Csn>) {
        let word = leaf.word(slot).unlocked();
        self.newest = self.newest.max(word.csn());
        if word.is_ghost() && ghosts_after.is_none_or(|point| word.csn() <= point) {
            return;
        }
        let start = self.bytes.len() as u32;
        let middle = start + leaf.append_row(slot, &mut self.bytes) as u32;
        self.rows.push(BatchRow {
            key: start..middle,
            value: middle..self.bytes.len() as u32,
            word,
            slot: slot as u32,
        });
    }

    /// A key or value.
    #[inline]
    pub(super) fn get(&self, bytes: &Range<u32>) -> &[u8] {
        &self.bytes[bytes.start as usize..bytes.end as usize]
    }
}

/// The lower fence, if the range continues below it.
fn leaf_before<'l>(leaf: &'l Leaf, lower: Bound<&[u8]>) -> Option<&'l [u8]> {
    let fence = leaf.lower_fence();
    let goes_on = !fence.is_empty()
        && match lower {
            Bound::Unbounded => true,
            Bound::Included(key) | Bound::Excluded(key) => key < fence,
        };
    goes_on.then_some(fence)
}
