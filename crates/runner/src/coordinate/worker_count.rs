//! Worker autotuning: chooses by trial how many workers drive the clients of a store in this process.
//!
//! One worker per processor is right for most loads. But if a pass over all clients takes less time than the
//! log write that they then wait for, one worker commits more than two: no thread must be woken on another
//! processor, and the write begins and ends on one. No rule predicts which case applies, because both times
//! depend on the machine. So before the warm-up the clients run in slices with as many workers as there are
//! processors, with half as many, and so on down to one, in turns. The number that commits most drives the
//! run.
//!
//! Two short slices of each number decide if one number commits far more in each of its slices than any other
//! in any slice. Otherwise the choice is within the noise of such slices, and longer slices decide. The
//! record has the commits of each slice, and whether the choice was clear.
//!
//! Commits of the trials are not measured, as in the warm-up. A client continues where it was: its next
//! transaction is the one after its last.

use crate::account::live_counters::{LiveCounters, committed};
use crate::account::measured_span::PhaseTimes;
use crate::account::range::Range;
use crate::account::result::WorkerTrials;
use crate::account::worker_report::Clients;
use crate::coordinate::coordinator::Coordinator;
use crate::coordinate::phases::POLL_NS;
use crate::drive::control::{Control, Start};
use crate::drive::executor::Phase;
use crate::error::Error;
use crate::plan::Arrival;
use syncline_contract::{ClientModel, LogLocation, StoreProcess, Target, Workload};
use syncline_instrument::{Nanos, clock};
use syncline_record::WorkerTrial;

/// Short slices per number of workers.
const SLICES: usize = 2;
/// Long slices per number of workers, if the short ones do not decide.
const LONG_SLICES: usize = 4;
/// The length of a long slice over that of a short one.
const LONG_SLICE_FACTOR: u64 = 2;
/// The factor by which the worst slice of one number must exceed the best slice of any other to decide
/// at once.
const CLEAR_LEAD: f64 = 1.25;
/// The factor by which the best median must exceed all others after the long slices for a clear choice; their
/// ranges must not overlap either.
const LEAD: f64 = 1.03;

/// A short slice is this fraction of the warm-up, within the two bounds below.
const WARM_UP_PARTS: u64 = 8;
const SLICE_NS_MIN: Nanos = 60_000_000;
const SLICE_NS_MAX: Nanos = 250_000_000;

/// A coordinator, the clients that continue under it (`None` if they have not run yet), and the trials
/// (`None` if there were none).
type TunedWorkers<'r, T, W> = (Coordinator<'r, T, W>, Option<Clients<W>>, Option<WorkerTrials>);

/// The result of a slice: commits per nanosecond, and the clients.
struct Trial<W: Workload> {
    rate: f64,
    clients: Clients<W>,
}

