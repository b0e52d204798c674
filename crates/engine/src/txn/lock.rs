//! Locks the rows of a commit, and unlocks them if the commit fails.
//!
//! A row is locked by a bit in its word, under the latch of its leaf, one row at a time in the order of trees
//! and keys. The lock step decides everything that could fail later: the row's existence, the first
//! committer's right, a patch and its bounds, room in the leaf for the new value, the saved old version, and
//! the row's part of the log record; and it checks that a row that was read is unchanged. A row that does not
//! exist yet is inserted as a locked ghost, which changes the leaf's counter: any reader of the range from
//! now on sees it coming.
//!
//! Rows that follow one another in a leaf are locked under one latch: finding, latching and searching the
//! leaf costs as much as the rest.
//!
//! A row that another commit has locked is retried for a bounded time; then it is a conflict. No wait is
//! unbounded, and two commits never wait for each other.

use crate::access::btree::extents::{self, EXTENT_POINTER_BYTES, ExtentPointer};
use crate::access::btree::{Blocked, Tree};
use crate::buffer::MemoryNeed;
use crate::buffer::VersionWord;
use crate::buffer::page::Kind;
use crate::buffer::{Leaf, NoRoom, Stop, without_misses};
use crate::conflict::Conflict;
use crate::error::Error;
use crate::ids::{Csn, PageId};
use crate::planted_bug::{PlantedBug, planted};
use crate::step::{Step, step, stepped};
use crate::thread_slot;
use crate::txn::action::{FoldedRow, Folder};
use crate::txn::arena::Arena;
use crate::txn::commit::{LockFailure, Need};
use crate::txn::core::{Core, pause};
use crate::txn::read::absent;
use crate::txn::read_set::ReadSet;
use crate::txn::record::{add_delete, add_put, add_splice, put_bytes_max, row_bytes};
use crate::txn::row_log::RowLog;
use crate::txn::transaction::{After, Begin, Commit, Row, Transaction};
use crate::txn::version::Name;
use crate::txn::write_set::{Write, WriteSet};
use syncline_instrument::{Module, tag};
use syncline_vfs::Disk;

/// The result of an attempt to lock a row. Small, since it is returned through several calls: the reason of a
/// stop is in [`Locker::stopped`].
#[derive(Clone, Copy)]
enum LockAttempt {
    /// The row is locked, and its new value is decided.
    Locked,
    /// The row is locked; its new value needs extents, which must not be written under a latch.
    NeedsExtents,
    /// Another commit holds the lock.
    Held,
    /// The leaf has no room for the new value.
    NoRoom {
        bytes: usize,
    },
    Stopped,
}

/// A row of the commit, and the parts of the transaction needed to lock it.
struct Locker<'t, D: Disk> {
    core: &'t Core<D>,
    writes: &'t WriteSet,
    arena: &'t Arena,
    folder: &'t mut Folder,
    commit: &'t mut Commit,
    /// Under snapshot isolation: a newer version was committed first by another transaction.
    first_until: Option<Csn>,
    /// The read set and, for a serializable transaction, the point at which a read row must equal the current
    /// one.
    reads: &'t mut ReadSet,
    read_until: Option<Csn>,
    /// The shard in which versions are saved.
    thread_slot: u32,
    /// The log of row changes for an index under construction.
    row_log: Option<&'t RowLog>,
    /// The position of the row in the commit.
    at: u32,
    tree: &'t Tree,
    write: Write,
    key: &'t [u8],
    /// The first row locked under the current latch, and the slot of the row before this one.
    from: u32,
    before: Option<usize>,
    /// The reason for [`LockAttempt::Stopped`].
    stopped: Option<LockFailure>,
}

/// Step b: locks all rows. If it stops, some of them are locked.
pub(super) fn lock_rows<D: Disk>(core: &Core<D>, txn: &mut Transaction) -> Result<(), LockFailure> {
    let Transaction {
        writes,
        arena,
        folder,
        commit,
        trees,
        kind,
        read_point,
        reads,
        alone,
        seat,
        ..
    } = txn;
    let thread_slot = thread_slot::of(*seat);
    commit.record.clear();
    commit.row_changes.clear();
    commit.record.extend_from_slice(&commit.before_rows);
    let row_log = core.row_log();
    let first_until = (*kind == Some(Begin::Snapshot)).then_some(*read_point);
    let is_validated = *kind == Some(Begin::Serializable) && alone.is_none();
    let read_until = is_validated.then_some(*read_point);
    let _pinned = crate::buffer::pin();
    let mut at = 0;
    while at < commit.rows.len() as u32 {
        let row = &commit.rows[at as usize];
        let write = *writes.get(row.write);
        if row.follows && row.page.is_none() {
            commit.rows[at as usize].page = commit.rows[at as usize - 1].page;
        }
        let locker = Locker {
            core,
            writes,
            arena,
            folder,
            commit,
            first_until,
            reads,
            read_until,
            thread_slot,
            row_log: row_log.as_deref(),
            at,
            tree: &trees[write.tree as usize],
            write,
            key: arena.get(write.key),
            from: at,
            before: None,
            stopped: None,
        };
        at = locker.lock()?;
    }
    commit.record.extend_from_slice(&commit.behind_rows);
    Ok(())
}

