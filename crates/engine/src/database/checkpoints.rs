//! Checkpoints of a running database: who begins one, who moves it on, and what a failure means.
//!
//! Whoever needs a checkpoint to move drives it, as with the log: the checkpoint thread, a call of
//! `checkpoint` or `verify`, or a writer that waits: for room in the pool of pre-images, for a shorter log,
//! or for memory at the cap. One at a time takes the state's mutex and does a step; the others wait for that
//! mutex and then do the next.
//!
//! Invariant: the commit gate comes before the state's mutex. Whoever needs both closes the gate first;
//! whoever holds the mutex never waits at the gate. So the holder of the closed gate, such as a definition
//! that needs a checkpoint of its own, or a transaction that runs alone and lacks pre-images, may always
//! wait for the mutex. Who begins a checkpoint does not: with commits standing at the gate it does not
//! sit out another thread's I/O, but opens the gate again and waits for the mutex without it.
//!
//! States of a checkpoint: none, running (its cut is taken), finished, abandoned. One that finds the disk
//! full is abandoned: its pages are dirty again, its slots free, its pre-images forgotten. So the next one is
//! of a later cut, which needs less when rows were deleted meanwhile, and writers do not wait for a
//! checkpoint that cannot go on. Any other failure closes the log, and with it the database, for good.

use crate::access::btree::overflow::OverflowPointer;
use crate::buffer::page_snapshot::StartedSnapshot;
use crate::buffer::{Buffer, page_packing};
use crate::checkpoint::{Checkpoint, DataFile, DirtyPages, Inspection, Progress, Work};
use crate::error::{Error, Result};
use crate::ids::{Csn, PageId};
use crate::panics;
use crate::planted_bug::{PlantedBug, planted};
use crate::sync::rank::CHECKPOINT;
use crate::sync::ranked::Mutex;
use crate::tree_directory::{self, TreeDirectory};
use crate::txn::step::{self, step};
use crate::txn::{ClosedGate, Core};
use std::sync::atomic::{AtomicU64, Ordering};
use syncline_instrument::{Module, Nanos, clock, tag};
use syncline_vfs::Disk;

/// Who begins a checkpoint and finds another thread at the data file opens the gate again, but for the
/// last of so many attempts: then it waits with the gate closed.
const BEGIN_ATTEMPTS: u32 = 16;

/// What a step of [`Checkpoints::drive`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// None is running.
    Idle,
    /// It went on, by a write of so many bytes, with so many left.
    Worked {
        /// Bytes written.
        bytes: u64,
        /// Bytes still to be written.
        left_bytes: u64,
    },
    /// It is in force: everything up to this commit is in the data file.
    Finished(Csn),
}

/// What checkpoints have done since the database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointStats {
    /// Checkpoints in force since opening.
    pub finished: u64,
    /// Bytes that they wrote: pages, map, directory and roots, and zeros by which the file grew.
    pub bytes: u64,
    /// Nanoseconds that commits were held up by their cuts.
    pub gate_ns: Nanos,
    /// Nanoseconds from cut to root, of the last one.
    pub last_ns: Nanos,
}

#[derive(Debug)]
struct Running {
    checkpoint: Checkpoint,
    epoch: u64,
    began: Nanos,
    /// The log was made stable up to the cut.
    log_is_stable: bool,
}

struct Inside<D: Disk> {
    file: DataFile<D>,
    running: Option<Running>,
}

/// See the module.
pub(crate) struct Checkpoints<D: Disk> {
    inside: Mutex<Inside<D>, CHECKPOINT>,
    finished: AtomicU64,
    bytes: AtomicU64,
    gate_ns: AtomicU64,
    last_ns: AtomicU64,
}

impl<D: Disk> Checkpoints<D> {
    pub(crate) fn new(file: DataFile<D>) -> Checkpoints<D> {
        Checkpoints {
            inside: Mutex::new(Inside { file, running: None }),
            finished: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            gate_ns: AtomicU64::new(0),
            last_ns: AtomicU64::new(0),
        }
    }

