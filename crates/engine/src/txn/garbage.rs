//! Ghosts wait here until no open transaction began before the delete.
//!
//! A ghost tells those who began before the delete that there was a row: a snapshot looks for its
//! version, a serializable read moves its point or conflicts, a first committer wins. Its entry waits
//! here until the bound of the registry has reached the delete; then the row leaves its leaf, and a
//! leaf that is left empty or poor leaves its tree. If the row was inserted or deleted again meanwhile,
//! its word is another one and the entry means nothing. Removing is a change of a page: it happens in
//! sections.
//!
//! Entries live in memory only. A page image holds the ghosts of its moment; [`strip_ghosts`] removes
//! them after a restart, when nobody is open.

use crate::access::btree::Tree;
use crate::buffer::Word;
use crate::buffer::{Buffer, Leaf, Stop, without_misses};
use crate::ids::{Csn, PageId};
use crate::plant::{Plant, planted};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::parking::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;

const QUEUES: usize = 16;

/// A deleted row.
pub(super) struct Ghost {
    pub(super) csn: Csn,
    pub(super) tree: Arc<Tree>,
    pub(super) key: Box<[u8]>,
}

/// See the module.
pub(super) struct Garbage {
    /// In order of their commits, but for sessions that overtake each other on their way here.
    queues: [Queue; QUEUES],
}

#[derive(Default)]
#[repr(align(128))]
struct Queue {
    ghosts: Mutex<VecDeque<Ghost>>,
    /// True if there are some, as far as is known: every commit asks, and few find any.
    waits: AtomicBool,
}

impl Garbage {
    pub(super) fn new() -> Garbage {
        Garbage {
            queues: std::array::from_fn(|_| Queue::default()),
        }
    }

    /// Adds a row that was deleted by a session.
    pub(super) fn add(&self, seat: u32, ghost: Ghost) {
        let mut queue = self.queue(seat);
        queue.push_back(ghost);
        self.note(seat, &queue);
    }

    /// Removes up to `most` of a session's queue that nobody needs any more. The caller is in a section.
    pub(super) fn collect(&self, buffer: &Buffer, seat: u32, bound: Csn, most: usize) {
        for _ in 0..most {
            let mut queue = self.queue(seat);
            let Some(ghost) = queue.pop_front_if(|ghost| ghost.csn <= bound) else {
                return;
            };
            self.note(seat, &queue);
            drop(queue);
            let word = Word::of(ghost.csn).ghost();
            if remove_ghost(buffer, &ghost.tree, &ghost.key, word).is_err() {
                let mut queue = self.queue(seat);
                queue.push_front(ghost);
                self.note(seat, &queue);
                return;
            }
        }
    }

    /// The same for every queue and without a limit.
    pub(super) fn collect_all(&self, buffer: &Buffer, bound: Csn) {
        for queue in 0..QUEUES as u32 {
            self.collect(buffer, queue, bound, usize::MAX);
        }
    }

    /// True if some wait in that session's queue.
    #[inline]
    pub(super) fn waits(&self, seat: u32) -> bool {
        self.queues[seat as usize % QUEUES]
            .waits
            .load(Ordering::Relaxed)
    }

    /// How many entries wait.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let queues = self.queues.iter();
        queues.map(|queue| queue.ghosts.lock().len()).sum()
    }

    fn queue(&self, seat: u32) -> MutexGuard<'_, VecDeque<Ghost>> {
        self.queues[seat as usize % QUEUES].ghosts.lock()
    }

    /// Says whether some wait in the queue, which the caller holds.
    fn note(&self, seat: u32, queue: &VecDeque<Ghost>) {
        let waits = &self.queues[seat as usize % QUEUES].waits;
        waits.store(!queue.is_empty(), Ordering::Relaxed);
    }
}

/// Removes a row if it is exactly that ghost; then the leaf, if it is poor and its neighbours have room.
/// The caller is in a section.
pub(super) fn remove_ghost(
    buffer: &Buffer,
    tree: &Tree,
    key: &[u8],
    ghost: Word,
) -> Result<(), Stop> {
    // The table may have been changed since the delete: then its rows have another handle.
    let tree = if planted(Plant::ForgetGhosts) {
        tree
    } else {
        tree.newest()
    };
    if tree.is_dropped() {
        return Ok(());
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
        tree.tidy(buffer, key);
    }
    Ok(())
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
            (
                ghosts || leaf.count() == 0,
                leaf.upper_fence().map(<[u8]>::to_vec),
            )
        };
        let (is_touched, mut next) = without_misses(|| tree.view(buffer, &from, has_ghosts))?;
        if is_touched {
            let is_empty;
            (is_empty, next) = without_misses(|| tree.change(buffer, &from, strip))?;
            if is_empty {
                tree.tidy(buffer, &from);
            }
        }
        match next {
            Some(next) => from = next,
            None => return Ok(stripped),
        }
    }
}
