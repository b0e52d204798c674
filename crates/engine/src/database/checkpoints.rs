//! Checkpoints of a running database: which threads begin them and move them on, and what a failure means.
//!
//! As with the log, any thread that needs a checkpoint to move drives it: the checkpoint thread, a call of
//! `checkpoint` or `verify`, or a writer that waits for room in the pool of pre-images, for a shorter log, or
//! for memory at the cap. One thread at a time takes the state's mutex and does a step; the others wait for
//! that mutex and then do the next step.
//!
//! Invariant: the commit gate comes before the state's mutex. A thread that needs both closes the gate first,
//! and a thread that holds the mutex never waits at the gate. So the holder of the closed gate, such as a
//! definition that needs its own checkpoint or an exclusive transaction without room for pre-images, may
//! always wait for the mutex. The thread that begins a checkpoint does not do so: with commits blocked at the
//! gate it does not sit out another thread's I/O, but opens the gate again and waits for the mutex without
//! it.
//!
//! States of a checkpoint: none, running (its snapshot is taken), finished, abandoned. A checkpoint that
//! finds the disk full is abandoned: its pages are dirty again, its slots free, its pre-images dropped. The
//! next one takes a later snapshot, which needs less space if rows were deleted meanwhile, and writers do not
//! wait for a checkpoint that cannot go on. Any other failure closes the log, and with it the database, for
//! good.

use crate::access::btree::extents::{EXTENT_POINTER_BYTES, ExtentPointer};
use crate::buffer::page_map::Entry;
use crate::buffer::page_snapshot::StartedSnapshot;
use crate::buffer::{Buffer, page_packing};
use crate::checkpoint::{
    Checkpoint, DataFile, DirtyPages, ImageReader, Inspection, Moves, Progress, Root, Work,
};
use crate::error::{Error, Result};
use crate::events;
use crate::ids::{Csn, PageId};
use crate::panics;
use crate::planted_bug::{PlantedBug, planted};
use crate::step::{self, step};
use crate::sync::rank::{CHECKPOINT, CHECKPOINT_FAILURE};
use crate::sync::ranked::Mutex;
use crate::tree_directory::{self, TreeDirectory};
use crate::txn::{ClosedGate, Core};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use syncline_instrument::{Module, Nanos, clock, tag};
use syncline_vfs::Disk;

/// A thread that begins a checkpoint and finds another one in the data file opens the gate again, except in
/// the last of this many attempts: then it waits with the gate closed.
const BEGIN_ATTEMPTS: u32 = 16;

/// The result of a step of [`Checkpoints::drive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// No checkpoint is running.
    Idle,
    /// The checkpoint made one write.
    Worked {
        /// Bytes of that write.
        bytes: u64,
        /// Bytes still to be written.
        left_bytes: u64,
    },
    /// The checkpoint is in force: the data file holds everything up to this commit.
    Finished(Csn),
}

/// What checkpoints have done since the database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointStats {
    /// Checkpoints that came into force.
    pub finished: u64,
    /// Bytes that they wrote: pages, map, directory and roots, and the zeros by which the file grew.
    pub bytes: u64,
    /// How many of them have cut the file: it has become smaller.
    pub cuts: u64,
    /// Nanoseconds for which their snapshots held commits up.
    pub gate_ns: Nanos,
    /// Nanoseconds from snapshot to root, of the last one.
    pub last_ns: Nanos,
}

#[derive(Debug)]
struct Running {
    checkpoint: Checkpoint,
    moves: Moves,
    epoch: u64,
    began: Nanos,
    /// The log is stable up to the snapshot.
    log_is_stable: bool,
}

struct Inside<D: Disk> {
    file: DataFile<D>,
    running: Option<Running>,
}

