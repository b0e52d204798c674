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
//! | `scene.rs` | the tables and operations that the cases use |
//! | `ground.rs` | a fresh store, its clients, two of them side by side |
//! | `kinds.rs`, `points.rs`, `scans.rs`, `figures.rs`, `transactions.rs`, `sides.rs`, `life.rs` | the cases |
//! | `suite.rs` | which case needs what |

mod block_on;
mod figures;
mod ground;
mod kinds;
mod life;
mod outcome;
mod points;
mod scans;
mod scene;
mod sides;
mod suite;
mod transactions;

pub use block_on::block_on;
pub use life::refuses_foreign;
pub use outcome::{Conformance, Finding};
pub use suite::conforms;
