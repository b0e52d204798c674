//! A row as returned by reads; any column of it is decoded on demand.

use crate::access::row::{RowView, TextRun, Texts};
use crate::access::schema::{Column, Schema, Value};
use crate::error::{Error, Result};
use std::fmt;

/// A row of a table, borrowed until the next call.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub(super) view: RowView<'a>,
}

impl<'a> Row<'a> {
    /// The value of the column at that position. Only this column is decoded.
    ///
    /// # Errors
    ///
    /// [`Error::NoColumn`](crate::Error::NoColumn) if the table has no such column;
    /// [`Error::DamagedRow`](crate::Error::DamagedRow); [`Error::OnlyKey`](crate::Error::OnlyKey) for a
    /// non-key column of a `scan_keys` row.
    #[inline]
    pub fn value(&self, column: usize) -> Result<Value<'a>> {
        let value = self.view.value(column);
        value.map_err(|what| {
            if let Err(error) = self.schema().check_column(column) {
                error
            } else if self.view.is_of_key(column) {
                self.schema().only_key(column)
            } else {
                self.schema().damaged(what)
            }
        })
    }

    /// The texts of a run of columns, decoded at once; none if the row is older than one of the columns: then
    /// read the values one by one. The run must be of this table's definition.
    ///
    /// # Errors
    ///
    /// [`Error::OtherTable`] if the table has no such run of texts;
    /// [`Error::DamagedRow`](crate::Error::DamagedRow).
    #[inline]
    pub fn texts(&self, run: TextRun) -> Result<Option<Texts<'a>>> {
        if !self.schema().has_text_run(run) {
            return Err(Error::OtherTable {
                object: "the run of texts",
                table: self.schema().name().to_owned(),
                advice: "make one from the table's own schema",
            });
        }
        let texts = self.view.texts(run);
        texts.map_err(|what| self.view.schema().damaged(what))
    }

    /// All values, in the order of the columns.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Result<Value<'a>>> + use<'a> {
        let row = *self;
        (0..self.schema().columns().len()).map(move |column| row.value(column))
    }

    /// The table's definition.
    pub fn schema(&self) -> &'a Schema {
        self.view.schema()
    }
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.schema().columns().iter();
        f.debug_map().entries(columns.map(Column::name).zip(self.values())).finish()
    }
}
