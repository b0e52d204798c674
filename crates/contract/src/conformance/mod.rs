//! The conformance suite that every target must pass.
//!
//! [`conforms`] makes a target, runs each case on a fresh store, and returns the cases that were tested,
//! those that were skipped with the reason, and every finding as one sentence. A case may need abilities;
//! cases for abilities that the target does not claim are skipped. [`refuses_unmanaged`] is separate, because
//! only the author of a target knows how unmanaged objects look there.
//!
//! ```
//! use syncline_contract::{Target, conformance::conforms};
//!
//! fn my_store_conforms<T: Target>(open: impl Fn() -> T) {
//!     let outcome = conforms(open);
//!     assert!(outcome.findings.is_empty(), "{outcome}");
//! }
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `block_on.rs` | an executor for tests |
//! | `outcome.rs` | the findings of a run |
//! | `test_schema.rs` | the tables and operations of the cases |
//! | `fixture.rs` | a fresh store, its clients, two concurrent clients |
//! | `value_kinds.rs`, `point_operations.rs`, `scans.rs`, `aggregates.rs`, `transactions.rs`, `concurrency.rs`, `lifecycle.rs` | the cases |
//! | `suite.rs` | the list of cases, with the abilities that they need |

mod aggregates;
mod block_on;
mod concurrency;
mod fixture;
mod lifecycle;
mod outcome;
mod point_operations;
mod scans;
mod suite;
mod test_schema;
mod transactions;
mod value_kinds;

pub use block_on::block_on;
pub use lifecycle::refuses_unmanaged;
pub use outcome::{Conformance, Finding};
pub use suite::conforms;
