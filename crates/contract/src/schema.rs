//! Tables, columns, keys and indexes: the part that workload and store both understand.

use crate::value::Kind;
use std::borrow::Cow;

/// A name of a table, column or index: lower case letters, digits and underscores.
pub type Name = Cow<'static, str>;

/// A table of a plan, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub usize);

/// A column of a table, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub usize);

/// An index of a table, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexId(pub usize);

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: Name,
    /// Its kind.
    pub kind: Kind,
    /// The most bytes a text or bytes value holds; none for other kinds.
    pub bytes_max: Option<u32>,
    /// True if null is allowed.
    pub nullable: bool,
}

/// Who gives the primary key of a new row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyGivenBy {
    /// The insert names it.
    Client,
    /// The store counts it up; the key is one integer column and not a parameter of the insert.
    Server,
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name, unique in the plan.
    pub name: Name,
    /// The indexed columns, in order.
    pub columns: Vec<ColumnId>,
    /// True if no two rows may share a key.
    pub unique: bool,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: Name,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// The primary key's columns, in order; empty for a table without one (a history).
    pub key: Vec<ColumnId>,
    /// Who gives the key.
    pub key_given_by: KeyGivenBy,
    /// Its secondary indexes.
    pub indexes: Vec<Index>,
}

impl Table {
    /// A table without columns; add them with [`Table::column`].
    pub fn new(name: impl Into<Name>) -> Table {
        Table {
            name: name.into(),
            columns: Vec::new(),
            key: Vec::new(),
            key_given_by: KeyGivenBy::Client,
            indexes: Vec::new(),
        }
    }

    /// Adds a column of a kind without a length.
    #[must_use]
    pub fn column(mut self, name: impl Into<Name>, kind: Kind) -> Table {
        self.columns.push(Column { name: name.into(), kind, bytes_max: None, nullable: false });
        self
    }

    /// Adds a text column of at most `bytes_max` bytes.
    #[must_use]
    pub fn text(self, name: impl Into<Name>, bytes_max: u32) -> Table {
        self.bounded(name, Kind::Text, bytes_max)
    }

    /// Adds a bytes column of at most `bytes_max` bytes.
    #[must_use]
    pub fn bytes(self, name: impl Into<Name>, bytes_max: u32) -> Table {
        self.bounded(name, Kind::Bytes, bytes_max)
    }

    fn bounded(mut self, name: impl Into<Name>, kind: Kind, bytes_max: u32) -> Table {
        let (name, bytes_max) = (name.into(), Some(bytes_max));
        self.columns.push(Column { name, kind, bytes_max, nullable: false });
        self
    }

    /// Lets the column added last hold null.
    #[must_use]
    pub fn nullable(mut self) -> Table {
        let last = self.columns.last_mut().expect("a column stands before `nullable`");
        last.nullable = true;
        self
    }

    /// Sets the primary key.
    #[must_use]
    pub fn key(mut self, columns: &[&str]) -> Table {
        self.key = self.ids(columns);
        self
    }

    /// Sets a primary key of one integer column that the store counts up.
    #[must_use]
    pub fn key_by_server(mut self, column: &str) -> Table {
        self.key = self.ids(&[column]);
        let kind = self.columns[self.key[0].0].kind;
        assert!(kind == Kind::Int, "a key given by the server is one integer column");
        self.key_given_by = KeyGivenBy::Server;
        self
    }

    /// Adds a secondary index.
    #[must_use]
    pub fn index(mut self, name: impl Into<Name>, columns: &[&str], unique: bool) -> Table {
        let columns = self.ids(columns);
        self.indexes.push(Index { name: name.into(), columns, unique });
        self
    }

    /// The position of a column; panics if the table has none of that name (a bug in a workload).
    pub fn id(&self, column: &str) -> ColumnId {
        let found = self.columns.iter().position(|candidate| candidate.name == column);
        ColumnId(found.unwrap_or_else(|| panic!("table {} has no column {column}", self.name)))
    }

    /// The positions of columns by name.
    pub fn ids(&self, columns: &[&str]) -> Vec<ColumnId> {
        columns.iter().map(|column| self.id(column)).collect()
    }

    /// The columns that an insert gives, in order: all but a key that the server gives.
    pub fn inserted(&self) -> Vec<ColumnId> {
        let by_server = self.key_given_by == KeyGivenBy::Server;
        (0..self.columns.len())
            .map(ColumnId)
            .filter(|column| !(by_server && self.key.contains(column)))
            .collect()
    }
}
