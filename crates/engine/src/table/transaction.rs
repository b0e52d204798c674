//! A transaction as a guard, for straight-line code. Rows that it returns are owned, so that several can be
//! used beside one another, and its calls take it shared, so that it can be used while it is iterated over.
//!
//! Invariant: no call runs within another one. The parts of the session are borrowed for one call at a time;
//! only the closure of `show_prefetched` runs meanwhile, and gets [`Error::InShownRow`].

use crate::access::key::KeyRange;
use crate::access::schema::Value;
use crate::error::{Error, Result};
use crate::ids::Csn;
use crate::log::Ticket;
use crate::table::calls::common_calls;
use crate::table::change::Change;
use crate::table::handle::{Path, Table};
use crate::table::mark::{self, Mark};
use crate::table::prefetch::PrefetchKey;
use crate::table::read;
use crate::table::row::{OwnedRow, Row};
use crate::table::rows::Rows;
use crate::table::session_memory::Memory;
use crate::table::write::{self, Upserted};
use crate::txn::{Direction, Session};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::ControlFlow;
use syncline_vfs::{Disk, RealDisk};

/// A transaction that aborts when it is dropped before its commit.
///
/// A conflict breaks it: every further call returns the conflict, and it must be run again. Its rows are
/// owned: they can be kept beside one another and outlive it. [`TypedSession`](crate::TypedSession) has the
/// same calls with rows that are borrowed until the next call, which allocates nothing.
pub struct Transaction<'s, D: Disk = RealDisk> {
    parts: RefCell<Parts<'s, D>>,
    /// How many calls may have changed what it reads.
    writes: Cell<u64>,
    aborts_on_drop: bool,
}

struct Parts<'s, D: Disk> {
    session: &'s mut Session<D>,
    memory: &'s mut Memory,
}

