//! One worker: a thread with its part of the target, its clients and their statistics.

use crate::account::live_counters::LiveCounters;
use crate::account::worker_report::{Clients, FinishedClient, WorkerReport};
use crate::account::worker_stats::WorkerStats;
use crate::drive::client_loop::{ClientContext, ClientState, client_loop};
use crate::drive::control::Control;
use crate::drive::cpu_affinity::{pin, precise_timers};
use crate::drive::executor::{Executor, PrefetchRange, Timers};
use crate::drive::transaction_listener::TransactionListener;
use crate::error::Error;
use crate::plan::RunPlan;
use std::cell::RefCell;
use std::rc::Rc;
use syncline_contract::{Failure, Plan, Target, TargetResult, Worker, Workload};
use syncline_instrument::{Ticker, clock};

/// Bytes of a client's state to prefetch: enough for the state's own fields and for most clients.
const CLIENT_PREFETCH_BYTES: usize = 512;

/// The inputs of a worker.
pub(crate) struct WorkerTask<'r, T, W> {
    pub number: usize,
    pub workers: usize,
    pub target: &'r T,
    pub workload: &'r W,
    /// The tables and operations of the store.
    pub store_plan: &'r Plan,
    pub plan: &'r RunPlan,
    pub control: &'r Control,
    pub live: &'r LiveCounters,
    pub listener: Option<&'r dyn TransactionListener>,
}

impl<T: Target, W: Workload> WorkerTask<'_, T, W> {
    /// Runs a worker from start to end on its own thread; `None` if the run ended before the start. Its
    /// clients are new ones, or those that have run before.
    pub(crate) fn work(
        &self,
        clients: Option<Clients<W>>,
    ) -> Result<Option<WorkerReport<W>>, Error> {
        let _presence = self.control.enter();
        if let Some(cpu) = self.cpu() {
            pin(cpu)?;
        }
        let Some((part, sessions)) = self.connect() else {
            return Ok(None);
        };
        let Some(start) = self.control.wait_for_start() else {
            return Ok(None);
        };
        let schedule = self.number.checked_rem(start.schedules.len());
        let schedule = schedule.map(|group| &start.schedules[group]);
        if schedule.is_some() {
            precise_timers();
        }
        let operations = if self.plan.operations { self.store_plan.operations().len() } else { 0 };
        let context = ClientContext {
            target: self.target,
            part: &part,
            plan: self.store_plan,
            retries: self.plan.retries,
            retry_within_ns: self.plan.retry_within.map(clock::nanos),
            skip_after_ns: self.plan.skip_after.map(clock::nanos),
            connects_each: self.plan.connects_each,
            waits: self.plan.waits && schedule.is_none(),
            continue_on_error: self.plan.continue_on_error,
            listener: self.listener,
            operations: self.plan.operations,
            times: start.times,
            control: self.control,
            live: self.live,
            schedule,
            stats: RefCell::new(WorkerStats::new(self.workload.transactions().len(), operations)),
            timers: Rc::default(),
            ticker: match self.listener {
                Some(_) => Ticker::exact(),
                None => Ticker::new(),
            },
        };
        Ok(Some(self.run(&context, sessions, clients)))
    }

    fn run(
        &self,
        context: &ClientContext<'_, T>,
        sessions: Vec<T::Session>,
        clients: Option<Clients<W>>,
    ) -> WorkerReport<W> {
        let clients = clients.unwrap_or_else(|| self.new_clients());
        let mut states: Vec<ClientState<W::Client>> =
            clients.into_iter().map(|(number, client)| self.state(number, client)).collect();
        let prefetch = PrefetchRange::of(&states, CLIENT_PREFETCH_BYTES);
        let (wall, cpu) = (clock::now(), clock::thread_cpu());
        let loops = states
            .iter_mut()
            .zip(sessions)
            .map(|(state, session)| client_loop(state, session, context));
        let mut executor =
            Executor::new(loops, &context.timers, context.part).with_prefetch(prefetch);
        executor.drive(self.control.signal());
        let spun_ns = executor.spun_ns();
        // Drop the sessions first, so that their open transactions are rolled back before anything else reads
        // the store.
        drop(executor);
        let cpu_ns = (clock::thread_cpu() - cpu).saturating_sub(spun_ns);
        let wall_ns = clock::now() - wall;
        let mut stats = context.stats.replace(WorkerStats::new(0, 0));
        for state in &mut states {
            state.close(&mut stats, self.live, &context.times, self.listener);
        }
        WorkerReport {
            stats,
            clients: states.into_iter().map(report).collect(),
            cpu_ns,
            spun_ns,
            wall_ns,
        }
    }

    fn new_clients(&self) -> Clients<W> {
        let (all, seed) = (self.plan.clients, self.plan.seed);
        let client = |number| (number, self.workload.client(number, all, seed));
        self.numbers().map(client).collect()
    }

    fn state(&self, number: usize, client: W::Client) -> ClientState<W::Client> {
        ClientState {
            number,
            client,
            open: None,
            left: self.plan.transactions_each.unwrap_or(u64::MAX),
            commits: 0,
        }
    }

    /// The worker's own part and one session per client; `None` if that failed or the run ended meanwhile.
    fn connect(&self) -> Option<(T::Worker, Vec<T::Session>)> {
        let part = self.or_fail(self.target.worker())?;
        self.control.waits_by(part.waker());
        let mut sessions: Vec<Option<TargetResult<T::Session>>> =
            self.numbers().map(|_| None).collect();
        let timers = Timers::default();
        let plan = self.store_plan;
        let connecting = sessions.iter_mut().map(|slot| {
            let part = &part;
            async move {
                if !self.control.ending() {
                    *slot = Some(self.target.connect(plan, part).await);
                }
            }
        });
        Executor::new(connecting, &timers, &part).drive(self.control.signal());
        let sessions: TargetResult<Option<Vec<T::Session>>> =
            sessions.into_iter().map(Option::transpose).collect();
        let sessions = self.or_fail(sessions)??;
        Some((part, sessions))
    }

    fn or_fail<X>(&self, result: Result<X, Failure>) -> Option<X> {
        match result {
            Ok(value) => Some(value),
            Err(failure) => {
                self.control.fail(failure);
                None
            }
        }
    }

    fn numbers(&self) -> impl Iterator<Item = usize> {
        (self.number..self.plan.clients).step_by(self.workers)
    }

    fn cpu(&self) -> Option<usize> {
        let index = self.number.checked_rem(self.plan.pin.len())?;
        Some(self.plan.pin[index])
    }
}

fn report<C>(state: ClientState<C>) -> FinishedClient<C> {
    FinishedClient { number: state.number, commits: state.commits, client: Some(state.client) }
}
