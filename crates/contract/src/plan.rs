//! A plan: a workload's tables and prepared operations, behind typed handles.
//!
//! Declaring an operation returns a handle whose type determines the parameters and the answer. The plan
//! checks the markers against the schema at once, so a wrong type is detected at start-up.

use crate::capabilities::Capabilities;
use crate::fields::{Any, Fields, Many};
use crate::operation::{
    Action, Aggregate, By, Limit, Lock, Operation, OperationId, Order, Path, Range, Set, Side,
};
use crate::protocol::Protocol;
use crate::schema::{Column, ColumnId, KeyGivenBy, Name, Table, TableId};
use crate::value::Kind;
use std::fmt;
use std::marker::PhantomData;

/// A handle to an operation that returns rows: takes `K`, returns rows of `R`.
pub struct Read<K, R> {
    pub(crate) id: OperationId,
    types: PhantomData<fn(K) -> R>,
}

/// A handle to an operation that changes rows: takes `K`.
pub struct Write<K> {
    pub(crate) id: OperationId,
    types: PhantomData<fn(K)>,
}

// Implemented by hand, because a derive would require the markers to be `Copy` and `Debug` too, and tuples of
// more than twelve are not.
impl<K, R> fmt::Debug for Read<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Read({})", self.id.0)
    }
}

impl<K> fmt::Debug for Write<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Write({})", self.id.0)
    }
}

impl<K, R> Clone for Read<K, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, R> Copy for Read<K, R> {}

impl<K> Clone for Write<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Write<K> {}

/// A scan to declare; see [`Plan::scan`].
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    /// The access path.
    pub path: Path,
    /// The order.
    pub order: Order,
    /// The most rows.
    pub limit: Limit,
    /// The returned columns.
    pub columns: &'a [&'a str],
    /// Whether the rows are locked.
    pub lock: Lock,
}

impl<'a> Scan<'a> {
    /// A scan in ascending order that locks nothing.
    pub const fn ascending(path: Path, limit: Limit, columns: &'a [&'a str]) -> Scan<'a> {
        Scan { path, order: Order::Ascending, limit, columns, lock: Lock::None }
    }
}

/// The tables and operations of a workload. Declaring panics on a bug in the workload: an unknown column, a
/// marker that does not fit its column.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    tables: Vec<Table>,
    operations: Vec<Operation>,
    /// True if independent operations may share a round trip; false sends one per round trip.
    pub pipeline: bool,
    /// How user statements are sent.
    pub protocol: Protocol,
}

impl Plan {
    /// An empty plan, pipelined.
    pub fn new() -> Plan {
        Plan { pipeline: true, ..Plan::default() }
    }

    /// Declares a table.
    pub fn table(&mut self, table: Table) -> TableId {
        let is_new = self.tables.iter().all(|other| other.name != table.name);
        assert!(is_new, "table {} is declared twice", table.name);
        self.tables.push(table);
        TableId(self.tables.len() - 1)
    }

    /// Declares a read of one row by its primary key.
    pub fn get<K: Fields, R: Fields>(
        &mut self,
        name: impl Into<Name>,
        table: TableId,
        columns: &[&str],
        lock: Lock,
    ) -> Read<K, R> {
        let name = name.into();
        let columns = self.tables[table.0].ids(columns);
        assert!(!self.tables[table.0].key.is_empty(), "{name}: a get needs a primary key");
        self.read(name, Action::Get { table, columns, lock })
    }

    /// Declares a scan.
    pub fn scan<K: Fields, R: Fields>(
        &mut self,
        name: impl Into<Name>,
        scan: Scan<'_>,
    ) -> Read<K, R> {
        let Scan { path, order, limit, columns, lock } = scan;
        let columns = self.tables[path.table.0].ids(columns);
        self.read(name, Action::Scan { path, order, limit, columns, lock })
    }

    /// Declares a join of the path's rows with the rows of `right` for which all pairs in `on` are equal.
    pub fn join<K: Fields, R: Fields>(
        &mut self,
        name: impl Into<Name>,
        path: Path,
        right: TableId,
        on: &[(&str, &str)],
        columns: &[(Side, &str)],
    ) -> Read<K, R> {
        let (left_table, right_table) = (&self.tables[path.table.0], &self.tables[right.0]);
        let on = on.iter().map(|(l, r)| (left_table.id(l), right_table.id(r))).collect();
        let columns = columns
            .iter()
            .map(|(side, column)| match side {
                Side::Left => (*side, left_table.id(column)),
                Side::Right => (*side, right_table.id(column)),
            })
            .collect();
        self.read(name, Action::Join { path, right, on, columns })
    }

