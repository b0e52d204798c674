//! The database as its user holds it.

use crate::access::schema::{Schema, Value};
use crate::database::checkpoint_thread::CheckpointThread;
use crate::database::definitions::encoded;
use crate::database::engine::Engine;
use crate::database::inspect::Inspection;
use crate::database::open;
use crate::database::preallocator::Preallocator;
use crate::database::stats::Stats;
#[allow(unused_imports, reason = "the documentation links to it")]
use crate::error::Error;
use crate::error::Result;
use crate::ids::Csn;
use crate::log::{self, Completion, Threads, Ticket, Worker};
use crate::options::Options;
use crate::table::{Prefetcher, Table, Transaction, TypedSession};
use crate::txn::{Begin, CommitPaths, check_not_in_row_view};
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use syncline_vfs::{Disk, NullDisk, RealDisk};

/// An open database. Share it between threads by reference or in an `Arc`; each thread or client works
/// through a session of its own. Dropping it ends its threads, and its directory changes no more; what was
/// acknowledged is stable already. Sessions that are still there can then read, but not commit.
pub struct Database<D: Disk = RealDisk> {
    // Held for its drop, before the rest goes.
    checkpoint_thread: Option<CheckpointThread>,
    _stocker: Preallocator,
    engine: Arc<Engine<D>>,
}

impl Database<RealDisk> {
    /// Makes a database in a directory that is missing or empty; its parent must exist.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] where something is already; [`Error::Option`]; [`Error::Disk`].
    pub fn create(directory: impl AsRef<Path>, options: Options) -> Result<Database> {
        Database::create_on(&RealDisk, directory.as_ref(), options)
    }

    /// Opens a database: its pages of the last checkpoint, and every commit behind it.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] and [`Error::NoDataFile`] where there is none, [`Error::Damaged`] where
    /// acknowledged commits would be lost, [`Error::Newer`], [`Error::Feature`] and
    /// [`Error::NotADataFile`] for files that this program does not know, [`Error::Capped`] if it does
    /// not fit into `resident_bytes_max`, [`Error::Disk`] also if it is open elsewhere.
    pub fn open(directory: impl AsRef<Path>, options: Options) -> Result<Database> {
        Database::open_on(&RealDisk, directory.as_ref(), options)
    }

    /// Opens the database of a directory, or makes it where the directory is missing or empty.
    ///
    /// # Errors
    ///
    /// As [`Database::create`] and [`Database::open`].
    pub fn open_or_create(directory: impl AsRef<Path>, options: Options) -> Result<Database> {
        let directory = directory.as_ref();
        match RealDisk.list(directory) {
            Ok(names) if names.is_empty() => Database::create(directory, options),
            Err(error) if error.kind() == Some(ErrorKind::NotFound) => {
                Database::create(directory, options)
            }
            _ => Database::open(directory, options),
        }
    }
}

impl Database<NullDisk> {
    /// A database that keeps nothing: all in memory, gone when it is dropped. Commits are complete when
    /// they are published.
    ///
    /// # Errors
    ///
    /// [`Error::Option`].
    pub fn transient(options: Options) -> Result<Database<NullDisk>> {
        Database::started(open::transient(options)?)
    }
}

