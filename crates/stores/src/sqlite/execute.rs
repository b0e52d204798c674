//! A connection with the plan's statements: an operation's values in, its rows out.

use super::connection;
use super::failure::{outside, stop};
use super::raw::Prepared;
use super::settings::Settings;
use super::sql;
use crate::transaction_phase::TransactionPhase;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Statement, ToSql};
use std::path::{Path, PathBuf};
use syncline_contract::{
    Action, Decimal, Failure, FailureKind, Kind, Operation, OperationId, Plan, Replies, Rows, Stop,
    TableId, TargetResult, Value,
};

/// A statement that starts or ends a transaction or a savepoint.
#[derive(Clone, Copy, Debug)]
pub(super) enum Control {
    /// Starts a transaction that takes its locks when it needs them.
    Begin,
    /// Starts a transaction that may write, taking the write lock at once.
    BeginImmediate,
    /// Commits.
    Commit,
    /// Rolls the transaction back.
    Rollback,
    /// Starts a savepoint, which can be rolled back alone.
    Savepoint,
    /// Ends a savepoint and keeps its changes.
    Release,
    /// Rolls a savepoint back and leaves it open.
    RollbackTo,
}

/// In the order of the variants of [`Control`].
const CONTROLS: [&str; 7] = [
    "BEGIN",
    "BEGIN IMMEDIATE",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT member",
    "RELEASE member",
    "ROLLBACK TO member",
];

impl Control {
    /// Its statement.
    pub(super) fn text(self) -> &'static str {
        CONTROLS[self as usize]
    }
}

/// An operation with its prepared statement.
#[derive(Debug)]
struct Compiled {
    operation: Operation,
    /// `None` for a user's statement that names a table which does not exist yet, until it is used: a
    /// script may create its tables itself.
    statement: Option<usize>,
    /// The kinds of its parameters, for the scales of decimals.
    parameters: Vec<Kind>,
    /// The kinds of its answer's columns; empty for a write and for a user's statement.
    answer: Vec<Kind>,
    /// True if it returns rows.
    answers: bool,
    /// True if it changes one row by key, which must exist.
    changes_one: bool,
}

/// How a table is loaded.
#[derive(Debug)]
struct Loading {
    statement: usize,
    columns: Vec<Kind>,
}

/// A connection with every statement of a plan prepared.
#[derive(Debug)]
pub(super) struct Connected {
    prepared: Prepared,
    path: PathBuf,
    operations: Vec<Compiled>,
    loads: Vec<Loading>,
    controls: Vec<usize>,
}

impl Connected {
    /// Opens a connection and prepares every operation of the plan.
    pub(super) fn open(path: &Path, settings: &Settings, plan: &Plan) -> TargetResult<Connected> {
        let mut connected = Connected {
            prepared: Prepared::new(connection::open(path, settings)?),
            path: path.to_owned(),
            operations: Vec::new(),
            loads: Vec::new(),
            controls: Vec::new(),
        };
        for operation in plan.operations() {
            let statement = connected.operation(plan, &operation.action)?;
            connected.operations.push(compiled(plan, operation, statement));
        }
        for table in plan.tables() {
            let statement = connected.prepare(&sql::load(table))?;
            let columns = table.columns.iter().map(|column| column.kind).collect();
            connected.loads.push(Loading { statement, columns });
        }
        for text in CONTROLS {
            let statement = connected.prepare(text)?;
            connected.controls.push(statement);
        }
        Ok(connected)
    }

    fn operation(&mut self, plan: &Plan, action: &Action) -> TargetResult<Option<usize>> {
        match self.prepare(&sql::statement(plan, action)) {
            Err(failure)
                if matches!(action, Action::Statement { .. })
                    && failure.what.contains(": no such ") =>
            {
                Ok(None)
            }
            prepared => prepared.map(Some),
        }
    }

    /// Prepares a user's statement at its first use.
    #[cold]
    fn prepare_late(&mut self, id: OperationId) -> Result<usize, Stop> {
        let compiled = &mut self.operations[id.0];
        let Action::Statement { text, .. } = &compiled.operation.action else {
            unreachable!("only a user's statements are prepared late")
        };
        match self.prepared.prepare(text) {
            Ok(statement) => {
                compiled.statement = Some(statement);
                Ok(statement)
            }
            Err(error) => {
                let during = TransactionPhase::Operation(id, &compiled.operation.name);
                Err(stop(&error, during, &self.path))
            }
        }
    }

    fn prepare(&mut self, text: &str) -> TargetResult<usize> {
        let doing = || format!("prepare {text} on");
        let prepared = self.prepared.prepare(text);
        prepared.map_err(|error| outside(&error, &doing(), &self.path))
    }

    /// True if the prepared operations are those of a plan.
    pub(super) fn serves(&self, plan: &Plan) -> bool {
        let own = self.operations.iter().map(|compiled| &compiled.operation);
        own.eq(plan.operations())
    }

    /// True outside of transactions; SQLite also ends one by itself after some errors.
    #[inline]
    pub(super) fn is_autocommit(&self) -> bool {
        self.prepared.connection().is_autocommit()
    }

