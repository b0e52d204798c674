//! The source of leaf counters: numbers that never repeat while the program runs.
//!
//! Each thread takes them in blocks, so that threads that insert concurrently do not share a cache line.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

const BLOCK: u64 = 1 << 16;

static BLOCKS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// A number that was never returned before.
#[inline]
pub(super) fn fresh() -> u64 {
    let mut next = NEXT.get();
    if next.is_multiple_of(BLOCK) {
        next = BLOCKS.fetch_add(1, Ordering::Relaxed) * BLOCK;
    }
    NEXT.set(next + 1);
    next
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, fresh};
    use std::collections::BTreeSet;

    #[test]
    fn no_number_repeats_on_any_thread() {
        let many = || (0..BLOCK + 10).map(|_| fresh()).collect::<Vec<_>>();
        let other = std::thread::spawn(many);
        let mut all = many();
        all.extend(other.join().unwrap());
        let distinct: BTreeSet<u64> = all.iter().copied().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
