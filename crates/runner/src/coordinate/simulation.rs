//! Runs on a store with a known delay in simulated time, whose figures can be computed by hand.
//!
//! The real client loop runs on the real executor; only time is simulated. It stops while a client runs and
//! jumps to the next sleeper when all sleep. So a commit takes exactly the store's delay, and a run takes no
//! real time. Workers run one after another, each from the same start time, because clients of two workers
//! share nothing but the phase. A budget that workers share therefore needs a plan that gives each client its
//! part (`transactions_each`), or one worker.
//!
//! The readings of the machine are taken at one moment and mean nothing.

use crate::account::live_counters::{LiveCounters, LiveTotals, OutcomeKind};
use crate::account::measured::{RunMeasurements, StopCause};
use crate::account::measured_span::PhaseTimes;
use crate::account::result::{ClientFacts, RunHead, RunResult, TargetFacts, WorkloadFacts};
use crate::account::result_builder::{Around, assemble};
use crate::account::sampler::Sampler;
use crate::account::worker_report::{FinishedClient, WorkerReport};
use crate::account::worker_stats::WorkerStats;
use crate::coordinate::coordinator::spans;
use crate::coordinate::inserts::{InsertingClient, Inserts};
use crate::drive::arrival::Schedule;
use crate::drive::client_loop::{ClientContext, ClientState, client_loop};
use crate::drive::control::Control;
use crate::drive::executor::{Executor, Timers};
use crate::drive::transaction_listener::TransactionListener;
use crate::plan::{Arrival, RunPlan};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::future::poll_fn;
use std::path::Path;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;
use syncline_contract::{
    AccessPattern, Capabilities, ClientModel, DryRunPlan, Durability, Failure, FailureKind,
    Isolation, LogLocation, OperationId, Plan, ReportedSettings, Rows, Session, Stop, StoreProcess,
    Target, TargetResult, Timer, Value, Worker, Workload,
};
use syncline_host::Machine;
use syncline_instrument::{Nanos, Ticker, clock};
use syncline_record::Arrivals;

/// When the clients of every run start.
pub(crate) const BEGIN: Nanos = 7 * clock::SECOND;

/// A store whose commits take a fixed delay of simulated time.
pub(crate) struct Store {
    delay_ns: Nanos,
}

/// The store's part of a worker.
pub(crate) struct Part(Rc<Timers>);

impl Worker for Part {
    fn wait(&self, longest: Option<Duration>) {
        panic!("a worker waits for the real clock in simulated time: {longest:?}");
    }
}

/// A session, whose commits sleep.
pub(crate) struct Connection {
    timers: Rc<Timers>,
    delay_ns: Nanos,
    rows: Rows,
}

impl Session for Connection {
    fn begin(&mut self, _shape: AccessPattern) {}

    fn send(&mut self, _operation: OperationId, _values: &[Value<'_>]) -> Result<(), Stop> {
        Ok(())
    }

    async fn receive(&mut self) -> Result<&Rows, Stop> {
        Ok(&self.rows)
    }

    async fn commit(&mut self) -> Result<(), Stop> {
        let due = self.timers.now() + self.delay_ns;
        let mut asleep = false;
        poll_fn(|context| {
            if self.timers.now() >= due {
                return Poll::Ready(());
            }
            if !std::mem::replace(&mut asleep, true) {
                self.timers.wake_at(due, context.waker().clone());
            }
            Poll::Pending
        })
        .await;
        Ok(())
    }

    async fn abort(&mut self) {}
}

impl Target for Store {
    type Session = Connection;
    type Worker = Part;

    fn name(&self) -> String {
        "known".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::least()
    }

    fn log_location(&self) -> LogLocation {
        LogLocation::Nowhere("it keeps no log".to_owned())
    }

    async fn create(&self, _plan: &Plan) -> TargetResult<()> {
        Ok(())
    }

    async fn reported_settings(&self) -> TargetResult<ReportedSettings> {
        Err(Failure::new(FailureKind::Statement, "the simulation does not read settings"))
    }

    fn worker(&self) -> TargetResult<Part> {
        Err(Failure::new(FailureKind::Statement, "the simulation creates its own parts"))
    }

    async fn connect(&self, _plan: &Plan, part: &Part) -> TargetResult<Connection> {
        Ok(Connection { timers: part.0.clone(), delay_ns: self.delay_ns, rows: Rows::new(1) })
    }

