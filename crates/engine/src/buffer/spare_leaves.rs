//! The memory of evicted leaves, for the next ones.
//!
//! The C library's allocator keeps the memory that is freed in the part of the heap (*arena*) from which it
//! was taken, and each thread takes from its own. Leaves are loaded by one thread and evicted by another, so
//! the arenas of all threads would grow to the size of the cache, one after the other. Therefore an evicted
//! leaf leaves its memory here, and the next leaf that a thread loads or makes moves into it. What that leaf
//! had before was allocated a moment ago, and goes back to the arena of the same thread.
//!
//! Invariant: the memory kept here has a bound, a small part of the cache. It counts as memory in use, but
//! not towards the cap at which pages are evicted: there the next leaf takes it.

use super::blocks::PageBytes;
use crate::sync::rank::SPARE_LEAVES;
use crate::sync::ranked::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The part of the cache that may be kept as spare memory.
const CACHE_PART: u64 = 64;

/// The memory of leaves that have left.
pub(super) struct SpareLeaves {
    memory: Mutex<Vec<PageBytes>, SPARE_LEAVES>,
    count: AtomicUsize,
    count_max: usize,
    page_bytes: u64,
}

impl SpareLeaves {
    /// For a cache of that size.
    pub(super) fn new(cache_bytes: u64, page_bytes: u32) -> SpareLeaves {
        let page_bytes = u64::from(page_bytes);
        let count_max = usize::try_from(cache_bytes / CACHE_PART / page_bytes);
        SpareLeaves {
            memory: Mutex::new(Vec::new()),
            count: AtomicUsize::new(0),
            count_max: count_max.unwrap_or(usize::MAX),
            page_bytes,
        }
    }

    /// Keeps the memory of a leaf that has left, unless there is enough.
    pub(super) fn keep(&self, memory: PageBytes) {
        if self.count.load(Ordering::Relaxed) < self.count_max {
            let mut all = self.memory.lock();
            all.push(memory);
            self.count.store(all.len(), Ordering::Relaxed);
        }
    }

    /// A copy of the page in spare memory, if there is any.
    pub(super) fn copy(&self, page: &[u8]) -> Option<PageBytes> {
        if self.count.load(Ordering::Relaxed) == 0 || page.len() as u64 != self.page_bytes {
            return None;
        }
        let mut all = self.memory.lock();
        let mut memory = all.pop()?;
        self.count.store(all.len(), Ordering::Relaxed);
        drop(all);
        memory.copy_from_slice(page);
        Some(memory)
    }

    /// The memory kept here, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.count.load(Ordering::Relaxed) as u64 * self.page_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::SpareLeaves;

    #[test]
    fn memory_is_kept_up_to_its_bound_and_used_again() {
        let spare = SpareLeaves::new(64 * 512 * 2, 512);
        assert!(spare.copy(&[7; 512]).is_none());
        for byte in 1..4 {
            spare.keep((&[byte; 512][..]).into());
        }
        assert_eq!(spare.bytes(), 2 * 512, "the third is freed");
        let copy = spare.copy(&[7; 512]).unwrap();
        assert_eq!((copy.to_vec(), spare.bytes()), (vec![7; 512], 512));
        assert!(spare.copy(&[7; 100]).is_none(), "not a leaf's page");
    }
}
