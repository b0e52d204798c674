//! Frees pages: empty or poor leaves, poor inner nodes, and roots with a single child.
//!
//! An empty leaf is unlinked. The lowest ancestor with another child loses the child that leads to it; the
//! nodes in between have no other child and are freed too. The neighbour below the same ancestor takes over
//! the key range, so its leaf gets the fence of the empty one.
//!
//! A poor leaf is merged with a neighbour below the same parent, if both together leave a part of a page
//! free, so that the next inserts do not split it again. The left leaf takes the rows of both; locked ones
//! keep their reserved room, as in a split. The right one is freed. A poor inner node is merged in the same
//! way.
//!
//! A neighbour or child that is not resident stops an attempt: sections do not load pages. The caller loads
//! the page outside a section, and tries again.
//!
//! A reader that remembers one of the two leaves notices: the left one has a new counter, the right one is
//! retired. A snapshot that has yet to capture them gets their images first, or is handed the retired page.

use super::change::Blocked;
use super::split::{DescentPath, Step};
use super::tree::Tree;
use crate::buffer::{Branches, Buffer, Content, Frame, Leaf, Miss, POOR, Stop};
use crate::ids::PageId;
use crate::planted_bug::{PlantedBug, planted};
use crate::step::{self, step};
use crate::sync::rank::LATCH;
use crate::sync::ranked::{RwLock, RwLockWriteGuard};
use crossbeam_epoch::Guard;

/// Two nodes are merged if the result takes no more than this part of a page.
const MERGED: (usize, usize) = (4, 5);

/// Why a leaf is checked: it has just become empty or poor, or an earlier attempt was not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeTrigger {
    First,
    /// Nodes above the leaf are checked even if the leaf itself needs nothing by now.
    Again,
}

/// The result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a leaf that is not merged yet must be checked again"]
pub(crate) enum MergeOutcome {
    Done,
    /// Not possible at this moment: try again. Some of it may be done.
    Later,
    /// The same, and not before that page is resident.
    Miss(PageId),
}

/// Why pages cannot be freed at this moment.
enum MergeBlocked {
    /// The structure is busy, or the pool of pre-images is full.
    Busy,
    /// That page is not resident.
    Miss(PageId),
}

impl From<Blocked> for MergeBlocked {
    fn from(blocked: Blocked) -> MergeBlocked {
        match blocked {
            Blocked::Miss(page) => MergeBlocked::Miss(page),
            Blocked::PreImages | Blocked::Busy | Blocked::Failed(_) => MergeBlocked::Busy,
        }
    }
}

impl From<Stop> for MergeBlocked {
    fn from(stop: Stop) -> MergeBlocked {
        Blocked::from(stop).into()
    }
}

impl From<Miss> for MergeBlocked {
    fn from(miss: Miss) -> MergeBlocked {
        MergeBlocked::Miss(miss.0)
    }
}

impl Tree {
    /// Unlinks and frees the leaf that covers the key if it is empty, or merges it with a neighbour if it is
    /// poor, in a section. Also done if it is neither, or if the neighbours have no room for its rows.
    pub(crate) fn merge_leaf(
        &self,
        buffer: &Buffer,
        key: &[u8],
        tidying: MergeTrigger,
    ) -> MergeOutcome {
        match self.try_merge(buffer, key, tidying) {
            Ok(()) => MergeOutcome::Done,
            Err(MergeBlocked::Busy) => MergeOutcome::Later,
            Err(MergeBlocked::Miss(page)) => MergeOutcome::Miss(page),
        }
    }

    fn try_merge(
        &self,
        buffer: &Buffer,
        key: &[u8],
        tidying: MergeTrigger,
    ) -> Result<(), MergeBlocked> {
        let _structure = self.structure.try_lock().ok_or(MergeBlocked::Busy)?;
        let guard = crossbeam_epoch::pin();
        if self.is_dropped() {
            return Ok(());
        }
        let path = self.path(buffer, key, &guard)?;
        step(step::Step::Merge);
        let is_empty = {
            let leaf = path.latch.read();
            stays(&leaf, path.page)?;
            leaf.count() == 0
        };
        let done = if is_empty {
            self.unlink(buffer, &path, &guard)?
        } else {
            self.merge(buffer, &path, &guard)?
        };
        if done || tidying == MergeTrigger::Again {
            while self.merge_above(buffer, key, &guard)? {}
            while self.collapse(buffer, &guard)? {}
        }
        Ok(())
    }