    /// Declares a sorted read of one column, each value once if `distinct`.
    pub fn sorted<K: Fields, R: Fields>(
        &mut self,
        name: impl Into<Name>,
        path: Path,
        column: &str,
        distinct: bool,
    ) -> Read<K, R> {
        let column = self.tables[path.table.0].id(column);
        self.read(name, Action::Sorted { path, column, distinct })
    }

    /// Declares an aggregate.
    pub fn aggregate<K: Fields, R: Fields>(
        &mut self,
        name: impl Into<Name>,
        path: Path,
        function: Aggregate,
    ) -> Read<K, R> {
        self.read(name, Action::Aggregate { path, function })
    }

    /// Declares an insert.
    pub fn insert<K: Fields>(&mut self, name: impl Into<Name>, table: TableId) -> Write<K> {
        self.write(name, Action::Insert { table })
    }

    /// Declares a put: an insert that replaces the row of its key, if there is one.
    pub fn put<K: Fields>(&mut self, name: impl Into<Name>, table: TableId) -> Write<K> {
        let name = name.into();
        let of = &self.tables[table.0];
        let given = !of.key.is_empty() && of.key_given_by == KeyGivenBy::Client;
        assert!(given, "{name}: a put needs a key given by the client");
        self.write(name, Action::Put { table })
    }

    /// Declares an update by primary key.
    pub fn update<K: Fields>(
        &mut self,
        name: impl Into<Name>,
        table: TableId,
        sets: &[(&str, Set)],
    ) -> Write<K> {
        let sets = self.sets(table, sets);
        self.write(name, Action::Update { table, sets })
    }

    /// Declares a change by primary key: an update of a row that may be absent.
    pub fn change<K: Fields>(
        &mut self,
        name: impl Into<Name>,
        table: TableId,
        sets: &[(&str, Set)],
    ) -> Write<K> {
        let sets = self.sets(table, sets);
        self.write(name, Action::Change { table, sets })
    }

    /// Declares a delete by primary key.
    pub fn delete<K: Fields>(&mut self, name: impl Into<Name>, table: TableId) -> Write<K> {
        self.write(name, Action::Delete { table })
    }

    /// Declares a removal by primary key: a delete of a row that may be absent.
    pub fn remove<K: Fields>(&mut self, name: impl Into<Name>, table: TableId) -> Write<K> {
        self.write(name, Action::Remove { table })
    }

    /// Declares a user statement that returns rows.
    pub fn statement(
        &mut self,
        name: impl Into<Name>,
        text: String,
        parameters: usize,
    ) -> Read<Many<Any>, Many<Any>> {
        let action = Action::Statement { text, parameters, answers: true };
        self.read(name, action)
    }

    /// Declares a user statement that returns nothing.
    pub fn command(
        &mut self,
        name: impl Into<Name>,
        text: String,
        parameters: usize,
    ) -> Write<Many<Any>> {
        let action = Action::Statement { text, parameters, answers: false };
        self.write(name, action)
    }

    /// The tables, in order of declaration.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The operations, in order of declaration.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// One operation.
    pub fn operation(&self, id: OperationId) -> &Operation {
        &self.operations[id.0]
    }

    /// The columns that an access path follows, in order.
    pub fn path_columns(&self, path: &Path) -> &[ColumnId] {
        let table = &self.tables[path.table.0];
        match path.by {
            By::Key => &table.key,
            By::Index(index) => &table.indexes[index.0].columns,
        }
    }

    /// Why a target with these abilities cannot run this plan; none if it can.
    pub fn refusal(&self, can: &Capabilities) -> Option<String> {
        let by_server = |table: &Table| table.key_given_by == KeyGivenBy::Server;
        if !can.keys_by_server && self.tables.iter().any(by_server) {
            return Some("it cannot generate a table's keys".to_owned());
        }
        if !can.indexes && self.tables.iter().any(|table| !table.indexes.is_empty()) {
            return Some("it has no secondary indexes".to_owned());
        }
        let lacks = self.lacks(can);
        if lacks.is_none() && !can.protocols && self.protocol != Protocol::Prepared {
            return Some(format!(
                "it prepares every statement once and has no {} protocol; choose prepared",
                self.protocol.word()
            ));
        }
        lacks
    }

