//! The harness and the parts of an episode: opening, and checkpoints step by step.

use super::model::{Model, State};
use crate::buffer::page_snapshot::ChangedPages;
use crate::checkpoint::root::BLOCK_BYTES;
use crate::checkpoint::{DataFile, DirtyPages, FileOptions, Progress, Work};
use crate::error::Error;
use crate::ids::{Csn, DatabaseId, PageId};
use fastrand::Rng;
use std::path::Path;
use syncline_vfs::simulated::{Crash, Metadata};
use syncline_vfs::{Disk, SimulatedDisk};

const DATABASE: DatabaseId = DatabaseId([0x5e; 16]);

/// More steps than any checkpoint of a simulation takes.
const STEPS_MAX: u32 = 10_000;

/// A simulated disk, the options of its data file, and the model of its contents.
#[derive(Clone, Debug)]
pub(super) struct Harness {
    pub(super) disk: SimulatedDisk,
    pub(super) page_bytes: u32,
    pub(super) options: FileOptions,
    pub(super) model: Model,
    pub(super) random: Rng,
    /// A file was made and its name is stable.
    pub(super) is_made: bool,
    /// Reads may fail or flip bits now.
    pub(super) reads_fail: bool,
}

/// How a checkpoint ended.
#[derive(Debug)]
pub(super) enum CheckpointOutcome {
    Done,
    /// The disk was full before any root named what was written, and still is.
    Full,
    Failed(Error),
}

impl Harness {
    pub(super) fn new(seed: u64) -> Harness {
        let mut random = Rng::with_seed(seed);
        let metadata = [Metadata::Strict, Metadata::OrderedJournal][random.usize(0..2)];
        Harness {
            disk: SimulatedDisk::new(seed, metadata),
            page_bytes: [512, 512, 512, 1024, 4096, 8192][random.usize(0..6)],
            options: FileOptions {
                extent_bytes: [4 << 10, 8 << 10, 20_000][random.usize(0..3)],
                reserve_bytes: [0, 2 << 10][random.usize(0..2)],
                direct: random.bool(),
                write_bytes_max: [3 << 10, 16 << 10, 256 << 10][(seed % 3) as usize],
                read_only: false,
            },
            model: Model::new(),
            random,
            is_made: false,
            reads_fail: false,
        }
    }

    /// The same harness on another disk.
    pub(super) fn on(&self, disk: SimulatedDisk) -> Harness {
        Harness { disk, ..self.clone() }
    }

    /// Opens the data file, or makes it if it never was, and checks it against the model.
    pub(super) fn open(&mut self) -> Result<DataFile<SimulatedDisk>, Failure> {
        let opened = DataFile::open(&self.disk, path(), &self.options);
        let file = match opened {
            Err(Error::NoDataFile { .. }) if !self.is_made => self.create()?,
            opened => opened?,
        };
        let found = self.model.find(&file, self.reads_fail)?;
        self.model.install(found);
        Ok(file)
    }

    fn create(&mut self) -> Result<DataFile<SimulatedDisk>, Failure> {
        let (page_bytes, options) = (self.page_bytes, &self.options);
        let file = DataFile::create(&self.disk, path(), DATABASE, page_bytes, options)?;
        self.disk.sync_directory(Path::new(""))?;
        self.is_made = true;
        Ok(file)
    }

    /// Runs one checkpoint of random changes, with the log behind it at some moments.
    pub(super) fn checkpoint(
        &mut self,
        file: &mut DataFile<SimulatedDisk>,
    ) -> Result<CheckpointOutcome, String> {
        let (next, work) = self.model.candidates[0].next(&mut self.random, (40, self.page_bytes));
        self.run(file, &next, work)
    }