/// The data file, the running checkpoint and the counters. See
/// [`Database::checkpoint`](crate::Database::checkpoint).
pub(crate) struct Checkpoints<D: Disk> {
    inside: Mutex<Inside<D>, CHECKPOINT>,
    finished: AtomicU64,
    bytes: AtomicU64,
    cuts: AtomicU64,
    gate_ns: AtomicU64,
    last_ns: AtomicU64,
    failure: Mutex<Option<Arc<str>>, CHECKPOINT_FAILURE>,
}

impl<D: Disk> Checkpoints<D> {
    pub(crate) fn new(file: DataFile<D>) -> Checkpoints<D> {
        Checkpoints {
            inside: Mutex::new(Inside { file, running: None }),
            finished: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            cuts: AtomicU64::new(0),
            gate_ns: AtomicU64::new(0),
            last_ns: AtomicU64::new(0),
            failure: Mutex::new(None),
        }
    }

    /// Why the last checkpoint was abandoned or failed; none if it finished.
    pub(crate) fn failure(&self) -> Option<Arc<str>> {
        self.failure.lock().clone()
    }

    /// Begins a checkpoint unless one is running. Returns true if it did.
    pub(crate) fn begin(&self, core: &Core<D>, tree_directory: &TreeDirectory) -> Result<bool> {
        for attempt in 1.. {
            // With the gate open, since this may take as long as another thread's I/O.
            if self.inside.lock().running.is_some() {
                return Ok(false);
            }
            core.log.check()?;
            step(step::Step::Checkpoint);
            let started = clock::now();
            if planted(PlantedBug::CheckpointBeforeGate) {
                let mut inside = self.inside.lock();
                let is_begun = inside.running.is_none();
                if is_begun {
                    let closed = core.close_gate()?;
                    let snapshot = take_snapshot(core, tree_directory, Some(&closed));
                    drop(closed);
                    begin_checkpoint(&mut inside, core, snapshot);
                }
                return Ok(is_begun);
            }
            let _failing = core.fail_on_panic("the beginning of a checkpoint");
            let closed = (!planted(PlantedBug::SnapshotWithoutGate)).then(|| core.close_gate());
            let closed = closed.transpose()?;
            let inside = if attempt < BEGIN_ATTEMPTS {
                self.inside.try_lock()
            } else {
                Some(self.inside.lock())
            };
            let inside = inside.filter(|inside| inside.running.is_none());
            let snapshot =
                inside.as_ref().map(|_inside| take_snapshot(core, tree_directory, closed.as_ref()));
            drop(closed);
            let held_up = clock::now().saturating_sub(started);
            self.gate_ns.fetch_add(held_up, Ordering::Relaxed);
            if let (Some(mut inside), Some(snapshot)) = (inside, snapshot) {
                begin_checkpoint(&mut inside, core, snapshot);
                return Ok(true);
            }
        }
        unreachable!("attempts do not end")
    }

    /// The same on the thread whose exclusive transaction has closed the gate.
    pub(crate) fn begin_alone(
        &self,
        core: &Core<D>,
        tree_directory: &TreeDirectory,
        closed: &ClosedGate,
    ) -> Result<bool> {
        core.log.check()?;
        step(step::Step::Checkpoint);
        let _failing = core.fail_on_panic("the beginning of a checkpoint");
        let mut inside = self.inside.lock();
        let is_begun = inside.running.is_none();
        if is_begun {
            let snapshot = take_snapshot(core, tree_directory, Some(closed));
            begin_checkpoint(&mut inside, core, snapshot);
        }
        Ok(is_begun)
    }

    /// Does one I/O towards room for a checkpoint of the pages changed by now. Idle if there is room, if the
    /// disk has no space, or if a checkpoint is running.
    pub(crate) fn make_room(&self, core: &Core<D>) -> Result<Step> {
        let mut inside = self.inside.lock();
        if inside.running.is_some() {
            return Ok(Step::Idle);
        }
        let _entered = tag::enter(Module::DataStore);
        let changed = core.buffer.changed_pages();
        let fail = |because: &str| core.log.fail(because);
        let made = panics::failing("the growth of the data file", fail, || {
            inside.file.make_room(&changed)
        });
        match made {
            Ok(Some((bytes, left_bytes))) => {
                self.bytes.fetch_add(bytes, Ordering::Relaxed);
                Ok(Step::Worked { bytes, left_bytes })
            }
            // The checkpoint itself will find out whether that is too little.
            Ok(None) | Err(Error::Full { .. }) => Ok(Step::Idle),
            Err(error) => {
                core.log.fail(&error.to_string());
                Err(error)
            }
        }
    }