    async fn remove(&self) -> TargetResult<()> {
        Ok(())
    }
}

/// A store with a known delay, and the number of workers that drive its clients.
#[derive(Clone, Copy, Debug)]
pub struct Simulation {
    /// The duration of a commit.
    pub delay_ns: Nanos,
    /// Worker threads, at most one per client; clients are assigned to them in turn.
    pub workers: usize,
}

/// The due times of the arrivals of one worker's clients, in nanoseconds from the start of the run.
#[derive(Clone, Debug)]
pub struct Dues {
    /// Due times in the warm-up.
    pub warm_up: Vec<Nanos>,
    /// Due times in the measured span; for a run without a duration only the first `most`.
    pub measured: Vec<Nanos>,
}

impl Simulation {
    /// The result of a plan in simulated time, in the form that `run_with_listener` returns. Uses the
    /// clients, the spans, the counts, the arrivals and the seed of the plan.
    pub fn run(&self, plan: &RunPlan, listener: Option<&dyn TransactionListener>) -> RunResult {
        let workload = Inserts::new();
        let times = times(plan);
        // Each worker has its own simulated time, and so its own end of the span.
        let shared = Control::new(self.workers, plan.transactions);
        let controls: Vec<Control> = (0..self.workers).map(|_| Control::new(1, None)).collect();
        let lives: Vec<LiveCounters> =
            (0..self.workers).map(|_| LiveCounters::new(false)).collect();
        let worked = lives.iter().enumerate().map(|(worker, live)| {
            let control = match plan.transactions {
                Some(_) => &shared,
                None => &controls[worker],
            };
            let (stats, schedule) = self.work(worker, plan, times, control, live, listener);
            let numbers = worker_s_clients(worker, self.workers, plan.clients);
            let clients = numbers.map(|number| FinishedClient { number, commits: 0, client: None });
            let report = WorkerReport {
                stats,
                clients: clients.collect(),
                cpu_ns: 0,
                spun_ns: 0,
                wall_ns: 0,
            };
            (report, schedule)
        });
        let (reports, schedules): (Vec<WorkerReport<Inserts>>, Vec<_>) = worked.unzip();
        let last_ended = reports.iter().map(|report| report.stats.last_ended).max();
        let (span_end, span_ns) = spans(&shared, &times, last_ended);
        let ended = times.measure.saturating_add(span_ns);
        let arrivals = schedules.into_iter().flatten().map(|one| one.finish(ended));
        let arrivals = arrivals.reduce(Arrivals::plus);
        let mut tally = LiveTotals::new();
        tally.read(&lives);
        let sampler = Sampler::new(
            StoreProcess::Unknown("it is simulated"),
            Err("it is simulated".to_owned()),
            None,
        );
        let reading = sampler.read();
        let measured = RunMeasurements {
            reports,
            arrivals,
            span_ns,
            span_end,
            to_last_end_ns: last_ended.unwrap_or(0).saturating_sub(times.measure),
            intervals: Vec::new(),
            span: (reading, reading),
            commits_between: 0,
            internals: Vec::new(),
            commit_paths: None,
            profile: None,
            profiler_cpu: None,
            overhead_pairs: Vec::new(),
            whole: (reading, reading),
            commits_in_whole: tally.count_whole(OutcomeKind::Committed),
            ended_in_whole: tally.all(),
            coordinator_cpu_ns: 0,
            idle_flushes_per_ns: None,
            stopped_by: if shared.budget_taken() {
                StopCause::Transactions
            } else {
                StopCause::Duration
            },
        };
        let around = Around {
            counters: Vec::new(),
            round_trip_ns: None,
            checks: Vec::new(),
            warnings: Vec::new(),
        };
        assemble(self.head(plan), &workload, measured, &sampler, around)
    }

    /// The due times of the arrivals of an open loop, one row per worker; for a run without a duration the
    /// first `most` of the measured span.
    pub fn dues(&self, plan: &RunPlan, most: usize) -> Vec<Dues> {
        let warm_up_ns = clock::nanos(plan.warm_up);
        let end = plan.duration.map(|length| warm_up_ns + clock::nanos(length));
        let rows = (0..self.workers).map(|worker| {
            let between = |from: Nanos, until: Nanos, warms: bool| -> Vec<Nanos> {
                self.between(worker, plan, from, until, warms, most)
            };
            Dues {
                warm_up: between(0, warm_up_ns, true),
                measured: between(warm_up_ns, end.unwrap_or(Nanos::MAX), false),
            }
        });
        rows.collect()
    }

