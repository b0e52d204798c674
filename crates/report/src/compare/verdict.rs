//! The statistics of a comparison: the verdict on one figure of two records.
//!
//! 1. A verdict needs five repetitions a side or five windows of a second a side; with less the figure is too
//!    short to judge.
//! 2. Repetitions are judged by their ranks: the verdict is "slower" if equal settings would lie that far
//!    apart, in that direction, with a probability of at most [`CHANCE_MOST`], and if the medians differ by
//!    [`LEAST_EFFECT`].
//! 3. Fewer repetitions are judged by their windows, in blocks: the medians of five successive parts of the
//!    measured time, so that one slow second decides nothing and drift shows. The verdict is "slower" if the
//!    ranges of the blocks do not overlap and the medians differ by [`LEAST_EFFECT_OF_ONE`]. These ranges do
//!    not include the variation between runs, so the least effect is larger.
//! 4. The part of the processors that other processes and the hypervisor used during a single run is added to
//!    its least effect, from the load on at which a run warns of it: they may have caused a difference of
//!    that size.
//! 5. A probe measures its line in as few as three windows; with fewer than five, only a difference of
//!    [`LEAST_EFFECT_OF_PROBES`] counts, which is how far a line may move without a warning.
//! 6. A figure without windows, of which a record holds one value per repetition, is judged by repetitions
//!    or not at all.
//!
//! Pure functions over figures.

use super::comparison::{Spread, Unit, Verdict};
use super::rank_test::{inversions_most, rank_test_p_value};
use syncline_record::{Range, stats};

/// With this many repetitions a side, repetitions are judged instead of windows.
pub(super) const REPETITIONS_LEAST: usize = 5;
/// With fewer windows a side nothing is judged; also the number of blocks.
pub(super) const WINDOWS_LEAST: usize = 5;
/// The least difference of medians that counts, between repetitions.
pub(super) const LEAST_EFFECT: f64 = 0.03;
/// The same of what is counted per commit, which other load on the machine hardly changes.
pub(super) const LEAST_EFFECT_OF_COUNTS: f64 = 0.01;
/// The same between single runs.
pub(super) const LEAST_EFFECT_OF_ONE: f64 = 0.05;
/// The same between probes of fewer than five windows.
pub(super) const LEAST_EFFECT_OF_PROBES: f64 = 0.2;
/// With fewer windows a side no probe is judged.
const WINDOWS_LEAST_OF_PROBES: usize = 3;
/// The highest probability of calling equal repetitions slower: of five a side, one pair may be out of order.
/// With 0.02 a gate on a busy machine failed twice in 40 comparisons of a program with itself.
pub(super) const CHANCE_MOST: f64 = 0.01;

/// The values of a figure on one side.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// Its value in each repetition.
    pub repetitions: Vec<f64>,
    /// Its value in each window of about a second, in order; `None` if the record has no windows of it.
    pub windows: Option<Vec<f64>>,
    /// The part of the processors that others used meanwhile.
    pub disturbance: f64,
}

impl Sample {
    /// The median and range of the figure, as the comparison judges it.
    pub(super) fn spread(&self, by: Basis) -> Option<Spread> {
        let windows = self.windows.as_deref().unwrap_or(&[]);
        let blocks = blocks(windows);
        let ranged = match by {
            Basis::Windows if !blocks.is_empty() => &*blocks,
            Basis::Windows if self.repetitions.len() < 2 && !windows.is_empty() => windows,
            Basis::ProbeWindows if !windows.is_empty() => windows,
            Basis::Windows | Basis::ProbeWindows | Basis::Repetitions => &*self.repetitions,
        };
        let range = stats::range(ranged)?;
        let median = stats::median(&self.repetitions).or_else(|| stats::median(windows))?;
        // The whole run's figure may lie a little outside the range of its windows.
        let range = Range { least: range.least.min(median), most: range.most.max(median) };
        Some(Spread { median, range })
    }
}

/// The values by which figures are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// Whole repetitions.
    Repetitions,
    /// Windows within the runs.
    Windows,
    /// Windows within probes.
    ProbeWindows,
}

