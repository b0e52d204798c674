//! The rows of a scan that lie in one leaf, copied out under its latch.

use crate::buffer::Leaf;
use crate::buffer::Word;
use crate::ids::{Csn, PageId};
use crate::txn::validate::{leaf_position, next_fence};
use std::ops::{Bound, Range};

/// The rows of the range in one leaf. The memory is kept from scan to scan.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// In the scan's direction.
    pub(super) rows: Vec<BatchRow>,
    /// Their keys and values.
    pub(super) bytes: Vec<u8>,
    key: Vec<u8>,
    pub(super) page: PageId,
    pub(super) counter: u64,
    /// The slots of the range.
    pub(super) slots: Range<u32>,
    /// The newest word among them, ghosts included.
    pub(super) newest: Csn,
    /// Where the range goes on after this batch; none if it ends with it.
    pub(super) next: Option<Bound<Vec<u8>>>,
}

/// A row of a batch.
#[derive(Debug)]
pub(super) struct BatchRow {
    pub(super) key: Range<u32>,
    pub(super) value: Range<u32>,
    /// Without the lock of a commit that was under way.
    pub(super) word: Word,
    pub(super) slot: u32,
}

/// Which rows a batch takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Take<'a> {
    pub(super) lower: Bound<&'a [u8]>,
    pub(super) upper: Bound<&'a [u8]>,
    /// At most so many.
    pub(super) most: usize,
    pub(super) with_ghosts: bool,
}

impl Batch {
    /// Takes rows upwards or downwards from one leaf.
    pub(super) fn take(&mut self, leaf: &Leaf, page: PageId, take: Take<'_>, upwards: bool) {
        self.rows.clear();
        self.bytes.clear();
        self.page = page;
        self.counter = leaf.counter();
        self.newest = Csn::ZERO;
        self.next = None;
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
            self.take_row(leaf, slot, take.with_ghosts);
            if self.rows.len() == take.most && slot + 1 < end {
                self.slots = first as u32..slot as u32 + 1;
                self.next = Some(Bound::Excluded(self.last_key().to_vec()));
                return;
            }
        }
        self.slots = first as u32..end as u32;
        self.next = next_fence(leaf, take.upper).map(|fence| Bound::Included(fence.to_vec()));
    }

    fn take_downwards(&mut self, leaf: &Leaf, take: Take<'_>) {
        let end = leaf_position(leaf, take.upper, true);
        let first = leaf_position(leaf, take.lower, false).min(end);
        for slot in (first..end).rev() {
            self.take_row(leaf, slot, take.with_ghosts);
            if self.rows.len() == take.most && slot > first {
                self.slots = slot as u32..end as u32;
                self.next = Some(Bound::Excluded(self.last_key().to_vec()));
                return;
            }
        }
        self.slots = first as u32..end as u32;
        self.next = leaf_before(leaf, take.lower).map(Bound::Excluded);
    }

    #[inline]
    fn take_row(&mut self, leaf: &Leaf, slot: usize, with_ghosts: bool) {
        let word = leaf.word(slot).unlocked();
        self.newest = self.newest.max(word.csn());
        if word.is_ghost() && !with_ghosts {
            return;
        }
        let start = self.bytes.len() as u32;
        leaf.key_into(slot, &mut self.key);
        self.bytes.extend_from_slice(&self.key);
        let middle = self.bytes.len() as u32;
        self.bytes.extend_from_slice(leaf.value(slot));
        self.rows.push(BatchRow {
            key: start..middle,
            value: middle..self.bytes.len() as u32,
            word,
            slot: slot as u32,
        });
    }

    fn last_key(&self) -> &[u8] {
        let last = self.rows.last().expect("a batch was cut behind a row");
        self.get(&last.key)
    }

    /// A key or value.
    #[inline]
    pub(super) fn get(&self, bytes: &Range<u32>) -> &[u8] {
        &self.bytes[bytes.start as usize..bytes.end as usize]
    }
}

/// The lower fence, if the range goes on below it.
fn leaf_before(leaf: &Leaf, lower: Bound<&[u8]>) -> Option<Vec<u8>> {
    let fence = leaf.lower_fence();
    let goes_on = !fence.is_empty()
        && match lower {
            Bound::Unbounded => true,
            Bound::Included(key) | Bound::Excluded(key) => key < fence,
        };
    goes_on.then(|| fence.to_vec())
}
