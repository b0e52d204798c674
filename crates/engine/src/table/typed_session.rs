//! Sessions over tables, for code that waits between calls and cannot hold a guard meanwhile, such as many
//! clients on one thread. Rows are borrowed until the next call, and nothing is allocated for them.

use crate::access::btree::Tree;
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
use crate::table::read::{self, Walk};
use crate::table::row::{OwnedRow, Row};
use crate::table::session_memory::Memory;
use crate::table::transaction::Transaction;
use crate::table::write::{self, Upserted};
use crate::txn::{Begin, Core, Direction, Session};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use syncline_vfs::{Disk, RealDisk};

/// Runs one transaction after another over tables, on the thread of its caller.
///
/// A conflict breaks the transaction: every further call returns it, until [`abort`](TypedSession::abort) or
/// [`commit`](TypedSession::commit). Dropping the session aborts.
pub struct TypedSession<D: Disk = RealDisk> {
    session: Session<D>,
    memory: Memory,
}

impl<D: Disk> TypedSession<D> {
    /// A new session. Fails if there are too many.
    pub(crate) fn new(core: &Arc<Core<D>>) -> Result<TypedSession<D>> {
        Ok(TypedSession { session: Session::new(core)?, memory: Memory::new(&core.origin) })
    }

    /// Begins a transaction. Allocates nothing.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyBegun`](crate::Error::AlreadyBegun) if one is open, which stays as it is;
    /// [`Error::Poisoned`](crate::Error::Poisoned), except for read-only transactions.
    pub fn begin(&mut self, begin: Begin) -> Result<()> {
        self.memory.begin();
        self.session.begin(begin)
    }

    /// Begins an exclusive serializable transaction: others read meanwhile, and wait to commit. It gets no
    /// conflict.
    ///
    /// Others do not wait forever. On the thread that began it, every call that would wait fails at once with
    /// [`Error::ExclusiveHere`](crate::Error::ExclusiveHere): a commit of another session,
    /// [`checkpoint`](crate::Database::checkpoint), [`verify`](crate::Database::verify), changes of tables
    /// and [`close`](crate::Database::close). On other threads such a call fails with
    /// [`Error::ExclusiveTooLong`](crate::Error::ExclusiveTooLong) after
    /// [`exclusive_wait_ms`](crate::Options::exclusive_wait_ms).
    ///
    /// A task of an executor may hold it across an `.await`. Tasks on the same thread that commit meanwhile
    /// get `ExclusiveHere` and can try again later. If the task moves to another thread, the thread that
    /// began it still counts as its holder; commits on the new thread are ended by the limit.
    ///
    /// # Errors
    ///
    /// As [`begin`](TypedSession::begin); those above, if another exclusive transaction is open.
    pub fn begin_exclusive(&mut self) -> Result<()> {
        self.memory.begin();
        self.session.begin_exclusive_by_caller()
    }

