//! Syncs at a low, constant rate: alone, beside a load, and over hours, with the stalls among them.
//!
//! 1. A sync starts at most a hundred times a second, so that the measurement is hardly a load of its own.
//! 2. While syncs run, another thread reads the kernel's counters ten times a second. A stall is explained
//!    by the readings around it, so it has figures even if it took minutes.
//! 3. Memory is bounded for any duration: histograms, the longest stalls, and the readings of the last
//!    seconds.

mod counters;
mod phases;
mod plan;
mod sampling;
mod stalls;

pub(crate) use phases::SyncHistory;
pub use plan::{BESIDE_NS, Phase};
pub(crate) use sampling::{RATE_PER_S, sample};