    /// Begins one unless one is running; true if it did.
    pub(crate) fn begin(&self, core: &Core<D>, tree_directory: &TreeDirectory) -> Result<bool> {
        for attempt in 1.. {
            // With the gate open: this may take as long as another thread's I/O.
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
                    let cut = take_snapshot(core, tree_directory, Some(&closed));
                    drop(closed);
                    begin_checkpoint(&mut inside, core, cut);
                }
                return Ok(is_begun);
            }
            let _failing = core.fail_on_panic("the beginning of a checkpoint");
            let closed = (!planted(PlantedBug::CutWithoutGate)).then(|| core.close_gate());
            let closed = closed.transpose()?;
            let inside = if attempt < BEGIN_ATTEMPTS {
                self.inside.try_lock()
            } else {
                Some(self.inside.lock())
            };
            let inside = inside.filter(|inside| inside.running.is_none());
            let cut =
                inside.as_ref().map(|_inside| take_snapshot(core, tree_directory, closed.as_ref()));
            drop(closed);
            let held_up = clock::now().saturating_sub(started);
            self.gate_ns.fetch_add(held_up, Ordering::Relaxed);
            if let (Some(mut inside), Some(cut)) = (inside, cut) {
                begin_checkpoint(&mut inside, core, cut);
                return Ok(true);
            }
        }
        unreachable!("attempts do not end")
    }

    /// Does one I/O towards room for a checkpoint of what has changed by now; idle if there is room, or no
    /// space for more, or if one is running.
    pub(crate) fn make_room(&self, core: &Core<D>) -> Result<Step> {
        let mut inside = self.inside.lock();
        if inside.running.is_some() {
            return Ok(Step::Idle);
        }
        let _entered = tag::enter(Module::DataStore);
        let (changed, next_page) = core.buffer.changed_pages();
        let fail = |because: &str| core.log.fail(because);
        let made = panics::failing("the growth of the data file", fail, || {
            inside.file.make_room(changed, next_page)
        });
        match made {
            Ok(Some((bytes, left_bytes))) => {
                self.bytes.fetch_add(bytes, Ordering::Relaxed);
                Ok(Step::Worked { bytes, left_bytes })
            }
            // Whether that is too little the checkpoint will see.
            Ok(None) | Err(Error::Full { .. }) => Ok(Step::Idle),
            Err(error) => {
                core.log.fail(&error.to_string());
                Err(error)
            }
        }
    }

    /// Does one step of the running one.
    pub(crate) fn drive(&self, core: &Core<D>) -> Result<Step> {
        self.step(&mut self.inside.lock(), core)
    }

    /// One from cut to root, after the running one. If the disk has no space for it, rows that nobody needs
    /// any more are removed, and it is tried once more.
    pub(crate) fn run(&self, core: &Core<D>, tree_directory: &TreeDirectory) -> Result<Csn> {
        let wanted = core.log.published();
        let mut swept = false;
        loop {
            match self.finish(core) {
                // It was abandoned: one of a later cut may need less.
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
                    // Another thread may have begun it, and may have finished it, or abandoned it.
                    if csn >= wanted {
                        return Ok(csn);
                    }
                }
            }
        }
    }

    /// The commit up to which the data file holds everything.
    pub(crate) fn csn(&self) -> Csn {
        self.inside.lock().file.root().csn
    }

    /// What they have done.
    pub(crate) fn stats(&self) -> CheckpointStats {
        CheckpointStats {
            finished: self.finished.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            gate_ns: self.gate_ns.load(Ordering::Relaxed),
            last_ns: self.last_ns.load(Ordering::Relaxed),
        }
    }

    /// What the data file says of itself.
    pub(crate) fn inspect(&self) -> Result<Inspection> {
        self.inside.lock().file.inspect()
    }

    /// Reads everything in the data file again, after the running one is finished; what is wrong there,
    /// in sentences.
    pub(crate) fn check(&self, core: &Core<D>) -> Result<Vec<String>> {
        let mut inside = self.inside.lock();
        self.end_running(&mut inside, core)?;
        inside.file.check()
    }

    fn finish(&self, core: &Core<D>) -> Result<()> {
        while !matches!(self.drive(core)?, Step::Idle | Step::Finished(_)) {}
        Ok(())
    }

    /// Until none is running: it is finished, or abandoned on a full disk.
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
        // What another driver's panic has left half done is not written on.
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
        match one_io(file, now, core) {
            Ok(Progress::Worked { bytes }) => {
                self.bytes.fetch_add(bytes, Ordering::Relaxed);
                let left_bytes = now.checkpoint.remaining_bytes(file);
                Ok(Step::Worked { bytes, left_bytes })
            }
            Ok(Progress::AwaitHorizon(csn)) => {
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
                let csn = file.root().csn;
                core.log.release(csn);
                Ok(Step::Finished(csn))
            }
            Err(full @ Error::Full { .. }) => {
                if let Some(Running { checkpoint, epoch, .. }) = running.take() {
                    let work = checkpoint.abandon(file);
                    core.buffer.abandon_snapshot(epoch, &work.dirty, &work.freed);
                }
                Err(full)
            }
            Err(error) => {
                core.log.fail(&error.to_string());
                Err(error)
            }
        }
    }
}

