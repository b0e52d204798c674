//! What a run comes to: counts, times, costs, and what may be said of them. Imports nothing of `drive` and
//! `coordinate`.
//!
//! | file | what it holds |
//! |---|---|
//! | `measured_span.rs` | the measured span, what is counted in it, and the definition of a rate |
//! | `worker_stats.rs` | histograms and outcome counts of one worker |
//! | `worker_report.rs` | what a worker and its clients leave behind |
//! | `live_counters.rs` | a worker's counters that another thread reads while it runs |
//! | `sampler.rs` | readings of machine, disk and processes |
//! | `store_counters.rs` | growth of the store's own counters |
//! | `disk_reserve.rs` | free disk space, and what a run leaves of it |
//! | `measured.rs` | all that a run measured, before a result is made of it |
//! | `per_commit.rs` | costs per commit, each with its source |
//! | `fairness.rs` | how evenly clients were served |
//! | `range.rs` | median and range of a figure |
//! | `response_bounds.rs` | response bounds of a workload, judged like its checks |
//! | `saturation.rs` | the bottleneck verdict and its thresholds |
//! | `warning.rs`, `warning_rules.rs` | warnings on a result, and when it deserves them |
//! | `result.rs`, `result_builder.rs` | the result, and how it is built |

pub(crate) mod disk_reserve;
pub(crate) mod fairness;
pub(crate) mod live_counters;
pub(crate) mod measured;
pub(crate) mod measured_span;
pub(crate) mod per_commit;
pub(crate) mod range;
pub(crate) mod response_bounds;
pub(crate) mod result;
pub(crate) mod result_builder;
pub(crate) mod sampler;
pub(crate) mod saturation;
pub(crate) mod store_counters;
pub(crate) mod warning;
pub(crate) mod warning_rules;
pub(crate) mod worker_report;
pub(crate) mod worker_stats;
