//! A transaction as its session holds it: what it has read and what it is going to write.

use crate::access::btree::Tree;
use crate::access::btree::overflow::OverflowPointer;
use crate::access::btree::prefetch::PrefetchTarget;
use crate::buffer::VersionWord;
use crate::error::{Error, Result};
use crate::ids::{Csn, PageId, TreeId};
use crate::txn::action::Folder;
use crate::txn::arena::Arena;
use crate::txn::commit_gate::ClosedGate;
use crate::txn::commit_path::Marks;
use crate::txn::conflict::Conflict;
use crate::txn::read_set::ReadSet;
use crate::txn::scan_batch::ScanMemory;
use crate::txn::transaction_pool::clear;
use crate::txn::version::VersionRef;
use crate::txn::write_set::WriteSet;
use std::sync::Arc;

/// How a transaction reads, and what its commit promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Begin {
    /// As if transactions ran one after another. Reads the newest that is consistent; what was read is
    /// validated at the commit.
    Serializable,
    /// Reads the moment of the begin; of two transactions that write a row, the first to commit wins. A
    /// table or an index that was made after that moment cannot be used: that is
    /// [`Conflict::MadeLater`](crate::Conflict::MadeLater).
    Snapshot,
    /// Writes nothing, reads what is stable and includes this session's own commits. No other
    /// transaction makes it conflict, but it ends like a snapshot where tables are made or changed, or
    /// memory for old versions is full. The begin waits until the session's commits are stable.
    ReadOnly,
    /// The same without waiting: this session's last commits may be missing.
    ReadOnlyAtHorizon,
}

/// So many trees are known; then that begins anew.
const KNOWN_TREES_MAX: usize = 32;

/// See the module. Everything is used again by the thread's next transaction, see `idle`.
#[derive(Default)]
pub(super) struct Transaction {
    pub(super) kind: Option<Begin>,
    /// Its parts are measured.
    pub(super) is_measured: bool,
    /// Its session has lost lately: others write what it reads.
    pub(super) is_wary: bool,
    /// The moments of its way, if they are.
    pub(super) marks: Marks,
    /// The session's place in the registry and its counter in the gate.
    pub(super) seat: u32,
    /// Everything read is as it was after this commit.
    pub(super) read_point: Csn,
    /// The newest commit whose row was looked at.
    pub(super) seen: Csn,
    /// Why it cannot be committed any more.
    pub(super) broken: Option<Conflict>,
    /// The gate, if the transaction runs alone.
    pub(super) alone: Option<ClosedGate>,
    pub(super) trees: Vec<Arc<Tree>>,
    /// Trees of transactions before. To count one's users at each use would take the line
    /// with what all others read of the tree from their cores.
    pub(super) known_trees: Vec<Arc<Tree>>,
    pub(super) arena: Arena,
    pub(super) writes: WriteSet,
    pub(super) reads: ReadSet,
    /// The value that was read last.
    pub(super) value: Vec<u8>,
    /// A value that is read and is not in its leaf: an older version, or one of overflow pages.
    pub(super) elsewhere: Vec<u8>,
    pub(super) folder: Folder,
    pub(super) scan: ScanMemory,
    pub(super) commit: Commit,
    /// The memory that the parts for writes keep, in bytes, as of the last transaction that wrote.
    kept_for_writes: usize,
}

/// What a commit works with.
#[derive(Default)]
pub(super) struct Commit {
    /// The log record, which is where after-images are kept, too.
    pub(super) record: Vec<u8>,
    /// Operations on whole trees that stand before the rows in the record, and behind them.
    pub(super) before_rows: Vec<u8>,
    pub(super) behind_rows: Vec<u8>,
    /// What the log permit is for.
    pub(super) record_bytes_max: usize,
    /// The rows, in the order in which they are locked.
    pub(super) rows: Vec<Row>,
    /// What is gone ahead of before rows are locked.
    pub(super) ahead: Vec<PrefetchTarget>,
    /// Values of overflow pages that are to be freed, as overflow pointers one after another.
    pub(super) pointers: Vec<u8>,
    /// Records for the row log of an index under construction.
    pub(super) row_changes: Vec<u8>,
    /// The longest row that patches have made, in bytes: of this transaction, and before its plan of the
    /// one before in this memory.
    pub(super) patched_bytes: usize,
    /// How long each patched row is thought to be, in bytes, before it is computed.
    pub(super) patched_bytes_thought: usize,
    /// What the record takes beyond what was thought, in bytes, as far as this transaction has found out.
    pub(super) more_bytes: usize,
    /// What the record takes in any case, in bytes.
    pub(super) plain_bytes: usize,
    /// How often this commit has made memory free.
    pub(super) reclaims: u64,
}

