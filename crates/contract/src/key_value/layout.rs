//! The layout of a table's rows in a store of keys and values.
//!
//! A row's key is the table's number (two bytes, big-endian), followed by the columns of its primary key; in
//! a table without a primary key, by a number that the adapter counts up. So a table, and every leading part
//! of its key, is one range of keys.

use super::key::{self, pass};
use super::row;
use crate::operation::{Path, Range};
use crate::outcome::Failure;
use crate::plan::Plan;
use crate::schema::{Column, ColumnId, KeyGivenBy, TableId};
use crate::value::Value;
use std::ops::Range as Span;

/// The most tables of a plan: numbers are never all ones, so there is a key above each table's range.
pub(super) const TABLES_MAX: usize = u16::MAX as usize;

/// The layout of one table.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) name: crate::schema::Name,
    pub(super) columns: Vec<Column>,
    pub(super) key: Vec<ColumnId>,
    /// The key column whose values the adapter generates, if any.
    pub(super) counted: Option<ColumnId>,
    number: [u8; 2],
}

impl Layout {
    /// The layouts of a plan's tables.
    pub(super) fn of(plan: &Plan) -> Vec<Layout> {
        let tables = plan.tables().iter().zip(0_u16..);
        let layouts = tables.map(|(table, number)| Layout {
            name: table.name.clone(),
            columns: table.columns.clone(),
            key: table.key.clone(),
            counted: (table.key_given_by == KeyGivenBy::Server).then(|| table.key[0]),
            number: number.to_be_bytes(),
        });
        layouts.collect()
    }

    /// True if the adapter numbers the rows: as their key, or instead of one.
    pub(super) fn counts(&self) -> bool {
        self.key.is_empty() || self.counted.is_some()
    }

    /// The key of the row with these values of its key columns.
    pub(super) fn key_of<'v>(
        &self,
        values: impl IntoIterator<Item = Value<'v>>,
        into: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        into.clear();
        into.extend(self.number);
        let columns = self.key.iter().map(|id| &self.columns[id.0]);
        columns.zip(values).try_for_each(|(column, value)| key::put(into, column, value))
    }

    /// The key of the row with this number, for a table with [`Layout::counts`].
    pub(super) fn key_of_number(&self, number: i64, into: &mut Vec<u8>) {
        into.clear();
        into.extend(self.number);
        key::put_number(into, number);
    }

    /// Encodes a row: all columns in order; the generated column has the value `number`.
    pub(super) fn row_of(
        &self,
        number: i64,
        values: &[Value<'_>],
        into: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let mut values = values.iter();
        for (column, id) in self.columns.iter().zip((0..).map(ColumnId)) {
            let value = if self.counted == Some(id) {
                Value::Int(number)
            } else {
                *values.next().expect("an insert gives every other column")
            };
            row::put(into, column, value)?;
        }
        Ok(())
    }

    /// The range of keys of an access path over the primary key.
    pub(super) fn span(&self, path: &Path, values: &[Value<'_>]) -> Result<Span<Vec<u8>>, Failure> {
        let (equal, ends) = values.split_at(path.equal);
        let bound = |end: Option<&Value<'_>>| {
            let mut key = Vec::new();
            let values = equal.iter().chain(end).copied();
            self.key_of(values, &mut key).map(|()| key)
        };
        let (from, to) = match path.range {
            Range::All => (None, None),
            Range::From => (ends.first(), None),
            Range::Between => (ends.first(), ends.get(1)),
        };
        let (start, mut end) = (bound(from)?, bound(to)?);
        pass(&mut end);
        Ok(start..end)
    }
}

/// The layout of a table.
pub(super) fn of(layouts: &[Layout], table: TableId) -> &Layout {
    &layouts[table.0]
}
