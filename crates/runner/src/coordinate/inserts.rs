//! A workload with one transaction type, which inserts a key. Used by runs in simulated time and by the bench
//! of the runner's own cost, which includes this file.

use syncline_contract::{
    AccessPattern, Check, Client, Ending, Int, Kind, Plan, Session, Stop, Table, Transaction,
    Workload, Write,
};

pub(crate) struct Inserts(Plan);

/// A client with the last key that it inserted.
pub(crate) struct InsertingClient(Write<(Int,)>, i64);

impl Inserts {
    pub(crate) fn new() -> Inserts {
        let mut plan = Plan::new();
        declare(&mut plan);
        Inserts(plan)
    }
}

fn declare(plan: &mut Plan) -> Write<(Int,)> {
    let table = plan.table(Table::new("keys").column("key", Kind::Int).key(&["key"]));
    plan.insert("insert key", table)
}

impl Client for InsertingClient {
    type Tally = ();

    fn draw(&mut self) -> usize {
        self.1 += 1;
        0
    }

    fn access_pattern(&self, _kind: usize) -> AccessPattern {
        AccessPattern::Single
    }

    async fn perform<S: Session>(
        &mut self,
        _kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        transaction.write(&self.0, (self.1,))
    }

    fn ended(&mut self, _kind: usize, ending: Ending) {
        assert_eq!(ending, Ending::Committed);
    }

    fn tally(self) {}
}

impl Workload for Inserts {
    type Client = InsertingClient;

    fn name(&self) -> &'static str {
        "inserts"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn transactions(&self) -> &'static [&'static str] {
        &["insert"]
    }

    fn plan(&self) -> &Plan {
        &self.0
    }

    fn client(&self, _number: usize, _clients: usize, _seed: u64) -> InsertingClient {
        // Equal declarations give equal handles, so a scratch plan will do.
        InsertingClient(declare(&mut Plan::new()), 0)
    }

    async fn check<S: Session>(
        &self,
        _tallies: Vec<()>,
        _session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        Ok(Vec::new())
    }

    fn check_names(&self) -> Vec<&'static str> {
        Vec::new()
    }
}
