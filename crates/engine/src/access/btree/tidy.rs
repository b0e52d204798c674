//! Giving pages back: leaves that are empty or poor, inner nodes that are, and roots with a single child.
//!
//! An empty leaf is unlinked. The lowest ancestor with another child loses the one that leads to it; the
//! nodes between have no other child and go too. The keys that the leaf covered fall to the neighbour
//! below the same ancestor, so the neighbour's leaf gets the fence of the empty one.
//!
//! A poor leaf is merged with a neighbour below the same parent, if both together leave a part of a page
//! free, so that the next inserts do not split it again. The left one of the two takes the rows of both,
//! locked ones with their room, as a split moves them; the right one goes. An inner node that has become
//! poor is merged in the same way.
//!
//! Who looked at one of the two leaves before sees that: the left one has a new counter, the right one is
//! gone. A cut that has yet to capture them gets their images first, or is handed the one that goes.

use super::split::{Step, Way};
use super::tree::Tree;
use crate::buffer::{Branches, Buffer, Content, Frame, Leaf, POOR};
use crate::ids::PageId;
use crate::sync::parking::{RwLock, RwLockWriteGuard};
use crossbeam_epoch::Guard;

/// Two nodes are merged if they then take no more than this part of a page.
const MERGED: (usize, usize) = (4, 5);

impl Tree {
    /// Unlinks and frees the leaf that covers the key if it is empty, or merges it with a neighbour if
    /// it is poor, in a section. Does nothing when it is neither, the structure is busy, a page misses,
    /// the pool of pre-images is full, or the neighbours have no room: a leaf too many does no harm.
    pub(crate) fn tidy(&self, buffer: &Buffer, key: &[u8]) {
        let Some(_structure) = self.structure.try_lock() else {
            return;
        };
        let guard = crossbeam_epoch::pin();
        if self.is_dropped() {
            return;
        }
        let Ok(way) = self.way(buffer, key, &guard) else {
            return;
        };
        let is_empty = way.latch.read().count() == 0;
        let done = if is_empty {
            self.unlink(buffer, &way, &guard)
        } else {
            self.merge(buffer, &way, &guard)
        };
        if done.is_some() {
            while self.merge_above(buffer, key, &guard).is_some() {}
            while self.collapse(buffer, &guard).is_some() {}
        }
    }

    /// None if it was not done.
    fn unlink(&self, buffer: &Buffer, way: &Way<'_>, guard: &Guard) -> Option<()> {
        let above = way.steps.iter().rposition(|step| step.inner.count() > 0)?;
        let step = &way.steps[above];
        let mut empty = way.latch.write();
        if empty.count() > 0 {
            return None;
        }
        let (frame, latch) = neighbour(buffer, step, guard)?;
        let mut other = latch.write();
        let heir = if step.index > 0 {
            other.with_fences(other.lower_fence(), empty.upper_fence())?
        } else {
            other.with_fences(empty.lower_fence(), other.upper_fence())?
        };
        let mut branches = step.inner.branches();
        branches.remove_child(step.index);
        let (page, level) = (step.inner.page(), step.inner.level());
        let parent = branches.node(buffer.page_bytes(), page, self.id, level)?;
        buffer.touch_leaf(frame, &other).ok()?;
        buffer.touch_inner(step.frame).ok()?;
        buffer.replace(Content::Inner(parent), guard);
        other.become_leaf(heir);
        buffer.retire_leaf(way.frame, &mut empty);
        drop((other, empty));
        buffer.forget(way.page, guard);
        for between in &way.steps[above + 1..] {
            buffer.free(between.inner.page());
        }
        Some(())
    }

    /// Merges a poor leaf with a neighbour. None if it was not done.
    fn merge(&self, buffer: &Buffer, way: &Way<'_>, guard: &Guard) -> Option<()> {
        let step = way.steps.last()?;
        let mut poor = way.latch.write();
        if !poor.is_poor() {
            return None;
        }
        for (left, right) in pairs(step) {
            let beside = step
                .inner
                .child(if left == step.index { right } else { left });
            let frame = buffer.frame(beside, guard)?;
            let mut other = frame.leaf()?.write();
            let merged = if left == step.index {
                self.merge_leaves(
                    buffer,
                    step,
                    (way.frame, &mut poor),
                    (frame, &mut other),
                    guard,
                )
            } else {
                self.merge_leaves(
                    buffer,
                    step,
                    (frame, &mut other),
                    (way.frame, &mut poor),
                    guard,
                )
            };
            if merged.is_some() {
                drop((poor, other));
                buffer.forget(step.inner.child(right), guard);
                return Some(());
            }
        }
        None
    }