impl<'r, T: Target, W: Workload> Coordinator<'r, T, W> {
    /// Returns the coordinator with the best number of workers, and the clients if they have run in trials.
    pub(crate) fn tune_worker_count(self) -> Result<TunedWorkers<'r, T, W>, Error> {
        if !self.should_tune() {
            return Ok((self, None, None));
        }
        let slice_ns = clock::nanos(self.plan.warm_up) / WARM_UP_PARTS;
        let slice_ns = slice_ns.clamp(SLICE_NS_MIN, SLICE_NS_MAX);
        let mut tried: Vec<WorkerTrial> = halves(self.workers)
            .map(|workers| WorkerTrial { workers: workers as u64, commits_per_s: Vec::new() })
            .collect();
        let mut clients = None;
        for _ in 0..SLICES {
            self.try_each(slice_ns, &mut tried, &mut clients)?;
        }
        if clear_winner(&tried).is_none() {
            // Short slices start colder and have fewer commits, so they are not mixed with longer ones.
            for one in &mut tried {
                one.commits_per_s.clear();
            }
            for _ in 0..LONG_SLICES {
                self.try_each(slice_ns * LONG_SLICE_FACTOR, &mut tried, &mut clients)?;
            }
        }
        let (workers, clear) = chosen(&tried);
        let trials = WorkerTrials { tried, clear };
        Ok((Coordinator { workers, ..self }, clients, Some(trials)))
    }

    /// Runs one slice with each number of workers.
    fn try_each(
        &self,
        slice_ns: Nanos,
        tried: &mut [WorkerTrial],
        clients: &mut Option<Clients<W>>,
    ) -> Result<(), Error> {
        for one in tried {
            let coordinator = Coordinator { workers: one.workers as usize, ..*self };
            let trial = coordinator.trial(slice_ns, clients.take())?;
            one.commits_per_s.push(trial.rate * clock::SECOND as f64);
            *clients = Some(trial.clients);
        }
        Ok(())
    }

    /// True if the plan does not set the number of workers, the clients are futures that wait only for a log
    /// in this process, and there is a warm-up.
    fn should_tune(&self) -> bool {
        let (plan, target) = (self.plan, self.target);
        self.workers > 1
            && plan.workers.is_none()
            && plan.pin.is_empty()
            && !plan.warm_up.is_zero()
            && plan.arrival == Arrival::Closed
            && target.capabilities().client_model == ClientModel::Futures
            && target.process() == StoreProcess::InProcess
            && matches!(target.log_location(), LogLocation::Directory(_))
    }

    fn trial(&self, slice_ns: Nanos, clients: Option<Clients<W>>) -> Result<Trial<W>, Error> {
        let control = Control::new(self.workers, None);
        let live: Vec<LiveCounters> = (0..self.workers).map(|_| LiveCounters::new(false)).collect();
        let watch = || self.measure_slice(&control, &live, slice_ns);
        let (rate, reports) = self.run_workers(&control, &live, clients, watch)?;
        if let Some(source) = control.take_failure() {
            return Err(self.target_failed("workers were tried", source));
        }
        let clients = reports.into_iter().flat_map(|report| report.clients);
        let clients = clients.filter_map(|client| Some((client.number, client.client?)));
        let mut clients: Clients<W> = clients.collect();
        clients.sort_by_key(|(number, _)| *number);
        match rate {
            Some(rate) if clients.len() == self.plan.clients => Ok(Trial { rate, clients }),
            _ => Err(match self.disk.shortage() {
                Some(why) => self.disk_space("workers were tried", why),
                None => Error::Stopped { doing: "workers were tried", waits_for: None },
            }),
        }
    }

    /// Lets the clients run for a slice. Returns commits per nanosecond of its second half, or `None` if the
    /// run ended before the slice did.
    fn measure_slice(
        &self,
        control: &Control,
        live: &[LiveCounters],
        slice_ns: Nanos,
    ) -> Option<f64> {
        if !self.all_connect(control) {
            return None;
        }
        let start = clock::now();
        control.open(Start {
            times: PhaseTimes { start, measure: Nanos::MAX, deadline: Nanos::MAX },
            schedules: Vec::new(),
        });
        let reached_half = self.rest_until(control, start + slice_ns / 2);
        let (before, since) = (committed(live), clock::now());
        let lasted = reached_half && self.rest_until(control, start + slice_ns);
        let (commits, span_ns) = (committed(live) - before, clock::now() - since);
        control.advance(Phase::Ending);
        control.wait_for_all(self.drained(clock::now()));
        lasted.then(|| commits as f64 / span_ns.max(1) as f64)
    }

    /// Waits until then; false if the run ends before.
    fn rest_until(&self, control: &Control, until: Nanos) -> bool {
        loop {
            let left = until.saturating_sub(clock::now());
            if self.stop_requested() || control.ending() || self.disk.shortage().is_some() {
                return false;
            }
            if left == 0 {
                return true;
            }
            Control::rest(POLL_NS.min(left));
        }
    }
}

/// `most`, half of it, and so on down to one.
fn halves(most: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(most), |few| Some(few / 2).filter(|half| *half > 0))
}

/// The number of workers whose slices are all far above every slice of all others.
fn clear_winner(tried: &[WorkerTrial]) -> Option<usize> {
    let best = best(tried)?;
    beats(best, tried, CLEAR_LEAD, |one| one.least).then_some(best.workers as usize)
}

