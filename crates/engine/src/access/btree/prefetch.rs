//! Going ahead of reads: many descents in step, so that they wait for memory together. Commits of many
//! rows go ahead of those that they lock, too.
//!
//! A read of a large tree waits for memory some four times, each time for what the step before has
//! led to: the entry of the leaf's page, its frame and heads, the row. One read alone cannot do better.
//! Many can: each step is made for all of them, and only asks the processor for what the next one will
//! look at. When the reads themselves come, everything lies in the caches.
//!
//! Invariants:
//! 1. What a scout learns is a hint. Who goes by it ([`Tree::view_at`], [`Tree::change_at`]) looks under
//!    the leaf's latch whether the leaf is there, is of the tree and covers the key, as every descent
//!    does, and descends from the root if not. So it may be wrong or out of date.
//! 2. A scout waits for no latch and holds one at a time; it brings no page in and misses none.

use super::tree::Tree;
use crate::buffer::{Buffer, Frame, Inner};
use crate::ids::{PageId, TreeId};
use crossbeam_epoch::Guard;
use std::ops::Range;

/// So many descents are made in step: about as many as the processor can have lines under way.
const STEP: usize = 32;

/// A key to be read, and where it was found to be.
#[derive(Clone, Debug)]
pub(crate) struct PrefetchTarget {
    tree: TreeId,
    root: PageId,
    key: Range<usize>,
    leaf: Option<PageId>,
}

impl PrefetchTarget {
    /// The key at that place of the keys given to [`scout`].
    pub(crate) fn new(tree: &Tree, key: Range<usize>) -> PrefetchTarget {
        PrefetchTarget { tree: tree.id, root: tree.root, key, leaf: None }
    }

    /// The leaf that likely covers the key; none if the scout did not get there.
    pub(crate) fn leaf(&self) -> Option<PageId> {
        self.leaf
    }
}

/// Where a descent is.
#[derive(Clone, Copy)]
struct DescentState<'g> {
    page: PageId,
    frame: Option<&'g Frame>,
    /// Of the frame's node, which child.
    child: usize,
    /// The level of the node above; levels fall on the way down.
    above: u8,
    /// The page is likely a leaf; or the way ends here.
    is_below: bool,
}

/// Goes ahead of the reads of all targets.
pub(crate) fn prefetch_leaves(buffer: &Buffer, keys: &[u8], targets: &mut [PrefetchTarget]) {
    for targets in targets.chunks_mut(STEP) {
        let guard = crossbeam_epoch::pin();
        let mut places = [DescentState::nowhere(); STEP];
        let places = &mut places[..targets.len()];
        for (at, target) in places.iter_mut().zip(&*targets) {
            *at = DescentState::root_of(target);
        }
        while places.iter().any(|at| !at.is_below) {
            step_down(buffer, keys, places, targets, &guard);
        }
        for at in &mut *places {
            at.frame = buffer.prefetch_leaf(at.page, &guard);
        }
        for (at, target) in places.iter().zip(targets) {
            target.leaf = at.prefetch_row(buffer, &keys[target.key.clone()]).then_some(at.page);
        }
    }
}

/// One level down, all of them.
fn step_down<'g>(
    buffer: &Buffer,
    keys: &[u8],
    places: &mut [DescentState<'g>],
    targets: &[PrefetchTarget],
    guard: &'g Guard,
) {
    let inner = |at: &&mut DescentState<'_>| !at.is_below;
    for at in places.iter_mut().filter(inner) {
        at.frame = buffer.prefetch_frame(at.page, guard);
    }
    for at in places.iter().filter(|at| !at.is_below) {
        at.prefetch_separator_index();
    }
    for (at, target) in places.iter_mut().zip(targets) {
        if !at.is_below {
            at.choose(target, &keys[target.key.clone()]);
        }
    }
    for at in places.iter_mut().filter(inner) {
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

    /// Asks for what the search of an inner node looks at first.
    fn prefetch_separator_index(&self) {
        if let Some(inner) = self.frame.and_then(Frame::inner) {
            inner.prefetch_separator_index();
        }
    }

    /// Which child the key is in. What is no inner node of the tree ends the way.
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

    /// Asks for the row in the leaf; false if there is no leaf.
    fn prefetch_row(&self, buffer: &Buffer, key: &[u8]) -> bool {
        let Some(latch) = self.frame.and_then(Frame::leaf) else {
            return false;
        };
        // Whoever holds it changes the leaf, and has it in a cache.
        if let Some(leaf) = latch.try_read()
            && !leaf.is_gone()
        {
            leaf.prefetch_row(key);
            buffer.update_hint(self.page, &leaf);
        }
        true
    }
}
