//! The search for the highest arrival rate that meets a condition: which rate to try next, and when it is
//! found.
//!
//! The search knows nothing of runs. Its caller tries each rate that [`RateSearch::next`] returns and passes
//! the outcome to [`RateSearch::record`].
//!
//! States: it *descends* from the rate at which the store is saturated until one holds, *narrows* the
//! interval between the highest rate that held and the lowest above it that did not, and *confirms* both ends
//! by trying them again, since a disturbance may have spoilt a trial. An end that turns out otherwise moves
//! the interval.
//!
//! Invariants:
//! 1. The rate that it finds has held twice, and more often than not; the one above it that did not hold has
//!    failed three times, and more often than not.
//! 2. Every rate that is tried is above zero, finite, and at most [`ABOVE`] times the saturated rate.
//! 3. It ends after [`TRIALS_MAX`] trials.

/// The ratio of the interval's ends at which it is narrow enough.
const NARROW: f64 = 1.05;
/// The highest rate that is tried, as a multiple of the saturated rate: open arrivals keep more clients busy
/// than the trial that measured it did.
const ABOVE: f64 = 1.25;
/// The first rate that is tried, as a share of the saturated rate.
const FIRST: f64 = 0.8;
/// The lowest rate that is tried, as a share of the saturated rate.
const LEAST: f64 = 1.0 / 256.0;
/// Trials after which a search ends with what it has.
pub const TRIALS_MAX: usize = 32;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateFound {
    /// This rate per second held.
    Rate {
        /// The rate.
        per_s: f64,
        /// The lowest rate above it that did not; none if the highest rate that is tried held.
        fails_per_s: Option<f64>,
    },
    /// Not even the lowest rate held.
    None {
        /// That rate.
        least_per_s: f64,
    },
    /// The outcomes contradicted each other until the trials were used up.
    Unclear,
}

/// The search for one store and load.
#[derive(Clone, Debug)]
pub struct RateSearch {
    saturated_per_s: f64,
    /// Every rate that was tried.
    trials: Vec<Trials>,
    count: usize,
}

impl RateSearch {
    /// A search below and around the rate at which the store is saturated. None if that is not above zero.
    pub fn new(saturated_per_s: f64) -> Option<RateSearch> {
        let is_usable = saturated_per_s.is_finite() && saturated_per_s > 0.0;
        is_usable.then(|| RateSearch { saturated_per_s, trials: Vec::new(), count: 0 })
    }

    /// The rate to try next, or how the search has ended.
    pub fn next(&self) -> Result<f64, RateFound> {
        let highest = self.saturated_per_s * ABOVE;
        let least = self.saturated_per_s * LEAST;
        let held = self.highest_held();
        let fails = self.lowest_failed_above(held.map_or(0.0, |held| held.rate));
        let rate = match (held, fails) {
            (None, None) => self.saturated_per_s * FIRST,
            (None, Some(fails)) if fails.rate > least => (fails.rate / 2.0).max(least),
            // All rates above it have failed too: twice is enough.
            (None, Some(fails)) if fails.failed < fails.held.max(1) + 1 => fails.rate,
            (None, Some(fails)) => return Err(RateFound::None { least_per_s: fails.rate }),
            (Some(held), None) if held.rate < highest / NARROW => (held.rate * 1.2).min(highest),
            (Some(held), Some(fails)) if fails.rate / held.rate > NARROW => {
                f64::midpoint(held.rate, fails.rate)
            }
            (Some(held), _) if !held.is_confirmed() => held.rate,
            (Some(_), Some(fails)) if !fails.is_confirmed() => fails.rate,
            (Some(held), fails) => {
                let fails_per_s = fails.map(|fails| fails.rate);
                return Err(RateFound::Rate { per_s: held.rate, fails_per_s });
            }
        };
        if self.count >= TRIALS_MAX { Err(RateFound::Unclear) } else { Ok(rate) }
    }

    /// Takes the outcome of the trial of a rate.
    pub fn record(&mut self, rate: f64, holds: bool) {
        self.count += 1;
        let known = self.trials.iter().position(|trials| trials.rate.total_cmp(&rate).is_eq());
        let known = known.unwrap_or_else(|| {
            self.trials.push(Trials { rate, held: 0, failed: 0 });
            self.trials.len() - 1
        });
        let trials = &mut self.trials[known];
        trials.held += usize::from(holds);
        trials.failed += usize::from(!holds);
    }

