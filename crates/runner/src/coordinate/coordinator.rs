//! The coordinator: starts the workers, controls the run, and collects the workers' reports.

use crate::account::live_counters::{LiveCounters, LiveTotals, OutcomeKind};
use crate::account::measured::{RunMeasurements, StopCause};
use crate::account::measured_span::{self, PhaseTimes, SpanEnd};
use crate::account::sampler::{Reading, Sampler};
use crate::account::worker_report::Clients;
use crate::account::worker_report::WorkerReport;
use crate::coordinate::dataset::Dataset;
use crate::coordinate::disk_guard::DiskGuard;
use crate::coordinate::observer::Observer;
use crate::coordinate::phases::RunPhases;
use crate::drive::control::Control;
use crate::drive::executor::Phase;
use crate::drive::transaction_listener::TransactionListener;
use crate::drive::worker::WorkerTask;
use crate::error::Error;
use crate::plan::{Arrival, RunPlan};
use std::any::Any;
use std::sync::atomic::AtomicBool;
use std::thread::ScopedJoinHandle;
use syncline_contract::{Failure, Target, Workload};
use syncline_instrument::Nanos;
use syncline_record::Arrivals;

/// The parts of a run that exist before its workers.
pub(crate) struct Coordinator<'r, T, W> {
    pub target: &'r T,
    pub workload: &'r W,
    pub dataset: &'r Dataset<'r>,
    pub plan: &'r RunPlan,
    pub workers: usize,
    pub sampler: &'r Sampler,
    pub disk: &'r DiskGuard,
    pub stop: &'r AtomicBool,
    pub observer: &'r dyn Observer,
    pub listener: Option<&'r dyn TransactionListener>,
}

type Handle<'s, W> = ScopedJoinHandle<'s, Result<Option<WorkerReport<W>>, Error>>;

impl<T: Target, W: Workload> Coordinator<'_, T, W> {
    /// Reads all counters, the store's own count of synchronous writes included.
    pub(crate) fn read(&self) -> Reading {
        let mut reading = self.sampler.read();
        reading.synced_writes = self.target.synced_writes();
        reading
    }

    /// Runs the clients from connecting to the end of the drain: new ones, or those that have run before.
    pub(crate) fn measure(&self, clients: Option<Clients<W>>) -> Result<RunMeasurements<W>, Error> {
        let control = Control::new(self.workers, self.plan.transactions);
        let open = self.plan.arrival != Arrival::Closed;
        let live: Vec<LiveCounters> = (0..self.workers).map(|_| LiveCounters::new(open)).collect();
        let watch = || self.watch(&control, &live);
        let (watched, reports) = self.run_workers(&control, &live, clients, watch)?;
        match (watched, control.take_failure()) {
            (Some(watched), failure) => {
                self.build_measured(control, &live, reports, watched, failure)
            }
            (None, Some(source)) => Err(self.target_failed("its clients were connected", source)),
            (None, None) => {
                Err(Error::Stopped { doing: "clients were connected", waits_for: None })
            }
        }
    }

    /// Starts the workers, runs `watch` on this thread meanwhile, and collects the workers' reports. If no
    /// client started, now or in an earlier pool, the mark of the kept rows is restored.
    pub(crate) fn run_workers<R>(
        &self,
        control: &Control,
        live: &[LiveCounters],
        clients: Option<Clients<W>>,
        watch: impl FnOnce() -> Option<R>,
    ) -> Result<(Option<R>, Vec<WorkerReport<W>>), Error> {
        let have_run = clients.is_some();
        let scope_result = std::thread::scope(|scope| {
            let spawned: Result<Vec<Handle<'_, W>>, Error> = live
                .iter()
                .zip(deal_clients::<W>(clients, self.workers))
                .enumerate()
                .map(|(number, (live, clients))| {
                    let worker_task = self.worker_task(number, control, live);
                    let thread = std::thread::Builder::new().name(format!("worker {number}"));
                    let spawned = thread.spawn_scoped(scope, move || worker_task.work(clients));
                    spawned.map_err(|source| self.no_thread(number, source))
                })
                .collect();
            let abort_guard = AbortGuard(control);
            let watched = spawned.map(|handles| (watch(), handles));
            drop(abort_guard);
            let (watched, handles) = watched?;
            let joined: Vec<Joined<W>> = handles.into_iter().map(ScopedJoinHandle::join).collect();
            Ok((watched, joined))
        });
        if !have_run && !matches!(scope_result, Ok((Some(_), _))) {
            // A failure here is not reported: the reason why the run ended is more important.
            drop(self.dataset.revert_changes_mark(self.target));
        }
        let (watched, joined) = scope_result?;
        Ok((watched, gather(joined)?))
    }

    fn no_thread(&self, number: usize, source: std::io::Error) -> Error {
        let what = format!("cannot start thread {} of {}", number + 1, self.workers);
        Error::System { what, source }
    }

    fn worker_task<'p>(
        &'p self,
        number: usize,
        control: &'p Control,
        live: &'p LiveCounters,
    ) -> WorkerTask<'p, T, W> {
        WorkerTask {
            number,
            workers: self.workers,
            target: self.target,
            workload: self.workload,
            store_plan: &self.dataset.plan,
            plan: self.plan,
            control,
            live,
            listener: self.listener,
        }
    }

    fn build_measured(
        &self,
        control: Control,
        live: &[LiveCounters],
        reports: Vec<WorkerReport<W>>,
        watched: RunPhases,
        failure: Option<Failure>,
    ) -> Result<RunMeasurements<W>, Error> {
        let times = watched.times;
        let last_ended = reports.iter().map(|report| report.stats.last_ended).max();
        let stopped_by = match (failure, watched.shortage) {
            (Some(failure), _) => StopCause::Failure(failure),
            (None, Some(why)) => StopCause::DiskSpace(why),
            (None, None) if watched.stop_requested => StopCause::Requested,
            (None, None) if control.budget_taken() => StopCause::Transactions,
            (None, None) => StopCause::Duration,
        };
        let (span_end, span_ns) = spans(&control, &times, last_ended);
        let ended = times.measure.saturating_add(span_ns);
        let Some(span) = watched.span.filter(|_| span_ns > 0) else {
            return Err(match stopped_by {
                StopCause::Failure(source) => self.target_failed("it warmed up", source),
                StopCause::DiskSpace(why) => self.disk_space("it warmed up", why),
                _ => Error::Stopped { doing: "it warmed up", waits_for: None },
            });
        };
        let mut tally = LiveTotals::new();
        tally.read(live);
        Ok(RunMeasurements {
            reports,
            arrivals: arrivals(control, ended),
            span_ns,
            span_end,
            to_last_end_ns: last_ended.unwrap_or(0).saturating_sub(times.measure),
            intervals: watched.intervals,
            span: span.readings,
            commits_between: span.commits,
            internals: span.internals,
            commit_paths: span.commit_paths,
            profile: span.profile,
            profiler_cpu: span.profiler_cpu,
            overhead_pairs: watched.overhead_pairs,
            whole: (watched.first, self.read()),
            commits_in_whole: tally.count_whole(OutcomeKind::Committed),
            ended_in_whole: tally.all(),
            coordinator_cpu_ns: watched.coordinator_cpu_ns,
            idle_flushes_per_ns: watched.idle_flushes_per_ns,
            stopped_by,
        })
    }

    pub(crate) fn disk_space(&self, doing: &'static str, why: String) -> Error {
        Error::DiskSpace { target: self.target.name(), doing, why }
    }

    pub(crate) fn target_failed(&self, doing: &'static str, source: Failure) -> Error {
        Error::Target { target: self.target.name(), doing, source }
    }
}

