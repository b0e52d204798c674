//! What may be said of one figure of two records: the statistics of a comparison.
//!
//! 1. A verdict needs four repetitions a side or five windows of a second a side; with less the figure is too
//!    short to judge.
//! 2. Repetitions are judged by their ranks: "slower" is said if equal settings would lie that far apart, in
//!    that direction, once in [`CHANCE_MOST`] or more rarely, and if the medians differ by [`LEAST_EFFECT`].
//! 3. Fewer repetitions are judged by their windows, in blocks: the medians of five stretches of the measured
//!    time, so that a hiccup of a second decides nothing and what drifts is seen to drift. "Slower" is said
//!    if the ranges of the blocks do not meet and the medians differ by [`LEAST_EFFECT_OF_ONE`]. How runs
//!    differ from one another is in no such range, so the least effect is larger.
//! 4. What other processes and the hypervisor took of the processors while a single run was measured is
//!    added to its least effect, from the load on at which a run warns of it: a difference of that size may
//!    be theirs.
//! 5. A probe measures its line in as few as three windows; with fewer than five, only a difference of
//!    [`LEAST_EFFECT_OF_PROBES`] counts, which is how far a line may move without a warning.
//! 6. A figure without windows, of which a record holds one value per repetition, is judged by repetitions
//!    or not at all.
//!
//! Pure functions over figures.

use super::comparison::{Spread, Unit, Verdict};
use super::rank_test::rank_test_p_value;
use syncline_record::{Range, stats};

/// Repetitions a side from which they are judged themselves.
pub(super) const REPETITIONS_LEAST: usize = 4;
/// Windows a side below which nothing is judged, and as many blocks are made of them.
pub(super) const WINDOWS_LEAST: usize = 5;
/// The least difference of medians that is called one, between repetitions.
pub(super) const LEAST_EFFECT: f64 = 0.03;
/// The same between single runs.
pub(super) const LEAST_EFFECT_OF_ONE: f64 = 0.05;
/// The same between probes of fewer than five windows.
pub(super) const LEAST_EFFECT_OF_PROBES: f64 = 0.2;
/// Windows a side below which no probe is judged.
const WINDOWS_LEAST_OF_PROBES: usize = 3;
/// How often equal repetitions may be called slower by chance.
pub(super) const CHANCE_MOST: f64 = 0.02;

/// What is known of a figure on one side.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// Its value in each repetition.
    pub repetitions: Vec<f64>,
    /// Its value in each window of about a second, in order; none if the record holds no windows of it.
    pub windows: Option<Vec<f64>>,
    /// What others took of the processors meanwhile, as a part of them.
    pub disturbed: f64,
}

impl Sample {
    /// The figure with what it was found between, as it is judged beside another.
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
        // The whole run's figure may lie a little outside what its windows show of it.
        let range = Range { least: range.least.min(median), most: range.most.max(median) };
        Some(Spread { median, range })
    }
}

/// What figures are judged by.
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
    /// Of two records with so many repetitions.
    pub(super) fn of(repetitions: [usize; 2]) -> Basis {
        if repetitions.iter().all(|count| *count >= REPETITIONS_LEAST) {
            Basis::Repetitions
        } else {
            Basis::Windows
        }
    }
}