    /// Does one step of the running checkpoint.
    pub(crate) fn drive(&self, core: &Core<D>) -> Result<Step> {
        self.step(&mut self.inside.lock(), core)
    }

    /// Runs a checkpoint from snapshot to root, after the running one. If the disk is full, removes rows that
    /// no reader needs any more and tries once more.
    pub(crate) fn run(&self, core: &Core<D>, tree_directory: &TreeDirectory) -> Result<Csn> {
        let target = core.log.published();
        let mut swept = false;
        loop {
            match self.finish(core) {
                // If it was abandoned, one with a later snapshot may need less space.
                Ok(()) | Err(Error::Full { .. }) => {}
                Err(error) => return Err(error),
            }
            self.begin(core, tree_directory)?;
            match self.finish(core) {
                Err(Error::Full { .. }) if !swept => {
                    swept = true;
                    core.log.flush()?;
                    core.sweep();
                }
                finished => {
                    finished?;
                    let csn = self.csn();
                    // Another thread may have begun it, and may have finished or abandoned it.
                    if csn >= target {
                        return Ok(csn);
                    }
                }
            }
        }
    }

    /// Makes the data file as small as it can be, by checkpoints. Returns its bytes before and after.
    pub(crate) fn compact(
        &self,
        core: &Core<D>,
        tree_directory: &TreeDirectory,
    ) -> Result<(u64, u64)> {
        self.run(core, tree_directory)?;
        let before = self.begin_compaction(core)?;
        loop {
            let (compacts_to, bytes) = {
                let inside = self.inside.lock();
                (inside.file.compacts_to(), inside.file.bytes())
            };
            if compacts_to.is_none() {
                return Ok((before, bytes));
            }
            self.run(core, tree_directory)?;
        }
    }

    /// Finishes the running checkpoint; the next ones compact the data file. Returns its bytes.
    pub(crate) fn begin_compaction(&self, core: &Core<D>) -> Result<u64> {
        let mut inside = self.inside.lock();
        self.end_running(&mut inside, core)?;
        inside.file.compact();
        Ok(inside.file.bytes())
    }

    /// The checkpoint commit: the data file holds everything up to it.
    pub(crate) fn csn(&self) -> Csn {
        self.inside.lock().file.root().csn
    }

    /// The format of the data file.
    #[cfg(test)]
    pub(crate) fn format(&self) -> u32 {
        self.inside.lock().file.root().format
    }

    /// The page whose image lies behind all others.
    #[cfg(test)]
    pub(crate) fn last_in_file(&self) -> PageId {
        let inside = self.inside.lock();
        let map = inside.file.page_map();
        let last = map.pages(inside.file.root().next_page).max_by_key(|(_, entry)| entry.offset);
        last.expect("it has pages").0
    }

    /// True if a checkpoint is running, and no other thread works on it just now.
    pub(crate) fn is_running(&self) -> bool {
        self.inside.try_lock().is_some_and(|inside| inside.running.is_some())
    }

    /// The size of the data file; none while another thread works on it.
    pub(crate) fn file_bytes(&self) -> Option<u64> {
        self.inside.try_lock().map(|inside| inside.file.bytes())
    }

    /// The counters since opening.
    pub(crate) fn stats(&self) -> CheckpointStats {
        CheckpointStats {
            finished: self.finished.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            cuts: self.cuts.load(Ordering::Relaxed),
            gate_ns: self.gate_ns.load(Ordering::Relaxed),
            last_ns: self.last_ns.load(Ordering::Relaxed),
        }
    }

