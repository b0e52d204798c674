//! How each metric was measured, or why it is missing and what would make it available.

use super::words;
use syncline_profile::{ATTRIBUTED, Metric};
use syncline_record::units;
use syncline_record::{Cost, MetricCost, is_derived};

/// Metrics that were measured in the same way.
#[derive(Clone, Debug, PartialEq)]
struct Provenance {
    /// Their readable names.
    metrics: Vec<String>,
    /// Exact, the distance between samples, or why they could not be split.
    how: String,
    /// The collector.
    collector: String,
    /// The largest error of a share, in percentage points, if the stacks were sampled separately.
    error: Option<f64>,
    /// The number of samples, if it was sampled.
    samples: Option<u64>,
    /// Samples or events that were lost.
    lost: u64,
    /// True if they could be split by module.
    split: bool,
}

/// A sentence for each measurement method, and one for the metrics that no collector measured.
pub(crate) fn accounts_in_words(cost: &Cost) -> Vec<String> {
    let mut sentences: Vec<String> = by_method(&cost.metrics).iter().map(sentence).collect();
    let missing = not_requested(cost);
    if !missing.is_empty() {
        sentences.push(format!("not measured by any collector here: {}", missing.join(", ")));
    }
    sentences
}

fn sentence(one: &Provenance) -> String {
    let metrics = one.metrics.join(", ");
    let samples = one
        .samples
        .map_or_else(String::new, |samples| format!("; {}", units::plural(samples, "sample")));
    let error = one.error.map_or_else(String::new, |error| {
        format!("; attribution by sampled stacks, +-{error:.1} points (95 %)")
    });
    if one.split {
        format!(
            "{metrics}: {}, {}{samples}{error}; {} lost",
            one.how,
            if is_derived(&one.collector) {
                one.collector.clone()
            } else {
                format!("by {}", one.collector)
            },
            one.lost
        )
    } else {
        format!("{metrics}: not attributable by {}: {}", one.collector, one.how)
    }
}

/// The metrics grouped by how they were measured.
fn by_method(metrics: &[MetricCost]) -> Vec<Provenance> {
    let mut all: Vec<Provenance> = Vec::new();
    for metric in metrics {
        let one = of(metric);
        let like = |known: &&mut Provenance| {
            known.how == one.how && known.collector == one.collector && known.split == one.split
        };
        match all.iter_mut().find(like) {
            Some(known) => {
                known.metrics.extend(one.metrics);
                known.error = match (known.error, one.error) {
                    (Some(known), Some(error)) => Some(known.max(error)),
                    (known, error) => known.or(error),
                };
                known.samples = known.samples.zip(one.samples).map(|(all, more)| all + more);
                // One ring of samples serves several metrics: its losses are not added up.
                known.lost = known.lost.max(one.lost);
            }
            None => all.push(one),
        }
    }
    all
}

/// The words before the quantity to which a metric sampled in windows was scaled.
const SCALED: &str = "; scaled to ";

fn of(metric: &MetricCost) -> Provenance {
    let (collector, error) = match metric.collector.split_once(ATTRIBUTED) {
        Some((name, error)) => (name, error.split(' ').next().and_then(|it| it.parse().ok())),
        None => (metric.collector.as_str(), None),
    };
    let how = match (metric.how.as_str(), &metric.detail) {
        ("sampled", Some(distance)) => format!("sampled, {distance}"),
        (_, Some(detail)) => detail.clone(),
        (word, None) => word.to_owned(),
    };
    // The scaling differs from metric to metric; the sampling windows do not.
    let (how, scaled) = match how.split_once(SCALED) {
        Some((how, scaled)) => (how.to_owned(), format!(" (scaled to {scaled})")),
        None => (how, String::new()),
    };
    Provenance {
        metrics: vec![words(&metric.metric).to_owned() + &scaled + &comparison_with_total(metric)],
        how,
        collector: collector.to_owned(),
        error,
        samples: (metric.how == "sampled" && !is_derived(&metric.collector))
            .then(|| metric.innermost.iter().map(|row| row.count).sum()),
        lost: metric.lost,
        split: metric.is_split(),
    }
}

/// A total below this share of the sampled amount misses a part of it, such as threads that ended.
const MISSES: f64 = 0.8;

