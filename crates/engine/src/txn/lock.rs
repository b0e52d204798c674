//! Locking the rows of a commit, and unlocking them if it does not come about.
//!
//! A row is locked by a bit in its word, under the latch of its leaf, one row at a time in the order of
//! trees and keys. With the lock everything is settled that could fail later: the row's existence, a
//! first committer's right, a patch and its bounds, room in the leaf for what the row becomes, the
//! version of what it was, and its part of the log record; and that it is as it was read, if it was. A row
//! that is not there yet is put there as a locked ghost, which moves the leaf's counter: who reads the
//! range from now on sees it coming.
//!
//! Rows that follow one another in a leaf are locked under one latch: finding the leaf, latching it and
//! searching it cost as much as the rest.
//!
//! A row that another commit has locked is looked at again for a bounded time, then it is a conflict:
//! nobody waits without end, and two commits never wait for each other.

use crate::access::btree::overflow::{self, ChainSize, STUB_BYTES};
use crate::access::btree::{Blocked, Tree};
use crate::buffer::VersionWord;
use crate::buffer::page::Kind;
use crate::buffer::{Leaf, NoRoom, Stop, without_misses};
use crate::error::Error;
use crate::ids::{Csn, PageId};
use crate::planted_bug::{PlantedBug, planted};
use crate::thread_slot;
use crate::txn::action::{FoldedRow, Folder};
use crate::txn::arena::Arena;
use crate::txn::commit::{LockFailure, Need};
use crate::txn::conflict::Conflict;
use crate::txn::core::{Core, pause};
use crate::txn::read::{absent, resolve};
use crate::txn::read_set::ReadSet;
use crate::txn::record::{add_delete, add_put, add_splice, put_bytes_max, row_bytes};
use crate::txn::row_log::RowLog;
use crate::txn::step::{Step, step, stepped};
use crate::txn::transaction::{After, Begin, Commit, Row, Transaction};
use crate::txn::version::Name;
use crate::txn::write_set::{Write, WriteSet};
use syncline_instrument::{Module, tag};
use syncline_vfs::Disk;

/// What a look at a row led to. Small, since it comes back through several calls: what stopped the
/// look stays in [`Locker::stopped`].
#[derive(Clone, Copy)]
enum LockAttempt {
    /// It is locked, and what it becomes is settled.
    Locked,
    /// It is locked; what it becomes needs overflow pages, which is no work to do under a latch.
    Half,
    /// Another commit has it.
    Taken,
    /// The leaf has no room for what it becomes.
    NoRoom {
        bytes: usize,
    },
    Stopped,
}

/// A row at its commit, with what settling it needs of the transaction.
struct Locker<'t, D: Disk> {
    core: &'t Core<D>,
    writes: &'t WriteSet,
    arena: &'t Arena,
    folder: &'t mut Folder,
    commit: &'t mut Commit,
    /// Under snapshot isolation: what is newer than this was committed first by others.
    first_until: Option<Csn>,
    /// What the transaction has read, and under serializability the point at which it must be as it is now.
    reads: &'t mut ReadSet,
    read_until: Option<Csn>,
    /// Where versions are saved.
    thread_slot: u32,
    /// Where changes of the table's rows are logged for an index under construction.
    row_log: Option<&'t RowLog>,
    /// Which of the commit's rows it is.
    at: u32,
    tree: &'t Tree,
    write: Write,
    key: &'t [u8],
    /// The first row that is locked under the latch at hand, and the slot of the one before this.
    from: u32,
    before: Option<usize>,
    /// Why [`LockAttempt::Stopped`].
    stopped: Option<LockFailure>,
}

