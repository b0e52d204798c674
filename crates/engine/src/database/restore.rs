//! A restore: a backup, brought forward to a later commit by the archive, in a directory of its own.
//!
//! The restored database has an id of its own: its history and the original's are different from here on, so
//! it needs another archive, and the original's archive is not one of its own.
//!
//! States:
//!
//! | state | does | left by |
//! |---|---|---|
//! | begun | opens the backup for reading; marks the target as one that is being made | always |
//! | pages | copies the backup's pages (`page_copy`) | all pages are copied |
//! | redo | redoes commits of the archive, and of the log if it is given; when their pages are over the cap, a checkpoint stores them, and redo continues with what it has stored | the limit, or the end of the archive and the log |
//! | complete | makes the log, stores what was redone last, removes the mark | always |
//! | abandoned | after a failure: removes what was made, except the mark | |
//!
//! Invariants:
//! 1. The backup, the archive and the original's log are only read.
//! 2. Until the mark is removed, which is the last step, the target cannot be opened, and the next restore
//!    there begins anew.
//! 3. The backup is one that was never opened for writing: then it is a state of the original, to which the
//!    archived commits apply.
//! 4. Trees that are being built in the middle of redo stay; they are freed at the end, as in any recovery.
//! 5. Memory does not grow with the store or with the archive: pages are evicted and stored at the cap.

use crate::checkpoint::DataFile;
use crate::database::backup::own_log;
use crate::database::create::{DATA, LOG, Unfinished};
use crate::database::engine::Engine;
use crate::database::open::{Parts, file_options, open_read_only, txn_options};
use crate::database::page_copy::{PAGES_AT_ONCE, PageCopy};
use crate::error::{Error, Result};
use crate::ids::{Csn, DatabaseId, TreeId};
use crate::log::{Archived, Guard, Log, Threads, Until, read_archived};
use crate::options::Options;
use crate::recovery::Redo;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syncline_vfs::Disk;

/// Bytes of records that are redone together.
const RECORD_BYTES: usize = 256 << 10;

/// What a database is restored from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreSource {
    /// The directory of a backup that was made by [`Database::backup`](crate::Database::backup) and never
    /// opened for writing.
    pub backup: PathBuf,
    /// The archive of the original ([`log::Options::archive`](crate::log::Options::archive)).
    pub archive: PathBuf,
    /// The directory of the original's log, if the commits that are not archived yet are to be restored, too.
    /// No process may have it open for writing.
    pub log: Option<PathBuf>,
}

/// A database that was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// It holds everything up to this commit, and nothing later.
    pub csn: Csn,
    /// When that commit was written to the log, in nanoseconds since 1970; none if it is the backup's.
    pub wall_ns: Option<u64>,
    /// Commits that were redone.
    pub commits: u64,
}

/// Bytes that a restore handles at once; small ones are for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Portions {
    pub(crate) pages: usize,
    pub(crate) record_bytes: usize,
}

impl Default for Portions {
    fn default() -> Portions {
        Portions { pages: PAGES_AT_ONCE, record_bytes: RECORD_BYTES }
    }
}

/// Restores a database into a directory that is missing, empty, or holds an interrupted restore.
pub(crate) fn restore<D: Disk>(
    disk: &D,
    source: &RestoreSource,
    target: &Path,
    until: Until,
    (options, portions): (Options, Portions),
) -> Result<Restored> {
    let options = own_log(&options);
    let backup = open_read_only(disk, &source.backup, options.clone())?;
    let from = backup.core.log.published();
    check_backup(&backup, source, until)?;
    let mut restoration = Restoration::begin(disk, &backup, target, (options, portions))?;
    let (archive, log) = (&source.archive, source.log.as_deref());
    let archived = Archived { archive, log, database: backup.core.log.database() };
    let sink = &mut |csn: Csn, record: &[u8]| restoration.redo(csn, record);
    let (csn, wall_ns) = read_archived(disk, archived, (from, until), sink)?;
    if let Until::Commit(asked) = until
        && csn < asked
    {
        let what = format!("{asked} was asked for, but {} at {csn}", ends(source));
        return Err(Error::Restore { what });
    }
    let commits = restoration.finish(csn)?;
    Ok(Restored { csn, wall_ns, commits })
}

fn ends(source: &RestoreSource) -> &'static str {
    match source.log {
        Some(_) => "archive and log end",
        None => "the archive ends, and no log was given,",
    }
}

/// Refuses what is not the unchanged state of another database, and a limit before it.
fn check_backup<D: Disk>(
    backup: &Arc<Engine<D>>,
    source: &RestoreSource,
    until: Until,
) -> Result<()> {
    let held = backup.core.log.published();
    if !backup.core.log.is_untouched() {
        let what = format!(
            "{} was opened for writing since it was made, so that the archive may not fit it; use a backup \
             that was not",
            source.backup.display()
        );
        return Err(Error::Restore { what });
    }
    match until {
        Until::Commit(asked) if asked < held => Err(Error::Restore {
            what: format!(
                "it holds everything up to {held}, so {asked} is too early; use an older backup"
            ),
        }),
        _ => Ok(()),
    }
}

