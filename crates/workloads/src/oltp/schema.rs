//! The workload itself: its names and figures.

use super::check;
use super::event::{Event, Queries, Statement};
use super::options::{Ids, Options};
use super::statements::Statements;
use super::sysbench_test::Test;
use super::transactions::{OltpClient, RowId, Tally};
use crate::distributions::mixed;
use crate::rows::SharedRowBitmap;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use syncline_contract::{
    Check, Counts, Load, OwnFigure, Plan, Rows, Session, Stop, TableId, Unit, Workload,
};

/// sysbench's OLTP workload.
#[derive(Debug)]
pub struct Oltp {
    pub(super) options: Options,
    plan: Plan,
    pub(super) statements: Arc<Statements>,
    pub(super) event: Event,
    pub(super) ids: Ids,
    /// Mixed into the versions of written texts, together with the seed, if rows were kept: no later run may
    /// write existing values, because a store may skip such writes.
    salt: AtomicU64,
    pub(super) changed: ChangedRows,
    /// The additions in the rows of each table before the run, if an earlier run has left them.
    grown_before: Mutex<Option<Vec<i64>>>,
}

/// Loaded rows with an acknowledged change in the run; indexed by [`Oltp::place`].
#[derive(Debug, Default)]
pub(super) struct ChangedRows {
    /// Their `k` was increased.
    pub(super) added: SharedRowBitmap,
    /// Their `c` was set.
    pub(super) set: SharedRowBitmap,
    /// They were deleted, or may have been.
    pub(super) deleted: SharedRowBitmap,
}

impl Oltp {
    /// Its name.
    pub const NAME: &'static str = "oltp";

    /// The workload with these options.
    pub fn new(options: Options) -> Oltp {
        let mut plan = Plan::new();
        plan.pipeline = options.test == Test::BulkInsert;
        Oltp {
            statements: Arc::new(Statements::declare(&options, &mut plan)),
            event: Event::of(&options),
            ids: options.ids(),
            salt: AtomicU64::new(0),
            changed: ChangedRows::default(),
            grown_before: Mutex::new(None),
            options,
            plan,
        }
    }

    /// The chosen options.
    pub fn chosen(&self) -> &Options {
        &self.options
    }

    /// The queries of an event, as sysbench counts them.
    pub fn queries(&self) -> Queries {
        self.event.queries(self.options.test)
    }

    /// The queries of a committed transaction of this kind, by position.
    pub fn queries_of(&self, kind: usize) -> Queries {
        if self.options.test == Test::BulkInsert {
            let writes = self.options.bulk_rows;
            return Queries { writes, ..Queries::default() };
        }
        if !self.by_statement() {
            return self.queries();
        }
        let writes = u64::from(Statement::ALL[kind].writes());
        Queries { reads: 1 - writes, writes, other: 0 }
    }

    /// The number of sysbench's events in a committed transaction: a row of `bulk_insert` is one event, and a
    /// statement that is a transaction is a fraction of one.
    pub fn events_of_transaction(&self) -> f64 {
        if self.options.test == Test::BulkInsert {
            self.options.bulk_rows as f64
        } else if self.by_statement() {
            1.0 / self.queries().all() as f64
        } else {
            1.0
        }
    }

    pub(super) fn salt(&self) -> u64 {
        self.salt.load(Ordering::Relaxed)
    }

    /// The additions in each table before the run; none if its rows were loaded for the run.
    pub(super) fn grown_before(&self) -> Option<Vec<i64>> {
        self.grown_before.lock().clone()
    }

    fn keep_grown_before(&self, grown: Option<Vec<i64>>) {
        *self.grown_before.lock() = grown;
    }

    /// The number of a row across all tables; ids begin with 1.
    pub(super) fn place(table_size: u64, (table, id): RowId) -> u64 {
        table as u64 * table_size + id - 1
    }

    fn by_statement(&self) -> bool {
        self.options.test != Test::BulkInsert && !self.options.has_transactions()
    }
}

impl Workload for Oltp {
    type Client = OltpClient;

    fn name(&self) -> &'static str {
        Oltp::NAME
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.options.pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        match self.options.test {
            Test::BulkInsert => &["bulk insert"],
            _ if self.by_statement() => &Statement::NAMES,
            Test::ReadOnly => &["read only"],
            Test::WriteOnly => &["write only"],
            _ => &["read write"],
        }
    }

    fn always_writes(&self, transaction: usize) -> bool {
        if self.options.test == Test::BulkInsert {
            return true;
        }
        if !self.by_statement() {
            return self.event.groups.iter().any(|(of, _)| of.writes());
        }
        match Statement::ALL[transaction] {
            Statement::Insert => true,
            Statement::IndexUpdate | Statement::NonIndexUpdate => !self.options.rows_may_be_away(),
            _ => false,
        }
    }

    fn unit(&self) -> Unit {
        let (name, per_transaction) = match self.options.test {
            Test::BulkInsert => ("inserts", self.options.bulk_rows),
            _ if self.by_statement() => ("statements", 1),
            _ => ("events", 1),
        };
        Unit { name, per_transaction }
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn loads(&self) -> Vec<Load> {
        self.load_all()
    }

    fn load_unit(&self, table: TableId, number: u64, batch: &mut Rows) {
        self.load_row(table, number, batch);
    }

    fn loaded_as(&self) -> Option<String> {
        // These begin with tables of their own kind.
        let others = matches!(self.options.test, Test::Insert | Test::BulkInsert);
        // Without `kept`, the additions of an earlier run would count as errors.
        let adds = self.event.has(Statement::IndexUpdate) && !self.options.kept;
        (!others && !adds).then(|| self.loaded_rows())
    }

    fn leaves_other_rows(&self) -> bool {
        self.options.test.changes_rows() || self.options.rows_may_be_away()
    }

    fn run_begins(&self, salt: u64) {
        let salt = if salt == 0 { 0 } else { mixed(salt) };
        self.salt.store(salt, Ordering::Relaxed);
        self.keep_grown_before(None);
        let rows = self.options.tables * self.options.table_size;
        let rows_if = |statement| if self.event.has(statement) { rows } else { 0 };
        self.changed.added.begin(rows_if(Statement::IndexUpdate));
        self.changed.set.begin(rows_if(Statement::NonIndexUpdate));
        self.changed.deleted.begin(rows_if(Statement::Delete));
    }

    async fn read_kept_rows<S: Session>(&self, session: &mut S) -> Result<(), Stop> {
        self.keep_grown_before(Some(check::grown(self, session).await?));
        Ok(())
    }

    fn client(&self, number: usize, clients: usize, seed: u64) -> OltpClient {
        OltpClient::new(self, number, clients, seed)
    }

    fn figures(&self, counts: &Counts<'_>) -> Vec<OwnFigure> {
        let committed: u64 = counts.committed.iter().sum();
        if counts.seconds <= 0.0 || self.options.test == Test::BulkInsert {
            return Vec::new();
        }
        let of_event = self.queries().all();
        let figure = |name, count: f64| OwnFigure { name, unit: "", value: count / counts.seconds };
        if self.by_statement() {
            let events = committed as f64 / of_event as f64;
            let several = (of_event > 1).then(|| figure("events a second", events));
            several.into_iter().collect()
        } else {
            vec![figure("queries a second", (committed * of_event) as f64)]
        }
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<Tally>,
        session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        check::check(self, &tallies, session).await
    }

    fn check_names(&self) -> Vec<&'static str> {
        check::names(self)
    }
}
