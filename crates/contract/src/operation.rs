//! Operations as data: reads, scans, joins, aggregates and writes.
//!
//! A target prepares each operation for its store once, when a session connects. The orders of parameters and
//! answers are:
//!
//! | operation | parameters | answer |
//! |---|---|---|
//! | get | key columns | the named columns, zero rows or one |
//! | scan | equal columns, then `from`, then `to` (both inclusive), then the limit | the named columns, any number of rows |
//! | join | as the scan of its left side | the named columns of both sides, in any order |
//! | sorted | as a scan without limit | the named column, in its own order |
//! | aggregate | as a scan without limit | one row of one column |
//! | insert, put | all columns but a key given by the server | none |
//! | update, change | key columns, then one value per set | none |
//! | delete, remove | key columns | none |
//! | statement | its stated number, of any kind | the rows that the store returns, if it returns rows |
//!
//! Insert requires that its row is absent; update and delete that it exists; put, change and remove accept
//! both.

use crate::schema::{ColumnId, IndexId, Name, TableId};

/// An operation of a plan, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(pub usize);

/// Whether a read locks its rows until the transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// No.
    None,
    /// For update; in an optimistic store, a validated read.
    Update,
}

/// The order of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Lowest key first.
    Ascending,
    /// Highest key first.
    Descending,
}

impl Order {
    /// The items of an ascending iterator, in this order.
    #[inline]
    pub fn of<I: DoubleEndedIterator>(self, mut ascending: I) -> impl Iterator<Item = I::Item> {
        std::iter::from_fn(move || match self {
            Order::Ascending => ascending.next(),
            Order::Descending => ascending.next_back(),
        })
    }
}

/// The key that a scan follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The primary key.
    Key,
    /// A secondary index.
    Index(IndexId),
}

/// The range of the next key column, after the equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// All of it.
    All,
    /// From a parameter, inclusive.
    From,
    /// Between two parameters, both inclusive.
    Between,
}

/// The most rows that a scan returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// All.
    None,
    /// This number.
    Fixed(u64),
    /// The value of the last parameter, an integer.
    Parameter,
}

/// An access path: a table, a key or index, and the part of it that parameters select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The table.
    pub table: TableId,
    /// The key that is followed.
    pub by: By,
    /// Number of leading columns fixed by parameters.
    pub equal: usize,
    /// The range of the next column.
    pub range: Range,
}

impl Path {
    /// A path by the primary key.
    pub const fn by_key(table: TableId, equal: usize, range: Range) -> Path {
        Path { table, by: By::Key, equal, range }
    }
}

/// How an update changes a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// To the parameter.
    To,
    /// Adds the parameter; null plus anything stays null.
    Add,
}

/// The function of an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// The number of rows.
    Count,
    /// The number of distinct values of a column.
    CountDistinct(ColumnId),
    /// The sum of a column; null over no rows.
    Sum(ColumnId),
    /// The least value of a column; null over no rows.
    Min(ColumnId),
    /// The greatest value of a column; null over no rows.
    Max(ColumnId),
}

/// A side of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The rows of the access path.
    Left,
    /// The matching rows.
    Right,
}

/// The action of an operation; see the module's table for parameters and answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// One row by its whole primary key.
    Get {
        /// The table.
        table: TableId,
        /// The answered columns.
        columns: Vec<ColumnId>,
        /// Whether the row is locked.
        lock: Lock,
    },
    /// Rows of an access path, in its order.
    Scan {
        /// Which rows.
        path: Path,
        /// In which order.
        order: Order,
        /// The most rows.
        limit: Limit,
        /// The answered columns.
        columns: Vec<ColumnId>,
        /// Whether the rows are locked.
        lock: Lock,
    },
    /// Rows of an access path, each with the rows of another table that match it.
    Join {
        /// The left rows.
        path: Path,
        /// The right table.
        right: TableId,
        /// Pairs of equal columns, left and right.
        on: Vec<(ColumnId, ColumnId)>,
        /// The answered columns.
        columns: Vec<(Side, ColumnId)>,
    },
    /// One column of the rows of an access path, sorted by value: measures the cost of sorting.
    Sorted {
        /// Which rows.
        path: Path,
        /// The answered column.
        column: ColumnId,
        /// True if equal values are returned once.
        distinct: bool,
    },
    /// One value computed from the rows of an access path.
    Aggregate {
        /// Which rows.
        path: Path,
        /// The function.
        function: Aggregate,
    },
    /// A new row.
    Insert {
        /// The table.
        table: TableId,
    },
    /// A row, new or replacing the row with its key.
    Put {
        /// The table.
        table: TableId,
    },
    /// Changes the row with a key, which must exist.
    Update {
        /// The table.
        table: TableId,
        /// The changed columns.
        sets: Vec<(ColumnId, Set)>,
    },
    /// Changes the row with a key, if it exists.
    Change {
        /// The table.
        table: TableId,
        /// The changed columns.
        sets: Vec<(ColumnId, Set)>,
    },
    /// Deletes the row with a key, which must exist.
    Delete {
        /// The table.
        table: TableId,
    },
    /// Deletes the row with a key, if it exists.
    Remove {
        /// The table.
        table: TableId,
    },
    /// A statement provided by the user, in the store's own language.
    Statement {
        /// Its text, with parameters as `$1`, `$2`, ...
        text: String,
        /// Number of parameters.
        parameters: usize,
        /// True if it returns rows.
        answers: bool,
    },
}

impl Action {
    /// True if it changes rows and returns none.
    pub fn writes(&self) -> bool {
        match self {
            Action::Get { .. }
            | Action::Scan { .. }
            | Action::Join { .. }
            | Action::Sorted { .. }
            | Action::Aggregate { .. } => false,
            Action::Insert { .. }
            | Action::Put { .. }
            | Action::Update { .. }
            | Action::Change { .. }
            | Action::Delete { .. }
            | Action::Remove { .. } => true,
            Action::Statement { answers, .. } => !answers,
        }
    }
}

/// A named operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name in records and messages: "insert row".
    pub name: Name,
    /// Its action.
    pub action: Action,
}
