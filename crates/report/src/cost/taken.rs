//! How each metric was taken, or why it is missing and what opens the way.

use super::words;
use crate::record::{Cost, MetricCost};
use crate::units;
use syncline_profile::Metric;

/// Metrics that were taken alike.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Taken {
    /// In words.
    pub(crate) metrics: Vec<String>,
    /// Exact, at which distance, or why not.
    pub(crate) how: String,
    /// Who took them.
    pub(crate) collector: String,
    /// How many looks it rests on, where it was sampled.
    pub(crate) looks: Option<u64>,
    /// Looks or events that were lost.
    pub(crate) lost: u64,
    /// True if they could be split by module.
    pub(crate) split: bool,
}

/// Every account, those that are alike as one.
pub(crate) fn taken(cost: &Cost) -> Vec<Taken> {
    let mut all: Vec<Taken> = Vec::new();
    for metric in &cost.metrics {
        let one = of(metric);
        let like = |known: &&mut Taken| {
            known.how == one.how && known.collector == one.collector && known.split == one.split
        };
        match all.iter_mut().find(like) {
            Some(known) => {
                known.metrics.extend(one.metrics);
                known.looks = known.looks.zip(one.looks).map(|(all, looks)| all + looks);
                // One ring of looks serves several metrics: its losses are not added up.
                known.lost = known.lost.max(one.lost);
            }
            None => all.push(one),
        }
    }
    all
}

fn of(metric: &MetricCost) -> Taken {
    let how = match (metric.how.as_str(), &metric.detail) {
        ("sampled", Some(distance)) => format!("sampled, {distance}"),
        (_, Some(detail)) => detail.clone(),
        (word, None) => word.to_owned(),
    };
    Taken {
        metrics: vec![words(&metric.metric).to_owned() + &beside(metric)],
        how,
        collector: metric.collector.clone(),
        looks: (metric.how == "sampled")
            .then(|| metric.innermost.iter().map(|row| row.count).sum()),
        lost: metric.lost,
        split: metric.is_split(),
    }
}

/// What another count says beside what was split: " (98.2 % of /proc/7/stat)".
fn beside(metric: &MetricCost) -> String {
    let sum: u64 = metric.innermost.iter().map(|row| row.amount).sum();
    match &metric.total {
        Some(total) if metric.is_split() && total.amount > 0 => format!(
            " ({} of {})",
            units::percent(sum as f64 / total.amount as f64),
            total.source
        ),
        _ => String::new(),
    }
}

/// Metrics that no collector was asked for, in words.
pub(crate) fn not_asked(cost: &Cost) -> Vec<&'static str> {
    let known = |name: &str| cost.metrics.iter().any(|one| one.metric == name);
    let missing = Metric::ALL.into_iter().map(Metric::name);
    missing.filter(|name| !known(name)).map(words).collect()
}