    /// Holds the last checkpoint for a backup, which reads its pages by the reader. None if another backup
    /// holds one.
    pub(crate) fn hold(&self) -> Option<(Root, ImageReader<D>)> {
        let mut inside = self.inside.lock();
        let root = inside.file.hold_root()?;
        Some((root, inside.file.reader()))
    }

    /// The pages of the held checkpoint, see [`DataFile::held_pages`].
    pub(crate) fn held_pages(
        &self,
        from: PageId,
        most: usize,
    ) -> (Vec<(PageId, Entry)>, Option<PageId>) {
        self.inside.lock().file.held_pages(from, most)
    }

    /// Ends the hold.
    pub(crate) fn release(&self) {
        self.inside.lock().file.release_root();
    }

    /// Describes the data file.
    pub(crate) fn inspect(&self) -> Result<Inspection> {
        self.inside.lock().file.inspect()
    }

    /// Finishes the running checkpoint, then reads and verifies everything in the data file. Returns the
    /// problems, one sentence each.
    pub(crate) fn check(&self, core: &Core<D>) -> Result<Vec<String>> {
        let mut inside = self.inside.lock();
        self.end_running(&mut inside, core)?;
        inside.file.check()
    }

    fn finish(&self, core: &Core<D>) -> Result<()> {
        while !matches!(self.drive(core)?, Step::Idle | Step::Finished(_)) {}
        Ok(())
    }

