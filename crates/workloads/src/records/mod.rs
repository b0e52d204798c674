//! Random records by number, as both 2007 workloads of bigdata's journal read and write them: the
//! table, the bytes that follow from a number, the tasks of reading and writing, the check.
//!
//! There a record was written to the raw store and found by its address, and the truth was kept in an
//! array in memory. Here a record is a row, its number is its address, and the truth follows from the
//! number, so that any number of records costs no memory and every byte read is still compared.

mod bytes;
mod check;
mod table;
mod tasks;

pub(crate) use check::{NAMES, check};
pub(crate) use table::Table;
pub use tasks::Tally;
pub(crate) use tasks::Tasks;
