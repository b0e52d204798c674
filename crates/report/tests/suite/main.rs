//! The record and its views, through the crate's public names only.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]
#![allow(
    clippy::assigning_clones,
    reason = "texts are set once per test; plain assignments read better"
)]

mod as_published;
mod comparison;
mod comparison_page;
mod conversion;
mod cost;
mod cost_fixture;
mod findings;
mod fixture;
mod golden;
mod html_tree;
mod invariants;
mod observation;
mod page_outline;
mod pages;
mod published_fixture;
mod real_run;
mod record_file;
mod redaction;
mod schema;
mod stacks;
mod verification;
mod views;