    /// Makes the key for a read of a row, before or after the transaction begins.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`](crate::Error::WrongKind), [`Error::WrongCount`](crate::Error::WrongCount),
    /// [`Error::OtherDatabase`](crate::Error::OtherDatabase). The key is then unusable.
    #[inline]
    pub fn prepare_key(
        &self,
        table: &Table,
        key: &[Value<'_>],
        prefetch_key: &mut PrefetchKey,
    ) -> Result<()> {
        (prefetch_key.leaf, prefetch_key.table) = (None, 0);
        self.memory.check_origin(table)?;
        read::make_key(table, key, &mut prefetch_key.key)?;
        prefetch_key.table = table.tree().handle;
        Ok(())
    }

    /// True while a transaction is open.
    pub fn is_open(&self) -> bool {
        self.session.is_open()
    }

    /// The row of a primary key, given by the values of all its columns; none if it does not exist. The
    /// row is borrowed until the next call.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`](crate::Error::Conflict), [`Error::WrongKind`](crate::Error::WrongKind),
    /// [`Error::WrongCount`](crate::Error::WrongCount); without a transaction
    /// [`Error::NotBegun`](crate::Error::NotBegun). For a wrong handle
    /// [`Error::OtherDatabase`](crate::Error::OtherDatabase) or
    /// [`Error::TableChanged`](crate::Error::TableChanged).
    pub fn get<'a>(&'a mut self, table: &'a Table, key: &[Value<'_>]) -> Result<Option<Row<'a>>> {
        read::get(&mut self.session, &mut self.memory, table, key)
    }

    /// The row of a prefetch key, like `get`. The table must be the one that the key was made for.
    ///
    /// # Errors
    ///
    /// As `get`; [`Error::OtherTable`](crate::Error::OtherTable) if the key was made for another table.
    #[inline]
    pub fn get_prefetched<'a>(
        &'a mut self,
        table: &'a Table,
        prefetch_key: &'a PrefetchKey,
    ) -> Result<Option<Row<'a>>> {
        read::get_prefetched(&mut self.session, &mut self.memory, table, prefetch_key)
    }

    /// Passes the row of a prefetch key to `look` in place, and returns the result of `look`; none if the
    /// row does not exist. Cheaper than `get_prefetched` if only a few columns of a long row are needed,
    /// since nothing is copied. A part of the store is latched meanwhile: `look` must be short, and it
    /// cannot use any database of this crate, not even through another session.
    ///
    /// # Errors
    ///
    /// As `get_prefetched`. Calls of the engine within `look` fail with
    /// [`Error::InShownRow`](crate::Error::InShownRow).
    #[inline]
    pub fn show_prefetched<R>(
        &mut self,
        table: &Table,
        prefetch_key: &PrefetchKey,
        look: impl FnOnce(Row<'_>) -> R,
    ) -> Result<Option<R>> {
        read::show_prefetched(&mut self.session, &mut self.memory, table, prefetch_key, look)
    }

    /// The row with these values in a unique index (`table.by("name")?`), which must be given for all of
    /// its columns; none if there is no such row, or if one of the values is null.
    ///
    /// # Errors
    ///
    /// As `get`; [`Error::NotUnique`](crate::Error::NotUnique) if the index may have several such rows:
    /// scan it instead.
    pub fn get_by<'a>(
        &'a mut self,
        path: impl Into<Path<'a>>,
        values: &[Value<'_>],
    ) -> Result<Option<Row<'a>>> {
        read::get_by(&mut self.session, &mut self.memory, path.into(), values)
    }

    /// Passes the rows of a range to `visitor`, in the order of the table's key (`&table`) or of an index
    /// (`table.by("name")?`), at most `limit` of them, until it breaks or fails. The transaction's own
    /// writes are included. The rows passed count as read: a serializable transaction commits only if the
    /// range still holds the same rows.
    ///
    /// # Errors
    ///
    /// As `get`; errors of `visitor`.
    pub fn scan<'a>(
        &mut self,
        path: impl Into<Path<'a>>,
        range: KeyRange<'_>,
        direction: Direction,
        limit: usize,
        mut visitor: impl FnMut(Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let walk = Walk { range, direction, limit, keys_only: false };
        read::scan(&mut self.session, &mut self.memory, path.into(), walk, &mut visitor)
    }

    /// The same with only the columns of the primary key; no other column of these rows can be read. An
    /// index contains them, so that the table itself is not read.
    ///
    /// # Errors
    ///
    /// As `scan`; reading another column fails with [`Error::OnlyKey`](crate::Error::OnlyKey).
    pub fn scan_keys<'a>(
        &mut self,
        path: impl Into<Path<'a>>,
        range: KeyRange<'_>,
        direction: Direction,
        limit: usize,
        mut visitor: impl FnMut(Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let walk = Walk { range, direction, limit, keys_only: true };
        read::scan(&mut self.session, &mut self.memory, path.into(), walk, &mut visitor)
    }

    common_calls!(self, &mut self);

    /// Commits. The transaction is over in any case. The ticket is complete when the commit, or without
    /// writes everything that was read, is stable: [`wait`](TypedSession::wait) for it.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`](crate::Error::Conflict): run it again. Refusals by the rows:
    /// [`Error::DuplicateKey`](crate::Error::DuplicateKey), [`Error::NoRow`](crate::Error::NoRow),
    /// [`Error::Unfit`](crate::Error::Unfit). While an exclusive transaction is open:
    /// [`Error::ExclusiveHere`](crate::Error::ExclusiveHere),
    /// [`Error::ExclusiveTooLong`](crate::Error::ExclusiveTooLong). In all these cases nothing was changed.
    /// Without a transaction [`Error::NotBegun`](crate::Error::NotBegun).
    pub fn commit(&mut self) -> Result<Ticket> {
        let committed = self.session.commit();
        committed.map_err(|error| self.memory.named(error))
    }

    /// Commits with durability none: the commit is complete now, and may be lost in a crash until the log,
    /// which is woken at once, has written it.
    ///
    /// # Errors
    ///
    /// As [`commit`](TypedSession::commit).
    pub fn commit_unsynced(&mut self) -> Result<Csn> {
        let committed = self.session.commit_unsynced();
        committed.map_err(|error| self.memory.named(error))
    }

    /// The core that the database's sessions share.
    pub(super) fn core(&self) -> &Arc<Core<D>> {
        self.session.core()
    }

    /// Passes tree and key of each row that the open transaction writes.
    pub(super) fn each_write(&self, each: &mut dyn FnMut(&Tree, &[u8])) {
        self.session.each_write(each);
    }

    /// An upper bound of the last commit's log record, in bytes, for
    /// [`Worker::staged`](crate::log::Worker::staged).
    #[inline]
    pub fn record_bytes_max(&self) -> usize {
        self.session.record_bytes_max()
    }

    /// Waits until a ticket is complete. If no write is in flight, the caller writes.
    ///
    /// # Errors
    ///
    /// [`Error::Indeterminate`](crate::Error::Indeterminate) if the log failed before.
    pub fn wait(&self, ticket: Ticket) -> Result<()> {
        self.session.wait(ticket)
    }

    /// Call this if a ticket of this session became complete without [`wait`](TypedSession::wait), so that
    /// the path of its commit can end: see
    /// [`Database::take_commit_paths`](crate::Database::take_commit_paths). Free for most commits.
    #[inline]
    pub fn acknowledged(&self, ticket: Ticket) {
        self.session.acknowledged(ticket);
    }

    /// Ends the transaction, if there is one, without effects.
    pub fn abort(&mut self) {
        self.session.abort();
    }

    /// Begins a transaction that aborts when it is dropped.
    ///
    /// # Errors
    ///
    /// As [`begin`](TypedSession::begin).
    pub fn transaction(&mut self, begin: Begin) -> Result<Transaction<'_, D>> {
        self.begin(begin)?;
        Ok(Transaction::new(&mut self.session, &mut self.memory, true))
    }

    /// Runs `body` in a transaction and commits it. After a conflict it runs again, in the end exclusively,
    /// until it commits; so `body` must have no effects outside its transaction. If it fails for another
    /// reason, or panics, the transaction is aborted.
    ///
    /// The error is of any type that can be made from the engine's: a body may refuse with an error of its
    /// own. Whether a conflict has broken the transaction is known without the error, so that a body may wrap
    /// a conflict and is run again nevertheless.
    ///
    /// A body that only reads ([`Begin::ReadOnly`]) gains nothing by running exclusively: after
    /// [`retries`](crate::Options::retries) more runs its conflict is returned, usually
    /// [`SnapshotTooOld`](crate::Conflict::SnapshotTooOld). A conflict of another session that a body returns
    /// is an error like others.
    ///
    /// A body should not commit through another session: such a commit persists even if the body fails or
    /// runs again, and in an exclusive last run it is refused as described at
    /// [`begin_exclusive`](TypedSession::begin_exclusive).
    ///
    /// # Errors
    ///
    /// Errors of `body`, and those of [`commit`](TypedSession::commit); conflicts only as described above.
    /// [`Error::AlreadyBegun`](crate::Error::AlreadyBegun).
    pub fn run<R, E: From<Error>>(
        &mut self,
        begin: Begin,
        mut body: impl FnMut(&mut Transaction<'_, D>) -> Result<R, E>,
    ) -> Result<(R, Ticket), E> {
        self.memory.begin();
        self.session.run_with(
            begin,
            &mut self.memory,
            |session, memory| body(&mut Transaction::new(session, memory, false)),
            |memory, error| E::from(memory.named(error)),
        )
    }

    /// The open transaction as a guard that leaves it open.
    #[cfg(test)]
    pub(super) fn as_transaction(&mut self) -> Transaction<'_, D> {
        Transaction::new(&mut self.session, &mut self.memory, false)
    }

    /// Passes both parts to a call.
    #[inline]
    fn with<R>(&mut self, call: impl FnOnce(&mut Session<D>, &mut Memory) -> R) -> R {
        call(&mut self.session, &mut self.memory)
    }

    /// The same for a call that changes what the transaction reads.
    #[inline]
    fn with_write<R>(&mut self, call: impl FnOnce(&mut Session<D>, &mut Memory) -> R) -> R {
        self.with(call)
    }
}

impl<D: Disk> fmt::Debug for TypedSession<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("TypedSession");
        debug.field("is_open", &self.is_open()).finish_non_exhaustive()
    }
}
