//! Transactions: many at a time, each isolated from the others.
//!
//! A [`Session`] keeps the reads and writes of its transaction private until the commit. The newest version
//! of a row is in its leaf, older ones are in a separate table in memory (`version`). Each row has a version
//! word (see `buffer::version_word`), which names the commit that wrote it and says whether one is under way.
//!
//! # The commit
//!
//! | step | action | may wait | may fail |
//! |---|---|---|---|
//! | a | prepare: prefetch the leaves of many rows, room in the log, memory for versions, extents; after lost commits an early validation | yes | yes |
//! | b | enter the section; lock each row in order, inserts as locked ghosts; decide what each becomes; split leaves without room | a little | yes |
//! | c | take the commit sequence number (csn) | no | no |
//! | d | validate what was read | no | yes: the number is given up |
//! | e | apply: value, word with the csn, unlocked | no | no |
//! | f | publish the record | no | no |
//! | g | collect a little, leave the section | no | no |
//!
//! Invariants:
//!
//! 1. The number is taken after all locks and before the validation. So if two commits touch the same
//!    row and at least one writes it, the order of their numbers is the order in which they saw it:
//!    csn order is a serialization order, and the log, which is in csn order, may end anywhere.
//! 2. Publishing follows applying: everything in the contiguous published prefix is applied, and so is
//!    everything stable. Readers at a point in the prefix see all of it.
//! 3. Every change of a page happens between *enter* and *leave* of the `commit_gate`; the thread that closes
//!    the gate sees pages between commits.
//! 4. Rows are locked by bits, and pages are latched one at a time: a thread that holds a latch does not
//!    wait for another one, except for the thread that merges leaves under the structure mutex. A commit
//!    retries a row that another commit has locked for a bounded time; validation does not wait for one at
//!    all. So there is no deadlock.
//! 5. A panic between c and f leaves a number that is neither published nor void: the log closes.
//!
//! # Reading
//!
//! Each transaction reads at one *read point* (`read`, `scan`). Snapshots keep theirs and look up older
//! versions; under snapshot isolation the first to commit a row wins. A serializable transaction reads the
//! newest version, and moves its point when it must, if nothing that it has read has changed (`validate`): so
//! it never sees a state that did not exist, even if it must run again later. A result that depends on
//! unstable data (a refusal, the end of a transaction without writes) is returned once that data is stable.
//! The `registry` knows all read points; `garbage` removes what no reader can need any more.
//!
//! Serializability holds among serializable transactions: one under snapshot isolation validates nothing.
//!
//! # An index under construction
//!
//! While an index is built, each commit that changes a row of its table appends the change to the `row_log`,
//! within its section: the log holds every change that the builder has not seen yet.
//!
//! # Progress
//!
//! Some transaction always commits: a conflict needs another one that holds a lock or has committed. To let
//! each of them commit, [`Session::run`] runs a transaction that keeps losing exclusively, with the gate
//! closed. A transaction that only reads is not run exclusively: after the same number of runs its caller
//! gets the conflict.
//!
//! | file | what it holds |
//! |---|---|
//! | `session.rs`, `run.rs` | one transaction after another; a closure run until it commits |
//! | `core.rs`, `registry.rs` | what all sessions share; the read points of open transactions |
//! | `transaction.rs`, `transaction_pool.rs`, `arena.rs` | the state of an open transaction; its memory, reused |
//! | `rows.rs`, `action.rs` | the calls that read and write rows; operations on a row and their results |
//! | `read.rs`, `own_writes.rs`, `row_view_guard.rs` | reads of one row; of a row that the transaction writes; in place |
//! | `scan.rs`, `scan_batch.rs` | reads of a range; its rows in one leaf |
//! | `read_set.rs`, `write_set.rs`, `hash.rs` | what a transaction has read and will write; the hash of a row's name |
//! | `commit.rs`, `lock.rs`, `validate.rs`, `apply.rs` | the commit and its steps |
//! | `commit_gate.rs` | sections of commits, and the gate that stops them |
//! | `refusal.rs` | the answer to a write that the rows refuse |
//! | `record.rs` | the content of a log record |
//! | `row_log.rs` | the changed rows of a table while an index of it is built |
//! | `version.rs`, `version_table.rs` | old versions of rows, and the table that holds them |
//! | `garbage.rs`, `reclaim.rs` | ghosts that wait for readers to end; memory reclaimed at a cap |
//! | `commit_path.rs`, `part_timers.rs`, `counts.rs` | measurements: sampled commits, times by part, outcomes |
//! | `fuzzing.rs`, `models/`, `tests/` | fuzzing, model checking, tests |

mod action;
mod apply;
mod arena;
mod commit;
pub(crate) mod commit_gate;
mod commit_path;
mod core;
mod counts;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod garbage;
mod hash;
mod lock;
#[cfg(all(test, any(loom, shuttle)))]
mod models;
mod own_writes;
mod part_timers;
mod read;
mod read_set;
mod reclaim;
mod record;
mod refusal;
mod registry;
mod row_log;
mod row_view_guard;
mod rows;
mod run;
mod scan;
mod scan_batch;
mod session;
#[cfg(test)]
mod tests;
mod transaction;
mod transaction_pool;
mod validate;
mod version;
mod version_table;
mod write_set;

pub(crate) use self::core::{Core, Relief, TxnOptions};
pub(crate) use commit_gate::ClosedGate;
pub use commit_path::{CommitPath, CommitPaths, PathStep};
pub use counts::Counts;
#[cfg(test)]
pub(crate) use garbage::strip_ghosts;
pub use part_timers::{Latencies, SAMPLED_ONE_IN};
pub(crate) use record::{Operation, Pieces, operations, splice};
pub(crate) use row_log::{RowChange, RowLog, row_changes};
pub(crate) use row_view_guard::check_not_in_row_view;
pub use scan::Direction;
pub(crate) use scan::Scan;
pub(crate) use session::Session;
#[cfg(test)]
pub(crate) use tests::simulated_core;
pub use transaction::Begin;
pub(crate) use write_set::Savepoint;
