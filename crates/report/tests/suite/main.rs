//! The views of records, through the crate's public names only. What a record's own tests need too is in the
//! `record` crate.
//!
//! | file | what it holds |
//! |---|---|
//! | `views.rs`, `cost.rs`, `stacks.rs`, `as_published.rs`, `comparison.rs` | views for the terminal: every golden file; cost; profiles and functions; published tables; two records compared |
//! | `export.rs` | records in the formats of other programs |
//! | `observation.rs`, `verification.rs` | the views of an observation, of a verification |
//! | `pages.rs`, `comparison_page.rs`, `results_page.rs` | what holds for every page; the page of a comparison; of a folder |
//! | `html_tree.rs`, `page_outline.rs` | a page as a tree of elements; its outline for golden files |
//! | `conversion.rs`, `real_run.rs`, `consistency.rs` | records of results of the runner and the probe; of real runs; their figures agree |
//! | `golden.rs` | comparison with golden files |
//! | `fixture.rs`, `cost_fixture.rs`, `fitness_fixture.rs`, `closed_schema.rs` | made-up records; costs; verdicts for products; the schema to hold records against: all of the `record` crate |
//! | `published_fixture.rs` | made-up records of published workloads |

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]
#![allow(
    clippy::assigning_clones,
    reason = "texts are set once per test; plain assignments read better"
)]

mod as_published;
#[path = "../../../record/tests/shared/closed_schema.rs"]
mod closed_schema;
mod comparison;
mod comparison_page;
mod consistency;
mod conversion;
mod cost;
#[path = "../../../record/tests/shared/cost_fixture.rs"]
mod cost_fixture;
mod export;
#[path = "../../../record/tests/shared/fitness_fixture.rs"]
mod fitness_fixture;
#[path = "../../../record/tests/shared/fixture.rs"]
mod fixture;
mod golden;
mod html_tree;
mod observation;
mod page_outline;
mod pages;
mod published_fixture;
mod real_run;
mod results_page;
mod stacks;
mod verification;
mod views;
