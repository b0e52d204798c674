//! When system calls and switches are looked at.
//!
//! A program at every system call and every switch costs a little each time, which is too much for a store
//! that does hundreds of thousands of them a second. So what the programs cost is timed near the begin of the
//! window. Where it is little, they stay for all of it and every event is counted. Else they are attached in
//! *spells* alone, in so large a part of the window that the budget holds, and what was counted is scaled:
//! events to the commits of the window, by those of the spells, and time off the processor to its length.
//!
//! 1. Whatever is not in a spell costs nothing: the programs are detached.
//! 2. The first spell is the one in which they are timed. Of the rest of the window, each period has a
//!    spell, at another place each time, so that no load keeps step with them.
//! 3. What else is counted (syncs, block requests, threads that begin and end) is counted all the time.

use std::collections::BTreeMap;
use syncline_instrument::Nanos;

/// So long is waited before the programs are timed: first looks and first copies are soon over.
pub(super) const SETTLE: Nanos = 40_000_000;
/// Up to such a part of the machine's processor time the programs of system calls and switches may stay.
const CHEAP: f64 = 0.012;
/// What they may use in spells, of the whole window. Less than the above: spells tell less than all.
const BUDGET: f64 = 0.004;
/// The least part of the window that is looked at.
const LEAST: f64 = 0.05;
/// How long a spell is at least. Whoever ends it comes by some 20 ms later.
const LENGTH: Nanos = 40_000_000;
/// Fewer commits a spell than this, and its edges tell too much: then time is what is scaled by.
const FEW_COMMITS: u64 = 100;
/// The golden ratio's part behind the point: its multiples are spread evenly, and none comes again.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The spells of a window in which not everything is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Schedule {
    origin: Nanos,
    period: Nanos,
    /// Periods that have had their spell.
    number: u32,
}

impl Schedule {
    /// From `now` on, if the programs use such a part of the machine when they are attached; none if that is
    /// cheap.
    pub(super) fn of(cost: f64, now: Nanos) -> Option<Schedule> {
        (cost > CHEAP).then(|| Schedule {
            origin: now,
            period: (LENGTH as f64 / (BUDGET / cost).max(LEAST)) as Nanos,
            number: 0,
        })
    }

    /// When the next spell is due: in the first period that has had none and is not over.
    pub(super) fn next(&mut self, now: Nanos) -> Nanos {
        let current = now.saturating_sub(self.origin) / self.period;
        let number = u64::from(self.number).max(current);
        self.number = u32::try_from(number + 1).unwrap_or(u32::MAX);
        let place = (f64::from(self.number) * GOLDEN).fract();
        let within = place * self.period.saturating_sub(LENGTH) as f64;
        self.origin + number * self.period + within as Nanos
    }

    /// When a spell that began then has been long enough.
    pub(super) fn end_of(begun: Nanos) -> Nanos {
        begun + LENGTH
    }
}

/// What was done in a spell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SamplingWindow {
    pub looked_ns: Nanos,
    pub commits: u64,
    pub calls: u64,
    pub switches: u64,
}

/// How much of the window was looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SampledSpan {
    pub spells: Vec<SamplingWindow>,
    pub window_ns: Nanos,
    /// Commits of the whole window.
    pub commits: u64,
    /// What the programs used of the machine while they were timed; none if they were not.
    pub cost: Option<f64>,
    /// True if there were pauses between spells.
    pub paused: bool,
    /// Voluntary and involuntary switches in the window by the kernel's own count, of the threads that were
    /// there at its end.
    pub switches: BTreeMap<u32, (u64, u64)>,
}

/// By how much something is scaled up: the one number over the other.
pub(super) type Scale = (u64, u64);

impl SampledSpan {
    pub(super) fn ns(&self) -> Nanos {
        self.sum(|spell| spell.looked_ns)
    }

    /// The part of the window that was looked at.
    pub(super) fn share(&self) -> f64 {
        self.ns() as f64 / self.window_ns.max(1) as f64
    }

    /// For amounts of time.
    pub(super) fn of_time(&self) -> Scale {
        match self.ns() {
            looked if self.paused && looked > 0 => (self.window_ns, looked),
            _ => (1, 1),
        }
    }

    /// For events: a spell is slower than a pause, and has fewer of them for its length, but not for its
    /// commits.
    pub(super) fn of_events(&self) -> Scale {
        let commits = self.sum(|spell| spell.commits);
        if self.paused && self.by_commits() { (self.commits, commits) } else { self.of_time() }
    }

    /// True if events are scaled by commits.
    pub(super) fn by_commits(&self) -> bool {
        self.sum(|spell| spell.commits) >= FEW_COMMITS * self.spells.len().max(1) as u64
    }

