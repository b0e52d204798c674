//! The garbage queues hold ghosts until no open transaction began before the delete.
//!
//! A ghost shows transactions that began before the delete that there was a row: a snapshot looks up its
//! version, a serializable read moves its point or conflicts, and the first committer wins. Its entry waits
//! here until the bound of the registry has reached the delete; then the row leaves its leaf, and a leaf that
//! becomes empty or poor leaves its tree. If the row was inserted or deleted again meanwhile, its word
//! differs and the entry is ignored. Removal changes a page, so it happens in sections.
//!
//! States of an entry: *waits for readers*, as above; *waits for its leaf*: the row is gone, and its leaf
//! was left empty or poor but could not be merged, since another thread was changing the tree's structure or
//! the pool of pre-images was full. The queue retries it until it is done. Commits and aborts that leave a
//! leaf empty add it in this state. A neighbour that is not resident is such a reason, too; so may be the
//! leaf of a ghost. Commits load no pages in their sections: such pages are noted, and a sweep loads them
//! outside of its sections and tries again.
//!
//! Entries with their keys count towards the cap on memory for old versions.
//!
//! Entries exist in memory only. A page image holds the ghosts of its moment; after a restart they are
//! removed when the page is loaded (`buffer::page_load`).

use crate::access::btree::{MergeOutcome, MergeTrigger, Tree};
#[cfg(test)]
use crate::buffer::Miss;
use crate::buffer::VersionWord;
use crate::buffer::{Buffer, Leaf, Stop, without_misses};
use crate::ids::{Csn, PageId};
use crate::planted_bug::{PlantedBug, planted};
use crate::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use crate::sync::rank::{GHOSTS, WANTED};
use crate::sync::ranked::{Mutex, MutexGuard};
use crossbeam_utils::CachePadded;
use std::collections::VecDeque;
use std::sync::Arc;

/// Number of queues; more sessions than that share them.
pub(super) const QUEUES: usize = 16;

/// A queue always keeps the memory of this many entries.
const ENTRIES_RETAINED: usize = 1024;

/// A queue adds its change to the sum when it is at least this large.
const REPORTED_BYTES_MIN: i64 = 16 << 10;

/// Pages that are noted for the next sweep; entries that wait for others are noted again after it.
const WANTED_MAX: usize = 64;

/// A deleted row, or a leaf.
pub(super) struct Ghost {
    pub(super) csn: Csn,
    pub(super) tree: Arc<Tree>,
    pub(super) key: Box<[u8]>,
    pub(super) waits_for: WaitsFor,
}

/// What an entry waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitsFor {
    /// Until no reader needs the ghost any more.
    Readers,
    /// Until the leaf of the key can be unlinked or merged, which failed when it became empty or poor.
    Leaf,
}

/// The queues of all sessions.
pub(super) struct Garbage {
    /// In the order of commits, except for sessions that overtake each other before they add.
    queues: [CachePadded<Queue>; QUEUES],
    /// The approximate bytes of all queues: each adds its change when that reaches [`REPORTED_BYTES_MIN`].
    bytes: AtomicI64,
    /// Pages that entries wait for, up to [`WANTED_MAX`].
    wanted: Mutex<Vec<PageId>, WANTED>,
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting, GHOSTS>,
    /// A hint whether entries wait: every commit reads it, and few find any.
    waits: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    ghosts: VecDeque<Ghost>,
    bytes: i64,
    reported: i64,
}

impl Ghost {
    fn bytes(&self) -> i64 {
        (size_of::<Ghost>() + self.key.len()) as i64
    }
}

impl Garbage {
    pub(super) fn new() -> Garbage {
        Garbage {
            queues: std::array::from_fn(|_| CachePadded::default()),
            bytes: AtomicI64::new(0),
            wanted: Mutex::new(Vec::new()),
        }
    }

    /// The pages that entries wait for.
    pub(super) fn take_wanted(&self) -> Vec<PageId> {
        std::mem::take(&mut *self.wanted.lock())
    }

    /// Notes a page that an entry waits for.
    #[cold]
    pub(super) fn want(&self, page: PageId) {
        let mut wanted = self.wanted.lock();
        if wanted.len() < WANTED_MAX {
            wanted.push(page);
        }
    }

    /// Adds a row that a session deleted, or a leaf that it could not merge.
    pub(super) fn add(&self, seat: u32, ghost: Ghost) {
        let mut waiting = self.queue(seat);
        waiting.bytes += ghost.bytes();
        waiting.ghosts.push_back(ghost);
        self.note(seat, &mut waiting);
    }

    /// Removes up to `most` entries of a session's queue that no reader needs any more. The caller is in a
    /// section. Returns how many entries were checked; those that cannot be removed now wait again.
    pub(super) fn collect(&self, buffer: &Buffer, seat: u32, bound: Csn, most: usize) -> usize {
        let mut busy = Vec::new();
        let mut checked = 0;
        while checked < most {
            let mut waiting = self.queue(seat);
            let Some(ghost) = waiting.ghosts.pop_front_if(|ghost| ghost.csn <= bound) else {
                break;
            };
            waiting.bytes -= ghost.bytes();
            self.note(seat, &mut waiting);
            drop(waiting);
            checked += 1;
            let removed = match ghost.waits_for {
                WaitsFor::Readers => {
                    let word = VersionWord::of(ghost.csn).ghost();
                    remove_ghost(buffer, &ghost.tree, &ghost.key, word)
                }
                WaitsFor::Leaf => {
                    Ok(merge_leaf(buffer, &ghost.tree, &ghost.key, MergeTrigger::Again))
                }
            };
            match removed {
                Ok(MergeOutcome::Done) => {}
                Ok(MergeOutcome::Later) => busy.push(Ghost { waits_for: WaitsFor::Leaf, ..ghost }),
                Ok(MergeOutcome::Miss(page)) => {
                    self.want(page);
                    busy.push(Ghost { waits_for: WaitsFor::Leaf, ..ghost });
                }
                Err(stop) => {
                    if let Stop::Miss(page) = stop {
                        self.want(page);
                    }
                    let mut waiting = self.queue(seat);
                    waiting.bytes += ghost.bytes();
                    waiting.ghosts.push_front(ghost);
                    self.note(seat, &mut waiting);
                    break;
                }
            }
        }
        for leaf in busy {
            self.add(seat, leaf);
        }
        checked
    }

