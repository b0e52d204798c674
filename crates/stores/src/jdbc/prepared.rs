//! A plan's operations as prepared statements of one connection: values in, rows out.

use super::connection::Connection;
use super::failure::{is_duplicate, outside, stop};
use super::jvm::{Local, Methods, Shared, Thrown};
use super::product::{Product, Put};
use super::values::{self, Scratch, Texts};
use crate::sql::{Dialect, Sql, Statement};
use crate::transaction_phase::TransactionPhase;
use syncline_contract::{
    Action, Cause, ColumnId, Failure, FailureKind, Kind, Limit, Lock, Operation, OperationId, Plan,
    Replies, Rows, Set, Stop, Table, TableId, TargetResult, Value,
};

/// A statement, prepared once.
#[derive(Debug)]
pub(super) struct Prepared {
    statement: Shared,
    /// For each placeholder, the index of its value and that value's kind.
    places: Vec<(usize, Kind)>,
    texts: Vec<Texts>,
}

impl Prepared {
    /// Prepares a statement whose parameters have these kinds, in the plan's order.
    pub(super) fn new(
        connection: &mut Connection,
        statement: &Statement,
        kinds: &[Kind],
    ) -> Result<Prepared, Thrown> {
        let places = statement.order.iter();
        let places: Vec<_> = places.map(|given| (*given, kinds[*given])).collect();
        let mut texts = Vec::new();
        texts.resize_with(places.len(), Texts::default);
        Ok(Prepared { statement: connection.prepare(&statement.text)?, places, texts })
    }

    /// Sets its parameters, each by its position in the plan.
    #[inline]
    pub(super) fn bind<'v>(
        &mut self,
        connection: &mut Connection,
        value: impl Fn(usize) -> Value<'v>,
    ) -> Result<(), Thrown> {
        let methods = connection.methods();
        let places = self.places.iter().zip(&mut self.texts);
        for (place, ((given, kind), texts)) in (1..).zip(places) {
            let (java, value) = (connection.java(), value(*given));
            values::set_parameter(java, methods, &self.statement, place, *kind, value, texts)?;
        }
        Ok(())
    }

    /// Executes a write and returns how many rows it changed.
    #[inline]
    fn change(&mut self, connection: &mut Connection) -> Result<i32, Thrown> {
        let update = &connection.methods().prepared_update;
        connection.java().call::<i32>(&self.statement, update, &[])
    }

    /// Executes a read.
    #[inline]
    fn query(&mut self, connection: &mut Connection) -> Result<Local, Thrown> {
        let query = &connection.methods().prepared_query;
        connection.java().call::<Local>(&self.statement, query, &[])
    }

    /// Adds the parameters that were bound last to the batch.
    pub(super) fn batch(&mut self, connection: &mut Connection) -> Result<(), Thrown> {
        let add = &connection.methods().prepared_add_batch;
        connection.java().call::<()>(&self.statement, add, &[])
    }

    /// Executes the batch.
    pub(super) fn run_batch(&mut self, connection: &mut Connection) -> Result<(), Thrown> {
        let run = &connection.methods().prepared_run_batch;
        connection.java().call::<Local>(&self.statement, run, &[]).map(drop)
    }
}

/// The statements of one operation.
#[derive(Debug)]
enum Steps {
    /// A read, with the kinds of its answer. If its last parameter is a limit, zero rows are never
    /// requested: SQL's standard makes that an error, and some products treat it as no limit.
    Read { prepared: Prepared, answer: Vec<(Kind, bool)>, limited: bool },
    /// A write; true if it must change a row.
    Write(Prepared, bool),
    /// A write that may find its row, and an insert for when it does not. A table that consists only of
    /// its key has nothing to write, so the first statement only reads.
    Put { first: Prepared, reads: bool, insert: Prepared },
}

/// Every operation of a plan.
#[derive(Debug)]
pub(super) struct Operations {
    product: &'static Product,
    all: Vec<(Operation, Steps)>,
    /// The kinds of each operation's parameters, for the scales of decimals.
    parameters: Vec<Vec<Kind>>,
    scratch: Scratch,
}

