//! Many readers, many writers: tasks with random records, in which each client reads or writes.
//!
//! Source: bigdata's `AbstractMRMWTestCase` and its experiment `StressTestMRMW`, with their parameters as
//! defaults: 5,000 records at the start, tasks of 100 reads or 100 writes, records of 1 to 1,024 bytes,
//! 80 % of the tasks readers (the experiment also has 0 and 100); 20 clients, 100,000 tasks or 30 s:
//! `run mrmw --clients 20 --transactions 100000 --duration 30s --warm-up 0`. Rules:
//!
//! 1. Each task is drawn independently: a reader with a probability of `readers` percent, otherwise a writer.
//! 2. A reader deliberately picks the newest acknowledged record in `newest` percent of its reads, to catch
//!    reads of partially written records, and otherwise any record with equal probability. Every byte is
//!    compared with what follows from the record's number.
//! 3. A writer writes new records in one transaction.
//!
//! Deviations: in the source, one in n writers synced the store at its end, and the others left their records
//! to the next sync; here a commit is as durable as the target's setting, so every writer syncs (or none,
//! with durability none or os), and `show --as bigdata` reports the share of tasks that waited. Records are
//! rows of a transactional store. Once there are `records_max` records, which corresponds to the source's 400
//! MB, all tasks read. A cancelled task is "unfinished" here; bytes per second are computed from the mean
//! length of a record.

mod schema;
mod transactions;

pub use crate::records::Tally;
pub use schema::{Mrmw, Options};
pub use transactions::MrmwClient;