    /// True if entries wait in that session's queue.
    #[inline]
    pub(super) fn waits(&self, seat: u32) -> bool {
        self.queues[seat as usize % QUEUES].waits.load(Ordering::Relaxed)
    }

    /// The approximate bytes of all entries.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed).max(0) as u64
    }

    pub(super) fn len(&self) -> usize {
        (0..QUEUES as u32).map(|queue| self.len_of(queue)).sum()
    }

    /// The number of entries in that session's queue.
    pub(super) fn len_of(&self, seat: u32) -> usize {
        self.queue(seat).ghosts.len()
    }

    fn queue(&self, seat: u32) -> MutexGuard<'_, Waiting, GHOSTS> {
        self.queues[seat as usize % QUEUES].waiting.lock()
    }

    /// Updates the hint and the sum for the queue, which the caller holds.
    fn note(&self, seat: u32, waiting: &mut Waiting) {
        let waits = &self.queues[seat as usize % QUEUES].waits;
        waits.store(!waiting.ghosts.is_empty(), Ordering::Relaxed);
        let change = waiting.bytes - waiting.reported;
        if change.abs() >= REPORTED_BYTES_MIN {
            self.bytes.fetch_add(change, Ordering::Relaxed);
            waiting.reported = waiting.bytes;
        }
        let (count, room) = (waiting.ghosts.len(), waiting.ghosts.capacity());
        if room > ENTRIES_RETAINED && count < room / 8 {
            waiting.ghosts.shrink_to(ENTRIES_RETAINED.max(2 * count));
        }
    }
}

/// Removes a row if it is exactly that ghost; then the leaf, if it is poor and its neighbours have room. The
/// caller is in a section.
pub(super) fn remove_ghost(
    buffer: &Buffer,
    tree: &Tree,
    key: &[u8],
    ghost: VersionWord,
) -> Result<MergeOutcome, Stop> {
    // The table may have changed since the delete: then its rows have another handle.
    let tree = if planted(PlantedBug::ForgetGhosts) { tree } else { tree.newest() };
    if tree.is_dropped() {
        return Ok(MergeOutcome::Done);
    }
    let remove = |leaf: &mut Leaf, _page: PageId| {
        if let Ok(slot) = leaf.search(key)
            && leaf.word(slot) == ghost
        {
            leaf.remove(slot);
        }
        leaf.is_poor()
    };
    if without_misses(|| tree.change(buffer, key, remove))? {
        return Ok(merge_leaf(buffer, tree, key, MergeTrigger::First));
    }
    Ok(MergeOutcome::Done)
}

/// Merges the leaf of a key in the tree that now has the table's rows, if it is poor.
pub(super) fn merge_leaf(
    buffer: &Buffer,
    tree: &Tree,
    key: &[u8],
    tidying: MergeTrigger,
) -> MergeOutcome {
    without_misses(|| tree.newest().merge_leaf(buffer, key, tidying))
}

/// Removes every ghost of a tree, and the leaves that become empty, when no transaction is open. Returns the
/// number of ghosts.
#[cfg(test)]
pub(crate) fn strip_ghosts(buffer: &Buffer, tree: &Tree) -> Result<usize, Stop> {
    let (mut from, mut stripped) = (Vec::new(), 0);
    loop {
        let strip = |leaf: &mut Leaf, _page: PageId| {
            for slot in (0..leaf.count()).rev() {
                if leaf.word(slot).is_ghost() {
                    leaf.remove(slot);
                    stripped += 1;
                }
            }
            (leaf.count() == 0, leaf.upper_fence().map(<[u8]>::to_vec))
        };
        let has_ghosts = |leaf: &Leaf, _page: PageId| {
            let ghosts = (0..leaf.count()).any(|slot| leaf.word(slot).is_ghost());
            (ghosts || leaf.count() == 0, leaf.upper_fence().map(<[u8]>::to_vec))
        };
        let (is_touched, mut next) = match without_misses(|| tree.view(buffer, &from, has_ghosts)) {
            Ok(seen) => seen,
            Err(miss) => {
                buffer.load(miss).expect("the disk of a test can be read");
                continue;
            }
        };
        if is_touched {
            let is_empty;
            (is_empty, next) = without_misses(|| tree.change(buffer, &from, strip))?;
            if is_empty {
                let mut outcome = merge_leaf(buffer, tree, &from, MergeTrigger::First);
                while let MergeOutcome::Miss(page) = outcome {
                    buffer.load(Miss(page)).expect("the disk of a test can be read");
                    outcome = merge_leaf(buffer, tree, &from, MergeTrigger::Again);
                }
                debug_assert_eq!(outcome, MergeOutcome::Done, "no other thread uses the tree");
            }
        }
        match next {
            Some(next) => from = next,
            None => return Ok(stripped),
        }
    }
}
