//! How many workers drive the clients of a store that works in this process, found out by trying.
//!
//! A worker a processor is right for most loads. But where a pass over all clients takes less than the write
//! of the log that they then wait for, one worker commits more than two: nobody must be woken on another
//! processor, and the write begins and ends on one. No rule tells beforehand which it is, since both times
//! are the machine's. So before the warm-up the clients run for some slices under as many workers as there
//! are processors, under half of them, and so on down to one, in turns; those under which most was committed
//! drive the run.
//!
//! What is committed meanwhile is not measured, as in the warm-up. A client goes on where it was: its next
//! draw is the one behind its last.

use crate::arrival::Times;
use crate::control::{Control, Start};
use crate::error::Error;
use crate::executor::Phase;
use crate::live::{Live, committed};
use crate::measure::Crew;
use crate::plan::Arrival;
use crate::watch::LOOK_NS;
use syncline_contract::{ClientModel, LogPlace, StoreProcess, Target, Workload};
use syncline_metering::{Nanos, clock};

/// Each number of workers has so many slices.
const SLICES: usize = 2;

/// A slice lasts so much of the warm-up, one part in so many, within these bounds.
const WARM_UP_PARTS: u64 = 8;
const SLICE_NS_MIN: Nanos = 60_000_000;
const SLICE_NS_MAX: Nanos = 250_000_000;

/// Clients between two crews, each with its number, in the order of the numbers.
pub(crate) type Clients<W> = Vec<(usize, <W as Workload>::Client)>;

/// A crew, and the clients that go on under it; none if they have not run yet.
type Staffed<'r, T, W> = (Crew<'r, T, W>, Option<Clients<W>>);

/// What came of a slice: commits a nanosecond, and the clients.
struct Trial<W: Workload> {
    rate: f64,
    clients: Clients<W>,
}

impl<'r, T: Target, W: Workload> Crew<'r, T, W> {
    /// The crew with the number of workers that serves best, and the clients if they have run under it.
    pub(crate) fn staffed(self) -> Result<Staffed<'r, T, W>, Error> {
        if !self.is_to_be_tried() {
            return Ok((self, None));
        }
        let slice_ns = clock::nanos(self.plan.warm_up) / WARM_UP_PARTS;
        let slice_ns = slice_ns.clamp(SLICE_NS_MIN, SLICE_NS_MAX);
        let mut tried: Vec<(usize, f64)> = halves(self.workers).map(|few| (few, 0.0)).collect();
        let mut clients = None;
        for _ in 0..SLICES {
            for (workers, rate) in &mut tried {
                let crew = Crew {
                    workers: *workers,
                    ..self
                };
                let trial = crew.trial(slice_ns, clients.take())?;
                *rate += trial.rate;
                clients = Some(trial.clients);
            }
        }
        let workers = best(&tried);
        Ok((Crew { workers, ..self }, clients))
    }

    /// True if nobody has said how many workers there are, the clients are futures that wait for nothing but
    /// a log in this process, and there is a warm-up.
    fn is_to_be_tried(&self) -> bool {
        let (plan, target) = (self.plan, self.target);
        self.workers > 1
            && plan.workers.is_none()
            && plan.pin.is_empty()
            && !plan.warm_up.is_zero()
            && plan.arrival == Arrival::Closed
            && target.capabilities().client_model == ClientModel::Futures
            && target.process() == StoreProcess::Ours
            && matches!(target.log_place(), LogPlace::Directory(_))
    }

    fn trial(&self, slice_ns: Nanos, clients: Option<Clients<W>>) -> Result<Trial<W>, Error> {
        let control = Control::new(self.workers, None);
        let live: Vec<Live> = (0..self.workers).map(|_| Live::new()).collect();
        let watch = || self.look_on(&control, &live, slice_ns);
        let (rate, reports) = self.employ(&control, &live, clients, watch)?;
        if let Some(source) = control.take_failure() {
            return Err(self.target_failed("workers were tried", source));
        }
        let clients = reports.into_iter().flat_map(|report| report.clients);
        let clients = clients.filter_map(|client| Some((client.number, client.client?)));
        let mut clients: Clients<W> = clients.collect();
        clients.sort_by_key(|(number, _)| *number);
        match rate {
            Some(rate) if clients.len() == self.plan.clients => Ok(Trial { rate, clients }),
            _ => Err(Error::Stopped {
                doing: "workers were tried",
            }),
        }
    }

    /// Lets the clients run for a slice; commits a nanosecond of its later half, or none if it was cut short.
    fn look_on(&self, control: &Control, live: &[Live], slice_ns: Nanos) -> Option<f64> {
        if !self.all_connect(control) {
            return None;
        }
        let start = clock::now();
        control.open(Start {
            times: Times {
                start,
                measure: Nanos::MAX,
                deadline: Nanos::MAX,
            },
            schedules: Vec::new(),
        });
        let settled = self.rest_until(control, start + slice_ns / 2);
        let (before, since) = (committed(live), clock::now());
        let lasted = settled && self.rest_until(control, start + slice_ns);
        let (commits, span_ns) = (committed(live) - before, clock::now() - since);
        control.advance(Phase::Ending);
        control.wait_for_all(self.drained(clock::now()));
        lasted.then(|| commits as f64 / span_ns.max(1) as f64)
    }

    /// False if the run is over before.
    fn rest_until(&self, control: &Control, until: Nanos) -> bool {
        loop {
            let left = until.saturating_sub(clock::now());
            if self.asked_to_stop() || control.ending() {
                return false;
            }
            if left == 0 {
                return true;
            }
            Control::rest(LOOK_NS.min(left));
        }
    }
}

/// So many, half of them, and so on down to one.
fn halves(most: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(most), |few| Some(few / 2).filter(|half| *half > 0))
}

/// The number of workers with the highest rate; the lowest of equals.
fn best(tried: &[(usize, f64)]) -> usize {
    let best = tried
        .iter()
        .max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)));
    best.map_or(1, |(workers, _)| *workers)
}

#[cfg(test)]
mod tests {
    use super::{best, halves};

    #[test]
    fn numbers_are_halved_down_to_one() {
        assert_eq!(halves(1).collect::<Vec<_>>(), [1]);
        assert_eq!(halves(2).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(halves(12).collect::<Vec<_>>(), [12, 6, 3, 1]);
    }

    #[test]
    fn the_highest_rate_is_chosen_and_the_fewest_workers_of_equals() {
        assert_eq!(best(&[(4, 1.0), (2, 3.0), (1, 2.0)]), 2);
        assert_eq!(best(&[(4, 3.0), (2, 3.0), (1, 2.0)]), 2);
        assert_eq!(best(&[(2, 0.0), (1, 0.0)]), 1);
    }
}
