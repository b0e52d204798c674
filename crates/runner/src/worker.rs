//! One worker: a thread with its part of the target, its clients and their accounting.

use crate::client_loop::{Desk, Slot, client_loop};
use crate::control::Control;
use crate::error::Error;
use crate::executor::{Beside, Executor, Timers};
use crate::follower::Follower;
use crate::kept::Ground;
use crate::live::Live;
use crate::meter::Meter;
use crate::pin::{pin, precise_timers};
use crate::plan::RunPlan;
use crate::staff::Clients;
use std::cell::RefCell;
use std::rc::Rc;
use syncline_contract::{Failure, Target, TargetResult, Worker, Workload};
use syncline_metering::{Nanos, Ticker, clock};

/// Bytes of a client's slot that it likely needs: the slot's own, and as much as most clients have.
const SLOT_BYTES_ASKED: usize = 512;

/// What a worker needs.
pub(crate) struct Post<'r, T, W> {
    pub number: usize,
    pub workers: usize,
    pub target: &'r T,
    pub workload: &'r W,
    pub ground: &'r Ground<'r>,
    pub plan: &'r RunPlan,
    pub control: &'r Control,
    pub live: &'r Live,
    pub follower: Option<&'r dyn Follower>,
}

/// What a worker leaves behind.
pub(crate) struct Report<W: Workload> {
    pub meter: Meter,
    pub clients: Vec<ClientReport<W::Client>>,
    /// Processor time from the start to the end of the clients, spinning taken off.
    pub cpu_ns: Nanos,
    /// Processor time spent spinning until an arrival was due.
    pub spun_ns: Nanos,
    /// Wall clock of the same.
    pub wall_ns: Nanos,
}

/// What a client leaves behind.
pub(crate) struct ClientReport<C> {
    pub number: usize,
    pub commits: u64,
    /// The client itself: taken by the checks, or by the crew under which it goes on.
    pub client: Option<C>,
}

impl<T: Target, W: Workload> Post<'_, T, W> {
    /// The whole life of a worker, on its own thread; none if the run ended before the start. Its clients are
    /// new ones, or those that have run before.
    pub(crate) fn work(&self, clients: Option<Clients<W>>) -> Result<Option<Report<W>>, Error> {
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
        let operations = if self.plan.operations {
            self.ground.plan.operations().len()
        } else {
            0
        };
        let desk = Desk {
            target: self.target,
            part: &part,
            plan: &self.ground.plan,
            retries: self.plan.retries,
            retry_within_ns: self.plan.retry_within.map(clock::nanos),
            skip_after_ns: self.plan.skip_after.map(clock::nanos),
            connects_each: self.plan.connects_each,
            waits: self.plan.waits && schedule.is_none(),
            goes_on_after_errors: self.plan.goes_on_after_errors,
            follower: self.follower,
            operations: self.plan.operations,
            times: start.times,
            control: self.control,
            live: self.live,
            schedule,
            meter: RefCell::new(Meter::new(self.workload.transactions().len(), operations)),
            timers: Rc::default(),
            ticker: match self.follower {
                Some(_) => Ticker::exact(),
                None => Ticker::new(),
            },
        };
        Ok(Some(self.run(&desk, sessions, clients)))
    }

    fn run(
        &self,
        desk: &Desk<'_, T>,
        sessions: Vec<T::Session>,
        clients: Option<Clients<W>>,
    ) -> Report<W> {
        let clients = clients.unwrap_or_else(|| self.new_clients());
        let mut slots: Vec<Slot<W::Client>> = clients
            .into_iter()
            .map(|(number, client)| self.slot(number, client))
            .collect();
        let beside = Beside::of(&slots, SLOT_BYTES_ASKED);
        let (wall, cpu) = (clock::now(), clock::thread_cpu());
        let loops = slots
            .iter_mut()
            .zip(sessions)
            .map(|(slot, session)| client_loop(slot, session, desk));
        let mut executor = Executor::new(loops, &desk.timers, desk.part).beside(beside);
        executor.drive(self.control.signal());
        let spun_ns = executor.spun_ns();
        // Sessions go first: what they leave open is undone before anyone looks at the store.
        drop(executor);
        let cpu_ns = (clock::thread_cpu() - cpu).saturating_sub(spun_ns);
        let wall_ns = clock::now() - wall;
        let mut meter = desk.meter.replace(Meter::new(0, 0));
        for slot in &mut slots {
            slot.close(&mut meter, self.live, &desk.times, self.follower);
        }
        Report {
            meter,
            clients: slots.into_iter().map(report).collect(),
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

    fn slot(&self, number: usize, client: W::Client) -> Slot<W::Client> {
        Slot {
            number,
            client,
            open: None,
            left: self.plan.transactions_each.unwrap_or(u64::MAX),
            commits: 0,
        }
    }

    /// The worker's own part and a session a client; none if that failed or the run ended meanwhile.
    fn connect(&self) -> Option<(T::Worker, Vec<T::Session>)> {
        let part = self.or_fail(self.target.worker())?;
        self.control.waits_by(part.waker());
        let mut sessions: Vec<Option<TargetResult<T::Session>>> =
            self.numbers().map(|_| None).collect();
        let timers = Timers::default();
        let plan = &*self.ground.plan;
        let connecting = sessions.iter_mut().map(|place| {
            let part = &part;
            async move {
                if !self.control.ending() {
                    *place = Some(self.target.connect(plan, part).await);
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
        let place = self.number.checked_rem(self.plan.pin.len())?;
        Some(self.plan.pin[place])
    }
}

fn report<C>(slot: Slot<C>) -> ClientReport<C> {
    ClientReport {
        number: slot.number,
        commits: slot.commits,
        client: Some(slot.client),
    }
}