/// Step b: locks all rows. If it stops, some are locked.
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
    /// Locks the row, and those behind it that are found under the same latch; answers which is the next.
    fn lock(mut self) -> Result<u32, LockFailure> {
        if self.writes.is_patched(self.write_at())
            && let Some(stub) = self.row().stub.take()
        {
            // Of an earlier round, over another base.
            overflow::free(&self.core.buffer, stub);
        }
        let mut looks = 0;
        let mut hint = self.row().page;
        while looks <= self.core.options.lock_looks_max {
            step(Step::Lock);
            let (core, tree, key) = (self.core, self.tree, self.key);
            let look = |leaf: &mut Leaf, page| {
                let _entered = tag::enter(Module::LockManager);
                self.look_on(leaf, page)
            };
            let looked = {
                // The way to the leaf is the tree's, and what is settled there is ours.
                let _entered = tag::enter(Module::Access);
                tree.change_at(&core.buffer, hint.take(), key, look)
            };
            match looked {
                Ok(LockAttempt::Locked) => return Ok(self.at + 1),
                Ok(LockAttempt::Half) => {
                    let next = self.at + 1;
                    return self.settle().map(|()| next);
                }
                Ok(LockAttempt::Stopped) => {
                    return Err(self.stopped.expect("who says that it stopped says why"));
                }
                Ok(LockAttempt::NoRoom { bytes }) if self.make_room(bytes)? => {}
                Ok(LockAttempt::NoRoom { .. } | LockAttempt::Taken) => {
                    if self.at > self.from {
                        looks = 0;
                    }
                    pause(looks);
                    looks += 1;
                }
                Err(stop) => return Err(self.stopped_by(stop)),
            }
        }
        Err(LockFailure::Conflict(Conflict::Locked))
    }

    /// Splits until the leaf has room for the row; false if another one is at it. The rows that are
    /// locked stay so meanwhile: a split moves them with the room that they were given. Unlocked they
    /// would lose it, and a transaction that fills its leaf twice over would never get on.
    fn make_room(&self, bytes: usize) -> Result<bool, LockFailure> {
        let _entered = tag::enter(Module::Access);
        match self.tree.make_room(&self.core.buffer, self.key, bytes) {
            Ok(()) => Ok(true),
            Err(Blocked::Busy) => Ok(false),
            Err(Blocked::Miss(page)) => Err(self.stopped_by(Stop::Miss(page))),
            Err(Blocked::PreImages) => Err(self.stopped_by(Stop::PreImages)),
            Err(Blocked::Failed(error)) => Err(stopped_at_cap(error, (Kind::Leaf, 1))),
        }
    }

    /// Looks at the row under its leaf's latch, and at those behind it in the leaf as long as each is locked.
    fn look_on(&mut self, leaf: &mut Leaf, page: PageId) -> LockAttempt {
        (self.from, self.before) = (self.at, None);
        let mut looked = self.look(leaf, page);
        while matches!(looked, LockAttempt::Locked) && self.go_on(leaf) {
            looked = self.look(leaf, page);
        }
        if self.at > self.from {
            // Rows came behind the first ones, so that these are in their slots still.
            let (rows, counter) = (self.from as usize..=self.at as usize, leaf.counter());
            let locked = self.commit.rows[rows].iter_mut();
            locked.filter(|row| row.is_locked).for_each(|row| row.counter = counter);
        }
        looked
    }

    /// Turns to the next row, if it is in the same leaf; false if not. Where a test decides what comes next,
    /// it decides for each row.
    fn go_on(&mut self, leaf: &Leaf) -> bool {
        let Some(next) = self.commit.rows.get(self.at as usize + 1) else {
            return false;
        };
        let write = self.writes.get(next.write);
        let key = self.arena.get(write.key);
        if !next.follows || next.stub.is_some() || stepped() || !leaf.covers_behind(key) {
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

    /// Looks at the row under its leaf's latch, and locks it if nothing speaks against it.
    fn look(&mut self, leaf: &mut Leaf, page: PageId) -> LockAttempt {
        let found = {
            let _entered = tag::enter(Module::Access);
            match self.before {
                Some(slot) => leaf.search_behind(slot, self.key),
                None => leaf.seek_to_change(self.key),
            }
        };
        let was = found.map_or(absent(), |slot| leaf.word(slot));
        if was.is_locked() {
            return LockAttempt::Taken;
        }
        if self.first_until.is_some_and(|point| was.csn() > point) {
            return self.stop(LockFailure::Conflict(Conflict::WriteChanged));
        }
        if let (Some(point), Some(read)) = (self.read_until, self.write.read) {
            // Once it is locked, nobody else changes it: then it need not be validated again.
            let read = &mut self.reads.reads[read as usize];
            if was.csn() > point {
                let changed = read.changed();
                return self.stop(LockFailure::Conflict(changed));
            }
            read.is_held = true;
        }
        let base = match found {
            Ok(slot) if !was.is_ghost() => Some(leaf.value(slot)),
            _ => None,
        };
        if was.is_overflow() && self.writes.needs_base(self.write_at()) {
            return self.take(leaf, page, (found, was), 0, LockAttempt::Half);
        }
        let folded = match self.fold(was, base) {
            Ok(folded) => folded,
            Err(stopped) => return self.stop(stopped),
        };
        if folded == FoldedRow::Made
            && overflow::is_needed(&self.core.buffer, self.folder.value.len())
        {
            return self.take(leaf, page, (found, was), 0, LockAttempt::Half);
        }
        let end = self.commit.record.len();
        match self.add_to_record((was, base), folded) {
            Ok(leaf_bytes) => {
                let looked = self.take(leaf, page, (found, was), leaf_bytes, LockAttempt::Locked);
                if !matches!(looked, LockAttempt::Locked) {
                    self.commit.record.truncate(end);
                }
                looked
            }
            Err(stopped) => self.stop(stopped),
        }
    }

    #[cold]
    fn stop(&mut self, stopped: LockFailure) -> LockAttempt {
        self.stopped = Some(stopped);
        LockAttempt::Stopped
    }

    /// Settles a locked row whose value, old or new, lies in overflow pages.
    fn settle(mut self) -> Result<(), LockFailure> {
        let was = self.row().was;
        let mut base = Vec::new();
        if !was.is_ghost() {
            let copy = |leaf: &Leaf, _| {
                let slot = leaf.search(self.key).expect("a locked row stays in its tree");
                base.extend_from_slice(leaf.value(slot));
            };
            let viewed = self.tree.view(&self.core.buffer, self.key, copy);
            viewed.map_err(|miss| self.stopped_by(miss.into()))?;
            if was.is_overflow() && !resolve(&self.core.buffer, &mut base) {
                return Err(LockFailure::Conflict(Conflict::Dropped));
            }
        }
        let folded = self.fold(was, (!was.is_ghost()).then_some(&base))?;
        if folded == FoldedRow::Made
            && overflow::is_needed(&self.core.buffer, self.folder.value.len())
        {
            let (buffer, value) = (&self.core.buffer, &self.folder.value);
            let stub = overflow::write(buffer, self.write.id, value).map_err(|error| {
                let pages = ChainSize::of(buffer).pages(value.len() as u64);
                stopped_at_cap(error, (Kind::Overflow, pages))
            });
            self.row().stub = Some(stub?);
        }
        let leaf_bytes = self.add_to_record((was, None), folded)?;
        for looks in 0..=self.core.options.lock_looks_max {
            let reserve = |leaf: &mut Leaf, _| {
                let slot = leaf.search(self.key).expect("a locked row stays in its tree");
                leaf.reserve(slot, leaf_bytes)
            };
            match self.tree.change(&self.core.buffer, self.key, reserve) {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(NoRoom)) if self.make_room(leaf_bytes)? => {}
                Ok(Err(NoRoom)) => pause(looks),
                Err(stop) => return Err(self.stopped_by(stop)),
            }
        }
        Err(LockFailure::Conflict(Conflict::Locked))
    }

    /// What the row becomes.
    fn fold(&mut self, was: VersionWord, base: Option<&[u8]>) -> Result<FoldedRow, LockFailure> {
        // What was asked for is the transaction's; a patch enters access itself.
        let _entered = tag::enter(Module::TransactionControl);
        let folded = self.writes.fold(self.arena, self.write_at(), base, self.folder);
        folded.map_err(|refusal| LockFailure::Refused { row: self.at, refusal, seen: was.csn() })
    }

    /// Writes down what the row becomes, which was `base` in its leaf; returns how many bytes it takes there.
    fn add_to_record(
        &mut self,
        (was, base): (VersionWord, Option<&[u8]>),
        folded: FoldedRow,
    ) -> Result<usize, LockFailure> {
        // The record is the transaction's, whoever locks its rows.
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
        Ok(if self.row().stub.is_some() { STUB_BYTES } else { bytes })
    }

    /// Fails if the record has no room for the row with a value of so many bytes, or for its deletion.
    #[inline]
    fn claim_record(&mut self, value_bytes: Option<usize>) -> Result<(), LockFailure> {
        let rest = self.commit.record.len() + self.commit.behind_rows.len();
        let end = rest + put_bytes_max(self.key.len(), value_bytes.unwrap_or(0));
        if end <= self.commit.record_bytes_max {
            return Ok(());
        }
        self.claim_more(rest, end, value_bytes)
    }

    /// The record is longer than thought, or nearly so. Asks for more the next time, for twice as much
    /// as the last, so that there are few rounds; up to the cap.
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

    /// Locks the row, with room for so many bytes; saves what it was.
    fn take(
        &mut self,
        leaf: &mut Leaf,
        page: PageId,
        (found, was): (Result<usize, usize>, VersionWord),
        leaf_bytes: usize,
        looked: LockAttempt,
    ) -> LockAttempt {
        let no_room = LockAttempt::NoRoom { bytes: leaf_bytes };
        let slot = {
            let _entered = tag::enter(Module::Access);
            match found {
                Ok(slot) if leaf.reserve(slot, leaf_bytes).is_ok() => slot,
                Err(_) if planted(PlantedBug::GhostAtApply) => return looked,
                Err(slot) if leaf.insert(slot, self.key, absent(), leaf_bytes).is_ok() => slot,
                Ok(_) | Err(_) => return no_room,
            }
        };
        let mut version = None;
        if !was.is_ghost() && !planted(PlantedBug::SkipBeforeImage) {
            let name = Name { hash: self.write.hash, tree: self.write.id, key: self.key };
            let (bound, stubs) = (self.core.bound(), &mut self.commit.stubs);
            let saved = self.core.versions.save(
                self.thread_slot,
                name,
                was,
                leaf.value(slot),
                (bound, stubs),
            );
            version = Some(saved);
        }
        if let Some(row_log) = self.row_log
            && row_log.is_of(self.write.id)
        {
            self.log_change(row_log, was, leaf.value(slot));
        }
        leaf.set_word(slot, was.locked());
        let counter = leaf.counter();
        let row = self.row();
        row.slot = slot as u32;
        (row.page, row.counter, row.was) = (Some(page), counter, was);
        row.is_locked = true;
        row.version = version;
        looked
    }

    /// Logs the change of a row that was `was`, with that value in its leaf.
    #[cold]
    fn log_change(&mut self, row_log: &RowLog, was: VersionWord, value: &[u8]) {
        let mut whole = Vec::new();
        let mut old = (!was.is_ghost()).then_some(value);
        if was.is_overflow() {
            whole.extend_from_slice(value);
            old = resolve(&self.core.buffer, &mut whole).then_some(&whole);
        }
        row_log.note(&mut self.commit.row_changes, self.key, old);
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

/// Pages of that kind were refused: if that was at the cap on memory, some may be made free outside the
/// section.
#[cold]
fn stopped_at_cap(error: Error, pages: (Kind, u64)) -> LockFailure {
    match error {
        Error::Capped { .. } => LockFailure::Needs(Need::Memory(pages, error)),
        other => LockFailure::Failed(other),
    }
}

/// Unlocks what is locked, in the section in which it was locked. Ghosts that were put there go.
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
    // Of versions that went when others were saved. A cut comes only after this section.
    core.free_overflow(&mut commit.stubs);
}
