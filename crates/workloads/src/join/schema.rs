//! The workload itself: its options, tables and its one operation.

use super::transactions::{JoinClient, Tally};
use super::wisconsin_rows::{COLUMNS, INTEGERS, TEXT_BYTES, TEXTS, permuted, push};
use crate::error::Error;
use crate::lookup::By;
use crate::violations::Violations;
use syncline_contract::{
    Any, By as Walk, Check, Kind, Load, Many, OptionArgs, Path, Plan, Range, Read, Rows, Session,
    Side, Stop, Table, TableId, Workload, options,
};

const ANSWERED: &str = "every join answered each row of the small table once, with equal keys";

options! {
    /// What a user may choose.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Options {
        pub rows: u64 = 10_000 in 1..=100_000_000, "rows of the large table";
        pub joined: u64 = 1_000 in 1..=1_000_000,
            "rows of the small table, and so of the answer";
        pub by: By = "key", "what the join goes over: the primary key, or a unique secondary index";
    }
}

impl Options {
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let options = Options::read(given)?;
        if options.joined > options.rows {
            return Err(Error::Excluded {
                workload: Join::NAME,
                what: "joined with rows below it, since some rows would find no partner",
            });
        }
        Ok(options)
    }
}

/// The join workload.
#[derive(Debug)]
pub struct Join {
    options: Options,
    plan: Plan,
    tables: [TableId; 2],
    pub(super) all_rows: Read<Many<Any>, Many<Any>>,
}

impl Join {
    /// Its name.
    pub const NAME: &'static str = "join";

    /// The workload with these options.
    pub fn new(options: Options) -> Join {
        let mut plan = Plan::new();
        let tables = [("onektup", options.by), ("tenktup1", options.by)];
        let tables = tables.map(|(name, by)| plan.table(table(name, by)));
        let [small, large] = tables;
        let path = Path { table: small, by: Walk::Key, equal: 0, range: Range::All };
        let names = || INTEGERS.into_iter().chain(TEXTS);
        let of = |side: Side| names().map(move |name| (side, name));
        let columns: Vec<_> = of(Side::Left).chain(of(Side::Right)).collect();
        let on = [("unique1", "unique1")];
        Join {
            options,
            tables,
            all_rows: plan.join("join on unique1", path, large, &on, &columns),
            plan,
        }
    }

    /// Number of rows in the answer.
    pub(super) fn joined(&self) -> u64 {
        self.options.joined
    }
}

fn table(name: &'static str, by: By) -> Table {
    let integers =
        INTEGERS.iter().fold(Table::new(name), |table, column| table.column(*column, Kind::Int));
    let table = TEXTS.iter().fold(integers, |table, column| table.text(*column, TEXT_BYTES as u32));
    match by {
        By::Key => table.key(&["unique1"]),
        By::Index => table.key(&["unique2"]).index(format!("{name}_unique1"), &["unique1"], true),
    }
}

impl Workload for Join {
    type Client = JoinClient;

    fn name(&self) -> &'static str {
        Join::NAME
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.options.pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        &["join"]
    }

    fn always_writes(&self, _transaction: usize) -> bool {
        false
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn loads(&self) -> Vec<Load> {
        let units = [self.options.joined, self.options.rows];
        let pairs = self.tables.into_iter().zip(units);
        pairs.map(|(table, units)| Load { table, units }).collect()
    }

    fn load_unit(&self, table: TableId, number: u64, batch: &mut Rows) {
        let rows = if table == self.tables[0] { self.options.joined } else { self.options.rows };
        debug_assert_eq!(batch.width(), COLUMNS, "a row has every column");
        // The key ascends, so that loading is fast.
        match self.options.by {
            By::Key => push(number, permuted(number, rows), batch),
            By::Index => push(permuted(number, rows), number, batch),
        }
    }

    fn loaded_as(&self) -> Option<String> {
        let Options { rows, joined, by } = self.options;
        Some(format!("{rows} and {joined} Wisconsin rows, joined by {}", by.word()))
    }

    fn client(&self, _number: usize, _clients: usize, _seed: u64) -> JoinClient {
        JoinClient::new(self)
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<Tally>,
        _session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        let mut wrong = Violations::default();
        for tally in tallies {
            for _ in 0..tally.wrong {
                wrong.add(|| tally.first.clone().unwrap_or_default());
            }
        }
        Ok(vec![wrong.check(ANSWERED)])
    }

    fn check_names(&self) -> Vec<&'static str> {
        vec![ANSWERED]
    }
}
