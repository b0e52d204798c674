//! The loads: one folder a workload with the same files in each, one line a workload in a table.
//!
//! | file | what stands in it |
//! |---|---|
//! | `mod.rs` | the rules, their source, and where this differs from it |
//! | `schema.rs` | options, tables, operations |
//! | `transactions.rs` | what a client draws and performs |
//! | `check.rs` | what must be true afterwards |
//!
//! Beside them stand `draw`, the random streams and distributions that all draw from, `rows`, the
//! numbering and the sets of rows that are verified, `records`, which `mrow` and `mrmw` share, and
//! `check_reader` and `violations`, how checks read and count what is wrong.
//!
//! [`AnyWorkload::parse`] makes one of a name and options, [`LISTINGS`] says which there are.

mod any;
mod check_reader;
pub mod concurrent_tx;
pub mod debit_credit;
mod distributions;
mod error;
pub mod group_commit;
pub mod insert;
pub mod join;
mod lookup;
#[cfg(test)]
mod mix_tests;
pub mod mrmw;
pub mod mrow;
pub mod oltp;
mod records;
mod rows;
pub mod script;
pub mod short;
pub mod single_record;
pub mod smallbank;
pub mod tatp;
pub mod tpcc;
mod violations;
pub mod ycsb;

pub use any::{AnyClient, AnyTally, AnyWorkload, LISTINGS, Listing};
pub use error::Error;
