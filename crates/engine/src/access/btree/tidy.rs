//! Unlinking an empty leaf, the inner nodes that led to nothing else, and roots with a single child.
//!
//! The lowest ancestor with another child loses the one that leads to the empty leaf; the nodes
//! between have no other child and go too. The keys that the leaf covered fall to the neighbour below
//! the same ancestor, so the neighbour's leaf gets the fence of the empty one.

use super::split::{Step, Way};
use super::tree::Tree;
use crate::buffer::{Branches, Buffer, Content, Frame, Leaf};
use crate::ids::PageId;
use crossbeam_epoch::Guard;
use parking_lot::{RwLock, RwLockWriteGuard};

impl Tree {
    /// Unlinks and frees the leaf that covers the key if it is empty, in a section. Does nothing when
    /// it holds rows, the structure is busy, a page misses, the pool of pre-images is full, or the
    /// neighbour has no room for its new fence: an empty leaf does no harm.
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
        if self.unlink(buffer, &way, &guard).is_some() {
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
