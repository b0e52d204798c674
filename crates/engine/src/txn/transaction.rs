//! The state of an open transaction: its read set, its write set, and its memory.

use crate::access::btree::Tree;
use crate::access::btree::extents::ExtentPointer;
use crate::access::btree::prefetch::PrefetchTarget;
use crate::buffer::VersionWord;
use crate::conflict::Conflict;
use crate::error::{Error, Result};
use crate::ids::{Csn, PageId, TreeId};
use crate::txn::action::Folder;
use crate::txn::arena::Arena;
use crate::txn::commit_gate::ClosedGate;
use crate::txn::commit_path::Marks;
use crate::txn::read_set::ReadSet;
use crate::txn::scan_batch::ScanMemory;
use crate::txn::transaction_pool::clear;
use crate::txn::version::VersionRef;
use crate::txn::write_set::WriteSet;
use std::sync::Arc;

/// How a transaction reads, and what its commit guarantees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Begin {
    /// As if transactions ran one after another. Reads the newest consistent state; the reads are validated
    /// at the commit.
    Serializable,
    /// Reads the state at the begin; of two transactions that write a row, the first to commit wins. A table
    /// or an index that was made after that moment cannot be used: that is
    /// [`Conflict::MadeLater`](crate::Conflict::MadeLater).
    Snapshot,
    /// Writes nothing, reads a stable state that includes this session's own commits. It gets no conflict
    /// from other transactions, but it ends like a snapshot when tables are made or changed, or when memory
    /// for old versions is full. The begin waits until the session's commits are stable.
    ReadOnly,
    /// The same without the wait: this session's last commits may be missing.
    ReadOnlyDurable,
}

/// Trees in the cache before it is emptied.
const KNOWN_TREES_MAX: usize = 32;

/// An open transaction. All parts are reused by the thread's next transaction, see `transaction_pool`.
#[derive(Default)]
pub(super) struct Transaction {
    pub(super) kind: Option<Begin>,
    /// Its parts are timed.
    pub(super) is_measured: bool,
    /// Its session has had a conflict lately: others write what it reads.
    pub(super) is_wary: bool,
    /// The times of its commit path, if it is timed.
    pub(super) marks: Marks,
    /// The session's seat in the registry, and its counter in the gate.
    pub(super) seat: u32,
    /// Every read shows the state after this commit.
    pub(super) read_point: Csn,
    /// The newest commit among the rows that were read.
    pub(super) newest_read: Csn,
    /// The conflict that prevents its commit.
    pub(super) broken: Option<Conflict>,
    /// The closed gate, if the transaction is exclusive.
    pub(super) alone: Option<ClosedGate>,
    pub(super) trees: Vec<Arc<Tree>>,
    /// Trees of earlier transactions. Counting a reference to a tree at each use would take the cache line
    /// with everything that others read of the tree away from their cores.
    pub(super) known_trees: Vec<Arc<Tree>>,
    pub(super) arena: Arena,
    pub(super) writes: WriteSet,
    pub(super) reads: ReadSet,
    /// The last value that was read.
    pub(super) value: Vec<u8>,
    /// A value read outside its leaf: an older version, or one of extents.
    pub(super) elsewhere: Vec<u8>,
    pub(super) folder: Folder,
    pub(super) scan: ScanMemory,
    pub(super) commit: Commit,
    /// The memory kept by the parts for writes, in bytes, as of the last transaction that wrote.
    write_memory_bytes: usize,
}

/// The working memory of a commit.
#[derive(Default)]
pub(super) struct Commit {
    /// The log record, which also holds the after-images.
    pub(super) record: Vec<u8>,
    /// Operations on whole trees that precede the rows in the record, and those that follow them.
    pub(super) before_rows: Vec<u8>,
    pub(super) behind_rows: Vec<u8>,
    /// The bytes of the log permit.
    pub(super) record_bytes_max: usize,
    /// In the order in which they are locked.
    pub(super) rows: Vec<Row>,
    /// Targets of the batched prefetch before rows are locked.
    pub(super) ahead: Vec<PrefetchTarget>,
    /// Values of extents to be freed, as extent pointers one after another.
    pub(super) pointers: Vec<u8>,
    /// Records for the row log of an index under construction.
    pub(super) row_changes: Vec<u8>,
    /// The longest row that patches have made, in bytes: of this transaction, and before its plan of the
    /// previous one in this memory.
    pub(super) patched_bytes: usize,
    /// The assumed length of each patched row, in bytes, before it is computed.
    pub(super) patched_bytes_guess: usize,
    /// What the record takes beyond the assumed length, in bytes, if known.
    pub(super) more_bytes: usize,
    /// The least length of the record, in bytes.
    pub(super) plain_bytes: usize,
    /// How often this commit has reclaimed memory.
    pub(super) reclaims: u64,
}

