//! Random transactions over a few lists by many concurrent clients, and the history of what they saw.
//!
//! A request enters the history before its first operation is sent, and its ending after its commit has
//! returned, both under one lock; so real time in the history is real time. A client that does not know how
//! its transaction ended continues under another number.

use super::event_log::{Events, InMemory};
use super::lists::{Lists, VALUES_MAX};
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;
use syncline_contract::conformance::block_on;
use syncline_contract::{Isolation, Session, Stop, Target, TargetResult};
use syncline_history::{History, Operation, TransactionStatus};

/// Keys that are in use at a time.
const KEYS: i64 = 6;

/// Interval at which the end of the clients is checked and progress is reported.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The parameters of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Number of transactions to request.
    pub transactions: usize,
    /// Number of concurrent clients.
    pub clients: usize,
    /// The seed of the requests; their interleaving depends on timing.
    pub seed: u64,
}

/// The result of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadResult {
    /// The product that the target reports: "SQLite".
    pub product: String,
    /// The isolation that it reports.
    pub claimed: Isolation,
    /// All transactions.
    pub history: History,
}

/// Loads a target, which must not exist yet; removes it at the end. Passes the number of transactions begun
/// to `begun` now and then.
pub fn load<T: Target>(
    target: &T,
    load: Load,
    stop: &AtomicBool,
    begun: &dyn Fn(usize),
) -> Result<LoadResult> {
    let lists = Lists::new();
    if let Some(why) = lists.plan.refusal(&target.capabilities()) {
        return Err(Error::cannot(format!("{}: {why}", target.name())));
    }
    converted(block_on(&(), target.create(&lists.plan)))?;
    let reported = converted(block_on(&(), target.reported_settings()))?;
    let clients = load.clients.min(target.capabilities().workers_max.unwrap_or(usize::MAX));
    let (events, load) = (InMemory::default(), Load { clients, ..load });
    let ended = append(target, &lists, &events, load, stop, begun);
    converted(block_on(&(), target.remove()))?;
    converted(ended)?;
    Ok(LoadResult {
        product: reported.product,
        claimed: reported.isolation,
        history: events.history(),
    })
}

/// Appends and reads on an existing target with all clients; returns the first failure.
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
            thread::sleep(POLL_INTERVAL);
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
    /// The next number for a client that continues after an unknown ending.
    retired: AtomicI64,
    load: Load,
    stop: &'s AtomicBool,
}

impl<E> Shared<'_, E> {
    /// One to four operations on the keys in use, which advance as values are assigned.
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
                Ok(()) => shared.events.complete(
                    number,
                    process,
                    TransactionStatus::Committed,
                    operations,
                )?,
                Err(stop) => {
                    session.abort().await;
                    let ending = match stop {
                        Stop::Unknown(_) => TransactionStatus::Unknown,
                        Stop::Abort | Stop::Conflict(_) => TransactionStatus::Failed,
                        Stop::Failed(failure) => return Err(*failure),
                    };
                    shared.events.complete(number, process, ending, operations)?;
                    if ending == TransactionStatus::Unknown {
                        process = shared.retired.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        }
        Ok(())
    })
}

fn converted<R>(result: TargetResult<R>) -> Result<R> {
    result.map_err(|failure| Error::cannot(failure.what))
}