    /// False if there is nothing to unlink, or the neighbour has no room for longer keys.
    fn unlink(
        &self,
        buffer: &Buffer,
        path: &DescentPath<'_>,
        guard: &Guard,
    ) -> Result<bool, MergeBlocked> {
        let above = path.steps.iter().rposition(|step| step.inner.count() > 0);
        let Some(above) = above else {
            return Ok(false);
        };
        let step = &path.steps[above];
        let mut empty = path.latch.write();
        stays(&empty, path.page)?;
        if empty.count() > 0 {
            return Ok(false);
        }
        let (page, frame, latch) = neighbour(buffer, step, guard)?;
        let mut other = latch.write();
        stays(&other, page)?;
        let heir = if step.index > 0 {
            other.with_fences(other.lower_fence(), empty.upper_fence())
        } else {
            other.with_fences(empty.lower_fence(), other.upper_fence())
        };
        let Some(heir) = heir else {
            return Ok(false);
        };
        let mut branches = step.inner.branches();
        branches.remove_child(step.index);
        let (page, level) = (step.inner.page(), step.inner.level());
        let Some(parent) = branches.node(buffer.page_bytes(), page, self.id, level) else {
            return Ok(false);
        };
        buffer.touch_leaf(frame, &other)?;
        buffer.touch_inner(step.frame)?;
        buffer.replace(Content::Inner(parent), guard);
        other.become_leaf(heir);
        buffer.retire_leaf(path.frame, &mut empty);
        drop((other, empty));
        buffer.forget(path.page, guard);
        for between in &path.steps[above + 1..] {
            buffer.free(between.inner.page());
        }
        Ok(true)
    }

