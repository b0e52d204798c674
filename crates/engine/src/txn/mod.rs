//! Transactions: many at a time, each as if it were alone.
//!
//! A [`Session`] keeps what its transaction has read and is going to write to itself until the commit.
//! Newest versions of rows are in the leaves, older ones beside them in memory (`version`); each row
//! has a word (see `buffer::version_word`) that says which commit wrote it and whether one is under way.
//!
//! # The commit
//!
//! | step | what | may wait | may fail |
//! |---|---|---|---|
//! | a | prepare: the leaves of many rows at once, log room, memory for versions, overflow pages; after losses a first look at what was read | yes | yes |
//! | b | enter the section; lock each row in order, inserts as locked ghosts; settle what each becomes; split where there is no room | a little | yes |
//! | c | take the commit sequence number (csn) | no | no |
//! | d | validate what was read | no | yes: the number is given up |
//! | e | apply: value, word with the csn, unlocked | no | no |
//! | f | publish the record | no | no |
//! | g | collect a little, leave the section | no | no |
//!
//! 1. The number is taken after all locks and before the validation. So if two commits touch the same
//!    row and at least one writes it, the order of their numbers is the order in which they saw it:
//!    csn order is a serialization order, and the log, which is in csn order, can be cut anywhere.
//! 2. Publishing follows applying: what is in the contiguous published prefix is applied, hence so is
//!    what is stable. Readers at a point in the prefix see all of it.
//! 3. Every change of a page happens between *enter* and *leave* of the `gate`; who closes the gate sees
//!    pages between commits.
//! 4. Rows are locked by bits, and pages are latched one at a time: a latch is not held while another is
//!    waited for, but by the one thread that merges leaves under the structure mutex. A locked row of
//!    another commit is looked at for a bounded time; validation does not wait for one at all. So there is
//!    no deadlock.
//! 5. A panic between c and f leaves a number that is neither published nor void: the log closes.
//!
//! # Reading
//!
//! Each transaction reads at one *read point* (`read`, `scan`). Snapshots keep theirs and look older
//! versions up; under snapshot isolation the first to commit a row wins. A serializable transaction
//! reads the newest, and moves its point when it must, if nothing that it has read has changed
//! (`validate`): so it never sees a state that did not exist, even if it must be run again later. What
//! depends on data that is not stable yet (a refusal, the end of a transaction without writes) is told
//! once it is. The `registry` knows all read points; what nobody can need any more goes (`garbage`).
//!
//! Serializable holds among serializable transactions: one under snapshot isolation validates nothing.
//!
//! # An index under construction
//!
//! While an index is built beside writers, each commit that changes a row of its table says so in the
//! `row_log`, within its section: what the builder has not seen yet is in there.
//!
//! # Progress
//!
//! Some transaction always commits: a conflict needs another one that holds a lock or has committed.
//! For each of them, [`Session::run`] runs one that keeps losing alone, with the gate closed. One that only
//! reads is not run alone: its caller gets the conflict after as many runs.

mod action;
mod apply;
mod arena;
mod commit;
pub(crate) mod commit_gate;
mod commit_path;
mod conflict;
mod core;
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
pub(crate) mod step;
#[cfg(test)]
mod tests;
mod transaction;
mod transaction_pool;
mod validate;
mod version;
mod version_table;
mod write_set;

pub(crate) use self::core::{Core, Relief, TxnOptions};
pub use action::PatchFailure;
pub(crate) use commit_gate::ClosedGate;
pub use commit_path::{CommitPath, CommitPaths, PathStep};
#[doc(hidden)]
pub use conflict::{Conflict, Counts};
pub(crate) use garbage::strip_ghosts;
pub use part_timers::{Latencies, SAMPLED_ONE_IN};
pub(crate) use record::{Operation, Pieces, operations, splice};
pub(crate) use row_log::{RowChange, RowLog, row_changes};
pub(crate) use row_view_guard::check_not_in_row_view;
pub use scan::Direction;
pub(crate) use scan::Scan;
pub(crate) use session::Session;
pub use transaction::Begin;
pub(crate) use write_set::Savepoint;
