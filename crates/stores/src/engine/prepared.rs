//! The plan's operations, by positions in the database's tables.

use super::store::PlanTable;
use std::sync::Arc;
use syncline_contract as contract;
use syncline_contract::{
    Action, Aggregate, By, ColumnId, Limit, Order, Plan, Range, Set, Side, TableId, Value,
};
use syncline_engine as engine;
use syncline_engine::{Direction, TextRun};

/// An operation. Tables are positions in the plan, columns are positions in the database's table.
#[derive(Debug)]
pub(super) enum Operation {
    Get { table: usize, columns: Columns },
    Scan(Scan),
    Sorted(Sorted),
    Join(Join),
    Figure(Figure),
    Insert { table: usize },
    Put { table: usize },
    Update(Update),
    Change(Update),
    Delete { table: usize },
    Remove { table: usize },
}

/// An access path.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) table: usize,
    /// The name of the index; `None` for the primary key.
    pub(super) index: Option<String>,
    pub(super) equal: usize,
    pub(super) range: Range,
}

/// The operation of [`Action::Scan`].
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) path: Path,
    pub(super) direction: Direction,
    limit: Limit,
    pub(super) columns: Columns,
    /// Every returned column is part of the table's primary key, which the path's index includes.
    pub(super) keys_only: bool,
}

/// The returned columns, and how to read them as one run of texts if possible.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) list: Vec<usize>,
    pub(super) run: Option<TextRun>,
}

/// The operation of [`Action::Sorted`].
#[derive(Debug)]
pub(super) struct Sorted {
    pub(super) scan: Scan,
    pub(super) distinct: bool,
}

/// The operation of [`Action::Join`]. Left rows are kept with the columns that must match, then the
/// returned ones.
#[derive(Debug)]
pub(super) struct Join {
    pub(super) left: Path,
    pub(super) left_columns: Columns,
    /// How many of the kept columns must match.
    pub(super) matching: usize,
    /// The path to the right rows: its leading columns equal those kept columns.
    pub(super) right: Path,
    pub(super) prefix: Vec<usize>,
    /// True if those columns are the whole primary key, so that there is at most one right row.
    pub(super) is_by_key: bool,
    /// The other columns that must match: a kept column, and a column of the right table.
    pub(super) rest: Vec<(usize, usize)>,
    pub(super) columns: Vec<JoinColumn>,
}

/// The source of a returned column of a join.
#[derive(Clone, Copy, Debug)]
pub(super) enum JoinColumn {
    Kept(usize),
    Right(usize),
}

/// The operation of [`Action::Aggregate`].
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) path: Path,
    pub(super) function: Aggregate,
    /// The column that the function applies to; `None` for a count of rows.
    pub(super) column: Option<usize>,
}

/// The operation of [`Action::Update`] and [`Action::Change`].
#[derive(Debug)]
pub(super) struct Update {
    pub(super) table: usize,
    pub(super) key_columns: usize,
    pub(super) sets: Vec<(usize, Set)>,
}

impl Operation {
    /// Every operation of a plan.
    pub(super) fn all(plan: &Plan, tables: &[PlanTable]) -> Arc<[Operation]> {
        let prepare = Prepare { plan, tables };
        let operations = plan.operations().iter();
        operations.map(|one| prepare.operation(&one.action)).collect()
    }

    /// True if it writes.
    #[inline]
    pub(super) fn writes(&self) -> bool {
        matches!(
            self,
            Operation::Insert { .. }
                | Operation::Put { .. }
                | Operation::Update(_)
                | Operation::Change(_)
                | Operation::Delete { .. }
                | Operation::Remove { .. }
        )
    }

    /// True if it may be the cause of that error at the commit.
    pub(super) fn may_cause(&self, error: &engine::Error, tables: &[PlanTable]) -> bool {
        let is = |position: usize, name: &str| tables[position].handle.name() == name;
        match (self, error) {
            (Operation::Insert { table }, engine::Error::DuplicateKey { table: name, .. })
            | (Operation::Delete { table }, engine::Error::NoRow { table: name }) => {
                is(*table, name)
            }
            (
                Operation::Put { table },
                engine::Error::DuplicateKey { table: name, index: Some(_) },
            ) => is(*table, name),
            (
                Operation::Update(update) | Operation::Change(update),
                engine::Error::NoRow { table: name }
                | engine::Error::Unfit { table: name, .. }
                | engine::Error::DuplicateKey { table: name, index: Some(_) },
            ) => is(update.table, name),
            _ => false,
        }
    }
}

impl Scan {
    /// The maximum number of rows; `None` if the limit parameter is not a number of rows.
    pub(super) fn rows_max(&self, values: &[Value<'_>]) -> Option<usize> {
        let rows = match self.limit {
            Limit::None => return Some(usize::MAX),
            Limit::Fixed(rows) => rows,
            Limit::Parameter => match values.last() {
                Some(Value::Int(rows)) => u64::try_from(*rows).ok()?,
                _ => return None,
            },
        };
        Some(usize::try_from(rows).unwrap_or(usize::MAX))
    }
}

impl Path {
    /// The corresponding path of the engine.
    pub(super) fn of<'t>(&self, tables: &'t [PlanTable]) -> engine::Result<engine::Path<'t>> {
        let table = &tables[self.table].handle;
        let index = self.index.as_deref();
        index.map_or_else(|| Ok(table.into()), |name| table.by(name))
    }
}

struct Prepare<'p> {
    plan: &'p Plan,
    tables: &'p [PlanTable],
}

