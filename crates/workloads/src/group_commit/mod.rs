//! Group commit: tasks that never meet, so that nothing but the commit is shared.
//!
//! Source: bigdata's `StressTestGroupCommit`, in which each task registers an index of its own and inserts
//! `ninsert` ascending keys into it; 10,000 tasks of 100 inserts in its main run. Rules:
//!
//! 1. One table, `tasks(task, item, value)`, with the key (task, item).
//! 2. One transaction is a task: it inserts `ninsert` rows in ascending order into a range of keys of its
//!    own. No two tasks share a row, and none reads.
//!
//! How many tasks share a commit, how long one waits for it and how long the sync takes is in the
//! record of every run: commits per sync, latency and the parts that the store times itself.
//!
//! Deviations: a task's keys are a range of one table in place of an index of its own, since a store
//! need not be able to make tables in a transaction. Tasks are as many as the run's plan says, by as many
//! clients; the source submits all at once to a pool of threads.

mod check;
mod schema;
mod transactions;

pub use schema::{GroupCommit, Options};
pub use transactions::{GroupCommitClient, Tally};
