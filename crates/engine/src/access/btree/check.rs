//! Checks that a tree is sound: walks everything below the root and describes each problem in a sentence.

use super::extents::ExtentPointer;
use super::tree::Tree;
use crate::buffer::{Buffer, Frame, Inner, Leaf, Miss};
use crate::ids::{PageId, TreeId};
use crossbeam_epoch::Guard;
use std::collections::BTreeSet;

/// The state of a walk.
struct Walk<'a> {
    tree: &'a Tree,
    buffer: &'a Buffer,
    guard: &'a Guard,
    visited: BTreeSet<PageId>,
    problems: Vec<String>,
    /// Keys below this are skipped.
    from: &'a [u8],
    /// Leaves still to be walked.
    leaves_left: usize,
    /// The start of the next part, if the walk stopped for that.
    next: Option<Vec<u8>>,
}

/// A set of pages as a bitmap.
#[derive(Default)]
pub(crate) struct PageSet(Vec<u64>);

impl PageSet {
    pub(crate) fn contains(&self, page: PageId) -> bool {
        let word = self.0.get((page.0 / 64) as usize);
        word.is_some_and(|word| word >> (page.0 % 64) & 1 == 1)
    }

    fn insert(&mut self, page: PageId) {
        let at = (page.0 / 64) as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (page.0 % 64);
    }
}

/// The level that a page must have, none for the root, and the range of keys that its parents leave it.
#[derive(Clone, Copy)]
struct ExpectedPosition<'a> {
    level: Option<u8>,
    lower: &'a [u8],
    upper: Option<&'a [u8]>,
}

impl Tree {
    /// The problems of the tree; empty if it is sound. No section may be active meanwhile.
    #[cfg(test)]
    pub(crate) fn check(&self, buffer: &Buffer) -> Vec<String> {
        self.check_with_versions(buffer, &BTreeSet::new())
    }

    /// The same, but pages in `held` belong to old versions of rows.
    pub(crate) fn check_with_versions(
        &self,
        buffer: &Buffer,
        held: &BTreeSet<PageId>,
    ) -> Vec<String> {
        let guard = crossbeam_epoch::pin();
        let walk = self.walk_pages(buffer, &guard, (&[], usize::MAX));
        let Walk { visited, mut problems, .. } = walk;
        for page in buffer.pages_of(self.id) {
            if !visited.contains(&page) && !held.contains(&page) {
                problems.push(format!("{page} belongs to {}, but nothing leads to it", self.id));
            }
        }
        problems
    }

    /// The same for a number of leaves, the first of which covers `from`, and the nodes above them. Adds the
    /// visited pages to `reached`. Returns the problems and the start of the next part, if there is one. No
    /// section may be active meanwhile.
    pub(crate) fn check_part(
        &self,
        buffer: &Buffer,
        from: &[u8],
        leaves: usize,
        reached: &mut PageSet,
    ) -> (Vec<String>, Option<Vec<u8>>) {
        let guard = crossbeam_epoch::pin();
        let walk = self.walk_pages(buffer, &guard, (from, leaves));
        for page in &walk.visited {
            reached.insert(*page);
        }
        (walk.problems, walk.next)
    }

    fn walk_pages<'a>(
        &'a self,
        buffer: &'a Buffer,
        guard: &'a Guard,
        (from, leaves): (&'a [u8], usize),
    ) -> Walk<'a> {
        let mut walk = Walk {
            tree: self,
            buffer,
            guard,
            visited: BTreeSet::new(),
            problems: Vec::new(),
            from,
            leaves_left: leaves,
            next: None,
        };
        walk.page(self.root, ExpectedPosition { level: None, lower: &[], upper: None });
        walk
    }
}

impl<'a> Walk<'a> {
    fn page(&mut self, page: PageId, expected: ExpectedPosition<'_>) {
        let Some(mut frame) = self.visit(page) else {
            return;
        };
        if let Some(inner) = frame.inner() {
            self.inner(page, inner, expected);
        } else if frame.leaf().is_some() {
            if expected.level.is_some_and(|level| level != 0) {
                self.report(page, "it is a leaf where an inner node must be");
            }
            let pointers = loop {
                let Some(latch) = frame.leaf() else {
                    return;
                };
                let leaf = latch.read();
                if !leaf.is_gone() {
                    break self.leaf(page, &leaf, expected);
                }
                drop(leaf);
                // It was evicted before it was latched.
                let Some(again) = self.resident(page) else {
                    return;
                };
                frame = again;
            };
            // With no leaf latched: a damaged extent pointer may name a leaf.
            for (slot, pointer) in pointers {
                self.extents(slot, pointer);
            }
        } else {
            self.report(page, "it is an extent where a node must be");
        }
    }