impl Basis {
    /// The basis for two records with these numbers of repetitions.
    pub(super) fn of(repetitions: [usize; 2]) -> Basis {
        if repetitions.iter().all(|count| *count >= REPETITIONS_LEAST) {
            Basis::Repetitions
        } else {
            Basis::Windows
        }
    }
}

/// The verdict on the second compared with the first.
pub(super) fn verdict(unit: Unit, by: Basis, first: &Sample, second: &Sample) -> Verdict {
    let Some(least) = least_effect(unit, by, first, second) else {
        return Verdict::NotJudged;
    };
    let windows = |side: &Sample| side.windows.clone().unwrap_or_default();
    let sides = [windows(first), windows(second)];
    match by {
        Basis::Repetitions => of_repetitions(unit, &first.repetitions, &second.repetitions, least),
        Basis::Windows => of_windows(unit, &sides.map(|side| blocks(&side)), least),
        Basis::ProbeWindows => of_probes(unit, &sides, least),
    }
}

/// The relative difference below which the two are not called different; `None` if they are not judged.
pub(super) fn least_effect(unit: Unit, by: Basis, first: &Sample, second: &Sample) -> Option<f64> {
    if first.repetitions.is_empty() || second.repetitions.is_empty() {
        return None;
    }
    let windows = first.windows.as_ref().zip(second.windows.as_ref());
    match by {
        Basis::Repetitions if matches!(unit, Unit::Count | Unit::Bytes) => {
            Some(LEAST_EFFECT_OF_COUNTS)
        }
        Basis::Repetitions => Some(LEAST_EFFECT),
        Basis::Windows => {
            windows.map(|_| LEAST_EFFECT_OF_ONE + first.disturbance.max(second.disturbance))
        }
        Basis::ProbeWindows => windows.map(|(first, second)| {
            if first.len().min(second.len()) < WINDOWS_LEAST {
                LEAST_EFFECT_OF_PROBES
            } else {
                LEAST_EFFECT_OF_ONE
            }
        }),
    }
}

/// The ratios B/A that the repetitions do not exclude: those by which B may be divided without the ranks
/// showing a difference, in either direction. `None` with too few repetitions, or if A is zero.
pub(super) fn ratio_interval(by: Basis, first: &Sample, second: &Sample) -> Option<Range> {
    let (first, second) = (&first.repetitions, &second.repetitions);
    let is_judged = by == Basis::Repetitions && first.len().min(second.len()) >= REPETITIONS_LEAST;
    if !is_judged || first.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let cut = inversions_most(first.len(), second.len(), CHANCE_MOST)?;
    let pairs = second.iter().flat_map(|b| first.iter().map(move |a| b / a));
    let mut ratios: Vec<f64> = pairs.collect();
    ratios.sort_by(f64::total_cmp);
    let (least, most) = (ratios.get(cut)?, ratios.get(ratios.len() - 1 - cut)?);
    (least <= most).then_some(Range { least: *least, most: *most })
}

fn of_repetitions(unit: Unit, first: &[f64], second: &[f64], least: f64) -> Verdict {
    if first.len().min(second.len()) < REPETITIONS_LEAST {
        return Verdict::TooShort;
    }
    let Some(change) = change(unit, first, second) else {
        return Verdict::NotJudged;
    };
    let (lower, higher) = if stats::median(second) < stats::median(first) {
        (second, first)
    } else {
        (first, second)
    };
    let by_chance = rank_test_p_value(lower, higher);
    judge(change, least, by_chance <= CHANCE_MOST)
}

fn of_probes(unit: Unit, windows: &[Vec<f64>; 2], least: f64) -> Verdict {
    if windows.iter().any(|side| side.len() < WINDOWS_LEAST_OF_PROBES) {
        return Verdict::TooShort;
    }
    let sides = [&windows[0], &windows[1]].map(|side| blocks(side));
    let too_few_for_blocks = sides.iter().any(Vec::is_empty);
    of_windows(unit, if too_few_for_blocks { windows } else { &sides }, least)
}