/// The number of workers with the highest median (the lowest number of equals), and whether the choice is
/// clear.
fn chosen(tried: &[WorkerTrial]) -> (usize, bool) {
    let Some(best) = best(tried) else {
        return (1, true);
    };
    let apart = beats(best, tried, 1.0, |one| one.least);
    let ahead = clear_winner(tried).is_some() || {
        let mut others = tried.iter().filter(|other| other.workers != best.workers);
        others.all(|other| median(best) >= median(other) * LEAD)
    };
    (best.workers as usize, apart && ahead)
}

/// True if `of(range of the best)` is more than `times` the best slice of every other number.
fn beats(best: &WorkerTrial, tried: &[WorkerTrial], times: f64, of: impl Fn(Range) -> f64) -> bool {
    let Some(best_range) = Range::of(best.commits_per_s.iter().copied()) else {
        return false;
    };
    let mut others = tried.iter().filter(|other| other.workers != best.workers);
    others.all(|other| {
        let range = Range::of(other.commits_per_s.iter().copied());
        range.is_some_and(|range| of(best_range) > range.most * times)
    })
}

fn best(tried: &[WorkerTrial]) -> Option<&WorkerTrial> {
    tried.iter().max_by(|one, other| {
        let rates = median(one).total_cmp(&median(other));
        rates.then(other.workers.cmp(&one.workers))
    })
}

fn median(trial: &WorkerTrial) -> f64 {
    Range::of(trial.commits_per_s.iter().copied()).map_or(0.0, |range| range.median)
}

#[cfg(test)]
mod tests {
    use super::{WorkerTrial, chosen, clear_winner, halves};

    #[test]
    fn numbers_are_halved_down_to_one() {
        assert_eq!(halves(1).collect::<Vec<_>>(), [1]);
        assert_eq!(halves(2).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(halves(12).collect::<Vec<_>>(), [12, 6, 3, 1]);
    }

    fn tried(each: &[(usize, &[f64])]) -> Vec<WorkerTrial> {
        let each = each.iter();
        each.map(|(workers, rates)| WorkerTrial {
            workers: *workers as u64,
            commits_per_s: rates.to_vec(),
        })
        .collect()
    }

    #[test]
    fn the_highest_rate_is_chosen_and_the_fewest_workers_of_equals() {
        let choice = |each: &[(usize, &[f64])]| chosen(&tried(each)).0;
        assert_eq!(choice(&[(4, &[1.0]), (2, &[3.0]), (1, &[2.0])]), 2);
        assert_eq!(choice(&[(4, &[3.0]), (2, &[3.0]), (1, &[2.0])]), 2);
        assert_eq!(choice(&[(2, &[0.0]), (1, &[0.0])]), 1);
    }

    /// Item 2: two workers were chosen after a slice or two, although one made 332k/s instead of 284k/s.
    #[test]
    fn slices_that_differ_by_their_noise_do_not_decide_at_once() {
        let close = tried(&[(2, &[330e3, 290e3]), (1, &[280e3, 335e3])]);
        assert_eq!(clear_winner(&close), None);
        // Apart, but by less than such slices differ.
        let apart = tried(&[(2, &[330e3, 325e3]), (1, &[300e3, 280e3])]);
        assert_eq!(clear_winner(&apart), None);
        let far = tried(&[(2, &[57e3, 60e3]), (1, &[110e3, 100e3])]);
        assert_eq!(clear_winner(&far), Some(1));
    }

    #[test]
    fn a_choice_is_clear_only_if_the_slices_do_not_overlap() {
        let long = tried(&[(2, &[284e3, 290e3, 280e3, 286e3]), (1, &[332e3, 325e3, 340e3, 330e3])]);
        assert_eq!(chosen(&long), (1, true));
        let overlapping =
            tried(&[(2, &[284e3, 330e3, 280e3, 286e3]), (1, &[332e3, 325e3, 340e3, 290e3])]);
        assert_eq!(chosen(&overlapping), (1, false));
        let near = tried(&[(2, &[100.0, 100.1]), (1, &[101.0, 101.1])]);
        assert_eq!(chosen(&near), (1, false), "less than 3 % apart");
    }
}
