//! The workload itself: its options, tables and operations.

use super::check;
use super::transactions::{ShortClient, Tally};
use crate::error::Error;
use std::sync::Arc;
use syncline_contract::{
    Aggregate, By, Check, IndexId, Int, Kind, Limit, Load, Lock, Many, OptionArgs, Path, Plan,
    Range, Read, Rows, Scan, Session, Set, Stop, Table, TableId, Value, Workload, Write, options,
    words,
};

/// Rows per page of the check.
pub(super) const PAGE_ROWS: u64 = 1_000;

words! {
    /// The operation in each table.
    pub enum Do {
        /// Reads.
        Read = "read",
        /// An update.
        Update = "update",
    }
}

options! {
    /// What a user may choose.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Options {
        pub tables: u64 = 1 in 1..=8, "tables that each transaction goes to";
        pub indexes: u64 = 0 in 0..=8, "unique secondary indexes of each table";
        pub does ("do"): Do = "read",
            "what is done in each table: a read by key and by each index, or an update";
        pub rows: u64 = 10_000 in 1..=100_000_000, "rows of each table";
    }
}

impl Options {
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        Ok(Options::read(given)?)
    }
}

/// The operations on one table.
#[derive(Debug)]
pub(super) struct TableOperations {
    pub(super) by_key: Read<(Int,), (Int,)>,
    pub(super) by_index: Vec<Read<(Int,), (Int,)>>,
    pub(super) change: Write<Many<Int>>,
    /// The key, the count and the indexed columns of rows, starting at a key.
    pub(super) page: Read<(Int,), Many<Int>>,
    pub(super) sum_of_counts: Read<(), (syncline_contract::Nullable<Int>,)>,
}

/// The short workload.
#[derive(Debug)]
pub struct Short {
    pub(super) options: Options,
    plan: Plan,
    pub(super) tables: Arc<[TableOperations]>,
}

impl Short {
    /// Its name.
    pub const NAME: &'static str = "short";

    /// The workload with these options.
    pub fn new(options: Options) -> Short {
        let mut plan = Plan::new();
        let tables = (0..options.tables).map(|number| of_table(&options, number, &mut plan));
        Short { options, tables: tables.collect(), plan }
    }
}

fn of_table(options: &Options, number: u64, plan: &mut Plan) -> TableOperations {
    let columns: Vec<String> = (0..options.indexes).map(|index| format!("i{index}")).collect();
    let mut table = Table::new(format!("short_{number}"))
        .column("id", Kind::Int)
        .column("count", Kind::Int)
        .key(&["id"]);
    for column in &columns {
        table = table.column(column.clone(), Kind::Int).index(
            format!("short_{number}_{column}"),
            &[column],
            true,
        );
    }
    let table = plan.table(table);
    let by_index = (0..columns.len()).map(|index| {
        let path = Path { table, by: By::Index(IndexId(index)), equal: 1, range: Range::All };
        plan.scan("read by index", Scan::ascending(path, Limit::None, &["id"]))
    });
    let by_index = by_index.collect();
    let mut sets = vec![("count", Set::Add)];
    sets.extend(columns.iter().map(|column| (column.as_str(), Set::To)));
    let mut all = vec!["id", "count"];
    all.extend(columns.iter().map(String::as_str));
    let from_key = Path::by_key(table, 0, Range::From);
    let page = Scan::ascending(from_key, Limit::Fixed(PAGE_ROWS), &all);
    let counts = Aggregate::Sum(plan.tables()[table.0].id("count"));
    TableOperations {
        by_key: plan.get("read by key", table, &["id"], Lock::None),
        by_index,
        change: plan.update("update", table, &sets),
        page: plan.scan("read rows from key", page),
        sum_of_counts: plan.aggregate("sum counts", Path::by_key(table, 0, Range::All), counts),
    }
}

impl Workload for Short {
    type Client = ShortClient;

    fn name(&self) -> &'static str {
        Short::NAME
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.options.pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        match self.options.does {
            Do::Read => &["read"],
            Do::Update => &["update"],
        }
    }

    fn always_writes(&self, _transaction: usize) -> bool {
        match self.options.does {
            Do::Read => false,
            Do::Update => true,
        }
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn loads(&self) -> Vec<Load> {
        let units = self.options.rows;
        let tables = (0..self.tables.len()).map(TableId);
        tables.map(|table| Load { table, units }).collect()
    }

    fn load_unit(&self, _table: TableId, number: u64, batch: &mut Rows) {
        let id = Value::Int(number as i64);
        batch.push(id);
        batch.push(Value::Int(0));
        for _ in 0..self.options.indexes {
            batch.push(id);
        }
    }

    fn loaded_as(&self) -> Option<String> {
        let Options { tables, indexes, rows, does } = self.options;
        let read = || format!("{tables} tables of {rows} rows and {indexes} indexes");
        (does == Do::Read).then(read)
    }

    fn client(&self, number: usize, _clients: usize, seed: u64) -> ShortClient {
        ShortClient::new(self, number, seed)
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
