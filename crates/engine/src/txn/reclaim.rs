//! Reclaims memory that no reader needs any more before a writer is refused or a cap is passed.
//!
//! Commits collect old versions (`version`) and ghosts (`garbage`) bit by bit, up to a bound that one commit
//! in some tens recomputes. So at any moment some memory could already be freed. This module frees it all at
//! once: in a sweep of an idle store, when old versions reach their cap, and when a page is refused at the
//! cap on memory.
//!
//! | cap | counts | at the cap |
//! |---|---|---|
//! | `resident_bytes_max` | pages and their frames, including those that wait for their last reader; free cells of blocks; the translation table; images that wait for a checkpoint | [`Core::reclaim`], then `Capped` |
//! | `version_bytes_max` | versions: entry, key, value, and the extents of a value; waiting ghosts: entry and key | collect, end the oldest reader |
//!
//! Extents of an old version count towards both: they are pages.
//!
//! [`Core::reclaim`] does the following until the requested pages fit:
//! 1. compute the bound, collect versions and ghosts up to it, free frames whose readers are gone;
//! 2. flush the log: commits that are not stable yet hold the bound back;
//! 3. move the running checkpoint on: pages that were freed or changed after its snapshot keep their images;
//! 4. wait briefly for transactions that are about to end;
//! 5. end the oldest reader with `SnapshotTooOld`, if the memory that only old readers need is worth it:
//!    enough extents, or a leaf full of ghosts. Otherwise an idle reader could prevent emptying a
//!    full store.
//!
//! Invariants:
//! 1. The caller is outside a section, holds no latch, no permit of the log and no pinned epoch. A caller
//!    that reaches the cap inside a section leaves it first (`Need::Memory`) and begins again. Holding the
//!    closed gate is allowed: its sections need no permission.
//! 2. Nothing here runs while there is memory: a commit that finds room pays nothing.
//! 3. It ends: each round except the last flushes what others have published meanwhile, does a step of the
//!    checkpoint, or sees a reader end, and there are at most [`ROUNDS_MAX`] of them.
//! 4. The refused transaction holds nothing back itself, if it can avoid it: a serializable one moves its
//!    read point in each round. Otherwise each of two waiting transactions would keep the other's versions.
//! 5. Freed memory is not reserved. A caller that loses it to others frees more
//!    ([`retry_at_cap`](crate::buffer::retry_at_cap)): each time other pages were placed, so the store as a
//!    whole makes progress.

use crate::access::btree::{MergeOutcome, MergeTrigger, Tree};
use crate::buffer::{MemoryNeed, Miss};
use crate::error::{Error, Result};
use crate::ids::Csn;
use crate::sync::IS_MODEL;
use crate::thread_slot;
use crate::txn::commit_gate::{ClosedGate, Section};
use crate::txn::core::{Core, pause};
use crate::txn::garbage::{Ghost, QUEUES, WaitsFor, merge_leaf};
use crate::txn::read::move_read_point;
use crate::txn::transaction::Transaction;
use std::sync::Arc;
use syncline_vfs::Disk;

/// Maximum rounds of [`Core::reclaim`].
const ROUNDS_MAX: u32 = 10_000;

/// Maximum flushes: others may publish again and again.
const FLUSHES_MAX: u32 = 4;

/// Ghosts removed in one section, so that a thread that closes the gate does not wait for all of them.
const GHOSTS_PER_SECTION: usize = 1_000;

/// Checks of the bound before a reader is ended or the writer refused: transactions that are about to end may
/// be waiting for a processor.
const BOUND_CHECKS: u32 = if IS_MODEL { 2 } else { 4_096 };

/// Rounds of a sweep, each of which loads the pages that the one before lacked.
const SWEEP_ROUNDS_MAX: u32 = 8;

/// Ghosts that justify the end of a reader: about a leaf of them.
const GHOSTS_WORTH: usize = 64;

