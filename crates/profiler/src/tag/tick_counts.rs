//! What is noted when a timer strikes: a count for each thread and module.
//!
//! Counts only grow, and stand in memory that is never freed: a signal may come late.

use std::sync::atomic::{AtomicU32, Ordering};
use syncline_instrument::{Module, tag};

/// Threads that can be noted at once.
pub(super) const PLACES: usize = 256;

const MODULES: usize = Module::ALL.len();

/// A thread's counts by module, and outside of all.
type Counts = [AtomicU32; MODULES + 1];

static COUNTS: [Counts; PLACES] = [const { [const { AtomicU32::new(0) }; MODULES + 1] }; PLACES];

/// The calling thread, whose place that is, is in its module at this moment. Safe in a signal handler:
/// it takes no lock and allocates nothing.
pub(super) fn count_tick(place: usize) {
    let module = tag::current().map_or(MODULES, |module| module as usize);
    if let Some(counts) = COUNTS.get(place) {
        counts[module].fetch_add(1, Ordering::Relaxed);
    }
}

/// How often the thread of a place was met so far, by module; last, outside of all.
pub(super) fn counts(place: usize) -> [u32; MODULES + 1] {
    std::array::from_fn(|module| COUNTS[place][module].load(Ordering::Relaxed))
}
