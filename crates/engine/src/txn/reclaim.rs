//! Reclaiming memory: what nobody needs any more goes before a writer is refused, or a cap is passed.
//!
//! Commits collect old versions (`version`) and ghosts (`garbage`) bit by bit, up to a bound that one commit
//! in some tens looks for anew. So at any moment some memory is taken by what could go already. This module
//! collects it all at once: in a sweep of a store at rest, when old versions reach their cap, and when a
//! page is refused at the cap on memory.
//!
//! | cap | counts | at the cap |
//! |---|---|---|
//! | `resident_bytes_max` | pages and their frames, those that wait for their last reader included; free cells of blocks; the translation table; images that a checkpoint waits for | [`Core::reclaim`], then `Capped` |
//! | `version_bytes_max` | versions: entry, key, value, and the overflow pages that a value lies in; ghosts that wait: entry and key | collect, end the oldest reader |
//!
//! Overflow pages that an old version holds count against both: they are pages.
//!
//! What [`Core::reclaim`] tries, until the pages that are wanted fit:
//! 1. look for the bound, collect versions and ghosts up to it, free what waits for readers that are gone;
//! 2. flush the log: what is committed and not stable yet holds the bound back;
//! 3. move the running checkpoint on: pages that were freed or changed behind its cut leave their images;
//! 4. wait a little for transactions that are about to end;
//! 5. end the oldest reader with `SnapshotTooOld`, if what only old readers need is worth it: overflow pages
//!    that are enough, or a leaf full of ghosts. A full store could not be emptied beside an idle reader.
//!
//! Invariants:
//! 1. The caller is outside a section, holds no latch, no permit of the log and no pinned epoch. Whoever
//!    meets the cap inside a section leaves it first (`Need::Memory`) and begins again. Who holds the gate
//!    closed is in order: its sections need not ask.
//! 2. Nothing here is done while there is memory: the commit that finds room pays nothing.
//! 3. It ends: each round but the last flushes what others have published meanwhile, does a step of the
//!    checkpoint, or sees a reader end, and there are [`ROUNDS_MAX`] of them at most.
//! 4. The transaction that is refused holds nothing back itself, if it can help it: a serializable one moves
//!    its read point in each round. Else of two that wait here each would keep the other's versions.
//! 5. Memory that was made free is reserved for nobody. Whoever finds that others have taken it makes more
//!    free ([`retry_at_cap`](crate::buffer::retry_at_cap)): each time somebody else's pages were placed, so
//!    the store as a whole moves on.

use crate::access::btree::{MergeOutcome, MergeTrigger, Tree};
use crate::buffer::page::Kind;
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

/// How many rounds of [`Core::reclaim`] there are at most.
const ROUNDS_MAX: u32 = 10_000;

/// So many flushes are tried: others may publish again and again.
const FLUSHES_MAX: u32 = 4;

/// So many ghosts are removed in a section, so that who closes the gate does not wait for all of them.
const GHOSTS_A_SECTION: usize = 1_000;

/// How often the bound is looked at before a reader is ended for it, or the writer refused: transactions that
/// are about to end may wait for a processor meanwhile.
const BOUND_LOOKS: u32 = if IS_MODEL { 2 } else { 4_096 };

/// So many ghosts are worth the end of a reader: about a leaf of them.
const GHOSTS_WORTH: usize = 64;

impl<D: Disk> Core<D> {
    /// A section of a session with that seat, which may hold the gate closed; waits for the gate otherwise.
    /// Errors as [`Core::enter_gate`].
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

    /// [`Core::reclaim`] for a tree that is built aside.
    pub(crate) fn reclaim_for_build(&self, pages: (Kind, u64)) -> Result<bool> {
        self.reclaim(None, pages)
    }