/// What may be said of the second beside the first.
pub(super) fn verdict(unit: Unit, by: Basis, first: &Sample, second: &Sample) -> Verdict {
    let Some(least) = least_effect(by, first, second) else {
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

/// The difference below which these two are called equal, as a part of the first; none if they are not
/// judged.
pub(super) fn least_effect(by: Basis, first: &Sample, second: &Sample) -> Option<f64> {
    if first.repetitions.is_empty() || second.repetitions.is_empty() {
        return None;
    }
    let windows = first.windows.as_ref().zip(second.windows.as_ref());
    match by {
        Basis::Repetitions => Some(LEAST_EFFECT),
        Basis::Windows => {
            windows.map(|_| LEAST_EFFECT_OF_ONE + first.disturbed.max(second.disturbed))
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
    said(change, least, by_chance <= CHANCE_MOST)
}

fn of_probes(unit: Unit, few: &[Vec<f64>; 2], least: f64) -> Verdict {
    if few.iter().any(|side| side.len() < WINDOWS_LEAST_OF_PROBES) {
        return Verdict::TooShort;
    }
    let sides = [&few[0], &few[1]].map(|side| blocks(side));
    let fewest = sides.iter().any(Vec::is_empty);
    of_windows(unit, if fewest { few } else { &sides }, least)
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
    said(change, least, !one.meets(other))
}

/// By how much the second is better, as a part of the first; below zero if it is worse. None if the first is
/// zero.
fn change(unit: Unit, first: &[f64], second: &[f64]) -> Option<f64> {
    let (first, second) = (stats::median(first)?, stats::median(second)?);
    let more = second / first - 1.0;
    let better = if unit == Unit::PerSecond { more } else { -more };
    better.is_finite().then_some(better)
}

fn said(change: f64, least: f64, apart: bool) -> Verdict {
    if !apart || change.abs() < least {
        Verdict::NoDifferenceShown
    } else if change > 0.0 {
        Verdict::Faster
    } else {
        Verdict::Slower
    }
}

/// The medians of five stretches of windows that follow one another; none of fewer windows.
fn blocks(windows: &[f64]) -> Vec<f64> {
    let count = windows.len();
    if count < WINDOWS_LEAST {
        return Vec::new();
    }
    let edge = |block: usize| block * count / WINDOWS_LEAST;
    let stretches = (0..WINDOWS_LEAST).map(|block| &windows[edge(block)..edge(block + 1)]);
    stretches.filter_map(stats::median).collect()
}

#[cfg(test)]
mod tests {
    use super::{Basis, Sample, blocks, verdict};
    use crate::compare::{Unit, Verdict};

    /// Noise as machines make it: a normal core, hiccups, drift, and runs that differ from one another.
    struct Machine(u64);

    impl Machine {
        /// Even from 0 to 1 (splitmix64).
        fn even(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            let (one, other) = (1.0 - self.even(), self.even());
            (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
        }

        /// One run of a store: 30 windows.
        fn windows(&mut self, rate: f64) -> Vec<f64> {
            let run = 1.0 + 0.012 * self.normal();
            let drift = 0.03 * (self.even() - 0.5);
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
            let hiccup = if self.even() < 0.05 { 0.4 + 0.5 * self.even() } else { 1.0 };
            (1.0 + 0.02 * self.normal()) * hiccup
        }
    }

    fn single(windows: Vec<f64>) -> Sample {
        let mean = windows.iter().sum::<f64>() / windows.len() as f64;
        Sample { repetitions: vec![mean], windows: Some(windows), disturbed: 0.0 }
    }

    /// D4 and the A/A table: a thousand pairs of equal runs, and of runs of which the second is 10 % slower.
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
            assert!(equal <= 20, "{by:?}: {equal} of 1,000 equal pairs");
            let found = slower(0.9);
            assert!(found >= 900, "{by:?}: {found} of 1,000 slowed by a tenth");
        }
    }

    /// D4: runs of a second lie apart as any two points do.
    #[test]
    fn fewer_than_five_windows_or_four_repetitions_are_too_short_to_judge() {
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
        assert_eq!(by_repetitions(3), Verdict::TooShort);
        assert_eq!(by_repetitions(4), Verdict::Slower);
        assert_eq!(Basis::of([4, 3]), Basis::Windows);
        assert_eq!(Basis::of([4, 9]), Basis::Repetitions);
    }

    /// D4: a machine that others use slows runs by as much as they take of it.
    #[test]
    fn what_others_took_of_the_processors_is_no_difference_of_the_runs() {
        let said = |disturbed: f64| {
            let of = |rate: f64| Sample { disturbed, ..single(vec![rate; 30]) };
            let (one, other) = (of(100.0), of(85.0));
            verdict(Unit::PerSecond, Basis::Windows, &one, &other)
        };
        assert_eq!(said(0.0), Verdict::Slower);
        assert_eq!(said(0.3), Verdict::NoDifferenceShown);
    }

    #[test]
    fn a_difference_below_the_least_effect_is_none_however_sharp() {
        let repeated = |rate: f64| Sample {
            repetitions: vec![rate, rate + 1e-3, rate + 2e-3, rate + 3e-3],
            ..Sample::default()
        };
        let said =
            |unit, second| verdict(unit, Basis::Repetitions, &repeated(100.0), &repeated(second));
        assert_eq!(said(Unit::PerSecond, 97.5), Verdict::NoDifferenceShown);
        assert_eq!(said(Unit::PerSecond, 96.5), Verdict::Slower);
        assert_eq!(said(Unit::Nanoseconds, 96.5), Verdict::Faster);
        assert_eq!(said(Unit::Nanoseconds, 103.5), Verdict::Slower);
        assert_eq!(said(Unit::Count, 103.5), Verdict::Slower);
        assert_eq!(said(Unit::CpuTime, 96.5), Verdict::Faster);
    }

    #[test]
    fn a_figure_without_windows_is_not_judged_by_windows() {
        let whole = |value: f64| Sample { repetitions: vec![value], ..Sample::default() };
        let said = verdict(Unit::Count, Basis::Windows, &whole(1.0), &whole(2.0));
        assert_eq!(said, Verdict::NotJudged);
    }

    #[test]
    fn blocks_hold_every_window_once_and_shrug_at_a_hiccup() {
        assert!(blocks(&[1.0; 4]).is_empty());
        assert_eq!(blocks(&[1.0, 2.0, 3.0, 4.0, 5.0]), [1.0, 2.0, 3.0, 4.0, 5.0]);
        let mut windows = vec![10.0; 17];
        windows[8] = 0.0;
        assert_eq!(blocks(&windows), [10.0; 5]);
    }
}
