//! The tables, and the prepared statements of each.

use super::content::{C_BYTES, PAD_BYTES};
use super::event::{Event, Statement};
use super::options::Options;
use super::sysbench_test::Test;
use syncline_contract::{
    Aggregate, By, IndexId, Int, Kind, Limit, Lock, Nullable, Order, Path, Plan, Range, Read, Scan,
    Set, Table, TableId, Text, Write,
};

/// Rows that the check reads at a time.
pub(super) const PAGE_ROWS: u64 = 500;

/// A range of a table's `c`.
pub(super) type OfRange = Read<(Int, Int), (Text,)>;

/// The sum of `k` over a range; none over no rows.
pub(super) type OfSum = Read<(Int, Int), (Nullable<Int>,)>;

/// How a row is inserted.
#[derive(Clone, Copy, Debug)]
pub(super) enum NewRow {
    /// In place of one that was deleted: the key beside the id first, where there is one.
    Again(Write<(Int, Int, Text, Text)>),
    AgainWithKey(Write<(Int, Int, Int, Text, Text)>),
    /// With an id that nobody has.
    WithId(Write<(Int, Int, Text, Text)>),
    /// With an id that the store gives.
    ByStore(Write<(Int, Text, Text)>),
}

/// The statements of a table; an event's kinds are there, the others may not be.
#[derive(Clone, Debug, Default)]
pub(super) struct OfTable {
    /// The key of an id, where rows are found by a secondary index.
    pub(super) find: Option<Read<(Int,), (Int,)>>,
    pub(super) point: Option<Read<(Int,), (Text,)>>,
    pub(super) simple: Option<OfRange>,
    pub(super) sum: Option<OfSum>,
    pub(super) order: Option<OfRange>,
    pub(super) distinct: Option<OfRange>,
    pub(super) add_to_k: Option<Write<(Int, Int)>>,
    pub(super) set_c: Option<Write<(Int, Text)>>,
    pub(super) delete: Option<Write<(Int,)>>,
    pub(super) new_row: Option<NewRow>,
}

/// What the check reads of a table: a page of rows from an id on.
#[derive(Clone, Debug)]
pub(super) enum Page {
    /// Id, `k`, `c` and `pad`.
    Whole(Read<(Int,), (Int, Int, Text, Text)>),
    /// Id and `k`, of test `bulk_insert`.
    Bulk(Read<(Int,), (Int, Int)>),
}

/// Every statement of a plan, and its tables, by position.
#[derive(Debug, Default)]
pub(super) struct Statements {
    pub(super) tables: Vec<TableId>,
    pub(super) of: Vec<OfTable>,
    /// Inserts of test `bulk_insert`: id and `k`.
    pub(super) bulk: Vec<Write<(Int, Int)>>,
    pub(super) pages: Vec<Page>,
}

impl Statements {
    /// Declares what a test needs.
    pub(super) fn declare(options: &Options, plan: &mut Plan) -> Statements {
        let event = Event::of(options);
        let mut statements = Statements::default();
        for number in 1..=options.tables {
            let table = plan.table(table(options, number));
            let mut declare = Declare { plan, table, number, secondary: options.secondary };
            if options.test == Test::BulkInsert {
                statements.bulk.push(declare.bulk());
                statements.pages.push(declare.bulk_page());
            } else {
                statements.of.push(declare.all(options, &event));
                statements.pages.push(declare.page());
            }
            statements.tables.push(table);
        }
        statements
    }
}

fn table(options: &Options, number: u64) -> Table {
    let mut table = Table::new(format!("sbtest{number}"));
    if options.secondary {
        table = table.column("pk", Kind::Int);
    }
    table = table.column("id", Kind::Int).column("k", Kind::Int);
    if options.test == Test::BulkInsert {
        return table.key(&["id"]);
    }
    table = table.text("c", C_BYTES as u32).text("pad", PAD_BYTES as u32);
    table = match options {
        _ if options.ids_by_store() => table.key_by_server("id"),
        _ if options.secondary => table.key(&["pk"]).index(format!("xid{number}"), &["id"], false),
        _ => table.key(&["id"]),
    };
    if options.create_secondary {
        table = table.index(format!("k_{number}"), &["k"], false);
    }
    table
}

