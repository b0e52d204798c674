//! The descent from the root to a leaf, without latches on the way, and reads of the leaf.

use super::tree::Tree;
use crate::buffer::{Buffer, Frame, Inner, Leaf, Miss};
use crate::ids::PageId;
use crate::planted_bug::{PlantedBug, planted};
use crossbeam_epoch::Guard;

/// Tries before a reader yields between two of them.
const TRIES_BEFORE_YIELD: u32 = 8;

/// After this many tries no change of the tree can be the reason.
const TRIES_MAX: u32 = 10_000_000;

impl Tree {
    /// Reads the leaf whose fences cover the key, under its shared latch. `look` must not access any tree,
    /// except to read extents.
    #[inline]
    pub(crate) fn view<R>(
        &self,
        buffer: &Buffer,
        key: &[u8],
        look: impl FnOnce(&Leaf, PageId) -> R,
    ) -> Result<R, Miss> {
        self.view_by(buffer, Goal::Of(key), |leaf| leaf.covers(key), look)
    }

    /// The same, starting at the page that a hint names (see `prefetch`), right or not.
    #[inline]
    pub(crate) fn view_at<R>(
        &self,
        buffer: &Buffer,
        hint: Option<PageId>,
        key: &[u8],
        look: impl FnOnce(&Leaf, PageId) -> R,
    ) -> Result<R, Miss> {
        if let Some(page) = hint
            && !self.is_dropped()
        {
            let guard = crossbeam_epoch::pin();
            // A hint may name a page that is not resident and has nothing to do with the key.
            if let Ok(Some(frame)) = buffer.find(page, &guard)
                && let Some(latch) = frame.leaf()
            {
                let leaf = latch.read();
                // A retired leaf has no content.
                let covers = || leaf.covers(key) || planted(PlantedBug::TrustHint);
                if !leaf.is_gone() && leaf.tree() == self.id && covers() {
                    leaf.set_reference();
                    return Ok(look(&leaf, page));
                }
            }
        }
        self.view(buffer, key, look)
    }

    /// Reads the leaf that holds the greatest keys below `key`; without a key the last leaf. The leaf may
    /// have no such key: then continue with its lower fence, which is empty at the end.
    #[inline]
    pub(crate) fn view_before<R>(
        &self,
        buffer: &Buffer,
        key: Option<&[u8]>,
        look: impl FnOnce(&Leaf, PageId) -> R,
    ) -> Result<R, Miss> {
        let covers = |leaf: &Leaf| leaf.covers_before(key);
        self.view_by(buffer, Goal::Before(key), covers, look)
    }

    #[inline]
    fn view_by<R>(
        &self,
        buffer: &Buffer,
        goal: Goal<'_>,
        covers: impl Fn(&Leaf) -> bool,
        look: impl FnOnce(&Leaf, PageId) -> R,
    ) -> Result<R, Miss> {
        let mut tries = Tries::new(self);
        loop {
            let guard = crossbeam_epoch::pin();
            if let Some((frame, page)) = self.descend(buffer, goal, &guard)?
                && let Some(latch) = frame.leaf()
            {
                let leaf = latch.read();
                if !leaf.is_gone() {
                    buffer.update_hint(page, &leaf);
                    if leaf.tree() == self.id && covers(&leaf) {
                        leaf.set_reference();
                        return Ok(look(&leaf, page));
                    }
                }
            }
            drop(guard);
            tries.again()?;
        }
    }

    /// The frame of the leaf that covers the goal; none if the descent ended elsewhere.
    #[inline]
    pub(super) fn descend<'g>(
        &self,
        buffer: &Buffer,
        goal: Goal<'_>,
        guard: &'g Guard,
    ) -> Result<Option<(&'g Frame, PageId)>, Miss> {
        let mut next = buffer.find(self.root, guard)?;
        let mut page = self.root;
        let mut level = u8::MAX;
        loop {
            let Some(frame) = next else {
                return Ok(None);
            };
            let Some(inner) = frame.inner() else {
                return Ok(Some((frame, page)));
            };
            if inner.tree() != self.id || inner.level() >= level {
                return Ok(None);
            }
            level = inner.level();
            let index = goal.index_in(inner);
            page = inner.child(index);
            next = if level == 1 {
                buffer.find_leaf(page, || goal.part_in(inner, index), guard)?
            } else {
                buffer.find(page, guard)?
            };
        }
    }
}

/// The goal of a descent.
#[derive(Clone, Copy)]
pub(crate) enum Goal<'k> {
    /// The key.
    Of(&'k [u8]),
    /// The greatest keys below it; without a key the greatest of all.
    Before(Option<&'k [u8]>),
}

impl Goal<'_> {
    /// The child that covers it.
    #[inline]
    pub(super) fn index_in(self, inner: &Inner) -> usize {
        match self {
            Goal::Of(key) => inner.index_of(key),
            Goal::Before(key) => inner.index_before(key),
        }
    }

    /// Its estimated relative position in that child's range.
    #[inline]
    fn part_in(self, inner: &Inner, index: usize) -> Option<f64> {
        match self {
            Goal::Of(key) => inner.part(index, key),
            Goal::Before(_) => None,
        }
    }
}

/// Counts how often a descent has started again.
pub(super) struct Tries<'a> {
    tree: &'a Tree,
    count: u32,
}

impl Tries<'_> {
    /// None yet.
    pub(super) fn new(tree: &Tree) -> Tries<'_> {
        Tries { tree, count: 0 }
    }

    /// Counts one more, and lets the thread that is changing the tree go on. A dropped tree is a miss.
    #[cold]
    pub(super) fn again(&mut self) -> Result<(), Miss> {
        let (tree, count) = (self.tree, self.count);
        if tree.is_dropped() {
            return Err(Miss(tree.root));
        }
        assert!(count < TRIES_MAX, "{} leads to no leaf for a key", tree.id);
        self.count += 1;
        if count < TRIES_BEFORE_YIELD {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
        Ok(())
    }
}