    /// The left leaf takes the rows of both; the right one is retired, to be forgotten once unlatched.
    fn merge_leaves(
        &self,
        buffer: &Buffer,
        step: &Step<'_>,
        (left_frame, left): (&Frame, &mut Leaf),
        (right_frame, right): (&Frame, &mut Leaf),
        guard: &Guard,
    ) -> Option<()> {
        let page_bytes = buffer.page_bytes();
        let heir = left.merged(right, page_bytes * MERGED.0 / MERGED.1)?;
        let mut branches = step.inner.branches();
        let gone = branches
            .children()
            .iter()
            .position(|child| *child == right.page());
        branches.remove_child(gone.expect("a leaf's parent leads to it"));
        let (page, level) = (step.inner.page(), step.inner.level());
        let parent = branches.node(page_bytes, page, self.id, level)?;
        buffer.touch_leaf(left_frame, left).ok()?;
        buffer.touch_inner(step.frame).ok()?;
        buffer.replace(Content::Inner(parent), guard);
        left.become_leaf(heir);
        buffer.retire_leaf(right_frame, right);
        Some(())
    }

    /// Merges the lowest poor inner node above the key's leaf that can be. None if there is none.
    fn merge_above(&self, buffer: &Buffer, key: &[u8], guard: &Guard) -> Option<()> {
        let way = self.way(buffer, key, guard).ok()?;
        let is_poor =
            |step: &Step<'_>| step.inner.branches().bytes() * POOR.1 < buffer.page_bytes() * POOR.0;
        let below = (1..way.steps.len()).rev();
        below
            .filter(|depth| is_poor(&way.steps[*depth]))
            .find_map(|depth| {
                let above = &way.steps[depth - 1];
                pairs(above).find_map(|pair| self.merge_nodes(buffer, above, pair, guard))
            })
    }

    /// The left one of two neighbours below a node takes the children of both. Readers on their way
    /// find the same leaves through the old nodes.
    fn merge_nodes(
        &self,
        buffer: &Buffer,
        above: &Step<'_>,
        (left, right): (usize, usize),
        guard: &Guard,
    ) -> Option<()> {
        let page_bytes = buffer.page_bytes();
        let left_frame = buffer.frame(above.inner.child(left), guard)?;
        let right_frame = buffer.frame(above.inner.child(right), guard)?;
        let (low, high) = (left_frame.inner()?, right_frame.inner()?);
        let mut parent = above.inner.branches();
        let mut joined = low.branches();
        joined.join(parent.separator(left), &high.branches());
        if joined.bytes() * MERGED.1 > page_bytes * MERGED.0 {
            return None;
        }
        let node = joined.node(page_bytes, low.page(), self.id, low.level())?;
        parent.remove_child(right);
        let (page, level) = (above.inner.page(), above.inner.level());
        let parent = parent.node(page_bytes, page, self.id, level)?;
        let gone = high.page();
        buffer.touch_inner(left_frame).ok()?;
        buffer.touch_inner(above.frame).ok()?;
        buffer.replace(Content::Inner(node), guard);
        buffer.replace(Content::Inner(parent), guard);
        buffer.free(gone);
        Some(())
    }

    /// If the root has a single child, the root takes its content and the child goes. None if it was
    /// not done.
    fn collapse(&self, buffer: &Buffer, guard: &Guard) -> Option<()> {
        let root = buffer.frame(self.root, guard)?;
        let inner = root.inner().filter(|inner| inner.count() == 0)?;
        let page = inner.child(0);
        let child = buffer.frame(page, guard)?;
        buffer.touch_inner(root).ok()?;
        if let Some(latch) = child.leaf() {
            self.collapse_to_leaf(buffer, (child, page), latch.write(), guard);
            return Some(());
        }
        let inner = child.inner()?;
        let branches: Branches = inner.branches();
        let node = branches.node(buffer.page_bytes(), self.root, self.id, inner.level())?;
        buffer.replace(Content::Inner(node), guard);
        buffer.free(page);
        Some(())
    }

    fn collapse_to_leaf(
        &self,
        buffer: &Buffer,
        (frame, page): (&Frame, PageId),
        mut leaf: RwLockWriteGuard<'_, Leaf>,
        guard: &Guard,
    ) {
        buffer.replace(Content::Leaf(leaf.renumbered(self.root)), guard);
        buffer.retire_leaf(frame, &mut leaf);
        drop(leaf);
        buffer.forget(page, guard);
    }
}

/// The pairs of neighbours, left and right, that the child which the step took belongs to.
fn pairs(step: &Step<'_>) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (at, last) = (step.index, step.inner.count());
    let with_left = at.checked_sub(1).map(|left| (left, at));
    let with_right = (at < last).then_some((at, at + 1));
    with_left.into_iter().chain(with_right)
}

/// The leaf beside the child that the step took: the last one left of it, or, for the first child,
/// the first one right of it.
fn neighbour<'g>(
    buffer: &Buffer,
    step: &Step<'_>,
    guard: &'g Guard,
) -> Option<(&'g Frame, &'g RwLock<Leaf>)> {
    let goes_left = step.index > 0;
    let beside = if goes_left { step.index - 1 } else { 1 };
    let mut page = step.inner.child(beside);
    loop {
        let frame = buffer.frame(page, guard)?;
        if let Some(latch) = frame.leaf() {
            return Some((frame, latch));
        }
        let inner = frame.inner()?;
        page = inner.child(if goes_left { inner.count() } else { 0 });
    }
}
