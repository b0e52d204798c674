//! When system calls and switches are sampled.
//!
//! A program at every system call and every switch has a small cost each time, which is too much for a store
//! that makes hundreds of thousands of them per second. So the cost of the programs is timed near the begin
//! of the window. If it is low, they stay and every event is counted. Otherwise they are attached only in
//! *sampling windows*, whose share of the window keeps within a budget. The counts are then scaled: events by
//! the commits of the whole window and of the sampling windows, and time off the processor by their lengths.
//!
//! 1. Outside sampling windows there is no cost: the programs are detached.
//! 2. The programs are timed in the first sampling window. The rest of the window is divided into periods,
//!    each with one sampling window at a different position, so that no load keeps step with them.
//! 3. All other events (syncs, block requests, threads that begin and end) are counted all the time.

use std::collections::BTreeMap;
use syncline_instrument::Nanos;

/// The delay before the programs are timed, so that first samples and first copies are over.
pub(super) const STARTUP_DELAY: Nanos = 40_000_000;
/// The programs may stay if they use at most this share of the machine's processor time.
const CHEAP: f64 = 0.012;
/// The share that they may use in sampling windows, over the whole window. It is lower because sampling
/// windows give less information.
const BUDGET: f64 = 0.004;
/// The minimum sampled share of the window.
const LEAST: f64 = 0.05;
/// The minimum length of a sampling window. The thread that ends it polls every 20 ms.
const LENGTH: Nanos = 40_000_000;
/// With fewer commits per sampling window, the effects at its edges are too large, and counts are scaled by
/// time.
const FEW_COMMITS: u64 = 100;
/// The fractional part of the golden ratio: its multiples are evenly spread and never repeat.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The sampling windows of a measured window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Schedule {
    origin: Nanos,
    period: Nanos,
    /// The number of periods that have had their sampling window.
    number: u32,
}

impl Schedule {
    /// The schedule from `now` on, if the attached programs use the share `cost` of the machine; none if that
    /// is low.
    pub(super) fn of(cost: f64, now: Nanos) -> Option<Schedule> {
        (cost > CHEAP).then(|| Schedule {
            origin: now,
            period: (LENGTH as f64 / (BUDGET / cost).max(LEAST)) as Nanos,
            number: 0,
        })
    }

    /// The begin of the next sampling window: in the first period without one that is not over.
    pub(super) fn next(&mut self, now: Nanos) -> Nanos {
        let current = now.saturating_sub(self.origin) / self.period;
        let number = u64::from(self.number).max(current);
        self.number = u32::try_from(number + 1).unwrap_or(u32::MAX);
        let place = (f64::from(self.number) * GOLDEN).fract();
        let within = place * self.period.saturating_sub(LENGTH) as f64;
        self.origin + number * self.period + within as Nanos
    }

    /// The end of a sampling window that began at `begun`.
    pub(super) fn end_of(begun: Nanos) -> Nanos {
        begun + LENGTH
    }
}

/// The counts of a sampling window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SamplingWindow {
    pub sampled_ns: Nanos,
    pub commits: u64,
    pub calls: u64,
    pub switches: u64,
}

/// The sampled part of the measured window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SampledSpan {
    pub windows: Vec<SamplingWindow>,
    pub window_ns: Nanos,
    /// Commits in the whole measured window.
    pub commits: u64,
    /// The share of the machine that the programs used while they were timed; none if they were not.
    pub cost: Option<f64>,
    /// True if there were pauses between sampling windows.
    pub paused: bool,
    /// Voluntary and involuntary switches in the measured window, by the kernel's own count, of the threads
    /// that existed at its end.
    pub switches: BTreeMap<u32, (u64, u64)>,
}

/// A scale factor as a fraction: numerator and denominator.
pub(super) type Scale = (u64, u64);

impl SampledSpan {
    pub(super) fn ns(&self) -> Nanos {
        self.sum(|window| window.sampled_ns)
    }

    /// The sampled share of the measured window.
    pub(super) fn share(&self) -> f64 {
        self.ns() as f64 / self.window_ns.max(1) as f64
    }

    /// The scale of amounts of time.
    pub(super) fn of_time(&self) -> Scale {
        match self.ns() {
            sampled if self.paused && sampled > 0 => (self.window_ns, sampled),
            _ => (1, 1),
        }
    }

    /// The scale of events. A sampling window is slower than a pause, so it has fewer events for its length,
    /// but not for its commits.
    pub(super) fn of_events(&self) -> Scale {
        let commits = self.sum(|window| window.commits);
        if self.paused && self.by_commits() { (self.commits, commits) } else { self.of_time() }
    }

    /// True if events are scaled by commits.
    pub(super) fn by_commits(&self) -> bool {
        self.sum(|window| window.commits) >= FEW_COMMITS * self.windows.len().max(1) as u64
    }

    /// The relative error of a sum with 95 % confidence, from its variation between sampling windows; none
    /// for fewer than three.
    pub(super) fn within(&self, of: impl Fn(&SamplingWindow) -> u64) -> Option<f64> {
        let base = |window: &SamplingWindow| {
            if self.by_commits() { window.commits as f64 } else { window.sampled_ns as f64 }
        };
        let freedom = self.windows.len().checked_sub(1).filter(|free| *free >= 2)? as f64;
        let all: f64 = self.windows.iter().map(|window| of(window) as f64).sum();
        let bases: f64 = self.windows.iter().map(base).sum();
        if all <= 0.0 || bases <= 0.0 {
            return None;
        }
        let rate = all / bases;
        let off = |window: &SamplingWindow| (of(window) as f64 - rate * base(window)).powi(2);
        let squares: f64 = self.windows.iter().map(off).sum();
        let deviation = (squares * (freedom + 1.0) / freedom).sqrt() / all;
        let left_out = (1.0 - self.share()).max(0.0).sqrt();
        Some(students(freedom) * deviation * left_out)
    }

