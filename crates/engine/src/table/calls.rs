//! The calls that sessions and transactions have in common: those that return no borrowed row.
//!
//! The user of the macro imports the types that the calls name, and has the methods `with` and `with_write`,
//! which pass the two parts of a session to a call.

/// The common calls, for a receiver such as `&self`.
macro_rules! common_calls {
    ($self:ident, $($receiver:tt)+) => {
        /// True if the row of a primary key exists.
        ///
        /// # Errors
        ///
        /// As `get`.
        pub fn exists($($receiver)+, table: &Table, key: &[Value<'_>]) -> Result<bool> {
            $self.with(|session, memory| read::exists(session, memory, table, key))
        }

        /// The number of rows in a range of the table's key (`&table`) or of an index (`table.by("name")?`).
        /// It is counted row by row.
        ///
        /// # Errors
        ///
        /// As `scan`.
        pub fn count<'a>(
            $($receiver)+,
            path: impl Into<Path<'a>>,
            range: KeyRange<'_>,
        ) -> Result<u64> {
            $self.with(|session, memory| read::count(session, memory, path.into(), range))
        }

        /// The rows of several primary keys, in the order of the keys, each none if it does not exist. The
        /// pages of all of them are fetched at the same time.
        ///
        /// # Errors
        ///
        /// As `get`.
        pub fn get_many<'k>(
            $($receiver)+,
            table: &Table,
            keys: impl IntoIterator<Item = &'k [Value<'k>]>,
        ) -> Result<Vec<Option<OwnedRow>>> {
            $self.with(|session, memory| read::get_many(session, memory, table, keys))
        }

        /// Adds a row, given by the values of all columns in order. Reads nothing: if a row with this primary
        /// key or with these values in a unique index exists, the commit is refused.
        ///
        /// # Errors
        ///
        /// [`Error::WrongKind`](crate::Error::WrongKind), [`Error::IsNull`](crate::Error::IsNull),
        /// [`Error::WrongCount`](crate::Error::WrongCount),
        /// [`Error::KeyTooLarge`](crate::Error::KeyTooLarge); [`Error::ReadOnly`](crate::Error::ReadOnly);
        /// [`Error::TooLarge`](crate::Error::TooLarge) if no log record could then hold the transaction; at
        /// the commit, or here if the transaction itself wrote the other row,
        /// [`Error::DuplicateKey`](crate::Error::DuplicateKey). Without a transaction, or with a wrong
        /// handle, as `get`.
        pub fn insert($($receiver)+, table: &Table, values: &[Value<'_>]) -> Result<()> {
            $self.with_write(|session, memory| write::insert(session, memory, table, values))
        }

        /// Sets a row, whether one with its primary key exists or not. Reads the row if the table has
        /// indexes.
        ///
        /// # Errors
        ///
        /// As `insert`; a duplicate only in a unique index.
        pub fn put($($receiver)+, table: &Table, values: &[Value<'_>]) -> Result<()> {
            $self.with_write(|session, memory| write::put(session, memory, table, values))
        }

        /// Adds a row unless one with its primary key, or with its values in a unique index, exists. Returns
        /// true if it added the row. Unlike `insert` it reads: another transaction that adds such a row
        /// first is a conflict.
        ///
        /// # Errors
        ///
        /// As `insert`, except for a duplicate.
        pub fn insert_or_ignore(
            $($receiver)+,
            table: &Table,
            values: &[Value<'_>],
        ) -> Result<bool> {
            $self.with_write(|session, memory| {
                write::insert_or_ignore(session, memory, table, values)
            })
        }

        /// Adds a row, or applies changes to the row that has its primary key, and says which.
        ///
        /// # Errors
        ///
        /// As `insert` and `update`; a duplicate only in a unique index.
        pub fn upsert(
            $($receiver)+,
            table: &Table,
            values: &[Value<'_>],
            changes: &[Change<'_>],
        ) -> Result<Upserted> {
            $self.with_write(|session, memory| {
                write::upsert(session, memory, table, values, changes)
            })
        }

        /// Changes columns of the row of a primary key, in the order of `changes`. Reads the row only if one
        /// of the columns is indexed.
        ///
        /// # Errors
        ///
        /// [`Error::WrongKind`](crate::Error::WrongKind), [`Error::IsNull`](crate::Error::IsNull),
        /// [`Error::NoColumn`](crate::Error::NoColumn), [`Error::Unchangeable`](crate::Error::Unchangeable)
        /// for a key column; those of `insert` except refusals; at the commit, or here if the transaction's
        /// own writes decide it, [`Error::NoRow`](crate::Error::NoRow), [`Error::Unfit`](crate::Error::Unfit)
        /// if a sum overflows or is out of its bounds, and
        /// [`Error::DuplicateKey`](crate::Error::DuplicateKey) of a unique index.
        pub fn update(
            $($receiver)+,
            table: &Table,
            key: &[Value<'_>],
            changes: &[Change<'_>],
        ) -> Result<()> {
            $self.with_write(|session, memory| write::update(session, memory, table, key, changes))
        }

        /// Deletes the row of a primary key. Reads the row if the table has indexes.
        ///
        /// # Errors
        ///
        /// Those of `insert` except refusals; at the commit, or here if the transaction's own writes decide
        /// it, [`Error::NoRow`](crate::Error::NoRow).
        pub fn delete($($receiver)+, table: &Table, key: &[Value<'_>]) -> Result<()> {
            $self.with_write(|session, memory| write::delete(session, memory, table, key))
        }

        /// Deletes the rows of a range of the primary key, and returns their number. The whole range must fit
        /// into one log record; delete a larger one in several transactions.
        ///
        /// # Errors
        ///
        /// As `delete`; nothing is deleted then.
        pub fn delete_range($($receiver)+, table: &Table, range: KeyRange<'_>) -> Result<u64> {
            $self.with_write(|session, memory| write::delete_range(session, memory, table, range))
        }

        /// A savepoint at the current point of the transaction.
        ///
        /// # Errors
        ///
        /// [`Error::NotBegun`](crate::Error::NotBegun).
        pub fn mark($($receiver)+) -> Result<Mark> {
            $self.with(|session, _| mark::mark(session))
        }

        /// Undoes the writes since the mark. Reads stay recorded. Rolling back to a mark invalidates later
        /// marks.
        ///
        /// # Errors
        ///
        /// [`Error::NotBegun`](crate::Error::NotBegun); [`Error::OtherMark`](crate::Error::OtherMark) for a
        /// mark of another transaction or session, and for one that a rollback has invalidated. Nothing is
        /// undone then.
        pub fn rollback_to($($receiver)+, mark: Mark) -> Result<()> {
            $self.with_write(|session, _| mark::rollback_to(session, mark))
        }

        /// The transaction sees the store after this commit and before the next.
        ///
        /// # Errors
        ///
        /// [`Error::NotBegun`](crate::Error::NotBegun).
        pub fn read_point($($receiver)+) -> Result<Csn> {
            $self.with(|session, _| {
                session.check_open()?;
                Ok(session.read_point())
            })
        }
    };
}

pub(super) use common_calls;
