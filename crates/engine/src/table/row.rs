//! Rows as returned by reads: borrowed until the next call, or owned. Any column is decoded on demand.

use crate::access::row::{OwnedBytes, RowView, TextRun, Texts};
use crate::access::schema::{Column, FromValue, Schema, Value};
use crate::error::{Error, Result};
use crate::table::column_ref::ColumnRef;
use crate::table::handle::Table;
use std::any::type_name;
use std::fmt;

/// A row of a table, borrowed until the next call. [`OwnedRow`] is one to keep.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub(super) table: &'a Table,
    pub(super) view: RowView<'a>,
}

impl<'a> Row<'a> {
    /// The value of a column, given by position or name. Only this column is decoded.
    ///
    /// # Errors
    ///
    /// [`Error::NoColumn`](crate::Error::NoColumn) or [`Error::NoSuch`](crate::Error::NoSuch) if the table
    /// has no such column; [`Error::DamagedRow`](crate::Error::DamagedRow);
    /// [`Error::OnlyKey`](crate::Error::OnlyKey) for a non-key column of a row that was read with its key
    /// only.
    #[inline]
    pub fn value<'n>(&self, column: impl Into<ColumnRef<'n>>) -> Result<Value<'a>> {
        let column = column.into().position_in(self.schema())?;
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

    /// The value of a column, given by position or name, as a type of the caller's choice: see
    /// [`FromValue`].
    ///
    /// # Errors
    ///
    /// As [`Row::value`]; [`Error::Unreadable`](crate::Error::Unreadable) if the value is not one of that
    /// type.
    #[inline]
    pub fn get<'n, T: FromValue<'a>>(&self, column: impl Into<ColumnRef<'n>>) -> Result<T> {
        let column = column.into().position_in(self.schema())?;
        let value = self.value(column)?;
        T::from_value(value).ok_or_else(|| self.unreadable(column, value, type_name::<T>()))
    }

    #[cold]
    fn unreadable(&self, column: usize, value: Value<'_>, requested: &'static str) -> Error {
        let found = match value {
            Value::Null => "null".to_owned(),
            Value::Int(value) => format!("the integer {value}"),
            Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
            _ => value.kind().map_or_else(String::new, |kind| kind.to_string()),
        };
        Error::Unreadable {
            table: self.table.name().to_owned(),
            column: self.schema().columns()[column].name().to_owned(),
            what: format!("{found}, which cannot be read as {}", without_paths(requested)),
        }
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

    /// A copy to keep, which outlives the transaction.
    pub fn into_owned(self) -> OwnedRow {
        OwnedRow { table: self.table.clone(), bytes: OwnedBytes::of(&self.view) }
    }
}

/// The name of a type without the paths of its parts: `Option<String>`.
fn without_paths(name: &str) -> String {
    let is_of_name = |byte: char| byte.is_alphanumeric() || byte == '_';
    let mut short = String::with_capacity(name.len());
    for part in name.split("::") {
        short.truncate(short.trim_end_matches(is_of_name).len());
        short.push_str(part);
    }
    short
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.schema().columns().iter();
        f.debug_map().entries(columns.map(Column::name).zip(self.values())).finish()
    }
}

/// A row that owns its bytes: it can be kept beside other rows, sent to another thread, and outlives its
/// transaction.
#[derive(Clone)]
pub struct OwnedRow {
    table: Table,
    bytes: OwnedBytes,
}

impl OwnedRow {
    /// The row, borrowed.
    #[inline]
    pub fn as_row(&self) -> Row<'_> {
        Row { table: &self.table, view: self.bytes.view(self.table.schema()) }
    }

    /// The value of a column, given by position or name.
    ///
    /// # Errors
    ///
    /// As [`Row::value`].
    #[inline]
    pub fn value<'n>(&self, column: impl Into<ColumnRef<'n>>) -> Result<Value<'_>> {
        self.as_row().value(column)
    }

    /// The value of a column, given by position or name, as a type of the caller's choice.
    ///
    /// # Errors
    ///
    /// As [`Row::get`].
    #[inline]
    pub fn get<'a, 'n, T: FromValue<'a>>(&'a self, column: impl Into<ColumnRef<'n>>) -> Result<T> {
        self.as_row().get(column)
    }

    /// All values, in the order of the columns.
    pub fn values(&self) -> impl ExactSizeIterator<Item = Result<Value<'_>>> {
        self.as_row().values()
    }

    /// The table's definition.
    pub fn schema(&self) -> &Schema {
        self.table.schema()
    }
}

impl From<Row<'_>> for OwnedRow {
    fn from(row: Row<'_>) -> OwnedRow {
        row.into_owned()
    }
}

impl fmt::Debug for OwnedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_row().fmt(f)
    }
}
