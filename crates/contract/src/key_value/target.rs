//! A key-value store as a target.

use super::failure::{outside, unreachable};
use super::layout::{Layout, TABLES_MAX};
use super::locks::{HeldLocks, Locks};
use super::operations::TransactionState;
use super::row::ColumnOffsets;
use super::session::KeyValueSession;
use super::store::{KeyValue, StoreInfo};
use super::write_buffer::WriteBuffer;
use crate::capabilities::{Capabilities, Isolation};
use crate::counter::Counter;
use crate::dry_run_plan::DryRunPlan;
use crate::observation::StoreObservation;
use crate::operation::Action;
use crate::outcome::{Failure, FailureKind};
use crate::plan::Plan;
use crate::rows::Replies;
use crate::schema::{KeyGivenBy, Table};
use crate::target::{LogLocation, ReportedSettings, Setting, StoreProcess, Target, TargetResult};
use parking_lot::{Mutex, MutexGuard};
use std::path;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use syncline_instrument::{Nanos, clock};

/// Number of timed empty requests.
const PINGS: usize = 200;

/// A [`KeyValue`] store as a target.
///
/// Clients block, so each has a thread. Reads see the latest commit; a write or a read for update locks its
/// row until the transaction's end, so no update is lost. The isolation is therefore "read committed", even
/// if the store itself offers more. With a store that watches rows, a commit fails instead of making others
/// wait.
#[derive(Debug)]
pub struct KeyValueTarget<K> {
    shared: Arc<Shared<K>>,
    /// For a created store: the next number of each table.
    numbers: Mutex<Option<Arc<[AtomicI64]>>>,
}

/// The state that all sessions of a store share.
#[derive(Debug)]
pub(super) struct Shared<K> {
    pub(super) store: K,
    pub(super) name: String,
    locks: Arc<Locks>,
}

impl<K: KeyValue> KeyValueTarget<K> {
    /// Wraps a store.
    pub fn new(store: K) -> KeyValueTarget<K> {
        let (name, locks) = (store.about().name, Arc::default());
        KeyValueTarget {
            shared: Arc::new(Shared { store, name, locks }),
            numbers: Mutex::new(None),
        }
    }

    /// The store itself.
    pub fn store(&self) -> &K {
        &self.shared.store
    }

    fn numbers(&self) -> MutexGuard<'_, Option<Arc<[AtomicI64]>>> {
        self.numbers.lock()
    }

    fn failure(&self, error: &std::io::Error, action: &str) -> Failure {
        // A server's log may be in a directory of this machine, but that is not where the server is reached.
        let is_here = self.process() == StoreProcess::InProcess;
        let action = match self.log_location() {
            LogLocation::Directory(place) if is_here => {
                let place = path::absolute(&place).unwrap_or(place);
                format!("{action} in {}", place.display())
            }
            _ => action.to_owned(),
        };
        outside(error, &self.shared.name, &action)
    }
}

impl<K: KeyValue> Target for KeyValueTarget<K> {
    type Session = KeyValueSession<K>;
    type Worker = ();

    fn name(&self) -> String {
        self.shared.name.clone()
    }

    async fn preflight(&self) -> TargetResult<()> {
        let connected = self.shared.store.preflight();
        connected.map_err(|error| unreachable(&error, &self.shared.name))
    }

    fn capabilities(&self) -> Capabilities {
        let scans = self.shared.store.scans();
        Capabilities {
            clients_max: self.shared.store.clients_max(),
            scans,
            aggregates: scans,
            keys_by_server: true,
            loads: true,
            reopens: self.shared.store.reopens(),
            ..Capabilities::least()
        }
    }

    fn log_location(&self) -> LogLocation {
        self.shared.store.about().log_location
    }

    fn other_locations(&self) -> Vec<LogLocation> {
        self.shared.store.other_locations()
    }

    fn process(&self) -> StoreProcess {
        self.shared.store.process()
    }

    fn synced_writes(&self) -> Option<u64> {
        self.shared.store.synced_writes()
    }

    async fn counters(&self) -> TargetResult<Vec<Counter>> {
        let counters = self.shared.store.counters();
        counters.map_err(|error| self.failure(&error, "read its counters"))
    }

    async fn round_trip_ns(&self) -> TargetResult<Option<Nanos>> {
        let mut least = None;
        for _ in 0..PINGS {
            let started = clock::now();
            let pinged = self.shared.store.ping();
            let pinged = pinged.map_err(|error| self.failure(&error, "answer an empty request"))?;
            if !pinged {
                return Ok(None);
            }
            let took = clock::now() - started;
            least = Some(least.map_or(took, |least: Nanos| least.min(took)));
        }
        Ok(least)
    }

    fn dry_run(&self, plan: &Plan, clients: usize) -> TargetResult<DryRunPlan> {
        refuse_plan(plan)?;
        Ok(self.shared.store.dry_run(clients))
    }

    async fn observe(&self) -> TargetResult<StoreObservation> {
        let observed = self.shared.store.observe();
        let observed = observed.map_err(|error| self.failure(&error, "be observed"))?;
        observed.ok_or_else(|| refusal(format!("{} cannot be observed", self.shared.name)))
    }

