//! Random records by number, as both 2007 workloads of bigdata's journal use them: the table, the bytes
//! derived from a number, the tasks, and the check.
//!
//! In the source a record was written to the raw store and found by its address, and the expected content was
//! kept in an array in memory. Here a record is a row, its number is its address, and its content follows
//! from the number, so records cost no memory and every byte read is still compared.

mod bytes;
mod check;
mod table;
mod tasks;

pub(crate) use check::{NAMES, check};
pub(crate) use table::Table;
pub use tasks::Tally;
pub(crate) use tasks::{READ_TASK, Tasks, WRITE_TASK};
