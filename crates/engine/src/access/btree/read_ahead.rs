//! Read-ahead of scans: leaves that a scan will need are loaded together, before it comes to them.
//!
//! A scan that misses a leaf asks for that leaf and for others behind it, in its direction, below the same
//! parent: one the first time, and twice as many each time it misses again. So a short scan reads little that
//! it does not need, and a long one keeps the device busy. If the scan has a limit, and has seen a leaf, it
//! asks for as many as it needs for the rest of its rows.

use super::descend::Goal;
use super::tree::Tree;
use crate::buffer::Buffer;
use crate::ids::PageId;

/// Leaves that one step loads at most.
const LEAVES_MAX: usize = 64;

/// How far a scan reads ahead.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    leaves: usize,
}

impl ReadAhead {
    pub(crate) fn new() -> ReadAhead {
        ReadAhead { leaves: 1 }
    }

    /// Loads leaves from the goal on, in ascending order up to the one that covers `end`, or in descending
    /// order down to it; `needed` of them, if that is known. It is a hint: what cannot be loaded is left to
    /// the scan. The caller holds no latch, no section and no [`pin`](crate::buffer::pin).
    pub(crate) fn load(
        &mut self,
        (tree, buffer): (&Tree, &Buffer),
        goal: Goal<'_>,
        upwards: bool,
        end: Option<&[u8]>,
        needed: Option<usize>,
    ) {
        let leaves = needed.map_or(self.leaves, |needed| needed.min(LEAVES_MAX));
        self.leaves = (2 * self.leaves).min(LEAVES_MAX);
        if leaves > 1 {
            buffer.load_batch(tree.leaves_from(buffer, goal, (upwards, end), leaves).into_iter());
        }
    }
}

impl Tree {
    /// The pages of up to `most` leaves below one parent, beginning with that of the goal. Empty if a page
    /// above them is not in memory.
    fn leaves_from(
        &self,
        buffer: &Buffer,
        goal: Goal<'_>,
        (upwards, end): (bool, Option<&[u8]>),
        most: usize,
    ) -> Vec<PageId> {
        let guard = crate::buffer::pin();
        let (mut page, mut above) = (self.root, u8::MAX);
        loop {
            let inner = buffer.frame(page, &guard).and_then(|frame| frame.inner());
            let Some(inner) = inner.filter(|node| node.tree() == self.id && node.level() < above)
            else {
                return Vec::new();
            };
            let first = goal.index_in(inner);
            if inner.level() > 1 {
                (page, above) = (inner.child(first), inner.level());
                continue;
            }
            let last = end.map(|key| inner.index_of(key));
            return if upwards {
                let last = last.unwrap_or(usize::MAX).min(inner.count() - 1);
                (first..=last).take(most).map(|index| inner.child(index)).collect()
            } else {
                let last = last.unwrap_or(0);
                (last..=first).rev().take(most).map(|index| inner.child(index)).collect()
            };
        }
    }
}
