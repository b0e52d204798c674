//! The write set of a transaction, private in its session until the commit.
//!
//! A write is a row's name with a chain of operations in the order of their calls. Writes are blind: whether
//! the row exists is checked when it is locked, and only then a patch is computed. [`WriteSet::fold`] turns
//! the row's old state into its new one, or into a refusal. Chains only grow at their end, so a savepoint is
//! a length, and rolling back to it removes operations from the end.
//!
//! Names and values are in the transaction's arena. Nothing is allocated once the vectors have grown.

use crate::ids::TreeId;
use crate::planted_bug::{PlantedBug, planted};
use crate::txn::action::{Action, FoldedRow, Folder, Refusal};
use crate::txn::arena::{Arena, Span};
use crate::txn::hash::hash;
use crate::txn::transaction_pool::clear;
use std::cmp::Ordering;

const NONE: u32 = u32::MAX;

/// Up to this many writes are searched one by one.
const FEW: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Step {
    action: Action,
    write: u32,
    before: u32,
}

/// One row to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    /// Its tree: the number, and the index among the transaction's trees.
    pub(super) id: TreeId,
    pub(super) tree: u32,
    pub(super) key: Span,
    pub(super) hash: u64,
    /// The index of the transaction's read of the row, if it is known.
    pub(super) read: Option<u32>,
    /// The newest operation.
    last: u32,
}

/// A point to which a transaction can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Savepoint {
    steps: u32,
    writes: u32,
    /// The number of rollbacks before it.
    rollbacks: u32,
}

/// A rollback, which invalidates later savepoints.
#[derive(Clone, Copy, Debug)]
struct Rollback {
    /// Its number, from 0 on.
    number: u32,
    /// The number of steps that it left.
    steps: u32,
}

/// The writes of a transaction.
#[derive(Debug, Default)]
pub(super) struct WriteSet {
    writes: Vec<Write>,
    steps: Vec<Step>,
    /// Writes by tree and key; those from `in_order` on are not sorted in yet.
    order: Vec<u32>,
    in_order: u32,
    /// Writes by hash, if there are more than a few: index plus one.
    index: Vec<u32>,
    /// Bytes of keys and values in it, for the size of the record.
    pub(super) bytes: usize,
    /// The least bytes of its commit's record: those of each row that gets a value.
    pub(super) record_bytes_min: usize,
    /// The number of rollbacks, and those that no rollback to an earlier point has followed. Their numbers
    /// and their steps ascend.
    rollbacks: u32,
    lowest: Vec<Rollback>,
}

impl WriteSet {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// True if nothing was written since the last [`WriteSet::clear`], including writes that were rolled
    /// back.
    #[inline]
    pub(super) fn is_untouched(&self) -> bool {
        self.writes.is_empty() && self.lowest.is_empty()
    }

    /// All rows to be written, in the order of their first writes.
    pub(super) fn all(&self) -> &[Write] {
        &self.writes
    }

    #[inline]
    pub(super) fn get(&self, at: u32) -> &Write {
        &self.writes[at as usize]
    }

    /// Forgets everything. Returns the memory that it keeps, in bytes.
    #[inline]
    pub(super) fn clear(&mut self) -> usize {
        self.in_order = 0;
        self.bytes = 0;
        self.record_bytes_min = 0;
        self.rollbacks = 0;
        self.lowest.clear();
        clear(&mut self.writes)
            + clear(&mut self.steps)
            + clear(&mut self.order)
            + clear(&mut self.index)
    }

    /// The write of a row, if there is one.
    #[inline]
    pub(super) fn find(&self, arena: &Arena, tree: TreeId, key: &[u8]) -> Option<u32> {
        if self.writes.is_empty() {
            return None;
        }
        self.find_hashed(arena, tree, key, hash(tree, key))
    }

