//! Tables of a database: opening, making, loading, changing and dropping them.

use crate::access::schema::{Schema, Value};
use crate::database::definitions::encoded;
use crate::database::handle::Database;
use crate::error::{Error, Result};
use crate::table::Table;
use crate::txn::check_not_in_row_view;
use std::borrow::Borrow;
use std::sync::Arc;
use syncline_vfs::Disk;

impl<D: Disk> Database<D> {
    /// Makes an empty table with its indexes.
    ///
    /// # Errors
    ///
    /// [`Error::Taken`] if a table has that name; [`Error::Capped`]; [`Error::Full`]. While an exclusive
    /// transaction is open, [`Error::ExclusiveHere`] or [`Error::ExclusiveTooLong`]: see
    /// [`begin_exclusive`](crate::TypedSession::begin_exclusive).
    pub fn create_table(&self, schema: Schema) -> Result<Table> {
        self.check_writable()?;
        let made = self.engine().create_table(schema)?;
        self.engine().table(made.schema.name())
    }

    /// Makes a table from rows in any order, each with the values of all columns. Rows are sorted in runs of
    /// [`Options::definition_bytes_max`](crate::Options::definition_bytes_max) and built into pages without
    /// logging; a checkpoint makes them stable. Rows in key order build fastest and into the fullest pages. A
    /// log with an archive gets the rows, in many commits. Other transactions and definitions go on
    /// meanwhile; the table with all its rows becomes visible when this returns. A snapshot that began
    /// earlier cannot use the table: it ends with [`Conflict::MadeLater`](crate::Conflict::MadeLater). If the
    /// disk is full, nothing changes.
    ///
    /// # Errors
    ///
    /// As [`Database::create_table`]; [`Error::DuplicateBuilt`]; the errors of a row with wrong values.
    pub fn load_table<'r>(
        &self,
        schema: Schema,
        rows: impl IntoIterator<Item: AsRef<[Value<'r>]>>,
    ) -> Result<Table> {
        self.check_writable()?;
        let of_rows = schema.clone();
        let rows = encoded(&of_rows, rows, self.engine().options.key_bytes_max);
        let made = self.engine().load_table(schema, rows)?;
        self.engine().table(made.schema.name())
    }

    /// A handle of the named table.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`]; [`Error::InShownRow`].
    pub fn table(&self, name: &str) -> Result<Table> {
        check_not_in_row_view()?;
        self.engine().table(name)
    }

    /// The definitions of all tables, in the order of their names.
    pub fn tables(&self) -> Vec<Schema> {
        let catalog = Arc::clone(&self.engine().listed_tables.lock());
        catalog.tables().map(|entry| entry.schema.clone()).collect()
    }

    /// Drops a table with its rows and indexes. Transactions that have used it conflict.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`]; while an exclusive transaction is open, as [`Database::create_table`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.check_writable()?;
        self.engine().drop_table(name)
    }

    /// Deletes all rows of a table at once, in a time that does not depend on their number. Transactions that
    /// have used it conflict. Open new handles of the table afterwards; a snapshot that began earlier cannot
    /// use them: it ends with [`Conflict::MadeLater`](crate::Conflict::MadeLater). If the disk is full,
    /// nothing changes.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`]; [`Error::Capped`]; [`Error::Full`]; while an exclusive transaction is open, as
    /// [`Database::create_table`].
    pub fn truncate_table(&self, name: &str) -> Result<Table> {
        self.check_writable()?;
        let emptied = self.engine().truncate_table(name)?;
        self.engine().table(emptied.schema.name())
    }

    /// Gives a table another name. Transactions that have used it conflict. Open new handles of the table
    /// afterwards.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`]; [`Error::Taken`] if a table has the new name; [`Error::Schema`] if no table can
    /// have it; while an exclusive transaction is open, as [`Database::create_table`].
    pub fn rename_table(&self, name: &str, new_name: &str) -> Result<Table> {
        self.check_writable()?;
        self.engine().rename_table(name, new_name)?;
        self.engine().table(new_name)
    }

    /// Changes a table to a schema derived from its own by one of `with_column`, `with_nullable`,
    /// `with_column_renamed`, `without_column`, `with_index` and `without_index`. An index is built from the
    /// existing rows while other transactions read and write the table; the build catches up with their
    /// changes, and they wait if they change rows faster than that. Other definitions wait until the index is
    /// built. Open new handles of the table afterwards. A snapshot that began before an index was built can
    /// still use the table but not the index: it ends with
    /// [`Conflict::MadeLater`](crate::Conflict::MadeLater). If the disk is full, nothing changes.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`]; [`Error::Schema`] if the schema is not one step from the table's;
    /// [`Error::DuplicateBuilt`] if two rows share a key of a new unique index, or did at some moment of its
    /// build; [`Error::Full`] and [`Error::Capped`] if an index cannot be built; while an exclusive
    /// transaction is open, as [`Database::create_table`].
    pub fn change_table(&self, schema: &Schema) -> Result<Table> {
        self.check_writable()?;
        let changed = self.engine().change_table(schema)?;
        self.engine().table(changed.schema.name())
    }

    /// A handle of the table that the schema names, which is made if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::OtherDefinition`] if the table has other columns, another key or other indexes;
    /// [`Error::InShownRow`]; if it must be made, as [`Database::create_table`].
    pub fn open_or_create_table(&self, schema: impl Borrow<Schema>) -> Result<Table> {
        let schema = schema.borrow();
        check_not_in_row_view()?;
        let table = match self.engine().table(schema.name()) {
            Err(Error::NoSuch { .. }) => match self.create_table(schema.clone()) {
                // Another caller was faster.
                Err(Error::Taken { .. }) => self.engine().table(schema.name())?,
                made => return made,
            },
            found => found?,
        };
        if let Some(what) = table.schema().difference(schema) {
            return Err(Error::OtherDefinition { table: schema.name().to_owned(), what });
        }
        Ok(table)
    }
}
