//! Accounts of how the metrics of a collector were measured.

use syncline_profile::{Account, Metric, Precision};

/// The account of a measured metric.
pub(crate) fn measured(metric: Metric, collector: &str, how: Precision) -> Account {
    Account { metric, collector: collector.to_owned(), how, lost: 0, total: None }
}

/// The account of a metric that could not be measured, with the reason.
pub(crate) fn missing(metric: Metric, collector: &str, why: &str) -> Account {
    measured(metric, collector, Precision::NotAttributable(why.to_owned()))
}

/// The accounts of metrics that could not be measured, for one reason.
pub(crate) fn all_missing(metrics: &[Metric], collector: &str, why: &str) -> Vec<Account> {
    metrics.iter().map(|metric| missing(*metric, collector, why)).collect()
}
