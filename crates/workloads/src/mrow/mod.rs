//! Many readers, one writer: random records, read and compared byte by byte while one client writes.
//!
//! Source: bigdata's `AbstractMROWTestCase` of 2007, with its parameters as defaults: 100 reads a task,
//! records of 1 to 1,024 bytes, 10,000 records of which 2,500 are there at the start; 20 readers
//! beside the writer, 100,000 tasks or 10 s: `run mrow --clients 21 --transactions 100000 --duration
//! 10s --warm-up 0`. Rules:
//!
//! 1. Client 0 writes one record a transaction, `records_per_commit` where asked, and pauses
//!    (`write_wait_us`); when all `records` are there it reads as the others do.
//! 2. The other clients read: `reads_per_task` records a task, each picked evenly among those whose
//!    writing was acknowledged, compared in every byte with what follows from its number.
//! 3. A task is a transaction. What was published as "reads/s" are tasks a second; here both are
//!    reported, tasks and record reads.
//!
//! Deviations: the source worked on the raw store under the indexes, without transactions or commits;
//! here records are rows, a task reads from one snapshot, and every write is a commit. Its writer slept a
//! nominal nanosecond, which its host made some 40 ms; the pause here is an option. A task that finds a
//! wrong byte goes on and violates the check; there it was counted as an error. What is cut off at the
//! end is "unfinished" here, "cancelled" there. With one client alone there is no reader: it writes, then
//! reads.

mod schema;
mod transactions;

pub use crate::records::Tally;
pub use schema::{Mrow, Options};
pub use transactions::MrowClient;
