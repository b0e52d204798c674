//! Models of transactions, run under a checker: see `crate::sync` for how, and `./test` for the command.
//!
//! | model | checker | what it explores | what it would detect |
//! |---|---|---|---|
//! | `commit_gate` | shuttle | sections, closers and refused entries | a section during a closed gate; a thread that sleeps forever |
//! | `registry` | loom | begins against a collector, fences included | a begin that slips through; a version collected that a reader needs |
//! | `rows` | shuttle | a store with two rows, two writers that transfer between them, readers | a lost update, a sum that never existed |

#[cfg(shuttle)]
mod commit_gate;
#[cfg(loom)]
mod registry;
#[cfg(shuttle)]
mod rows;
