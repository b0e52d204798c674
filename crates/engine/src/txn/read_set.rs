//! What a serializable transaction has read: to be looked at again when its read point moves and when
//! it commits.
//!
//! A *read* is one row that was asked for by its key, there or not. A *node* is the part of a scanned
//! range that lay in one leaf. Both carry the page and the counter that the leaf had: while the counter
//! is the same, the leaf has the same keys in the same slots, and looking again is one look at words.

use crate::buffer::VersionWord;
use crate::ids::PageId;
use crate::txn::arena::{Arena, Span};
use crate::txn::conflict::Conflict;
use crate::txn::transaction_pool::clear;
use std::cell::RefCell;
use std::ops::Bound;

/// The slot of a key that was not there.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// The counter that no leaf has: the range is looked at by its keys.
pub(super) const NO_COUNTER: u64 = u64::MAX;

/// So many reads are looked at for that of a row to be written.
const LOOKS_MAX: usize = 32;

/// A row that was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    /// The place of its tree among the transaction's trees.
    pub(super) tree: u32,
    pub(super) slot: u32,
    pub(super) page: PageId,
    pub(super) counter: u64,
    /// Its word, without the lock of a commit that was under way.
    pub(super) word: VersionWord,
    pub(super) key: Span,
    /// The transaction's commit has locked the row, and found it unchanged then.
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

/// See the module.
#[derive(Debug, Default)]
pub(super) struct ReadSet {
    pub(super) reads: Vec<Read>,
    pub(super) nodes: Vec<Node>,
    /// Bytes of their keys.
    pub(super) key_bytes: usize,
    /// Where the next look for a read begins.
    next: usize,
    pub(super) scratch: RefCell<Scratch>,
}

/// Keys while ranges are looked at again, kept so that nothing is allocated then.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) key: Vec<u8>,
    pub(super) from: Vec<u8>,
    pub(super) next: Vec<u8>,
}

impl Read {
    /// What is told if it is not as it was.
    pub(super) fn changed(&self) -> Conflict {
        if self.word.is_ghost() { Conflict::Phantom } else { Conflict::ReadChanged }
    }
}

impl ReadSet {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.nodes.is_empty()
    }

    /// The place of a row's read, if there is one, and it is soon found: what is read is mostly written in
    /// the same order, so a look begins behind what the last one has found.
    #[inline]
    pub(super) fn find(&mut self, arena: &Arena, tree: u32, key: &[u8]) -> Option<u32> {
        let (passed, to_come) = self.reads.split_at_checked(self.next)?;
        let is_it = |read: &&Read| read.tree == tree && arena.get(read.key) == key;
        let mut looks = to_come.iter().chain(passed).take(LOOKS_MAX).enumerate();
        let (behind, _) = looks.find(|(_, read)| is_it(read))?;
        let at = (self.next + behind) % self.reads.len();
        self.next = (at + 1) % self.reads.len();
        Some(at as u32)
    }

    /// What it takes, in bytes, its keys included.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.reads.len() * size_of::<Read>() + self.nodes.len() * size_of::<Node>() + self.key_bytes
    }

    /// Forgets everything; returns the memory that it keeps, in bytes. Keys are short.
    #[inline]
    pub(super) fn clear(&mut self) -> usize {
        self.next = 0;
        self.key_bytes = 0;
        clear(&mut self.reads) + clear(&mut self.nodes)
    }
}
