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
//! | pages | copies [`PAGES_AT_ONCE`] pages after the other, each part by a checkpoint of the new data file | all pages are copied |
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

use crate::checkpoint::{Checkpoint, DataFile, HeldPages, ImageReader, Progress, Root, Work};
use crate::database::checkpoints::Checkpoints;
use crate::database::create::{self, DATA, LOG};
use crate::database::engine::Engine;
use crate::database::open::file_options;
use crate::error::{Error, Result};
use crate::ids::{Csn, PageId};
use crate::log::{Guard, Log, Threads};
use crate::options::Options;
use crate::planted_bug::{PlantedBug, planted};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use syncline_instrument::clock;
use syncline_vfs::Disk;

/// Pages that are copied by one checkpoint of the new data file.
const PAGES_AT_ONCE: usize = 1 << 16;

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
    hold: Hold<D>,
    directory: PathBuf,
    root: Root,
    reader: ImageReader<D>,
    /// None once it is complete.
    file: Option<DataFile<D>>,
    /// Where the next part begins; none after the last one.
    next: Option<PageId>,
    running: Option<(Checkpoint, HeldPages<D>)>,
    pages_at_once: usize,
    bytes: u64,
}

/// Holds the checkpoint until it is dropped.
struct Hold<D: Disk>(Arc<Engine<D>>);

impl<D: Disk> Hold<D> {
    fn checkpoints(&self) -> &Checkpoints<D> {
        self.0.checkpoints.as_ref().expect("a root of it is held")
    }
}

impl<D: Disk> Drop for Hold<D> {
    fn drop(&mut self) {
        self.checkpoints().release();
    }
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
                u128::from(backup.bytes) * 1_000_000_000 / u128::from(bytes_per_second.max(1));
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
        let Some(checkpoints) = &engine.checkpoints else {
            let what = "the database exists only in memory; dump it instead";
            return Err(Error::Backup { what });
        };
        let Some((root, reader)) = checkpoints.hold() else {
            return Err(Error::Backup { what: "another one is being made; wait for its end" });
        };
        let hold = Hold(Arc::clone(engine));
        let (disk, options) = (engine.core.log.disk(), own_log(&engine.options));
        create::begin(disk, directory, &options)?;
        let data = directory.join(DATA);
        let file_options = file_options(&options);
        let file = DataFile::create(disk, &data, root.database, root.page_bytes, &file_options)?;
        Ok(RunningBackup {
            hold,
            directory: directory.to_owned(),
            root,
            reader,
            file: Some(file),
            next: Some(PageId(1)),
            running: None,
            pages_at_once,
            bytes: 0,
        })
    }

    /// Does the next step. After a failure, drop it.
    pub(crate) fn step(&mut self) -> Result<BackupStep> {
        let (mut checkpoint, mut pages) = match (self.running.take(), self.next) {
            (Some(running), _) => running,
            (None, Some(from)) => self.begin_part(from),
            (None, None) => return self.finish().map(BackupStep::Done),
        };
        let file = self.file.as_mut().expect("it is not complete");
        match checkpoint.step(file, &mut pages, self.root.csn)? {
            Progress::Worked { bytes } => {
                self.bytes += bytes;
                self.running = Some((checkpoint, pages));
            }
            Progress::Done => {}
            Progress::AwaitDurable(csn) => panic!("{csn} is in the held root, so it is stable"),
        }
        Ok(BackupStep::Worked)
    }

    fn begin_part(&mut self, from: PageId) -> (Checkpoint, HeldPages<D>) {
        let (pages, next) = self.hold.checkpoints().held_pages(from, self.pages_at_once);
        self.next = next;
        let page_bytes = self.root.page_bytes;
        let is_long = |(_, bytes): &(PageId, u32)| *bytes > page_bytes;
        let work = Work {
            csn: self.root.csn,
            dirty: pages.iter().map(|(page, _)| *page).collect(),
            long: pages.iter().map(|(page, entry)| (*page, entry.bytes)).filter(is_long).collect(),
            freed: Vec::new(),
            next_page: self.root.next_page,
            // What the whole names is not there before its last part.
            meta: if next.is_none() { self.root.meta.clone() } else { Vec::new() },
        };
        let file = self.file.as_mut().expect("it is not complete");
        (file.begin(work), HeldPages::new(self.reader.clone(), pages))
    }

    fn finish(&mut self) -> Result<Backup> {
        let engine = &self.hold.0;
        let (disk, options) = (engine.core.log.disk(), own_log(&engine.options));
        let log = self.directory.join(LOG);
        let (database, csn) = (self.root.database, self.root.csn);
        let behind = Csn(csn.0 + u64::from(planted(PlantedBug::BackupLogBehind)));
        let made = (Guard::Database, behind, Threads::None);
        drop(Log::create_guarded(disk, &log, database, options.log, made)?);
        create::end(disk, &self.directory)?;
        self.file = None;
        Ok(Backup { csn, pages: self.root.pages, bytes: self.bytes })
    }
}

impl<D: Disk> Drop for RunningBackup<D> {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // What cannot be removed now is removed by the next backup there: the mark stays.
            let _left = create::abandon(self.hold.0.core.log.disk(), &self.directory).is_err();
        }
    }
}

/// The options of a database whose log is in its own directory.
fn own_log(options: &Options) -> Options {
    Options { log_directory: None, ..options.clone() }
}
