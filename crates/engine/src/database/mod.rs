//! A database in a directory: opening, tables, checkpoints, verification.
//!
//! | in the directory | contents |
//! |---|---|
//! | `data` | the pages as they were at the last checkpoint (`checkpoint`) |
//! | `log/` | every commit behind it (`log`); elsewhere if an option says so |
//! | `making` | present while the database is being made: anything else there may be made anew |
//!
//! | file | what it holds |
//! |---|---|
//! | `create.rs`, `open.rs` | creation; opening, the order of recovery |
//! | `backup.rs`, `page_copy.rs` | a copy made while others read and write; how its pages are copied |
//! | `restore.rs` | a backup brought forward to a later commit |
//! | `engine.rs` | what sessions, checkpoints and definitions share |
//! | `checkpoints.rs`, `checkpoint_pacing.rs` | the states of a checkpoint; when one begins, and its pace |
//! | `maintenance_thread.rs` | the thread that prepares log files and memory, and runs checkpoints |
//! | `page_loader.rs` | the thread that loads pages behind the opening |
//! | `definitions.rs` | tables and indexes added and dropped |
//! | `tree_builder.rs` | hidden trees built from rows in any order |
//! | `logged_load.rs` | a table loaded through the log |
//! | `index_build.rs` | an index built concurrently with writers |
//! | `large_objects/` | large objects, written and read in parts |
//! | `sequence.rs` | numbers for keys, each given once |
//! | `handle.rs`, `tables.rs`, `transactions.rs` | `Database`: opening and maintenance, its tables, transactions |
//! | `verify.rs`, `verify_rows.rs` | checks of trees, and of tables against indexes |
//! | `inspect.rs`, `stats.rs`, `metrics.rs` | descriptions and counters for people; the counters for monitoring |
//! | `schedules.rs`, `simulation/`, `tests/` | step-locked schedules, crash simulation, tests |

mod backup;
mod checkpoint_pacing;
mod checkpoints;
mod create;
mod definitions;
mod engine;
mod handle;
mod index_build;
mod inspect;
mod large_objects;
mod logged_load;
mod maintenance_thread;
mod metrics;
mod open;
mod page_copy;
mod page_loader;
mod restore;
#[cfg(test)]
mod schedules;
mod sequence;
#[cfg(test)]
mod simulation;
mod stats;
mod tables;
#[cfg(test)]
mod tests;
mod transactions;
mod tree_builder;
mod verify;
mod verify_rows;

pub use backup::{Backup, BackupOptions};
pub use checkpoints::CheckpointStats;
pub use handle::Database;
pub use inspect::Inspection;
pub use large_objects::{LargeObjectReader, LargeObjectWriter, LargeObjects};
pub use metrics::{Metric, Metrics};
pub use restore::{RestoreSource, Restored};
pub use sequence::Sequence;
pub use stats::Stats;
