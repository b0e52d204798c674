//! Transactions over tables: as a session that owns its transaction, and as a guard.
//!
//! Both offer the same calls. The guard is for code that runs through; the session for code that waits
//! between calls and cannot keep a guard meanwhile, such as many clients on one thread.

use crate::access::key::KeyRange;
use crate::access::schema::Value;
use crate::error::{Error, Result};
use crate::ids::Csn;
use crate::log::Ticket;
use crate::table::change::Change;
use crate::table::handle::{Path, Table};
use crate::table::prefetch::PrefetchKey;
use crate::table::read::{self, Walk};
use crate::table::row::Row;
use crate::table::session_memory::Memory;
use crate::table::write;
use crate::txn::{Begin, Core, Direction, Savepoint, Session};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use syncline_vfs::Disk;

/// One transaction after another over tables, on the thread of whoever calls.
///
/// A conflict breaks the transaction: every call then answers it, until [`abort`](TypedSession::abort)
/// or [`commit`](TypedSession::commit). Dropping the session aborts.
pub struct TypedSession<D: Disk> {
    session: Session<D>,
    memory: Memory,
}

/// A transaction that aborts when it is dropped before its commit.
pub struct Transaction<'s, D: Disk> {
    session: &'s mut Session<D>,
    memory: &'s mut Memory,
    aborts_on_drop: bool,
}

/// A place in a transaction to which its writes can be taken back; see `rollback_to`. It is good for that
/// transaction alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    savepoint: Savepoint,
    /// The transaction, as [`Session::transaction_number`] tells it from all others.
    transaction: (u64, u64),
}