    /// Starts or ends a transaction or a savepoint.
    #[inline]
    pub(super) fn control(&mut self, control: Control) -> Result<(), Stop> {
        let statement = self.controls[control as usize];
        let done = self.prepared.execute(statement);
        done.map(drop).map_err(|error| {
            let during = match control {
                Control::Commit => TransactionPhase::Commit,
                _ => TransactionPhase::Begin,
            };
            stop(&error, during, &self.path)
        })
    }

    /// Executes an operation; a read's answer is appended to the replies. `whole` means that the
    /// operation is its own transaction.
    #[inline]
    pub(super) fn run(
        &mut self,
        id: OperationId,
        values: &[Value<'_>],
        whole: bool,
        replies: &mut Replies,
    ) -> Result<(), Stop> {
        let statement = match self.operations[id.0].statement {
            Some(statement) => statement,
            None => self.prepare_late(id)?,
        };
        let compiled = &self.operations[id.0];
        if bad_scale(&compiled.parameters, values) {
            return Err(
                compiled.refused(id, "received a decimal whose scale differs from the plan's")
            );
        }
        let done = self.prepared.with(statement, |statement| {
            bind(statement, values)?;
            if !compiled.answers {
                statement.raw_execute()
            } else if compiled.answer.is_empty() {
                read_any(statement, replies)
            } else {
                read(statement, &compiled.answer, replies.push(compiled.answer.len()))
            }
        });
        match done {
            Ok(0) if compiled.changes_one => {
                Err(compiled.refused(id, "changed no row where its key identifies one"))
            }
            Ok(_) => Ok(()),
            Err(error) => {
                let operation = &compiled.operation;
                let during = if whole && !compiled.answers {
                    TransactionPhase::WholeTransaction(id, &operation.name)
                } else {
                    TransactionPhase::Operation(id, &operation.name)
                };
                Err(stop(&error, during, &self.path))
            }
        }
    }

    /// The names of the columns that an operation returns.
    pub(super) fn columns(&self, id: OperationId) -> Vec<String> {
        let statement = self.operations[id.0].statement;
        statement.map_or_else(Vec::new, |statement| self.prepared.columns(statement))
    }

    /// Loads whole rows in one transaction of its own.
    pub(super) fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        self.control(Control::BeginImmediate)?;
        let loaded = self.load_rows(table, batch).and_then(|()| self.control(Control::Commit));
        if loaded.is_err() && !self.is_autocommit() {
            // The load's own error is the one to report; one of the rollback would only hide it.
            drop(self.control(Control::Rollback));
        }
        loaded
    }

    fn load_rows(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        let Loading { statement, columns } = &self.loads[table.0];
        for row in batch.iter() {
            if row.values().zip(columns).any(|(value, kind)| other_scale(value, *kind)) {
                let what = "a row to load holds a decimal whose scale differs from its column's";
                return Err(Failure::new(FailureKind::Statement, what).into());
            }
            let done = self.prepared.with(*statement, |statement| {
                for (position, value) in row.values().enumerate() {
                    statement.raw_bind_parameter(position + 1, Bound(value))?;
                }
                statement.raw_execute()
            });
            done.map_err(|error| stop(&error, TransactionPhase::Load, &self.path))?;
        }
        Ok(())
    }
}

impl Compiled {
    #[cold]
    fn refused(&self, id: OperationId, what: &str) -> Stop {
        let what = format!("operation \"{}\" {what}", self.operation.name);
        Failure::new(FailureKind::Statement, what).in_operation(id).into()
    }
}

fn compiled(plan: &Plan, operation: &Operation, statement: Option<usize>) -> Compiled {
    let kinds = |columns: Vec<(Kind, bool)>| columns.into_iter().map(|(kind, _)| kind).collect();
    let action = &operation.action;
    Compiled {
        operation: operation.clone(),
        statement,
        parameters: kinds(plan.parameters(action)),
        answer: kinds(plan.answer(action)),
        answers: !action.writes(),
        changes_one: matches!(action, Action::Update { .. } | Action::Delete { .. }),
    }
}

/// A parameter for SQLite: decimals as their units, times as their microseconds.
struct Bound<'a>(Value<'a>);

impl ToSql for Bound<'_> {
    #[inline]
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(number) | Value::Timestamp(number) => ValueRef::Integer(number),
            Value::Decimal(decimal) => ValueRef::Integer(decimal.units),
            Value::Float(number) => ValueRef::Real(number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

#[inline]
fn bind(statement: &mut Statement<'_>, values: &[Value<'_>]) -> rusqlite::Result<()> {
    for (position, value) in values.iter().enumerate() {
        statement.raw_bind_parameter(position + 1, Bound(*value))?;
    }
    Ok(())
}

/// Fills in the rows of an answer and counts them.
fn read(
    statement: &mut Statement<'_>,
    kinds: &[Kind],
    answer: &mut Rows,
) -> rusqlite::Result<usize> {
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        for (position, kind) in kinds.iter().enumerate() {
            answer.push(value(row.get_ref(position)?, *kind));
        }
    }
    Ok(answer.len())
}

