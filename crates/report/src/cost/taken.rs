//! How each metric was taken, or why it is missing and what opens the way.

use super::words;
use crate::record::{Cost, MetricCost, is_derived};
use crate::units;
use syncline_profile::Metric;

/// Metrics that were taken alike.
#[derive(Clone, Debug, PartialEq)]
struct Taken {
    /// In words.
    metrics: Vec<String>,
    /// Exact, at which distance, or why not.
    how: String,
    /// Who took them.
    collector: String,
    /// How many looks it rests on, where it was sampled.
    looks: Option<u64>,
    /// Looks or events that were lost.
    lost: u64,
    /// True if they could be split by module.
    split: bool,
}

/// A sentence for each way of taking, and one for what nobody looks at.
pub(crate) fn accounts_in_words(cost: &Cost) -> Vec<String> {
    let mut sentences: Vec<String> = taken(cost).iter().map(sentence).collect();
    let missing = not_asked(cost);
    if !missing.is_empty() {
        sentences.push(format!(
            "no collector here looks at: {}",
            missing.join(", ")
        ));
    }
    sentences
}

fn sentence(one: &Taken) -> String {
    let metrics = one.metrics.join(", ");
    let looks = one
        .looks
        .map_or_else(String::new, |looks| format!("; {looks} looks"));
    if one.split {
        format!(
            "{metrics}: {}, {}{looks}; {} lost",
            one.how,
            if is_derived(&one.collector) {
                one.collector.clone()
            } else {
                format!("by {}", one.collector)
            },
            one.lost
        )
    } else {
        format!(
            "{metrics}: not attributable by {}: {}",
            one.collector, one.how
        )
    }
}

/// Every account, those that are alike as one.
fn taken(cost: &Cost) -> Vec<Taken> {
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
        looks: (metric.how == "sampled" && !is_derived(&metric.collector))
            .then(|| metric.innermost.iter().map(|row| row.count).sum()),
        lost: metric.lost,
        split: metric.is_split(),
    }
}

/// A count that saw less than this share of what was sampled misses most of it: threads that ended.
const MISSES: f64 = 0.8;

/// What another count says beside what was split: " (98.2 % of utime in /proc/PID/stat)".
fn beside(metric: &MetricCost) -> String {
    let sum: u64 = metric.innermost.iter().map(|row| row.amount).sum();
    let Some(total) = metric.total.as_ref().filter(|total| total.amount > 0) else {
        return String::new();
    };
    if !metric.is_split() || sum == 0 {
        return String::new();
    }
    let seen = total.amount as f64 / sum as f64;
    if seen < MISSES {
        format!(
            " ({} misses most: {} of it)",
            total.source,
            units::percent(seen)
        )
    } else {
        format!(" ({} of {})", units::percent(1.0 / seen), total.source)
    }
}

/// Metrics that no collector was asked for, in words.
fn not_asked(cost: &Cost) -> Vec<&'static str> {
    let known = |name: &str| cost.metrics.iter().any(|one| one.metric == name);
    let missing = Metric::ALL.into_iter().map(Metric::name);
    missing.filter(|name| !known(name)).map(words).collect()
}