    /// Adds an operation to a row's chain. Refuses an operation that contradicts the chain itself.
    #[inline]
    pub(super) fn add(
        &mut self,
        arena: &mut Arena,
        (id, tree): (TreeId, u32),
        (key, read): (&[u8], Option<u32>),
        action: Action,
    ) -> Result<(), Refusal> {
        let hash = hash(id, key);
        let at = match self.find_hashed(arena, id, key, hash) {
            Some(at) => {
                self.refuse(at, action)?;
                self.record_bytes_min -= self.record_bytes_of(at);
                at
            }
            None => self.add_write(arena, (id, tree), (key, read), hash),
        };
        let write = &mut self.writes[at as usize];
        let before = std::mem::replace(&mut write.last, self.steps.len() as u32);
        self.steps.push(Step { action, write: at, before });
        self.bytes += action.bytes();
        self.record_bytes_min += action.record_bytes(id, key.len());
        Ok(())
    }

    /// The least bytes of a row in the record.
    #[inline]
    fn record_bytes_of(&self, at: u32) -> usize {
        let write = &self.writes[at as usize];
        let step = self.steps.get(write.last as usize);
        step.map_or(0, |step| step.action.record_bytes(write.id, write.key.len()))
    }

    /// The value of `record_bytes_min` after one more operation.
    pub(super) fn record_bytes_min_with(
        &self,
        arena: &Arena,
        (tree, key): (TreeId, &[u8]),
        action: Action,
    ) -> usize {
        let now = self.find(arena, tree, key);
        let now = now.map_or(0, |at| self.record_bytes_of(at));
        self.record_bytes_min - now + action.record_bytes(tree, key.len())
    }

    /// Records that the transaction has read a row that it writes. The first read counts: others are
    /// validated separately.
    #[inline]
    pub(super) fn was_read(&mut self, at: u32, read: u32) {
        self.writes[at as usize].read.get_or_insert(read);
    }

    /// True if folding needs the row's value and not only its existence: the first operation is a patch.
    #[inline]
    pub(super) fn needs_base(&self, at: u32) -> bool {
        let mut step = &self.steps[self.writes[at as usize].last as usize];
        while step.before != NONE {
            step = &self.steps[step.before as usize];
        }
        matches!(step.action, Action::Patch(..))
    }

    /// True if the row is inserted without knowing that it is absent: without reading the store, or after a
    /// patch, which requires the row. Folding shows whether the commit will refuse it.
    #[inline]
    pub(super) fn is_inserted(&self, at: u32) -> bool {
        let mut at = self.writes[at as usize].last;
        while at != NONE {
            let step = &self.steps[at as usize];
            let before = self.steps.get(step.before as usize);
            let is_known = before.is_some_and(|before| !matches!(before.action, Action::Patch(..)));
            if matches!(step.action, Action::Insert(_)) && !is_known {
                return !planted(PlantedBug::OverlayBlindly);
            }
            at = step.before;
        }
        false
    }

    /// True if the new value is computed by a patch.
    #[inline]
    pub(super) fn is_patched(&self, at: u32) -> bool {
        let last = self.writes[at as usize].last;
        matches!(self.steps[last as usize].action, Action::Patch(..))
    }

    /// The range of the new value, if it does not depend on the old one.
    #[inline]
    pub(super) fn plain_value(&self, at: u32) -> Option<Span> {
        match self.steps[self.writes[at as usize].last as usize].action {
            Action::Put(value) | Action::Insert(value) | Action::Update(value) => Some(value),
            Action::Delete | Action::Patch(..) => None,
        }
    }

    /// True if the row is deleted.
    pub(super) fn is_delete(&self, at: u32) -> bool {
        let last = self.writes[at as usize].last;
        matches!(self.steps[last as usize].action, Action::Delete)
    }

    /// The new state of a row whose stored value is `base` (none: it does not exist).
    #[inline]
    pub(super) fn fold(
        &self,
        arena: &Arena,
        at: u32,
        base: Option<&[u8]>,
        folder: &mut Folder,
    ) -> Result<FoldedRow, Refusal> {
        let row = match base {
            Some(_) => FoldedRow::Base,
            None => FoldedRow::Absent,
        };
        let newest = &self.steps[self.writes[at as usize].last as usize];
        if newest.before == NONE {
            return newest.action.apply(arena, row, base, folder);
        }
        self.fold_after(NONE, arena, at, (row, base), folder)
    }