    fn sum(&self, of: impl Fn(&SamplingWindow) -> u64) -> u64 {
        self.windows.iter().map(of).sum()
    }
}

/// The number of standard deviations that contain 95 % of Student's distribution, within 3 % of the tables.
fn students(freedom: f64) -> f64 {
    1.96 + 2.4 / freedom + 4.0 / (freedom * freedom)
}

/// A scaled number, rounded.
pub(super) fn scaled(number: u64, by: Scale) -> u64 {
    let (whole, part) = (u128::from(by.0), u128::from(by.1.max(1)));
    let scaled = (u128::from(number) * whole + part / 2) / part;
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{
        BTreeMap, BUDGET, CHEAP, LENGTH, SampledSpan, SamplingWindow, Schedule, scaled, students,
    };

    #[test]
    fn cheap_events_are_counted_all_the_time_and_others_in_windows_within_the_budget() {
        assert_eq!(Schedule::of(CHEAP, 0), None);
        let cost = 0.03;
        let mut schedule = Schedule::of(cost, 1_000).unwrap();
        let (mut now, mut sampled) = (1_000, 0);
        let mut places = Vec::new();
        for _ in 0..50 {
            let due = schedule.next(now);
            assert!(due >= now, "{due}, and it is {now}");
            places.push((due - 1_000) % schedule.period);
            (now, sampled) = (Schedule::end_of(due), sampled + LENGTH);
        }
        let used = sampled as f64 / now as f64 * cost;
        assert!((used / BUDGET - 1.0).abs() < 0.05, "{used}");
        // No load keeps step: each tenth of the period has its share of sampling windows.
        let tenth = |place: &u64| place * 10 / (schedule.period - LENGTH);
        for tenth_index in 0..10 {
            let there = places.iter().filter(|place| tenth(place) == tenth_index);
            assert!((4..=6).contains(&there.count()), "{places:?}");
        }
        assert_eq!(
            Schedule::of(1.0, 0).unwrap().period,
            LENGTH * 20,
            "never less than a twentieth"
        );
    }

    #[test]
    fn a_period_that_is_over_has_no_sampling_window() {
        let mut schedule = Schedule::of(0.04, 0).unwrap();
        let late = schedule.period * 7 + 1;
        assert!(schedule.next(late) >= schedule.period * 7);
        assert!(schedule.next(late) >= schedule.period * 8);
    }

    fn sampled(commits: u64, windows: &[(u64, u64, u64)]) -> SampledSpan {
        let window = |(sampled_ns, commits, calls): &(u64, u64, u64)| SamplingWindow {
            sampled_ns: *sampled_ns,
            commits: *commits,
            calls: *calls,
            switches: 0,
        };
        SampledSpan {
            windows: windows.iter().map(window).collect(),
            window_ns: 1_000,
            commits,
            cost: None,
            paused: true,
            switches: BTreeMap::new(),
        }
    }

    #[test]
    fn events_are_scaled_by_commits_and_time_by_time() {
        let some = sampled(5_000, &[(100, 400, 2_400), (100, 600, 3_600)]);
        assert_eq!((some.of_events(), some.of_time()), ((5_000, 1_000), (1_000, 200)));
        assert_eq!(scaled(6_000, some.of_events()), 30_000);
        assert!((some.share() - 0.2).abs() < 1e-12);
        let few = sampled(50, &[(100, 4, 2_400), (100, 6, 3_600)]);
        assert_eq!(few.of_events(), (1_000, 200), "the edges would dominate");
        let all = SampledSpan { paused: false, ..some };
        assert_eq!((all.of_events(), all.of_time()), ((1, 1), (1, 1)));
        assert_eq!(scaled(u64::MAX, (3, 2)), u64::MAX);
    }

    #[test]
    fn windows_that_differ_are_less_certain() {
        let even = sampled(5_000, &[(100, 400, 2_400), (100, 600, 3_600), (100, 500, 3_000)]);
        assert!(even.within(|window| window.calls).unwrap() < 1e-9);
        let uneven = sampled(5_000, &[(100, 500, 2_000), (100, 500, 3_000), (100, 500, 4_000)]);
        let within = uneven.within(|window| window.calls).unwrap();
        // The standard deviation is a third, of three windows: 4.3 times 0.333 / sqrt(3), with 0.7 of the
        // window not sampled.
        let expected = 4.3 * (1.0 / 3.0) / 3.0_f64.sqrt() * 0.7_f64.sqrt();
        assert!((within / expected - 1.0).abs() < 0.05, "{within}, {expected}");
        assert_eq!(uneven.within(|window| window.switches), None, "nothing was seen");
        assert_eq!(sampled(1, &[(1, 1, 1), (1, 1, 1)]).within(|window| window.calls), None);
    }

    #[test]
    fn few_windows_have_wide_tails() {
        for (freedom, table) in
            [(2.0, 4.303), (3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042)]
        {
            assert!((students(freedom) / table - 1.0_f64).abs() < 0.04, "{freedom}");
        }
    }
}