fn of_windows(unit: Unit, sides: &[Vec<f64>; 2], least: f64) -> Verdict {
    if sides.iter().any(Vec::is_empty) {
        return Verdict::TooShort;
    }
    let [of_first, of_second] = sides;
    let (Some(change), Some(one), Some(other)) =
        (change(unit, of_first, of_second), stats::range(of_first), stats::range(of_second))
    else {
        return Verdict::NotJudged;
    };
    judge(change, least, !one.overlaps(other))
}

/// How much better the second is, as a part of the first; below zero if it is worse. `None` if the first is
/// zero.
fn change(unit: Unit, first: &[f64], second: &[f64]) -> Option<f64> {
    let (first, second) = (stats::median(first)?, stats::median(second)?);
    let more = second / first - 1.0;
    let better = if unit == Unit::PerSecond { more } else { -more };
    better.is_finite().then_some(better)
}

fn judge(change: f64, least: f64, apart: bool) -> Verdict {
    if !apart || change.abs() < least {
        Verdict::NoDifferenceShown
    } else if change > 0.0 {
        Verdict::Faster
    } else {
        Verdict::Slower
    }
}

/// The medians of five successive parts of the windows; empty with fewer than five windows.
fn blocks(windows: &[f64]) -> Vec<f64> {
    let count = windows.len();
    if count < WINDOWS_LEAST {
        return Vec::new();
    }
    let edge = |block: usize| block * count / WINDOWS_LEAST;
    let parts = (0..WINDOWS_LEAST).map(|block| &windows[edge(block)..edge(block + 1)]);
    parts.filter_map(stats::median).collect()
}

#[cfg(test)]
mod tests {
    use super::{Basis, Sample, blocks, verdict};
    use crate::compare::{Unit, Verdict};

    /// The noise of a machine: normally distributed, with slow seconds, drift, and variation between runs.
    struct Machine(u64);

    impl Machine {
        /// Uniform from 0 to 1 (splitmix64).
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            let (one, other) = (1.0 - self.uniform(), self.uniform());
            (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
        }

        /// One run of a store: 30 windows.
        fn windows(&mut self, rate: f64) -> Vec<f64> {
            let run = 1.0 + 0.012 * self.normal();
            let drift = 0.03 * (self.uniform() - 0.5);
            (0..30)
                .map(|window| {
                    let at = f64::from(window) / 30.0 - 0.5;
                    rate * run * (1.0 + drift * at) * self.one()
                })
                .collect()
        }

        /// Five repetitions of ten seconds, interleaved with those of another: both drift alike.
        fn repetitions(&mut self, rate: f64) -> Vec<f64> {
            (0..5)
                .map(|_| {
                    let run = 1.0 + 0.012 * self.normal();
                    let windows = (0..10).map(|_| self.one()).sum::<f64>();
                    rate * run * windows / 10.0
                })
                .collect()
        }

        fn one(&mut self) -> f64 {
            let hiccup = if self.uniform() < 0.05 { 0.4 + 0.5 * self.uniform() } else { 1.0 };
            (1.0 + 0.02 * self.normal()) * hiccup
        }
    }

    fn single(windows: Vec<f64>) -> Sample {
        let mean = windows.iter().sum::<f64>() / windows.len() as f64;
        Sample { repetitions: vec![mean], windows: Some(windows), disturbance: 0.0 }
    }

    /// D4 and the A/A table: a thousand pairs of equal runs, and a thousand pairs whose second run is 10 %
    /// slower.
    #[test]
    fn equal_runs_are_called_slower_at_most_at_the_nominal_rate_and_a_tenth_is_found() {
        type Draw = fn(&mut Machine, f64) -> Sample;
        let of_one_run: Draw = |machine, rate| single(machine.windows(rate));
        let of_repetitions: Draw =
            |machine, rate| Sample { repetitions: machine.repetitions(rate), ..Sample::default() };
        for (by, seed, draw) in
            [(Basis::Windows, 4, of_one_run), (Basis::Repetitions, 5, of_repetitions)]
        {
            let mut machine = Machine(seed);
            let mut slower = |second: f64| -> usize {
                (0..1_000)
                    .filter(|_| {
                        let [one, other] =
                            [1.0, second].map(|factor| draw(&mut machine, 1e5 * factor));
                        verdict(Unit::PerSecond, by, &one, &other) == Verdict::Slower
                    })
                    .count()
            };
            let equal = slower(1.0);
            assert!(equal <= 10, "{by:?}: {equal} of 1,000 equal pairs");
            let found = slower(0.9);
            assert!(found >= 900, "{by:?}: {found} of 1,000 slowed by a tenth");
        }
    }

