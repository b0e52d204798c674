//! Records in the formats of other programs.
//!
//! | file | format |
//! |---|---|
//! | `csv` | comma-separated values: a row for each record, or for each interval of runs |
//! | `markdown` | a table for pull requests and wikis |
//! | `openmetrics` | metrics, for Prometheus and the text collector of its `node_exporter` |
//! | `histogram` | `HdrHistogram`'s percentile spectrum (`.hgrm`) and its log of intervals (`.hlog`) |

#![allow(
    clippy::format_push_string,
    reason = "as in tables: lines read better than writes that cannot fail"
)]

mod csv;
mod histogram;
mod markdown;
mod openmetrics;

pub use csv::{intervals as csv_of_intervals, summaries as csv_of_summaries};
pub use histogram::{log as hlog, spectrum as hgrm};
pub use markdown::markdown;
pub use openmetrics::{
    openmetrics, openmetrics_of_interval, openmetrics_of_observed, openmetrics_of_syncs,
};
