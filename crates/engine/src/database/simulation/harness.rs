//! A harness: the disk, random options, and the opening of its database.

use super::concurrent_steps::CheckpointPace;
use super::oracle::Oracle;
use super::restores::{ARCHIVE, MadeBackup};
use crate::buffer::reset_forced_misses;
use crate::catalog::CATALOG_TREE;
use crate::database::create::create;
use crate::database::engine::Engine;
use crate::database::open::{open, open_read_only};
use crate::error::Error;
use crate::log::{self, Durability, Threads};
use crate::options::{BufferMode, Options};
use crate::txn::strip_ghosts;
use fastrand::Rng;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::{Crash, Metadata};

pub(super) type SimulatedEngine = Engine<SimulatedDisk>;

/// Counts of a search, so that a test can see that it exercised everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Openings after a crash or a fault, including interrupted ones.
    pub(super) cycles: u64,
    /// Openings that were interrupted.
    pub(super) interrupted: u64,
    /// Images that lost commits with a number: the negative control.
    pub(super) lost: u64,
    /// Images that hold commits which were not acknowledged.
    pub(super) unacknowledged: u64,
    /// Images that hold everything: the positive control is that no image may hold less than was
    /// acknowledged.
    pub(super) whole: u64,
    /// Faults that struck.
    pub(super) faults: u64,
    /// Commits with writes, conflicts, refusals.
    pub(super) commits: u64,
    pub(super) conflicts: u64,
    pub(super) refused: u64,
    /// Commits under snapshot isolation that serializable validation would have refused.
    pub(super) skewed: u64,
    pub(super) defined: u64,
    /// Checkpoints that came into force.
    pub(super) checkpoints: u64,
    /// Log segments that were used again.
    pub(super) recycled: u64,
    /// Openings that redid commits from the log.
    pub(super) redone: u64,
    /// Openings that freed unfinished trees.
    pub(super) unfinished: u64,
    /// Definitions that failed and changed nothing.
    pub(super) failed_builds: u64,
    /// Commits that were refused because the log was too long.
    pub(super) long: u64,
    /// Snapshots that used an object made later.
    pub(super) made_later: u64,
    /// Times that the disk was full and work could go on.
    pub(super) full: u64,
    /// Pages that were evicted.
    pub(super) evicted: u64,
    /// Openings for reading.
    pub(super) read_only: u64,
    /// Backups that were completed.
    pub(super) backups: u64,
    /// Checkpoints that have cut the data file.
    pub(super) cuts: u64,
    /// Segments that were archived.
    pub(super) archived: u64,
    /// Restores that were compared with the oracle.
    pub(super) restores: u64,
    /// Waits for loads that had begun some steps before.
    pub(super) background_loads: u64,
}

impl Tally {
    /// Adds the counts of another search.
    pub(super) fn add(&mut self, other: &Tally) {
        let mine = [
            &mut self.cycles,
            &mut self.interrupted,
            &mut self.lost,
            &mut self.unacknowledged,
            &mut self.whole,
            &mut self.faults,
            &mut self.commits,
            &mut self.conflicts,
            &mut self.refused,
            &mut self.skewed,
            &mut self.defined,
            &mut self.checkpoints,
            &mut self.recycled,
            &mut self.redone,
            &mut self.unfinished,
            &mut self.failed_builds,
            &mut self.long,
            &mut self.made_later,
            &mut self.full,
            &mut self.evicted,
            &mut self.read_only,
            &mut self.backups,
            &mut self.cuts,
            &mut self.archived,
            &mut self.restores,
            &mut self.background_loads,
        ];
        let others = [
            other.cycles,
            other.interrupted,
            other.lost,
            other.unacknowledged,
            other.whole,
            other.faults,
            other.commits,
            other.conflicts,
            other.refused,
            other.skewed,
            other.defined,
            other.checkpoints,
            other.recycled,
            other.redone,
            other.unfinished,
            other.failed_builds,
            other.long,
            other.made_later,
            other.full,
            other.evicted,
            other.read_only,
            other.backups,
            other.cuts,
            other.archived,
            other.restores,
            other.background_loads,
        ];
        for (mine, other) in mine.into_iter().zip(others) {
            *mine += other;
        }
    }
}