impl<D: Disk> Core<D> {
    /// A section for the session with that seat, or of the closed gate if the session holds it. Otherwise
    /// waits for the gate. Errors as [`Core::enter_gate`].
    pub(super) fn section<'c>(
        &'c self,
        alone: Option<&ClosedGate>,
        seat: u32,
    ) -> Result<Section<'c>> {
        match alone {
            Some(closed) => Ok(closed.section()),
            None => self.enter_gate(thread_slot::of(seat)),
        }
    }

    /// [`Core::reclaim`] for a hidden tree under construction.
    pub(crate) fn reclaim_for_build(&self, needed: MemoryNeed) -> Result<bool> {
        self.reclaim(None, needed)
    }

    /// Frees that memory; false if too little can be freed. `txn` is the transaction that needs it. The
    /// module says when it may be called.
    #[cold]
    pub(super) fn reclaim(
        &self,
        mut txn: Option<&mut Transaction>,
        needed: MemoryNeed,
    ) -> Result<bool> {
        let mut flushes = 0;
        for _ in 0..ROUNDS_MAX {
            if let Some(txn) = txn.as_deref_mut().filter(|txn| txn.is_validated()) {
                move_read_point(self, txn, Csn::ZERO)?;
            }
            let (alone, seat) =
                txn.as_deref().map_or((None, 0), |txn| (txn.alone.as_ref(), txn.seat));
            let bound = self.compute_bound();
            self.collect(bound, &|| self.section(alone, seat))?;
            self.buffer.evict_for(needed.bytes(self.buffer.frame_bytes()));
            self.buffer.free_retired(needed);
            if self.buffer.has_memory(needed) {
                return Ok(true);
            }
            if flushes < FLUSHES_MAX && self.log.durable_lsn() < self.log.published() {
                flushes += 1;
                self.log.flush()?;
            } else if !self.move_checkpoint()?
                && !self.clean_pages_at_cap(alone)?
                && !self.bound_moves(bound)
                && !self.end_oldest_reader(needed)
            {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Does a step of the running checkpoint if images of freed pages wait for it; false if none do. On a
    /// full disk the checkpoint is abandoned, which frees them, too.
    fn move_checkpoint(&self) -> Result<bool> {
        if self.buffer.capture_first().is_none() {
            return Ok(false);
        }
        match self.relieve() {
            Err(Error::Full { .. }) => Ok(true),
            moved => moved,
        }
    }

    /// A step towards clean pages, which can be evicted. On a full disk there will be none.
    fn clean_pages_at_cap(&self, alone: Option<&ClosedGate>) -> Result<bool> {
        match self.clean_pages(alone) {
            Err(Error::Full { .. }) => Ok(false),
            cleaned => cleaned,
        }
    }

    /// True if the bound moves on by itself within a few turns of the scheduler, because transactions end.
    fn bound_moves(&self, bound: Csn) -> bool {
        (0..BOUND_CHECKS).any(|retries| {
            pause(retries);
            self.compute_bound() > bound
        })
    }

    /// Ends the oldest reader if that likely frees this memory; false if not, or if there is none.
    fn end_oldest_reader(&self, needed: MemoryNeed) -> bool {
        let held_bytes = self.versions.extent_bytes();
        let needed_bytes = needed.bytes(self.buffer.frame_bytes());
        let is_worth = held_bytes >= needed_bytes || self.garbage.len() >= GHOSTS_WORTH;
        is_worth && self.registry.doom_oldest(self.log.durable_lsn())
    }

    /// Drops old versions, ghosts and trees that no reader needs any more. Commits do that bit by bit; this
    /// is for idle stores. While the gate is closed, it leaves the rest to the next sweep.
    /// A row whose page cannot be read is left for a later sweep.
    pub(crate) fn sweep(&self) {
        for _ in 0..SWEEP_ROUNDS_MAX {
            let bound = self.compute_bound();
            let _closed = self.collect(bound, &|| self.gate.try_enter(0).ok_or(()));
            let wanted = self.garbage.take_wanted();
            let mut loads = wanted.into_iter().map(|page| self.buffer.load(Miss(page)));
            // Those who read the page get the error.
            if loads.len() == 0 || loads.any(|loaded| loaded.is_err()) {
                break;
            }
        }
    }

    /// Notes a leaf that is poor, to be merged when commits or a sweep collect garbage.
    pub(crate) fn note_poor_leaf(&self, tree: &Arc<Tree>, key: Box<[u8]>) {
        let tree = Arc::clone(tree);
        let leaf = Ghost { csn: Csn::ZERO, tree, key, waits_for: WaitsFor::Leaf };
        self.garbage.add(0, leaf);
    }

    /// The approximate memory of old versions and waiting ghosts, in bytes.
    #[inline]
    pub(crate) fn version_bytes(&self) -> u64 {
        self.versions.bytes() + self.garbage.bytes()
    }

    /// Ensures memory for old versions. Called outside a section: it may wait for the log.
    #[inline]
    pub(super) fn secure_versions<'g>(
        &self,
        section: impl Fn() -> Result<Section<'g>>,
    ) -> Result<()> {
        if self.version_bytes() <= self.options.version_bytes_max {
            return Ok(());
        }
        self.make_space_for_versions(section)
    }

    #[cold]
    fn make_space_for_versions<'g>(&self, section: impl Fn() -> Result<Section<'g>>) -> Result<()> {
        loop {
            let bound = self.compute_bound();
            self.collect(bound, &section)?;
            if self.version_bytes() <= self.options.version_bytes_max {
                return Ok(());
            }
            // Either a reader is behind, or the log is.
            if !self.registry.doom_oldest(self.log.durable_lsn()) {
                self.log.flush()?;
                if self.compute_bound() == bound {
                    return Ok(());
                }
            }
        }
    }

    /// Merges or unlinks the leaf of a key that was left empty, now or when that is possible. In a section.
    #[cold]
    pub(super) fn merge_leaf(&self, seat: u32, tree: &Arc<Tree>, key: &[u8]) {
        let outcome = merge_leaf(&self.buffer, tree, key, MergeTrigger::First);
        if let MergeOutcome::Miss(page) = outcome {
            self.garbage.want(page);
        }
        if outcome != MergeOutcome::Done {
            let leaf = Ghost {
                csn: Csn::ZERO,
                tree: Arc::clone(tree),
                key: key.into(),
                waits_for: WaitsFor::Leaf,
            };
            self.garbage.add(seat, leaf);
        }
    }

    /// Drops versions and removes ghosts up to a bound, in separate sections; ends early if a section is
    /// refused.
    fn collect<'g, E>(
        &self,
        bound: Csn,
        section: &impl Fn() -> std::result::Result<Section<'g>, E>,
    ) -> std::result::Result<(), E> {
        let in_section = section()?;
        self.collect_versions(bound);
        drop(in_section);
        for queue in 0..QUEUES as u32 {
            // Entries that cannot be removed now are queued again: each is checked once.
            let mut left = self.garbage.len_of(queue);
            while left > 0 {
                let in_section = section()?;
                let most = left.min(GHOSTS_PER_SECTION);
                let removed = self.garbage.collect(&self.buffer, queue, bound, most);
                drop(in_section);
                if removed < most {
                    break;
                }
                left -= removed;
            }
        }
        Ok(())
    }

    /// Drops versions up to a bound, and their long values. The caller is in a section: no snapshot may come
    /// between the two.
    fn collect_versions(&self, bound: Csn) {
        let mut pointers = Vec::new();
        self.versions.collect(bound, &mut pointers);
        self.free_extents(&mut pointers);
    }
}