    /// D4: two runs of a second each always lie apart.
    #[test]
    fn fewer_than_five_windows_or_repetitions_are_too_short_to_judge() {
        let of = |windows: usize, rate: f64| single(vec![rate; windows]);
        let by_windows = |count: usize| {
            let (one, other) = (of(count, 100.0), of(count, 50.0));
            verdict(Unit::PerSecond, Basis::Windows, &one, &other)
        };
        assert_eq!([by_windows(1), by_windows(4)], [Verdict::TooShort; 2]);
        assert_eq!(by_windows(5), Verdict::Slower);
        let repeated = |count: usize, rate: f64| Sample {
            repetitions: (0..count).map(|one| rate + one as f64 / 100.0).collect(),
            ..Sample::default()
        };
        let by_repetitions = |count: usize| {
            let (one, other) = (repeated(count, 100.0), repeated(count, 50.0));
            verdict(Unit::PerSecond, Basis::Repetitions, &one, &other)
        };
        assert_eq!(by_repetitions(4), Verdict::TooShort);
        assert_eq!(by_repetitions(5), Verdict::Slower);
        assert_eq!(Basis::of([5, 4]), Basis::Windows);
        assert_eq!(Basis::of([5, 9]), Basis::Repetitions);
    }

    /// D4: others that use a part of the processors slow a run by that part.
    #[test]
    fn processor_time_of_others_is_not_a_difference_between_runs() {
        let verdict_with = |disturbance: f64| {
            let of = |rate: f64| Sample { disturbance, ..single(vec![rate; 30]) };
            let (one, other) = (of(100.0), of(85.0));
            verdict(Unit::PerSecond, Basis::Windows, &one, &other)
        };
        assert_eq!(verdict_with(0.0), Verdict::Slower);
        assert_eq!(verdict_with(0.3), Verdict::NoDifferenceShown);
    }

    #[test]
    fn a_difference_below_the_least_effect_does_not_count_however_certain() {
        let repeated = |rate: f64| Sample {
            repetitions: vec![rate, rate + 1e-3, rate + 2e-3, rate + 3e-3, rate + 4e-3],
            ..Sample::default()
        };
        let judged =
            |unit, second| verdict(unit, Basis::Repetitions, &repeated(100.0), &repeated(second));
        assert_eq!(judged(Unit::PerSecond, 97.5), Verdict::NoDifferenceShown);
        assert_eq!(judged(Unit::PerSecond, 96.5), Verdict::Slower);
        assert_eq!(judged(Unit::Nanoseconds, 96.5), Verdict::Faster);
        assert_eq!(judged(Unit::Nanoseconds, 103.5), Verdict::Slower);
        assert_eq!(judged(Unit::Count, 103.5), Verdict::Slower);
        assert_eq!(judged(Unit::CpuTime, 96.5), Verdict::Faster);
    }

    #[test]
    fn a_figure_without_windows_is_not_judged_by_windows() {
        let whole = |value: f64| Sample { repetitions: vec![value], ..Sample::default() };
        let judged = verdict(Unit::Count, Basis::Windows, &whole(1.0), &whole(2.0));
        assert_eq!(judged, Verdict::NotJudged);
    }

    #[test]
    fn blocks_hold_every_window_once_and_ignore_one_slow_second() {
        assert!(blocks(&[1.0; 4]).is_empty());
        assert_eq!(blocks(&[1.0, 2.0, 3.0, 4.0, 5.0]), [1.0, 2.0, 3.0, 4.0, 5.0]);
        let mut windows = vec![10.0; 17];
        windows[8] = 0.0;
        assert_eq!(blocks(&windows), [10.0; 5]);
    }
}
