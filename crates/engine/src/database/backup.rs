//! A backup: the last checkpoint, copied into a directory of its own while others read and write.
//!
//! The backup is a database: it can be opened in any mode, verified and read like the original. It holds what
//! the checkpoint held, and its log begins behind that, empty. The images lie one after the other, so that a
//! backup of a store with much free space is smaller than its data file.
//!
//! States:
//!
//! | state | does | left by |
//! |---|---|---|
//! | begun | holds the root in force ([`DataFile::hold_root`]), marks the directory as one that is being made, makes an empty data file there | always |
//! | pages | copies the pages (`page_copy`) | all pages are copied |
//! | log | makes the log, and the names stable; removes the mark | always: the backup is complete |
//! | abandoned | after a failure: removes what was made, except the mark | |
//!
//! Invariants:
//! 1. The original goes on: a backup closes no gate, and takes the lock of its data file only to look pages
//!    up. Its checkpoints come into force meanwhile; the images that they supersede take space until the
//!    backup ends.
//! 2. Until the mark is removed, which is the last step, the directory cannot be opened, and the next backup
//!    or creation there begins anew. So a backup is whole or none, whatever happens.
//! 3. Memory does not grow with the store: entries and images of one part are held at a time, in addition to
//!    the entries of pages that changed meanwhile.
//! 4. Every image is verified when it is read, and gets a new checksum in the copy. Damage fails the backup.

#[cfg(doc)]
use crate::checkpoint::DataFile;
use crate::database::create::{LOG, Unfinished};
use crate::database::engine::Engine;
use crate::database::page_copy::{PAGES_AT_ONCE, PageCopy};
use crate::error::Result;
use crate::ids::Csn;
use crate::log::{self, Guard, Log, Threads};
use crate::options::Options;
use crate::planted_bug::{PlantedBug, planted};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use syncline_instrument::clock;
use syncline_vfs::Disk;

/// How a backup is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupOptions {
    /// The most bytes that are written per second, on average since the beginning; none for no limit.
    pub bytes_per_second: Option<u64>,
}

/// A backup that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backup {
    /// It holds everything up to this commit, and nothing later.
    pub csn: Csn,
    /// Pages in it.
    pub pages: u64,
    /// Bytes that were written, with the zeros by which its data file grew.
    pub bytes: u64,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackupStep {
    /// One I/O of the new data file, or the beginning of a part.
    Worked,
    /// The backup is complete and stable.
    Done(Backup),
}

/// A backup that is being made. Dropping it before it is complete abandons it.
pub(crate) struct RunningBackup<D: Disk> {
    engine: Arc<Engine<D>>,
    /// Before the directory, so that its file is closed when that is cleared. None once it is complete.
    copy: Option<(PageCopy<D>, Unfinished<D>)>,
}

/// Makes a backup of everything that was committed before the call.
pub(crate) fn back_up<D: Disk>(
    engine: &Arc<Engine<D>>,
    directory: &Path,
    options: BackupOptions,
) -> Result<Backup> {
    if let Some(checkpoints) = &engine.checkpoints {
        checkpoints.run(&engine.core, &engine.tree_directory)?;
    }
    let mut backup = RunningBackup::begin(engine, directory, PAGES_AT_ONCE)?;
    let began = clock::now();
    loop {
        if let BackupStep::Done(backup) = backup.step()? {
            return Ok(backup);
        }
        if let Some(bytes_per_second) = options.bytes_per_second {
            let due =
                u128::from(backup.bytes()) * 1_000_000_000 / u128::from(bytes_per_second.max(1));
            let took = u128::from(clock::now().saturating_sub(began));
            let early = u64::try_from(due.saturating_sub(took)).unwrap_or(u64::MAX);
            std::thread::sleep(Duration::from_nanos(early));
        }
    }
}

impl<D: Disk> RunningBackup<D> {
    /// Begins a backup of the last checkpoint.
    pub(crate) fn begin(
        engine: &Arc<Engine<D>>,
        directory: &Path,
        pages_at_once: usize,
    ) -> Result<RunningBackup<D>> {
        let (disk, options) = (engine.core.log.disk(), own_log(&engine.options));
        let mut unfinished = None;
        let copy = PageCopy::begin(engine, pages_at_once, |root| {
            let made = unfinished.insert(Unfinished::begin(disk, directory, &options)?);
            made.create_data(root.database, root.page_bytes, &options)
        });
        let copy = copy?;
        let unfinished = unfinished.expect("the directory of a copy was begun");
        Ok(RunningBackup { engine: Arc::clone(engine), copy: Some((copy, unfinished)) })
    }

    /// Does the next step. After a failure, drop it.
    pub(crate) fn step(&mut self) -> Result<BackupStep> {
        let (copy, _) = self.copy.as_mut().expect("it is not complete");
        if copy.step()? {
            return Ok(BackupStep::Worked);
        }
        self.finish().map(BackupStep::Done)
    }

    /// Bytes that were written so far.
    fn bytes(&self) -> u64 {
        self.copy.as_ref().map_or(0, |(copy, _)| copy.bytes())
    }

    fn finish(&mut self) -> Result<Backup> {
        let (copy, unfinished) = self.copy.take().expect("it is not complete");
        let (root, bytes) = (copy.root().clone(), copy.bytes());
        drop(copy);
        let (disk, options) = (self.engine.core.log.disk(), own_log(&self.engine.options));
        let log = unfinished.directory().join(LOG);
        let behind = Csn(root.csn.0 + u64::from(planted(PlantedBug::BackupLogBehind)));
        let made = (Guard::Database, behind, Threads::None);
        drop(Log::create_guarded(disk, &log, root.database, options.log, made)?);
        unfinished.end()?;
        Ok(Backup { csn: root.csn, pages: root.pages, bytes })
    }
}

/// The options of a database whose log is in its own directory, and that has no archive.
pub(super) fn own_log(options: &Options) -> Options {
    let log = log::Options { archive: None, ..options.log.clone() };
    Options { log_directory: None, log, ..options.clone() }
}
