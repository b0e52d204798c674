//! What a serializable transaction has read: to be looked at again when its read point moves and when
//! it commits.
//!
//! A *read* is one row that was asked for by its key, there or not. A *node* is the part of a scanned
//! range that lay in one leaf. Both carry the page and the counter that the leaf had: while the counter
//! is the same, the leaf has the same keys in the same slots, and looking again is one look at words.

use crate::buffer::Word;
use crate::ids::PageId;
use crate::txn::arena::Span;
use std::cell::RefCell;
use std::ops::Bound;

/// The slot of a key that was not there.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// The counter that no leaf has: the range is looked at by its keys.
pub(super) const NO_COUNTER: u64 = u64::MAX;

/// A row that was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    /// The place of its tree among the transaction's trees.
    pub(super) tree: u32,
    pub(super) slot: u32,
    pub(super) page: PageId,
    pub(super) counter: u64,
    /// Its word, without the lock of a commit that was under way.
    pub(super) word: Word,
    pub(super) key: Span,
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

/// See the module.
#[derive(Debug, Default)]
pub(super) struct ReadSet {
    pub(super) reads: Vec<Read>,
    pub(super) nodes: Vec<Node>,
    pub(super) scratch: RefCell<Scratch>,
}

/// Keys while ranges are looked at again, kept so that nothing is allocated then.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) key: Vec<u8>,
    pub(super) from: Vec<u8>,
    pub(super) next: Vec<u8>,
}

impl ReadSet {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.nodes.is_empty()
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.reads.clear();
        self.nodes.clear();
    }
}