/// What is taken at the moment of a cut.
struct SnapshotParts {
    csn: Csn,
    pages: StartedSnapshot,
    tree_directory: tree_directory::Snapshot,
    /// Overflow pages that only old versions hold.
    orphans: Vec<OverflowPointer>,
}

/// Takes the cut. The gate is closed, but where a test plants that it is not. Commits wait meanwhile: the
/// work does not grow with the pages that changed, nor with the trees, but with the long values that only
/// old versions hold, which the cap on versions bounds.
fn take_snapshot<D: Disk>(
    core: &Core<D>,
    tree_directory: &TreeDirectory,
    _closed: Option<&ClosedGate>,
) -> SnapshotParts {
    SnapshotParts {
        csn: core.log.published(),
        pages: core.buffer.begin_snapshot(),
        tree_directory: tree_directory.snapshot(),
        orphans: core.stubs_of_versions(),
    }
}

/// Begins a checkpoint of the cut, with the gate open again. No other thread gets at the state before.
fn begin_checkpoint<D: Disk>(inside: &mut Inside<D>, core: &Core<D>, parts: SnapshotParts) {
    let csn = parts.csn;
    let cut = core.buffer.end_snapshot(parts.pages);
    let work = Work {
        csn,
        dirty: cut.dirty,
        freed: if planted(PlantedBug::ForgetFreedPages) { Vec::new() } else { cut.freed },
        next_page: cut.next_page,
        meta: if planted(PlantedBug::ForestNotInCheckpoint) {
            Vec::new()
        } else {
            parts.tree_directory.to_bytes(&parts.orphans)
        },
    };
    if planted(PlantedBug::ReleaseBeforeRoot) {
        core.log.release(csn);
    }
    inside.running = Some(Running {
        checkpoint: inside.file.begin(work),
        epoch: cut.epoch,
        began: clock::now(),
        log_is_stable: false,
    });
}

fn one_io<D: Disk>(
    file: &mut DataFile<D>,
    running: &mut Running,
    core: &Core<D>,
) -> Result<Progress> {
    let mut pages = Captures { buffer: &core.buffer, epoch: running.epoch, page: Vec::new() };
    let durable_lsn =
        if running.log_is_stable { running.checkpoint.csn() } else { core.log.known_stable() };
    running.checkpoint.step(file, &mut pages, durable_lsn)
}

/// The pages of a running cut.
struct Captures<'a> {
    buffer: &'a Buffer,
    epoch: u64,
    /// A page on its way.
    page: Vec<u8>,
}

impl DirtyPages for Captures<'_> {
    fn capture(&mut self, page: PageId, out: &mut [u8]) -> usize {
        self.page.resize(out.len(), 0);
        self.buffer.capture(self.epoch, page, &mut self.page);
        page_packing::pack(&self.page, out)
    }

    fn first(&mut self) -> Option<PageId> {
        self.buffer.capture_first()
    }
}
