//! The workload itself: its options, table and operations.

use super::check;
use super::operations::VALUE_BYTES;
use super::transactions::{ConcurrentTxClient, Tally};
use crate::error::Error;
use syncline_contract::{
    Bytes, Check, Counts, Limit, OptionArgs, OwnFigure, Path, Plan, Range, Read, Scan, Session,
    Stop, Table, Unit, Workload, Write, options,
};

/// Rows per page of the check.
pub(super) const PAGE_ROWS: u64 = 1_000;

options! {
    /// What a user may choose.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Options {
        pub key_len: u64 = 4 in 1..=16, "bytes of a key";
        pub nops: u64 = 100 in 1..=100_000, "operations of a transaction: 89 % puts, 11 % removals";
        pub aborts: u64 = 11 in 0..=100,
            "percentage of transactions that end by an abort of their own";
    }
}

impl Options {
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        Ok(Options::read(given)?)
    }

    /// What the operations of a transaction are made by.
    pub(super) fn transaction_size(&self) -> super::operations::TransactionSize {
        super::operations::TransactionSize { key_bytes: self.key_len as usize, nops: self.nops }
    }
}

/// The concurrent transactions workload.
#[derive(Debug)]
pub struct ConcurrentTx {
    pub(super) options: Options,
    plan: Plan,
    pub(super) put: Write<(Bytes, Bytes)>,
    pub(super) remove: Write<(Bytes,)>,
    pub(super) page: Read<(Bytes,), (Bytes, Bytes)>,
}

impl ConcurrentTx {
    /// Its name.
    pub const NAME: &'static str = "concurrent-tx";

    /// The workload with these options.
    pub fn new(options: Options) -> ConcurrentTx {
        let mut plan = Plan::new();
        let table = Table::new("abc")
            .bytes("id", options.key_len as u32)
            .bytes("value", VALUE_BYTES as u32);
        let table = plan.table(table.key(&["id"]));
        let from_key = Path::by_key(table, 0, Range::From);
        let page = Scan::ascending(from_key, Limit::Fixed(PAGE_ROWS), &["id", "value"]);
        ConcurrentTx {
            options,
            put: plan.put("put", table),
            remove: plan.remove("remove", table),
            page: plan.scan("read rows from key", page),
            plan,
        }
    }
}

impl Workload for ConcurrentTx {
    type Client = ConcurrentTxClient;

    fn name(&self) -> &'static str {
        ConcurrentTx::NAME
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.options.pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        &["put and remove"]
    }

    fn unit(&self) -> Unit {
        Unit { name: "operations", per_transaction: self.options.nops }
    }

    /// Removals of absent keys change nothing.
    fn always_writes(&self, _transaction: usize) -> bool {
        false
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn client(&self, number: usize, _clients: usize, seed: u64) -> ConcurrentTxClient {
        ConcurrentTxClient::new(self, number, seed)
    }

    fn figures(&self, counts: &Counts<'_>) -> Vec<OwnFigure> {
        let of = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
        let (committed, aborted) = (of(counts.committed), of(counts.aborted));
        let share = OwnFigure {
            name: "of the transactions that ended were aborted on purpose",
            unit: "%",
            value: 100.0 * aborted / (committed + aborted),
        };
        (committed + aborted > 0.0).then_some(share).into_iter().collect()
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<Tally>,
        session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        check::check(self, &tallies, session).await
    }

    fn check_names(&self) -> Vec<&'static str> {
        check::names().to_vec()
    }
}