impl Operations {
    /// Prepares every operation of a plan on a connection.
    pub(super) fn prepare(
        connection: &mut Connection,
        product: &'static Product,
        plan: &Plan,
    ) -> TargetResult<Operations> {
        let mut all = Vec::new();
        let mut parameters = Vec::new();
        for operation in plan.operations() {
            let steps = steps(connection, product, plan, &operation.action);
            let doing = || format!("prepare operation \"{}\"", operation.name);
            let steps = steps.map_err(|thrown| outside(&thrown, &doing(), product))?;
            all.push((operation.clone(), steps));
            parameters.push(kinds(plan, &operation.action));
        }
        Ok(Operations { product, all, parameters, scratch: Scratch::default() })
    }

    /// True if an operation writes.
    #[inline]
    pub(super) fn writes(&self, id: OperationId) -> bool {
        !matches!(self.all[id.0].1, Steps::Read { .. })
    }

    /// Executes an operation; a read's answer is appended to the replies. `whole` means that the
    /// operation is its own transaction.
    #[inline]
    pub(super) fn run(
        &mut self,
        connection: &mut Connection,
        id: OperationId,
        values: &[Value<'_>],
        whole: bool,
        replies: &mut Replies,
    ) -> Result<(), Stop> {
        if other_scale(&self.parameters[id.0], values.iter().copied()) {
            return Err(self.refused(id, "received a decimal whose scale differs from the plan's"));
        }
        let (operation, steps) = &mut self.all[id.0];
        let done = match steps {
            Steps::Read { prepared, answer, limited } => {
                let rows = replies.push(answer.len());
                if *limited && matches!(values.last(), Some(Value::Int(..=0))) {
                    return Ok(());
                }
                read(prepared, connection, values, answer, &mut self.scratch, rows).map(|()| true)
            }
            Steps::Write(prepared, changes_one) => {
                let changed = prepared
                    .bind(connection, |given| values[given])
                    .and_then(|()| prepared.change(connection));
                changed.map(|rows| rows > 0 || !*changes_one)
            }
            Steps::Put { first, reads, insert } => {
                match put(first, *reads, insert, connection, values) {
                    // Another transaction has inserted the same key between the two statements.
                    Err(thrown) if is_duplicate(&thrown) => {
                        return Err(Stop::Conflict(Cause::Serialization));
                    }
                    put => put.map(|()| true),
                }
            }
        };
        match done {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.refused(id, "changed no row where its key identifies one")),
            Err(thrown) => {
                let during = if whole && operation.action.writes() {
                    TransactionPhase::WholeTransaction(id, &operation.name)
                } else {
                    TransactionPhase::Operation(id, &operation.name)
                };
                Err(stop(&thrown, during, self.product))
            }
        }
    }

    #[cold]
    fn refused(&self, id: OperationId, what: &str) -> Stop {
        let what = format!("operation \"{}\" {what}", self.all[id.0].0.name);
        Failure::new(FailureKind::Statement, what).in_operation(id).into()
    }
}

