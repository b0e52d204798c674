//! The database and its tables: created from a plan, and reopened.
//!
//! Invariant: a table never assigns the same number to two rows, even after reopening: numbers then
//! continue after the greatest one in use.

use super::failure::{failure, stop};
use super::prepared::Operation;
use super::values::{kind_of, to_engine};
use crossbeam_utils::CachePadded;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use syncline_contract as contract;
use syncline_contract::{Failure, FailureKind, KeyGivenBy, Plan, Rows, Stop, TargetResult};
use syncline_engine::{
    Begin, Database, Direction, Error, KeyRange, Options, Result, Row, Schema, Table, TypedSession,
    Value,
};
use syncline_vfs::{Disk, NullDisk, RealDisk};

/// The column that numbers the rows of a table without a key. No column of a plan has this name.
const NUMBER: &str = "#";

/// A disk that a database can be created on.
pub trait EngineDisk: Disk {
    /// Creates a database, in an empty directory if it is stored at all.
    fn create(directory: &Path, options: Options) -> Result<Database<Self>>;

    /// Opens the database of a directory.
    fn reopen(directory: &Path, options: Options) -> Result<Database<Self>>;
}

impl EngineDisk for RealDisk {
    fn create(directory: &Path, options: Options) -> Result<Database> {
        Database::create(directory, options)
    }

    fn reopen(directory: &Path, options: Options) -> Result<Database> {
        Database::open(directory, options)
    }
}

impl EngineDisk for NullDisk {
    fn create(_directory: &Path, options: Options) -> Result<Database<NullDisk>> {
        Database::transient(options)
    }

    fn reopen(_directory: &Path, _options: Options) -> Result<Database<NullDisk>> {
        unreachable!("a transient database has no directory to open")
    }
}

/// The open database with the plan's tables.
#[derive(Debug)]
pub(super) struct Store<D: Disk> {
    pub(super) database: Database<D>,
    pub(super) tables: Arc<[PlanTable]>,
    /// The operations of the first session's plan, as the plan has them and prepared.
    operations: OnceLock<(Vec<contract::Operation>, Arc<[Operation]>)>,
}

/// A table of the plan in the database.
pub(super) struct PlanTable {
    pub(super) handle: Table,
    pub(super) numbers: Option<Numbers>,
}

/// The numbering of a table's rows.
#[derive(Debug)]
pub(super) struct Numbers {
    /// The column that holds the number.
    pub(super) column: usize,
    /// True if the plan does not have that column.
    pub(super) is_hidden: bool,
    /// The greatest assigned number. Every insert writes it, while all sessions read the neighbouring
    /// fields for every operation, so it is padded to a cache line.
    last: CachePadded<AtomicI64>,
}

impl<D: EngineDisk> Store<D> {
    fn new(database: Database<D>, tables: Arc<[PlanTable]>) -> Store<D> {
        Store { database, tables, operations: OnceLock::new() }
    }

    /// The prepared operations of a plan. Sessions share them: a thousand copies would not fit into the
    /// processor's cache.
    pub(super) fn operations(&self, plan: &Plan) -> Arc<[Operation]> {
        let prepare = || Operation::all(plan, &self.tables);
        let first = || (plan.operations().to_vec(), prepare());
        match self.operations.get_or_init(first) {
            (of, prepared) if of == plan.operations() => Arc::clone(prepared),
            _ => prepare(),
        }
    }

    /// Creates a database with the plan's tables, empty.
    pub(super) fn create(
        directory: &Path,
        options: Options,
        plan: &Plan,
    ) -> TargetResult<Store<D>> {
        let made = D::create(directory, options).and_then(|database| {
            let tables = plan.tables().iter().map(|table| {
                let handle = database.create_table(schema(table)?)?;
                Ok(PlanTable::new(handle, table))
            });
            let tables = tables.collect::<Result<_>>()?;
            Ok(Store::new(database, tables))
        });
        made.map_err(|error| failure(&error))
    }

    /// Opens the database of a directory; refuses it if its tables are not those of the plan.
    pub(super) fn open(directory: &Path, options: Options, plan: &Plan) -> TargetResult<Store<D>> {
        let database = D::reopen(directory, options).map_err(|error| failure(&error))?;
        let tables = plan.tables().iter().map(|table| opened(&database, table));
        let tables = tables.collect::<Result<Option<Arc<[_]>>>>();
        match tables.map_err(|error| failure(&error))? {
            Some(tables) if database.tables().len() == tables.len() => {
                Ok(Store::new(database, tables))
            }
            _ => {
                let what = format!(
                    "{} holds other tables than this workload's; name another store",
                    directory.display()
                );
                Err(Failure::new(FailureKind::Storage, what))
            }
        }
    }
}

