//! Many readers, one writer: random records, read and compared byte by byte while one client writes.
//!
//! Source: bigdata's `AbstractMROWTestCase` of 2007, with its parameters as defaults: 100 reads per task,
//! records of 1 to 1,024 bytes, 10,000 records of which 2,500 exist at the start; 20 readers and the writer,
//! 100,000 tasks or 10 s: `run mrow --clients 21 --transactions 100000 --duration 10s --warm-up 0`. Rules:
//!
//! 1. Client 0 writes one record per transaction, or `records_per_commit`, and pauses (`write_wait_us`);
//!    once all `records` exist it reads like the others.
//! 2. The other clients read: `reads_per_task` records per task, each picked with equal probability among
//!    those whose write was acknowledged, and compared byte by byte with what follows from its number.
//! 3. A task is a transaction. What was published as "reads/s" are tasks per second; both tasks and record
//!    reads are reported here.
//!
//! Deviations: the source worked on the raw store below the indexes, without transactions or commits; here
//! records are rows, a task reads from one snapshot, and every write is a commit. Its writer slept a nominal
//! nanosecond, which took about 40 ms on its host; here the pause is an option. A task that finds a wrong
//! byte continues and violates the check; in the source it was counted as an error. A task cut off at the end
//! is "unfinished" here and "cancelled" there. With only one client there is no reader: it writes, then
//! reads.

mod schema;
mod transactions;

pub use crate::records::Tally;
pub use schema::{Mrow, Options};
pub use transactions::MrowClient;
