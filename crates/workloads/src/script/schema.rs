//! The workload itself: its options for the record, its tables, its clients.

use super::builtin::Moves;
use super::check::{self, BalanceTotals};
use super::client::{ScriptClient, Tally};
use super::options::{Choice, Options, Program};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use syncline_contract::{Check, Load, Plan, Rows, Session, Stop, TableId, Workload};

/// Beginning of the description of managed rows, followed by their scale.
const LOADED_AS: &str = "pgbench's tables at scale ";

/// Scripts of pgbench.
#[derive(Debug)]
pub struct Scripts {
    choice: Choice,
    program: Arc<Program>,
    /// The totals before a run that starts from rows of an earlier one.
    before: Mutex<Option<BalanceTotals>>,
    /// The scripts' names, leaked because the contract needs static names.
    names: &'static [&'static str],
}

impl Scripts {
    /// Its name.
    pub const NAME: &'static str = "script";

    /// The workload with these options.
    pub fn new(options: Options) -> Scripts {
        let scripts = options.program.scripts.iter();
        let names = scripts.map(|script| &*script.name.clone().leak());
        let names: Vec<&'static str> = names.collect();
        Scripts {
            choice: options.choice,
            program: Arc::new(options.program),
            before: Mutex::default(),
            names: names.leak(),
        }
    }

    /// The scale in a description of loaded rows ([`Workload::loaded_as`]).
    pub fn scale_of(loaded_as: &str) -> Option<u64> {
        loaded_as.strip_prefix(LOADED_AS)?.parse().ok()
    }

    fn before(&self) -> MutexGuard<'_, Option<BalanceTotals>> {
        self.before.lock()
    }

    /// The pgbench tables that the scripts name.
    pub fn tables_named(&self) -> &[&'static str] {
        &self.program.tables_named
    }

    /// The weight of each script, in the order of the transactions.
    pub fn weights(&self) -> Vec<u64> {
        let scripts = self.program.scripts.iter();
        scripts.map(|script| script.weight).collect()
    }
}

impl Workload for Scripts {
    type Client = ScriptClient;

    fn name(&self) -> &'static str {
        Scripts::NAME
    }

    fn notice(&self) -> Option<&'static str> {
        let built_in = self.program.moves.iter().any(Option::is_some);
        built_in.then_some("derived from TPC-B, not comparable to published TPC results")
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.choice.pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        self.names
    }

    /// Unknown for a user's script; true for the built-in ones that move money.
    fn always_writes(&self, transaction: usize) -> bool {
        matches!(self.program.moves[transaction], Some(Moves::All | Moves::Accounts))
    }

    fn plan(&self) -> &Plan {
        &self.program.plan
    }

    fn loads(&self) -> Vec<Load> {
        let tables = self.program.tables;
        tables.map_or_else(Vec::new, |tables| tables.loads(self.choice.scale))
    }

    fn load_unit(&self, table: TableId, number: u64, batch: &mut Rows) {
        let tables = self.program.tables.expect("only tables that are there are loaded");
        tables.row(table, number, batch);
    }

    fn loaded_as(&self) -> Option<String> {
        let tables = self.program.tables;
        tables.map(|_| format!("{LOADED_AS}{}", self.choice.scale))
    }

    fn run_begins(&self, _salt: u64) {
        *self.before() = None;
    }

    async fn read_kept_rows<S: Session>(&self, session: &mut S) -> Result<(), Stop> {
        let found = check::totals(&self.program, session).await?;
        *self.before() = found;
        Ok(())
    }

    fn client(&self, number: usize, _clients: usize, seed: u64) -> ScriptClient {
        ScriptClient::new(&self.program, self.choice.scale, number, seed)
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<Tally>,
        session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        let before = self.before().unwrap_or_default();
        check::check(&self.program, self.choice.owner, before, &tallies, session).await
    }

    fn check_names(&self) -> Vec<&'static str> {
        check::names(&self.program)
    }
}
