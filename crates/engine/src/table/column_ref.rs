//! Names of columns in calls.

use crate::access::schema::Schema;
use crate::error::{Error, Result};

/// Names a column of a table: by its position, which is faster, or by its name. Calls take either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnRef<'n> {
    /// Its position in the table, from 0.
    Position(usize),
    /// Its name.
    Name(&'n str),
}

impl ColumnRef<'_> {
    /// The column's position. A position is not checked.
    #[inline]
    pub(super) fn position_in(self, schema: &Schema) -> Result<usize> {
        match self {
            ColumnRef::Position(position) => Ok(position),
            ColumnRef::Name(name) => schema.column(name).ok_or_else(|| no_column(name)),
        }
    }
}

#[cold]
fn no_column(name: &str) -> Error {
    Error::NoSuch { kind: "column", name: name.to_owned() }
}

impl From<usize> for ColumnRef<'_> {
    #[inline]
    fn from(position: usize) -> Self {
        ColumnRef::Position(position)
    }
}

impl<'n> From<&'n str> for ColumnRef<'n> {
    fn from(name: &'n str) -> Self {
        ColumnRef::Name(name)
    }
}

impl<'n> From<&'n String> for ColumnRef<'n> {
    fn from(name: &'n String) -> Self {
        ColumnRef::Name(name)
    }
}