impl Prepare<'_> {
    fn operation(&self, action: &Action) -> Operation {
        match action {
            Action::Get { table, columns, .. } => {
                Operation::Get { table: table.0, columns: self.columns(*table, columns) }
            }
            Action::Scan { path, order, limit, columns, .. } => Operation::Scan(Scan {
                keys_only: self.are_of_key(path.table, columns),
                path: self.path(path),
                direction: match order {
                    Order::Ascending => Direction::Ascending,
                    Order::Descending => Direction::Descending,
                },
                limit: *limit,
                columns: self.columns(path.table, columns),
            }),
            Action::Join { path, right, on, columns } => {
                Operation::Join(self.join(path, *right, on, columns))
            }
            Action::Sorted { path, column, distinct } => Operation::Sorted(Sorted {
                scan: Scan {
                    keys_only: self.are_of_key(path.table, &[*column]),
                    path: self.path(path),
                    direction: Direction::Ascending,
                    limit: Limit::None,
                    columns: self.columns(path.table, &[*column]),
                },
                distinct: *distinct,
            }),
            Action::Aggregate { path, function } => Operation::Figure(Figure {
                path: self.path(path),
                function: *function,
                column: column_of(*function).map(|column| self.column(path.table, column)),
            }),
            Action::Insert { table } => Operation::Insert { table: table.0 },
            Action::Put { table } => Operation::Put { table: table.0 },
            Action::Update { table, sets } => Operation::Update(self.update(*table, sets)),
            Action::Change { table, sets } => Operation::Change(self.update(*table, sets)),
            Action::Delete { table } => Operation::Delete { table: table.0 },
            Action::Remove { table } => Operation::Remove { table: table.0 },
            Action::Statement { .. } => unreachable!("a plan of statements was refused"),
        }
    }

    fn update(&self, table: TableId, sets: &[(ColumnId, Set)]) -> Update {
        let sets = sets.iter();
        Update {
            table: table.0,
            key_columns: self.table(table).key.len(),
            sets: sets.map(|(column, set)| (self.column(table, *column), *set)).collect(),
        }
    }

    fn table(&self, table: TableId) -> &contract::Table {
        &self.plan.tables()[table.0]
    }

    fn column(&self, table: TableId, column: ColumnId) -> usize {
        self.tables[table.0].column(column)
    }

    fn are_of_key(&self, table: TableId, columns: &[ColumnId]) -> bool {
        let key = self.tables[table.0].handle.schema().key();
        let is_of_key = |column| key.iter().any(|part| part.column == column);
        columns.iter().all(|column| is_of_key(self.column(table, *column)))
    }

    fn columns(&self, table: TableId, columns: &[ColumnId]) -> Columns {
        let list = columns.iter().map(|column| self.column(table, *column));
        self.answered(table, list.collect())
    }

    fn answered(&self, table: TableId, list: Vec<usize>) -> Columns {
        let run = self.tables[table.0].handle.schema().text_run(&list);
        Columns { list, run }
    }

    fn path(&self, path: &contract::Path) -> Path {
        Path {
            table: path.table.0,
            index: match path.by {
                By::Key => None,
                By::Index(index) => Some(self.table(path.table).indexes[index.0].name.to_string()),
            },
            equal: path.equal,
            range: path.range,
        }
    }

    fn join(
        &self,
        left: &contract::Path,
        right: TableId,
        on: &[(ColumnId, ColumnId)],
        columns: &[(Side, ColumnId)],
    ) -> Join {
        let mut left_columns: Vec<usize> =
            on.iter().map(|(column, _)| self.column(left.table, *column)).collect();
        let columns = columns.iter().map(|(side, column)| match side {
            Side::Right => JoinColumn::Right(self.column(right, *column)),
            Side::Left => {
                left_columns.push(self.column(left.table, *column));
                JoinColumn::Kept(left_columns.len() - 1)
            }
        });
        let columns = columns.collect();
        let (index, prefix) = self.best_path(right, on);
        let beyond = on.iter().enumerate().filter(|(place, _)| !prefix.contains(place));
        Join {
            left: self.path(left),
            left_columns: self.answered(left.table, left_columns),
            matching: on.len(),
            rest: beyond.map(|(place, (_, of))| (place, self.column(right, *of))).collect(),
            is_by_key: index.is_none() && prefix.len() == self.table(right).key.len(),
            right: Path { table: right.0, index, equal: prefix.len(), range: Range::All },
            prefix,
            columns,
        }
    }

    /// The key or index with the most leading columns that must match, and the positions of those
    /// pairs.
    fn best_path(
        &self,
        right: TableId,
        on: &[(ColumnId, ColumnId)],
    ) -> (Option<String>, Vec<usize>) {
        let leading = |columns: &[ColumnId]| -> Vec<usize> {
            let pair_of = |column| on.iter().position(|(_, of)| of == column);
            columns.iter().map_while(pair_of).collect()
        };
        let table = self.table(right);
        let mut best = (None, leading(&table.key));
        for index in &table.indexes {
            let pairs = leading(&index.columns);
            if pairs.len() > best.1.len() {
                best = (Some(index.name.to_string()), pairs);
            }
        }
        best
    }
}

fn column_of(function: Aggregate) -> Option<ColumnId> {
    match function {
        Aggregate::Count => None,
        Aggregate::CountDistinct(column)
        | Aggregate::Sum(column)
        | Aggregate::Min(column)
        | Aggregate::Max(column) => Some(column),
    }
}
