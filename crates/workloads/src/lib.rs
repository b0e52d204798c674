//! The workloads: one folder each with the same files, and one line each in a table.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod.rs` | the rules, their source, and deviations from it |
//! | `schema.rs` | options, tables, operations |
//! | `transactions.rs` | the client: draws and performs transactions |
//! | `check.rs` | the conditions after a run |
//!
//! Also: `distributions` holds random streams and distributions, `rows` the numbering and sets of verified
//! rows, `records` the part that `mrow` and `mrmw` share, `outcomes` those of numbered transactions, and
//! `check_reader` and `violations` help checks read and count errors.
//!
//! [`AnyWorkload::parse`] makes a workload from a name and options; [`LISTINGS`] lists them.

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
mod outcomes;
mod records;
mod rows;
pub mod script;
pub mod short;
pub mod single_record;
pub mod smallbank;
pub mod tatp;
pub mod tpcc;
pub mod transfer;
mod violations;
pub mod ycsb;

pub use any::{AnyClient, AnyTally, AnyWorkload, LISTINGS, Listing};
pub use error::Error;