    fn between(
        &self,
        worker: usize,
        plan: &RunPlan,
        from: Nanos,
        until: Nanos,
        warms: bool,
        most: usize,
    ) -> Vec<Nanos> {
        if let Arrival::Fixed { rate_per_s } = plan.arrival {
            let gap = 1e9 / rate_per_s;
            let all = (0_u64..).map(|number| from + (number as f64 * gap) as Nanos);
            let all = all.skip(worker).step_by(self.workers);
            return all.take_while(|due| *due < until).take(most).collect();
        }
        // Taken at time 0, a schedule returns all its arrivals; only it knows the gaps that a seed gives.
        let length = until - from;
        let times =
            PhaseTimes { start: 0, measure: if warms { length } else { 0 }, deadline: length };
        let schedule = Schedule::new(plan.arrival, worker, self.workers, plan.seed, times);
        let Some(mut schedule) = schedule else {
            return Vec::new();
        };
        let dues = std::iter::from_fn(|| schedule.take(0).map(|taken| from + taken.due));
        dues.take_while(|due| *due < until).take(most).collect()
    }

    /// Runs one worker's clients from the start to the end of the run.
    pub(crate) fn work(
        &self,
        worker: usize,
        plan: &RunPlan,
        times: PhaseTimes,
        control: &Control,
        live: &LiveCounters,
        listener: Option<&dyn TransactionListener>,
    ) -> (WorkerStats, Option<Schedule>) {
        let store = Store { delay_ns: self.delay_ns };
        let timers = Rc::new(Timers::simulated(times.start, times.deadline));
        let part = Part(timers.clone());
        let workload = Inserts::new();
        let schedule = Schedule::new(plan.arrival, worker, self.workers, plan.seed, times);
        let schedule = schedule.map(Mutex::new);
        let context = ClientContext {
            target: &store,
            part: &part,
            plan: workload.plan(),
            retries: 0,
            retry_within_ns: None,
            skip_after_ns: plan.skip_after.map(clock::nanos),
            connects_each: false,
            waits: false,
            continue_on_error: false,
            listener,
            operations: false,
            times,
            control,
            live,
            schedule: schedule.as_ref(),
            stats: RefCell::new(WorkerStats::new(1, 0)),
            timers,
            ticker: Ticker::exact(),
        };
        let numbers = worker_s_clients(worker, self.workers, plan.clients);
        let mut states: Vec<ClientState<InsertingClient>> = numbers
            .map(|number| ClientState {
                number,
                client: workload.client(number, plan.clients, plan.seed),
                open: None,
                left: plan.transactions_each.unwrap_or(u64::MAX),
                commits: 0,
            })
            .collect();
        let loops = states.iter_mut().map(|state| {
            let session = crate::drive::executor::block_on(store.connect(workload.plan(), &part));
            let session = session.expect("a connection of this store cannot fail");
            client_loop(state, session, &context)
        });
        Executor::new(loops, &context.timers, context.part).drive(control.signal());
        let stats = context.stats.replace(WorkerStats::new(0, 0));
        drop(context);
        (stats, schedule.map(Mutex::into_inner))
    }

    fn head(&self, plan: &RunPlan) -> RunHead {
        RunHead {
            began_wall_ns: 0,
            plan: plan.clone(),
            target: TargetFacts {
                name: "a store of known delay".to_owned(),
                reported_settings: ReportedSettings {
                    product: "simulated".to_owned(),
                    version: "0".to_owned(),
                    durability: Durability::None,
                    durability_evidence: "it keeps nothing".to_owned(),
                    isolation: Isolation::NoneClaimed,
                    settings: Vec::new(),
                },
                log_location: LogLocation::Nowhere("it keeps no log".to_owned()),
                process: StoreProcess::Unknown("it is simulated"),
                disk_space: Err("it keeps nothing".to_owned()),
                dry_run: DryRunPlan::default(),
            },
            workload: WorkloadFacts {
                name: "commits".to_owned(),
                notice: None,
                options: Vec::new(),
                unit: Inserts::new().unit(),
                rows_kept: false,
            },
            client: ClientFacts {
                model: ClientModel::Futures,
                clients: plan.clients,
                workers: self.workers,
            },
            worker_trials: None,
            machine: Machine::read(Path::new("/")),
            device: Err("it keeps no log".to_owned()),
        }
    }
}

/// The times of the phases of a plan.
pub(crate) fn times(plan: &RunPlan) -> PhaseTimes {
    let measure = BEGIN + clock::nanos(plan.warm_up);
    let length = plan.duration.map_or(Nanos::MAX, clock::nanos);
    PhaseTimes { start: BEGIN, measure, deadline: measure.saturating_add(length) }
}

/// The numbers of a worker's clients.
pub(crate) fn worker_s_clients(
    worker: usize,
    workers: usize,
    clients: usize,
) -> impl Iterator<Item = usize> {
    (worker..clients).step_by(workers)
}