/// Totals by ticks above this multiple of the sampled amount disagree with it.
const TICKS_AGREE: f64 = 1.1;

/// Why such ticks are too high: measured, see "Totals" in `docs/metering.md`.
const TICKS_ERR: &str = "; where threads switch often, ticks put part of the kernel's time there";

/// The split amount compared with the total by another count: " (98.2 % of utime in /proc/PID/stat)".
fn comparison_with_total(metric: &MetricCost) -> String {
    let sum: u64 = metric.innermost.iter().map(|row| row.amount).sum();
    let Some(total) = metric.total.as_ref().filter(|total| total.amount > 0) else {
        return String::new();
    };
    if !metric.is_split() || sum == 0 {
        return String::new();
    }
    let ratio = total.amount as f64 / sum as f64;
    if ratio < MISSES {
        format!(" ({} counts only {} of it)", total.source, units::percent(ratio))
    } else {
        let source = &total.source;
        let doubt = if total_is_doubtful(metric, ratio) { TICKS_ERR } else { "" };
        format!(" ({} of {source}{doubt})", units::percent(1.0 / ratio))
    }
}

/// True if ticks count so much more of a program's time than the samples that they are likely wrong.
fn total_is_doubtful(metric: &MetricCost, ratio: f64) -> bool {
    let by_ticks = metric.total.as_ref();
    let by_ticks = by_ticks.is_some_and(|total| total.source.starts_with("utime "));
    metric.metric == Metric::CpuUser.name() && by_ticks && ratio > TICKS_AGREE
}

/// The readable names of metrics that no collector was asked to measure.
fn not_requested(cost: &Cost) -> Vec<&'static str> {
    let known = |name: &str| cost.metrics.iter().any(|one| one.metric == name);
    let missing = Metric::ALL.into_iter().map(Metric::name);
    missing.filter(|name| !known(name)).map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::{TICKS_ERR, by_method, comparison_with_total, of, sentence};
    use syncline_record::{CostRow, CostTotal, MetricCost};

    fn metric(name: &str, sampled: u64, counted: u64, source: &str) -> MetricCost {
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
                amount: sampled,
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
    fn ticks_far_above_the_samples_are_marked_as_doubtful() {
        let utime = "utime in /proc/PID/stat, in ticks";
        let text =
            |name, sampled, source| comparison_with_total(&metric(name, sampled, 1_000, source));
        assert_eq!(text("cpu_user", 950, utime), format!(" (95.0 % of {utime})"));
        let doubted = text("cpu_user", 820, utime);
        assert_eq!(doubted, format!(" (82.0 % of {utime}{TICKS_ERR})"));
        assert!(!text("cpu_kernel", 820, utime).contains(TICKS_ERR));
        assert!(!text("cpu_user", 820, "the JVM's own count").contains(TICKS_ERR));
        assert!(text("cpu_user", 1_500, utime).contains("counts only"));
    }

    /// 2.7 of the users' page: 60 lines repeated one sentence.
    #[test]
    fn metrics_taken_in_the_same_windows_share_one_sentence() {
        let windows = "in 24 windows of 80 ms, 20.0 % of the time, since its programs used 2.4 % CPU of the machine";
        let by_bpf = |name: &str, scaled: &str, error: &str| MetricCost {
            collector: format!(
                "bpf: attribution by sampled stacks, +-{error} points (95 %; 0.0 % had \
                                several stacks; 900 stack copies, 0 lost)"
            ),
            detail: Some(format!("{windows}; scaled to {scaled}")),
            ..metric(name, 1_000, 0, "")
        };
        let methods = by_method(&[
            by_bpf("off_cpu", "the length of all of it", "6.2"),
            by_bpf("system_calls", "the commits of all of it", "4.0"),
        ]);
        let [one] = &methods[..] else {
            panic!("{methods:?}");
        };
        let text = sentence(one);
        assert_eq!(text.matches("24 windows").count(), 1, "{text}");
        assert_eq!(
            text.matches("attribution by sampled stacks, +-6.2 points (95 %)").count(),
            1,
            "{text}"
        );
        assert!(text.contains("system calls (scaled to the commits of all of it)"), "{text}");
        assert_eq!(of(&metric("off_cpu", 1, 0, "")).error, None);
    }
}