    fn run(
        &mut self,
        file: &mut DataFile<SimulatedDisk>,
        next: &State,
        work: Work,
    ) -> Result<CheckpointOutcome, String> {
        if let Err(error) = self.make_room(file, &work) {
            return Ok(CheckpointOutcome::Failed(error));
        }
        let mut captures = Captures {
            state: next,
            left: work.dirty.clone(),
            random: Rng::with_seed(self.random.u64(..)),
        };
        let mut checkpoint = file.begin(work);
        let mut durable_lsn = Csn(self.random.u64(0..=next.csn.0 + 2));
        let mut tries = 0;
        for _ in 0..STEPS_MAX {
            let before = checkpoint.remaining_bytes(file);
            if before <= BLOCK_BYTES as u64
                && durable_lsn >= next.csn
                && self.model.candidates.len() < 2
            {
                self.model.candidates.push(next.clone());
            }
            match checkpoint.step(file, &mut captures, durable_lsn) {
                Ok(Progress::Done) => {
                    self.model.install(next.clone());
                    return match next.check(file, self.reads_fail) {
                        Err(Failure::Broken(why)) => Err(why),
                        Err(Failure::Refused(Error::Damaged { what, .. })) if !self.reads_fail => {
                            Err(what)
                        }
                        // The power may have failed right after it.
                        Err(Failure::Refused(_)) | Ok(()) => Ok(CheckpointOutcome::Done),
                    };
                }
                Ok(Progress::AwaitDurable(csn)) if csn == next.csn && durable_lsn < csn => {
                    if self.random.u8(0..3) == 0 {
                        // The log never gets there: the process ends here.
                        return Ok(CheckpointOutcome::Full);
                    }
                    durable_lsn = csn;
                }
                Ok(Progress::AwaitDurable(csn)) => return Err(format!("waits for {csn}")),
                Ok(Progress::Worked { .. }) => {}
                Err(Error::Full { .. }) => {
                    tries += 1;
                    if tries > 3 {
                        return Ok(CheckpointOutcome::Full);
                    }
                    if self.random.bool() {
                        self.disk.disarm();
                    }
                }
                Err(error) => {
                    let again = checkpoint.step(file, &mut captures, durable_lsn);
                    if !matches!(again, Err(Error::Poisoned { .. })) {
                        return Err(format!("after {error} a step returned {again:?}"));
                    }
                    return Ok(CheckpointOutcome::Failed(error));
                }
            }
        }
        Err(format!("the checkpoint does not end: {checkpoint:?}"))
    }

    /// Makes some or all of the room for a checkpoint ahead of it, or room for fewer pages than it writes.
    fn make_room(&mut self, file: &mut DataFile<SimulatedDisk>, work: &Work) -> Result<(), Error> {
        let long = self.random.u64(0..=work.long.len() as u64);
        let long_bytes = work.long.iter().take(long as usize).map(|(_, bytes)| u64::from(*bytes));
        let changed = ChangedPages {
            pages: long + self.random.u64(0..=(work.dirty.len() - work.long.len()) as u64),
            long,
            long_bytes: long_bytes.sum(),
            next_page: work.next_page,
        };
        for _ in 0..self.random.u8(0..6) {
            match file.make_room(&changed) {
                Ok(Some(_)) => {}
                Ok(None) | Err(Error::Full { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Opens a crash image and checks it against the model.
    pub(super) fn check_image(&self, disk: SimulatedDisk) -> Result<(), String> {
        let mut harness = self.on(disk);
        match harness.open() {
            Ok(_) => Ok(()),
            Err(failure) => Err(failure.to_string()),
        }
    }

    /// Some crash images of the disk, of every kind.
    pub(super) fn images(&mut self) -> Vec<Crash> {
        let pending = self.disk.pending();
        let mut images = vec![Crash::DropAll, Crash::KeepAll];
        if pending > 0 {
            images.push(Crash::Only(self.random.usize(0..pending)));
        }
        for _ in 0..3 {
            images.push(Crash::Subset { seed: self.random.u64(..) });
            images.push(Crash::Torn { seed: self.random.u64(..) });
        }
        images
    }
}

/// Why a data file was not opened.
#[derive(Debug)]
pub(super) enum Failure {
    /// Opening failed with an error: right if the power is off or a fault was injected.
    Refused(Error),
    /// It was opened and holds a wrong state.
    Broken(String),
}

/// The pages of a snapshot; at any moment a random one of them asks to be captured first.
struct Captures<'a> {
    state: &'a State,
    left: Vec<PageId>,
    random: Rng,
}

impl DirtyPages for Captures<'_> {
    fn capture(&mut self, page: PageId, out: &mut Vec<u8>) -> crate::Result<()> {
        let at = self.left.iter().position(|left| *left == page);
        self.left.swap_remove(at.expect("each page is captured once"));
        self.state.capture(page, out);
        Ok(())
    }

    fn first(&mut self) -> Option<PageId> {
        let asks = self.random.bool();
        asks.then(|| self.random.choice(&self.left).copied()).flatten()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Refused(error)
    }
}

impl From<syncline_vfs::Error> for Failure {
    fn from(error: syncline_vfs::Error) -> Failure {
        Failure::Refused(error.into())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Refused(error) => error.fmt(f),
            Failure::Broken(why) => f.write_str(why),
        }
    }
}

pub(super) fn path() -> &'static Path {
    Path::new("data")
}