    /// Steps until no checkpoint is running: it is finished, or abandoned on a full disk.
    fn end_running(&self, inside: &mut Inside<D>, core: &Core<D>) -> Result<()> {
        while inside.running.is_some() {
            match self.step(inside, core) {
                Ok(_) | Err(Error::Full { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn step(&self, inside: &mut Inside<D>, core: &Core<D>) -> Result<Step> {
        let Inside { file, running } = inside;
        if running.is_none() {
            return Ok(Step::Idle);
        }
        let _entered = tag::enter(Module::DataStore);
        // Do not continue after a panic of another driver left something half done.
        core.log.check()?;
        let fail = |because: &str| core.log.fail(because);
        panics::failing("a step of a checkpoint", fail, || {
            step(step::Step::Checkpoint);
            self.step_on(file, running, core)
        })
    }

    fn step_on(
        &self,
        file: &mut DataFile<D>,
        running: &mut Option<Running>,
        core: &Core<D>,
    ) -> Result<Step> {
        let Some(now) = running.as_mut() else {
            return Ok(Step::Idle);
        };
        let file_bytes = file.bytes();
        match one_io(file, now, core) {
            Ok(Progress::Worked { bytes }) => {
                self.bytes.fetch_add(bytes, Ordering::Relaxed);
                let left_bytes = now.checkpoint.remaining_bytes(file);
                Ok(Step::Worked { bytes, left_bytes })
            }
            Ok(Progress::AwaitDurable(csn)) => {
                core.log.make_stable(csn)?;
                now.log_is_stable = true;
                Ok(Step::Worked { bytes: 0, left_bytes: now.checkpoint.remaining_bytes(file) })
            }
            Ok(Progress::Done) => {
                core.buffer.finish_snapshot(now.epoch);
                let span = clock::now().saturating_sub(now.began);
                *running = None;
                self.last_ns.store(span, Ordering::Relaxed);
                self.finished.fetch_add(1, Ordering::Relaxed);
                self.cuts.fetch_add(u64::from(file.bytes() < file_bytes), Ordering::Relaxed);
                *self.failure.lock() = None;
                let csn = file.root().csn;
                core.log.release(csn);
                events::checkpoint_finished(csn, file.bytes(), span);
                Ok(Step::Finished(csn))
            }
            Err(full @ Error::Full { .. }) => {
                if let Some(Running { checkpoint, epoch, moves, .. }) = running.take() {
                    let mut work = checkpoint.abandon(file);
                    moves.remove_from(&mut work);
                    core.buffer.abandon_snapshot(epoch, (&work.dirty, &work.long), &work.freed);
                    let because: Arc<str> = Arc::from(full.to_string());
                    events::checkpoint_abandoned(&because);
                    *self.failure.lock() = Some(because);
                }
                Err(full)
            }
            Err(error) => {
                let because = error.to_string();
                core.log.fail(&because);
                *self.failure.lock() = Some(Arc::from(because));
                Err(error)
            }
        }
    }
}

/// What the snapshot takes while the gate is closed.
struct SnapshotParts {
    csn: Csn,
    pages: StartedSnapshot,
    tree_directory: tree_directory::Snapshot,
    /// Pointers to the extents that only old versions hold.
    orphans: Vec<[u8; EXTENT_POINTER_BYTES]>,
}

/// Takes the snapshot. The gate is closed, unless a planted bug leaves it open. Commits wait meanwhile. The
/// work does not grow with the changed pages or the trees, only with the long values that nothing but old
/// versions holds, and the cap on versions bounds those.
fn take_snapshot<D: Disk>(
    core: &Core<D>,
    tree_directory: &TreeDirectory,
    _closed: Option<&ClosedGate>,
) -> SnapshotParts {
    SnapshotParts {
        csn: core.log.published(),
        pages: core.buffer.begin_snapshot(),
        tree_directory: tree_directory.snapshot(),
        orphans: core.extents_of_versions().into_iter().map(ExtentPointer::to_value).collect(),
    }
}

/// Begins a checkpoint of the snapshot with the gate open again. No other thread can reach the state before.
fn begin_checkpoint<D: Disk>(inside: &mut Inside<D>, core: &Core<D>, parts: SnapshotParts) {
    let csn = parts.csn;
    let snapshot = core.buffer.end_snapshot(parts.pages);
    let mut work = Work {
        csn,
        dirty: snapshot.dirty,
        long: snapshot.long,
        freed: if planted(PlantedBug::ForgetFreedPages) { Vec::new() } else { snapshot.freed },
        next_page: snapshot.next_page,
        meta: if planted(PlantedBug::TreeDirectoryNotInCheckpoint) {
            Vec::new()
        } else {
            parts.tree_directory.to_bytes(&parts.orphans)
        },
    };
    if planted(PlantedBug::ReleaseBeforeRoot) {
        core.log.release(csn);
    }
    let moves = inside.file.moves(&work);
    moves.add_to(&mut work, inside.file.root().page_bytes);
    inside.running = Some(Running {
        checkpoint: inside.file.begin(work),
        moves,
        epoch: snapshot.epoch,
        began: clock::now(),
        log_is_stable: false,
    });
}

fn one_io<D: Disk>(
    file: &mut DataFile<D>,
    running: &mut Running,
    core: &Core<D>,
) -> Result<Progress> {
    let mut pages = Captures {
        buffer: &core.buffer,
        epoch: running.epoch,
        page: Vec::new(),
        moves: &mut running.moves,
    };
    let durable_lsn =
        if running.log_is_stable { running.checkpoint.csn() } else { core.log.known_stable() };
    running.checkpoint.step(file, &mut pages, durable_lsn)
}

/// The pages of the running checkpoint's snapshot.
struct Captures<'a> {
    buffer: &'a Buffer,
    epoch: u64,
    /// Buffer for one page.
    page: Vec<u8>,
    moves: &'a mut Moves,
}

impl DirtyPages for Captures<'_> {
    fn capture(&mut self, page: PageId, out: &mut Vec<u8>) -> Result<()> {
        if let Some(image) = self.moves.take(page) {
            *out = image;
            return Ok(());
        }
        self.buffer.capture(self.epoch, page, &mut self.page);
        page_packing::pack(&mut self.page, out);
        Ok(())
    }

    fn first(&mut self) -> Option<PageId> {
        self.buffer.capture_first()
    }
}
