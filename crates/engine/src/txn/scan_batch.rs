//! The rows of a scan in one leaf, copied under its latch, and the other state of a scan. All memory is
//! reused: a session that has scanned before allocates nothing for rows.

use crate::buffer::VersionWord;
use crate::buffer::{Leaf, RowCopy};
use crate::ids::{Csn, PageId};
use crate::txn::transaction_pool::{BYTES_RETAINED, clear};
use crate::txn::validate::{leaf_position, next_fence};
use std::ops::{Bound, Range};

/// The memory that a session reuses from scan to scan.
#[derive(Debug, Default)]
pub(super) struct ScanMemory {
    pub(super) batch: Batch,
    pub(super) near: Edge,
    pub(super) last: Vec<u8>,
    /// The key of the row that is passed to the visitor.
    pub(super) key: Vec<u8>,
    /// A value from extents.
    pub(super) long: Vec<u8>,
}

impl ScanMemory {
    /// Forgets rows and values. Returns the memory that they keep, in bytes; keys are short.
    #[inline]
    pub(super) fn clear(&mut self) -> usize {
        self.batch.leaf_rows = 0;
        let Batch { rows, versions, version_bytes, .. } = &mut self.batch;
        versions.clear();
        clear(&mut self.long) + rows.clear(BYTES_RETAINED) + clear(version_bytes)
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
    rows: RowCopy,
    /// Rows that were different at the read point, in the order of the batch.
    versions: Vec<Version>,
    version_bytes: Vec<u8>,
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

/// A row of a batch as it was at the read point.
#[derive(Debug)]
struct Version {
    row: usize,
    word: VersionWord,
    value: Range<usize>,
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
        self.rows.begin(leaf);
        self.versions.clear();
        self.version_bytes.clear();
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
                self.rows.copy(leaf);
                self.continue_after_last();
                return;
            }
        }
        self.rows.copy(leaf);
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
                self.rows.copy(leaf);
                self.continue_after_last();
                return;
            }
        }
        self.rows.copy(leaf);
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
        let last = self.rows.len().checked_sub(1).expect("a truncated batch has a row");
        self.rows.begin_key(&mut self.next.key);
        self.rows.read(last, &mut self.next.key);
        self.next.kind = Bound::Excluded(());
        self.has_next = true;
    }

    #[inline]
    fn take_row(&mut self, leaf: &Leaf, slot: usize, ghosts_after: Option<Csn>) {
        let word = leaf.word(slot).unlocked();
        self.newest = self.newest.max(word.csn());
        if word.is_ghost() && ghosts_after.is_none_or(|point| word.csn() <= point) {
            return;
        }
        self.rows.add(leaf, slot);
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The slot of a row.
    pub(super) fn slot(&self, row: usize) -> u32 {
        self.rows.slot(row)
    }

    /// The word of a row in the leaf, without the lock bit of a commit under way.
    #[inline]
    pub(super) fn stored_word(&self, row: usize) -> VersionWord {
        self.rows.word(row).unlocked()
    }

    /// Reads a row at the read point: writes its key into `key`, which holds that of another row of the
    /// batch, and returns its word and its value. `versions` is how many rows before it have versions.
    #[inline]
    pub(super) fn read(
        &self,
        row: usize,
        versions: usize,
        key: &mut Vec<u8>,
    ) -> (VersionWord, &[u8]) {
        let (word, value) = self.rows.read(row, key);
        match self.versions.get(versions) {
            Some(version) if version.row == row => {
                (version.word, &self.version_bytes[version.value.clone()])
            }
            _ => (word.unlocked(), value),
        }
    }

    /// True if the row has a version, and `versions` rows before it.
    #[inline]
    pub(super) fn has_version(&self, row: usize, versions: usize) -> bool {
        self.versions.get(versions).is_some_and(|version| version.row == row)
    }

    /// Sets a row's state at the read point: later rows come later.
    pub(super) fn set_version(&mut self, row: usize, word: VersionWord, value: &[u8]) {
        let start = self.version_bytes.len();
        self.version_bytes.extend_from_slice(value);
        self.versions.push(Version { row, word, value: start..self.version_bytes.len() });
    }

    /// Prepares `key` for [`Batch::read`].
    pub(super) fn begin_key(&self, key: &mut Vec<u8>) {
        self.rows.begin_key(key);
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
