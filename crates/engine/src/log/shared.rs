//! The log as all its threads see it, and how any of them drives it.
//!
//! To drive is to take a job from the outlet under its lock, do it unlocked, bring it back, and wake
//! the commits that are complete. Whoever needs the log to move drives it: a blocking committer, a
//! worker at the end of its pass, the writer thread.
//!
//! No commit is forgotten, because
//! 1. `flying` is changed under the outlet's lock only, and a driver that brings a job back looks for
//!    the next one, or hands over to a waiter among the commits that are not launched yet;
//! 2. whoever publishes and finds nothing flying drives, and whoever finds something flying has
//!    registered its waker before it looked, or has a driver behind it that looks after publishing;
//! 3. a worker leaves staged commits of others behind only when some of its own clients were woken:
//!    their pass ends with an uncork. The writer thread leaves them only while a worker is corked or
//!    expected; the last one to uncork sees that nothing is flying, or the writer sees that it was the last;
//! 4. a driver that panics fails the log, which wakes everybody; a waker that panics is no driver's panic.

use crate::error::{Error, Result};
use crate::ids::Csn;
use crate::log::buffers::Pools;
use crate::log::commit::Ticket;
use crate::log::cork::Workers;
use crate::log::groups::{Group, Groups};
use crate::log::horizon::Horizon;
use crate::log::job::{Done, Job};
use crate::log::options::{Durability, Options, Writer};
use crate::log::outlet::{Finished, Outlet};
use crate::log::ring::{NO_WORKER, Ring};
use crate::log::ripe::Ripeness;
use crate::log::segment::{self, Mode, SegmentFile, SegmentHeader};
use crate::log::segments::Preparation;
use crate::log::stats::SharedStats;
use crate::log::threads::Threads;
use crate::panics::{self, OnPanic};
use crate::plant::{Plant, planted};
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use crate::sync::rank::{GROUPS, OUTLET};
use crate::sync::ranked::{StdMutex, StdMutexGuard};
use crate::sync::signal::Signal;
use crate::sync::thread::yield_now;
use crate::txn::step::{Step, step};
use crossbeam_utils::CachePadded;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU32 as PlainU32;
use syncline_disk::Disk;
use syncline_metering::{Module, clock, tag};

/// How many logs the process has had.
static LOGS: PlainU32 = PlainU32::new(0);

/// See the module.
#[derive(Debug)]
pub(super) struct Shared<D: Disk> {
    /// Its number among all logs of the process, which its tickets carry.
    pub(super) number: u32,
    pub(super) disk: D,
    pub(super) directory: PathBuf,
    pub(super) options: Options,
    pub(super) mode: Mode,
    pub(super) ring: Ring,
    pub(super) horizon: Horizon,
    pub(super) stats: SharedStats,
    pub(super) workers: Workers,
    pub(super) writer_signal: Signal,
    pub(super) files_signal: Signal,
    outlet: StdMutex<Outlet<D::File>, OUTLET>,
    /// Buffers for records.
    pub(super) buffers: Pools,
    groups: StdMutex<Groups, GROUPS>,
    flying: CachePadded<AtomicU32>,
    /// Segments that hold commits which recovery may need; changed under the outlet's lock.
    live_segments: AtomicU64,
    /// Threads that are blocked until a commit is complete.
    pub(super) blocked: CachePadded<AtomicU32>,
    /// Whether what is staged is to be written beside the passes of workers.
    pub(super) ripeness: Ripeness,
    /// True if a thread writes beside the passes of workers what is ripe.
    pub(super) hands_over: bool,
    /// A worker has staged so much that the writer thread shall not wait for its uncork.
    pressed: AtomicBool,
}

/// Whom a finished job has woken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Woken {
    /// Commits that are complete now.
    pub(super) commits: u64,
    /// Tickets of the driving worker that were woken.
    pub(super) own: u32,
}

/// When a driver stops.
pub(super) enum Until<'a> {
    /// When there is nothing to launch.
    Idle,
    /// When this holds after a job.
    Enough(&'a dyn Fn(Woken) -> bool),
}

