//! The saved record, through the crate's public names only.
//!
//! | file | what it holds |
//! |---|---|
//! | `record_file.rs`, `verification.rs` | files of records, written and read; of verifications |
//! | `schema.rs`, `redaction.rs` | the published schema; records redacted for publication |
//! | `summary.rs` | the flat row of a record |
//! | `findings.rs`, `invariants.rs` | the rate rule and the count rule; figures that contradict each other |
//! | `../shared/` | made-up records and the closed schema, which the tests of views use too |

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]
#![allow(
    clippy::assigning_clones,
    reason = "texts are set once per test; plain assignments read better"
)]

#[path = "../shared/closed_schema.rs"]
mod closed_schema;
#[path = "../shared/cost_fixture.rs"]
mod cost_fixture;
mod findings;
#[path = "../shared/fitness_fixture.rs"]
mod fitness_fixture;
#[path = "../shared/fixture.rs"]
mod fixture;
mod invariants;
mod record_file;
mod redaction;
mod schema;
mod summary;
mod verification;
