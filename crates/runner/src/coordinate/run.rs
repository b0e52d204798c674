//! One run, from the preflight check to the removal of its tables.
//!
//! Phases: preflight check (`Target::preflight`), refusal, create, reported settings
//! (`Target::reported_settings`), load, connect, warm up, measure, drain, check, remove. After `create` was
//! called, `remove` is called on every path, with two exceptions: rows that a later run shall reuse are kept
//! once they are completely loaded, and reopened rows are never removed.

use crate::account::measured::RunMeasurements;
use crate::account::result::{ClientFacts, RunHead, RunResult, TargetFacts, WorkloadFacts};
use crate::account::result_builder::{Around, assemble};
use crate::account::sampler::Sampler;
use crate::account::warning::RunWarning;
use crate::account::worker_report::WorkerReport;
use crate::coordinate::coordinator::Coordinator;
use crate::coordinate::counter_readings::CounterReadings;
use crate::coordinate::dataset::Dataset;
use crate::coordinate::disk_guard::DiskGuard;
use crate::coordinate::interruptible::{NO_LIMIT_NS, Unanswered, block_on_until_stopped};
use crate::coordinate::load::load;
use crate::coordinate::observer::{Event, Observer};
use crate::coordinate::preflight::admit;
use crate::drive::executor::block_on;
use crate::drive::transaction_listener::TransactionListener;
use crate::error::Error;
use crate::plan::RunPlan;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_contract::{
    Check, CheckOutcome, Client, DryRunPlan, Failure, LogLocation, ReportedSettings, Stop, Target,
    TargetResult, Workload,
};
use syncline_host::{BlockDevice, FileSystemSpace, Machine};
use syncline_instrument::clock;

/// Runs a workload on a target. The target is private to the run: its tables are created first and
/// removed last, on every path, unless the plan says that several runs share the loaded rows. Setting `stop`
/// ends the run with what was measured.
///
/// What the store does during the run is a result. An error means that nothing was measured, or that
/// there is a bug.
pub fn run<T: Target, W: Workload>(
    target: &T,
    workload: &W,
    plan: &RunPlan,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Result<RunResult, Error> {
    run_with_listener(target, workload, plan, stop, observer, None)
}

/// Like [`run`], with a listener for every transaction.
pub fn run_with_listener<T: Target, W: Workload>(
    target: &T,
    workload: &W,
    plan: &RunPlan,
    stop: &AtomicBool,
    observer: &dyn Observer,
    listener: Option<&dyn TransactionListener>,
) -> Result<RunResult, Error> {
    let preflight = block_on(target.preflight());
    preflight.map_err(|source| Error::Target {
        target: target.name(),
        doing: "the preflight check ran",
        source,
    })?;
    let workers = admit(target, workload, plan)?;
    let dataset = Dataset::of(workload, plan, stop);
    let lifecycle = RunLifecycle {
        target,
        workload,
        dataset: &dataset,
        plan,
        workers,
        stop,
        observer,
        listener,
    };
    let mut removal = Removal { target: Some(target), keeps: false };
    let result = lifecycle.execute(&mut removal.keeps);
    observer.event(Event::Removing);
    let removed = removal.now().map_err(|failure| failure.what);
    let result = match (result, removed) {
        (Ok(result), Ok(())) => result,
        (Ok(mut result), Err(why)) => {
            result.warnings.push(RunWarning::NotRemoved { why });
            result
        }
        (Err(error), Ok(())) => return Err(error),
        (Err(error), Err(why)) => {
            let error = Box::new(error);
            return Err(Error::NotRemoved { error, why });
        }
    };
    observer.event(Event::Ended(&result));
    Ok(result)
}

/// Removes the target's tables or keeps them, by [`Removal::now`] or when dropped, by a panic too.
struct Removal<'r, T: Target> {
    target: Option<&'r T>,
    keeps: bool,
}

impl<T: Target> Removal<'_, T> {
    fn now(mut self) -> TargetResult<()> {
        self.target.take().map_or(Ok(()), |target| end(target, self.keeps))
    }
}

fn end<T: Target>(target: &T, keeps: bool) -> TargetResult<()> {
    if keeps { block_on(target.keep()) } else { block_on(target.remove()) }
}

impl<T: Target> Drop for Removal<'_, T> {
    fn drop(&mut self) {
        if let Some(target) = self.target.take()
            && end(target, self.keeps).is_err()
        {
            // Only a panic leads here, and the panic is reported.
        }
    }
}

struct RunLifecycle<'r, T, W> {
    target: &'r T,
    workload: &'r W,
    dataset: &'r Dataset<'r>,
    plan: &'r RunPlan,
    workers: usize,
    stop: &'r AtomicBool,
    observer: &'r dyn Observer,
    listener: Option<&'r dyn TransactionListener>,
}