/// A row that is to be written, at its commit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) write: u32,
    pub(super) slot: u32,
    /// Its leaf; before it is locked the one that it is likely in, if that is known.
    pub(super) page: Option<PageId>,
    /// It differs from the row before in the last byte of its key only, and is likely in the same leaf.
    pub(super) follows: bool,
    /// The leaf's counter when the row was locked: while it is the same, so is the slot.
    pub(super) counter: u64,
    /// Its word, without the lock.
    pub(super) was: VersionWord,
    pub(super) after: After,
    pub(super) is_locked: bool,
    pub(super) version: Option<VersionRef>,
    /// The overflow pages of the value that it becomes; still detached.
    pub(super) pointer: Option<OverflowPointer>,
}

/// What a row becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// What it was.
    Same,
    /// The value of that many bytes at that place in the record.
    Value { start: usize, bytes: usize },
    /// What it was, with pieces put in, which are those bytes at that place in the record.
    Spliced { start: usize, bytes: usize },
    /// It goes.
    Deleted,
}

impl Commit {
    /// True if the record gets operations on whole trees.
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
    /// Its place among the transaction's trees; the first use adds it.
    #[inline]
    pub(super) fn tree(&mut self, tree: &Arc<Tree>) -> Result<u32> {
        // The tree used last comes first.
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

    /// True if what is read must be validated.
    #[inline]
    pub(super) fn is_validated(&self) -> bool {
        self.kind == Some(Begin::Serializable)
    }

    /// True if nothing may be written.
    #[inline]
    pub(super) fn is_read_only(&self) -> bool {
        matches!(self.kind, Some(Begin::ReadOnly | Begin::ReadOnlyAtHorizon))
    }

    /// The newest commit that what was read depends on. A snapshot may have looked at newer rows, to
    /// find that their older versions are what it sees.
    #[inline]
    pub(super) fn depends_on(&self) -> Csn {
        self.seen.min(self.read_point)
    }

    /// Breaks the transaction: it must be run again.
    pub(super) fn conflict(&mut self, conflict: Conflict) -> Error {
        self.broken.get_or_insert(conflict);
        Error::Conflict(conflict)
    }

    /// Fails if it is broken.
    #[inline]
    pub(super) fn check(&self) -> Result<()> {
        assert!(self.kind.is_some(), "a transaction is begun before it is used");
        match self.broken {
            None => Ok(()),
            Some(conflict) => Err(Error::Conflict(conflict)),
        }
    }

    /// Forgets everything but its memory, of which it returns the bytes. Parts that have grown unusually
    /// large go to the allocator.
    #[inline]
    pub(super) fn clear(&mut self) -> usize {
        self.kind = None;
        self.broken = None;
        self.alone = None;
        if self.trees.len() + self.known_trees.len() > KNOWN_TREES_MAX {
            self.known_trees.clear();
        }
        self.known_trees.append(&mut self.trees);
        self.seen = Csn::ZERO;
        // A transaction that only reads leaves half of its parts as they are.
        if !self.writes.is_untouched() || self.commit.has_whole_trees() {
            self.kept_for_writes = self.writes.clear() + self.folder.clear() + self.commit.clear();
        }
        self.kept_for_writes
            + self.arena.clear()
            + self.reads.clear()
            + clear(&mut self.value)
            + clear(&mut self.elsewhere)
            + self.scan.clear()
    }

    /// True if the transaction has a write of that row; at its commit, once all rows are locked, this
    /// says whose a lock is.
    #[inline]
    pub(super) fn writes_row(&self, tree: TreeId, key: &[u8]) -> bool {
        self.writes.find(&self.arena, tree, key).is_some()
    }
}
