//! `Database`, the public handle.

use crate::database::backup::{self, Backup, BackupOptions};
use crate::database::create;
use crate::database::engine::Engine;
use crate::database::inspect::Inspection;
use crate::database::maintenance_thread::MaintenanceThread;
use crate::database::open;
use crate::database::page_loader::PageLoader;
use crate::database::restore::{self, Portions, RestoreSource, Restored};
use crate::database::stats::Stats;
#[allow(unused_imports, reason = "the documentation links to it")]
use crate::error::Error;
use crate::error::Result;
use crate::events;
use crate::ids::Csn;
use crate::log::{self, Threads, Until};
use crate::options::{BufferMode, Options};
use crate::table::Table;
use crate::txn::{CommitPaths, check_not_in_row_view};
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use syncline_vfs::{Disk, NullDisk, RealDisk};

/// An open database. Share it between threads by reference or in an `Arc`; each thread or client needs its
/// own session. Dropping it ends its threads, and its directory does not change any more; acknowledged
/// commits are already stable. Sessions that outlive it can read, but not commit.
pub struct Database<D: Disk = RealDisk> {
    // Dropped explicitly, before the other fields.
    maintenance_thread: Option<MaintenanceThread>,
    _page_loader: Option<PageLoader>,
    engine: Arc<Engine<D>>,
}

impl Database<RealDisk> {
    /// Makes a database in a directory that is missing or empty. The parent directory must exist.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] if the directory is not empty; [`Error::Option`]; [`Error::Disk`].
    pub fn create(directory: impl AsRef<Path>, options: Options) -> Result<Database> {
        Database::create_on(&RealDisk, directory.as_ref(), options)
    }

    /// Opens a database: loads the pages of the last checkpoint and redoes every later commit of the log.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] and [`Error::NoDataFile`] if there is no database, [`Error::Damaged`] if
    /// acknowledged commits would be lost, [`Error::Newer`], [`Error::Feature`] and [`Error::NotADataFile`]
    /// for files that this program does not know, [`Error::Capped`] if it does not fit into
    /// `resident_bytes_max`, and [`Error::Disk`], also if it is open elsewhere.
    pub fn open(directory: impl AsRef<Path>, options: Options) -> Result<Database> {
        Database::open_on(&RealDisk, directory.as_ref(), options)
    }

    /// Opens a database for reading. Nothing in its directories changes: later commits of the log are redone
    /// in memory, in addition to the pages that `options` allow. Any number of processes may have it open so,
    /// while none has it open for writing. Every transaction is read-only, and calls that would change
    /// something fail with [`Error::ReadOnlyDatabase`].
    ///
    /// After a crash it shows what [`Database::open`] would find. The last of those commits may have been
    /// acknowledged to nobody, and another crash may remove them until the database is opened for writing.
    ///
    /// # Errors
    ///
    /// As [`Database::open`].
    pub fn open_read_only(directory: impl AsRef<Path>, options: Options) -> Result<Database> {
        Database::open_read_only_on(&RealDisk, directory.as_ref(), options)
    }

    /// Restores a database into `target`, a directory that is missing or empty: a backup, and the commits of
    /// the archive that follow it, up to a limit. The restored database has an id of its own; open it with
    /// [`Database::open`], and with an archive of its own. `options` say how it is made, and how much memory
    /// the restore takes: pages beyond [`Options::resident_bytes_max`] are stored and read again.
    ///
    /// ```
    /// use syncline_engine::log::{self, Until};
    /// use syncline_engine::{
    ///     BackupOptions, Database, Kind, Options, RestoreSource, Schema, Value,
    /// };
    ///
    /// # fn main() -> syncline_engine::Result<()> {
    /// # let folder = tempfile::tempdir().expect("a folder for the example");
    /// # let place = |name| folder.path().join(name);
    /// # let (bank, copy, restored) = (place("bank"), place("copy"), place("restored"));
    /// let log = log::Options { archive: Some(place("archive")), ..log::Options::default() };
    /// let options = Options { log, ..Options::default() };
    /// let database = Database::create(&bank, options)?;
    /// let schema = Schema::table("account").column("id", Kind::Int).key(["id"]);
    /// let accounts = database.create_table(schema.build()?)?;
    /// let backup = database.backup(&copy, BackupOptions::default())?;
    /// database.run(|transaction| transaction.insert(&accounts, &[Value::Int(1)]))?;
    /// database.close()?;
    ///
    /// // What is not archived yet is in the log.
    /// let log = Some(bank.join("log"));
    /// let source = RestoreSource { backup: copy, archive: place("archive"), log };
    /// let made = Database::restore(&source, &restored, Until::End, Options::default())?;
    /// assert_eq!(made.csn, backup.csn.next());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Restore`] if the limit cannot be met, or if the backup is one that was opened for writing;
    /// [`Error::Archive`] if the archive begins later or has a gap; [`Error::WrongDatabase`] if backup,
    /// archive and log are not of one database; [`Error::Damaged`]; [`Error::Exists`] if the target is not
    /// empty; [`Error::Full`]. After an error the target holds no database, and may be used for the next
    /// restore.
    pub fn restore(
        source: &RestoreSource,
        target: impl AsRef<Path>,
        until: Until,
        options: Options,
    ) -> Result<Restored> {
        Database::restore_on(&RealDisk, source, target.as_ref(), until, options)
    }

