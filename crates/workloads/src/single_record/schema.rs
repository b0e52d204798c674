//! The two workloads: their tables, rows and operations.

use super::check;
use super::options::{Access, Options};
use super::transactions::{SingleRecordClient, Tally};
use super::written_texts::WrittenTexts;
use crate::distributions::Stream;
use crate::lookup::By;
use std::marker::PhantomData;
use std::sync::Arc;
use syncline_contract::{
    By as Walk, Check, IndexId, Int, Kind, Limit, Load, Lock, Path, Plan, Range, Read, Rows, Scan,
    Session, Set, Stop, Table, TableId, Text, Value, Workload, Write,
};

/// Number of texts.
pub(super) const TEXTS: usize = 16;
const TEXT_BYTES: usize = 100;
/// A prime larger than any number of rows, so multiplying by it permutes them.
const PRIME: u64 = 2_654_435_761;
/// Rows per page of the check.
pub(super) const PAGE_ROWS: u64 = 1_000;

/// The operations on one table.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableOperations {
    pub(super) by_key: Read<(Int,), (Int, Text)>,
    /// Only if there is an index.
    pub(super) by_index: Option<Read<(Int,), (Int, Text)>>,
    /// Only in a workload that updates: a plan without writes also runs on a read-only server.
    pub(super) set_text: Option<Write<(Int, Text)>>,
    pub(super) page: Read<(Int,), (Int, Text)>,
}

/// The workload `select` or `update`.
#[derive(Debug)]
pub struct SingleRecord<A> {
    pub(super) options: Options,
    plan: Plan,
    pub(super) tables: Arc<[TableOperations]>,
    pub(super) texts: Arc<[String]>,
    pub(super) written: WrittenTexts,
    access: PhantomData<A>,
}

impl<A: Access> SingleRecord<A> {
    /// Its name.
    pub const NAME: &'static str = A::NAME;

    /// The workload with these options.
    pub fn new(options: Options) -> SingleRecord<A> {
        let mut plan = Plan::new();
        let tables = (0..options.tables).map(|number| table(options, number, A::WRITES, &mut plan));
        SingleRecord {
            options,
            tables: tables.collect(),
            texts: (0..TEXTS as u64).map(text).collect(),
            plan,
            written: WrittenTexts::default(),
            access: PhantomData,
        }
    }

    /// Number of rows in all tables.
    pub(super) fn rows(&self) -> usize {
        (self.options.rows * self.options.tables) as usize
    }

    /// The text with which a row is loaded, by its position.
    pub(super) fn loaded_text(&self, table: usize, row: u64) -> usize {
        let number = table as u64 * self.options.rows + row;
        Stream::of_load("single record", number).below(TEXTS as u64) as usize
    }
}

/// The value of the indexed column.
#[inline]
pub(super) fn indexed(row: u64, rows: u64) -> i64 {
    (row * PRIME % rows) as i64
}

/// One of the 16 texts.
fn text(number: u64) -> String {
    let mut bytes = [0; TEXT_BYTES];
    Stream::of_load("text of a single record", number).fill(&mut bytes);
    str::from_utf8(&bytes).expect("letters are text").to_owned()
}

fn table(options: Options, number: u64, writes: bool, plan: &mut Plan) -> TableOperations {
    let mut table = Table::new(format!("single_record_{number}")).column("id", Kind::Int);
    if options.by == By::Index {
        table = table.column("sec", Kind::Int);
    }
    table = table.text("text", TEXT_BYTES as u32).key(&["id"]);
    if options.by == By::Index {
        table = table.index(format!("single_record_{number}_sec"), &["sec"], true);
    }
    let table = plan.table(table);
    let columns = &["id", "text"];
    let of_index = Path { table, by: Walk::Index(IndexId(0)), equal: 1, range: Range::All };
    let of_index = Scan::ascending(of_index, Limit::None, columns);
    let from_key = Path::by_key(table, 0, Range::From);
    TableOperations {
        by_key: plan.get("select by key", table, columns, Lock::None),
        by_index: (options.by == By::Index).then(|| plan.scan("select by index", of_index)),
        set_text: writes.then(|| plan.update("update text", table, &[("text", Set::To)])),
        page: plan.scan(
            "read rows from key",
            Scan::ascending(from_key, Limit::Fixed(PAGE_ROWS), columns),
        ),
    }
}

impl<A: Access> Workload for SingleRecord<A> {
    type Client = SingleRecordClient;

    fn name(&self) -> &'static str {
        A::NAME
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.options.pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        if A::WRITES { &["update"] } else { &["select"] }
    }

    fn always_writes(&self, _transaction: usize) -> bool {
        A::WRITES
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn loads(&self) -> Vec<Load> {
        let units = self.options.rows;
        let tables = (0..self.tables.len()).map(TableId);
        tables.map(|table| Load { table, units }).collect()
    }

    fn load_unit(&self, table: TableId, number: u64, batch: &mut Rows) {
        let text = Value::Text(&self.texts[self.loaded_text(table.0, number)]);
        let id = Value::Int(number as i64);
        match self.options.by {
            By::Key => batch.push_row(&[id, text]),
            By::Index => {
                let sec = Value::Int(indexed(number, self.options.rows));
                batch.push_row(&[id, sec, text]);
            }
        }
    }

    fn loaded_as(&self) -> Option<String> {
        let Options { rows, tables, by } = self.options;
        // Updates leave other texts than were loaded.
        (!A::WRITES).then(|| format!("{tables} tables of {rows} rows, found by {}", by.word()))
    }

    fn run_begins(&self, _salt: u64) {
        self.written.begin(if A::WRITES { self.rows() } else { 0 });
    }

    fn client(&self, number: usize, _clients: usize, seed: u64) -> SingleRecordClient {
        SingleRecordClient::new(self, number, seed)
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<Tally>,
        session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        check::check(self, tallies, session).await
    }

    fn check_names(&self) -> Vec<&'static str> {
        check::names::<A>(&self.options)
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, TEXT_BYTES, indexed};
    use crate::single_record::Select;
    use std::collections::BTreeSet;
    use syncline_contract::{Rows, TableId, Value, Workload};

    #[test]
    fn the_indexed_column_holds_each_key_once() {
        for rows in [1, 2, 10, 1_000, 99_991] {
            let values: BTreeSet<i64> = (0..rows).map(|row| indexed(row, rows)).collect();
            assert_eq!(values.len() as u64, rows);
            assert_eq!(values.last(), Some(&(rows as i64 - 1)));
        }
    }

    #[test]
    fn rows_have_one_of_sixteen_texts() {
        let load = Select::new(Options::default());
        let texts: BTreeSet<&String> = load.texts.iter().collect();
        assert_eq!(texts.len(), 16);
        assert!(texts.iter().all(|text| text.len() == TEXT_BYTES));
        let mut rows = Rows::new(2);
        for number in 0..1_000 {
            load.load_unit(TableId(0), number, &mut rows);
        }
        let mut used = BTreeSet::new();
        for row in rows.iter() {
            let Value::Text(text) = row.value(1) else { panic!("a text") };
            assert!(load.texts.iter().any(|of| of == text));
            used.insert(text);
        }
        assert_eq!(used.len(), 16);
    }
}