/// The calls that both have, over `self.parts()`.
macro_rules! calls {
    () => {
        /// The row of a primary key, given by the values of all its columns; none if there is none. The
        /// row is lent until the next call.
        ///
        /// # Errors
        ///
        /// [`Error::Conflict`](crate::Error::Conflict), [`Error::WrongKind`](crate::Error::WrongKind),
        /// [`Error::WrongCount`](crate::Error::WrongCount); without a transaction
        /// [`Error::NotBegun`](crate::Error::NotBegun). For a handle that does not belong here
        /// [`Error::OtherDatabase`](crate::Error::OtherDatabase) or
        /// [`Error::TableChanged`](crate::Error::TableChanged).
        pub fn get<'a>(
            &'a mut self,
            table: &'a Table,
            key: &[Value<'_>],
        ) -> Result<Option<Row<'a>>> {
            let (session, memory) = self.parts();
            read::get(session, memory, table, key)
        }

        /// The row that was sought, as `get` would answer it. The table is the one that it was sought in.
        ///
        /// # Errors
        ///
        /// As `get`; [`Error::OtherTable`](crate::Error::OtherTable) if it was sought in another table.
        #[inline]
        pub fn get_sought<'a>(
            &'a mut self,
            table: &'a Table,
            sought: &'a PrefetchKey,
        ) -> Result<Option<Row<'a>>> {
            let (session, memory) = self.parts();
            read::get_sought(session, memory, table, sought)
        }

        /// Shows the row that was sought to `look`, where it lies, and answers what `look` does; none if
        /// there is none. Cheaper than `get_sought` where few columns of a long row are wanted, since nothing
        /// is copied. A part of the store is latched meanwhile: `look` should be short, and cannot use any
        /// database of this crate, by another session either.
        ///
        /// # Errors
        ///
        /// As `get_sought`. Calls of the engine by `look` fail with
        /// [`Error::InShownRow`](crate::Error::InShownRow).
        #[inline]
        pub fn show_sought<R>(
            &mut self,
            table: &Table,
            sought: &PrefetchKey,
            look: impl FnOnce(Row<'_>) -> R,
        ) -> Result<Option<R>> {
            let (session, memory) = self.parts();
            read::show_sought(session, memory, table, sought, look)
        }

        /// The row that has these values in a unique index (`table.by("name")?`), given for all of its
        /// columns; none if there is none, or if one of the values is null.
        ///
        /// # Errors
        ///
        /// As `get`; [`Error::NotUnique`](crate::Error::NotUnique) if the index may have several rows for
        /// them: scan it.
        pub fn get_by<'a>(
            &'a mut self,
            path: impl Into<Path<'a>>,
            values: &[Value<'_>],
        ) -> Result<Option<Row<'a>>> {
            let (session, memory) = self.parts();
            read::get_by(session, memory, path.into(), values)
        }

        /// Hands the rows of a range to `visitor`, in the order of the table's key (`&table`) or of an
        /// index (`table.by("name")?`), at most `limit` of them, until it breaks or fails. The
        /// transaction's own writes are among them. What was handed out counts as read, so that a
        /// serializable transaction commits only if the range holds the same rows then.
        ///
        /// # Errors
        ///
        /// As `get`, and whatever `visitor` answers.
        pub fn scan<'a>(
            &mut self,
            path: impl Into<Path<'a>>,
            range: KeyRange<'_>,
            direction: Direction,
            limit: usize,
            mut visitor: impl FnMut(Row<'_>) -> Result<ControlFlow<()>>,
        ) -> Result<()> {
            let (session, memory) = self.parts();
            let walk = Walk { range, direction, limit, keys_only: false };
            read::scan(session, memory, path.into(), walk, &mut visitor)
        }

        /// The same for who wants the columns of the primary key alone: of the rows that are handed out no
        /// other one can be read. An index has them, so that the table is not looked into.
        ///
        /// # Errors
        ///
        /// As `scan`; for another column [`Error::OnlyKey`](crate::Error::OnlyKey).
        pub fn scan_keys<'a>(
            &mut self,
            path: impl Into<Path<'a>>,
            range: KeyRange<'_>,
            direction: Direction,
            limit: usize,
            mut visitor: impl FnMut(Row<'_>) -> Result<ControlFlow<()>>,
        ) -> Result<()> {
            let (session, memory) = self.parts();
            let walk = Walk { range, direction, limit, keys_only: true };
            read::scan(session, memory, path.into(), walk, &mut visitor)
        }

        /// Adds a row, given by the values of all columns in order. Reads nothing: if a row with this
        /// primary key or with these values in a unique index is there, the commit is refused.
        ///
        /// # Errors
        ///
        /// [`Error::WrongKind`](crate::Error::WrongKind), [`Error::IsNull`](crate::Error::IsNull),
        /// [`Error::WrongCount`](crate::Error::WrongCount),
        /// [`Error::KeyTooLarge`](crate::Error::KeyTooLarge); [`Error::ReadOnly`](crate::Error::ReadOnly);
        /// [`Error::TooLarge`](crate::Error::TooLarge) if the transaction then never fits a log record; at
        /// the commit, or here if the transaction itself wrote the other row,
        /// [`Error::DuplicateKey`](crate::Error::DuplicateKey). Without a transaction, or with a handle that
        /// does not belong here, as `get`.
        pub fn insert(&mut self, table: &Table, values: &[Value<'_>]) -> Result<()> {
            let (session, memory) = self.parts();
            write::insert(session, memory, table, values)
        }

        /// Makes a row be that, whether one with its primary key is there or not. Reads the row if the
        /// table has indexes.
        ///
        /// # Errors
        ///
        /// As `insert`; a duplicate only of a unique index.
        pub fn put(&mut self, table: &Table, values: &[Value<'_>]) -> Result<()> {
            let (session, memory) = self.parts();
            write::put(session, memory, table, values)
        }

        /// Changes columns of the row of a primary key, in the order of `changes`. Reads the row only
        /// if an index stands on one of the columns.
        ///
        /// # Errors
        ///
        /// [`Error::WrongKind`](crate::Error::WrongKind), [`Error::IsNull`](crate::Error::IsNull),
        /// [`Error::NoColumn`](crate::Error::NoColumn),
        /// [`Error::Unchangeable`](crate::Error::Unchangeable) for a key column; those of `insert` but for
        /// its data; at the commit, or here if the transaction itself shows it,
        /// [`Error::NoRow`](crate::Error::NoRow),
        /// [`Error::Unfit`](crate::Error::Unfit) if a sum overflows or is out of its bounds, and
        /// [`Error::DuplicateKey`](crate::Error::DuplicateKey) of a unique index.
        pub fn update(
            &mut self,
            table: &Table,
            key: &[Value<'_>],
            changes: &[Change<'_>],
        ) -> Result<()> {
            let (session, memory) = self.parts();
            write::update(session, memory, table, key, changes)
        }

        /// Deletes the row of a primary key. Reads the row if the table has indexes.
        ///
        /// # Errors
        ///
        /// Those of `insert` but for its data; at the commit, or here if the transaction itself shows it,
        /// [`Error::NoRow`](crate::Error::NoRow).
        pub fn delete(&mut self, table: &Table, key: &[Value<'_>]) -> Result<()> {
            let (session, memory) = self.parts();
            write::delete(session, memory, table, key)
        }

        /// The place where the transaction is.
        ///
        /// # Errors
        ///
        /// [`Error::NotBegun`](crate::Error::NotBegun).
        pub fn mark(&mut self) -> Result<Mark> {
            let (session, _) = self.parts();
            session.check_open()?;
            Ok(Mark { savepoint: session.savepoint(), transaction: session.transaction_number() })
        }

        /// Takes back what was written since the mark. What was read stays read. Rolling back to a mark ends
        /// the marks behind it.
        ///
        /// # Errors
        ///
        /// [`Error::NotBegun`](crate::Error::NotBegun);
        /// [`Error::OtherMark`](crate::Error::OtherMark) for a mark of another transaction or session, and
        /// for one that a rollback has ended. Nothing is taken back then.
        pub fn rollback_to(&mut self, mark: Mark) -> Result<()> {
            let (session, _) = self.parts();
            session.check_open()?;
            if session.transaction_number() != mark.transaction {
                let what = "belongs to another transaction";
                return Err(Error::OtherMark { what });
            }
            if !session.can_roll_back_to(mark.savepoint) {
                let what = "lies behind a place to which the transaction was rolled back";
                return Err(Error::OtherMark { what });
            }
            session.rollback_to(mark.savepoint);
            Ok(())
        }

        /// The commit after which, and before the next, the transaction sees the store.
        ///
        /// # Errors
        ///
        /// [`Error::NotBegun`](crate::Error::NotBegun).
        pub fn read_point(&mut self) -> Result<Csn> {
            let (session, _) = self.parts();
            session.check_open()?;
            Ok(session.read_point())
        }
    };
}

impl<D: Disk> TypedSession<D> {
    /// A session; refused beyond a fixed number.
    pub(crate) fn new(core: &Arc<Core<D>>) -> Result<TypedSession<D>> {
        Ok(TypedSession { session: Session::new(core)?, memory: Memory::new(&core.origin) })
    }

    /// Begins a transaction. Allocates nothing.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyBegun`](crate::Error::AlreadyBegun) if one is open, which stays as it is;
    /// [`Error::Poisoned`](crate::Error::Poisoned); those that only read work on nevertheless.
    pub fn begin(&mut self, begin: Begin) -> Result<()> {
        self.memory.begin();
        self.session.begin(begin)
    }

    /// Begins a serializable transaction that runs alone: others read meanwhile, and wait to commit. It
    /// meets no conflict.
    ///
    /// Others do not wait without end. On the thread that has begun it, every call that would wait fails
    /// with [`Error::ExclusiveHere`](crate::Error::ExclusiveHere) at once: a commit of another session, and
    /// [`checkpoint`](crate::Database::checkpoint), [`verify`](crate::Database::verify), changes of
    /// tables and [`close`](crate::Database::close). On other threads such a call fails with
    /// [`Error::ExclusiveTooLong`](crate::Error::ExclusiveTooLong) after
    /// [`exclusive_wait_ms`](crate::Options::exclusive_wait_ms).
    ///
    /// A task of an executor may hold it over an `.await`. If tasks on the same thread commit meanwhile, they
    /// get `ExclusiveHere` and can try again later. If the task is moved to another thread, the thread that
    /// began it still counts as the one that holds it; commits on the new thread are ended by the limit.
    ///
    /// # Errors
    ///
    /// As [`begin`](TypedSession::begin); as above, if another exclusive transaction is open.
    pub fn begin_exclusive(&mut self) -> Result<()> {
        self.memory.begin();
        self.session.begin_exclusive_by_caller()
    }

    /// Prepares to read the row of a primary key: makes its key, here or before the transaction begins.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`](crate::Error::WrongKind), [`Error::WrongCount`](crate::Error::WrongCount),
    /// [`Error::OtherDatabase`](crate::Error::OtherDatabase). The sought row is then one of no table.
    #[inline]
    pub fn seek(&self, table: &Table, key: &[Value<'_>], sought: &mut PrefetchKey) -> Result<()> {
        (sought.leaf, sought.table) = (None, 0);
        self.memory.check_origin(table)?;
        read::make_key(table, key, &mut sought.key)?;
        sought.table = table.tree().handle;
        Ok(())
    }

    /// True while a transaction is open.
    pub fn is_open(&self) -> bool {
        self.session.is_open()
    }

    calls!();

    /// Commits; the transaction is over, whatever the answer. The ticket is complete when the commit, or
    /// without writes everything that was read, is stable: [`wait`](TypedSession::wait) for it.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`](crate::Error::Conflict): run it again. What the data refuse:
    /// [`Error::DuplicateKey`](crate::Error::DuplicateKey), [`Error::NoRow`](crate::Error::NoRow),
    /// [`Error::Unfit`](crate::Error::Unfit). Nothing was changed in any of these cases, nor where an
    /// exclusive transaction is in the way: [`Error::ExclusiveHere`](crate::Error::ExclusiveHere),
    /// [`Error::ExclusiveTooLong`](crate::Error::ExclusiveTooLong).
    /// Without a transaction [`Error::NotBegun`](crate::Error::NotBegun).
    pub fn commit(&mut self) -> Result<Ticket> {
        let committed = self.session.commit();
        committed.map_err(|error| self.memory.named(error))
    }

    /// The same with durability none for this commit: it is complete now, and may be lost in a crash
    /// until the log, which is told to go on at once, has come to it.
    ///
    /// # Errors
    ///
    /// As [`commit`](TypedSession::commit).
    pub fn commit_unsynced(&mut self) -> Result<Csn> {
        let committed = self.session.commit_unsynced();
        committed.map_err(|error| self.memory.named(error))
    }

    /// A bound of the last commit's log record, in bytes: for [`Worker::staged`](crate::log::Worker::staged).
    #[inline]
    pub fn record_bytes_max(&self) -> usize {
        self.session.record_bytes_max()
    }

    /// Waits until a ticket is complete. If nothing is on its way to the disk, the caller writes.
    ///
    /// # Errors
    ///
    /// [`Error::Indeterminate`](crate::Error::Indeterminate) if the log failed before.
    pub fn wait(&self, ticket: Ticket) -> Result<()> {
        self.session.wait(ticket)
    }

    /// To be called when a ticket of this session was seen complete otherwise than by
    /// [`wait`](TypedSession::wait), so that the commit's way is known to its end: see
    /// [`Database::take_commit_paths`](crate::Database::take_commit_paths). Costs nothing for most commits.
    #[inline]
    pub fn acknowledged(&self, ticket: Ticket) {
        self.session.acknowledged(ticket);
    }

    /// Ends the transaction, if there is one, without a trace.
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
        Ok(Transaction {
            session: &mut self.session,
            memory: &mut self.memory,
            aborts_on_drop: true,
        })
    }

    /// Runs `body` in a transaction and commits it; after a conflict again, at last alone, until it
    /// commits. So `body` changes nothing but through its transaction. If it fails otherwise, or panics, the
    /// transaction is aborted.
    ///
    /// A body that only reads ([`Begin::ReadOnly`]) gains nothing by running alone: after
    /// [`retries`](crate::Options::retries) more runs its conflict is the answer, mostly
    /// [`SnapshotTooOld`](crate::Conflict::SnapshotTooOld). So is a conflict of another session that a body
    /// answers even when it runs alone.
    ///
    /// A body should not commit through another session: what it commits is there even if the body fails or
    /// runs again, and in a last run alone it is refused as
    /// [`begin_exclusive`](TypedSession::begin_exclusive) says.
    ///
    /// # Errors
    ///
    /// What `body` answers, and those of [`commit`](TypedSession::commit) but conflicts, of which one is the
    /// answer only as above. [`Error::AlreadyBegun`](crate::Error::AlreadyBegun).
    pub fn run<R>(
        &mut self,
        begin: Begin,
        mut body: impl FnMut(&mut Transaction<'_, D>) -> Result<R>,
    ) -> Result<(R, Ticket)> {
        self.memory.begin();
        let memory = &mut self.memory;
        let run = self.session.run(begin, |session| {
            body(&mut Transaction { session, memory, aborts_on_drop: false })
        });
        run.map_err(|error| self.memory.named(error))
    }

    #[inline]
    fn parts(&mut self) -> (&mut Session<D>, &mut Memory) {
        (&mut self.session, &mut self.memory)
    }
}

impl<D: Disk> fmt::Debug for TypedSession<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("TypedSession");
        debug.field("is_open", &self.is_open()).finish_non_exhaustive()
    }
}

impl<D: Disk> Transaction<'_, D> {
    calls!();

    /// Commits, as [`TypedSession::commit`] does.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn commit(mut self) -> Result<Ticket> {
        self.aborts_on_drop = false;
        let committed = self.session.commit();
        committed.map_err(|error| self.memory.named(error))
    }

    /// Ends the transaction without a trace, as dropping it does.
    pub fn abort(self) {
        drop(self);
    }

    #[inline]
    fn parts(&mut self) -> (&mut Session<D>, &mut Memory) {
        (self.session, self.memory)
    }
}

impl<D: Disk> Drop for Transaction<'_, D> {
    fn drop(&mut self) {
        if self.aborts_on_drop {
            self.session.abort();
        }
    }
}
