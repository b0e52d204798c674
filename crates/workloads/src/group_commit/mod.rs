//! Group commit: tasks that share no data, so that only the commit is shared.
//!
//! Source: bigdata's `StressTestGroupCommit`, in which each task registers its own index and inserts
//! `ninsert` ascending keys into it; the main run has 10,000 tasks with 100 inserts each. Rules:
//!
//! 1. One table, `tasks(task, item, value)`, with the key (task, item).
//! 2. A task is one transaction: it inserts `ninsert` rows in ascending order into its own range of keys. No
//!    two tasks share a row, and none reads.
//!
//! Every record shows how many tasks share a commit, how long one waits for it and how long the sync takes:
//! commits per sync, latency, and the steps that the store times itself.
//!
//! Deviations: a task's keys are a range of one table instead of a separate index, because a store may be
//! unable to create tables in a transaction. The plan determines the number of tasks and clients; the source
//! submits all tasks to a thread pool at once.

mod check;
mod schema;
mod transactions;

pub use schema::{GroupCommit, Options};
pub use transactions::{GroupCommitClient, Tally};
