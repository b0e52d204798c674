//! The workload: each transaction inserts another key, and the check compares the clients' keys with the
//! store's.

use crate::scripted_store::{CallLog, Store};
use std::sync::Arc;
use syncline_contract::{
    AccessPattern, Check, CheckOutcome, Client, Counts, Ending, Int, Kind, Load, OwnFigure, Plan,
    ResponseBound, Rows, Session, Stop, Table, TableId, Transaction, Value, Waits, Workload, Write,
};

/// The keys of client `number` start at `number * BY_CLIENT`.
pub const BY_CLIENT: i64 = 1 << 32;

/// The workload.
pub struct Keys {
    calls: Arc<CallLog>,
    plan: Plan,
    /// If this is `Some(n)`, the workload aborts every `n`th transaction of a client.
    pub abort_every: Option<i64>,
    /// The number of rows to load.
    pub rows: u64,
    /// How long its clients wait around a transaction.
    pub waits: Waits,
    /// The bounds of its response times.
    pub bounds: Vec<ResponseBound>,
}

/// What a client knows at the end of the run.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number of keys that it has drawn.
    pub drawn: i64,
    /// The keys whose commit was acknowledged.
    pub committed: Vec<i64>,
    /// The keys whose transaction was undone.
    pub undone: Vec<i64>,
    /// The keys of transactions with an unknown outcome.
    pub unknown: Vec<i64>,
}

/// A client.
pub struct KeysClient {
    first: i64,
    insert: (Write<(Int,)>, Option<i64>),
    waits: Waits,
    tally: Tally,
    open: Option<i64>,
}

impl Keys {
    /// A workload for that store, without waits, bounds or rows to load.
    pub fn new(store: &Store) -> Keys {
        let mut plan = Plan::new();
        declare(&mut plan);
        Keys {
            calls: store.calls.clone(),
            plan,
            abort_every: None,
            rows: 0,
            waits: Waits::default(),
            bounds: Vec::new(),
        }
    }
}

fn declare(plan: &mut Plan) -> Write<(Int,)> {
    let table = Table::new("keys").column("key", Kind::Int).key(&["key"]);
    let table = plan.table(table);
    plan.insert("insert key", table)
}

impl Client for KeysClient {
    type Tally = Tally;

    fn draw(&mut self) -> usize {
        assert!(
            self.open.is_none(),
            "the client learns how a transaction ended before it draws the next"
        );
        self.open = Some(self.first + self.tally.drawn);
        self.tally.drawn += 1;
        0
    }

    fn access_pattern(&self, _kind: usize) -> AccessPattern {
        AccessPattern::Single
    }

    fn waits(&mut self, _kind: usize) -> Waits {
        self.waits
    }

    async fn perform<S: Session>(
        &mut self,
        _kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (insert, abort_every) = &self.insert;
        let key = self.open.expect("a transaction was drawn");
        transaction.write(insert, (key,))?;
        match abort_every {
            Some(every) if self.tally.drawn % every == 0 => Err(Stop::Abort),
            _ => Ok(()),
        }
    }

    fn ended(&mut self, _kind: usize, ending: Ending) {
        let key = self.open.take().expect("the client learns once how a transaction ended");
        match ending {
            Ending::Committed => self.tally.committed.push(key),
            Ending::Undone => self.tally.undone.push(key),
            Ending::Unknown => self.tally.unknown.push(key),
        }
    }

    fn tally(self) -> Tally {
        assert!(
            self.open.is_none(),
            "the client learns how every transaction ended before its tally is taken"
        );
        self.tally
    }
}

impl Workload for Keys {
    type Client = KeysClient;

    fn name(&self) -> &'static str {
        "keys"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![("abort_every", format!("{:?}", self.abort_every))]
    }

    fn transactions(&self) -> &'static [&'static str] {
        &["insert"]
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn response_bounds(&self) -> Vec<ResponseBound> {
        self.bounds.clone()
    }

    fn figures(&self, counts: &Counts<'_>) -> Vec<OwnFigure> {
        vec![OwnFigure {
            name: "keys a minute",
            unit: "",
            value: counts.committed[0] as f64 * 60.0 / counts.seconds,
        }]
    }

    fn loads(&self) -> Vec<Load> {
        let table = TableId(0);
        let units = self.rows;
        vec![Load { table, units }]
    }

    fn load_unit(&self, _table: TableId, number: u64, batch: &mut Rows) {
        batch.push_row(&[Value::Int(-1 - number as i64)]);
    }

    fn client(&self, number: usize, clients: usize, _seed: u64) -> KeysClient {
        assert!(number < clients);
        // The handles are equal in all plans that are declared in the same way.
        let insert = declare(&mut Plan::new());
        KeysClient {
            first: number as i64 * BY_CLIENT,
            insert: (insert, self.abort_every),
            waits: self.waits,
            tally: Tally::default(),
            open: None,
        }
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<Tally>,
        _session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        let keys = self.calls.keys.lock().unwrap();
        let mut wrong: Vec<&i64> = Vec::new();
        for tally in &tallies {
            let commits = |key: &i64| keys.get(key).copied().unwrap_or_default();
            wrong.extend(tally.committed.iter().filter(|key| commits(key) != 1));
            wrong.extend(tally.undone.iter().filter(|key| commits(key) != 0));
            wrong.extend(tally.unknown.iter().filter(|key| commits(key) > 1));
        }
        let known: usize = tallies.iter().map(|tally| tally.committed.len()).sum();
        let unknown: usize = tallies.iter().map(|tally| tally.unknown.len()).sum();
        let is_count_possible = (known..=known + unknown).contains(&keys.len());
        let outcome = if wrong.is_empty() && is_count_possible {
            CheckOutcome::Held
        } else {
            CheckOutcome::Violated(format!("{} rows, {known} known, wrong: {wrong:?}", keys.len()))
        };
        Ok(vec![Check { name: "keys are there once".to_owned(), outcome }])
    }

    fn check_names(&self) -> Vec<&'static str> {
        vec!["keys are there once"]
    }
}