    /// The row as the transaction itself has written it, if that does not depend on the store.
    pub(super) fn own(
        &self,
        arena: &Arena,
        at: u32,
        folder: &mut Folder,
    ) -> Option<Result<FoldedRow, Refusal>> {
        let from = self.base_of(at)?;
        let row = match self.steps[from as usize].action {
            Action::Put(value) | Action::Insert(value) | Action::Update(value) => {
                FoldedRow::Arena(value)
            }
            Action::Delete | Action::Patch(..) => FoldedRow::Absent,
        };
        Some(self.fold_after(from, arena, at, (row, None), folder))
    }

    /// Applies the steps of a write after step `from` (`NONE`: all of them) to `row`, oldest first. `base` is
    /// the stored row.
    #[inline]
    fn fold_after(
        &self,
        from: u32,
        arena: &Arena,
        at: u32,
        (mut row, base): (FoldedRow, Option<&[u8]>),
        folder: &mut Folder,
    ) -> Result<FoldedRow, Refusal> {
        let mut chain = std::mem::take(&mut folder.chain);
        chain.clear();
        let mut step = self.writes[at as usize].last;
        while step != from {
            chain.push(step);
            step = self.steps[step as usize].before;
        }
        let mut result = Ok(row);
        for &step in chain.iter().rev() {
            result = self.steps[step as usize].action.apply(arena, row, base, folder);
            let Ok(next) = result else {
                break;
            };
            row = next;
        }
        folder.chain = chain;
        result
    }

    /// The writes by tree and key.
    pub(super) fn sort(&mut self, arena: &Arena) -> &[u32] {
        let writes = &self.writes;
        let tree_of = |at: u32| writes[at as usize].id;
        let key_of = |at: u32| arena.get(writes[at as usize].key);
        let known = self.in_order as usize;
        if known < writes.len() {
            self.order.extend(self.in_order..writes.len() as u32);
            self.in_order = writes.len() as u32;
            let ascend = |one: &u32, other: &u32| {
                let keys = || key_of(*one).cmp(key_of(*other));
                tree_of(*one).cmp(&tree_of(*other)).then_with(keys).is_lt()
            };
            // Runs that are already sorted cost one comparison per row.
            if !self.order[known.saturating_sub(1)..].is_sorted_by(ascend) {
                // Numbers are faster to compare than keys, and writes to one tree are often in order.
                self.order.sort_by_key(|at| tree_of(*at));
                let same_tree = |one: &u32, other: &u32| tree_of(*one) == tree_of(*other);
                for run in self.order.chunk_by_mut(same_tree) {
                    if !run.is_sorted_by(|one, other| key_of(*one) < key_of(*other)) {
                        run.sort_unstable_by(|one, other| key_of(*one).cmp(key_of(*other)));
                    }
                }
            }
        }
        &self.order
    }

    /// The writes by tree and key, as of the last [`WriteSet::sort`].
    #[inline]
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    /// The position, among the sorted writes, of the first one at or after a row's name.
    pub(super) fn position(&self, arena: &Arena, tree: TreeId, key: &[u8]) -> usize {
        self.order.partition_point(|&at| {
            let write = &self.writes[at as usize];
            (write.id, arena.get(write.key)).cmp(&(tree, key)) == Ordering::Less
        })
    }

    /// The end of a tree's sorted writes.
    pub(super) fn end(&self, tree: TreeId) -> usize {
        self.order.partition_point(|&at| self.writes[at as usize].id <= tree)
    }

    pub(super) fn savepoint(&self) -> Savepoint {
        Savepoint {
            steps: self.steps.len() as u32,
            writes: self.writes.len() as u32,
            rollbacks: self.rollbacks,
        }
    }

    /// True if there was no rollback to an earlier point since the savepoint.
    pub(super) fn reaches(&self, savepoint: Savepoint) -> bool {
        let later = |rollback: &Rollback| rollback.number < savepoint.rollbacks;
        let first = self.lowest.partition_point(later);
        // The first of the later rollbacks is the one that left the fewest steps.
        let lowest = self.lowest.get(first);
        lowest.is_none_or(|rollback| rollback.steps >= savepoint.steps)
    }

