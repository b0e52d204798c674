//! Many readers, many writers: tasks of random records by clients that each read or write.
//!
//! Source: bigdata's `AbstractMRMWTestCase` and its experiment `StressTestMRMW`, with their parameters as
//! defaults: 5,000 records at the start, tasks of 100 reads or 100 writes, records of 1 to 1,024 bytes,
//! 80 % of the tasks readers (the experiment also has 0 and 100); 20 clients, 100,000 tasks or 30 s:
//! `run mrmw --clients 20 --transactions 100000 --duration 30s --warm-up 0`. Rules:
//!
//! 1. Each task is drawn anew: a reader with `readers` per cent, else a writer.
//! 2. A reader picks the newest acknowledged record on purpose in `newest` per cent of its reads, to
//!    catch the reading of a record that is not fully written, and evenly among all in the rest.
//!    Every byte is compared with what follows from the record's number.
//! 3. A writer writes new records in one transaction.
//!
//! Deviations: in the source one writer in so many forced the store at its end, the others left their
//! records to the next force; a commit here is as durable as the target says, so every writer forces
//! (with durability none or os: none does), and `show --as bigdata` tells the share of tasks that waited.
//! Records are rows of a transactional store. From `records_max` on, which stands for the source's
//! 400 MB, all tasks read. A cancelled task is "unfinished" here; bytes a second are given at the mean
//! length of a record.

mod schema;
mod transactions;

pub use crate::records::Tally;
pub use schema::{Mrmw, Options};
pub use transactions::MrmwClient;