    /// Makes memory for so many pages of that kind, if any can go; false if too little can. `txn` is the
    /// transaction that needs it. See the module for who may call it.
    #[cold]
    pub(super) fn reclaim(
        &self,
        mut txn: Option<&mut Transaction>,
        (kind, pages): (Kind, u64),
    ) -> Result<bool> {
        let mut flushes = 0;
        for _ in 0..ROUNDS_MAX {
            if let Some(txn) = txn.as_deref_mut().filter(|txn| txn.is_validated()) {
                move_read_point(self, txn, Csn::ZERO)?;
            }
            let (alone, seat) =
                txn.as_deref().map_or((None, 0), |txn| (txn.alone.as_ref(), txn.seat));
            let bound = self.find_bound();
            self.collect(bound, &|| self.section(alone, seat))?;
            self.buffer.free_retired(kind, pages);
            if self.buffer.has_memory(kind, pages) {
                return Ok(true);
            }
            if flushes < FLUSHES_MAX && self.log.horizon() < self.log.published() {
                flushes += 1;
                self.log.flush()?;
            } else if !self.move_checkpoint()?
                && !self.bound_moves(bound)
                && !self.end_oldest_reader(pages)
            {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Does a step of the running checkpoint if pages that are gone wait for it; false if none do. On a full
    /// disk the checkpoint is abandoned, which lets them go, too.
    fn move_checkpoint(&self) -> Result<bool> {
        if self.buffer.capture_first().is_none() {
            return Ok(false);
        }
        match self.relieve() {
            Err(Error::Full { .. }) => Ok(true),
            moved => moved,
        }
    }

    /// True if the bound moves on by itself within a few turns of the scheduler: transactions end.
    fn bound_moves(&self, bound: Csn) -> bool {
        (0..BOUND_LOOKS).any(|looks| {
            pause(looks);
            self.find_bound() > bound
        })
    }

    /// Ends the oldest reader if that is likely worth so many pages; false if it is not, or there is none.
    fn end_oldest_reader(&self, pages: u64) -> bool {
        let held_bytes = self.versions.chain_bytes();
        let is_worth =
            held_bytes >= pages * self.buffer.frame_bytes() || self.garbage.len() >= GHOSTS_WORTH;
        is_worth && self.registry.doom_oldest(self.log.horizon())
    }

    /// Drops old versions and removes ghosts and trees that nobody needs any more. Commits do that
    /// bit by bit; this is for stores at rest. Leaves the rest to the next sweep while the gate is closed.
    pub(crate) fn sweep(&self) {
        let bound = self.find_bound();
        let _closed = self.collect(bound, &|| self.gate.try_enter(0).ok_or(()));
    }

    /// About how much memory old versions and waiting ghosts take, in bytes.
    #[inline]
    pub(crate) fn version_bytes(&self) -> u64 {
        self.versions.bytes() + self.garbage.bytes()
    }

    /// Makes sure that there is memory for old versions. Outside a section: it may wait for the log.
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
            let bound = self.find_bound();
            self.collect(bound, &section)?;
            if self.version_bytes() <= self.options.version_bytes_max {
                return Ok(());
            }
            // Either somebody reads behind, or the log is behind.
            if !self.registry.doom_oldest(self.log.horizon()) {
                self.log.flush()?;
                if self.find_bound() == bound {
                    return Ok(());
                }
            }
        }
    }

    /// Clears up around the leaf of a key that was left empty, now or when it is possible. In a section.
    #[cold]
    pub(super) fn merge_leaf(&self, seat: u32, tree: &Arc<Tree>, key: &[u8]) {
        if merge_leaf(&self.buffer, tree, key, MergeTrigger::First) == MergeOutcome::Later {
            let leaf = Ghost {
                csn: Csn::ZERO,
                tree: Arc::clone(tree),
                key: key.into(),
                waits_for: WaitsFor::Leaf,
            };
            self.garbage.add(seat, leaf);
        }
    }

    /// Drops versions and removes ghosts up to a bound, in sections of its own; ends early if it is refused
    /// one.
    fn collect<'g, E>(
        &self,
        bound: Csn,
        section: &impl Fn() -> std::result::Result<Section<'g>, E>,
    ) -> std::result::Result<(), E> {
        let in_section = section()?;
        self.collect_versions(bound);
        drop(in_section);
        for queue in 0..QUEUES as u32 {
            // What cannot go now waits again: each is looked at once.
            let mut left = self.garbage.len_of(queue);
            while left > 0 {
                let in_section = section()?;
                let most = left.min(GHOSTS_A_SECTION);
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

    /// Drops versions up to a bound, and their long values. The caller is in a section: between the two
    /// a cut must not come.
    fn collect_versions(&self, bound: Csn) {
        let mut stubs = Vec::new();
        self.versions.collect(bound, &mut stubs);
        self.free_overflow(&mut stubs);
    }
}
