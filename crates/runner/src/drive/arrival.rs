//! The schedule of an open loop: absolute times, none of which is skipped unless the plan says so.
//!
//! A client that is free takes the next arrival and sleeps until it is due, or starts at once if it is
//! overdue; so a backlog needs no queue. A plan may say how late an arrival may start; a later one is
//! skipped. At the start of the measured span the schedule begins anew: what the warm-up left behind is
//! nobody's.
//!
//! Groups of clients share one schedule by taking turns: of its arrivals, which follow from the seed and
//! the rate alone, group g of n has each n-th from g on. So it does not matter how many groups there are.
//! Each group draws the distances of the others' arrivals too, some 10 ns each.
//!
//! `offered = started + skipped + abandoned` over the arrivals that were due in the measured span: what
//! was taken and not started is given back.

use crate::account::measured_span::PhaseTimes;
use crate::plan::Arrival;
use syncline_instrument::{Nanos, clock};
use syncline_record::Arrivals;

/// The distance between arrivals.
#[derive(Clone, Copy, Debug)]
enum Gap {
    Fixed { gap_ns: f64 },
    Poisson { mean_ns: f64 },
}

/// An arrival that a client has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClaimedArrival {
    /// When it is or was due.
    pub due: Nanos,
    /// True if it was due before a client was free.
    pub late: bool,
}

/// The arrivals of one group of clients.
#[derive(Debug)]
pub(crate) struct Schedule {
    gap: Gap,
    /// Which arrivals are this group's: of `groups`, that one.
    group: usize,
    groups: usize,
    seed: u64,
    random: fastrand::Rng,
    times: PhaseTimes,
    /// The next arrival, in fractions of a nanosecond so that no error adds up.
    next: f64,
    rebased: bool,
    started: u64,
    late: u64,
    skipped: u64,
    given_back: u64,
}

impl Schedule {
    /// The share of group `group` of `groups` in the arrivals of a plan; none in a closed loop. Groups
    /// at fixed rate take turns.
    pub(crate) fn new(
        arrival: Arrival,
        group: usize,
        groups: usize,
        seed: u64,
        times: PhaseTimes,
    ) -> Option<Schedule> {
        let rate_per_s = arrival.rate_per_s()?;
        let all_ns = clock::SECOND as f64 / rate_per_s;
        let gap = match arrival {
            Arrival::Poisson { .. } => Gap::Poisson { mean_ns: all_ns },
            Arrival::Closed | Arrival::Fixed { .. } => Gap::Fixed { gap_ns: all_ns },
        };
        let mut schedule = Schedule {
            gap,
            group,
            groups,
            seed,
            random: fastrand::Rng::with_seed(seed),
            times,
            next: 0.0,
            rebased: times.measure == times.start,
            started: 0,
            late: 0,
            skipped: 0,
            given_back: 0,
        };
        schedule.begin(times.start);
        Some(schedule)
    }

    /// Takes the next arrival; none if it is due at or after the end of the measured span.
    pub(crate) fn take(&mut self, now: Nanos) -> Option<ClaimedArrival> {
        if !self.rebased && (now >= self.times.measure || self.due() >= self.times.measure) {
            self.rebased = true;
            self.begin(self.times.measure);
        }
        let due = self.due();
        if due >= self.times.deadline {
            return None;
        }
        self.advance();
        Some(ClaimedArrival { due, late: due < now })
    }

    /// A taken arrival starts now.
    pub(crate) fn started(&mut self, taken: ClaimedArrival) {
        if taken.due >= self.times.measure {
            self.started += 1;
            self.late += u64::from(taken.late);
        }
    }

    /// A taken arrival is later than the plan allows.
    pub(crate) fn skip(&mut self, taken: ClaimedArrival) {
        self.skipped += u64::from(taken.due >= self.times.measure);
    }