/// A simulated disk with its database, the oracle, and the random choices.
pub(super) struct Harness {
    pub(super) disk: SimulatedDisk,
    pub(super) options: Options,
    pub(super) oracle: Oracle,
    pub(super) random: Rng,
    pub(super) tally: Tally,
    /// Keys are smaller than this.
    pub(super) ids: u32,
    /// Rows are long, so that the log soon wraps around its segments.
    pub(super) is_heavy: bool,
    /// How checkpoints run.
    pub(super) pace: CheckpointPace,
    /// Commits are refused when the log is longer than this. If checkpoints are lazy, it is below the limit
    /// of the options, so that refusals occur.
    pub(super) log_bytes_max: u64,
    /// A database was made and must exist.
    pub(super) is_made: bool,
    /// Compactions are frequent.
    pub(super) compacts: bool,
    /// The directories of backups that are in use.
    pub(super) backup_places: u64,
    /// Complete backups, in a database with an archive.
    pub(super) backups: Vec<MadeBackup>,
}

/// Why a database was not opened.
#[derive(Debug)]
pub(super) enum Failure {
    /// It returned an error, which is justified if the power is off or a fault struck.
    Refused(Error),
    /// It was opened in a wrong state.
    Broken(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Refused(error)
    }
}

impl Harness {
    pub(super) fn new(seed: u64) -> Harness {
        let mut random = Rng::with_seed(seed);
        let metadata = [Metadata::Strict, Metadata::OrderedJournal][random.usize(0..2)];
        let mut options = options(&mut random);
        if has_archive(seed) {
            options.log.archive = Some(PathBuf::from(ARCHIVE));
        }
        let is_lazy = random.u8(0..6) == 0;
        Harness {
            disk: SimulatedDisk::new(seed, metadata),
            log_bytes_max: if is_lazy { 40 << 10 } else { 2 * options.checkpoint_segment_bytes },
            options,
            oracle: Oracle::default(),
            ids: [8, 30, 120][random.usize(0..3)],
            is_heavy: random.u8(0..3) == 0,
            pace: CheckpointPace { is_slow: random.u8(0..3) == 0, is_lazy },
            random,
            tally: Tally::default(),
            is_made: false,
            compacts: seed % 4 == 2,
            backup_places: 0,
            backups: Vec::new(),
        }
    }