impl<'s, D: Disk> Transaction<'s, D> {
    /// A guard for a session's open transaction.
    pub(super) fn new(
        session: &'s mut Session<D>,
        memory: &'s mut Memory,
        aborts_on_drop: bool,
    ) -> Transaction<'s, D> {
        let parts = RefCell::new(Parts { session, memory });
        Transaction { parts, writes: Cell::new(0), aborts_on_drop }
    }

    /// The row of a primary key, given by the values of all its columns; none if it does not exist.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`](crate::Error::Conflict), [`Error::WrongKind`](crate::Error::WrongKind),
    /// [`Error::WrongCount`](crate::Error::WrongCount). For a wrong handle
    /// [`Error::OtherDatabase`](crate::Error::OtherDatabase) or
    /// [`Error::TableChanged`](crate::Error::TableChanged).
    pub fn get(&self, table: &Table, key: &[Value<'_>]) -> Result<Option<OwnedRow>> {
        self.with(|session, memory| {
            let row = read::get(session, memory, table, key)?;
            Ok(row.map(Row::into_owned))
        })
    }

    /// The row of a prefetch key, like `get`. The table must be the one that the key was made for.
    ///
    /// # Errors
    ///
    /// As `get`; [`Error::OtherTable`](crate::Error::OtherTable) if the key was made for another table.
    pub fn get_prefetched(
        &self,
        table: &Table,
        prefetch_key: &PrefetchKey,
    ) -> Result<Option<OwnedRow>> {
        self.with(|session, memory| {
            let row = read::get_prefetched(session, memory, table, prefetch_key)?;
            Ok(row.map(Row::into_owned))
        })
    }

    /// Passes the row of a prefetch key to `look` in place, and returns the result of `look`; none if the row
    /// does not exist. Cheaper than `get_prefetched` if only a few columns of a long row are needed, since
    /// nothing is copied. A part of the store is latched meanwhile: `look` must be short, and it cannot use
    /// any database of this crate, not even through another session.
    ///
    /// # Errors
    ///
    /// As `get_prefetched`. Calls of the engine within `look` fail with
    /// [`Error::InShownRow`](crate::Error::InShownRow).
    pub fn show_prefetched<R>(
        &self,
        table: &Table,
        prefetch_key: &PrefetchKey,
        look: impl FnOnce(Row<'_>) -> R,
    ) -> Result<Option<R>> {
        self.with(|session, memory| {
            read::show_prefetched(session, memory, table, prefetch_key, look)
        })
    }

    /// The row with these values in a unique index (`table.by("name")?`), which must be given for all of its
    /// columns; none if there is no such row, or if one of the values is null.
    ///
    /// # Errors
    ///
    /// As `get`; [`Error::NotUnique`](crate::Error::NotUnique) if the index may have several such rows:
    /// iterate over [`rows`](Transaction::rows) instead.
    pub fn get_by<'a>(
        &self,
        path: impl Into<Path<'a>>,
        values: &[Value<'_>],
    ) -> Result<Option<OwnedRow>> {
        self.with(|session, memory| {
            let row = read::get_by(session, memory, path.into(), values)?;
            Ok(row.map(Row::into_owned))
        })
    }

    /// The rows of a range, in the order of the table's key (`&table`) or of an index (`table.by("name")?`),
    /// from either end. The transaction can be used, and written to, between steps. Its own writes are
    /// included.
    ///
    /// What was read counts as read, a few rows ahead included: a serializable transaction commits only if
    /// that part of the range still holds the same rows.
    ///
    /// ```
    /// # use syncline_engine::{Database, KeyRange, Kind, Options, Result, Schema, values};
    /// # fn main() -> Result<()> {
    /// # let database = Database::transient(Options::default())?;
    /// # let schema = Schema::table("account").column("id", Kind::Int).column("bank", Kind::Int).key(["id"]);
    /// # let accounts = database.create_table(schema.build()?)?;
    /// # let schema = Schema::table("bank").column("id", Kind::Int).column("name", Kind::Text).key(["id"]);
    /// # let banks = database.create_table(schema.build()?)?;
    /// # database.run(|transaction| -> Result<()> {
    /// #     transaction.insert(&banks, values![7, "north"])?;
    /// #     transaction.insert(&accounts, values![1, 7])
    /// # })?;
    /// let names = database.run(|transaction| -> Result<Vec<String>> {
    ///     let mut names = Vec::new();
    ///     for account in transaction.rows(&accounts, KeyRange::ALL)?.rev() {
    ///         let bank = account?.get::<i64>("bank")?;
    ///         let bank = transaction.get(&banks, values![bank])?.expect("each account has a bank");
    ///         names.push(bank.get("name")?);
    ///     }
    ///     Ok(names)
    /// })?;
    /// assert_eq!(names, ["north"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As `get`; each step may fail as `get` does.
    pub fn rows<'a>(
        &self,
        path: impl Into<Path<'a>>,
        range: KeyRange<'_>,
    ) -> Result<Rows<'_, 's, D>> {
        self.iterate(path.into(), range, false)
    }

    /// The same with only the columns of the primary key; no other column of these rows can be read. An index
    /// contains them, so that the table itself is not read.
    ///
    /// # Errors
    ///
    /// As [`rows`](Transaction::rows); reading another column of an index's row fails with
    /// [`Error::OnlyKey`](crate::Error::OnlyKey).
    pub fn keys<'a>(
        &self,
        path: impl Into<Path<'a>>,
        range: KeyRange<'_>,
    ) -> Result<Rows<'_, 's, D>> {
        self.iterate(path.into(), range, true)
    }

    fn iterate(
        &self,
        path: Path<'_>,
        range: KeyRange<'_>,
        keys_only: bool,
    ) -> Result<Rows<'_, 's, D>> {
        let range = self.with(|session, memory| read::range_of(session, memory, path, range))?;
        Ok(Rows::new(self, (path.table, path.index), range, keys_only))
    }

    /// The first row of a range; none if it is empty. No other row counts as read.
    ///
    /// # Errors
    ///
    /// As `get`.
    pub fn first<'a>(
        &self,
        path: impl Into<Path<'a>>,
        range: KeyRange<'_>,
    ) -> Result<Option<OwnedRow>> {
        self.rows(path, range)?.limit(1).next().transpose()
    }

    /// The last row of a range; none if it is empty. No other row counts as read.
    ///
    /// # Errors
    ///
    /// As `get`.
    pub fn last<'a>(
        &self,
        path: impl Into<Path<'a>>,
        range: KeyRange<'_>,
    ) -> Result<Option<OwnedRow>> {
        self.rows(path, range)?.limit(1).next_back().transpose()
    }

    /// Passes the rows of a range to `visitor`, as [`rows`](Transaction::rows) iterates over them, at most
    /// `limit` of them, until it breaks or fails. The visitor may use the transaction.
    ///
    /// # Errors
    ///
    /// As `get`; errors of `visitor`.
    pub fn scan<'a>(
        &self,
        path: impl Into<Path<'a>>,
        range: KeyRange<'_>,
        direction: Direction,
        limit: usize,
        visitor: impl FnMut(Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        visit(self.rows(path, range)?.limit(limit), direction, visitor)
    }

    /// The same with only the columns of the primary key: see [`keys`](Transaction::keys).
    ///
    /// # Errors
    ///
    /// As `scan`; reading another column of an index's row fails with
    /// [`Error::OnlyKey`](crate::Error::OnlyKey).
    pub fn scan_keys<'a>(
        &self,
        path: impl Into<Path<'a>>,
        range: KeyRange<'_>,
        direction: Direction,
        limit: usize,
        visitor: impl FnMut(Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        visit(self.keys(path, range)?.limit(limit), direction, visitor)
    }

    common_calls!(self, &self);

    /// Commits, as [`TypedSession::commit`](crate::TypedSession::commit) does.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn commit(mut self) -> Result<Ticket> {
        self.aborts_on_drop = false;
        let Parts { session, memory } = self.parts.get_mut();
        let committed = session.commit();
        committed.map_err(|error| memory.named(error))
    }

    /// Ends the transaction without effects, as dropping it does.
    pub fn abort(self) {
        drop(self);
    }

    /// How many calls may have changed what it reads.
    pub(super) fn writes(&self) -> u64 {
        self.writes.get()
    }

    /// Passes both parts of the session to a call.
    #[inline]
    pub(super) fn with<R>(
        &self,
        call: impl FnOnce(&mut Session<D>, &mut Memory) -> Result<R>,
    ) -> Result<R> {
        // Another call is running only while it shows a row.
        let Ok(mut parts) = self.parts.try_borrow_mut() else {
            return Err(Error::InShownRow);
        };
        let Parts { session, memory } = &mut *parts;
        call(session, memory)
    }

    /// The same for a call that changes what the transaction reads.
    #[inline]
    fn with_write<R>(
        &self,
        call: impl FnOnce(&mut Session<D>, &mut Memory) -> Result<R>,
    ) -> Result<R> {
        self.writes.set(self.writes.get() + 1);
        self.with(call)
    }
}

/// Passes rows to a visitor, from one end.
fn visit<D: Disk>(
    mut rows: Rows<'_, '_, D>,
    direction: Direction,
    mut visitor: impl FnMut(Row<'_>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    while let Some(row) = rows.step(direction)? {
        if visitor(row)?.is_break() {
            break;
        }
    }
    Ok(())
}

impl<D: Disk> Drop for Transaction<'_, D> {
    fn drop(&mut self) {
        if self.aborts_on_drop {
            self.parts.get_mut().session.abort();
        }
    }
}

impl<D: Disk> fmt::Debug for Transaction<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").field("writes", &self.writes.get()).finish_non_exhaustive()
    }
}
