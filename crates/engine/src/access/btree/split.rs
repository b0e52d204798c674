//! Splitting a leaf, and the inner nodes above it as far as they are full.
//!
//! First everything is planned and all new pages are built aside; then memory and pre-images are
//! asked for; then, with the leaf latched, the new pages are placed, the parents replaced from the top
//! down, and the leaf cut. A reader sees the tree before or after, or starts again.

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

/// A split takes so many new pages at most, or nearly so: one at each level of the tree, and a root.
pub(crate) const SPLIT_PAGES: u64 = 8;

/// An inner node on the way to a leaf, and which child was taken.
pub(super) struct Step<'g> {
    pub(super) frame: &'g Frame,
    pub(super) inner: &'g Inner,
    pub(super) index: usize,
}

/// The way to a leaf: inner nodes from the root down, then the leaf's frame, latch and page.
pub(super) struct DescentPath<'g> {
    pub(super) steps: Vec<Step<'g>>,
    pub(super) frame: &'g Frame,
    pub(super) latch: &'g RwLock<Leaf, LATCH>,
    pub(super) page: PageId,
}

/// What a split will do.
struct Plan<'a> {
    tree: &'a Tree,
    buffer: &'a Buffer,
    /// Numbers taken so far, given back if the split cannot go on.
    taken: Vec<PageId>,
    /// New inner nodes.
    fresh: Vec<Inner>,
    /// Replaced inner nodes, from the bottom up.
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
        let way = self.way(buffer, key, &guard)?;
        let leaf = way.latch.write();
        if leaf.has_room(key, capacity) {
            return Ok(());
        }
        let cut = leaf.split_plan(key, capacity).expect("a row alone in its leaf has room");
        let mut plan =
            Plan { tree: self, buffer, taken: Vec::new(), fresh: Vec::new(), replaced: Vec::new() };
        let outcome = if way.steps.is_empty() {
            plan.split_root_leaf(&way, leaf, &cut, &guard)
        } else {
            plan.split_leaf(&way, leaf, &cut, &guard)
        };
        if outcome.is_err() {
            plan.taken.drain(..).for_each(|page| buffer.release(page));
        }
        outcome
    }

    /// The way to the leaf that covers the key. Under the structure mutex, so that it stays the way.
    pub(super) fn way<'g>(
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
                panic!("{page} of {} is not there", self.id);
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
        way: &DescentPath<'_>,
        mut leaf: RwLockWriteGuard<'_, Leaf, LATCH>,
        cut: &SplitPlan,
        guard: &Guard,
    ) -> Result<(), Blocked> {
        let (left, right) = (self.take(Kind::Leaf)?, self.take(Kind::Leaf)?);
        let mut branches = Branches::of(left);
        branches.insert(0, &cut.separator, right);
        let root = self.node(&branches, way.page, 1);
        self.buffer.touch_leaf(way.frame, &leaf)?;
        self.buffer.place(Content::Leaf(leaf.left_half(cut, left)));
        self.buffer.place(Content::Leaf(leaf.right_half(cut, right)));
        self.buffer.retire_leaf(way.frame, &mut leaf);
        self.buffer.replace(Content::Inner(root), guard);
        Ok(())
    }

    fn split_leaf<'a>(
        &mut self,
        way: &DescentPath<'a>,
        mut leaf: RwLockWriteGuard<'a, Leaf, LATCH>,
        cut: &SplitPlan,
        guard: &Guard,
    ) -> Result<(), Blocked> {
        let right = self.take(Kind::Leaf)?;
        self.plan_parents(&way.steps, cut.separator.clone(), right)?;
        self.buffer.touch_leaf(way.frame, &leaf)?;
        let touched = way.steps.iter().rev().take(self.replaced.len());
        touched.map(|step| step.frame).try_for_each(|frame| self.buffer.touch_inner(frame))?;
        self.buffer.place(Content::Leaf(leaf.right_half(cut, right)));
        let left = leaf.left_half(cut, way.page);
        if planted(PlantedBug::SplitUnlatched) {
            drop(leaf);
            std::thread::yield_now();
            leaf = way.latch.write();
        }
        self.fresh.drain(..).for_each(|inner| self.buffer.place(Content::Inner(inner)));
        for inner in self.replaced.drain(..).rev() {
            self.buffer.replace(Content::Inner(inner), guard);
        }
        leaf.become_leaf(left);
        self.buffer.refresh_hint(way.page, &leaf);
        Ok(())
    }

    /// Puts the separator and the page right of it into the parent, and splits parents that are full.
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
            let sibling = self.take(Kind::Inner)?;
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

    /// The root is full: its lower part goes to a new page as well, and it stands above both.
    fn grow(
        &mut self,
        low: &Branches,
        separator: &[u8],
        right: PageId,
        level: u8,
    ) -> Result<(), Blocked> {
        let left = self.take(Kind::Inner)?;
        let node = self.node(low, left, level);
        self.fresh.push(node);
        let mut branches = Branches::of(left);
        branches.insert(0, separator, right);
        let root = self.node(&branches, self.tree.root, level + 1);
        self.replaced.push(root);
        Ok(())
    }

    fn take(&mut self, kind: Kind) -> Result<PageId, Blocked> {
        let page = self.buffer.allocate(kind)?;
        self.taken.push(page);
        Ok(page)
    }

    fn node(&self, branches: &Branches, page: PageId, level: u8) -> Inner {
        self.try_node(branches, page, level).expect("a part of a full node fits into a page")
    }

    fn try_node(&self, branches: &Branches, page: PageId, level: u8) -> Option<Inner> {
        branches.node(self.buffer.page_bytes(), page, self.tree.id, level)
    }
}