    /// The page's frame, if it exists, is visited for the first time, and is labelled as this tree's.
    fn visit(&mut self, page: PageId) -> Option<&'a Frame> {
        if !self.visited.insert(page) {
            self.report(page, "two parents lead to it");
            return None;
        }
        let frame = self.resident(page)?;
        let Some((number, tree)) = self.label(page, frame) else {
            self.report(page, "it is a leaf that was freed");
            return None;
        };
        if number != page {
            self.report(page, &format!("it carries the number of {number}"));
        }
        if tree != self.tree.id {
            self.report(page, &format!("it belongs to {tree}"));
            return None;
        }
        Some(frame)
    }

    /// The page's frame, after loading it if it is on disk; none, and a problem, if there is none.
    fn resident(&mut self, page: PageId) -> Option<&'a Frame> {
        loop {
            if let Err(error) = self.buffer.load(Miss(page)) {
                self.report(page, &format!("it cannot be read: {error}"));
                return None;
            }
            match self.buffer.frame(page, self.guard) {
                Some(frame) => return Some(frame),
                // It may have been evicted since.
                None if self.buffer.is_on_disk(page) => {}
                None => {
                    self.report(page, "it does not exist");
                    return None;
                }
            }
        }
    }

    /// The page and the tree in the page's header; none for a leaf that was freed.
    fn label(&mut self, page: PageId, mut frame: &'a Frame) -> Option<(PageId, TreeId)> {
        loop {
            if let Some(label) = frame.label() {
                return Some(label);
            }
            let now = self.resident(page)?;
            if std::ptr::eq(now, frame) {
                return None;
            }
            // It was evicted before it was latched.
            frame = now;
        }
    }

    fn inner(&mut self, page: PageId, inner: &Inner, expected: ExpectedPosition<'_>) {
        let level = inner.level();
        if level == 0 || expected.level.is_some_and(|expected| level != expected) {
            self.report(page, &format!("it is an inner node of level {level}"));
            return;
        }
        if let Err(what) = inner.check_frame() {
            self.report(page, &what);
            return;
        }
        let branches = inner.branches();
        let separator = |index: usize| branches.separator(index);
        let count = branches.count();
        for index in 0..count {
            let below = if index == 0 { expected.lower } else { separator(index - 1) };
            let is_above = expected.upper.is_some_and(|upper| separator(index) >= upper);
            if separator(index) <= below || is_above {
                self.report(page, &format!("separator {index} is out of order"));
                return;
            }
        }
        for (index, child) in branches.children().iter().enumerate() {
            let lower = if index == 0 { expected.lower } else { separator(index - 1) };
            let upper = if index == count { expected.upper } else { Some(separator(index)) };
            if upper.is_some_and(|upper| upper <= self.from) {
                continue;
            }
            if self.leaves_left == 0 {
                self.next.get_or_insert_with(|| lower.to_vec());
                return;
            }
            self.page(*child, ExpectedPosition { level: Some(level - 1), lower, upper });
        }
    }

    /// The extent pointers of its long values, by their slots.
    fn leaf(
        &mut self,
        page: PageId,
        leaf: &Leaf,
        expected: ExpectedPosition<'_>,
    ) -> Vec<(usize, ExtentPointer)> {
        self.leaves_left = self.leaves_left.saturating_sub(1);
        let mut pointers = Vec::new();
        let damage = leaf.check();
        let is_sound = damage.is_empty();
        for what in &damage {
            self.report(page, what);
        }
        if !is_sound {
            return pointers;
        }
        if leaf.lower_fence() != expected.lower || leaf.upper_fence() != expected.upper {
            self.report(page, "its fences differ from its parents' separators");
        }
        for slot in 0..leaf.count() {
            if leaf.word(slot).is_overflow() {
                match ExtentPointer::from_value(leaf.value(slot)) {
                    Some(pointer) => pointers.push((slot, pointer)),
                    None => self.report(page, &format!("slot {slot} holds no extent pointer")),
                }
            }
        }
        pointers
    }

    fn extents(&mut self, slot: usize, pointer: ExtentPointer) {
        for page in pointer.pages() {
            let Some(frame) = self.visit(page) else {
                return;
            };
            if let Some(what) = pointer.problem(frame.extent(), page) {
                self.report(page, &format!("slot {slot}: {what}"));
                return;
            }
        }
    }

    fn report(&mut self, page: PageId, what: &str) {
        self.problems.push(format!("{page} of {}: {what}", self.tree.id));
    }
}