    /// Opens the database of a directory, or makes it if the directory is missing or empty.
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
    /// A database in memory only, gone when it is dropped. Commits are complete when they are published.
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
        Database::started(create::create(disk, directory, options, Threads::Own)?)
    }

    /// [`Database::open`] on any disk.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn open_on(disk: &D, directory: &Path, options: Options) -> Result<Database<D>> {
        Database::started(open::open(disk, directory, options, Threads::Own)?)
    }

    /// [`Database::open_read_only`] on any disk.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn open_read_only_on(disk: &D, directory: &Path, options: Options) -> Result<Database<D>> {
        Database::started(open::open_read_only(disk, directory, options)?)
    }

    /// [`Database::restore`] on any disk.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn restore_on(
        disk: &D,
        source: &RestoreSource,
        target: &Path,
        until: Until,
        options: Options,
    ) -> Result<Restored> {
        restore::restore(disk, source, target, until, (options, Portions::default()))
    }

    /// True if the database is open for reading only.
    pub fn is_read_only(&self) -> bool {
        self.engine.core.options.read_only
    }

    /// The shared state.
    pub(crate) fn engine(&self) -> &Arc<Engine<D>> {
        &self.engine
    }

    fn started(engine: Arc<Engine<D>>) -> Result<Database<D>> {
        events::opened(&engine.directory, engine.redone.commits, engine.redone.rows);
        let is_writable = !engine.core.options.read_only;
        let maintenance_thread =
            is_writable.then(|| MaintenanceThread::start(&engine)).transpose()?;
        let is_resident = engine.options.buffer_mode == BufferMode::Resident;
        let loads_all = is_resident && engine.core.buffer.has_pages_on_disk();
        let page_loader = loads_all.then(|| PageLoader::start(&engine)).transpose()?;
        Ok(Database { maintenance_thread, _page_loader: page_loader, engine })
    }

    /// Writes every page changed since the last checkpoint, at full speed, and releases the log before it.
    /// Transactions run on. Returns the checkpoint commit, up to which the data file is now exact.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] if the data file cannot grow: nothing is lost, try again with more space. While an
    /// exclusive transaction is open, as [`Database::create_table`]. Any other failure closes the database.
    pub fn checkpoint(&self) -> Result<Csn> {
        self.check_writable()?;
        match &self.engine.checkpoints {
            Some(checkpoints) => checkpoints.run(&self.engine.core, &self.engine.tree_directory),
            None => Ok(self.engine.core.log.durable_lsn()),
        }
    }

    /// Copies the database into a directory that is missing or empty, while others read and write it. The
    /// copy is a database of its own, with its log in the same directory. It holds everything that was
    /// committed before the call, and all of it is stable when this returns; what is committed later may be
    /// missing. The call begins with a checkpoint. It may take long, and blocks the calling thread.
    ///
    /// Writers are not stopped. Until the backup ends, pages that checkpoints replace keep their place in the
    /// data file, which therefore grows with the changes.
    ///
    /// ```
    /// use syncline_engine::{BackupOptions, Database, Kind, Options, Schema, Value};
    ///
    /// # fn main() -> syncline_engine::Result<()> {
    /// # let folder = tempfile::tempdir().expect("a folder for the example");
    /// # let (directory, copy) = (folder.path().join("bank"), folder.path().join("copy"));
    /// let database = Database::create(&directory, Options::default())?;
    /// let schema = Schema::table("account").column("id", Kind::Int).key(["id"]);
    /// let accounts = database.create_table(schema.build()?)?;
    /// database.run(|transaction| transaction.insert(&accounts, &[Value::Int(1)]))?;
    /// let backup = database.backup(&copy, BackupOptions::default())?;
    /// assert!(backup.csn <= database.durable_lsn());
    /// assert_eq!(Database::open(&copy, Options::default())?.tables().len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] if the directory is not empty; [`Error::Backup`] if another backup is being made, or
    /// the database is in memory only; [`Error::Full`] if a disk has no space for the copy or for the
    /// checkpoint; [`Error::Damaged`] if a page cannot be read. After an error the directory holds no
    /// database, and may be used for the next backup. Otherwise as [`Database::checkpoint`].
    pub fn backup(&self, directory: impl AsRef<Path>, options: BackupOptions) -> Result<Backup> {
        self.check_writable()?;
        backup::back_up(&self.engine, directory.as_ref(), options)
    }

    /// Makes the data file as small as it can be, while others read and write: its last pages are moved to
    /// free places before them, a few MiB per checkpoint, and the file is cut. About an eighth of it stays
    /// free, and the reserve with which a checkpoint works on a full disk: up to half of a file of less than
    /// 8 MiB. Later checkpoints make it grow again as they need. A checkpoint also begins to shrink a file by
    /// itself that is mostly free. Returns the file's bytes before and after.
    ///
    /// Where pages of a running [`backup`](Database::backup) prevent it, or writers need the space, the file
    /// stays as it is. A database in memory only has no file: nothing happens.
    ///
    /// # Errors
    ///
    /// As [`Database::checkpoint`].
    pub fn compact(&self) -> Result<(u64, u64)> {
        self.check_writable()?;
        match &self.engine.checkpoints {
            None => Ok((0, 0)),
            Some(checkpoints) => {
                checkpoints.compact(&self.engine.core, &self.engine.tree_directory)
            }
        }
    }

    /// The durable LSN: everything up to this commit is stable (at durability `none`: written).
    pub fn durable_lsn(&self) -> Csn {
        self.engine.core.log.durable_lsn()
    }

    /// Why the last attempt to archive a segment of the log failed, see
    /// [`log::Options::archive`]; none if it did not, or if there is no archive. It is repeated every second.
    pub fn archive_failure(&self) -> Option<Arc<str>> {
        self.engine.core.log.archive_failure()
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

    /// The settings in force, read back from the log's files.
    ///
    /// # Errors
    ///
    /// [`Error::Disk`].
    pub fn settings(&self) -> Result<log::Settings> {
        self.engine.core.log.settings()
    }

    /// The options in force: as passed to the opening, except for values that the files fix.
    pub fn options(&self) -> &Options {
        &self.engine.options
    }

    /// Counters since opening, and memory in use.
    pub fn stats(&self) -> Stats {
        self.engine.stats()
    }

    /// Timed paths of commits from begin to acknowledgement, since the last call: one in
    /// [`SAMPLED_ONE_IN`](crate::SAMPLED_ONE_IN) transactions of each session.
    pub fn take_commit_paths(&self) -> CommitPaths {
        self.engine.core.take_paths()
    }

    /// Walks every tree, compares indexes with tables, and reads and verifies the whole data file.
    /// Transactions go on meanwhile: writers wait for a few leaves at a time, and for a walk over everything
    /// only if something seems to be wrong. Returns the problems, one sentence each.
    ///
    /// # Errors
    ///
    /// [`Error::Disk`] if the file cannot be read at all; while an exclusive transaction is open, as
    /// [`Database::create_table`].
    pub fn verify(&self) -> Result<Vec<String>> {
        self.check()?;
        self.engine.verify()
    }

    /// Describes the database: files, settings, tables. Its `Display` is a page of text.
    ///
    /// # Errors
    ///
    /// [`Error::Disk`].
    pub fn inspect(&self) -> Result<Inspection> {
        check_not_in_row_view()?;
        self.engine.inspect()
    }

    /// The number of pages at each level of the tree of a table's rows, leaves first. Reads all its pages.
    ///
    /// # Errors
    ///
    /// [`Error::OtherDatabase`]; [`Error::TableChanged`].
    pub fn pages_of(&self, table: &Table) -> Result<Vec<u64>> {
        check_not_in_row_view()?;
        table.check_origin(&self.engine.core.origin)?;
        table.check()?;
        table.tree().pages_by_level(&self.engine.core.buffer)
    }

    /// Flushes the log, makes a checkpoint so that the next opening is quick, and closes. Dropping the
    /// database does neither: the next opening then redoes the log.
    ///
    /// The database is closed even if this fails. If the checkpoint fails, for instance on a full disk,
    /// nothing is lost: every acknowledged commit is stable in the log, and the next opening redoes it. To be
    /// able to try again, call [`Database::checkpoint`] first.
    ///
    /// # Errors
    ///
    /// As [`Database::flush`] and [`Database::checkpoint`].
    pub fn close(self) -> Result<()> {
        if self.is_read_only() {
            return Ok(());
        }
        let flushed = self.flush();
        let checkpointed = self.checkpoint();
        flushed.and(checkpointed.map(drop))
    }

    /// Fails if the call would change a database that is open for reading only, or as [`Database::check`].
    pub(super) fn check_writable(&self) -> Result<()> {
        self.engine.core.check_writable()?;
        self.check()
    }

    /// Fails if a call that closes the commit gate would wait for this very thread.
    fn check(&self) -> Result<()> {
        check_not_in_row_view()?;
        self.engine.core.check_gate()
    }
}

impl<D: Disk> Drop for Database<D> {
    fn drop(&mut self) {
        // Background work that waits for an exclusive transaction would wait for as long as its session runs.
        self.engine.core.shut_gate();
        // A running checkpoint may need the log.
        self.maintenance_thread = None;
        self.engine.core.log.shut();
    }
}

impl<D: Disk> fmt::Debug for Database<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Database");
        debug.field("directory", &self.engine.directory).finish_non_exhaustive()
    }
}
