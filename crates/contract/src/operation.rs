//! Operations as data: what is read, scanned, joined, computed or written, and how.
//!
//! A target turns each operation into what it speaks, once, when a session connects. Parameters and
//! answers stand in these orders:
//!
//! | operation | parameters | answer |
//! |---|---|---|
//! | get | key columns | the named columns, no row or one |
//! | scan | equal columns, then `from`, then `to` (both inclusive), then the limit | the named columns, any number of rows |
//! | join | as the scan of its left side | the named columns of both sides, in any order |
//! | sorted | as a scan without limit | the named column, in its own order |
//! | aggregate | as a scan without limit | one row of one column |
//! | insert, put | all columns but a key given by the server | none |
//! | update, change | key columns, then one value per set | none |
//! | delete, remove | key columns | none |
//! | statement | as many as it says, of any kind | whatever the store answers, if it answers |
//!
//! Insert, update and delete name a row that must be absent or there; put, change and remove take either.

use crate::schema::{ColumnId, IndexId, Name, TableId};

/// An operation of a plan, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(pub usize);

/// Whether a read locks what it finds until the transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// No.
    None,
    /// For update; on an optimistic store, a validated read.
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

/// What a scan walks over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The primary key.
    Key,
    /// A secondary index.
    Index(IndexId),
}

/// Which part of the next key column, after the equal ones, a scan takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// All of it.
    All,
    /// From a parameter on, inclusive.
    From,
    /// From a parameter to a parameter, both inclusive.
    Between,
}

/// How many rows a scan answers at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// All.
    None,
    /// That many.
    Fixed(u64),
    /// As many as the last parameter, an integer, says.
    Parameter,
}

/// An access path: a table, a key or index, and the part of it that parameters choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The table.
    pub table: TableId,
    /// What is walked over.
    pub by: By,
    /// How many leading columns are fixed by parameters.
    pub equal: usize,
    /// Which part of the next column.
    pub range: Range,
}

/// How an update changes a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// To the parameter.
    To,
    /// By the parameter, which is added; null plus anything stays null.
    Add,
}

/// What an aggregate computes.
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
    /// The side that the path walks over.
    Left,
    /// The side that is looked up.
    Right,
}

/// What an operation does; see the module's table for parameters and answers.
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
    /// Rows of an access path in its order.
    Scan {
        /// Which rows.
        path: Path,
        /// In which order.
        order: Order,
        /// How many at most.
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
    /// One column over the rows of an access path, sorted by its values: what a sort costs.
    Sorted {
        /// Which rows.
        path: Path,
        /// The answered column.
        column: ColumnId,
        /// True if equal values are answered once.
        distinct: bool,
    },
    /// One figure over the rows of an access path.
    Aggregate {
        /// Which rows.
        path: Path,
        /// What is computed.
        function: Aggregate,
    },
    /// A new row.
    Insert {
        /// The table.
        table: TableId,
    },
    /// A row, new or in place of the one of that key.
    Put {
        /// The table.
        table: TableId,
    },
    /// A change of the row of that key, which must exist.
    Update {
        /// The table.
        table: TableId,
        /// The changed columns.
        sets: Vec<(ColumnId, Set)>,
    },
    /// A change of the row of that key, if there is one.
    Change {
        /// The table.
        table: TableId,
        /// The changed columns.
        sets: Vec<(ColumnId, Set)>,
    },
    /// The end of the row of that key, which must exist.
    Delete {
        /// The table.
        table: TableId,
    },
    /// The end of the row of that key, if there is one.
    Remove {
        /// The table.
        table: TableId,
    },
    /// A statement that a user brought, in the store's own language.
    Statement {
        /// Its text, parameters as `$1`, `$2` and on.
        text: String,
        /// How many parameters.
        parameters: usize,
        /// True if it answers rows.
        answers: bool,
    },
}

impl Action {
    /// True if it changes rows and answers none.
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
    /// What it does.
    pub action: Action,
}
