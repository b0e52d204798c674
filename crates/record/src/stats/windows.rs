//! What consecutive windows of a measurement say together: an interval for their mean, a warm-up, outliers.
//!
//! 1. Neighbouring windows are alike: a checkpoint or a busy neighbour lasts longer than one of them. They
//!    are joined into blocks until neighbouring blocks are no longer correlated, and only blocks are
//!    resampled.
//! 2. With fewer than [`BLOCKS_LEAST`] such blocks there is no interval.
//! 3. Nothing is dropped: outliers and a warm-up are named, and every window is in the mean.
//! 4. Resampling has a fixed seed, so that a record always gives the same interval.

use super::summary::median;
use crate::Range;
use fastrand::Rng;

/// The fewest blocks, or repetitions, that an interval is computed from.
pub const BLOCKS_LEAST: usize = 8;

/// The fewest repetitions that an interval is computed from: each is a measurement of its own.
pub const REPETITIONS_LEAST: usize = 5;

const RESAMPLES: usize = 2_000;
const SEED: u64 = 0x5eed;

/// Scaled median deviations from the median beyond which a window is an outlier, if it is also farther from
/// it than [`OUTLIER_SHARE`] of it.
const OUTLIER_DEVIATIONS: f64 = 5.0;
const OUTLIER_SHARE: f64 = 0.1;

/// The factor by which the median deviation of a normal distribution is its standard deviation.
const SCALE: f64 = 1.4826;

/// The least difference of a warm-up's mean from that of the rest, as a share.
const WARM_UP_SHARE: f64 = 0.05;

/// The fewest windows in which a warm-up is looked for.
const WARM_UP_WINDOWS: usize = 10;

/// An interval for a mean, and what it was computed from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanInterval {
    /// The interval that covers the true mean in about 95 of 100 measurements.
    pub range: Range,
    /// Independent values: blocks of windows, or repetitions.
    pub blocks: usize,
    /// Windows in a block; 1 for repetitions.
    pub windows_per_block: usize,
}

/// The 95 % bootstrap interval for the mean of consecutive windows; `None` if fewer than [`BLOCKS_LEAST`]
/// blocks remain once neighbouring blocks are no longer correlated.
pub fn mean_interval(windows: &[f64]) -> Option<MeanInterval> {
    let mut windows_per_block = 1;
    // Once windows are joined, blocks of twice the length that passes the test: what remains of the
    // correlation is too weak to be seen in so few blocks, and would still narrow the interval.
    let mut longer = false;
    loop {
        let blocks: Vec<f64> = windows.chunks_exact(windows_per_block).map(mean).collect();
        if blocks.len() < BLOCKS_LEAST {
            return None;
        }
        // Of independent values, the correlation of neighbours exceeds this in one case of twenty.
        if correlation_of_neighbours(&blocks) <= 1.64 / (blocks.len() as f64).sqrt() {
            let can_double = blocks.len() >= 2 * BLOCKS_LEAST;
            if longer || windows_per_block == 1 || !can_double {
                let range = bootstrap(&blocks)?;
                return Some(MeanInterval { range, blocks: blocks.len(), windows_per_block });
            }
            longer = true;
        }
        windows_per_block *= 2;
    }
}

/// The same for repetitions, which are independent; `None` if there are fewer than [`REPETITIONS_LEAST`].
pub fn mean_interval_of_repetitions(rates: &[f64]) -> Option<MeanInterval> {
    if rates.len() < REPETITIONS_LEAST {
        return None;
    }
    Some(MeanInterval { range: bootstrap(rates)?, blocks: rates.len(), windows_per_block: 1 })
}

/// The bootstrap interval for the mean. Percentiles of few resampled values are too narrow; those taken here
/// are farther out by as much as Student's distribution is wider than the normal one (Hesterberg's expanded
/// percentile interval), which a single extreme value does not upset. `None` if a value is not finite.
fn bootstrap(values: &[f64]) -> Option<Range> {
    if !values.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut random = Rng::with_seed(SEED);
    let mut resample = vec![0.0; values.len()];
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            resample.fill_with(|| values[random.usize(..values.len())]);
            mean(&resample)
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let tail = expanded_tail(values.len());
    let at = |part: f64| means[((means.len() - 1) as f64 * part).round() as usize];
    Some(Range { least: at(tail), most: at(1.0 - tail) })
}

