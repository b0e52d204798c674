//! Freeing a whole tree.

use super::overflow::{self, Stub};
use super::tree::Tree;
use crate::buffer::{Buffer, Leaf};
use crate::ids::PageId;
use std::sync::atomic::Ordering;

impl Tree {
    /// Frees every page of the tree, chains of long values included. In a section that no other one
    /// runs beside. Readers that come later, or are on their way, get a miss of the root.
    pub(crate) fn drop_pages(&self, buffer: &Buffer) {
        let _structure = self.structure.lock();
        let was_dropped = self.is_dropped.swap(true, Ordering::AcqRel);
        assert!(!was_dropped, "{} is dropped twice", self.id);
        let mut pages = vec![self.root];
        while let Some(page) = pages.pop() {
            let (children, stubs) = below(buffer, page);
            buffer.free(page);
            for stub in stubs {
                overflow::free(buffer, stub);
            }
            pages.extend(children);
        }
    }
}

/// The children of an inner node, or the chains that a leaf's rows own.
fn below(buffer: &Buffer, page: PageId) -> (Vec<PageId>, Vec<Stub>) {
    let guard = crossbeam_epoch::pin();
    let frame = buffer
        .frame(page, &guard)
        .expect("the pages of a tree are there");
    if let Some(inner) = frame.inner() {
        return (inner.branches().children().to_vec(), Vec::new());
    }
    let leaf = frame
        .leaf()
        .expect("a tree consists of inner nodes and leaves")
        .read();
    (Vec::new(), stubs(&leaf))
}

/// The chains that the leaf's rows own.
fn stubs(leaf: &Leaf) -> Vec<Stub> {
    (0..leaf.count())
        .filter(|slot| leaf.word(*slot).is_overflow())
        .filter_map(|slot| Stub::from_value(leaf.value(slot)))
        .collect()
}
