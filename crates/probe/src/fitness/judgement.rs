//! Limits against windows: pure functions over histograms.
//!
//! 1. A limit on p99 at L asks whether more than 1 % of the operations take longer than L. A directory
//!    misses it if the count in any window, or in all of them together, shows that with a chance of error of
//!    2.5 %; it meets it if all together show the opposite and no window shows a miss. Otherwise the word is
//!    "not known".
//! 2. A limit on the mean or on the rate is compared with the worst window.
//! 3. Of a recommendation the word is the same, but it makes nothing unfit.

use super::product::Threshold;
use super::windows::Window;
use crate::measure::pooled;
use hdrhistogram::Histogram;
use syncline_record::FitnessThreshold;
use syncline_record::stats::{ShareSide, compare_share};
use syncline_record::units;

/// The words of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Word {
    /// Meets it.
    Fit,
    /// The samples do not decide.
    NotKnown,
    /// Misses it.
    Unfit,
}

impl Word {
    /// As it is saved and printed.
    pub(super) fn name(self) -> &'static str {
        match self {
            Word::Fit => "fit",
            Word::NotKnown => "not known",
            Word::Unfit => "unfit",
        }
    }
}

/// The share of operations that may take longer than a limit on p99.
const ALLOWED_OF_P99: f64 = 0.01;

/// Operations per second of a window.
pub(super) fn rate(window: &Window) -> f64 {
    window.figures.histogram.len() as f64 * 1e9 / window.figures.elapsed_ns.max(1) as f64
}

/// The index of the window with the most operations above the limit or, without a limit, the highest p99;
/// `None` without windows. Of a rate it is the window with the lowest.
pub(super) fn worst(windows: &[Window], threshold: Option<&Threshold>) -> Option<usize> {
    let badness = |window: &Window| match threshold {
        Some(limit) if limit.statistic == "mean" => window.figures.histogram.mean(),
        Some(limit) if limit.statistic == "rate" => -rate(window),
        Some(limit) => share_above(&window.figures.histogram, limit_ns(limit)),
        None => 0.0,
    };
    let p99 = |window: &Window| window.figures.histogram.value_at_quantile(0.99);
    (0..windows.len()).max_by(|&a, &b| {
        let (one, other) = (&windows[a], &windows[b]);
        badness(one).total_cmp(&badness(other)).then(p99(one).cmp(&p99(other))).then(b.cmp(&a))
    })
}

/// The limit and the verdict on it.
pub(super) fn judge(threshold: &Threshold, windows: &[Window]) -> (Word, FitnessThreshold) {
    let found = worst(windows, Some(threshold)).map(|index| &windows[index]);
    let (word, measured, above, reason) = match found {
        None => (Word::NotKnown, None, None, "nothing was measured".to_owned()),
        Some(worst) => match threshold.statistic.as_str() {
            "mean" => judge_mean(threshold, worst),
            "rate" => judge_rate(threshold, worst),
            _ => judge_p99(threshold, windows, worst),
        },
    };
    let judged = FitnessThreshold {
        statistic: threshold.statistic.clone(),
        value: threshold.value,
        unit: threshold.unit.clone(),
        required: threshold.required,
        source: threshold.source.clone(),
        measured,
        above,
        word: word.name().to_owned(),
        reason,
    };
    (word, judged)
}

type Judged = (Word, Option<f64>, Option<u64>, String);

fn judge_p99(threshold: &Threshold, windows: &[Window], worst: &Window) -> Judged {
    let limit_ns = limit_ns(threshold);
    let limit = limit_in_words(threshold);
    let all = pooled(windows.iter().map(|window| &window.figures.histogram));
    let side = |histogram: &Histogram<u64>| {
        compare_share(count_above(histogram, limit_ns), histogram.len(), ALLOWED_OF_P99)
    };
    let missed = windows.iter().filter(|w| side(&w.figures.histogram) == ShareSide::Above).count();
    let (above, samples) = (count_above(&all, limit_ns), all.len());
    let of_all = format!("{above} of {samples} took longer than {limit}");
    let (word, reason) = match (missed, side(&all)) {
        (0, ShareSide::Below) => (Word::Fit, format!("{of_all}, where 1 % may")),
        (0, ShareSide::Undecided) => (
            Word::NotKnown,
            format!(
                "{of_all}, which does not show whether more than 1 % do; a longer --duration decides it"
            ),
        ),
        (0, ShareSide::Above) => (Word::Unfit, format!("{of_all}, where 1 % may")),
        (missed, _) => {
            let histogram = &worst.figures.histogram;
            let (above, samples) = (count_above(histogram, limit_ns), histogram.len());
            let reason = format!(
                "in {missed} of {} windows more than 1 % took longer than {limit}, in the worst {above} of \
                 {samples}",
                windows.len()
            );
            (Word::Unfit, reason)
        }
    };
    let resolved = super::resolved(&worst.figures.histogram).p99;
    let measured = resolved.map(|ns| ns as f64 / unit_ns(threshold));
    (word, measured, Some(above), reason)
}

fn judge_mean(threshold: &Threshold, worst: &Window) -> Judged {
    let mean_ns = worst.figures.histogram.mean();
    let above = count_above(&worst.figures.histogram, limit_ns(threshold));
    let word = if mean_ns <= limit_ns(threshold) as f64 { Word::Fit } else { Word::Unfit };
    let relation = if word == Word::Fit { "not above" } else { "above" };
    let reason = format!(
        "the mean of the worst window, {}, is {relation} {}",
        units::span(mean_ns),
        limit_in_words(threshold)
    );
    (word, Some(mean_ns / unit_ns(threshold)), Some(above), reason)
}

fn judge_rate(threshold: &Threshold, worst: &Window) -> Judged {
    let rate = rate(worst);
    let word = if rate >= threshold.value { Word::Fit } else { Word::Unfit };
    let relation = if word == Word::Fit { "not below" } else { "below" };
    let reason = format!(
        "the worst window's {} are {relation} {}",
        units::rate(rate),
        units::rate(threshold.value)
    );
    (word, Some(rate), None, reason)
}

/// Values above the limit.
pub(super) fn count_above(histogram: &Histogram<u64>, limit_ns: u64) -> u64 {
    histogram.len() - histogram.count_between(0, limit_ns)
}

fn share_above(histogram: &Histogram<u64>, limit_ns: u64) -> f64 {
    count_above(histogram, limit_ns) as f64 / histogram.len().max(1) as f64
}

fn unit_ns(threshold: &Threshold) -> f64 {
    if threshold.unit == "us" { 1e3 } else { 1e6 }
}

fn limit_ns(threshold: &Threshold) -> u64 {
    (threshold.value * unit_ns(threshold)) as u64
}

fn limit_in_words(threshold: &Threshold) -> String {
    format!("{} {}", threshold.value, threshold.unit)
}
