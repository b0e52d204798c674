//! Combines the accounts of all collectors of a metric.
//!
//! If one collector could not split the metric and another could, the metric is split and the reason of the
//! first is dropped. If none could, all reasons are kept.

use crate::metric::Metric;
use crate::profile::{Account, Precision, Profile, Total};

/// One account of a metric.
#[derive(Clone, Debug)]
pub(super) struct MetricAccount {
    pub(super) collector: String,
    pub(super) how: Precision,
    pub(super) lost: u64,
    pub(super) total: Option<Total>,
}

/// `None` if the metric was not requested.
pub(super) fn of(profile: &Profile, metric: Metric) -> Option<MetricAccount> {
    let accounts: Vec<&Account> =
        profile.accounts().iter().filter(|it| it.metric == metric).collect();
    let could = |account: &&&Account| !matches!(account.how, Precision::NotAttributable(_));
    let split: Vec<&Account> = accounts.iter().filter(could).copied().collect();
    let total = accounts.iter().find_map(|it| it.total.clone());
    if let Some(first) = split.first() {
        return Some(MetricAccount {
            collector: join(split.iter().map(|it| it.collector.as_str()), " and "),
            how: least_precise(&split).unwrap_or_else(|| first.how.clone()),
            lost: split.iter().map(|it| it.lost).sum(),
            total,
        });
    }
    let has_samples = profile.samples().iter().any(|it| it.metric == metric);
    if accounts.is_empty() && !has_samples {
        return None;
    }
    let reasons = accounts.iter().filter_map(|account| match &account.how {
        Precision::NotAttributable(why) => Some(why.as_str()),
        Precision::Exact | Precision::Sampled(_) => None,
    });
    let why = if accounts.is_empty() {
        "its collector did not report how it was measured".to_owned()
    } else {
        join(reasons, "; ")
    };
    Some(MetricAccount {
        collector: join(accounts.iter().map(|it| it.collector.as_str()), " and "),
        how: Precision::NotAttributable(why),
        lost: accounts.iter().map(|it| it.lost).sum(),
        total,
    })
}

fn least_precise(accounts: &[&Account]) -> Option<Precision> {
    accounts.iter().find(|it| it.how != Precision::Exact).map(|account| account.how.clone())
}

/// Joins distinct texts in order.
fn join<'a>(texts: impl Iterator<Item = &'a str>, between: &str) -> String {
    let mut once: Vec<&str> = Vec::new();
    for text in texts {
        if !once.contains(&text) {
            once.push(text);
        }
    }
    once.join(between)
}
