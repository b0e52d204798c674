//! Page numbers and which of them are free. The lowest free ones are used first, so that the page map stays
//! dense.
//!
//! Free numbers are kept as maximal runs, since the extents of a long value need consecutive numbers. A
//! search for a run looks at [`RUNS_SEARCHED`] of them at most; then the value gets numbers that were never
//! used. So an allocation takes a bounded time, however scattered the free numbers are.

use crate::ids::PageId;
use std::collections::BTreeMap;

/// How many runs are searched for one that is long enough.
const RUNS_SEARCHED: usize = 512;

/// Numbers below `next` are in use, except those in `free`.
#[derive(Debug)]
pub(super) struct PageAllocator {
    next: u64,
    /// The end of each maximal run of free numbers, by its first number.
    free: BTreeMap<u64, u64>,
}

/// All page numbers are below this.
pub(super) const PAGE_ID_END: u64 = 1 << 40;

impl PageAllocator {
    /// An allocator without pages in use.
    pub(super) fn new() -> PageAllocator {
        PageAllocator { next: 1, free: BTreeMap::new() }
    }

    /// A number for a new page.
    pub(super) fn allocate(&mut self) -> PageId {
        self.allocate_run(1)
    }

    /// The first of `count` consecutive numbers for new pages; `count` is at least 1.
    pub(super) fn allocate_run(&mut self, count: u64) -> PageId {
        let runs = self.free.iter().take(RUNS_SEARCHED);
        let found =
            runs.map(|(first, end)| (*first, *end)).find(|(first, end)| end - first >= count);
        if let Some((first, end)) = found {
            self.free.remove(&first);
            if first + count < end {
                self.free.insert(first + count, end);
            }
            return PageId(first);
        }
        // The last run may border on the numbers that were never used.
        let last = self.free.last_entry().filter(|run| *run.get() == self.next);
        let first = last.map_or(self.next, |run| run.remove_entry().0);
        assert!(first + count <= PAGE_ID_END, "memory runs out long before page numbers do");
        self.next = first + count;
        PageId(first)
    }

    /// Frees a number for reuse.
    pub(super) fn free(&mut self, page: PageId) {
        assert!(page.0 < self.next, "{page} was never allocated");
        let (mut first, mut end) = (page.0, page.0 + 1);
        if let Some((before, end_before)) = self.free.range(..=page.0).next_back() {
            assert!(*end_before <= page.0, "{page} is already free");
            if *end_before == page.0 {
                first = *before;
            }
        }
        if let Some(end_behind) = self.free.remove(&end) {
            end = end_behind;
        }
        self.free.insert(first, end);
    }

    /// The first number that was never used.
    pub(super) fn next(&self) -> PageId {
        PageId(self.next)
    }

    /// At opening: numbers below `next` are in use if `is_there`, otherwise free.
    pub(super) fn restore(&mut self, next: PageId, is_there: impl Fn(PageId) -> bool) {
        assert!((1..=PAGE_ID_END).contains(&next.0), "{next} is not a valid end of page numbers");
        self.next = next.0;
        self.free.clear();
        let mut from = None;
        for number in 1..=next.0 {
            let is_free = number < next.0 && !is_there(PageId(number));
            match from {
                None if is_free => from = Some(number),
                Some(first) if !is_free => {
                    self.free.insert(first, number);
                    from = None;
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PageAllocator;
    use crate::ids::PageId;
    use std::collections::BTreeSet;

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

    #[test]
    fn runs_behave_like_a_set_of_numbers() {
        for seed in 0..50 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut allocator, mut used) = (PageAllocator::new(), BTreeSet::new());
            for _ in 0..300 {
                if random.bool() {
                    let count = [1, 1, 2, 5, 9][random.usize(0..5)];
                    let is_free = |first: &u64| (*first..first + count).all(|n| !used.contains(&n));
                    let expected = (1..10_000).find(is_free).expect("numbers do not end");
                    assert_eq!(allocator.allocate_run(count), PageId(expected), "seed {seed}");
                    used.extend(expected..expected + count);
                } else if let Some(page) = random.choice(used.iter().copied().collect::<Vec<_>>()) {
                    used.remove(&page);
                    allocator.free(PageId(page));
                }
                if random.u8(0..20) == 0 {
                    let next = allocator.next();
                    allocator.restore(next, |page| used.contains(&page.0));
                }
                assert!(used.last().is_none_or(|last| *last < allocator.next().0));
            }
        }
    }

    #[test]
    #[should_panic(expected = "is already free")]
    fn a_number_in_a_free_run_cannot_be_freed_again() {
        let mut allocator = PageAllocator::new();
        allocator.allocate_run(9);
        for page in 3..6 {
            allocator.free(PageId(page));
        }
        allocator.free(PageId(4));
    }
}
