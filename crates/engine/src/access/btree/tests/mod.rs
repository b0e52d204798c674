//! Trees against sorted maps: one thread with forced misses, several threads at once, running snapshots,
//! planted damage, and planted bugs.

mod blocks;
mod damage;
mod merge;
mod model;
mod page_snapshot;
mod prefetch;
mod support;
mod threads;