    fn highest_held(&self) -> Option<Trials> {
        let held = self.trials.iter().copied().filter(Trials::holds);
        held.max_by(|one, other| one.rate.total_cmp(&other.rate))
    }

    fn lowest_failed_above(&self, above: f64) -> Option<Trials> {
        let trials = self.trials.iter().copied();
        let failed = trials.filter(|trials| !trials.holds() && trials.rate > above);
        failed.min_by(|one, other| one.rate.total_cmp(&other.rate))
    }
}

/// The outcomes of one rate.
#[derive(Clone, Copy, Debug)]
struct Trials {
    rate: f64,
    held: usize,
    failed: usize,
}

impl Trials {
    /// True if it held more often than not.
    fn holds(&self) -> bool {
        self.held > self.failed
    }

    /// True if a majority of its trials agrees: two that held, or three that failed, since disturbances of
    /// the machine make trials fail and none hold.
    fn is_confirmed(&self) -> bool {
        if self.holds() { self.held >= 2 } else { self.failed > self.held && self.failed >= 3 }
    }
}

#[cfg(test)]
mod tests {
    use super::{RateFound, RateSearch, TRIALS_MAX};
    use fastrand::Rng;

    /// Runs a search; the closure says whether a rate holds. Returns what was found, and the number of
    /// trials.
    fn search(saturated: f64, mut holds: impl FnMut(f64) -> bool) -> (RateFound, usize) {
        let mut search = RateSearch::new(saturated).expect("the rate is usable");
        for trials in 0.. {
            match search.next() {
                Ok(rate) => {
                    assert!(rate > 0.0 && rate <= 1.25 * saturated, "{rate} of {saturated}");
                    let held = holds(rate);
                    search.record(rate, held);
                }
                Err(found) => return (found, trials),
            }
        }
        unreachable!("a search ends")
    }

    #[test]
    fn the_highest_rate_is_found_within_five_percent() {
        for limit in [0.01, 0.1, 0.33, 0.5, 0.79, 0.8, 0.95, 1.0, 1.2] {
            let (found, trials) = search(10_000.0, |rate| rate <= limit * 10_000.0);
            let RateFound::Rate { per_s, fails_per_s } = found else {
                panic!("{limit}: {found:?}");
            };
            assert!(
                per_s <= limit * 10_000.0 && per_s * 1.051 >= limit * 10_000.0,
                "{limit}: {per_s}"
            );
            assert!(
                fails_per_s.is_none_or(|fails| fails > limit * 10_000.0 && fails <= per_s * 1.051)
            );
            assert!(trials <= 16, "{limit}: {trials} trials");
        }
    }

    #[test]
    fn a_bound_that_never_holds_or_always_does_is_said() {
        let (found, trials) = search(1_000.0, |_| false);
        assert!(matches!(found, RateFound::None { least_per_s } if least_per_s < 4.0), "{found:?}");
        assert!(trials <= 10);
        let (found, _) = search(1_000.0, |_| true);
        let highest =
            matches!(found, RateFound::Rate { per_s, fails_per_s: None } if per_s > 1_190.0);
        assert!(highest, "{found:?}");
        assert!(RateSearch::new(0.0).is_none() && RateSearch::new(f64::NAN).is_none());
    }

    #[test]
    fn noise_near_the_limit_moves_the_result_by_little() {
        let mut wrong = 0;
        for seed in 0..500 {
            let mut random = Rng::with_seed(seed);
            // One trial in ten is disturbed and does not hold; within 5 % of the limit the outcome is chance.
            let (found, trials) = search(50_000.0, |rate| {
                let near = (rate / 30_000.0 - 1.0).abs() < 0.05;
                let holds = if near { random.bool() } else { rate < 30_000.0 };
                holds && random.u8(..10) > 0
            });
            assert!(trials <= TRIALS_MAX);
            let is_near = matches!(found, RateFound::Rate { per_s, .. } if (25_000.0..=32_000.0).contains(&per_s));
            wrong += usize::from(!is_near);
        }
        // Three disturbed trials of one rate mislead it; chance near the limit uses up its trials.
        assert!(wrong <= 25, "{wrong} of 500");
    }
}
