//! Trees against sorted maps: one thread with forced misses, several threads at once, running snapshots,
//! planted damage, and planted bugs.
//!
//! | file | what it holds |
//! |---|---|
//! | `support.rs` | a tree with its buffer, whose accesses are repeated until they are done |
//! | `model.rs`, `threads.rs` | a tree against a sorted map: one thread; several threads |
//! | `page_snapshot.rs` | pages captured while the tree changes |
//! | `merge.rs`, `blocks.rs` | merges of poor leaves; leaves in blocks, and their cap |
//! | `prefetch.rs` | batched prefetch, and accesses with its hints |
//! | `damage.rs` | damage that the check of a tree must report |

mod blocks;
mod damage;
mod merge;
mod model;
mod page_snapshot;
mod prefetch;
mod support;
mod threads;