/// An existing table, with its numbering; `None` if its schema differs.
fn opened<D: EngineDisk>(
    database: &Database<D>,
    table: &contract::Table,
) -> Result<Option<PlanTable>> {
    let handle = match database.table(&table.name) {
        Err(Error::NoSuch { .. }) => return Ok(None),
        table => table?,
    };
    if *handle.schema() != schema(table)? {
        return Ok(None);
    }
    let table = PlanTable::new(handle, table);
    if let Some(numbers) = &table.numbers {
        let last = greatest(&mut database.session()?, &table.handle, numbers.column)?;
        numbers.advance_past(last);
    }
    Ok(Some(table))
}

/// The greatest number in a table that has it as its key; zero if it is empty.
fn greatest<D: Disk>(session: &mut TypedSession<D>, table: &Table, column: usize) -> Result<i64> {
    let mut greatest = 0;
    session.begin(Begin::ReadOnly)?;
    let see = |row: Row<'_>| {
        greatest = row.value(column)?.as_int().unwrap_or(0);
        Ok(ControlFlow::Break(()))
    };
    session.scan(table, KeyRange::ALL, Direction::Descending, 1, see)?;
    session.abort();
    Ok(greatest)
}

/// The database's schema for a table of the plan.
fn schema(table: &contract::Table) -> Result<Schema> {
    let names = |columns: &[contract::ColumnId]| -> Vec<&str> {
        columns.iter().map(|column| &*table.columns[column.0].name).collect()
    };
    let mut schema = Schema::table(&*table.name);
    if table.key.is_empty() {
        schema = schema.column(NUMBER, syncline_engine::Kind::Int);
    }
    for column in &table.columns {
        let kind = kind_of(column.kind);
        schema = if column.nullable {
            schema.nullable(&*column.name, kind)
        } else {
            schema.column(&*column.name, kind)
        };
    }
    schema =
        if table.key.is_empty() { schema.key([NUMBER]) } else { schema.key(names(&table.key)) };
    for index in &table.indexes {
        let columns = names(&index.columns);
        schema = if index.unique {
            schema.unique(&*index.name, columns)
        } else {
            schema.index(&*index.name, columns)
        };
    }
    schema.build()
}

impl PlanTable {
    fn new(handle: Table, table: &contract::Table) -> PlanTable {
        let is_hidden = table.key.is_empty();
        let is_numbered = is_hidden || table.key_given_by == KeyGivenBy::Server;
        let numbers = is_numbered.then(|| Numbers {
            column: table.key.first().map_or(0, |key| key.0),
            is_hidden,
            last: CachePadded::new(AtomicI64::new(0)),
        });
        PlanTable { handle, numbers }
    }

    /// The position of a column of the plan.
    pub(super) fn column(&self, column: contract::ColumnId) -> usize {
        let is_hidden = |numbers: &Numbers| numbers.is_hidden;
        column.0 + usize::from(self.numbers.as_ref().is_some_and(is_hidden))
    }

    /// Inserts rows of a batch, complete except for a hidden number, in one transaction, which is
    /// published when this returns: the caller must wait for the ticket.
    pub(super) fn load<D: Disk>(
        &self,
        session: &mut TypedSession<D>,
        rows: &Rows,
        range: Range<usize>,
    ) -> std::result::Result<syncline_engine::log::Ticket, Stop> {
        let loaded = session.run(Begin::Serializable, |transaction| {
            let mut values = Vec::with_capacity(rows.width() + 1);
            for row in range.clone().map(|number| rows.row(number)) {
                values.clear();
                match &self.numbers {
                    Some(numbers) if numbers.is_hidden => {
                        values.push(Value::Int(numbers.allocate()));
                    }
                    Some(numbers) => numbers.advance_past(match row.value(numbers.column) {
                        contract::Value::Int(number) => number,
                        _ => 0,
                    }),
                    None => {}
                }
                values.extend(row.values().map(to_engine));
                transaction.insert(&self.handle, &values)?;
            }
            Ok(())
        });
        loaded.map(|((), ticket)| ticket).map_err(|error| stop(&error))
    }
}

/// How many numbers a worker takes at once: rows of several leaves.
const BLOCK: i64 = 1024;

impl Numbers {
    /// Takes the next block of numbers, for one worker.
    #[cold]
    pub(super) fn allocate_block(&self) -> Range<i64> {
        let first = self.last.fetch_add(BLOCK, Ordering::Relaxed) + 1;
        first..first + BLOCK
    }

    /// Takes the next number.
    #[inline]
    pub(super) fn allocate(&self) -> i64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn advance_past(&self, number: i64) {
        self.last.fetch_max(number, Ordering::Relaxed);
    }
}

impl fmt::Debug for PlanTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlanTable({})", self.handle.name())
    }
}
