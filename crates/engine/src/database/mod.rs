//! The front door: a database in a directory, its tables, and how it is kept.
//!
//! | in the directory | what it is |
//! |---|---|
//! | `data` | the pages as they were at the last checkpoint (`checkpoint`) |
//! | `log/` | every commit behind it (`log`); elsewhere if an option says so |
//! | `making` | the database is being made: whatever else is there may be made anew |
//!
//! | file | what stands in it |
//! |---|---|
//! | `open.rs` | making a directory, opening one, recovery's order |
//! | `engine.rs` | what sessions, checkpoints and definitions share |
//! | `checkpoints.rs`, `checkpoint_thread.rs` | when checkpoints begin, who moves them on, how fast |
//! | `preallocator.rs` | memory for leaves, ready before they need it |
//! | `definitions.rs` | tables and indexes added and dropped |
//! | `tree_builder.rs` | trees built aside from rows in any order |
//! | `index_build.rs` | an index built beside writers |
//! | `handle.rs` | `Database` |
//! | `verify.rs`, `verify_rows.rs` | what is wrong with trees, and with tables and indexes |
//! | `inspect.rs`, `stats.rs` | what is there, what was done |

mod checkpoint_thread;
mod checkpoints;
mod definitions;
mod engine;
mod handle;
mod index_build;
mod inspect;
mod open;
mod preallocator;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod simulation;
mod stats;
#[cfg(test)]
mod tests;
mod tree_builder;
mod verify;
mod verify_rows;

pub use checkpoints::CheckpointStats;
pub use handle::Database;
pub use inspect::Inspection;
pub use stats::Stats;
