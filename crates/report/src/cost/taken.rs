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

/// Ticks that say more than this much of what was looked at disagree with it.
const TICKS_AGREE: f64 = 1.1;

/// What is known of such ticks: measured, see "Totals" in `docs/metering.md`.
const TICKS_ERR: &str = "; where threads switch often, ticks put part of the kernel's time there";

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
        let source = &total.source;
        let doubt = if total_is_doubtful(metric, seen) {
            TICKS_ERR
        } else {
            ""
        };
        format!(" ({} of {source}{doubt})", units::percent(1.0 / seen))
    }
}

/// True where ticks say so much more of a program's time than the looks that they likely are wrong.
fn total_is_doubtful(metric: &MetricCost, seen: f64) -> bool {
    let by_ticks = metric.total.as_ref();
    let by_ticks = by_ticks.is_some_and(|total| total.source.starts_with("utime "));
    metric.metric == Metric::CpuUser.name() && by_ticks && seen > TICKS_AGREE
}

/// Metrics that no collector was asked for, in words.
fn not_asked(cost: &Cost) -> Vec<&'static str> {
    let known = |name: &str| cost.metrics.iter().any(|one| one.metric == name);
    let missing = Metric::ALL.into_iter().map(Metric::name);
    missing.filter(|name| !known(name)).map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::{TICKS_ERR, beside};
    use crate::record::{CostRow, CostTotal, MetricCost};

    fn metric(name: &str, looked: u64, counted: u64, source: &str) -> MetricCost {
        MetricCost {
            metric: name.to_owned(),
            unit: "ns".to_owned(),
            collector: "cpu by perf events".to_owned(),
            how: "sampled".to_owned(),
            detail: None,
            lost: 0,
            total: Some(CostTotal {
                amount: counted,
                per_transaction: None,
                source: source.to_owned(),
            }),
            guessed: 0,
            innermost: vec![CostRow {
                threads: "client".to_owned(),
                module: None,
                amount: looked,
                count: 1,
                per_transaction: None,
                share: None,
                share_range: None,
            }],
            on_behalf_of: Vec::new(),
            lengths: None,
        }
    }

    #[test]
    fn ticks_that_say_much_more_than_the_looks_are_doubted() {
        let utime = "utime in /proc/PID/stat, in ticks";
        let said = |name, looked, source| beside(&metric(name, looked, 1_000, source));
        assert_eq!(
            said("cpu_user", 950, utime),
            format!(" (95.0 % of {utime})")
        );
        let doubted = said("cpu_user", 820, utime);
        assert_eq!(doubted, format!(" (82.0 % of {utime}{TICKS_ERR})"));
        assert!(!said("cpu_kernel", 820, utime).contains(TICKS_ERR));
        assert!(!said("cpu_user", 820, "the JVM's own count").contains(TICKS_ERR));
        assert!(said("cpu_user", 1_500, utime).contains("misses most"));
    }
}