/// The part of resamples on each side of the interval for this number of values.
fn expanded_tail(count: usize) -> f64 {
    const Z: f64 = 1.959_964;
    let freedom = (count - 1) as f64;
    // Student's quantile from the normal one, by the first terms of its expansion.
    let student = Z
        + (Z.powi(3) + Z) / (4.0 * freedom)
        + (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / (96.0 * freedom.powi(2));
    normal_tail(student * (count as f64 / freedom).sqrt())
}

/// The part of a normal distribution beyond a positive distance, within one millionth (Abramowitz and Stegun,
/// 26.2.17).
fn normal_tail(distance: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * distance);
    let terms = [0.319_381_53, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let sum = terms.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    (-distance * distance / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * sum
}

/// How many windows at the start are a warm-up: the cut that leaves the smallest standard error of the rest
/// (the rule MSER of simulation), if the windows before it differ from the rest by more than noise. Zero if
/// there is none, or too few windows to tell.
pub fn warm_up(windows: &[f64]) -> usize {
    if windows.len() < WARM_UP_WINDOWS {
        return 0;
    }
    let score = |cut: usize| {
        let rest = &windows[cut..];
        squares(rest) / (rest.len() as f64).powi(2)
    };
    // A cut beyond the middle would leave too few windows to be compared with.
    let cuts = 0..=windows.len() / 2;
    let cut = cuts.min_by(|one, other| score(*one).total_cmp(&score(*other))).unwrap_or(0);
    if cut == 0 {
        return 0;
    }
    let (before, rest) = windows.split_at(cut);
    let difference = (mean(before) - mean(rest)).abs();
    let noise = 4.0 * (squares(rest) / (rest.len() - 1) as f64 / cut as f64).sqrt();
    let least = WARM_UP_SHARE * mean(rest).abs();
    // Most of a warm-up is unlike the rest; one outlier is no warm-up.
    let typical = median(before).zip(median(rest)).map_or(0.0, |(one, other)| (one - other).abs());
    if difference > noise && difference > least && typical > least { cut } else { 0 }
}

/// The windows that lie far outside the others, by their index.
pub fn outliers(windows: &[f64]) -> Vec<usize> {
    let Some(middle) = median(windows) else {
        return Vec::new();
    };
    let deviations: Vec<f64> = windows.iter().map(|value| (value - middle).abs()).collect();
    let typical = median(&deviations).unwrap_or(0.0) * SCALE;
    let limit = (OUTLIER_DEVIATIONS * typical).max(OUTLIER_SHARE * middle.abs());
    (0..windows.len()).filter(|index| deviations[*index] > limit).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let center = mean(values);
    values.iter().map(|value| (value - center).powi(2)).sum()
}

/// The correlation of each value with the next; zero if all are equal.
fn correlation_of_neighbours(values: &[f64]) -> f64 {
    let (center, all) = (mean(values), squares(values));
    if all == 0.0 {
        return 0.0;
    }
    let pairs = values.windows(2).map(|pair| (pair[0] - center) * (pair[1] - center));
    pairs.sum::<f64>() / all
}

#[cfg(test)]
mod tests {
    use super::{
        BLOCKS_LEAST, expanded_tail, mean_interval, mean_interval_of_repetitions, normal_tail,
        outliers, warm_up,
    };
    use fastrand::Rng;

    /// A normal value, by the sum of twelve uniform ones.
    fn normal(random: &mut Rng) -> f64 {
        (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
    }

    /// Windows around 1000, each of which keeps a part of the distance of the one before.
    fn windows(random: &mut Rng, count: usize, kept: f64) -> Vec<f64> {
        let mut distance = normal(random) * 50.0;
        let step = |_| {
            distance = kept * distance + (1.0 - kept * kept).sqrt() * normal(random) * 50.0;
            1_000.0 + distance
        };
        (0..count).map(step).collect()
    }

    /// How many of 300 intervals cover the true mean, and how many series had one.
    fn coverage(count: usize, kept: f64) -> (u32, u32) {
        let (mut covered, mut known) = (0, 0);
        for seed in 0..300 {
            let mut random = Rng::with_seed(seed);
            let windows = windows(&mut random, count, kept);
            if let Some(found) = mean_interval(&windows) {
                known += 1;
                covered += u32::from((found.range.least..=found.range.most).contains(&1_000.0));
            }
        }
        (covered, known)
    }

    #[test]
    fn the_interval_covers_the_mean_of_independent_windows_in_95_of_100_series() {
        for count in [8, 20, 60] {
            let (covered, known) = coverage(count, 0.0);
            let share = f64::from(covered) / f64::from(known);
            assert!((0.91..=0.98).contains(&share), "{count} windows: {covered} of {known}");
        }
    }

    #[test]
    fn correlated_windows_have_blocks_and_a_wider_interval() {
        let (covered, known) = coverage(240, 0.8);
        assert!(known > 260, "{known}");
        assert!(f64::from(covered) / f64::from(known) > 0.9, "{covered} of {known}");
        let wide = mean_interval(&windows(&mut Rng::with_seed(1), 240, 0.8)).unwrap();
        let narrow = mean_interval(&windows(&mut Rng::with_seed(1), 240, 0.0)).unwrap();
        let width = |range: crate::Range| range.most - range.least;
        assert!(wide.windows_per_block > 1 && narrow.windows_per_block == 1);
        assert!(width(wide.range) > 2.0 * width(narrow.range));
    }

    #[test]
    fn too_few_windows_or_repetitions_have_no_interval() {
        assert_eq!(mean_interval(&[1.0; BLOCKS_LEAST - 1]), None);
        assert_eq!(mean_interval(&[]), None);
        assert_eq!(mean_interval_of_repetitions(&[1.0, 2.0, 3.0, 4.0]), None);
        let drifting: Vec<f64> = (0..30).map(f64::from).collect();
        assert_eq!(mean_interval(&drifting), None, "a trend has no independent blocks");
        assert_eq!(mean_interval(&[f64::NAN; 20]), None);
    }

    #[test]
    fn equal_windows_have_an_interval_of_one_value() {
        let found = mean_interval(&[7.0; 20]).unwrap();
        assert_eq!((found.range.least, found.range.most), (7.0, 7.0));
    }

    #[test]
    fn tails_are_those_of_the_tables() {
        for (distance, tail) in [(1.0, 0.158_655), (1.959_964, 0.025), (3.0, 0.001_35)] {
            assert!((normal_tail(distance) - tail).abs() < 1e-6, "{distance}");
        }
        // Student's quantile for 9 degrees of freedom is 2.262.
        let expected = normal_tail(2.262 * (10.0_f64 / 9.0).sqrt());
        assert!((expanded_tail(10) - expected).abs() < 2e-4);
    }

    #[test]
    fn one_extreme_window_widens_the_interval_within_bounds() {
        let mut values = windows(&mut Rng::with_seed(3), 30, 0.0);
        values[12] = 0.0;
        let range = mean_interval(&values).unwrap().range;
        assert!((850.0..960.0).contains(&range.least) && range.most < 1_030.0, "{range:?}");
    }

    #[test]
    fn repetitions_have_an_interval_from_five_on() {
        let mut covered = 0;
        for seed in 0..300 {
            let mut random = Rng::with_seed(seed);
            let rates: Vec<f64> = (0..6).map(|_| 1_000.0 + 50.0 * normal(&mut random)).collect();
            let range = mean_interval_of_repetitions(&rates).unwrap().range;
            covered += u32::from((range.least..=range.most).contains(&1_000.0));
        }
        // For so few values 92 of 100 instead of 95.
        assert!((265..=290).contains(&covered), "{covered} of 300");
    }

    #[test]
    fn a_warm_up_is_found_where_it_ends_and_noise_has_none() {
        let (mut found, mut wrong) = (0, 0);
        for seed in 0..300 {
            let mut random = Rng::with_seed(seed);
            let steady = windows(&mut random, 60, 0.3);
            wrong += u32::from(warm_up(&steady) > 0);
            let mut rising = steady;
            for (window, value) in rising.iter_mut().take(10).enumerate() {
                *value *= 0.5 + 0.05 * window as f64;
            }
            // Its last windows are within the noise.
            found += u32::from((6..=14).contains(&warm_up(&rising)));
        }
        assert!(found >= 260 && wrong <= 12, "{found} found of 300, {wrong} in noise");
        assert_eq!(warm_up(&[1.0, 9.0, 9.0]), 0, "too few to tell");
        let mut stalled = vec![100.0; 30];
        stalled[12] = 1.0;
        assert_eq!(warm_up(&stalled), 0, "one outlier is no warm-up");
    }

    #[test]
    fn windows_far_outside_the_others_are_outliers() {
        let mut values = windows(&mut Rng::with_seed(3), 40, 0.0);
        assert_eq!(outliers(&values), Vec::<usize>::new());
        values[7] = 100.0;
        values[20] = 2_500.0;
        assert_eq!(outliers(&values), [7, 20]);
        assert_eq!(outliers(&[1_000.0, 1_001.0, 1_000.0, 1_050.0]), Vec::<usize>::new());
        assert_eq!(outliers(&[]), Vec::<usize>::new());
    }
}
