//! Frees a whole tree, in steps.
//!
//! The first step runs behind the closed gate: it marks the tree and frees its root, so that no descent
//! enters it any more. The rest may be done in any number of sections; they hold the structure mutex, so that
//! no other thread merges the pages being freed. A checkpoint in between contains pages of a tree that its
//! tree directory does not name; opening frees those.
//!
//! The steps walk down from the root through resident pages. A page on disk is freed without being read; what
//! it led to is found at the end by its label, in one scan over all pages.

use super::extents::{self, ExtentPointer};
use super::tree::Tree;
use crate::buffer::{Buffer, Leaf};
use crate::ids::PageId;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A tree whose root is freed, with pages still to be freed.
#[must_use = "the pages below the root are freed by its steps"]
pub(crate) struct TreeDrop {
    tree: Arc<Tree>,
    /// Pages whose subtrees are still to be freed: at most the siblings along one path.
    pages: Vec<PageId>,
    /// A page was freed without being read.
    has_skipped: bool,
    /// After the walk: pages with the tree's label.
    labelled: Vec<PageId>,
    /// Pages that old versions of rows hold: they are freed with those.
    held: BTreeSet<PageId>,
}

impl Tree {
    /// Frees every page of the tree, extents of long values included. In a section that excludes all others.
    /// Later readers, and those on their way, get a miss of the root.
    pub(crate) fn drop_pages(self: &Arc<Self>, buffer: &Buffer) {
        let mut dropping = self.begin_drop(buffer, BTreeSet::new());
        while dropping.free_some(buffer, usize::MAX) {}
    }

    /// Marks the tree as dropped and frees its root, in a section that excludes all others. Old versions of
    /// rows hold the pages in `held`.
    pub(crate) fn begin_drop(
        self: &Arc<Self>,
        buffer: &Buffer,
        held: BTreeSet<PageId>,
    ) -> TreeDrop {
        let _structure = self.structure.lock();
        let was_dropped = self.is_dropped.swap(true, Ordering::AcqRel);
        assert!(!was_dropped, "{} is dropped twice", self.id);
        let mut dropping = TreeDrop {
            tree: Arc::clone(self),
            pages: vec![self.root],
            has_skipped: false,
            labelled: Vec::new(),
            held,
        };
        dropping.free_one(buffer);
        dropping
    }
}

impl TreeDrop {
    /// Frees up to `most` more nodes, with the extents of their rows, in a section. True if some are left.
    pub(crate) fn free_some(&mut self, buffer: &Buffer, most: usize) -> bool {
        let tree = Arc::clone(&self.tree);
        let _structure = tree.structure.lock();
        for _ in 0..most {
            if !self.free_one(buffer) {
                break;
            }
        }
        if self.pages.is_empty() && std::mem::take(&mut self.has_skipped) {
            self.labelled = buffer.pages_of(tree.id);
            self.labelled.retain(|page| !self.held.contains(page));
        }
        !self.pages.is_empty() || !self.labelled.is_empty()
    }

    /// Frees the next page; false if there is none.
    fn free_one(&mut self, buffer: &Buffer) -> bool {
        if let Some(page) = self.pages.pop() {
            match below(buffer, page) {
                Some((children, pointers)) => {
                    for pointer in pointers {
                        extents::free(buffer, pointer);
                    }
                    self.pages.extend(children);
                }
                None => self.has_skipped = true,
            }
            buffer.free(page);
            return true;
        }
        let Some(page) = self.labelled.pop() else {
            return false;
        };
        // It may have gone with a detached value, and its number may be in use again.
        if buffer.is_labelled(page, self.tree.id) {
            buffer.free(page);
        }
        true
    }
}

/// The children of an inner node, or the extents that a leaf's rows own; none for a page that is not
/// resident.
fn below(buffer: &Buffer, page: PageId) -> Option<(Vec<PageId>, Vec<ExtentPointer>)> {
    let guard = crossbeam_epoch::pin();
    let frame = buffer.frame(page, &guard)?;
    if let Some(inner) = frame.inner() {
        return Some((inner.branches().children().to_vec(), Vec::new()));
    }
    let leaf = frame.leaf().expect("a tree consists of inner nodes and leaves").read();
    // A leaf that was evicted a moment ago is read as little as one that is on disk.
    (!leaf.is_gone()).then(|| (Vec::new(), pointers(&leaf)))
}

/// The extents that the leaf's rows own.
fn pointers(leaf: &Leaf) -> Vec<ExtentPointer> {
    (0..leaf.count())
        .filter(|slot| leaf.word(*slot).is_overflow())
        .filter_map(|slot| ExtentPointer::from_value(leaf.value(slot)))
        .collect()
}