    /// The first operation that the target cannot perform, in words; none if it can perform all.
    fn lacks(&self, can: &Capabilities) -> Option<String> {
        self.operations.iter().find_map(|operation| {
            let lacks = match &operation.action {
                Action::Scan { .. } | Action::Sorted { .. } if !can.scans => "cannot scan",
                Action::Join { .. } if !can.joins => "cannot join",
                Action::Aggregate { .. } if !can.aggregates => "cannot aggregate",
                Action::Statement { .. } if can.statements.is_none() => "takes no user statements",
                _ => return None,
            };
            Some(format!("it {lacks}, which operation \"{}\" needs", operation.name))
        })
    }

    fn read<K: Fields, R: Fields>(&mut self, name: impl Into<Name>, action: Action) -> Read<K, R> {
        let name = name.into();
        assert_fits::<K>(&name, "parameters", &self.parameters(&action));
        assert_fits::<R>(&name, "answer", &self.answer(&action));
        Read { id: self.add(name, action), types: PhantomData }
    }

    fn write<K: Fields>(&mut self, name: impl Into<Name>, action: Action) -> Write<K> {
        let name = name.into();
        assert_fits::<K>(&name, "parameters", &self.parameters(&action));
        Write { id: self.add(name, action), types: PhantomData }
    }

    fn sets(&self, table: TableId, sets: &[(&str, Set)]) -> Vec<(ColumnId, Set)> {
        let of = &self.tables[table.0];
        let sets = sets.iter().map(|(column, set)| (of.id(column), *set));
        sets.collect()
    }

    fn add(&mut self, name: Name, action: Action) -> OperationId {
        self.operations.push(Operation { name, action });
        OperationId(self.operations.len() - 1)
    }

    /// Kind and nullability of each parameter of an action.
    pub fn parameters(&self, action: &Action) -> Vec<(Kind, bool)> {
        match action {
            Action::Get { table, .. } | Action::Delete { table } | Action::Remove { table } => {
                self.of_key(*table)
            }
            Action::Scan { path, limit, .. } => {
                let mut parameters = self.of_path(path);
                parameters.extend((*limit == Limit::Parameter).then_some((Kind::Int, false)));
                parameters
            }
            Action::Join { path, .. }
            | Action::Sorted { path, .. }
            | Action::Aggregate { path, .. } => self.of_path(path),
            Action::Insert { table } | Action::Put { table } => {
                let columns = self.tables[table.0].inserted();
                columns.iter().map(|column| self.of_column(*table, *column)).collect()
            }
            Action::Update { table, sets } | Action::Change { table, sets } => {
                let mut parameters = self.of_key(*table);
                parameters.extend(sets.iter().map(|(column, _)| self.of_column(*table, *column)));
                parameters
            }
            // Every kind fits; `Int` is an arbitrary choice.
            Action::Statement { parameters, .. } => vec![(Kind::Int, true); *parameters],
        }
    }

    /// Kind and nullability of each column of an action's answer; empty for a write, and for a statement,
    /// whose columns only the store knows.
    pub fn answer(&self, action: &Action) -> Vec<(Kind, bool)> {
        match action {
            Action::Get { table, columns, .. } => {
                columns.iter().map(|column| self.of_column(*table, *column)).collect()
            }
            Action::Scan { path, columns, .. } => {
                columns.iter().map(|column| self.of_column(path.table, *column)).collect()
            }
            Action::Join { path, right, columns, .. } => columns
                .iter()
                .map(|(side, column)| match side {
                    Side::Left => self.of_column(path.table, *column),
                    Side::Right => self.of_column(*right, *column),
                })
                .collect(),
            Action::Aggregate { path, function } => vec![match function {
                Aggregate::Count | Aggregate::CountDistinct(_) => (Kind::Int, false),
                Aggregate::Sum(column) | Aggregate::Min(column) | Aggregate::Max(column) => {
                    (self.of_column(path.table, *column).0, true)
                }
            }],
            Action::Sorted { path, column, .. } => vec![self.of_column(path.table, *column)],
            Action::Insert { .. }
            | Action::Put { .. }
            | Action::Update { .. }
            | Action::Change { .. }
            | Action::Delete { .. }
            | Action::Remove { .. }
            | Action::Statement { .. } => Vec::new(),
        }
    }