    /// Merges a poor leaf with a neighbour. False if it is not poor, or no neighbour has room.
    fn merge(
        &self,
        buffer: &Buffer,
        path: &DescentPath<'_>,
        guard: &Guard,
    ) -> Result<bool, MergeBlocked> {
        let Some(step) = path.steps.last() else {
            return Ok(false);
        };
        let mut poor = path.latch.write();
        stays(&poor, path.page)?;
        if !poor.is_poor() {
            return Ok(false);
        }
        for (left, right) in pairs(step) {
            let sibling = step.inner.child(if left == step.index { right } else { left });
            let frame = frame_of(buffer, sibling, guard)?;
            let Some(latch) = frame.leaf() else {
                return Ok(false);
            };
            let mut other = latch.write();
            stays(&other, sibling)?;
            let merged = if left == step.index {
                self.merge_leaves(
                    buffer,
                    step,
                    (path.frame, &mut poor),
                    (frame, &mut other),
                    guard,
                )?
            } else {
                self.merge_leaves(
                    buffer,
                    step,
                    (frame, &mut other),
                    (path.frame, &mut poor),
                    guard,
                )?
            };
            if merged {
                drop((poor, other));
                buffer.forget(step.inner.child(right), guard);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The left leaf takes the rows of both; the right one is retired, and must be forgotten once unlatched.
    fn merge_leaves(
        &self,
        buffer: &Buffer,
        step: &Step<'_>,
        (left_frame, left): (&Frame, &mut Leaf),
        (right_frame, right): (&Frame, &mut Leaf),
        guard: &Guard,
    ) -> Result<bool, MergeBlocked> {
        let page_bytes = buffer.page_bytes();
        let Some(heir) = left.merged(right, page_bytes * MERGED.0 / MERGED.1) else {
            return Ok(false);
        };
        let mut branches = step.inner.branches();
        let gone = branches.children().iter().position(|child| *child == right.page());
        branches.remove_child(gone.expect("a leaf's parent leads to it"));
        let (page, level) = (step.inner.page(), step.inner.level());
        let Some(parent) = branches.node(page_bytes, page, self.id, level) else {
            return Ok(false);
        };
        buffer.touch_leaf(left_frame, left)?;
        buffer.touch_inner(step.frame)?;
        buffer.replace(Content::Inner(parent), guard);
        left.become_leaf(heir);
        buffer.retire_leaf(right_frame, right);
        Ok(true)
    }

    /// Merges the lowest poor inner node above the key's leaf that has room. False if there is none.
    fn merge_above(
        &self,
        buffer: &Buffer,
        key: &[u8],
        guard: &Guard,
    ) -> Result<bool, MergeBlocked> {
        let path = self.path(buffer, key, guard)?;
        let is_poor =
            |step: &Step<'_>| step.inner.branches().bytes() * POOR.1 < buffer.page_bytes() * POOR.0;
        for depth in (1..path.steps.len()).rev() {
            if !is_poor(&path.steps[depth]) {
                continue;
            }
            let above = &path.steps[depth - 1];
            for pair in pairs(above) {
                if self.merge_nodes(buffer, above, pair, guard)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The left one of two neighbours below a node takes the children of both. Readers in the old nodes still
    /// find the same leaves.
    fn merge_nodes(
        &self,
        buffer: &Buffer,
        above: &Step<'_>,
        (left, right): (usize, usize),
        guard: &Guard,
    ) -> Result<bool, MergeBlocked> {
        let page_bytes = buffer.page_bytes();
        let left_frame = frame_of(buffer, above.inner.child(left), guard)?;
        let right_frame = frame_of(buffer, above.inner.child(right), guard)?;
        let (Some(low), Some(high)) = (left_frame.inner(), right_frame.inner()) else {
            return Ok(false);
        };
        let mut parent = above.inner.branches();
        let mut joined = low.branches();
        joined.join(parent.separator(left), &high.branches());
        if joined.bytes() * MERGED.1 > page_bytes * MERGED.0 {
            return Ok(false);
        }
        parent.remove_child(right);
        let (page, level) = (above.inner.page(), above.inner.level());
        let node = joined.node(page_bytes, low.page(), self.id, low.level());
        let (Some(node), Some(parent)) = (node, parent.node(page_bytes, page, self.id, level))
        else {
            return Ok(false);
        };
        let gone = high.page();
        buffer.touch_inner(left_frame)?;
        buffer.touch_inner(above.frame)?;
        buffer.replace(Content::Inner(node), guard);
        buffer.replace(Content::Inner(parent), guard);
        buffer.free(gone);
        Ok(true)
    }

    /// If the root has a single child, the root takes its content and the child is freed. False if it has
    /// more.
    fn collapse(&self, buffer: &Buffer, guard: &Guard) -> Result<bool, MergeBlocked> {
        let root = frame_of(buffer, self.root, guard)?;
        let Some(inner) = root.inner().filter(|inner| inner.count() == 0) else {
            return Ok(false);
        };
        let page = inner.child(0);
        let child = frame_of(buffer, page, guard)?;
        buffer.touch_inner(root)?;
        if let Some(latch) = child.leaf() {
            let leaf = latch.write();
            stays(&leaf, page)?;
            self.collapse_to_leaf(buffer, (child, page), leaf, guard);
            return Ok(true);
        }
        let Some(inner) = child.inner() else {
            return Ok(false);
        };
        let branches: Branches = inner.branches();
        let node = branches.node(buffer.page_bytes(), self.root, self.id, inner.level());
        let Some(node) = node else {
            return Ok(false);
        };
        buffer.replace(Content::Inner(node), guard);
        buffer.free(page);
        Ok(true)
    }

    fn collapse_to_leaf(
        &self,
        buffer: &Buffer,
        (frame, page): (&Frame, PageId),
        mut leaf: RwLockWriteGuard<'_, Leaf, LATCH>,
        guard: &Guard,
    ) {
        buffer.replace(Content::Leaf(leaf.renumbered(self.root)), guard);
        buffer.retire_leaf(frame, &mut leaf);
        drop(leaf);
        buffer.forget(page, guard);
    }
}

/// The pairs of neighbours, left and right, that contain the child taken by the step.
fn pairs(step: &Step<'_>) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (at, last) = (step.index, step.inner.count());
    let with_left = at.checked_sub(1).map(|left| (left, at));
    let with_right = (at < last).then_some((at, at + 1));
    with_left.into_iter().chain(with_right)
}

/// The leaf next to the child taken by the step: the last one left of it or, for the first child, the first
/// one right of it.
fn neighbour<'g>(
    buffer: &Buffer,
    step: &Step<'_>,
    guard: &'g Guard,
) -> Result<(PageId, &'g Frame, &'g RwLock<Leaf, LATCH>), Miss> {
    let goes_left = step.index > 0;
    let sibling = if goes_left { step.index - 1 } else { 1 };
    let mut page = step.inner.child(sibling);
    loop {
        let frame = frame_of(buffer, page, guard)?;
        if let Some(latch) = frame.leaf() {
            return Ok((page, frame, latch));
        }
        let inner = frame.inner();
        let inner = inner.expect("a tree consists of inner nodes and leaves");
        page = inner.child(if goes_left { inner.count() } else { 0 });
    }
}

/// A leaf that a path led to may have been evicted before it was latched.
fn stays(leaf: &Leaf, page: PageId) -> Result<(), Miss> {
    if leaf.is_gone() && !planted(PlantedBug::MergeEvicted) { Err(Miss(page)) } else { Ok(()) }
}

/// The frame of a page that a node leads to; under the structure mutex it exists.
fn frame_of<'g>(buffer: &Buffer, page: PageId, guard: &'g Guard) -> Result<&'g Frame, Miss> {
    match buffer.frame(page, guard) {
        Some(frame) => Ok(frame),
        None if buffer.is_on_disk(page) => Err(Miss(page)),
        // It may have been loaded between the two looks.
        None => Ok(buffer.frame(page, guard).expect("a node leads only to existing pages")),
    }
}
