//! Two clients that deliberately conflict, in pairs of transactions, through the runner.
//!
//! The two of a pair wait for each other once both have begun; a retry runs alone. So without retries a
//! run has exactly one conflict for each pair, and with retries at least that many: a retry may be
//! faster than the transaction that it waited for. A run that hangs ends in a panic.
//!
//! - [`Way::Cross`]: each locks a row of its own and then requests the other's: a cycle of waits.
//! - [`Way::Hold`]: the first holds a row until the second has been refused it.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use syncline_contract::{
    AccessPattern, Check, CheckOutcome, Client, Ending, Int, Kind, Load, Lock, Plan, Read,
    RequestTracker, Rows, Session, Set, Stop, Table, TableId, Transaction, Value, Workload, Write,
};
use syncline_runner::{RunPlan, RunResult};

/// How long one waits for the other: far longer than any server takes to refuse a lock.
const PATIENCE: Duration = Duration::from_mins(1);

/// The kind of conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Cross,
    Hold,
}

/// The workload: two rows with a number each.
pub(crate) struct ConflictingClients {
    way: Way,
    plan: Plan,
    table: TableId,
    lock: Read<(Int,), (Int,)>,
    add: Write<(Int, Int)>,
    ready: Arc<Rendezvous>,
    begun: Arc<Rendezvous>,
    refused: Arc<Rendezvous>,
}

/// One of the two clients.
pub(crate) struct ConflictingClient {
    number: i64,
    way: Way,
    lock: Read<(Int,), (Int,)>,
    add: Write<(Int, Int)>,
    ready: Arc<Rendezvous>,
    begun: Arc<Rendezvous>,
    refused: Arc<Rendezvous>,
    /// The current transaction has not waited for the other's yet.
    fresh: bool,
    committed: i64,
}

impl ConflictingClients {
    pub(crate) fn new(way: Way) -> ConflictingClients {
        let mut plan = Plan::new();
        let table =
            Table::new("crossing").column("id", Kind::Int).column("number", Kind::Int).key(&["id"]);
        let table = plan.table(table);
        ConflictingClients {
            way,
            table,
            lock: plan.get("lock number", table, &["number"], Lock::Update),
            add: plan.update("add to number", table, &[("number", Set::Add)]),
            plan,
            ready: Arc::default(),
            begun: Arc::default(),
            refused: Arc::default(),
        }
    }

    /// A plan of `pairs` pairs, with a thread for each client.
    pub(crate) fn pairs(pairs: u64, retries: u32) -> RunPlan {
        RunPlan {
            clients: 2,
            workers: Some(2),
            duration: None,
            transactions: Some(pairs * 2),
            warm_up: Duration::ZERO,
            retries,
            ..RunPlan::default()
        }
    }

    /// Fails unless every check of a run held.
    pub(crate) fn held(result: &RunResult) {
        let checks = result.checks.iter();
        let wrong: Vec<_> = checks.filter(|check| check.outcome != CheckOutcome::Held).collect();
        assert!(wrong.is_empty(), "{wrong:?}, {:?}", result.stopped_by);
    }
}

impl Client for ConflictingClient {
    type Tally = i64;

    fn draw(&mut self) -> usize {
        self.fresh = true;
        0
    }

    fn access_pattern(&self, _kind: usize) -> AccessPattern {
        AccessPattern::Several
    }

    async fn perform<S: Session>(
        &mut self,
        _kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let meets = std::mem::take(&mut self.fresh);
        if meets {
            // Neither takes a lock of the next pair while the other still retries this one.
            self.ready.preflight();
        }
        let (own, other) = (self.number, 1 - self.number);
        match self.way {
            Way::Cross => {
                transaction.read(&self.lock, (own,)).await?;
                if meets {
                    self.begun.preflight();
                }
                transaction.write(&self.add, (other, 1))
            }
            Way::Hold if self.number == 0 => {
                transaction.read(&self.lock, (0,)).await?;
                if meets {
                    self.begun.preflight();
                    self.refused.preflight();
                }
                transaction.write(&self.add, (0, 1))
            }
            Way::Hold => {
                if meets {
                    self.begun.preflight();
                }
                let locked = transaction.read(&self.lock, (0,)).await.map(drop);
                if meets {
                    self.refused.preflight();
                }
                locked?;
                transaction.write(&self.add, (0, 1))
            }
        }
    }

    fn ended(&mut self, _kind: usize, ending: Ending) {
        self.committed += i64::from(ending == Ending::Committed);
    }

    fn tally(self) -> i64 {
        self.committed
    }
}

impl Workload for ConflictingClients {
    type Client = ConflictingClient;

    fn name(&self) -> &'static str {
        "crossing"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![("way", format!("{:?}", self.way))]
    }

    fn transactions(&self) -> &'static [&'static str] {
        &["cross"]
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn loads(&self) -> Vec<Load> {
        let (table, units) = (self.table, 2);
        vec![Load { table, units }]
    }

    fn load_unit(&self, _table: TableId, number: u64, batch: &mut Rows) {
        batch.push_row(&[Value::Int(number.cast_signed()), Value::Int(0)]);
    }

    fn client(&self, number: usize, clients: usize, _seed: u64) -> ConflictingClient {
        assert_eq!(clients, 2, "two cross");
        ConflictingClient {
            number: i64::try_from(number).expect("0 or 1"),
            way: self.way,
            lock: self.lock,
            add: self.add,
            ready: Arc::clone(&self.ready),
            begun: Arc::clone(&self.begun),
            refused: Arc::clone(&self.refused),
            fresh: false,
            committed: 0,
        }
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<i64>,
        session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        let mut asked = RequestTracker::new(false);
        session.begin(AccessPattern::Several);
        let mut sum = 0;
        for id in [0, 1] {
            let mut transaction = Transaction::new(session, &mut asked);
            let (number,) = transaction.read(&self.lock, (id,)).await?;
            sum += number;
        }
        session.commit().await?;
        let acknowledged: i64 = tallies.iter().sum();
        let outcome = if sum == acknowledged {
            CheckOutcome::Held
        } else {
            CheckOutcome::Violated(format!("the sum is {sum}, but {acknowledged} was acknowledged"))
        };
        let name = self.check_names()[0].to_owned();
        Ok(vec![Check { name, outcome }])
    }

    fn check_names(&self) -> Vec<&'static str> {
        vec!["what was acknowledged is there, once"]
    }
}

/// A barrier for two threads, used repeatedly.
#[derive(Default)]
struct Rendezvous {
    /// How many threads have arrived.
    arrived: Mutex<u64>,
    changed: Condvar,
}

impl Rendezvous {
    fn preflight(&self) {
        let mut arrived = self.arrived.lock().expect("no thread panics while holding it");
        *arrived += 1;
        self.changed.notify_all();
        let both = arrived.next_multiple_of(2);
        let waited = self.changed.wait_timeout_while(arrived, PATIENCE, |arrived| *arrived < both);
        let (_arrived, ended) = waited.expect("no thread panics while holding it");
        assert!(!ended.timed_out(), "the other thread never arrives");
    }
}