    fn of_column(&self, table: TableId, column: ColumnId) -> (Kind, bool) {
        let Column { kind, nullable, .. } = self.tables[table.0].columns[column.0];
        (kind, nullable)
    }

    fn of_key(&self, table: TableId) -> Vec<(Kind, bool)> {
        let key = &self.tables[table.0].key;
        assert!(!key.is_empty(), "table {} has no primary key", self.tables[table.0].name);
        key.iter().map(|column| self.of_column(table, *column)).collect()
    }

    fn of_path(&self, path: &Path) -> Vec<(Kind, bool)> {
        let columns = self.path_columns(path);
        let ends = match path.range {
            Range::All => 0,
            Range::From => 1,
            Range::Between => 2,
        };
        let fixed = columns[..path.equal].iter().map(|column| self.of_column(path.table, *column));
        let ranged = (0..ends).map(|_| self.of_column(path.table, columns[path.equal]));
        fixed.chain(ranged).collect()
    }
}

fn assert_fits<F: Fields>(name: &str, what: &str, expected: &[(Kind, bool)]) {
    let count = expected.len();
    assert!(F::holds(count), "{name}: the handle must have {count} {what}");
    for (index, (kind, nullable)) in expected.iter().enumerate() {
        let fits = F::fits(index, *kind, *nullable);
        assert!(fits, "{name}: position {index} of the {what} must fit {kind:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::{Aggregate, By, Limit, Lock, Order, Path, Plan, Range, Read, Scan, Set, Write};
    use crate::capabilities::Capabilities;
    use crate::fields::{Int, Nullable, Text};
    use crate::schema::{Table, TableId};
    use crate::value::Kind;

    fn accounts(plan: &mut Plan) -> TableId {
        plan.table(
            Table::new("accounts")
                .column("branch", Kind::Int)
                .column("number", Kind::Int)
                .column("balance", Kind::Int)
                .nullable()
                .text("owner", 20)
                .key(&["branch", "number"]),
        )
    }

    fn of_branch(table: TableId) -> Path {
        Path { table, by: By::Key, equal: 1, range: Range::From }
    }

    #[test]
    fn fitting_markers_are_accepted() {
        let mut plan = Plan::new();
        let table = accounts(&mut plan);
        let _: Read<(Int, Int), (Text, Nullable<Int>)> =
            plan.get("get", table, &["owner", "balance"], Lock::Update);
        let _: Write<(Int, Int, Nullable<Int>)> =
            plan.update("pay", table, &[("balance", Set::Add)]);
        let _: Read<(Int, Int, Int), (Int,)> = plan.scan(
            "scan",
            Scan {
                path: of_branch(table),
                order: Order::Descending,
                limit: Limit::Parameter,
                columns: &["number"],
                lock: Lock::None,
            },
        );
        let count: Read<(Int, Int), (Int,)> =
            plan.aggregate("count", of_branch(table), Aggregate::Count);
        assert_eq!((plan.operations().len(), count.id.0), (4, 3));
    }

    fn panics(declare: impl Fn(&mut Plan, TableId) + std::panic::RefUnwindSafe) -> bool {
        let declared = std::panic::catch_unwind(|| {
            let mut plan = Plan::new();
            let table = accounts(&mut plan);
            declare(&mut plan, table);
        });
        declared.is_err()
    }

    #[test]
    fn misfitting_markers_are_refused_on_declaration() {
        assert!(panics(|plan, table| {
            let _: Read<(Int, Text), (Text,)> = plan.get("key", table, &["owner"], Lock::None);
        }));
        assert!(panics(|plan, table| {
            let _: Read<(Int, Int), (Int,)> = plan.get("row", table, &["owner"], Lock::None);
        }));
        assert!(panics(|plan, table| {
            let _: Read<(Int, Int), (Int,)> = plan.get("null", table, &["balance"], Lock::None);
        }));
        assert!(panics(|plan, table| {
            let _: Write<(Int,)> = plan.insert("width", table);
        }));
    }

    #[test]
    fn a_refusal_names_the_operation_and_the_missing_ability() {
        let mut plan = Plan::new();
        let table = accounts(&mut plan);
        assert_eq!(plan.refusal(&Capabilities::least()), None);
        let _: Read<(Int, Int), (Int,)> =
            plan.aggregate("count rows", of_branch(table), Aggregate::Count);
        let refusal = plan.refusal(&Capabilities::least());
        assert!(refusal.is_some_and(|why| why.contains("aggregate") && why.contains("count rows")));
    }
}