impl<D: Disk> Database<D> {
    /// [`Database::create`] on any disk.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn create_on(disk: &D, directory: &Path, options: Options) -> Result<Database<D>> {
        Database::started(open::create(disk, directory, options, Threads::Own)?)
    }

    /// [`Database::open`] on any disk.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn open_on(disk: &D, directory: &Path, options: Options) -> Result<Database<D>> {
        Database::started(open::open(disk, directory, options, Threads::Own)?)
    }

    /// What its parts share.
    #[cfg(test)]
    pub(crate) fn engine(&self) -> &Engine<D> {
        &self.engine
    }

    fn started(engine: Arc<Engine<D>>) -> Result<Database<D>> {
        let keeps = engine.options.checkpoint_by_itself;
        let checkpoint_thread = keeps.then(|| CheckpointThread::start(&engine)).transpose()?;
        Ok(Database { checkpoint_thread, _stocker: Preallocator::start(&engine)?, engine })
    }

    /// Makes an empty table with its indexes.
    ///
    /// # Errors
    ///
    /// [`Error::Taken`] if there is a table of that name; [`Error::Capped`]; [`Error::Full`]. While an
    /// exclusive transaction is open [`Error::ExclusiveHere`] or [`Error::ExclusiveTooLong`], see
    /// [`begin_exclusive`](TypedSession::begin_exclusive).
    pub fn create_table(&self, schema: Schema) -> Result<Table> {
        self.check()?;
        let made = self.engine.create_table(schema)?;
        self.engine.table(made.schema.name())
    }

    /// Makes a table out of rows, in any order, each given by the values of all columns. They are sorted
    /// in parts of [`Options::definition_bytes_max`], and built into pages without a log; a checkpoint
    /// makes them stable. Rows in the order of the key are built fastest, into the fullest pages. Other
    /// transactions and definitions go on meanwhile; the table is there, with all rows, when this returns.
    /// A snapshot that was begun before cannot use the table: that ends it with
    /// [`Conflict::MadeLater`](crate::Conflict::MadeLater). If a disk is full, nothing has changed.
    ///
    /// # Errors
    ///
    /// As [`Database::create_table`]; [`Error::DuplicateBuilt`], and what is wrong with a row.
    pub fn load_table<'r>(
        &self,
        schema: Schema,
        rows: impl IntoIterator<Item: AsRef<[Value<'r>]>>,
    ) -> Result<Table> {
        self.check()?;
        let of_rows = schema.clone();
        let rows = encoded(&of_rows, rows, self.engine.options.key_bytes_max);
        let made = self.engine.load_table(schema, rows)?;
        self.engine.table(made.schema.name())
    }

    /// The table of that name.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`]; [`Error::InShownRow`].
    pub fn table(&self, name: &str) -> Result<Table> {
        check_not_in_row_view()?;
        self.engine.table(name)
    }

    /// The definitions of all tables, by their names.
    pub fn tables(&self) -> Vec<Schema> {
        let catalog = Arc::clone(&self.engine.listed_tables.lock());
        catalog.tables().map(|entry| entry.schema.clone()).collect()
    }

    /// Drops a table with its rows and indexes. Transactions that have touched it conflict.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`]; while an exclusive transaction is open, as [`Database::create_table`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.check()?;
        self.engine.drop_table(name)
    }

    /// Changes a table to a schema made from its own by `with_column`, `with_nullable`, `with_index` or
    /// `without_index`, one of them at a time. An index is built from the rows that are there, beside
    /// transactions that read and write the table; what they change is caught up with, and if they are
    /// faster than that, they wait. Other definitions wait until it is built. Handles of the table are to
    /// be opened again. A snapshot that was begun before an index was built goes on with the table, but
    /// cannot use the index: that ends it with [`Conflict::MadeLater`](crate::Conflict::MadeLater). If a
    /// disk is full, nothing has changed.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuch`]; [`Error::Schema`] if the schema is not one step from the table's;
    /// [`Error::DuplicateBuilt`] if rows share a key of a new unique index, or did at some moment while it
    /// was built; [`Error::Full`] and [`Error::Capped`] if an index cannot be built; while an exclusive
    /// transaction is open, as [`Database::create_table`].
    pub fn change_table(&self, schema: &Schema) -> Result<Table> {
        self.check()?;
        let changed = self.engine.change_table(schema)?;
        self.engine.table(changed.schema.name())
    }

    /// A session: runs one transaction after another, keeping its memory. Each thread or client has one.
    ///
    /// # Errors
    ///
    /// [`Error::Sessions`] beyond a fixed number.
    pub fn session(&self) -> Result<TypedSession<D>> {
        TypedSession::new(&self.engine.core)
    }

    /// Runs `body` in a serializable transaction, commits, and waits until that is stable. After a
    /// conflict it runs again, at last alone, until it commits; so `body` changes nothing but through
    /// its transaction. If it fails otherwise, the transaction leaves no trace.
    ///
    /// # Errors
    ///
    /// What `body` answers; what the data refuse at the commit; [`Error::Indeterminate`] if the log
    /// fails meanwhile.
    pub fn run<R>(&self, body: impl FnMut(&mut Transaction<'_, D>) -> Result<R>) -> Result<R> {
        let mut session = self.session()?;
        let (answer, ticket) = session.run(Begin::Serializable, body)?;
        session.wait(ticket)?;
        Ok(answer)
    }

    /// Writes every page that changed since the last checkpoint, at full speed, and lets the log before
    /// it go. Transactions run on. Returns the commit up to which the data file is now exact.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] if the data file cannot grow: nothing is lost, try again with more space. While an
    /// exclusive transaction is open, as [`Database::create_table`]. Any other failure closes the database.
    pub fn checkpoint(&self) -> Result<Csn> {
        self.check()?;
        match &self.engine.checkpoints {
            Some(checkpoints) => checkpoints.run(&self.engine.core, &self.engine.tree_directory),
            None => Ok(self.engine.core.log.horizon()),
        }
    }

    /// Everything up to this commit is stable (at durability none: written).
    pub fn horizon(&self) -> Csn {
        self.engine.core.log.horizon()
    }

    /// Writes everything that was committed before the call, and waits until it is stable.
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`] and [`Error::Indeterminate`] after a failure.
    pub fn flush(&self) -> Result<()> {
        check_not_in_row_view()?;
        self.engine.core.log.flush()
    }

    /// A commit's ticket as a future. The log's own thread writes the group; nothing else needs to be
    /// called, and no thread is blocked. Any executor will do.
    ///
    /// ```
    /// use syncline_engine::{Begin, Database, Kind, Options, Schema, Value};
    /// # use std::future::Future;
    /// # use std::task::{Context, Poll, Wake, Waker};
    /// # struct Unpark(std::thread::Thread);
    /// # impl Wake for Unpark {
    /// #     fn wake(self: std::sync::Arc<Self>) { self.0.unpark() }
    /// # }
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let mut future = std::pin::pin!(future);
    /// #     let waker = Waker::from(std::sync::Arc::new(Unpark(std::thread::current())));
    /// #     loop {
    /// #         match future.as_mut().poll(&mut Context::from_waker(&waker)) {
    /// #             Poll::Ready(output) => return output,
    /// #             Poll::Pending => std::thread::park(),
    /// #         }
    /// #     }
    /// # }
    /// # fn main() -> syncline_engine::Result<()> {
    /// # let folder = tempfile::tempdir().expect("a folder for the example");
    /// # let directory = folder.path().join("events");
    /// let database = Database::create(&directory, Options::default())?;
    /// let schema = Schema::table("event").column("id", Kind::Int).key(["id"]);
    /// let events = database.create_table(schema.build()?)?;
    /// let store = async |id: i64| -> syncline_engine::Result<()> {
    ///     let mut session = database.session()?;
    ///     let ((), ticket) = session.run(Begin::Serializable, |transaction| {
    ///         transaction.insert(&events, &[Value::Int(id)])
    ///     })?;
    ///     database.completion(ticket).await // stable from here on
    /// };
    /// block_on(store(1))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The future answers [`Error::Indeterminate`] if the log failed before the commit was stable, and
    /// [`Error::OtherTicket`] for a ticket of another database.
    pub fn completion(&self, ticket: Ticket) -> Completion<'_, D> {
        self.engine.core.log.completion(ticket)
    }

    /// A worker's part, which corks the log while an executor makes a pass over its clients.
    pub fn worker(&self) -> Worker<D> {
        self.engine.core.log.worker()
    }

    /// A scout, which goes ahead of many reads at once.
    pub fn scout(&self) -> Prefetcher<D> {
        Prefetcher::new(&self.engine.core)
    }

    /// What is in force, read back from the log's files.
    ///
    /// # Errors
    ///
    /// [`Error::Disk`].
    pub fn settings(&self) -> Result<log::Settings> {
        self.engine.core.log.settings()
    }

    /// The options in force: as given, but what the files say of themselves.
    pub fn options(&self) -> &Options {
        &self.engine.options
    }

    /// What was done since it was opened, and what it holds.
    pub fn stats(&self) -> Stats {
        self.engine.stats()
    }

    /// Commits' ways from begin to acknowledgement, of one in [`SAMPLED_ONE_IN`](crate::SAMPLED_ONE_IN)
    /// transactions of each session since this was last called.
    pub fn take_commit_paths(&self) -> CommitPaths {
        self.engine.core.take_paths()
    }

    /// Walks every tree, compares indexes with tables, and reads the whole data file again. Transactions go
    /// on meanwhile: writers wait for a few leaves at a time, and for a walk over everything only if
    /// something seems to be wrong. Returns what is wrong, in sentences; none if nothing is.
    ///
    /// # Errors
    ///
    /// [`Error::Disk`] if the file cannot be read at all; while an exclusive transaction is open, as
    /// [`Database::create_table`].
    pub fn verify(&self) -> Result<Vec<String>> {
        self.check()?;
        self.engine.verify()
    }

    /// What the database is: files, settings, tables. Prints as a page of text.
    ///
    /// # Errors
    ///
    /// [`Error::Disk`].
    pub fn inspect(&self) -> Result<Inspection> {
        check_not_in_row_view()?;
        self.engine.inspect()
    }

    /// How many pages the tree of a table's rows has at each level, leaves first. Looks at all pages.
    ///
    /// # Errors
    ///
    /// [`Error::OtherDatabase`]; [`Error::TableChanged`].
    pub fn pages_of(&self, table: &Table) -> Result<Vec<u64>> {
        check_not_in_row_view()?;
        table.check_origin(&self.engine.core.origin)?;
        table.check()?;
        Ok(table.tree().pages_by_level(&self.engine.core.buffer))
    }

    /// Writes what is committed, makes a checkpoint so that the next opening is quick, and ends. A
    /// drop does without both: the next opening then reads the log.
    ///
    /// The database is closed whatever the answer. If the checkpoint fails, for instance on a full disk,
    /// nothing is lost: every acknowledged commit is stable in the log, and the next opening reads it. Who
    /// wants to try again calls [`Database::checkpoint`] before.
    ///
    /// # Errors
    ///
    /// As [`Database::flush`] and [`Database::checkpoint`].
    pub fn close(self) -> Result<()> {
        let flushed = self.flush();
        let checkpointed = self.checkpoint();
        flushed.and(checkpointed.map(drop))
    }

    /// Fails if a call that closes the commit gate would wait for this very thread.
    fn check(&self) -> Result<()> {
        check_not_in_row_view()?;
        self.engine.core.check_gate()
    }
}

impl<D: Disk> Drop for Database<D> {
    fn drop(&mut self) {
        // Background work that waits for an exclusive transaction would wait as long as its session likes.
        self.engine.core.shut_gate();
        // A checkpoint that runs may need the log.
        self.checkpoint_thread = None;
        self.engine.core.log.shut();
    }
}

impl<D: Disk> fmt::Debug for Database<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Database");
        debug.field("directory", &self.engine.directory).finish_non_exhaustive()
    }
}
