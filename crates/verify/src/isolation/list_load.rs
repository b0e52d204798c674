//! Random transactions over few lists, by many clients at once, and the history of what they saw.
//!
//! What is asked for enters the history before its first operation is sent, and its end after its commit
//! has answered, both under one lock, so that real time in the history is real time. A client that does
//! not know how its transaction ended goes on under another number.

use super::event_log::{Events, InMemory};
use super::history::{Ending, History, Operation};
use super::lists::{Lists, VALUES_MAX};
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;
use syncline_contract::conformance::block_on;
use syncline_contract::{Isolation, Session, Stop, Target, TargetResult};

/// Keys that are in use at a time.
const KEYS: i64 = 6;

/// How often it is looked whether the clients have ended, and told how far they are.
const LOOK: Duration = Duration::from_millis(20);

/// How a target is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Transactions that are asked for.
    pub transactions: usize,
    /// Clients at once.
    pub clients: usize,
    /// The seed of what is asked for; what meets what is as the clock has it.
    pub seed: u64,
}

/// What clients saw of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The product that the target said it is: "SQLite".
    pub product: String,
    /// The isolation that it said was in force.
    pub claimed: Isolation,
    /// All transactions.
    pub history: History,
}

/// Loads a target, which must not stand yet; it is removed at the end. `begun` is told now and then how
/// many transactions were begun.
pub fn load<T: Target>(
    target: &T,
    load: Load,
    stop: &AtomicBool,
    begun: &dyn Fn(usize),
) -> Result<Loaded> {
    let lists = Lists::new();
    if let Some(why) = lists.plan.refusal(&target.capabilities()) {
        return Err(Error::cannot(format!("{}: {why}", target.name())));
    }
    outside(block_on(&(), target.create(&lists.plan)))?;
    let said = outside(block_on(&(), target.evidence()))?;
    let clients = load.clients.min(target.capabilities().workers_max.unwrap_or(usize::MAX));
    let (events, load) = (InMemory::default(), Load { clients, ..load });
    let ended = append(target, &lists, &events, load, stop, begun);
    outside(block_on(&(), target.remove()))?;
    outside(ended)?;
    Ok(Loaded { product: said.product, claimed: said.isolation, history: events.history() })
}

/// Appends and reads on a target that stands there, by all clients at once; the first failure.
pub(crate) fn append<T: Target, E: Events>(
    target: &T,
    lists: &Lists,
    events: &E,
    load: Load,
    stop: &AtomicBool,
    begun: &dyn Fn(usize),
) -> TargetResult<()> {
    let shared = Shared {
        events,
        next: AtomicUsize::new(0),
        values: AtomicI64::new(0),
        retired: AtomicI64::new(1 << 32),
        load,
        stop,
    };
    let ends = thread::scope(|scope| {
        let client = |number| {
            let shared = &shared;
            scope.spawn(move || one_client(target, lists, shared, number))
        };
        let clients: Vec<_> = (0..load.clients as i64).map(client).collect();
        while !clients.iter().all(ScopedJoinHandle::is_finished) {
            begun(shared.next.load(Ordering::Relaxed).min(load.transactions));
            thread::sleep(LOOK);
        }
        let ends = clients.into_iter().map(ScopedJoinHandle::join);
        ends.map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Vec<_>>()
    });
    ends.into_iter().collect()
}

struct Shared<'s, E> {
    events: &'s E,
    next: AtomicUsize,
    values: AtomicI64,
    /// The next number of a client that goes on after an unknown end.
    retired: AtomicI64,
    load: Load,
    stop: &'s AtomicBool,
}

impl<E> Shared<'_, E> {
    /// One to four operations over the keys in use, which move on as values are given out.
    fn draw(&self, random: &mut fastrand::Rng) -> Vec<Operation> {
        (0..random.usize(1..=4))
            .map(|_| {
                let given = self.values.load(Ordering::Relaxed);
                let first = given / VALUES_MAX;
                let key = first + random.i64(0..KEYS);
                if random.bool() {
                    let value = self.values.fetch_add(1, Ordering::Relaxed) + 1;
                    Operation::Append { key, value }
                } else {
                    Operation::Read { key, values: None }
                }
            })
            .collect()
    }
}

fn one_client<T: Target, E: Events>(
    target: &T,
    lists: &Lists,
    shared: &Shared<'_, E>,
    client: i64,
) -> TargetResult<()> {
    let worker = target.worker()?;
    let mut random = fastrand::Rng::with_seed(shared.load.seed ^ (client as u64) << 32);
    block_on(&worker, async {
        let mut session = target.connect(&lists.plan, &worker).await?;
        let mut process = client;
        while shared.next.fetch_add(1, Ordering::Relaxed) < shared.load.transactions
            && !shared.stop.load(Ordering::Relaxed)
        {
            let mut operations = shared.draw(&mut random);
            let number = shared.events.invoke(process, &operations)?;
            match lists.perform(&mut session, &mut operations).await {
                Ok(()) => shared.events.complete(number, process, Ending::Committed, operations)?,
                Err(stop) => {
                    session.abort().await;
                    let ending = match stop {
                        Stop::Unknown(_) => Ending::Unknown,
                        Stop::Abort | Stop::Conflict(_) => Ending::Failed,
                        Stop::Failed(failure) => return Err(*failure),
                    };
                    shared.events.complete(number, process, ending, operations)?;
                    if ending == Ending::Unknown {
                        process = shared.retired.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        }
        Ok(())
    })
}

fn outside<R>(result: TargetResult<R>) -> Result<R> {
    result.map_err(|failure| Error::cannot(failure.what))
}
