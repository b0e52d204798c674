//! Splits a leaf, and the full inner nodes above it.
//!
//! First everything is planned and all new pages are built privately; then memory and pre-images are
//! requested; then, with the leaf latched, the new pages are placed, the parents replaced from the top down,
//! and the leaf truncated. A reader sees the tree before or after, or starts again.

use super::change::Blocked;
use super::descend::Tries;
use super::tree::Tree;
use crate::buffer::page::Kind;
use crate::buffer::{Branches, Buffer, Content, Frame, Inner, Leaf, SplitPlan};
use crate::ids::PageId;
use crate::planted_bug::{PlantedBug, planted};
use crate::sync::rank::LATCH;
use crate::sync::ranked::{RwLock, RwLockWriteGuard};
use crossbeam_epoch::Guard;

/// About the maximum of new pages in a split: one at each level of the tree, and a root.
pub(crate) const SPLIT_PAGES: u64 = 8;

/// An inner node on the path to a leaf, and the child taken.
pub(super) struct Step<'g> {
    pub(super) frame: &'g Frame,
    pub(super) inner: &'g Inner,
    pub(super) index: usize,
}

/// The path to a leaf: inner nodes from the root down, then the leaf's frame, latch and page.
pub(super) struct DescentPath<'g> {
    pub(super) steps: Vec<Step<'g>>,
    pub(super) frame: &'g Frame,
    pub(super) latch: &'g RwLock<Leaf, LATCH>,
    pub(super) page: PageId,
}

/// The plan of a split.
struct Plan<'a> {
    tree: &'a Tree,
    buffer: &'a Buffer,
    /// Page numbers allocated so far, released if the split cannot go on.
    allocated: Vec<PageId>,
    /// New inner nodes.
    fresh: Vec<Inner>,
    /// Replaced inner nodes, bottom up.
    replaced: Vec<Inner>,
}

impl Tree {
    /// Splits the leaf that covers the key, once, if it has no room. Under the structure mutex.
    pub(super) fn split(
        &self,
        buffer: &Buffer,
        key: &[u8],
        capacity: usize,
    ) -> Result<(), Blocked> {
        let guard = crossbeam_epoch::pin();
        let path = self.path(buffer, key, &guard)?;
        let leaf = path.latch.write();
        if leaf.is_gone() {
            // It was evicted before it was latched.
            return Err(Blocked::Miss(path.page));
        }
        if leaf.has_room(key, capacity) {
            return Ok(());
        }
        let split = leaf.split_plan(key, capacity).expect("a single row has room in its leaf");
        let mut plan = Plan {
            tree: self,
            buffer,
            allocated: Vec::new(),
            fresh: Vec::new(),
            replaced: Vec::new(),
        };
        let outcome = if path.steps.is_empty() {
            plan.split_root_leaf(&path, leaf, &split, &guard)
        } else {
            plan.split_leaf(&path, leaf, &split, &guard)
        };
        if outcome.is_err() {
            plan.allocated.drain(..).for_each(|page| buffer.release(page));
        }
        outcome
    }

    /// The path to the leaf that covers the key. Under the structure mutex, so that it stays valid.
    pub(super) fn path<'g>(
        &self,
        buffer: &Buffer,
        key: &[u8],
        guard: &'g Guard,
    ) -> Result<DescentPath<'g>, Blocked> {
        let mut steps = Vec::new();
        let mut page = self.root;
        loop {
            let Some(frame) = buffer.find(page, guard)? else {
                // Under the structure mutex only a dropped tree lacks a page.
                Tries::new(self).again()?;
                panic!("{page} of {} does not exist", self.id);
            };
            if let Some(latch) = frame.leaf() {
                return Ok(DescentPath { steps, frame, latch, page });
            }
            let inner = frame.inner().expect("a tree consists of inner nodes and leaves");
            let index = inner.index_of(key);
            steps.push(Step { frame, inner, index });
            page = inner.child(index);
        }
    }
}