impl<T: Target, W: Workload> RunLifecycle<'_, T, W> {
    /// `keeps` is set as soon as there are rows that must not be removed.
    fn execute(&self, keeps: &mut bool) -> Result<RunResult, Error> {
        let began_wall_ns = clock::wall();
        self.observer.event(Event::Creating);
        // Kept rows may exist until `reopen` has answered, so nothing may be removed before.
        *keeps = self.plan.reuse;
        let reopened = self.dataset.reopen(self.target)?;
        *keeps = reopened;
        let loads = !reopened || self.dataset.adds();
        let disk = self.disk_guard(loads)?;
        // The salt is the start time, which the record holds, so that the same inputs can be generated again.
        let salt = if reopened { began_wall_ns } else { 0 };
        self.workload.run_begins(salt);
        if reopened {
            let checked = self.check_kept_rows();
            checked.map_err(|why| why.into_error(self.target, "its kept rows were checked"))?;
        } else {
            let created = block_on(self.target.create(&self.dataset.plan));
            created.map_err(|source| self.failed("its tables were created", source))?;
        }
        let reported_settings = block_on(self.target.reported_settings());
        let reported_settings =
            reported_settings.map_err(|source| self.failed("its settings were read", source))?;
        // After `create`, which determines where the log is, and before any worker starts, so that all
        // workers are counted.
        let sampler =
            Sampler::new(self.target.process(), self.log_device(), self.target.unseen_syncs());
        let dry_run = self.target.dry_run(&self.dataset.plan, self.plan.clients);
        let dry_run =
            dry_run.map_err(|source| self.failed("its statements were listed", source))?;
        let mut head =
            self.head(began_wall_ns, reported_settings, dry_run, reopened, &sampler, &disk);
        self.go_on("its tables were created")?;
        if loads {
            if reopened {
                self.dataset.begin_adding(self.target)?;
            }
            let (target, workload) = (self.target, self.workload);
            let (stop, observer) = (self.stop, self.observer);
            load(target, workload, self.dataset, &disk, stop, observer)?;
            self.dataset.mark(target)?;
            *keeps = reopened || self.dataset.stays();
        }
        self.dataset.begin_changes(self.target)?;
        let coordinator = Coordinator {
            target: self.target,
            workload: self.workload,
            dataset: self.dataset,
            plan: self.plan,
            workers: self.workers,
            sampler: &sampler,
            disk: &disk,
            stop: self.stop,
            observer: self.observer,
            listener: self.listener,
        };
        let (coordinator, clients, trials) = coordinator.tune_worker_count()?;
        head.worker_trials = trials;
        head.client.workers = coordinator.workers;
        let mut readings = CounterReadings::before(self.target);
        self.observer.event(Event::Started(&head));
        let mut measured = coordinator.measure(clients)?;
        let waits = self.unfinished_wait(&measured);
        let counters = readings.after(self.target);
        self.observer.event(Event::Checking);
        let (checks, warning) = self.check(&mut measured);
        let refusals = readings.refusals.into_iter();
        let refusals = refusals.map(|why| RunWarning::NotAnswered { why });
        let unmarked = match &waits {
            // The commit of the mark would wait like the unfinished transactions.
            Some(why) => self.dataset.changes().then(|| why.clone()),
            None => self.dataset.end_changes(self.target).err().map(Unanswered::what),
        };
        let unmarked = unmarked.map(|why| RunWarning::NotMarked { why });
        let waits = waits.map(|why| RunWarning::SessionsWait { why });
        let more = warning.into_iter().chain(refusals).chain(unmarked).chain(waits);
        let more = more.collect();
        Ok(assemble(
            head,
            self.workload,
            measured,
            &sampler,
            Around { counters, round_trip_ns: readings.round_trip_ns, checks, warnings: more },
        ))
    }

    fn disk_guard(&self, loads: bool) -> Result<DiskGuard, Error> {
        let guard = DiskGuard::before(self.target, self.workload, loads, FileSystemSpace::of);
        guard.map_err(|why| Error::Refused {
            target: self.target.name(),
            workload: self.workload.name().to_owned(),
            why,
        })
    }

    /// What the sessions with unfinished transactions wait for. Queries the store only if there are any.
    fn unfinished_wait(&self, measured: &RunMeasurements<W>) -> Option<String> {
        let kinds = measured.reports.iter().flat_map(|report| &report.stats.kinds);
        let unfinished: u64 = kinds.map(|kind| kind.outcomes.unfinished).sum();
        if unfinished == 0 {
            return None;
        }
        block_on(self.target.unfinished_wait()).ok().flatten()
    }

    fn go_on(&self, doing: &'static str) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) {
            let waits_for = None;
            return Err(Error::Stopped { doing, waits_for });
        }
        Ok(())
    }

    fn log_device(&self) -> Result<BlockDevice, String> {
        match self.target.log_location() {
            LogLocation::Directory(directory) => BlockDevice::of(&directory, Path::new("/")),
            LogLocation::Nowhere(why) => Err(why),
        }
    }

    fn head(
        &self,
        began_wall_ns: u64,
        reported_settings: ReportedSettings,
        dry_run: DryRunPlan,
        reopened: bool,
        sampler: &Sampler,
        disk: &DiskGuard,
    ) -> RunHead {
        let options = self.workload.options().into_iter();
        let can = self.target.capabilities();
        RunHead {
            began_wall_ns,
            plan: RunPlan {
                pipeline: Some(self.dataset.plan.pipeline && can.pipelines),
                ..self.plan.clone()
            },
            target: TargetFacts {
                name: self.target.name(),
                reported_settings,
                log_location: self.target.log_location(),
                process: self.target.process(),
                disk_space: disk.reserves().clone(),
                dry_run,
            },
            workload: WorkloadFacts {
                name: self.workload.name().to_owned(),
                notice: self.workload.notice().map(str::to_owned),
                options: options.map(|(name, value)| (name.to_owned(), value)).collect(),
                unit: self.workload.unit(),
                rows_kept: reopened,
            },
            client: ClientFacts {
                model: can.client_model,
                clients: self.plan.clients,
                workers: self.workers,
            },
            worker_trials: None,
            machine: Machine::read(Path::new("/")),
            device: sampler.log_device().clone(),
        }
    }

    /// The workload's checks, and a warning if they could not run.
    fn check(&self, measured: &mut RunMeasurements<W>) -> (Vec<Check>, Option<RunWarning>) {
        if !self.target.capabilities().keeps_rows {
            return (self.not_applicable("the target keeps no rows"), None);
        }
        let tallies = tallies(&mut measured.reports);
        match self.run_checks(tallies) {
            Ok(checks) => (checks, None),
            Err(unanswered) => {
                let why = unanswered.what();
                let checks = self.not_applicable(&format!("the check could not run: {why}"));
                (checks, Some(RunWarning::ChecksNotMade { why }))
            }
        }
    }

    fn run_checks(
        &self,
        tallies: Vec<<W::Client as Client>::Tally>,
    ) -> Result<Vec<Check>, Unanswered> {
        self.alone(async |session| self.workload.check(tallies, session).await)
    }

    fn check_kept_rows(&self) -> Result<(), Unanswered> {
        self.alone(async |session| self.workload.read_kept_rows(session).await)
    }

    /// Runs read-only `queries` on a separate session, while there are no clients.
    fn alone<R>(
        &self,
        queries: impl AsyncFnOnce(&mut T::Session) -> Result<R, Stop>,
    ) -> Result<R, Unanswered> {
        let part = self.target.worker()?;
        let answer = async {
            let session = self.target.connect(&self.dataset.plan, &part).await;
            let mut session = session.map_err(|failure| Stop::Failed(Box::new(failure)))?;
            queries(&mut session).await
        };
        // They only read, so at the end of a stopped run they may take as long as they need.
        let answer = block_on_until_stopped(answer, &part, self.stop, NO_LIMIT_NS);
        let answer = answer.ok_or(Unanswered::Stopped)?;
        answer.map_err(|stop| {
            Unanswered::Failed(match stop {
                Stop::Failed(failure) | Stop::Unknown(failure) => *failure,
                Stop::Abort | Stop::Conflict(_) => Failure::new(
                    syncline_contract::FailureKind::Statement,
                    "the checks conflicted with a transaction of another session",
                ),
            })
        })
    }

    fn not_applicable(&self, why: &str) -> Vec<Check> {
        let names = self.workload.check_names().into_iter();
        names
            .map(|name| Check {
                name: name.to_owned(),
                outcome: CheckOutcome::NotApplicable(why.to_owned()),
            })
            .collect()
    }

    fn failed(&self, doing: &'static str, source: Failure) -> Error {
        Error::Target { target: self.target.name(), doing, source }
    }
}

/// The tallies by client number; the reports keep everything else.
fn tallies<W: Workload>(reports: &mut [WorkerReport<W>]) -> Vec<<W::Client as Client>::Tally> {
    let clients = reports.iter_mut().flat_map(|report| &mut report.clients);
    let mut tallies: Vec<_> =
        clients.filter_map(|client| Some((client.number, client.client.take()?.tally()))).collect();
    tallies.sort_by_key(|(number, _)| *number);
    tallies.into_iter().map(|(_, tally)| tally).collect()
}
