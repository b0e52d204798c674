//! Page numbers and which of them are free. The lowest free one is used first, so that the page map stays
//! dense.

use crate::ids::PageId;
use std::collections::BTreeSet;

/// Numbers below `next` are in use, except those in `freed`.
#[derive(Debug)]
pub(super) struct PageAllocator {
    next: u64,
    freed: BTreeSet<u64>,
}

/// All page numbers are below this.
pub(super) const PAGE_ID_END: u64 = 1 << 40;

impl PageAllocator {
    /// An allocator without pages in use.
    pub(super) fn new() -> PageAllocator {
        PageAllocator { next: 1, freed: BTreeSet::new() }
    }

    /// A number for a new page.
    pub(super) fn allocate(&mut self) -> PageId {
        if let Some(number) = self.freed.pop_first() {
            return PageId(number);
        }
        assert!(self.next < PAGE_ID_END, "memory runs out long before page numbers do");
        self.next += 1;
        PageId(self.next - 1)
    }

    /// Frees a number for reuse.
    pub(super) fn free(&mut self, page: PageId) {
        assert!(page.0 < self.next, "{page} was never allocated");
        assert!(self.freed.insert(page.0), "{page} is already free");
    }

    /// The first number that was never used.
    pub(super) fn next(&self) -> PageId {
        PageId(self.next)
    }

    /// At opening: numbers below `next` are in use if `is_there`, otherwise free.
    pub(super) fn restore(&mut self, next: PageId, is_there: impl Fn(PageId) -> bool) {
        assert!((1..=PAGE_ID_END).contains(&next.0), "{next} is not a valid end of page numbers");
        self.next = next.0;
        self.freed = (1..next.0).filter(|number| !is_there(PageId(*number))).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::PageAllocator;
    use crate::ids::PageId;

    #[test]
    fn the_lowest_freed_number_comes_first() {
        let mut allocator = PageAllocator::new();
        let given: Vec<u64> = (0..5).map(|_| allocator.allocate().0).collect();
        assert_eq!(given, [1, 2, 3, 4, 5]);
        allocator.free(PageId(4));
        allocator.free(PageId(2));
        assert_eq!(
            [allocator.allocate().0, allocator.allocate().0, allocator.allocate().0],
            [2, 4, 6]
        );
        allocator.restore(PageId(5), |page| page.0 != 3);
        assert_eq!([allocator.allocate().0, allocator.allocate().0], [3, 5]);
        assert_eq!(allocator.next(), PageId(6));
    }
}
