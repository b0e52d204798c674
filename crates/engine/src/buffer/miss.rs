//! A page that is not in memory, as a value: the caller releases everything, loads it, and starts again.
//!
//! A page is missed if it has not been loaded since opening, or was evicted. Tests also force misses: with
//! `miss_every` = n every n-th translation reports that the page is absent. After a load, a thread finds its
//! next pages without a miss, usually enough for one descent, occasionally thousands, so that an operation
//! that starts again from the beginning makes progress for every n. Commit sections run without forced
//! misses.

use crate::ids::PageId;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The absent page. Load it without holding anything, then start again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Miss(pub(crate) PageId);

/// Why a change cannot be made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The page is absent: leave the section, load it, and start again.
    Miss(PageId),
    /// The pool of pre-images is full: leave the section, wait for room, and start again.
    PreImages,
}

impl From<Miss> for Stop {
    fn from(miss: Miss) -> Stop {
        Stop::Miss(miss.0)
    }
}

thread_local! {
    static OFF: Cell<bool> = const { Cell::new(false) };
    /// Pages that the thread will find before the next forced miss.
    static FOUND: Cell<u32> = const { Cell::new(0) };
    static LOADS: Cell<u32> = const { Cell::new(0) };
}

/// Runs `body` without forced misses on this thread: for commit sections, which load their pages beforehand.
#[inline]
pub(crate) fn without_misses<R>(body: impl FnOnce() -> R) -> R {
    let _misses_off = MissesOff::begin();
    body()
}

/// No forced misses on this thread until it is dropped.
pub(crate) struct MissesOff {
    before: bool,
}

impl MissesOff {
    #[inline]
    pub(crate) fn begin() -> MissesOff {
        MissesOff { before: OFF.replace(true) }
    }
}

impl Drop for MissesOff {
    #[inline]
    fn drop(&mut self) {
        OFF.set(self.before);
    }
}

/// Resets this thread's state, so that a test does not depend on earlier ones.
#[cfg(test)]
pub(crate) fn reset_forced_misses() {
    FOUND.set(0);
    LOADS.set(0);
}

/// Forces misses.
#[derive(Debug)]
pub(super) struct Forced {
    every: u32,
    count: AtomicU64,
}

impl Forced {
    /// Every n-th translation misses.
    pub(super) fn new(every: u32) -> Forced {
        assert!(every > 0, "`miss_every` must be at least 1");
        Forced { every, count: AtomicU64::new(0) }
    }

    /// True if this translation should miss.
    #[cold]
    pub(super) fn misses(&self) -> bool {
        if OFF.get() {
            return false;
        }
        let left = FOUND.get();
        if left > 0 {
            FOUND.set(left - 1);
            return false;
        }
        (self.count.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(u64::from(self.every))
    }

    /// Records that this thread has loaded a page.
    pub(super) fn loaded() {
        let loads = LOADS.get().wrapping_add(1);
        LOADS.set(loads);
        FOUND.set(match loads {
            loads if loads.is_multiple_of(64) => 4096,
            loads if loads.is_multiple_of(8) => 64,
            _ => 8,
        });
    }
}