impl<D: Disk> Locker<'_, D> {
    /// Locks the row, and those after it that are in the same leaf, under one latch. Returns the next row.
    fn lock(mut self) -> Result<u32, LockFailure> {
        if self.writes.is_patched(self.write_at())
            && let Some(pointer) = self.row().pointer.take()
        {
            // A value of an earlier round, computed from another base.
            extents::free(&self.core.buffer, pointer);
        }
        let mut retries = 0;
        let mut hint = self.row().page;
        while retries <= self.core.options.lock_retries_max {
            step(Step::Lock);
            let (core, tree, key) = (self.core, self.tree, self.key);
            let lock_rows = |leaf: &mut Leaf, page| {
                let _entered = tag::enter(Module::LockManager);
                self.lock_leaf_rows(leaf, page)
            };
            let attempt = {
                // The descent is charged to the tree, the rest to the lock manager.
                let _entered = tag::enter(Module::Access);
                tree.change_at(&core.buffer, hint.take(), key, lock_rows)
            };
            match attempt {
                Ok(LockAttempt::Locked) => return Ok(self.at + 1),
                Ok(LockAttempt::NeedsExtents) => {
                    let next = self.at + 1;
                    return self.finish_with_extents().map(|()| next);
                }
                Ok(LockAttempt::Stopped) => {
                    return Err(self.stopped.expect("a stop has a reason"));
                }
                Ok(LockAttempt::NoRoom { bytes }) if self.make_room(bytes)? => {}
                Ok(LockAttempt::NoRoom { .. } | LockAttempt::Held) => {
                    if self.at > self.from {
                        retries = 0;
                    }
                    pause(retries);
                    retries += 1;
                }
                Err(stop) => return Err(self.stopped_by(stop)),
            }
        }
        Err(LockFailure::Conflict(Conflict::Locked))
    }

    /// Splits until the leaf has room for the row; false if another thread is splitting it. Rows that are
    /// already locked stay locked: a split moves them with the room reserved for them. Unlocked they would
    /// lose it, and a transaction that fills its leaf twice over would never make progress.
    fn make_room(&self, bytes: usize) -> Result<bool, LockFailure> {
        let _entered = tag::enter(Module::Access);
        match self.tree.make_room(&self.core.buffer, self.key, bytes) {
            Ok(()) => Ok(true),
            Err(Blocked::Busy) => Ok(false),
            Err(Blocked::Miss(page)) => Err(self.stopped_by(Stop::Miss(page))),
            Err(Blocked::PreImages) => Err(self.stopped_by(Stop::PreImages)),
            Err(Blocked::Failed(error)) => {
                Err(stopped_at_cap(error, MemoryNeed::Pages(Kind::Leaf, 1)))
            }
        }
    }

    /// Locks the row under its leaf's latch, and the following rows of the leaf until one cannot be locked.
    fn lock_leaf_rows(&mut self, leaf: &mut Leaf, page: PageId) -> LockAttempt {
        (self.from, self.before) = (self.at, None);
        let mut attempt = self.lock_row(leaf, page);
        while matches!(attempt, LockAttempt::Locked) && self.advance(leaf) {
            attempt = self.lock_row(leaf, page);
        }
        if self.at > self.from {
            // These rows were inserted in ascending order, so the earlier ones are still in their slots.
            let (rows, counter) = (self.from as usize..=self.at as usize, leaf.counter());
            let locked = self.commit.rows[rows].iter_mut();
            locked.filter(|row| row.is_locked).for_each(|row| row.counter = counter);
        }
        attempt
    }

    /// Moves to the next row if it is in the same leaf; false if not. Tests that schedule steps do so for
    /// each row.
    fn advance(&mut self, leaf: &Leaf) -> bool {
        let Some(next) = self.commit.rows.get(self.at as usize + 1) else {
            return false;
        };
        let write = self.writes.get(next.write);
        let key = self.arena.get(write.key);
        if !next.follows || next.pointer.is_some() || stepped() || !leaf.covers_behind(key) {
            return false;
        }
        let row = self.row();
        if !row.is_locked {
            return false;
        }
        self.before = Some(row.slot as usize);
        self.at += 1;
        (self.write, self.key) = (*write, key);
        true
    }

    /// Locks the row under its leaf's latch, unless something prevents it.
    fn lock_row(&mut self, leaf: &mut Leaf, page: PageId) -> LockAttempt {
        let position = {
            let _entered = tag::enter(Module::Access);
            match self.before {
                Some(slot) => leaf.search_behind(slot, self.key),
                None => leaf.seek_to_change(self.key),
            }
        };
        let was = position.map_or(absent(), |slot| leaf.word(slot));
        if was.is_locked() {
            return LockAttempt::Held;
        }
        if self.first_until.is_some_and(|point| was.csn() > point) {
            return self.stop(LockFailure::Conflict(Conflict::WriteChanged));
        }
        if let (Some(point), Some(read)) = (self.read_until, self.write.read) {
            // No other commit can change a locked row, so it need not be validated again.
            let read = &mut self.reads.reads[read as usize];
            if was.csn() > point {
                let changed = read.changed();
                return self.stop(LockFailure::Conflict(changed));
            }
            read.is_held = true;
        }
        let base = match position {
            Ok(slot) if !was.is_ghost() => Some(leaf.value(slot)),
            _ => None,
        };
        if was.is_overflow() && self.writes.needs_base(self.write_at()) {
            return self.lock_in_leaf(leaf, page, (position, was), 0, LockAttempt::NeedsExtents);
        }
        let folded = match self.fold(was, base) {
            Ok(folded) => folded,
            Err(stopped) => return self.stop(stopped),
        };
        if folded == FoldedRow::Made
            && extents::is_needed(&self.core.buffer, self.folder.value.len())
        {
            return self.lock_in_leaf(leaf, page, (position, was), 0, LockAttempt::NeedsExtents);
        }
        let end = self.commit.record.len();
        match self.add_to_record((was, base), folded) {
            Ok(leaf_bytes) => {
                let attempt =
                    self.lock_in_leaf(leaf, page, (position, was), leaf_bytes, LockAttempt::Locked);
                if !matches!(attempt, LockAttempt::Locked) {
                    self.commit.record.truncate(end);
                }
                attempt
            }
            Err(stopped) => self.stop(stopped),
        }
    }

    #[cold]
    fn stop(&mut self, stopped: LockFailure) -> LockAttempt {
        self.stopped = Some(stopped);
        LockAttempt::Stopped
    }

    /// Finishes a locked row whose old or new value is in extents.
    fn finish_with_extents(mut self) -> Result<(), LockFailure> {
        let was = self.row().was;
        let mut base = Vec::new();
        if !was.is_ghost() {
            let copy = |leaf: &Leaf, _| {
                let slot = leaf.search(self.key).expect("a locked row stays in its tree");
                base.extend_from_slice(leaf.value(slot));
            };
            let viewed = self.tree.view(&self.core.buffer, self.key, copy);
            viewed.map_err(|miss| self.stopped_by(miss.into()))?;
            if was.is_overflow() && !self.read_long(&mut base)? {
                return Err(LockFailure::Conflict(Conflict::Dropped));
            }
        }
        let folded = self.fold(was, (!was.is_ghost()).then_some(&base))?;
        if folded == FoldedRow::Made
            && extents::is_needed(&self.core.buffer, self.folder.value.len())
        {
            let (buffer, value) = (&self.core.buffer, &self.folder.value);
            let pointer = extents::write(buffer, self.write.id, value)
                .map_err(|error| stopped_at_cap(error, extents::memory(buffer, value.len())));
            self.row().pointer = Some(pointer?);
        }
        let leaf_bytes = self.add_to_record((was, None), folded)?;
        for retries in 0..=self.core.options.lock_retries_max {
            let reserve = |leaf: &mut Leaf, _| {
                let slot = leaf.search(self.key).expect("a locked row stays in its tree");
                leaf.reserve(slot, leaf_bytes)
            };
            match self.tree.change(&self.core.buffer, self.key, reserve) {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(NoRoom)) if self.make_room(leaf_bytes)? => {}
                Ok(Err(NoRoom)) => pause(retries),
                Err(stop) => return Err(self.stopped_by(stop)),
            }
        }
        Err(LockFailure::Conflict(Conflict::Locked))
    }

    /// Replaces an overflow pointer by its value. False if the value was freed.
    fn read_long(&self, value: &mut Vec<u8>) -> Result<bool, LockFailure> {
        let Some(pointer) = ExtentPointer::from_value(value) else {
            return Ok(false);
        };
        value.clear();
        let read = extents::read(&self.core.buffer, pointer, value);
        read.map_err(|miss| self.stopped_by(miss.into()))
    }

    /// The row after the transaction's writes.
    fn fold(&mut self, was: VersionWord, base: Option<&[u8]>) -> Result<FoldedRow, LockFailure> {
        // Folding is charged to the transaction; a patch enters the access module itself.
        let _entered = tag::enter(Module::TransactionControl);
        let folded = self.writes.fold(self.arena, self.write_at(), base, self.folder);
        folded.map_err(|refusal| LockFailure::Refused { row: self.at, refusal, seen: was.csn() })
    }

    /// Adds the row's change to the record; the row was `base` in its leaf. Returns the bytes that it needs
    /// there.
    fn add_to_record(
        &mut self,
        (was, base): (VersionWord, Option<&[u8]>),
        folded: FoldedRow,
    ) -> Result<usize, LockFailure> {
        // Writing the record is charged to the transaction.
        let _entered = tag::enter(Module::TransactionControl);
        let value = match folded {
            FoldedRow::Arena(span) => self.arena.get(span),
            FoldedRow::Made => &self.folder.value,
            FoldedRow::Base | FoldedRow::Absent => {
                let is_deleted = folded == FoldedRow::Absent && !was.is_ghost();
                if is_deleted {
                    self.claim_record(None)?;
                    add_delete(&mut self.commit.record, self.write.id, self.key);
                }
                self.row().after = if is_deleted { After::Deleted } else { After::Same };
                return Ok(0);
            }
        };
        let bytes = value.len();
        if folded == FoldedRow::Made {
            self.commit.patched_bytes = self.commit.patched_bytes.max(bytes);
        }
        self.claim_record(Some(bytes))?;
        let value = match folded {
            FoldedRow::Arena(span) => self.arena.get(span),
            _ => &self.folder.value,
        };
        if let (FoldedRow::Made, Some(base)) = (folded, base)
            && let record = &mut self.commit.record
            && let Some(pieces) = add_splice(record, self.write.id, self.key, (base, value))
        {
            self.row().after = After::Spliced { start: pieces.start, bytes: pieces.len() };
            return Ok(base.len());
        }
        let start = add_put(&mut self.commit.record, self.write.id, self.key, value);
        let bytes = value.len();
        self.row().after = After::Value { start, bytes };
        Ok(if self.row().pointer.is_some() { EXTENT_POINTER_BYTES } else { bytes })
    }

    /// Fails if the record has no room for the row with a value of this length, or for its deletion.
    #[inline]
    fn claim_record(&mut self, value_bytes: Option<usize>) -> Result<(), LockFailure> {
        let rest = self.commit.record.len() + self.commit.behind_rows.len();
        let end = rest + put_bytes_max(self.key.len(), value_bytes.unwrap_or(0));
        if end <= self.commit.record_bytes_max {
            return Ok(());
        }
        self.claim_more(rest, end, value_bytes)
    }

    /// The record is longer than reserved, or nearly so. Reserves twice as much as last time for the next
    /// round, up to the cap, so that there are few rounds.
    #[cold]
    fn claim_more(
        &mut self,
        rest: usize,
        end: usize,
        value_bytes: Option<usize>,
    ) -> Result<(), LockFailure> {
        let bytes = rest + row_bytes(self.write.id, self.key.len(), value_bytes);
        let (commit, bytes_max) = (&mut *self.commit, self.core.log.record_bytes_max());
        if bytes > bytes_max {
            return Err(LockFailure::Failed(Error::TooLarge {
                bytes: bytes as u64,
                bytes_max: bytes_max as u64,
            }));
        }
        if bytes <= commit.record_bytes_max {
            return Ok(());
        }
        let lacking = end - commit.record_bytes_max;
        commit.more_bytes += lacking.max(commit.more_bytes);
        Err(LockFailure::Needs(Need::Record))
    }

    /// Locks the row with room for `bytes` bytes in the leaf, and saves its old version.
    fn lock_in_leaf(
        &mut self,
        leaf: &mut Leaf,
        page: PageId,
        (position, was): (Result<usize, usize>, VersionWord),
        leaf_bytes: usize,
        attempt: LockAttempt,
    ) -> LockAttempt {
        let no_room = LockAttempt::NoRoom { bytes: leaf_bytes };
        let old = match (self.row_log, position) {
            (Some(row_log), position) if row_log.is_of(self.write.id) => {
                match self.old_value(leaf, (position.ok(), was)) {
                    Ok(old) => Some((row_log, old)),
                    Err(stopped) => return self.stop(stopped),
                }
            }
            _ => None,
        };
        let slot = {
            let _entered = tag::enter(Module::Access);
            match position {
                Ok(slot) if leaf.reserve(slot, leaf_bytes).is_ok() => slot,
                Err(_) if planted(PlantedBug::GhostAtApply) => return attempt,
                Err(slot) if leaf.insert(slot, self.key, absent(), leaf_bytes).is_ok() => slot,
                Ok(_) | Err(_) => return no_room,
            }
        };
        let mut version = None;
        if !was.is_ghost() && !planted(PlantedBug::SkipBeforeImage) {
            let name = Name { hash: self.write.hash, tree: self.write.id, key: self.key };
            let (bound, pointers) = (self.core.bound(), &mut self.commit.pointers);
            let saved = self.core.versions.save(
                self.thread_slot,
                name,
                was,
                leaf.value(slot),
                (bound, pointers),
            );
            version = Some(saved);
        }
        if let Some((row_log, old)) = old {
            row_log.note(&mut self.commit.row_changes, self.key, old.as_deref());
        }
        leaf.set_word(slot, was.locked());
        let counter = leaf.counter();
        let row = self.row();
        row.slot = slot as u32;
        (row.page, row.counter, row.was) = (Some(page), counter, was);
        row.is_locked = true;
        row.version = version;
        attempt
    }

    /// The value that a row has before its change, for the log of row changes. None if it does not exist.
    #[cold]
    fn old_value(
        &self,
        leaf: &Leaf,
        (slot, was): (Option<usize>, VersionWord),
    ) -> Result<Option<Vec<u8>>, LockFailure> {
        let Some(slot) = slot.filter(|_| !was.is_ghost()) else {
            return Ok(None);
        };
        let mut value = leaf.value(slot).to_vec();
        let is_there = !was.is_overflow() || self.read_long(&mut value)?;
        Ok(is_there.then_some(value))
    }

    fn row(&mut self) -> &mut Row {
        &mut self.commit.rows[self.at as usize]
    }

    fn write_at(&self) -> u32 {
        self.commit.rows[self.at as usize].write
    }

    fn stopped_by(&self, stop: Stop) -> LockFailure {
        match stop {
            Stop::Miss(_) if self.tree.is_dropped() => LockFailure::Conflict(Conflict::Dropped),
            Stop::Miss(page) => LockFailure::Needs(Need::Page(page)),
            Stop::PreImages => LockFailure::Needs(Need::PreImages),
        }
    }
}

