//! Models of transactions, run under a checker: see `crate::sync` for how, and `./test` for the command.
//!
//! | model | checker | what it explores | what it would find |
//! |---|---|---|---|
//! | `commit_gate` | shuttle | sections, closers and those refused | a section beside a closed gate; a thread that sleeps for ever |
//! | `registry` | loom | begins against a collector, fences included | a begin that slips through; a version collected that a reader needs |
//! | `rows` | shuttle | a store with two rows, two who move between them, readers | a lost update, a sum that never was |

#[cfg(shuttle)]
mod commit_gate;
#[cfg(loom)]
mod registry;
#[cfg(shuttle)]
mod rows;
