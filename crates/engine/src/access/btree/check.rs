//! Is a tree sound? Walks everything below the root and tells what is wrong, in sentences.

use super::overflow::{self, OverflowPointer};
use super::tree::Tree;
use crate::buffer::{Buffer, Frame, Inner, Leaf};
use crate::ids::PageId;
use crossbeam_epoch::Guard;
use std::collections::BTreeSet;

/// The walk so far.
struct Walk<'a> {
    tree: &'a Tree,
    buffer: &'a Buffer,
    guard: &'a Guard,
    seen: BTreeSet<PageId>,
    found: Vec<String>,
    /// Keys below this are passed over.
    from: &'a [u8],
    /// So many leaves are still to be walked over.
    leaves_left: usize,
    /// Where the walk has stopped for that.
    next: Option<Vec<u8>>,
}

/// A set of pages, a bit each.
#[derive(Default)]
pub(crate) struct PageSet(Vec<u64>);

impl PageSet {
    /// True if the page is in the set.
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

/// Where a page must stand: its level, none for the root, and the keys that its parents leave it.
#[derive(Clone, Copy)]
struct ExpectedPosition<'a> {
    level: Option<u8>,
    lower: &'a [u8],
    upper: Option<&'a [u8]>,
}

impl Tree {
    /// What is wrong with the tree; empty if it is sound. No section may be active meanwhile.
    #[cfg(test)]
    pub(crate) fn check(&self, buffer: &Buffer) -> Vec<String> {
        self.check_beside(buffer, &BTreeSet::new())
    }

    /// The same, where these pages belong to old versions of rows.
    pub(crate) fn check_beside(&self, buffer: &Buffer, held: &BTreeSet<PageId>) -> Vec<String> {
        let guard = crossbeam_epoch::pin();
        let walk = self.walk_pages(buffer, &guard, (&[], usize::MAX));
        let Walk { seen, mut found, .. } = walk;
        for page in buffer.pages_of(self.id) {
            if !seen.contains(&page) && !held.contains(&page) {
                found.push(format!("{page} belongs to {}, but nothing leads to it", self.id));
            }
        }
        found
    }

    /// The same for so many leaves, the first of which covers `from`, and the nodes above them; adds the
    /// pages that it has come to. What is wrong, and where the next part begins, if there is one. No
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
        for page in &walk.seen {
            reached.insert(*page);
        }
        (walk.found, walk.next)
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
            seen: BTreeSet::new(),
            found: Vec::new(),
            from,
            leaves_left: leaves,
            next: None,
        };
        walk.page(self.root, ExpectedPosition { level: None, lower: &[], upper: None });
        walk
    }
}

impl<'a> Walk<'a> {
    fn page(&mut self, page: PageId, place: ExpectedPosition<'_>) {
        let Some(frame) = self.visit(page) else {
            return;
        };
        if let Some(inner) = frame.inner() {
            self.inner(page, inner, place);
        } else if let Some(latch) = frame.leaf() {
            if place.level.is_some_and(|level| level != 0) {
                self.tell(page, "it is a leaf where an inner node must be");
            }
            let stubs = self.leaf(page, &latch.read(), place);
            // With no leaf latched: a damaged overflow pointer may lead to one.
            for (slot, stub) in stubs {
                self.chain(page, slot, stub);
            }
        } else {
            self.tell(page, "it is an overflow page where a node must be");
        }
    }

    /// The page's frame, if it is there, met for the first time, and labelled as this tree's.
    fn visit(&mut self, page: PageId) -> Option<&'a Frame> {
        if !self.seen.insert(page) {
            self.tell(page, "two ways lead to it");
            return None;
        }
        let Some(frame) = self.buffer.frame(page, self.guard) else {
            self.tell(page, "it is not there");
            return None;
        };
        let Some((number, tree)) = frame.label() else {
            self.tell(page, "it is a leaf that was freed");
            return None;
        };
        if number != page {
            self.tell(page, &format!("it carries the number of {number}"));
        }
        if tree != self.tree.id {
            self.tell(page, &format!("it belongs to {tree}"));
            return None;
        }
        Some(frame)
    }

    fn inner(&mut self, page: PageId, inner: &Inner, place: ExpectedPosition<'_>) {
        let level = inner.level();
        if level == 0 || place.level.is_some_and(|expected| level != expected) {
            self.tell(page, &format!("it is an inner node of level {level}"));
            return;
        }
        if let Err(what) = inner.check_frame() {
            self.tell(page, &what);
            return;
        }
        let branches = inner.branches();
        let separator = |index: usize| branches.separator(index);
        let count = branches.count();
        for index in 0..count {
            let below = if index == 0 { place.lower } else { separator(index - 1) };
            let is_above = place.upper.is_some_and(|upper| separator(index) >= upper);
            if separator(index) <= below || is_above {
                self.tell(page, &format!("separator {index} is out of order"));
                return;
            }
        }
        for (index, child) in branches.children().iter().enumerate() {
            let lower = if index == 0 { place.lower } else { separator(index - 1) };
            let upper = if index == count { place.upper } else { Some(separator(index)) };
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

    /// The overflow pointers of its long values, by their slots.
    fn leaf(
        &mut self,
        page: PageId,
        leaf: &Leaf,
        place: ExpectedPosition<'_>,
    ) -> Vec<(usize, OverflowPointer)> {
        self.leaves_left = self.leaves_left.saturating_sub(1);
        let mut stubs = Vec::new();
        let damage = leaf.check();
        let is_sound = damage.is_empty();
        for what in &damage {
            self.tell(page, what);
        }
        if !is_sound {
            return stubs;
        }
        if leaf.lower_fence() != place.lower || leaf.upper_fence() != place.upper {
            self.tell(page, "its fences are not what its parents say");
        }
        for slot in 0..leaf.count() {
            if leaf.word(slot).is_overflow() {
                match OverflowPointer::from_value(leaf.value(slot)) {
                    Some(stub) => stubs.push((slot, stub)),
                    None => self.tell(page, &format!("slot {slot} holds no stub")),
                }
            }
        }
        stubs
    }

    fn chain(&mut self, owner: PageId, slot: usize, stub: OverflowPointer) {
        let (mut next, mut bytes) = (stub.first, 0);
        while next.0 != 0 {
            let piece = self.visit(next).map(|frame| {
                let piece = frame.overflow().and_then(overflow::piece_of);
                piece.map(|(piece, behind)| (piece.len() as u64, behind))
            });
            match piece {
                Some(Some((piece, behind))) => (bytes, next) = (bytes + piece, behind),
                Some(None) => {
                    self.tell(next, "it is no overflow page, but a chain leads to it");
                    return;
                }
                None => return,
            }
        }
        if bytes != stub.bytes {
            let told = stub.bytes;
            let what =
                format!("the chain of slot {slot} holds {bytes} bytes, its stub says {told}");
            self.tell(owner, &what);
        }
    }

    fn tell(&mut self, page: PageId, what: &str) {
        self.found.push(format!("{page} of {}: {what}", self.tree.id));
    }
}
