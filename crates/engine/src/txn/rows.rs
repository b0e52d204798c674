//! The calls by which a session reads and writes rows.
//!
//! Writes are blind: they stay in the transaction until its commit, which checks whether rows exist.

use crate::access::btree::Tree;
use crate::conflict::Conflict;
use crate::error::{Error, Result};
use crate::ids::{Csn, PageId, TreeId};
use crate::planted_bug::{PlantedBug, planted};
use crate::txn::action::{Action, PatchFn};
use crate::txn::arena::Span;
use crate::txn::core::Core;
use crate::txn::own_writes::{get_own, refuse_duplicate};
use crate::txn::part_timers::Part;
use crate::txn::read::{copy, move_read_point, read};
use crate::txn::record::put_bytes_max;
use crate::txn::refusal::refuse_call;
use crate::txn::row_view_guard::ViewGuard;
use crate::txn::scan::{Scan, scan};
use crate::txn::session::Session;
use crate::txn::transaction::Transaction;
use std::ops::ControlFlow;
use std::sync::Arc;
use syncline_vfs::Disk;

impl<D: Disk> Session<D> {
    /// Passes tree and key of each row that the open transaction writes.
    pub(crate) fn each_write(&self, each: &mut dyn FnMut(&Tree, &[u8])) {
        if let Some(txn) = self.transaction() {
            for write in txn.writes.all() {
                each(&txn.trees[write.tree as usize], txn.arena.get(write.key));
            }
        }
    }

    /// The value of a row; none if it does not exist.
    #[inline]
    pub(crate) fn get(&mut self, tree: &Arc<Tree>, key: &[u8]) -> Result<Option<&[u8]>> {
        self.get_at(tree, None, key)
    }

    /// The same. The hint names the leaf that likely covers the key.
    #[inline]
    pub(crate) fn get_at(
        &mut self,
        tree: &Arc<Tree>,
        hint: Option<PageId>,
        key: &[u8],
    ) -> Result<Option<&[u8]>> {
        let (core, txn) = self.open()?;
        txn.check()?;
        let tree_index = tree_index(core, txn, tree)?;
        if let Some(at) = txn.writes.find(&txn.arena, tree.id, key) {
            return get_own(core, txn, ((tree_index, hint), key), at);
        }
        let _doing = core.watch.enter(Part::Read, txn.is_measured);
        let is_there = copy(core, txn, (tree_index, hint), key)?;
        Ok(is_there.then_some(&txn.value))
    }

    /// Checks the row of an index entry against the transaction's own inserts: refuses if the transaction
    /// inserts it although it is stored.
    #[inline]
    pub(crate) fn check_inserted(
        &mut self,
        tree: &Arc<Tree>,
        hint: Option<PageId>,
        key: &[u8],
    ) -> Result<()> {
        let (core, txn) = self.open()?;
        let Some(at) = txn.writes.find(&txn.arena, tree.id, key) else {
            return Ok(());
        };
        let tree_index = tree_index(core, txn, tree)?;
        refuse_duplicate(core, txn, ((tree_index, hint), key), at)
    }

    /// The value of the row that an index entry leads to.
    #[inline]
    pub(crate) fn get_of_entry(
        &mut self,
        tree: &Arc<Tree>,
        hint: Option<PageId>,
        key: &[u8],
    ) -> Result<Option<&[u8]>> {
        let (_, txn) = self.open()?;
        if !txn.writes.is_empty() {
            self.check_inserted(tree, hint, key)?;
        }
        self.get_at(tree, hint, key)
    }

    /// Passes the value of a row to `look` in place; none if the row does not exist. A leaf is latched
    /// meanwhile: `look` must neither wait nor use the store.
    #[inline]
    pub(crate) fn show_at<R>(
        &mut self,
        tree: &Arc<Tree>,
        hint: Option<PageId>,
        key: &[u8],
        look: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let (core, txn) = self.open()?;
        txn.check()?;
        let tree_index = tree_index(core, txn, tree)?;
        if let Some(at) = txn.writes.find(&txn.arena, tree.id, key) {
            return Ok(get_own(core, txn, ((tree_index, hint), key), at)?.map(look));
        }
        let _doing = core.watch.enter(Part::Read, txn.is_measured);
        let (mut look, mut result) = (Some(look), None);
        read(core, txn, (tree_index, hint), key, |value| {
            let look = look.take().expect("a row is shown once");
            let _shown = ViewGuard::begin();
            result = Some(look(value));
        })?;
        Ok(result)
    }

