//! The counts of timer signals by thread and module.
//!
//! Counts only grow, in memory that is never freed, since a signal may arrive late.

use std::sync::atomic::{AtomicU32, Ordering};
use syncline_instrument::{Module, tag};

/// The maximum number of threads that are counted at once.
pub(super) const PLACES: usize = 256;

const MODULES: usize = Module::ALL.len();

/// A thread's counts by module, and outside all modules.
type Counts = [AtomicU32; MODULES + 1];

static COUNTS: [Counts; PLACES] = [const { [const { AtomicU32::new(0) }; MODULES + 1] }; PLACES];

/// Counts the current module of the calling thread, which owns that place. Safe in a signal handler: it takes
/// no lock and allocates nothing.
pub(super) fn count_tick(place: usize) {
    let module = tag::current().map_or(MODULES, |module| module as usize);
    if let Some(counts) = COUNTS.get(place) {
        counts[module].fetch_add(1, Ordering::Relaxed);
    }
}

/// The counts of the thread at a place, by module; the last is outside all modules.
pub(super) fn counts(place: usize) -> [u32; MODULES + 1] {
    std::array::from_fn(|module| COUNTS[place][module].load(Ordering::Relaxed))
}