    /// Removes the steps since the savepoint.
    pub(super) fn rollback_to(&mut self, savepoint: Savepoint) {
        assert!(
            self.reaches(savepoint) && savepoint.steps as usize <= self.steps.len(),
            "a savepoint belongs to this transaction, and is not after one that was rolled back to"
        );
        let is_lower = |rollback: &mut Rollback| rollback.steps >= savepoint.steps;
        while self.lowest.pop_if(is_lower).is_some() {}
        self.lowest.push(Rollback { number: self.rollbacks, steps: savepoint.steps });
        self.rollbacks += 1;
        while self.steps.len() > savepoint.steps as usize {
            let at = self.steps[self.steps.len() - 1].write;
            self.record_bytes_min -= self.record_bytes_of(at);
            let Some(step) = self.steps.pop() else { break };
            self.writes[at as usize].last = step.before;
            self.bytes -= step.action.bytes();
            self.record_bytes_min += self.record_bytes_of(at);
        }
        for write in self.writes.drain(savepoint.writes as usize..) {
            self.bytes -= write.key.len();
        }
        self.order.retain(|&at| at < savepoint.writes);
        self.in_order = self.in_order.min(savepoint.writes);
        self.index.clear();
        if self.writes.len() > FEW {
            self.rebuild();
        }
    }

    fn find_hashed(&self, arena: &Arena, tree: TreeId, key: &[u8], hash: u64) -> Option<u32> {
        let is_it =
            |write: &Write| write.hash == hash && write.id == tree && arena.get(write.key) == key;
        if self.writes.len() <= FEW {
            return self.writes.iter().position(is_it).map(|at| at as u32);
        }
        let mask = self.index.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let at = self.index[slot].checked_sub(1)?;
            if is_it(&self.writes[at as usize]) {
                return Some(at);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn add_write(
        &mut self,
        arena: &mut Arena,
        (id, tree): (TreeId, u32),
        (key, read): (&[u8], Option<u32>),
        hash: u64,
    ) -> u32 {
        let at = self.writes.len() as u32;
        self.writes.push(Write { id, tree, key: arena.add(key), hash, read, last: NONE });
        self.bytes += key.len();
        if self.writes.len() > FEW {
            if 2 * self.writes.len() > self.index.len() {
                self.rebuild();
            } else {
                self.put_into_index(at);
            }
        }
        at
    }

    #[cold]
    fn rebuild(&mut self) {
        let buckets = (4 * self.writes.len()).next_power_of_two();
        self.index.clear();
        self.index.resize(buckets, 0);
        (0..self.writes.len() as u32).for_each(|at| self.put_into_index(at));
    }

    fn put_into_index(&mut self, at: u32) {
        let mask = self.index.len() - 1;
        let mut slot = self.writes[at as usize].hash as usize & mask;
        while self.index[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        self.index[slot] = at + 1;
    }

    /// Fails if the chain alone shows that the row exists, or does not, against the operation's requirement.
    fn refuse(&self, at: u32, action: Action) -> Result<(), Refusal> {
        let last = self.writes[at as usize].last;
        if last == NONE {
            return Ok(());
        }
        let is_there = match self.steps[last as usize].action {
            Action::Put(_) | Action::Insert(_) | Action::Update(_) => true,
            Action::Delete => false,
            Action::Patch(..) => return Ok(()),
        };
        match (action, is_there) {
            (Action::Insert(_), true) => Err(Refusal::Duplicate),
            (Action::Update(_) | Action::Delete | Action::Patch(..), false) => Err(Refusal::Absent),
            _ => Ok(()),
        }
    }

    /// The newest operation after which the row is known without the store.
    #[inline]
    fn base_of(&self, at: u32) -> Option<u32> {
        let mut step = self.writes[at as usize].last;
        while step != NONE {
            let Step { action, before, .. } = self.steps[step as usize];
            if !matches!(action, Action::Patch(..)) {
                return Some(step);
            }
            step = before;
        }
        None
    }
}