    /// A taken arrival will not start.
    pub(crate) fn return_arrival(&mut self, taken: ClaimedArrival, until: Nanos) {
        let offered = taken.due >= self.times.measure && taken.due < until;
        self.given_back += u64::from(offered);
    }

    /// Counts the arrivals of the measured span, which ended at `until`; the schedule is used up.
    pub(crate) fn finish(mut self, until: Nanos) -> Arrivals {
        let until = until.min(self.times.deadline);
        let mut untaken = 0;
        if !self.rebased {
            self.begin(self.times.measure);
        }
        while self.due() < until {
            untaken += 1;
            self.advance();
        }
        let abandoned = untaken + self.given_back;
        Arrivals {
            offered: self.started + self.skipped + abandoned,
            started: self.started,
            late: self.late,
            skipped: self.skipped,
            abandoned,
        }
    }

    fn due(&self) -> Nanos {
        self.next as Nanos
    }

    /// The schedule begins at that time, with the group's first arrival. The measured span's is drawn
    /// anew, so that it is the same however many were drawn in the warm-up.
    fn begin(&mut self, at: Nanos) {
        const MEASURED: u64 = 0x9E37_79B9_7F4A_7C15;
        let of_phase = if at == self.times.measure { MEASURED } else { 0 };
        self.random = fastrand::Rng::with_seed(self.seed ^ of_phase);
        self.next = at as f64;
        let before = match self.gap {
            Gap::Fixed { .. } => self.group,
            Gap::Poisson { .. } => self.group + 1,
        };
        self.pass(before);
    }

    fn advance(&mut self) {
        self.pass(self.groups);
    }

    /// Goes that many arrivals on, of all groups'.
    fn pass(&mut self, arrivals: usize) {
        match self.gap {
            Gap::Fixed { gap_ns } => self.next += gap_ns * arrivals as f64,
            Gap::Poisson { mean_ns } => {
                for _ in 0..arrivals {
                    self.next += exponential(&mut self.random, mean_ns);
                }
            }
        }
    }
}

/// Exponentially distributed, by inversion; `1 - f64()` is never zero.
fn exponential(random: &mut fastrand::Rng, mean: f64) -> f64 {
    -mean * (1.0 - random.f64()).ln()
}

#[cfg(test)]
mod tests {
    use super::{ClaimedArrival, PhaseTimes, Schedule};
    use crate::plan::Arrival;

    const TIMES: PhaseTimes =
        PhaseTimes { start: 1_000_000, measure: 2_000_000, deadline: 3_000_000 };

    fn fixed(group: usize, groups: usize) -> Schedule {
        let arrival = Arrival::Fixed { rate_per_s: 10_000.0 };
        Schedule::new(arrival, group, groups, 1, TIMES).unwrap()
    }

    fn dues(schedule: &mut Schedule, now: u64) -> Vec<u64> {
        std::iter::from_fn(|| schedule.take(now).map(|taken| taken.due)).collect()
    }

    #[test]
    fn a_closed_loop_has_no_schedule() {
        assert!(Schedule::new(Arrival::Closed, 0, 1, 1, TIMES).is_none());
    }

    #[test]
    fn groups_at_fixed_rate_take_turns_and_none_is_skipped() {
        let mut all: Vec<u64> = (0..3).flat_map(|group| dues(&mut fixed(group, 3), 0)).collect();
        all.sort_unstable();
        let wanted: Vec<u64> = (0..20).map(|number| 1_000_000 + number * 100_000).collect();
        assert_eq!(all, wanted);
    }

    #[test]
    fn poisson_arrivals_are_the_same_in_however_many_groups() {
        let arrival = Arrival::Poisson { rate_per_s: 50_000.0 };
        let all = |groups| {
            let dues = (0..groups).flat_map(|group| {
                let mut schedule = Schedule::new(arrival, group, groups, 7, TIMES).unwrap();
                dues(&mut schedule, 0)
            });
            let mut all: Vec<u64> = dues.filter(|due| *due >= TIMES.measure).collect();
            all.sort_unstable();
            all
        };
        assert!(all(1).len() > 20);
        assert_eq!(all(3), all(1));
        assert_eq!(all(8), all(1));
    }

