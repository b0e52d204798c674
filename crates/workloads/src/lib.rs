//! The loads: one folder a workload with the same files in each, one line a workload in a table.
//!
//! | file | what stands in it |
//! |---|---|
//! | `mod.rs` | the rules, their source, and where this differs from it |
//! | `schema.rs` | options, tables, operations |
//! | `transactions.rs` | what a client draws and performs |
//! | `check.rs` | what must be true afterwards |
//!
//! [`AnyWorkload::parse`] makes one of a name and options, [`LISTINGS`] says which there are.

mod any;
mod error;
pub mod insert;

pub use any::{AnyClient, AnyTally, AnyWorkload, LISTINGS, Listing};
pub use error::Error;