    /// Opens this harness's database, or makes it if it never was made, and continues with its contents.
    pub(super) fn open(&mut self) -> Result<Arc<SimulatedEngine>, Failure> {
        if !self.is_made {
            reset_forced_misses();
            match create(&self.disk, directory(), self.options.clone(), Threads::None) {
                // An interrupted creation had got far enough.
                Err(Error::Exists { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(engine) => {
                    self.is_made = true;
                    engine.core.cap_log(self.log_bytes_max);
                    return Ok(engine);
                }
            }
        }
        // This state was compared when its image was checked. If it is not compared again, no page is loaded.
        let reads_pages = self.random.bool();
        let (engine, csn) = self.recover_with(&self.disk, reads_pages)?;
        self.is_made = true;
        self.oracle.truncate_after(csn);
        engine.core.cap_log(self.log_bytes_max);
        Ok(engine)
    }

    /// Opens a disk and compares the database with the oracle. Returns the engine and its last commit.
    pub(super) fn recover(
        &self,
        disk: &SimulatedDisk,
    ) -> Result<(Arc<SimulatedEngine>, u64), Failure> {
        self.recover_with(disk, true)
    }

    /// Opens a disk for reading, compares the database with the oracle, and returns its last commit. Nothing
    /// on the disk may change or be synced.
    pub(super) fn read(&self, disk: &SimulatedDisk) -> Result<u64, Failure> {
        let before = disk.operations();
        let engine = self.open_to_read(disk, directory())?;
        let csn = self.oracle.check_opened(&engine, true)?;
        verify(&engine)?;
        drop(engine);
        let made = disk.operations() - before;
        if made > 0 {
            return Err(Failure::Broken(format!(
                "a database opened for reading did {made} writes"
            )));
        }
        Ok(csn)
    }

    pub(super) fn open_to_read(
        &self,
        disk: &SimulatedDisk,
        directory: &Path,
    ) -> Result<Arc<SimulatedEngine>, Failure> {
        reset_forced_misses();
        Ok(open_read_only(disk, directory, self.options.clone())?)
    }

    /// The same as [`Harness::recover`]. Rows are compared only if it `reads_pages`.
    fn recover_with(
        &self,
        disk: &SimulatedDisk,
        reads_pages: bool,
    ) -> Result<(Arc<SimulatedEngine>, u64), Failure> {
        reset_forced_misses();
        let engine = open(disk, directory(), self.options.clone(), Threads::None)?;
        // At durability `none` the last commits of an opening are complete before they are written.
        engine.core.log.check()?;
        let csn = self.oracle.check_opened(&engine, reads_pages)?;
        if reads_pages {
            at_rest(&engine).map_err(Failure::Broken)?;
        }
        Ok((engine, csn))
    }

    /// Crash images of the disk, of every kind.
    pub(super) fn images(&mut self) -> Vec<Crash> {
        let pending = self.disk.pending();
        let mut images = vec![Crash::DropAll, Crash::KeepAll];
        if pending > 0 {
            images.push(Crash::Only(self.random.usize(0..pending)));
        }
        if pending > 1 {
            for _ in 0..2 {
                images.push(Crash::Subset { seed: self.random.u64(..) });
                images.push(Crash::Torn { seed: self.random.u64(..) });
            }
        }
        images
    }
}

/// True if the database of a seed has an archive.
pub(super) fn has_archive(seed: u64) -> bool {
    seed % 3 == 1
}

/// What must hold of every database directly after opening.
pub(super) fn at_rest(engine: &SimulatedEngine) -> Result<(), String> {
    let (durable_lsn, published) = (engine.core.log.durable_lsn(), engine.core.log.published());
    if durable_lsn != published {
        return Err(format!(
            "the opened database ends at {published}, but is stable only up to {durable_lsn}"
        ));
    }
    if !engine.catalog().unfinished().is_empty() {
        return Err("hidden trees remain".to_owned());
    }
    let mut named = engine.catalog().trees();
    named.insert(CATALOG_TREE);
    if let Some(spare) = engine.tree_directory.trees().iter().find(|tree| !named.contains(&tree.id))
    {
        return Err(format!("{} belongs to no table", spare.id));
    }
    let is_stray = |tree| engine.tree_directory.tree(tree).is_none();
    if let Some((page, tree)) = engine.core.buffer.labelled(is_stray).next() {
        return Err(format!("{page} remains of {tree}"));
    }
    for tree in engine.tree_directory.trees() {
        let ghosts = strip_ghosts(&engine.core.buffer, &tree);
        if !matches!(ghosts, Ok(0)) {
            return Err(format!("{} holds ghosts: {ghosts:?}", tree.id));
        }
    }
    Ok(())
}

/// Verifies the whole database.
pub(super) fn verify(engine: &SimulatedEngine) -> Result<(), Failure> {
    let problems = engine.verify()?;
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::Broken(format!("verify reported {problems:?}")))
}

pub(super) fn directory() -> &'static Path {
    Path::new("database")
}

fn options(random: &mut Rng) -> Options {
    let tiny = Options::tiny();
    let page_bytes = [512, 512, 512, 1024][random.usize(0..4)];
    let buffer_mode =
        [BufferMode::Resident, BufferMode::Resident, BufferMode::Disk, BufferMode::Mapped]
            [random.usize(0..4)];
    let frames = [4, 12, 40][random.usize(0..3)];
    Options {
        page_bytes,
        buffer_mode,
        resident_bytes_max: match buffer_mode {
            BufferMode::Resident => tiny.resident_bytes_max,
            // A cache of a few pages, beside the tables of pages.
            BufferMode::Disk | BufferMode::Mapped => {
                (48 << 10) + frames * (u64::from(page_bytes) + 128)
            }
        },
        pre_image_bytes_max: [4, 4, 16, 128][random.usize(0..4)] * u64::from(page_bytes),
        version_bytes_max: [2 << 10, 16 << 10, 1 << 20][random.usize(0..3)],
        value_extent_bytes: [512, 512, 1024, 2048][random.usize(0..4)],
        extent_bytes: [4 << 10, 8 << 10, 16 << 10][random.usize(0..3)],
        miss_every: [None, None, Some(2), Some(7), Some(50)][random.usize(0..5)],
        log: log::Options {
            frame_unit_bytes: [512, 1024][random.usize(0..2)],
            ring_records: [8, 16, 64][random.usize(0..3)],
            writes_in_flight_max: [1, 1, 2][random.usize(0..3)],
            direct: random.bool(),
            durability: match random.u8(0..8) {
                0 => Durability::None,
                1 => Durability::Full,
                _ => Durability::Data,
            },
            ..tiny.log
        },
        ..tiny
    }
}