    async fn clean(&self) -> TargetResult<Vec<String>> {
        let cleaned = self.shared.store.clean();
        let cleaned = cleaned.map_err(|error| self.failure(&error, "be cleaned"))?;
        cleaned.ok_or_else(|| {
            let name = &self.shared.name;
            refusal(format!(
                "{name} is not a server, so runs leave nothing in it; remove the files that the run named"
            ))
        })
    }

    async fn create(&self, plan: &Plan) -> TargetResult<()> {
        let mut numbers = self.numbers();
        let created = self.shared.store.create();
        created.map_err(|error| self.failure(&error, "make its store"))?;
        let ones = plan.tables().iter().map(|_| AtomicI64::new(1));
        *numbers = Some(ones.collect());
        Ok(())
    }

    async fn reopen(&self, plan: &Plan) -> TargetResult<bool> {
        let mut numbers = self.numbers();
        if plan.tables().iter().any(is_numbered) {
            let what = "cannot reopen tables whose rows the adapter numbers";
            return Err(refusal(format!("{} {what}", self.shared.name)));
        }
        let reopened = self.shared.store.reopen();
        let there = reopened.map_err(|error| self.failure(&error, "open its store"))?;
        if there {
            let ones = plan.tables().iter().map(|_| AtomicI64::new(1));
            *numbers = Some(ones.collect());
        }
        Ok(there)
    }

    async fn keep(&self) -> TargetResult<()> {
        let mut numbers = self.numbers();
        if numbers.take().is_some() {
            let kept = self.shared.store.keep();
            kept.map_err(|error| self.failure(&error, "close its store"))?;
        }
        Ok(())
    }

    async fn reported_settings(&self) -> TargetResult<ReportedSettings> {
        let StoreInfo { name, version, durability, durability_evidence, .. } =
            self.shared.store.about();
        let mut settings = self.shared.store.settings();
        let (value, source) = if self.shared.store.watches() {
            (
                "a commit fails if another client has changed a row that it writes or has read for update; \
                 reads see committed rows",
                "the store, which watches the rows for its client",
            )
        } else {
            (
                "writers lock rows until commit, reads see committed rows",
                "syncline's key-value adapter, which holds the locks",
            )
        };
        settings.push(Setting {
            name: "isolation".to_owned(),
            value: value.to_owned(),
            source: source.to_owned(),
        });
        Ok(ReportedSettings {
            product: name,
            version,
            durability,
            durability_evidence,
            isolation: Isolation::ReadCommitted,
            settings,
        })
    }

    fn worker(&self) -> TargetResult<()> {
        Ok(())
    }

    async fn connect(&self, plan: &Plan, _worker: &()) -> TargetResult<KeyValueSession<K>> {
        refuse_plan(plan)?;
        let numbers = self.numbers().clone();
        let numbers = numbers.filter(|numbers| numbers.len() == plan.tables().len());
        let not_created = || refusal("a session was requested before its tables were created");
        let client = self.shared.store.client();
        let client = client.map_err(|error| self.failure(&error, "take another client"))?;
        let shared = client.map_or_else(
            || Arc::clone(&self.shared),
            |store| {
                let (name, locks) = (self.shared.name.clone(), Arc::clone(&self.shared.locks));
                Arc::new(Shared { store, name, locks })
            },
        );
        Ok(KeyValueSession {
            plan: plan.clone(),
            work: TransactionState {
                shared,
                layouts: Layout::of(plan),
                numbers: numbers.ok_or_else(not_created)?,
                held: HeldLocks::new(&self.shared.locks),
                pending: WriteBuffer::default(),
                replies: Replies::default(),
                key: Vec::new(),
                places: ColumnOffsets::default(),
            },
        })
    }

    async fn remove(&self) -> TargetResult<()> {
        let mut numbers = self.numbers();
        if numbers.is_some() {
            let removed = self.shared.store.remove();
            removed.map_err(|error| self.failure(&error, "remove its store"))?;
            *numbers = None;
        }
        Ok(())
    }
}

/// True if the adapter numbers the rows of the table; no store keeps these numbers.
fn is_numbered(table: &Table) -> bool {
    table.key.is_empty() || table.key_given_by == KeyGivenBy::Server
}

/// Refuses plans that [`Plan::refusal`] cannot check: those that change keys or have too many tables.
fn refuse_plan(plan: &Plan) -> TargetResult<()> {
    if plan.tables().len() > TABLES_MAX {
        return Err(refusal(format!("a plan has at most {TABLES_MAX} tables")));
    }
    for operation in plan.operations() {
        if let Action::Update { table, sets } | Action::Change { table, sets } = &operation.action {
            let key = &plan.tables()[table.0].key;
            if sets.iter().any(|(column, _)| key.contains(column)) {
                let what = "changes a row's key, which a key-value store cannot";
                return Err(refusal(format!("operation \"{}\" {what}", operation.name)));
            }
        }
    }
    Ok(())
}

fn refusal(what: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Limit, what)
}