fn scan<'c>(path: Path, limit: Limit, columns: &'c [&'c str]) -> Scan<'c> {
    Scan { path, order: Order::Ascending, limit, columns, lock: Lock::None }
}

struct Declare<'d> {
    plan: &'d mut Plan,
    table: TableId,
    /// The number in the table's name.
    number: u64,
    secondary: bool,
}

impl Declare<'_> {
    fn name(&self, what: &str) -> String {
        format!("sbtest{}: {what}", self.number)
    }

    /// Rows by id: of one, or of a range.
    fn path(&self, equal: usize, range: Range) -> Path {
        // The index on the id is the first of its table.
        let by = if self.secondary { By::Index(IndexId(0)) } else { By::Key };
        Path { table: self.table, by, equal, range }
    }

    fn all(&mut self, options: &Options, event: &Event) -> OfTable {
        let has = |statement| event.has(statement);
        let between = self.path(0, Range::Between);
        let (table, secondary) = (self.table, self.secondary);
        let writes = event.groups.iter().any(|(statement, _)| statement.writes());
        let number = self.number;
        let name = |what: &str| format!("sbtest{number}: {what}");
        let mut of = OfTable::default();
        if has(Statement::PointSelect) {
            of.point = Some(self.point());
        }
        if has(Statement::SimpleRange) {
            let scan = scan(between, Limit::None, &["c"]);
            of.simple = Some(self.plan.scan(name("simple range"), scan));
        }
        if has(Statement::SumRange) {
            let k = self.plan.tables()[table.0].id("k");
            let sum = Aggregate::Sum(k);
            of.sum = Some(self.plan.aggregate(name("sum range"), between, sum));
        }
        if has(Statement::OrderRange) {
            let order = self.plan.sorted(name("order range"), between, "c", false);
            of.order = Some(order);
        }
        if has(Statement::DistinctRange) {
            let distinct = self.plan.sorted(name("distinct range"), between, "c", true);
            of.distinct = Some(distinct);
        }
        if writes && secondary {
            let scan = scan(self.path(1, Range::All), Limit::Fixed(1), &["pk"]);
            of.find = Some(self.plan.scan(name("find row to change"), scan));
        }
        if has(Statement::IndexUpdate) {
            let sets = [("k", Set::Add)];
            of.add_to_k = Some(self.plan.change(name("index update"), table, &sets));
        }
        if has(Statement::NonIndexUpdate) {
            let sets = [("c", Set::To)];
            of.set_c = Some(self.plan.change(name("non-index update"), table, &sets));
        }
        if has(Statement::Delete) {
            of.delete = Some(self.plan.remove(name("delete"), table));
        }
        of.new_row = self.new_row(options, event);
        of
    }

    fn point(&mut self) -> Read<(Int,), (Text,)> {
        let name = self.name("point select");
        if self.secondary {
            let scan = scan(self.path(1, Range::All), Limit::None, &["c"]);
            self.plan.scan(name, scan)
        } else {
            self.plan.get(name, self.table, &["c"], Lock::None)
        }
    }

    fn new_row(&mut self, options: &Options, event: &Event) -> Option<NewRow> {
        let (name, table) = (self.name("insert"), self.table);
        if options.ids_by_store() {
            Some(NewRow::ByStore(self.plan.insert(name, table)))
        } else if event.has(Statement::Insert) {
            Some(NewRow::WithId(self.plan.insert(name, table)))
        } else if options.test == Test::Delete || !event.has(Statement::Delete) {
            None
        } else if self.secondary {
            Some(NewRow::AgainWithKey(self.plan.put(name, table)))
        } else {
            Some(NewRow::Again(self.plan.put(name, table)))
        }
    }

    fn bulk(&mut self) -> Write<(Int, Int)> {
        let name = self.name("insert");
        self.plan.insert(name, self.table)
    }

    fn page(&mut self) -> Page {
        let (name, columns) = (self.name("read rows from"), ["id", "k", "c", "pad"]);
        let path = Path { by: By::Key, ..self.path(0, Range::From) };
        let scan = scan(path, Limit::Fixed(PAGE_ROWS), &columns);
        Page::Whole(self.plan.scan(name, scan))
    }

    fn bulk_page(&mut self) -> Page {
        let (name, columns) = (self.name("read rows from"), ["id", "k"]);
        let scan = scan(self.path(0, Range::From), Limit::Fixed(PAGE_ROWS), &columns);
        Page::Bulk(self.plan.scan(name, scan))
    }
}
