//! Percentiles of a histogram of nanoseconds, and its two modes if it has two.
//!
//! Two modes are reported if the distribution has two peaks with a valley between them: each peak has at
//! least 5 % of the values, the peaks differ by a factor of two or more, and the valley is lower than a
//! quarter of the smaller peak. Syncs that sometimes meet an empty and sometimes a busy device cache have
//! this distribution; its median alone would mislead.

use hdrhistogram::Histogram;
use syncline_instrument::Nanos;
use syncline_record::{Latency, Mode};

/// The fewest values for which modes are computed.
const FEWEST_VALUES: u64 = 40;

/// The smallest share of all values for a mode.
const SMALLEST_SHARE: f64 = 0.05;

/// The highest valley, as a share of the smaller peak.
const VALLEY: f64 = 0.25;

/// Bins per doubling of the latency.
const BINS_PER_DOUBLING: f64 = 4.0;

/// An empty histogram: 1 ns to one hour, three digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("the bounds are constant and valid")
}

/// The percentiles; `None` if nothing was recorded.
pub(crate) fn latency(histogram: &Histogram<u64>) -> Option<Latency> {
    (!histogram.is_empty()).then(|| Latency {
        p50: histogram.value_at_quantile(0.5),
        p90: histogram.value_at_quantile(0.9),
        p99: histogram.value_at_quantile(0.99),
        p999: histogram.value_at_quantile(0.999),
        max: histogram.max(),
        mean: histogram.mean(),
    })
}

/// The two modes; `None` if there are not two.
pub(crate) fn two_modes(histogram: &Histogram<u64>) -> Option<[Mode; 2]> {
    if histogram.len() < FEWEST_VALUES {
        return None;
    }
    let heights = smooth(&bins(histogram));
    let (low, high) = two_summits(&heights)?;
    let valley = (low..=high).min_by(|a, b| heights[*a].total_cmp(&heights[*b]))?;
    let border = value_of_bin(valley);
    let below = histogram.count_between(0, border.saturating_sub(1));
    let share = below as f64 / histogram.len() as f64;
    let far = high - low >= BINS_PER_DOUBLING as usize;
    let both_are_modes = (SMALLEST_SHARE..=1.0 - SMALLEST_SHARE).contains(&share);
    if !far || !both_are_modes {
        return None;
    }
    // The median of each mode is a quantile of the whole.
    let low = Mode { share, typical_ns: histogram.value_at_quantile(share / 2.0) };
    let middle_of_high = share + (1.0 - share) / 2.0;
    let high = Mode { share: 1.0 - share, typical_ns: histogram.value_at_quantile(middle_of_high) };
    Some([low, high])
}

/// The counts by quarter of a doubling, from 1 ns.
fn bins(histogram: &Histogram<u64>) -> Vec<f64> {
    let mut bins = vec![0.0; bin_of_value(histogram.max()) + 2];
    for step in histogram.iter_recorded() {
        bins[bin_of_value(step.value_iterated_to())] += step.count_since_last_iteration() as f64;
    }
    bins
}

fn bin_of_value(value_ns: Nanos) -> usize {
    ((value_ns.max(1) as f64).log2() * BINS_PER_DOUBLING) as usize
}

fn value_of_bin(bin: usize) -> Nanos {
    (bin as f64 / BINS_PER_DOUBLING).exp2() as Nanos
}

/// A weighted mean over three bins, so that single bins are not peaks.
fn smooth(bins: &[f64]) -> Vec<f64> {
    let at = |index: Option<usize>| index.and_then(|index| bins.get(index)).copied().unwrap_or(0.0);
    let smoothed = |index: usize| {
        let neighbours = at(index.checked_sub(1)) + at(Some(index + 1));
        neighbours / 4.0 + at(Some(index)) / 2.0
    };
    (0..bins.len()).map(smoothed).collect()
}

/// The highest bin and the highest other one across a deep enough valley, in order.
fn two_summits(heights: &[f64]) -> Option<(usize, usize)> {
    let highest = |a: &usize, b: &usize| heights[*a].total_cmp(&heights[*b]);
    let first = (0..heights.len()).max_by(highest)?;
    let deep = |second: usize| {
        let between = if second < first { second..=first } else { first..=second };
        let valley = between.map(|bin| heights[bin]).fold(f64::INFINITY, f64::min);
        valley < VALLEY * heights[second]
    };
    let second = (0..heights.len()).filter(|bin| *bin != first && deep(*bin)).max_by(highest)?;
    Some((first.min(second), first.max(second)))
}

#[cfg(test)]
mod tests {
    use super::{histogram, latency, two_modes};

    fn recorded(values: impl IntoIterator<Item = u64>) -> hdrhistogram::Histogram<u64> {
        let mut histogram = histogram();
        for value in values {
            histogram.record(value).unwrap();
        }
        histogram
    }

    /// Values spread log-normally around the centre by a factor of about 1.2.
    fn around(centre_ns: f64, count: usize, seed: u64) -> impl Iterator<Item = u64> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count).map(move |_| {
            let sum: f64 = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
            (centre_ns * (0.2 * sum).exp()) as u64
        })
    }

    #[test]
    fn one_mode_is_not_two() {
        for seed in 0..50 {
            for count in [60, 300, 5_000] {
                let modes = two_modes(&recorded(around(90_000.0, count, seed)));
                assert_eq!(modes, None, "seed {seed}, {count} values");
            }
        }
    }

    #[test]
    fn two_modes_have_their_share_and_typical_value() {
        let values = around(77_000.0, 7_000, 1).chain(around(3_900_000.0, 3_000, 2));
        let [low, high] = two_modes(&recorded(values)).unwrap();
        assert!((low.share - 0.7).abs() < 0.01 && (high.share - 0.3).abs() < 0.01);
        assert!((70_000..85_000).contains(&low.typical_ns), "{low:?}");
        assert!((3_500_000..4_300_000).contains(&high.typical_ns), "{high:?}");
    }

    #[test]
    fn a_few_outliers_are_not_a_mode() {
        let values = around(80_000.0, 5_000, 3).chain(around(5_000_000.0, 100, 4));
        assert_eq!(two_modes(&recorded(values)), None);
    }

    #[test]
    fn percentiles_are_ordered_and_nothing_has_no_latency() {
        let measured = latency(&recorded(1..=100_000)).unwrap();
        assert!((49_000..51_000).contains(&measured.p50));
        assert!(
            measured.p50 < measured.p90
                && measured.p90 < measured.p99
                && measured.p99 < measured.p999
        );
        assert!(measured.p999 <= measured.max && measured.max >= 100_000);
        assert_eq!(latency(&histogram()), None);
    }
}
