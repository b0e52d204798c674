//! Ghosts wait here until no open transaction began before the delete.
//!
//! A ghost tells those who began before the delete that there was a row: a snapshot looks for its
//! version, a serializable read moves its point or conflicts, a first committer wins. Its entry waits
//! here until the bound of the registry has reached the delete; then the row leaves its leaf, and a
//! leaf that is left empty or poor leaves its tree. If the row was inserted or deleted again meanwhile,
//! its word is another one and the entry means nothing. Removing is a change of a page: it happens in
//! sections.
//!
//! States of an entry: *waits for readers*, as above; *waits for its leaf*: the row is gone, and its leaf was
//! left empty or poor, but could not be tidied then, since another thread was changing the tree's structure
//! or the pool of pre-images was full. It is looked at again with the queue, until it is tidied. Commits and
//! aborts that leave a leaf empty add it in this state.
//!
//! Entries count against the cap on memory for old versions, with their keys.
//!
//! Entries live in memory only. A page image holds the ghosts of its moment; [`strip_ghosts`] removes
//! them after a restart, when nobody is open.

use crate::access::btree::{MergeOutcome, MergeTrigger, Tree};
use crate::buffer::VersionWord;
use crate::buffer::{Buffer, Leaf, Stop, without_misses};
use crate::ids::{Csn, PageId};
use crate::planted_bug::{PlantedBug, planted};
use crate::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use crate::sync::rank::GHOSTS;
use crate::sync::ranked::{Mutex, MutexGuard};
use crossbeam_utils::CachePadded;
use std::collections::VecDeque;
use std::sync::Arc;

/// How many queues there are; sessions beyond that share them.
pub(super) const QUEUES: usize = 16;

/// So many entries' memory a queue keeps in any case.
const ENTRIES_KEPT: usize = 1024;

/// A change of a queue's bytes that is worth adding to the sum.
const TOLD_BYTES: i64 = 16 << 10;

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
    /// Nobody needs the ghost any more.
    Readers,
    /// The leaf of the key can be unlinked or merged, which was not possible when it became empty or poor.
    Leaf,
}

/// See the module.
pub(super) struct Garbage {
    /// In order of their commits, but for sessions that overtake each other on their way here.
    queues: [CachePadded<Queue>; QUEUES],
    /// About the bytes of all queues: each adds its change when that is [`TOLD_BYTES`].
    bytes: AtomicI64,
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting, GHOSTS>,
    /// True if there are some, as far as is known: every commit asks, and few find any.
    waits: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    ghosts: VecDeque<Ghost>,
    bytes: i64,
    told: i64,
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
        }
    }

    /// Adds a row that was deleted by a session, or a leaf that it could not merge.
    pub(super) fn add(&self, seat: u32, ghost: Ghost) {
        let mut waiting = self.queue(seat);
        waiting.bytes += ghost.bytes();
        waiting.ghosts.push_back(ghost);
        self.note(seat, &mut waiting);
    }

    /// Removes up to `most` of a session's queue that nobody needs any more. The caller is in a section.
    /// Answers how many entries were looked at; those that cannot go now wait again.
    pub(super) fn collect(&self, buffer: &Buffer, seat: u32, bound: Csn, most: usize) -> usize {
        let mut busy = Vec::new();
        let mut looked_at = 0;
        while looked_at < most {
            let mut waiting = self.queue(seat);
            let Some(ghost) = waiting.ghosts.pop_front_if(|ghost| ghost.csn <= bound) else {
                break;
            };
            waiting.bytes -= ghost.bytes();
            self.note(seat, &mut waiting);
            drop(waiting);
            looked_at += 1;
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
                Ok(MergeOutcome::Later) => busy.push(Ghost { waits_for: WaitsFor::Leaf, ..ghost }),
                Ok(MergeOutcome::Done) => {}
                Err(_stop) => {
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
        looked_at
    }

    /// True if some wait in that session's queue.
    #[inline]
    pub(super) fn waits(&self, seat: u32) -> bool {
        self.queues[seat as usize % QUEUES].waits.load(Ordering::Relaxed)
    }

    /// About how many bytes all entries take.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed).max(0) as u64
    }

    /// How many entries wait.
    pub(super) fn len(&self) -> usize {
        (0..QUEUES as u32).map(|queue| self.len_of(queue)).sum()
    }

    /// How many wait in that session's queue.
    pub(super) fn len_of(&self, seat: u32) -> usize {
        self.queue(seat).ghosts.len()
    }

    fn queue(&self, seat: u32) -> MutexGuard<'_, Waiting, GHOSTS> {
        self.queues[seat as usize % QUEUES].waiting.lock()
    }

    /// Says whether some wait in the queue, which the caller holds, and what they take.
    fn note(&self, seat: u32, waiting: &mut Waiting) {
        let waits = &self.queues[seat as usize % QUEUES].waits;
        waits.store(!waiting.ghosts.is_empty(), Ordering::Relaxed);
        let change = waiting.bytes - waiting.told;
        if change.abs() >= TOLD_BYTES {
            self.bytes.fetch_add(change, Ordering::Relaxed);
            waiting.told = waiting.bytes;
        }
        let (count, room) = (waiting.ghosts.len(), waiting.ghosts.capacity());
        if room > ENTRIES_KEPT && count < room / 8 {
            waiting.ghosts.shrink_to(ENTRIES_KEPT.max(2 * count));
        }
    }
}

/// Removes a row if it is exactly that ghost; then the leaf, if it is poor and its neighbours have room.
/// The caller is in a section.
pub(super) fn remove_ghost(
    buffer: &Buffer,
    tree: &Tree,
    key: &[u8],
    ghost: VersionWord,
) -> Result<MergeOutcome, Stop> {
    // The table may have been changed since the delete: then its rows have another handle.
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

/// Tidies the leaf of a key in the tree that has the tree's rows now.
pub(super) fn merge_leaf(
    buffer: &Buffer,
    tree: &Tree,
    key: &[u8],
    tidying: MergeTrigger,
) -> MergeOutcome {
    without_misses(|| tree.newest().merge_leaf(buffer, key, tidying))
}

/// Removes every ghost of a tree, and the leaves that are empty then: after a restart, when no
/// transaction is open. Returns how many there were.
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
        let (is_touched, mut next) = without_misses(|| tree.view(buffer, &from, has_ghosts))?;
        if is_touched {
            let is_empty;
            (is_empty, next) = without_misses(|| tree.change(buffer, &from, strip))?;
            if is_empty {
                let tidied = merge_leaf(buffer, tree, &from, MergeTrigger::First);
                debug_assert_eq!(tidied, MergeOutcome::Done, "nobody else is at the tree");
            }
        }
        match next {
            Some(next) => from = next,
            None => return Ok(stripped),
        }
    }
}