fn read(
    prepared: &mut Prepared,
    connection: &mut Connection,
    values: &[Value<'_>],
    answer: &[(Kind, bool)],
    scratch: &mut Scratch,
    rows: &mut Rows,
) -> Result<(), Thrown> {
    prepared.bind(connection, |given| values[given])?;
    let result = prepared.query(connection)?;
    let methods = connection.methods();
    let filled = fill(connection, methods, &result, answer, scratch, rows);
    let closed = connection.java().call::<()>(&result, &methods.result_close, &[]);
    filled.and(closed)
}

fn fill(
    connection: &mut Connection,
    methods: &Methods,
    result: &Local,
    answer: &[(Kind, bool)],
    scratch: &mut Scratch,
    rows: &mut Rows,
) -> Result<(), Thrown> {
    let java = connection.java();
    while java.call::<bool>(result, &methods.result_next, &[])? {
        for (place, kind) in (1..).zip(answer) {
            values::take(java, methods, result, place, *kind, scratch, rows)?;
        }
    }
    Ok(())
}

fn put(
    first: &mut Prepared,
    reads: bool,
    insert: &mut Prepared,
    connection: &mut Connection,
    values: &[Value<'_>],
) -> Result<(), Thrown> {
    first.bind(connection, |given| values[given])?;
    let found = if reads {
        let methods = connection.methods();
        let result = first.query(connection)?;
        let java = connection.java();
        let found = java.call::<bool>(&result, &methods.result_next, &[])?;
        java.call::<()>(&result, &methods.result_close, &[])?;
        found
    } else {
        first.change(connection)? > 0
    };
    if found {
        return Ok(());
    }
    insert.bind(connection, |given| values[given])?;
    insert.change(connection).map(drop)
}

/// True if a decimal's scale differs from that of its parameter.
pub(super) fn other_scale<'v>(kinds: &[Kind], values: impl Iterator<Item = Value<'v>>) -> bool {
    let mut pairs = values.zip(kinds);
    pairs.any(|pair| {
        matches!(pair, (Value::Decimal(decimal), Kind::Decimal { scale }) if decimal.scale != *scale)
    })
}

fn kinds(plan: &Plan, action: &Action) -> Vec<Kind> {
    let parameters = plan.parameters(action).into_iter();
    parameters.map(|(kind, _)| kind).collect()
}

fn steps(
    connection: &mut Connection,
    product: &Product,
    plan: &Plan,
    action: &Action,
) -> Result<Steps, Thrown> {
    let kinds = kinds(plan, action);
    let mut statements = statements(product, plan, action).into_iter();
    let mut next = || {
        let statement = statements.next();
        statement.map(|statement| Prepared::new(connection, &statement, &kinds))
    };
    let first = next().expect("an operation has one or two statements")?;
    if let Some(insert) = next() {
        let Action::Put { table } = action else { unreachable!("only a put has two statements") };
        return Ok(Steps::Put {
            first,
            reads: columns_outside_key(&plan.tables()[table.0]).is_empty(),
            insert: insert?,
        });
    }
    Ok(if action.writes() {
        let changes_one = matches!(action, Action::Update { .. } | Action::Delete { .. });
        Steps::Write(first, changes_one)
    } else {
        let asked = |limit: &Limit| *limit == Limit::Parameter;
        Steps::Read {
            prepared: first,
            answer: plan.answer(action),
            limited: matches!(action, Action::Scan { limit, .. } if asked(limit)),
        }
    })
}

/// The statements of an operation, in the order in which they are executed; the second one only if the
/// first found no row. Their parameters are numbered as the operation's.
pub(super) fn statements(product: &Product, plan: &Plan, action: &Action) -> Vec<Statement> {
    let row_lock = match action {
        Action::Scan { .. } => product.scan_lock,
        _ => product.dialect.row_lock,
    };
    let dialect = &Dialect { row_lock, ..product.dialect };
    let sql = Sql { dialect, schema: None };
    match action {
        Action::Put { table } if product.put == Put::UpdateOrInsert => {
            let first = renumbered(sql, plan, *table);
            vec![first, sql.statement(plan, &Action::Insert { table: *table })]
        }
        action => vec![sql.statement(plan, action)],
    }
}

/// The statement with which a put finds its row, its parameters numbered as the put's.
fn renumbered(sql: Sql<'_>, plan: &Plan, id: TableId) -> Statement {
    let table = &plan.tables()[id.0];
    let rest = columns_outside_key(table);
    let action = if rest.is_empty() {
        Action::Get { table: id, columns: table.key.clone(), lock: Lock::None }
    } else {
        let sets = rest.iter().map(|column| (*column, Set::To)).collect();
        Action::Update { table: id, sets }
    };
    let mut statement = sql.statement(plan, &action);
    let given = table.inserted();
    for place in &mut statement.order {
        let column = table.key.iter().chain(&rest).nth(*place);
        let position = given.iter().position(|given| Some(given) == column);
        *place = position.expect("a put sets every column of its table");
    }
    statement
}

fn columns_outside_key(table: &Table) -> Vec<ColumnId> {
    let columns = table.inserted().into_iter();
    columns.filter(|column| !table.key.contains(column)).collect()
}
