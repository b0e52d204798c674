//! Changes of a row's columns.

use crate::access::patch::{Bounds, add, begin, set};
use crate::access::schema::{Schema, Value};
use crate::error::Result;
use crate::table::column_ref::ColumnRef;
use syncline_instrument::{Module, tag};

/// A change of one column of a row.
///
/// ```
/// use syncline_engine::{Change, Value};
///
/// let seen = Change::set("seen", Value::Timestamp(1_700_000_000_000_000));
/// let paid = Change::add(2, -5).at_least(0);
/// assert_eq!((seen.column(), paid.column()), ("seen".into(), 2.into()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change<'v> {
    /// Sets the column.
    Set {
        /// The column.
        column: ColumnRef<'v>,
        /// The new value.
        value: Value<'v>,
    },
    /// Adds a number to the value that the column has when the commit locks the row; null stays null. The
    /// change needs no read and does not conflict with other additions.
    Add {
        /// The column.
        column: ColumnRef<'v>,
        /// The number to add, of the column's kind.
        delta: Value<'v>,
        /// Lower bound of the sum.
        lower: Option<Value<'v>>,
        /// Upper bound of the sum.
        upper: Option<Value<'v>>,
    },
}

impl<'v> Change<'v> {
    /// Sets the column to a value.
    pub fn set(column: impl Into<ColumnRef<'v>>, value: impl Into<Value<'v>>) -> Change<'v> {
        Change::Set { column: column.into(), value: value.into() }
    }

    /// Adds a number to the column.
    pub fn add(column: impl Into<ColumnRef<'v>>, delta: impl Into<Value<'v>>) -> Change<'v> {
        Change::Add { column: column.into(), delta: delta.into(), lower: None, upper: None }
    }

    /// Refuses a sum below `bound`. No effect on [`Change::set`].
    #[must_use]
    pub fn at_least(mut self, bound: impl Into<Value<'v>>) -> Change<'v> {
        if let Change::Add { lower, .. } = &mut self {
            *lower = Some(bound.into());
        }
        self
    }

    /// Refuses a sum above `bound`. No effect on [`Change::set`].
    #[must_use]
    pub fn at_most(mut self, bound: impl Into<Value<'v>>) -> Change<'v> {
        if let Change::Add { upper, .. } = &mut self {
            *upper = Some(bound.into());
        }
        self
    }

    /// The column.
    pub fn column(&self) -> ColumnRef<'v> {
        match self {
            Change::Set { column, .. } | Change::Add { column, .. } => *column,
        }
    }
}

/// Writes the changes as a patch into `out`, which is cleared first.
pub(super) fn write(schema: &Schema, changes: &[Change<'_>], out: &mut Vec<u8>) -> Result<()> {
    let _entered = tag::enter(Module::Access);
    out.clear();
    begin(schema, out);
    for change in changes {
        let column = change.column().position_in(schema)?;
        schema.check_column(column)?;
        match *change {
            Change::Set { value, .. } => set(schema, column, value, out)?,
            Change::Add { delta, lower, upper, .. } => {
                add(schema, column, delta, Bounds { lower, upper }, out)?;
            }
        }
    }
    Ok(())
}