/// The event that ended the measured span, and the length of the span. `last_ended` is the end of its last
/// transaction.
pub(crate) fn spans(
    control: &Control,
    times: &PhaseTimes,
    last_ended: Option<Nanos>,
) -> (SpanEnd, Nanos) {
    let end = match last_ended {
        Some(last_ended) if control.budget_taken() => SpanEnd::Count { last_ended },
        _ => SpanEnd::Time { ended_at: control.ended_at() },
    };
    (end, measured_span::length(times, end))
}

/// The clients of each worker. Clients that have run before are assigned in turn, like new ones.
fn deal_clients<W: Workload>(
    clients: Option<Clients<W>>,
    workers: usize,
) -> Vec<Option<Clients<W>>> {
    let mut dealt: Vec<Option<Clients<W>>> =
        (0..workers).map(|_| clients.as_ref().map(|_| Vec::new())).collect();
    for (number, client) in clients.into_iter().flatten() {
        let of_worker = dealt[number % workers].as_mut();
        of_worker.expect("there are clients to assign").push((number, client));
    }
    dealt
}

/// Ends the workers when `watch` has returned or panicked, so that no worker waits or runs forever.
struct AbortGuard<'c>(&'c Control);

impl Drop for AbortGuard<'_> {
    fn drop(&mut self) {
        self.0.advance(Phase::Abort);
    }
}

type Joined<W> = Result<Result<Option<WorkerReport<W>>, Error>, Box<dyn Any + Send>>;

/// The reports of the workers that started, or the first panic or error.
fn gather<W: Workload>(joined: Vec<Joined<W>>) -> Result<Vec<WorkerReport<W>>, Error> {
    let mut reports = Vec::with_capacity(joined.len());
    for one in joined {
        match one {
            Ok(Ok(report)) => reports.extend(report),
            Ok(Err(error)) => return Err(error),
            Err(panicked) => return Err(Error::panicked(panicked.as_ref())),
        }
    }
    Ok(reports)
}

fn arrivals(control: Control, ended: Nanos) -> Option<Arrivals> {
    let schedules = control.into_start()?.schedules;
    let all = schedules.into_iter().map(|schedule| {
        let schedule = schedule.into_inner();
        schedule.finish(ended)
    });
    all.reduce(Arrivals::plus)
}