/// That memory was refused. If that was at the cap on memory, some may be freed outside the section.
#[cold]
fn stopped_at_cap(error: Error, needed: MemoryNeed) -> LockFailure {
    match error {
        Error::Capped { .. } => LockFailure::Needs(Need::Memory(needed, error)),
        other => LockFailure::Failed(other),
    }
}

/// Unlocks all locked rows, in the section that locked them. Removes the ghosts that were inserted for them.
pub(super) fn unlock_rows<D: Disk>(core: &Core<D>, txn: &mut Transaction) {
    let Transaction { commit, writes, arena, trees, seat, .. } = txn;
    for row in &mut commit.rows {
        if !std::mem::take(&mut row.is_locked) {
            continue;
        }
        step(Step::Unlock);
        let write = writes.get(row.write);
        let (tree, key) = (&trees[write.tree as usize], arena.get(write.key));
        let is_fresh = row.was == absent();
        let unlock = |leaf: &mut Leaf, _| {
            let slot = leaf.search(key).expect("a locked row stays in its tree");
            if is_fresh {
                leaf.remove(slot);
            } else {
                leaf.set_word(slot, row.was);
            }
            leaf.count() == 0
        };
        let unlocked = without_misses(|| tree.change(&core.buffer, key, unlock));
        if unlocked.expect("a page that was changed in this section can be changed again") {
            core.merge_leaf(*seat, tree, key);
        }
        if let Some(version) = row.version.take() {
            core.versions.cancel(version);
        }
    }
    // Pages of versions that were dropped when others were saved. A snapshot can come only after this
    // section.
    core.free_extents(&mut commit.pointers);
}