    /// Within which part of itself the sum of something is known, 95 times of 100, by how it differs between
    /// spells; none of fewer than three.
    pub(super) fn within(&self, of: impl Fn(&SamplingWindow) -> u64) -> Option<f64> {
        let base = |spell: &SamplingWindow| {
            if self.by_commits() { spell.commits as f64 } else { spell.looked_ns as f64 }
        };
        let freedom = self.spells.len().checked_sub(1).filter(|free| *free >= 2)? as f64;
        let all: f64 = self.spells.iter().map(|spell| of(spell) as f64).sum();
        let bases: f64 = self.spells.iter().map(base).sum();
        if all <= 0.0 || bases <= 0.0 {
            return None;
        }
        let rate = all / bases;
        let off = |spell: &SamplingWindow| (of(spell) as f64 - rate * base(spell)).powi(2);
        let squares: f64 = self.spells.iter().map(off).sum();
        let deviation = (squares * (freedom + 1.0) / freedom).sqrt() / all;
        let left_out = (1.0 - self.share()).max(0.0).sqrt();
        Some(students(freedom) * deviation * left_out)
    }

    fn sum(&self, of: impl Fn(&SamplingWindow) -> u64) -> u64 {
        self.spells.iter().map(of).sum()
    }
}

/// Within so many deviations lies 95 % of Student's distribution, within 3 % of the tables.
fn students(freedom: f64) -> f64 {
    1.96 + 2.4 / freedom + 4.0 / (freedom * freedom)
}

/// A number scaled up, to the nearest.
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
    fn what_is_cheap_is_looked_at_all_the_time_and_what_is_not_in_spells_within_the_budget() {
        assert_eq!(Schedule::of(CHEAP, 0), None);
        let cost = 0.03;
        let mut schedule = Schedule::of(cost, 1_000).unwrap();
        let (mut now, mut looked) = (1_000, 0);
        let mut places = Vec::new();
        for _ in 0..50 {
            let due = schedule.next(now);
            assert!(due >= now, "{due}, and it is {now}");
            places.push((due - 1_000) % schedule.period);
            (now, looked) = (Schedule::end_of(due), looked + LENGTH);
        }
        let used = looked as f64 / now as f64 * cost;
        assert!((used / BUDGET - 1.0).abs() < 0.05, "{used}");
        // No load keeps step: each tenth of the periods had its spells.
        let tenth = |place: &u64| place * 10 / (schedule.period - LENGTH);
        for wanted in 0..10 {
            let there = places.iter().filter(|place| tenth(place) == wanted);
            assert!((4..=6).contains(&there.count()), "{places:?}");
        }
        assert_eq!(
            Schedule::of(1.0, 0).unwrap().period,
            LENGTH * 20,
            "never less than a twentieth"
        );
    }

    #[test]
    fn a_period_that_went_by_has_no_spell_any_more() {
        let mut schedule = Schedule::of(0.04, 0).unwrap();
        let late = schedule.period * 7 + 1;
        assert!(schedule.next(late) >= schedule.period * 7);
        assert!(schedule.next(late) >= schedule.period * 8);
    }

    fn looked(commits: u64, spells: &[(u64, u64, u64)]) -> SampledSpan {
        let spell = |(looked_ns, commits, calls): &(u64, u64, u64)| SamplingWindow {
            looked_ns: *looked_ns,
            commits: *commits,
            calls: *calls,
            switches: 0,
        };
        SampledSpan {
            spells: spells.iter().map(spell).collect(),
            window_ns: 1_000,
            commits,
            cost: None,
            paused: true,
            switches: BTreeMap::new(),
        }
    }

    #[test]
    fn events_are_scaled_by_commits_and_time_by_time() {
        let some = looked(5_000, &[(100, 400, 2_400), (100, 600, 3_600)]);
        assert_eq!((some.of_events(), some.of_time()), ((5_000, 1_000), (1_000, 200)));
        assert_eq!(scaled(6_000, some.of_events()), 30_000);
        assert!((some.share() - 0.2).abs() < 1e-12);
        let few = looked(50, &[(100, 4, 2_400), (100, 6, 3_600)]);
        assert_eq!(few.of_events(), (1_000, 200), "its edges would tell");
        let all = SampledSpan { paused: false, ..some };
        assert_eq!((all.of_events(), all.of_time()), ((1, 1), (1, 1)));
        assert_eq!(scaled(u64::MAX, (3, 2)), u64::MAX);
    }

    #[test]
    fn spells_that_differ_say_less() {
        let even = looked(5_000, &[(100, 400, 2_400), (100, 600, 3_600), (100, 500, 3_000)]);
        assert!(even.within(|spell| spell.calls).unwrap() < 1e-9);
        let uneven = looked(5_000, &[(100, 500, 2_000), (100, 500, 3_000), (100, 500, 4_000)]);
        let within = uneven.within(|spell| spell.calls).unwrap();
        // A deviation of a third, of three: 4.3 times 0.333 / sqrt(3), of which 0.7 was left out.
        let expected = 4.3 * (1.0 / 3.0) / 3.0_f64.sqrt() * 0.7_f64.sqrt();
        assert!((within / expected - 1.0).abs() < 0.05, "{within}, {expected}");
        assert_eq!(uneven.within(|spell| spell.switches), None, "nothing was seen");
        assert_eq!(looked(1, &[(1, 1, 1), (1, 1, 1)]).within(|spell| spell.calls), None);
    }

    #[test]
    fn few_spells_have_wide_tails() {
        for (freedom, table) in
            [(2.0, 4.303), (3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042)]
        {
            assert!((students(freedom) / table - 1.0_f64).abs() < 0.04, "{freedom}");
        }
    }
}