/// A target whose pages are being brought forward.
struct Restoration<'d, D: Disk> {
    disk: &'d D,
    /// Before the directory, so that the file is closed when that is cleared. None only while it is stored.
    state: Option<(Parts, DataFile<D>)>,
    target: Unfinished<D>,
    database: DatabaseId,
    options: Options,
    record_bytes: usize,
    /// Commits that are read and not redone, and where the record of each ends.
    waiting: Vec<(Csn, usize)>,
    records: Vec<u8>,
    /// The last commit that is redone.
    reached: Csn,
    commits: u64,
}

impl<'d, D: Disk> Restoration<'d, D> {
    /// Copies the pages of the backup into the target, under a new id.
    fn begin(
        disk: &'d D,
        backup: &Arc<Engine<D>>,
        directory: &Path,
        (options, portions): (Options, Portions),
    ) -> Result<Restoration<'d, D>> {
        let database = DatabaseId::random();
        let mut target = None;
        let copy = PageCopy::begin(backup, portions.pages, |root| {
            let target = target.insert(Unfinished::begin(disk, directory, &options)?);
            target.create_data(database, root.page_bytes, &options)
        });
        let mut copy = copy?;
        while copy.step()? {}
        let (page_bytes, reached) = (copy.root().page_bytes, copy.root().csn);
        drop(copy);
        let options = Options { page_bytes, ..options };
        let state = Some(open(disk, directory, &options)?);
        Ok(Restoration {
            disk,
            state,
            target: target.expect("the directory of a copy was begun"),
            database,
            options,
            record_bytes: portions.record_bytes,
            waiting: Vec::new(),
            records: Vec::new(),
            reached,
            commits: 0,
        })
    }

    /// Redoes a commit, now or with later ones.
    fn redo(&mut self, csn: Csn, record: &[u8]) -> Result<()> {
        self.records.extend_from_slice(record);
        self.waiting.push((csn, self.records.len()));
        if self.records.len() < self.record_bytes {
            return Ok(());
        }
        self.redo_waiting()?;
        let (parts, _file) = self.state.as_ref().expect("it is there between two calls");
        if parts.buffer.resident_bytes() > self.options.resident_bytes_max {
            self.store()?;
        }
        Ok(())
    }

    fn redo_waiting(&mut self) -> Result<()> {
        let (parts, _file) = self.state.as_ref().expect("it is there between two calls");
        let mut redo = Redo::new(&parts.buffer, &parts.tree_directory);
        let mut start = 0;
        for (csn, end) in self.waiting.drain(..) {
            redo.commit(csn, &self.records[start..end]);
            (start, self.reached) = (end, csn);
        }
        self.records.clear();
        self.commits += redo.finish().map_err(unfit)?.commits;
        Ok(())
    }

    /// Stores what is redone, and opens it again.
    fn store(&mut self) -> Result<()> {
        let (parts, file) = self.state.take().expect("it is there between two calls");
        let (log, directory) = (self.create_log()?, self.target.directory());
        let engine = parts.assemble_unfinished(log, file, &self.options, directory)?;
        checkpoint(&engine)?;
        drop(engine);
        self.target.clear_log()?;
        self.state = Some(open(self.disk, directory, &self.options)?);
        Ok(())
    }

    /// Completes the database, which then ends at this commit. Returns how many were redone.
    fn finish(mut self, last: Csn) -> Result<u64> {
        self.redo_waiting()?;
        // Numbers without a record may follow the last one that has one.
        self.reached = last;
        let (parts, file) = self.state.take().expect("it is there between two calls");
        check_trees(&parts)?;
        let options = (self.options.clone(), txn_options(&self.options));
        let log = self.create_log()?;
        let engine = parts.assemble(log, Some(file), options, self.target.directory())?;
        checkpoint(&engine)?;
        engine.core.log.shut();
        drop(engine);
        self.target.end()?;
        Ok(self.commits)
    }

    /// A log that begins behind what is redone.
    fn create_log(&self) -> Result<Log<D>> {
        let (path, options) = (self.target.directory().join(LOG), self.options.log.clone());
        let made = (Guard::Database, self.reached, Threads::None);
        Log::create_guarded(self.disk, &path, self.database, options, made)
    }
}

fn open<D: Disk>(disk: &D, directory: &Path, options: &Options) -> Result<(Parts, DataFile<D>)> {
    let file = DataFile::open(disk, &directory.join(DATA), &file_options(options))?;
    Ok((Parts::of(&file, directory, options)?, file))
}

fn checkpoint<D: Disk>(engine: &Engine<D>) -> Result<()> {
    let checkpoints = engine.checkpoints.as_ref().expect("it has a data file");
    checkpoints.run(&engine.core, &engine.tree_directory).map(drop)
}

/// Refuses a catalogue that names a tree which no record has made: it was filled past the log.
fn check_trees(parts: &Parts) -> Result<()> {
    let catalog = parts.read_catalog()?;
    let is_missing = |id: &TreeId| parts.tree_directory.tree(*id).is_none();
    for table in catalog.tables() {
        if catalog.trees_of(table).iter().any(is_missing) {
            let what = format!("table {} {UNLOGGED}", table.schema.name());
            return Err(Error::Restore { what });
        }
    }
    Ok(())
}

/// Why records do not fit the backup, and what to do.
const UNLOGGED: &str =
    "was loaded while the log had no archive; use a backup that was made after that";

fn unfit(error: Error) -> Error {
    match error {
        Error::Record { csn, what } => Error::Restore {
            what: format!("the record of {csn} does not fit ({what}): perhaps a table {UNLOGGED}"),
        },
        other => other,
    }
}
