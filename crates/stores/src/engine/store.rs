//! The database and its tables: made of a plan, and opened again.
//!
//! Invariant: no number that a table has given to a row is given again, also after it was opened
//! again: then it goes on behind the greatest that is there.

use super::failure::{failure, stop};
use super::prepared::Operation;
use super::values::{given, kind_of};
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

/// The column that numbers the rows of a table without a key. No column of a plan has such a name.
const NUMBER: &str = "#";

/// A disk on which a database can be made.
pub trait EngineDisk: Disk {
    /// A new database, in an empty directory if it is kept at all.
    fn create(directory: &Path, options: Options) -> Result<Database<Self>>;

    /// The database of a directory.
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
        unreachable!("what is kept in memory alone has no directory to be opened")
    }
}

/// See the module.
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

/// What counts the rows of a table up.
#[derive(Debug)]
pub(super) struct Numbers {
    /// The column that holds the number.
    pub(super) column: usize,
    /// True if the plan does not know that column.
    pub(super) is_hidden: bool,
    /// The greatest number that was given. Every insert writes it, and all sessions read the fields around it
    /// for every operation.
    last: CachePadded<AtomicI64>,
}

impl<D: EngineDisk> Store<D> {
    fn new(database: Database<D>, tables: Arc<[PlanTable]>) -> Store<D> {
        Store { database, tables, operations: OnceLock::new() }
    }

    /// The operations of a plan that was not refused, prepared. Sessions share them: a thousand copies
    /// would not stay in the processor's cache.
    pub(super) fn operations(&self, plan: &Plan) -> Arc<[Operation]> {
        let prepare = || Operation::all(plan, &self.tables);
        let first = || (plan.operations().to_vec(), prepare());
        match self.operations.get_or_init(first) {
            (of, prepared) if of == plan.operations() => Arc::clone(prepared),
            _ => prepare(),
        }
    }

    /// A new database with the plan's tables, empty.
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

    /// The database of a directory; refused if it holds other tables than the plan's.
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
                    "{} holds other tables than this workload's; name its own store",
                    directory.display()
                );
                Err(Failure::new(FailureKind::Storage, what))
            }
        }
    }
}

/// A table that is there, with its numbers; none if it is another one.
fn opened<D: EngineDisk>(
    database: &Database<D>,
    table: &contract::Table,
) -> Result<Option<PlanTable>> {
    let handle = match database.table(&table.name) {
        Err(Error::NoSuch { .. }) => return Ok(None),
        found => found?,
    };
    if *handle.schema() != schema(table)? {
        return Ok(None);
    }
    let table = PlanTable::new(handle, table);
    if let Some(numbers) = &table.numbers {
        let last = greatest(&mut database.session()?, &table.handle, numbers.column)?;
        numbers.keep_clear_of(last);
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

/// What the database calls a table of the plan.
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

    /// Adds rows of a batch, whole but for a hidden number, in one transaction, which is published
    /// when this returns: the ticket is to be waited for.
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
                    Some(numbers) if numbers.is_hidden => values.push(Value::Int(numbers.give())),
                    Some(numbers) => numbers.keep_clear_of(match row.value(numbers.column) {
                        contract::Value::Int(number) => number,
                        _ => 0,
                    }),
                    None => {}
                }
                values.extend(row.values().map(given));
                transaction.insert(&self.handle, &values)?;
            }
            Ok(())
        });
        loaded.map(|((), ticket)| ticket).map_err(|error| stop(&error))
    }
}

/// So many numbers a worker takes at once: rows of several leaves.
const BLOCK: i64 = 1024;

impl Numbers {
    /// The next numbers, for one worker.
    #[cold]
    pub(super) fn give_block(&self) -> Range<i64> {
        let first = self.last.fetch_add(BLOCK, Ordering::Relaxed) + 1;
        first..first + BLOCK
    }

    /// The next number.
    #[inline]
    pub(super) fn give(&self) -> i64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn keep_clear_of(&self, number: i64) {
        self.last.fetch_max(number, Ordering::Relaxed);
    }
}

impl fmt::Debug for PlanTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlanTable({})", self.handle.name())
    }
}