/// A row to be written, during its commit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) write: u32,
    pub(super) slot: u32,
    /// Its leaf; before it is locked, the likely one, if known.
    pub(super) page: Option<PageId>,
    /// Its key differs from that of the row before only in the last byte, so it is likely in the same leaf.
    pub(super) follows: bool,
    /// The leaf's counter when the row was locked: while it is unchanged, so is the slot.
    pub(super) counter: u64,
    /// Its word, without the lock bit.
    pub(super) was: VersionWord,
    pub(super) after: After,
    pub(super) is_locked: bool,
    pub(super) version: Option<VersionRef>,
    /// The extents of its new value; still detached.
    pub(super) pointer: Option<ExtentPointer>,
}

/// The new state of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Unchanged.
    Same,
    /// The value with that position and length in the record.
    Value { start: usize, bytes: usize },
    /// The old value with pieces replaced; the pieces have that position and length in the record.
    Spliced { start: usize, bytes: usize },
    /// Deleted.
    Deleted,
}

impl Commit {
    /// True if the record has operations on whole trees.
    #[inline]
    pub(super) fn has_whole_trees(&self) -> bool {
        !self.before_rows.is_empty() || !self.behind_rows.is_empty()
    }

    #[inline]
    fn clear(&mut self) -> usize {
        clear(&mut self.record)
            + clear(&mut self.before_rows)
            + clear(&mut self.behind_rows)
            + clear(&mut self.rows)
            + clear(&mut self.row_changes)
            + clear(&mut self.ahead)
            + clear(&mut self.pointers)
    }
}

impl Transaction {
    /// Its index among the transaction's trees; the first use adds it.
    #[inline]
    pub(super) fn tree(&mut self, tree: &Arc<Tree>) -> Result<u32> {
        // The last used tree is checked first.
        if let Some(at) = self.trees.iter().rposition(|known| Arc::ptr_eq(known, tree)) {
            return Ok(at as u32);
        }
        if tree.is_dropped() {
            return Err(self.conflict(Conflict::Dropped));
        }
        let known = self.known_trees.iter().position(|known| Arc::ptr_eq(known, tree));
        let tree = match known {
            Some(at) => self.known_trees.swap_remove(at),
            None => Arc::clone(tree),
        };
        self.trees.push(tree);
        Ok(self.trees.len() as u32 - 1)
    }

    /// True if reads must be validated.
    #[inline]
    pub(super) fn is_validated(&self) -> bool {
        self.kind == Some(Begin::Serializable)
    }

    /// True if nothing may be written.
    #[inline]
    pub(super) fn is_read_only(&self) -> bool {
        matches!(self.kind, Some(Begin::ReadOnly | Begin::ReadOnlyDurable))
    }

    /// The newest commit on which the reads depend. A snapshot may have read newer rows, only to learn that
    /// their older versions are the visible ones.
    #[inline]
    pub(super) fn depends_on(&self) -> Csn {
        self.newest_read.min(self.read_point)
    }

    /// Breaks the transaction: it must be run again.
    pub(super) fn conflict(&mut self, conflict: Conflict) -> Error {
        self.broken.get_or_insert(conflict);
        Error::Conflict(conflict)
    }

    /// Fails if it is broken.
    #[inline]
    pub(super) fn check(&self) -> Result<()> {
        assert!(self.kind.is_some(), "a transaction must begin before it is used");
        match self.broken {
            None => Ok(()),
            Some(conflict) => Err(Error::Conflict(conflict)),
        }
    }

    /// Forgets everything. Returns the memory that it keeps, in bytes; parts that have grown unusually large
    /// are freed.
    #[inline]
    pub(super) fn clear(&mut self) -> usize {
        self.kind = None;
        self.broken = None;
        self.alone = None;
        if self.trees.len() + self.known_trees.len() > KNOWN_TREES_MAX {
            self.known_trees.clear();
        }
        self.known_trees.append(&mut self.trees);
        self.newest_read = Csn::ZERO;
        // A transaction that only reads does not touch half of its parts.
        if !self.writes.is_untouched() || self.commit.has_whole_trees() {
            self.write_memory_bytes =
                self.writes.clear() + self.folder.clear() + self.commit.clear();
        }
        self.write_memory_bytes
            + self.arena.clear()
            + self.reads.clear()
            + clear(&mut self.value)
            + clear(&mut self.elsewhere)
            + self.scan.clear()
    }

    /// True if the transaction has a write of that row. During its commit, once all rows are locked, this
    /// tells its own locks from those of others.
    #[inline]
    pub(super) fn writes_row(&self, tree: TreeId, key: &[u8]) -> bool {
        self.writes.find(&self.arena, tree, key).is_some()
    }
}
