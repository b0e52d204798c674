//! The suite that every target must pass.
//!
//! [`conforms`] makes a target, runs case after case on a fresh store and answers what was tested,
//! what was not and why, and every finding as one sentence. A case needs abilities; what a target does
//! not claim is not asked of it. [`refuses_foreign`] is apart, since only whoever writes a target
//! knows what a stranger's belongings look like there.
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
//! | file | what stands in it |
//! |---|---|
//! | `block_on.rs` | an executor for tests |
//! | `outcome.rs` | findings and their collection |
//! | `test_schema.rs` | the tables and operations that the cases use |
//! | `fixture.rs` | a fresh store, its clients, two of them side by side |
//! | `value_kinds.rs`, `point_operations.rs`, `scans.rs`, `aggregates.rs`, `transactions.rs`, `concurrency.rs`, `lifecycle.rs` | the cases |
//! | `suite.rs` | which case needs what |

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
pub use lifecycle::refuses_foreign;
pub use outcome::{Conformance, Finding};
pub use suite::conforms;
