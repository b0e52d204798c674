//! Structs as rows of tables.

use crate::access::schema::{Builder, ColumnType, FromValue, Value};
use crate::error::Result;
use crate::table::row::{OwnedRow, Row};

/// A struct whose fields are the columns of a table. With the feature `derive` it is derived:
///
/// | attribute of a field | meaning |
/// |---|---|
/// | `#[row(key)]` | a column of the primary key, in the order of the fields |
/// | `#[row(name = "..")]` | the column's name, if it is not the field's |
/// | `#[row(scale = 2)]` | of a [`Decimal`](crate::Decimal): its digits after the point |
///
/// A field has a type for which [`ColumnType`](crate::ColumnType) is implemented; an `Option` is a column
/// that may be null.
///
#[cfg_attr(feature = "derive", doc = "```")]
#[cfg_attr(not(feature = "derive"), doc = "```ignore")]
/// use syncline_engine::{Database, Options, Result, TableRow, values};
///
/// #[derive(Debug, PartialEq, TableRow)]
/// struct Account {
///     #[row(key)]
///     id: i64,
///     owner: String,
///     note: Option<String>,
/// }
///
/// # fn main() -> Result<()> {
/// let database = Database::transient(Options::default())?;
/// let schema = Account::table("account").index("by_owner", ["owner"]).build()?;
/// let accounts = database.create_table(schema)?;
/// let ada = Account { id: 1, owner: "ada".to_owned(), note: None };
/// database.run(|transaction| transaction.insert(&accounts, &ada.values()))?;
/// let found = database.read(|transaction| -> Result<Option<Account>> {
///     transaction.get(&accounts, values![1])?.map(|row| row.read()).transpose()
/// })?;
/// assert_eq!(found, Some(ada));
/// # Ok(())
/// # }
/// ```
pub trait TableRow: Sized {
    /// The values of a row: an array.
    type Values<'r>: AsRef<[Value<'r>]>
    where
        Self: 'r;

    /// A builder of a table of these rows, with all columns and the primary key; indexes can be added.
    fn table(name: &str) -> Builder;

    /// The values of the row, in the order of the columns.
    fn values(&self) -> Self::Values<'_>;

    /// Reads a row, column by column, by their names. The table may have further columns.
    ///
    /// # Errors
    ///
    /// As [`Row::get`].
    fn from_row(row: Row<'_>) -> Result<Self>;
}

impl Builder {
    /// Adds a column for values of a type, which may be null if the type is an `Option`.
    pub fn column_of<T: ColumnType>(self, name: &str) -> Builder {
        if T::NULLABLE { self.nullable(name, T::KIND) } else { self.column(name, T::KIND) }
    }
}

impl<'a> Row<'a> {
    /// The row as a struct.
    ///
    /// # Errors
    ///
    /// As [`Row::get`].
    pub fn read<R: TableRow>(self) -> Result<R> {
        R::from_row(self)
    }

    /// The value of a column that is probably at a position: for derived code.
    #[doc(hidden)]
    pub fn field<T: FromValue<'a>>(&self, position: usize, name: &str) -> Result<T> {
        match self.schema().columns().get(position) {
            Some(column) if column.name() == name => self.get(position),
            _ => self.get(name),
        }
    }
}

impl OwnedRow {
    /// The row as a struct.
    ///
    /// # Errors
    ///
    /// As [`Row::get`].
    pub fn read<R: TableRow>(&self) -> Result<R> {
        R::from_row(self.as_row())
    }
}
