//! The read set of a serializable transaction, checked again when its read point moves and when it commits.
//!
//! A *read* is one row that was looked up by its key, present or absent. A *node* is the part of a scanned
//! range that lay in one leaf. Both carry the page and the counter of the leaf: while the counter is
//! unchanged, the leaf has the same keys in the same slots, and a check only compares words.

use crate::buffer::VersionWord;
use crate::conflict::Conflict;
use crate::ids::PageId;
use crate::txn::arena::{Arena, Span};
use crate::txn::transaction_pool::clear;
use std::cell::RefCell;
use std::ops::Bound;

/// The slot of an absent key.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// A counter that no leaf has: the range must be checked by its keys.
pub(super) const NO_COUNTER: u64 = u64::MAX;

/// Reads that are searched for the read of a row to be written.
const SEARCH_MAX: usize = 32;

/// A row that was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    /// The index of its tree among the transaction's trees.
    pub(super) tree: u32,
    pub(super) slot: u32,
    pub(super) page: PageId,
    pub(super) counter: u64,
    /// Its word, without the lock bit.
    pub(super) word: VersionWord,
    pub(super) key: Span,
    /// The transaction's commit has locked the row, and it was unchanged then.
    pub(super) is_held: bool,
}

/// A part of a range that was read, within one leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) tree: u32,
    pub(super) page: PageId,
    pub(super) counter: u64,
    /// The slots of the range.
    pub(super) first: u32,
    pub(super) slots: u32,
    pub(super) lower: Bound<Span>,
    pub(super) upper: Bound<Span>,
}

/// The reads and ranges of a transaction.
#[derive(Debug, Default)]
pub(super) struct ReadSet {
    pub(super) reads: Vec<Read>,
    pub(super) nodes: Vec<Node>,
    /// Bytes of their keys.
    pub(super) key_bytes: usize,
    /// Where the next search for a read begins.
    next: usize,
    pub(super) scratch: RefCell<Scratch>,
}

/// Memory for keys while ranges are checked again, so that nothing is allocated then.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) key: Vec<u8>,
    pub(super) from: Vec<u8>,
    pub(super) next: Vec<u8>,
}

impl Read {
    /// The conflict if the row has changed.
    pub(super) fn changed(&self) -> Conflict {
        if self.word.is_ghost() { Conflict::Phantom } else { Conflict::ReadChanged }
    }
}

impl ReadSet {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.nodes.is_empty()
    }

    /// The index of a row's read, if there is one nearby. Writes usually follow the order of reads, so a
    /// search begins after the last result.
    #[inline]
    pub(super) fn find(&mut self, arena: &Arena, tree: u32, key: &[u8]) -> Option<u32> {
        let (passed, to_come) = self.reads.split_at_checked(self.next)?;
        let is_it = |read: &&Read| read.tree == tree && arena.get(read.key) == key;
        let mut candidates = to_come.iter().chain(passed).take(SEARCH_MAX).enumerate();
        let (behind, _) = candidates.find(|(_, read)| is_it(read))?;
        let at = (self.next + behind) % self.reads.len();
        self.next = (at + 1) % self.reads.len();
        Some(at as u32)
    }

    /// Its memory in bytes, including keys.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.reads.len() * size_of::<Read>() + self.nodes.len() * size_of::<Node>() + self.key_bytes
    }

    /// Forgets everything. Returns the memory that it keeps, in bytes; keys are short.
    #[inline]
    pub(super) fn clear(&mut self) -> usize {
        self.next = 0;
        self.key_bytes = 0;
        clear(&mut self.reads) + clear(&mut self.nodes)
    }
}