    /// Sets a row, whether it exists or not.
    #[inline]
    pub(crate) fn put(&mut self, tree: &Arc<Tree>, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(tree, key, value, Action::Put)
    }

    /// Adds a row. If it exists, the commit is refused with [`Error::Duplicate`].
    #[inline]
    pub(crate) fn insert(&mut self, tree: &Arc<Tree>, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(tree, key, value, Action::Insert)
    }

    /// Replaces a row. If there is none, the commit is refused with [`Error::Absent`].
    #[inline]
    pub(crate) fn update(&mut self, tree: &Arc<Tree>, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(tree, key, value, Action::Update)
    }

    /// Deletes a row. If there is none, the commit is refused with [`Error::Absent`].
    #[inline]
    pub(crate) fn delete(&mut self, tree: &Arc<Tree>, key: &[u8]) -> Result<()> {
        self.write(tree, key, &[], |_| Action::Delete)
    }

    /// Changes parts of a row, computed from its state when the commit has locked it. If there is no row or
    /// the patch does not fit it, the commit is refused.
    #[inline]
    pub(crate) fn patch(
        &mut self,
        tree: &Arc<Tree>,
        key: &[u8],
        apply: PatchFn,
        patch: &[u8],
    ) -> Result<()> {
        self.write(tree, key, patch, |patch| Action::Patch(apply, patch))
    }

    /// Passes the rows of a range to `visitor`, in order, until it breaks or the limit is reached.
    pub(crate) fn scan(
        &mut self,
        tree: &Arc<Tree>,
        range: Scan<'_>,
        mut visitor: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let (core, txn) = self.open()?;
        txn.check()?;
        let tree_index = tree_index(core, txn, tree)?;
        let _doing = core.watch.enter(Part::Scan, txn.is_measured);
        match scan(core, txn, tree_index, range, &mut visitor)? {
            Ok(()) => Ok(()),
            Err((refusal, at)) => {
                let key = txn.arena.get(txn.writes.get(at).key).to_vec();
                Err(refuse_call(core, txn, (tree_index, &key), refusal))
            }
        }
    }

    #[inline]
    fn write(
        &mut self,
        tree: &Arc<Tree>,
        key: &[u8],
        value: &[u8],
        action: impl FnOnce(Span) -> Action,
    ) -> Result<()> {
        let (core, txn) = self.open()?;
        txn.check()?;
        if txn.is_read_only() {
            core.check_writable()?;
            return Err(Error::ReadOnly);
        }
        let _doing = core.watch.enter(Part::Write, txn.is_measured);
        core.check_row(txn, key, value)?;
        let tree_index = tree_index(core, txn, tree)?;
        let action = action(txn.arena.next(value.len()));
        let record_bytes_max = core.log.record_bytes_max();
        let bytes = put_bytes_max(key.len(), value.len());
        if txn.writes.record_bytes_min + bytes > record_bytes_max {
            check_record(txn, (tree.id, key), action, record_bytes_max)?;
        }
        txn.arena.add(value);
        let read = match action {
            Action::Insert(_) => None,
            _ => txn.reads.find(&txn.arena, tree_index, key),
        };
        let added = txn.writes.add(&mut txn.arena, (tree.id, tree_index), (key, read), action);
        added.map_err(|refusal| refuse_call(core, txn, (tree_index, key), refusal))
    }
}

/// Fails if no log record could hold the transaction with that write.
#[cold]
fn check_record(
    txn: &Transaction,
    (tree, key): (TreeId, &[u8]),
    action: Action,
    bytes_max: usize,
) -> Result<()> {
    let bytes = txn.writes.record_bytes_min_with(&txn.arena, (tree, key), action);
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(Error::TooLarge { bytes: bytes as u64, bytes_max: bytes_max as u64 })
}

/// The tree's index among those of the transaction. A tree must have been made at or before the read point:
/// earlier it did not exist, and its current rows do not show that.
#[inline]
fn tree_index<D: Disk>(core: &Core<D>, txn: &mut Transaction, tree: &Arc<Tree>) -> Result<u32> {
    if tree.since() > txn.read_point {
        move_to_creation(core, txn, tree.since())?;
    }
    txn.tree(tree)
}

/// Moves the read point to the commit that made a tree. A snapshot cannot move: that is a conflict.
#[cold]
fn move_to_creation<D: Disk>(core: &Core<D>, txn: &mut Transaction, since: Csn) -> Result<()> {
    if txn.is_validated() {
        return move_read_point(core, txn, since);
    }
    if planted(PlantedBug::UseBeforeCreation) {
        return Ok(());
    }
    Err(txn.conflict(Conflict::MadeLater))
}