impl Plan<'_> {
    /// The root is a leaf: its halves go to two new leaves, and it becomes their parent.
    fn split_root_leaf(
        &mut self,
        path: &DescentPath<'_>,
        mut leaf: RwLockWriteGuard<'_, Leaf, LATCH>,
        split: &SplitPlan,
        guard: &Guard,
    ) -> Result<(), Blocked> {
        let (left, right) = (self.allocate(Kind::Leaf)?, self.allocate(Kind::Leaf)?);
        let mut branches = Branches::of(left);
        branches.insert(0, &split.separator, right);
        let root = self.node(&branches, path.page, 1);
        self.buffer.touch_leaf(path.frame, &leaf)?;
        self.buffer.add_page(Content::Leaf(leaf.left_half(split, left)));
        self.buffer.add_page(Content::Leaf(leaf.right_half(split, right)));
        self.buffer.retire_leaf(path.frame, &mut leaf);
        self.buffer.replace(Content::Inner(root), guard);
        Ok(())
    }

    fn split_leaf<'a>(
        &mut self,
        path: &DescentPath<'a>,
        mut leaf: RwLockWriteGuard<'a, Leaf, LATCH>,
        split: &SplitPlan,
        guard: &Guard,
    ) -> Result<(), Blocked> {
        let right = self.allocate(Kind::Leaf)?;
        self.plan_parents(&path.steps, split.separator.clone(), right)?;
        self.buffer.touch_leaf(path.frame, &leaf)?;
        let touched = path.steps.iter().rev().take(self.replaced.len());
        touched.map(|step| step.frame).try_for_each(|frame| self.buffer.touch_inner(frame))?;
        self.buffer.add_page(Content::Leaf(leaf.right_half(split, right)));
        let left = leaf.left_half(split, path.page);
        if planted(PlantedBug::SplitUnlatched) {
            drop(leaf);
            std::thread::yield_now();
            leaf = path.latch.write();
        }
        self.fresh.drain(..).for_each(|inner| self.buffer.add_page(Content::Inner(inner)));
        for inner in self.replaced.drain(..).rev() {
            self.buffer.replace(Content::Inner(inner), guard);
        }
        leaf.become_leaf(left);
        self.buffer.refresh_hint(path.page, &leaf);
        Ok(())
    }

    /// Puts the separator and the page right of it into the parent, and splits full parents.
    fn plan_parents(
        &mut self,
        steps: &[Step<'_>],
        mut separator: Vec<u8>,
        mut right: PageId,
    ) -> Result<(), Blocked> {
        for (height, step) in steps.iter().enumerate().rev() {
            if let Some(node) = step.inner.with_branch(step.index, &separator, right) {
                self.replaced.push(node);
                return Ok(());
            }
            let (page, level) = (step.inner.page(), step.inner.level());
            let mut branches = step.inner.branches();
            branches.insert(step.index, &separator, right);
            if let Some(node) = self.try_node(&branches, page, level) {
                self.replaced.push(node);
                return Ok(());
            }
            let (low, middle, high) = branches.split_at(branches.split_index(step.index));
            let sibling = self.allocate(Kind::Inner)?;
            let node = self.node(&high, sibling, level);
            self.fresh.push(node);
            if height == 0 {
                return self.grow(&low, &middle, sibling, level);
            }
            let node = self.node(&low, page, level);
            self.replaced.push(node);
            (separator, right) = (middle, sibling);
        }
        Ok(())
    }

    /// The root is full: its lower part goes to a new page as well, and it becomes the parent of both.
    fn grow(
        &mut self,
        low: &Branches,
        separator: &[u8],
        right: PageId,
        level: u8,
    ) -> Result<(), Blocked> {
        let left = self.allocate(Kind::Inner)?;
        let node = self.node(low, left, level);
        self.fresh.push(node);
        let mut branches = Branches::of(left);
        branches.insert(0, separator, right);
        let root = self.node(&branches, self.tree.root, level + 1);
        self.replaced.push(root);
        Ok(())
    }

    fn allocate(&mut self, kind: Kind) -> Result<PageId, Blocked> {
        let page = self.buffer.allocate(kind)?;
        self.allocated.push(page);
        Ok(page)
    }

    fn node(&self, branches: &Branches, page: PageId, level: u8) -> Inner {
        self.try_node(branches, page, level).expect("a part of a full node fits into a page")
    }

    fn try_node(&self, branches: &Branches, page: PageId, level: u8) -> Option<Inner> {
        branches.node(self.buffer.page_bytes(), page, self.tree.id, level)
    }
}