    #[test]
    fn what_the_warm_up_left_behind_is_dropped_when_the_measured_span_begins() {
        let mut schedule = fixed(0, 1);
        assert_eq!(schedule.take(1_950_000), Some(ClaimedArrival { due: 1_000_000, late: true }));
        assert_eq!(schedule.take(2_000_000), Some(ClaimedArrival { due: 2_000_000, late: false }));
        assert_eq!(schedule.take(2_150_000), Some(ClaimedArrival { due: 2_100_000, late: true }));
    }

    #[test]
    fn offered_is_started_plus_abandoned() {
        let mut schedule = fixed(0, 1);
        for _ in 0..3 {
            let taken = schedule.take(2_050_000).unwrap();
            schedule.started(taken);
        }
        let taken = schedule.take(2_350_000).unwrap();
        schedule.return_arrival(taken, 2_500_000);
        let arrivals = schedule.finish(2_500_000);
        assert_eq!((arrivals.offered, arrivals.started), (5, 3));
        assert_eq!((arrivals.late, arrivals.abandoned), (1, 2));
    }

    #[test]
    fn what_is_skipped_was_offered_and_not_started() {
        let mut schedule = fixed(0, 1);
        let warm_up = schedule.take(1_100_000).unwrap();
        schedule.skip(warm_up);
        for number in 0..4 {
            let taken = schedule.take(2_350_000).unwrap();
            if number < 3 {
                schedule.skip(taken);
            } else {
                schedule.started(taken);
            }
        }
        let arrivals = schedule.finish(2_450_000);
        assert_eq!((arrivals.offered, arrivals.skipped), (5, 3));
        assert_eq!((arrivals.started, arrivals.abandoned), (1, 1));
    }

    #[test]
    fn an_untouched_schedule_offers_all_of_the_measured_span_and_nothing_of_the_warm_up() {
        let arrivals = fixed(0, 1).finish(u64::MAX);
        assert_eq!((arrivals.offered, arrivals.abandoned), (10, 10));
    }

    #[test]
    fn warm_up_arrivals_count_nowhere() {
        let mut schedule = fixed(0, 1);
        let taken = schedule.take(1_000_000).unwrap();
        schedule.started(taken);
        assert_eq!(schedule.finish(2_000_000).offered, 0);
    }

    #[test]
    fn poisson_gaps_have_the_asked_mean_and_its_spread() {
        let times = PhaseTimes { start: 0, measure: 0, deadline: 10_000_000_000 };
        let arrival = Arrival::Poisson { rate_per_s: 100_000.0 };
        let mut schedule = Schedule::new(arrival, 0, 1, 7, times).unwrap();
        let dues = dues(&mut schedule, 0);
        assert!((990_000..1_010_000).contains(&dues.len()), "{}", dues.len());
        let gaps: Vec<f64> = dues.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let spread = variance.sqrt() / mean;
        assert!((0.98..1.02).contains(&spread), "an exponential's spread is its mean: {spread}");
        // The shape: equal parts of an exponential's probability hold equal shares of the gaps, by
        // chi-square at 0.001 (19 degrees of freedom).
        let mut counts = [0_u64; 20];
        for gap in &gaps {
            let below = 1.0 - (-gap / 10_000.0).exp();
            counts[((below * 20.0) as usize).min(19)] += 1;
        }
        let expected = gaps.len() as f64 / 20.0;
        let parts = counts.iter().map(|count| *count as f64 - expected);
        let statistic = parts.map(|off| off * off / expected).sum::<f64>();
        assert!(statistic < 43.82, "{statistic}: {counts:?}");
        let again = Schedule::new(arrival, 0, 1, 7, times).unwrap().take(0).unwrap().due;
        assert_eq!(again, dues[0], "equal seeds give equal arrivals");
    }
}
