//! Batched prefetch: many descents in step, so that their cache misses overlap. Commits of many rows use it
//! too, before they lock.
//!
//! A read of a large tree waits for memory about four times, each time for an address from the step before:
//! the entry of the leaf's page, its frame and heads, the row. A single read cannot avoid that. Many can:
//! each step is made for all of them, and only prefetches the memory of the next step. When the reads
//! themselves follow, everything is in the caches.
//!
//! Invariants:
//! 1. The result is a hint. A call that uses it ([`Tree::view_at`], [`Tree::change_at`]) checks under the
//!    leaf's latch that the leaf exists, belongs to the tree and covers the key, as every descent does, and
//!    otherwise descends from the root. So a hint may be wrong or out of date.
//! 2. A prefetch waits for no latch and holds one at a time. [`load_leaves`] loads pages, but reports no miss
//!    and no failure: whatever it could not load is loaded, or refused, when it is read.

use super::tree::Tree;
use crate::buffer::{Buffer, Frame, Inner};
use crate::ids::{PageId, TreeId};
use crossbeam_epoch::Guard;
use std::ops::Range;

/// Descents made in step: about as many as the processor can have cache misses in flight.
const BATCH: usize = 32;

/// Rounds of loading: one for each level of a tall tree.
const LEVELS_MAX: usize = 8;

/// A key to be read, and the leaf found for it.
#[derive(Clone, Debug)]
pub(crate) struct PrefetchTarget {
    tree: TreeId,
    root: PageId,
    key: Range<usize>,
    leaf: Option<PageId>,
    /// The page at which the descent ended.
    end: PageId,
}

impl PrefetchTarget {
    /// The key in that range of the keys passed to [`prefetch_leaves`].
    pub(crate) fn new(tree: &Tree, key: Range<usize>) -> PrefetchTarget {
        PrefetchTarget { tree: tree.id, root: tree.root, key, leaf: None, end: PageId(0) }
    }

    /// The same target with its key in another place.
    pub(crate) fn moved(&self, key: Range<usize>) -> PrefetchTarget {
        PrefetchTarget { key, ..*self }
    }

    /// Where its key lies.
    pub(crate) fn key(&self) -> Range<usize> {
        self.key.clone()
    }

    /// The page on disk at which the descent ended; none if it ended elsewhere.
    pub(crate) fn missing(&self, buffer: &Buffer) -> Option<PageId> {
        (self.leaf.is_none() && buffer.is_on_disk(self.end)).then_some(self.end)
    }

    /// The leaf that likely covers the key; none if the descent did not get there.
    pub(crate) fn leaf(&self) -> Option<PageId> {
        self.leaf
    }
}

/// The position of a descent.
#[derive(Clone, Copy)]
struct DescentState<'g> {
    page: PageId,
    frame: Option<&'g Frame>,
    /// The chosen child of the frame's node.
    child: usize,
    /// The level of the node above; levels decrease on the way down.
    above: u8,
    /// The page is likely a leaf, or the descent ends here.
    is_below: bool,
}

/// Prefetches the leaves and rows of all targets.
pub(crate) fn prefetch_leaves(buffer: &Buffer, keys: &[u8], targets: &mut [PrefetchTarget]) {
    for targets in targets.chunks_mut(BATCH) {
        let guard = crossbeam_epoch::pin();
        let mut descents = [DescentState::nowhere(); BATCH];
        let descents = &mut descents[..targets.len()];
        for (at, target) in descents.iter_mut().zip(&*targets) {
            *at = DescentState::root_of(target);
        }
        while descents.iter().any(|at| !at.is_below) {
            step_down(buffer, keys, descents, targets, &guard);
        }
        for at in &mut *descents {
            at.frame = buffer.prefetch_leaf(at.page, &guard);
        }
        for (at, target) in descents.iter().zip(targets) {
            target.end = at.page;
            target.leaf = at.prefetch_row(buffer, &keys[target.key.clone()]).then_some(at.page);
        }
    }
}

/// The same, but where pages on the way are on disk, it first loads those of all targets together. The caller
/// holds no latch, no section and no [`pin`](crate::buffer::pin).
pub(crate) fn load_leaves(buffer: &Buffer, keys: &[u8], targets: &mut [PrefetchTarget]) {
    prefetch_leaves(buffer, keys, targets);
    if !buffer.may_miss() {
        return;
    }
    for _ in 0..LEVELS_MAX {
        let missing = targets.iter().filter_map(|target| target.missing(buffer));
        let mut missing: Vec<PageId> = missing.collect();
        if missing.is_empty() {
            return;
        }
        missing.sort_unstable();
        missing.dedup();
        buffer.load_batch(missing.into_iter());
        prefetch_leaves(buffer, keys, targets);
    }
}

/// Moves all of them one level down.
fn step_down<'g>(
    buffer: &Buffer,
    keys: &[u8],
    descents: &mut [DescentState<'g>],
    targets: &[PrefetchTarget],
    guard: &'g Guard,
) {
    let inner = |at: &&mut DescentState<'_>| !at.is_below;
    for at in descents.iter_mut().filter(inner) {
        at.frame = buffer.prefetch_frame(at.page, guard);
    }
    for at in descents.iter().filter(|at| !at.is_below) {
        at.prefetch_separator_index();
    }
    for (at, target) in descents.iter_mut().zip(targets) {
        if !at.is_below {
            at.choose(target, &keys[target.key.clone()]);
        }
    }
    for at in descents.iter_mut().filter(inner) {
        at.go_down(buffer);
    }
}

impl DescentState<'_> {
    fn nowhere() -> Self {
        DescentState { page: PageId(0), frame: None, child: 0, above: u8::MAX, is_below: true }
    }

    fn root_of(target: &PrefetchTarget) -> Self {
        DescentState { page: target.root, is_below: false, ..DescentState::nowhere() }
    }

    /// Prefetches the memory where the search of an inner node begins.
    fn prefetch_separator_index(&self) {
        if let Some(inner) = self.frame.and_then(Frame::inner) {
            inner.prefetch_separator_index();
        }
    }

    /// Chooses the child that covers the key. Anything but an inner node of the tree ends the descent.
    fn choose(&mut self, target: &PrefetchTarget, key: &[u8]) {
        let inner = self.frame.and_then(Frame::inner);
        let is_on_the_way =
            |inner: &&Inner| inner.tree() == target.tree && inner.level() < self.above;
        match inner.filter(is_on_the_way) {
            Some(inner) => {
                self.child = inner.index_of(key);
            }
            None => self.is_below = true,
        }
    }

    fn go_down(&mut self, buffer: &Buffer) {
        if let Some(inner) = self.frame.and_then(Frame::inner) {
            self.page = inner.child(self.child);
            self.above = inner.level();
            self.is_below = inner.level() == 1;
            buffer.prefetch_entry(self.page);
        }
    }

    /// Prefetches the row in the leaf; false if there is no leaf.
    fn prefetch_row(&self, buffer: &Buffer, key: &[u8]) -> bool {
        let Some(latch) = self.frame.and_then(Frame::leaf) else {
            return false;
        };
        // A latched leaf is being changed by another thread, so it is in a cache already.
        if let Some(leaf) = latch.try_read()
            && !leaf.is_gone()
        {
            leaf.prefetch_row(key);
            buffer.update_hint(self.page, &leaf);
        }
        true
    }
}