impl<D: Disk> Shared<D> {
    pub(super) fn new(
        disk: D,
        directory: PathBuf,
        options: Options,
        mode: Mode,
        last: Csn,
        mut outlet: Outlet<D::File>,
        threads: Threads,
    ) -> Shared<D> {
        let ring = Ring::new(options.ring_records, last.next());
        outlet.set_space(&ring);
        Shared {
            number: LOGS.fetch_add(1, Ordering::Relaxed),
            disk,
            directory,
            mode,
            ring,
            horizon: Horizon::new(last),
            stats: SharedStats::default(),
            workers: Workers::default(),
            writer_signal: Signal::default(),
            files_signal: Signal::default(),
            live_segments: AtomicU64::new(outlet.segments().live()),
            outlet: StdMutex::new(outlet),
            groups: StdMutex::default(),
            buffers: Pools::default(),
            flying: CachePadded::default(),
            blocked: CachePadded::default(),
            pressed: AtomicBool::new(false),
            ripeness: Ripeness::new(last.next(), clock::now()),
            // A write that nobody waits for takes less than a hand-over.
            hands_over: threads == Threads::Own && options.durability != Durability::None,
            options,
        }
    }

    /// True if as many jobs are on their way as may be. Whoever sees this may rely on a driver that
    /// will look for commits published before the call.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.flying.load(Ordering::SeqCst) >= self.options.writes_in_flight_max
    }

    /// Does jobs on this thread, as worker `me`. Returns how many.
    pub(super) fn drive(&self, me: u32, until: &Until<'_>) -> u32 {
        let _entered = tag::enter(Module::Logging);
        // A job that is not brought back would be waited for by everybody.
        let fail = |because: &str| self.fail(because);
        panics::failing("a write of the log", fail, || self.drive_on(me, until))
    }

    fn drive_on(&self, me: u32, until: &Until<'_>) -> u32 {
        let mut jobs = 0;
        while let Some(job) = self.begin() {
            let done = {
                let _lost = OnPanic::new(|| {
                    self.flying.fetch_sub(1, Ordering::SeqCst);
                });
                step(Step::LogJob);
                job.perform(&self.stats)
            };
            let woken = self.end(done, me);
            jobs += 1;
            if let Until::Enough(enough) = until
                && enough(woken)
            {
                break;
            }
        }
        jobs
    }

    /// Makes the writer thread launch, even if workers are corked.
    pub(super) fn press(&self) {
        self.pressed.store(true, Ordering::SeqCst);
        self.writer_signal.raise();
    }

    /// The same by who has published a commit that no uncork writes. If a job is on its way, its driver
    /// sees the press when it has brought that back.
    pub(super) fn press_if_idle(&self) {
        self.pressed.store(true, Ordering::SeqCst);
        if !self.is_busy() {
            self.writer_signal.raise();
        }
    }

    /// True if the writer thread leaves what is staged to an uncork that is about to come.
    pub(super) fn is_held_back(&self) -> bool {
        (self.hands_over || self.options.writer == Writer::Thread)
            && (self.workers.any_away() || planted(Plant::LeaveToNobody))
            // Who is blocked waits for no uncork.
            && self.blocked.load(Ordering::SeqCst) == 0
            && !self.pressed.swap(false, Ordering::SeqCst)
            && !self.is_ripe()
    }

    /// True if a group is staged that is to be written beside the passes of workers.
    #[inline]
    pub(super) fn is_ripe(&self) -> bool {
        self.hands_over && !self.is_busy() && self.ripeness.is_ripe(self.ring.next(), clock::now)
    }

    /// True if something is staged that may wait no longer for all workers to uncork at once.
    pub(super) fn is_overdue(&self) -> bool {
        self.hands_over && !self.is_busy() && self.ripeness.is_overdue(self.ring.next(), clock::now)
    }

    /// Takes a job, if there is one.
    pub(super) fn begin(&self) -> Option<Job<D::File>> {
        let mut outlet = self.outlet();
        let next = outlet.next();
        let job = outlet.next_job(&self.ring)?;
        let commits = outlet.next().0 - next.0;
        if commits > 0 {
            self.stats.group_commits.add(commits);
        }
        self.buffers.keep(outlet.drained());
        let record_bytes = outlet.record_bytes();
        self.stats
            .record_bytes
            .store(record_bytes, Ordering::Relaxed);
        let is_header = matches!(job, Job::Header { .. });
        if is_header {
            self.count_live(&mut outlet);
        }
        self.flying.fetch_add(1, Ordering::SeqCst);
        let launched = outlet.horizon();
        if commits > 0 {
            self.ripeness.launched(outlet.next(), clock::now());
        }
        drop(outlet);
        if planted(Plant::AcknowledgeBeforeSync) {
            let before = self.horizon.advance(launched);
            self.wake_complete(before, launched, NO_WORKER);
        }
        if is_header {
            self.files_signal.raise();
        }
        Some(job)
    }

    /// Brings a job back and wakes whom it completes.
    pub(super) fn end(&self, done: Done<D::File>, me: u32) -> Woken {
        let mut outlet = self.outlet();
        self.flying.fetch_sub(1, Ordering::SeqCst);
        // Whoever publishes fences, too, before it looks at `flying`: it sees that this job has landed,
        // or the looks at the ring that follow here see its record.
        fence(Ordering::SeqCst);
        let span = done.span;
        let write = match &done.job {
            Job::Write { is_sync, .. } => Some(*is_sync),
            Job::Sync { .. } | Job::Header { .. } => None,
        };
        let finished = outlet.finish(done);
        let range = match &finished {
            Finished::Horizon(to) => {
                if let Some(is_sync) = write {
                    self.ripeness.written(span, self.ring.next());
                    self.groups().written(span, is_sync);
                }
                // Before the horizon moves: whoever sees it moved finds the group.
                if *to > self.horizon.get() {
                    self.groups().stable(*to, span.1);
                }
                (self.horizon.advance(*to), *to)
            }
            Finished::Failed(because) => {
                self.horizon.fail(Arc::clone(because));
                (Csn::ZERO, Csn::ZERO)
            }
        };
        drop(outlet);
        match finished {
            Finished::Horizon(_) => self.wake_complete(range.0, range.1, me),
            Finished::Failed(_) => {
                self.wake_all();
                Woken::default()
            }
        }
    }

    /// Closes the log after a failure that was no job's.
    pub(super) fn fail(&self, because: &str) {
        self.outlet().poison();
        self.horizon.fail(Arc::from(because));
        self.wake_all();
    }

    /// Waits until nobody writes to the log's files or prepares one. The log has failed: nobody begins to.
    pub(super) fn wait_until_at_rest(&self) {
        while self.flying.load(Ordering::SeqCst) > 0 || self.outlet().segments().is_preparing() {
            yield_now();
        }
    }

    /// Fails if the log has failed.
    pub(super) fn check(&self) -> Result<()> {
        match self.horizon.failure() {
            Some(because) => Err(Error::Poisoned {
                because: Arc::clone(because),
            }),
            None => Ok(()),
        }
    }

    /// Fails for a ticket that this log has not issued: nobody would ever complete it.
    #[inline]
    pub(super) fn check_ticket(&self, ticket: Ticket) -> Result<()> {
        if ticket.log != self.number {
            return Err(Error::OtherTicket { csn: ticket.csn });
        }
        Ok(())
    }

    /// Whether a commit is over. At durability none it is over when it and all before it are published,
    /// so that whoever begins a transaction then sees it; for those before it this waits.
    #[inline]
    pub(super) fn outcome(&self, csn: Csn) -> Option<Result<()>> {
        if self.options.durability == Durability::None && self.is_prefix_published(csn) {
            return Some(Ok(()));
        }
        self.horizon.outcome(csn)
    }

    /// Waits until all commits up to that one are published; false if the log fails before. Between
    /// taking a number and publishing it nobody waits for anything, but may have lost its processor.
    fn is_prefix_published(&self, csn: Csn) -> bool {
        loop {
            if self.horizon.failure().is_some() {
                return false;
            }
            let last = self.ring.published_prefix(self.horizon.get());
            if last >= csn || planted(Plant::AcknowledgeBehindGap) {
                return true;
            }
            yield_now();
        }
    }

    /// Wakes one waiter among the commits that are not launched, if nothing is on its way: it will
    /// find its commit incomplete and drive.
    pub(super) fn hand_over(&self) {
        if self.is_busy() {
            return;
        }
        let mut csn = self.outlet().next();
        while self.ring.is_published(csn) {
            if let Some((waker, _)) = self.ring.take_waker(csn) {
                panics::wake(waker);
                return;
            }
            csn = csn.next();
        }
    }

    /// Prepares a segment file on this thread if one is wanted. True if one was prepared.
    pub(super) fn prepare_segment(&self, more: bool) -> Result<bool> {
        let (how, like) = {
            let mut outlet = self.outlet();
            // Looked at under the outlet's lock: whoever closes the log then looks there for who prepares.
            self.check()?;
            let Some(how) = outlet.segments().begin_preparing(more) else {
                return Ok(false);
            };
            (how, outlet.header_like())
        };
        let fail = |because: &str| {
            self.outlet().segments().end_preparing(how, None);
            self.fail(because);
        };
        let prepared = panics::failing("the preparation of a log file", fail, || {
            self.prepared(how, &like)
        });
        let (file, result) = match prepared {
            Ok(file) => (Some(file), Ok(true)),
            Err(error) => (None, Err(error)),
        };
        let mut outlet = self.outlet();
        outlet.segments().end_preparing(how, file);
        outlet.set_space(&self.ring);
        drop(outlet);
        result
    }

    /// Lets the files of segments be used again whose commits are all at or below `csn`.
    pub(super) fn release(&self, csn: Csn) {
        let mut outlet = self.outlet();
        let freed = outlet.segments().release(csn);
        self.count_live(&mut outlet);
        drop(outlet);
        if freed {
            self.files_signal.raise();
        }
    }

    /// Bytes of the segments that hold commits which recovery may need.
    pub(super) fn live_bytes(&self) -> u64 {
        self.live_segments.load(Ordering::Relaxed) * self.options.segment_bytes
    }

    fn count_live(&self, outlet: &mut Outlet<D::File>) {
        let live = outlet.segments().live();
        self.live_segments.store(live, Ordering::Relaxed);
    }

    /// The segment that is written to now.
    pub(super) fn current_file(&self) -> Arc<D::File> {
        self.outlet().segments().current()
    }

    /// How many segment files have been used again.
    pub(super) fn recycled(&self) -> u64 {
        self.outlet().segments().recycled()
    }

    fn prepared(&self, how: Preparation, like: &SegmentHeader) -> Result<SegmentFile<D::File>> {
        let index = match how {
            Preparation::Make(index) => {
                let file = (index, like.segment_bytes);
                segment::make(&self.disk, &self.directory, file, self.mode.direct)?;
                // That took a while: the mark says what is stable by now.
                self.mark(index, &self.outlet().header_like())?;
                index
            }
            Preparation::Reuse { index, may_mark } => {
                if may_mark {
                    self.mark(index, like)?;
                }
                index
            }
        };
        segment::open(&self.disk, &self.directory, index, self.mode)
    }

    fn mark(&self, index: u32, like: &SegmentHeader) -> Result<()> {
        segment::mark(&self.disk, &self.directory, (index, like), self.mode.direct)
    }

    fn wake_complete(&self, from: Csn, to: Csn, me: u32) -> Woken {
        let mut woken = Woken {
            commits: to.0.saturating_sub(from.0),
            own: 0,
        };
        for csn in from.0 + 1..=to.0 {
            while let Some((waker, worker)) = self.ring.take_waker(Csn(csn)) {
                if worker == me {
                    woken.own += 1;
                } else {
                    self.workers.expect(worker);
                }
                panics::wake(waker);
            }
        }
        if woken.commits > 0 {
            self.ring.complete(woken.commits);
        }
        woken
    }

    /// Wakes everybody who waits, since what they wait for will not come.
    fn wake_all(&self) {
        if planted(Plant::FailQuietly) {
            return;
        }
        let next = self.ring.next();
        for csn in self.horizon.get().0 + 1..next.0 {
            while let Some((waker, _)) = self.ring.take_waker(Csn(csn)) {
                panics::wake(waker);
            }
        }
        self.writer_signal.raise();
    }

    /// The group that made a commit stable; none if it is not, or is long since.
    pub(super) fn group_of(&self, csn: Csn) -> Option<Group> {
        self.groups().of(csn)
    }

    fn groups(&self) -> StdMutexGuard<'_, Groups, GROUPS> {
        self.groups.lock()
    }

    fn outlet(&self) -> StdMutexGuard<'_, Outlet<D::File>, OUTLET> {
        self.outlet.lock()
    }
}