/// Fills in an answer whose columns only SQLite knows.
fn read_any(statement: &mut Statement<'_>, replies: &mut Replies) -> rusqlite::Result<usize> {
    let columns = statement.column_count();
    let answer = replies.push(columns);
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        for position in 0..columns {
            // With this kind, the cell's own type decides.
            answer.push(value(row.get_ref(position)?, Kind::Int));
        }
    }
    Ok(answer.len())
}

/// A cell as the plan declares it; one of another type unchanged, and the transaction refuses it.
#[inline]
fn value(cell: ValueRef<'_>, kind: Kind) -> Value<'_> {
    match (cell, kind) {
        (ValueRef::Null, _) => Value::Null,
        (ValueRef::Integer(number), Kind::Timestamp) => Value::Timestamp(number),
        (ValueRef::Integer(units), Kind::Decimal { scale }) => {
            Value::Decimal(Decimal { units, scale })
        }
        (ValueRef::Integer(number), _) => Value::Int(number),
        (ValueRef::Real(number), _) => Value::Float(number),
        (ValueRef::Text(bytes), _) => {
            str::from_utf8(bytes).map_or(Value::Bytes(bytes), Value::Text)
        }
        (ValueRef::Blob(bytes), _) => Value::Bytes(bytes),
    }
}

fn bad_scale(parameters: &[Kind], values: &[Value<'_>]) -> bool {
    let mut pairs = values.iter().zip(parameters);
    pairs.any(|(value, kind)| other_scale(*value, *kind))
}

#[inline]
fn other_scale(value: Value<'_>, kind: Kind) -> bool {
    match (value, kind) {
        (Value::Decimal(decimal), Kind::Decimal { scale }) => decimal.scale != scale,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Connected, Control};
    use crate::sqlite::settings::Settings;
    use rusqlite::Connection;
    use syncline_contract::{
        Decimal, FailureKind, Kind, OperationId, Plan, Replies, Stop, Table, Value,
    };

    /// A table of text and decimals, and operation 0, which inserts.
    fn plan() -> Plan {
        let mut plan = Plan::new();
        let table = Table::new("t")
            .column("id", Kind::Int)
            .text("body", 4000)
            .column("price", Kind::Decimal { scale: 2 })
            .key(&["id"]);
        let table = plan.table(table);
        let _: syncline_contract::Write<(
            syncline_contract::Int,
            syncline_contract::Text,
            syncline_contract::Exact,
        )> = plan.insert("insert row", table);
        plan
    }

    fn connected(folder: &tempfile::TempDir) -> Connected {
        let (path, settings, plan) = (folder.path().join("s.db"), Settings::default(), plan());
        let connection = Connection::open(&path).unwrap();
        for statement in crate::sqlite::sql::schema(&plan, &settings) {
            connection.execute_batch(&statement).unwrap();
        }
        drop(connection);
        Connected::open(&path, &settings, &plan).unwrap()
    }

    fn insert(connected: &mut Connected, id: i64, scale: u8) -> Result<(), Stop> {
        let body = "x".repeat(4000);
        let price = Value::Decimal(Decimal { units: 1, scale });
        let row = [Value::Int(id), Value::Text(&body), price];
        connected.run(OperationId(0), &row, true, &mut Replies::default())
    }

    #[test]
    fn a_full_store_fails_as_a_full_disk_with_operation_and_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut connected = connected(&folder);
        let limited = connected.prepared.connection();
        limited.pragma_update_and_check(None, "max_page_count", 20, |_| Ok(())).unwrap();
        let full = (0..).find_map(|id| insert(&mut connected, id, 2).err().map(|stop| (id, stop)));
        let Some((inserted, Stop::Failed(failure))) = full else {
            panic!("a full store fails: {full:?}");
        };
        assert_eq!(failure.kind, FailureKind::DiskFull);
        assert_eq!(failure.operation, Some(OperationId(0)));
        assert!(failure.what.contains("no space is left for") && failure.what.contains("s.db"));
        let count = "SELECT count(*) FROM t";
        let kept = connected.prepared.connection().query_row(count, [], |row| row.get::<_, i64>(0));
        assert_eq!(kept, Ok(inserted));
        assert!(connected.is_autocommit());
        // With space again, writes succeed.
        let unlimited = connected.prepared.connection();
        unlimited.pragma_update_and_check(None, "max_page_count", 2000, |_| Ok(())).unwrap();
        connected.control(Control::BeginImmediate).unwrap();
        insert(&mut connected, inserted, 2).unwrap();
        connected.control(Control::Commit).unwrap();
    }

    #[test]
    fn a_decimal_with_a_different_scale_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut connected = connected(&folder);
        let refused = insert(&mut connected, 1, 3);
        assert!(matches!(refused, Err(Stop::Failed(failure)) if failure.what.contains("scale")));
        insert(&mut connected, 1, 2).unwrap();
    }
}
