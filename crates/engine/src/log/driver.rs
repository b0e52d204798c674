//! The state of the log that all its threads share, and how any of them drives it.
//!
//! To drive is to take an I/O request from the frame writer under its lock, perform it without the lock,
//! return it, and wake the commits that are complete. Any thread that needs the log to move drives it: a
//! blocking committer, a worker at the end of its pass, the writer thread.
//!
//! No commit is forgotten, because
//! 1. `flying` changes only under the frame writer's lock, and a driver that returns an I/O request checks
//!    for the next one, or hands over to a waiter among the commits that are not launched yet;
//! 2. a thread that publishes and finds nothing flying drives; one that finds something flying either has
//!    registered its waker before it checked, or relies on a driver that checks after the publishing;
//! 3. a worker leaves staged commits of others behind only when some of its own clients were woken: the end
//!    of their pass drives. The writer thread leaves them only while a worker is in a pass or expected; the
//!    last one to end its pass sees that nothing is flying, or the writer sees that it was the last;
//! 4. a driver that panics fails the log, which wakes all waiters; a panicking waker does not make its driver
//!    panic.

use crate::error::{Error, Result};
use crate::events;
use crate::ids::Csn;
use crate::log::CLOSED;
use crate::log::batch_gate::BatchGate;
use crate::log::commit::Ticket;
use crate::log::durable_lsn::DurableLsn;
use crate::log::flush_policy::FlushPolicy;
use crate::log::frame_writer::{FrameWriter, IoOutcome};
use crate::log::group_history::{Group, GroupHistory};
use crate::log::io_request::{IoCompletion, IoRequest};
use crate::log::options::{Durability, Options, Writer};
use crate::log::record_buffers::Pools;
use crate::log::ring::{NO_WORKER, Ring};
use crate::log::segment::Mode;
use crate::log::stats::{SharedStats, Stats};
use crate::log::threads::Threads;
use crate::panics::{self, OnPanic};
use crate::planted_bug::{PlantedBug, planted};
use crate::step::{Step, step};
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use crate::sync::rank::{ARCHIVE_FAILURE, FRAME_WRITER, GROUPS};
use crate::sync::ranked::{StdMutex, StdMutexGuard};
use crate::sync::signal::Signal;
use crate::sync::thread::yield_now;
use crossbeam_utils::CachePadded;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU32 as PlainU32;
use syncline_instrument::{Module, clock, tag};
use syncline_vfs::Disk;

/// How many logs the process has opened.
static LOGS: PlainU32 = PlainU32::new(0);

/// The shared state of an open log.
#[derive(Debug)]
pub(super) struct Shared<D: Disk> {
    /// Its number among all logs of the process, which its tickets carry.
    pub(super) number: u32,
    pub(super) disk: D,
    pub(super) directory: PathBuf,
    pub(super) options: Options,
    pub(super) mode: Mode,
    pub(super) ring: Ring,
    pub(super) durable_lsn: DurableLsn,
    pub(super) stats: SharedStats,
    pub(super) workers: BatchGate,
    pub(super) writer_signal: Signal,
    /// Raised when a file should be prepared.
    pub(super) files_signal: Arc<Signal>,
    /// True if a thread of the log waits for that signal.
    pub(super) prepares_files: bool,
    /// Raised when a segment may be archived.
    pub(super) archive_signal: Signal,
    /// Why the last attempt to archive a segment failed; none if it did not.
    pub(super) archive_failure: StdMutex<Option<Arc<str>>, ARCHIVE_FAILURE>,
    frame_writer: StdMutex<FrameWriter<D::File>, FRAME_WRITER>,
    /// Pools of record buffers.
    pub(super) buffers: Pools,
    groups: StdMutex<GroupHistory, GROUPS>,
    flying: CachePadded<AtomicU32>,
    /// Bytes of segments that hold commits which recovery may need; changed under the frame writer's lock.
    live_bytes: AtomicU64,
    /// Threads that are blocked until a commit is complete.
    pub(super) blocked: CachePadded<AtomicU32>,
    /// Decides whether staged commits are written concurrently with the workers' passes.
    pub(super) flush_policy: FlushPolicy,
    /// True if a thread writes groups that are ready to flush while workers run their passes.
    pub(super) hands_over: bool,
    /// Set when the writer thread must not wait for the end of a pass any longer.
    write_requested: AtomicBool,
}

/// The waiters that a finished I/O request has woken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WokenWaiters {
    /// Commits that are now complete.
    pub(super) commits: u64,
    /// How many of the woken tickets belong to the driving worker.
    pub(super) own: u32,
}

/// When a driver stops.
pub(super) enum StopCondition<'a> {
    /// When there is nothing to launch.
    Idle,
    /// When this holds after an I/O request.
    Enough(&'a dyn Fn(WokenWaiters) -> bool),
}

impl<D: Disk> Shared<D> {
    pub(super) fn new(
        disk: D,
        directory: PathBuf,
        options: Options,
        mode: Mode,
        last: Csn,
        mut frame_writer: FrameWriter<D::File>,
        threads: Threads,
    ) -> Shared<D> {
        let prepares_files = matches!(threads, Threads::Own);
        let has_threads = !matches!(threads, Threads::None);
        let files_signal = match threads {
            Threads::Writers(signal) => signal,
            Threads::Own | Threads::None => Arc::default(),
        };
        let ring = Ring::new(options.ring_records, last.next());
        frame_writer.set_space(&ring);
        Shared {
            number: LOGS.fetch_add(1, Ordering::Relaxed),
            disk,
            directory,
            mode,
            ring,
            durable_lsn: DurableLsn::new(last),
            stats: SharedStats::default(),
            workers: BatchGate::default(),
            writer_signal: Signal::default(),
            files_signal,
            prepares_files,
            archive_signal: Signal::default(),
            archive_failure: StdMutex::default(),
            live_bytes: AtomicU64::new(frame_writer.segments().live_bytes()),
            frame_writer: StdMutex::new(frame_writer),
            groups: StdMutex::default(),
            buffers: Pools::default(),
            flying: CachePadded::default(),
            blocked: CachePadded::default(),
            write_requested: AtomicBool::new(false),
            flush_policy: FlushPolicy::new(last.next(), clock::now()),
            // A write that no caller waits for takes less than a hand-over.
            hands_over: has_threads && options.durability != Durability::None,
            options,
        }
    }

    /// True if the maximum number of I/O requests is in flight. The caller may then rely on a driver that
    /// checks for commits published before the call.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.flying.load(Ordering::SeqCst) >= self.options.writes_in_flight_max
    }

    /// Performs I/O requests on this thread, as worker `me`. Returns how many.
    pub(super) fn drive(&self, me: u32, until: &StopCondition<'_>) -> u32 {
        let _entered = tag::enter(Module::Logging);
        // All threads would wait for an I/O request that is never returned.
        let fail = |because: &str| self.fail(because);
        panics::failing("a write of the log", fail, || self.drive_on(me, until))
    }

    fn drive_on(&self, me: u32, until: &StopCondition<'_>) -> u32 {
        let mut io_requests = 0;
        while let Some(io_request) = self.begin() {
            let done = {
                let _lost = OnPanic::new(|| {
                    self.flying.fetch_sub(1, Ordering::SeqCst);
                });
                step(Step::LogRequest);
                io_request.perform(&self.stats)
            };
            let woken = self.end(done, me);
            io_requests += 1;
            if let StopCondition::Enough(enough) = until
                && enough(woken)
            {
                break;
            }
        }
        io_requests
    }

    /// Makes the writer thread launch a write, even if workers are in a pass.
    pub(super) fn request_write(&self) {
        self.write_requested.store(true, Ordering::SeqCst);
        self.writer_signal.raise();
    }

    /// The same for a caller that has published a commit that the end of no pass writes. If an I/O request
    /// is in flight, its driver sees this request after returning it.
    pub(super) fn request_write_if_idle(&self) {
        self.write_requested.store(true, Ordering::SeqCst);
        if !self.is_busy() {
            self.writer_signal.raise();
        }
    }

    /// True if the writer thread leaves staged commits to the end of a pass that is still to come.
    pub(super) fn is_held_back(&self) -> bool {
        (self.hands_over || self.options.writer == Writer::Thread)
            && (self.workers.any_away() || planted(PlantedBug::LeaveToAbsentPass))
            // A blocked thread does not wait for the end of a pass.
            && self.blocked.load(Ordering::SeqCst) == 0
            && !self.write_requested.swap(false, Ordering::SeqCst)
            && !self.is_ready_to_flush()
    }

    /// True if a staged group should be written while workers run their passes.
    #[inline]
    pub(super) fn is_ready_to_flush(&self) -> bool {
        self.hands_over
            && !self.is_busy()
            && self.flush_policy.is_ready_to_flush(self.ring.next(), clock::now)
    }

    /// True if something staged must not wait any longer for a moment without any pass.
    pub(super) fn is_past_deadline(&self) -> bool {
        self.hands_over
            && !self.is_busy()
            && self.flush_policy.is_past_deadline(self.ring.next(), clock::now)
    }

    /// Takes an I/O request, if there is one.
    pub(super) fn begin(&self) -> Option<IoRequest<D::File>> {
        let mut frame_writer = self.frame_writer();
        let next = frame_writer.next();
        let io_request = frame_writer.next_job(&self.ring)?;
        let commits = frame_writer.next().0 - next.0;
        if commits > 0 {
            self.stats.group_commits.add(commits);
        }
        self.buffers.keep(frame_writer.drained());
        let record_bytes = frame_writer.record_bytes();
        self.stats.record_bytes.store(record_bytes, Ordering::Relaxed);
        let is_header = matches!(io_request, IoRequest::Header { .. });
        if is_header {
            self.count_live(&mut frame_writer);
        }
        self.flying.fetch_add(1, Ordering::SeqCst);
        let launched = frame_writer.durable_lsn();
        if commits > 0 {
            self.flush_policy.launched(frame_writer.next(), clock::now());
        }
        drop(frame_writer);
        if planted(PlantedBug::AcknowledgeBeforeSync) {
            let before = self.durable_lsn.advance(launched);
            self.wake_complete(before, launched, NO_WORKER);
        }
        if is_header {
            self.files_signal.raise();
        }
        Some(io_request)
    }

    /// Returns an I/O request and wakes the waiters that it completes.
    pub(super) fn end(&self, done: IoCompletion<D::File>, me: u32) -> WokenWaiters {
        let mut frame_writer = self.frame_writer();
        self.flying.fetch_sub(1, Ordering::SeqCst);
        // A publisher also fences before it reads `flying`: either it sees that this I/O request has landed,
        // or the following reads of the ring see its record.
        fence(Ordering::SeqCst);
        let span = done.span;
        let write = match &done.io_request {
            IoRequest::Write { is_sync, .. } => Some(*is_sync),
            IoRequest::Sync { .. } | IoRequest::Header { .. } => None,
        };
        let is_header = matches!(done.io_request, IoRequest::Header { .. });
        let finished = frame_writer.finish(done);
        let range = match &finished {
            IoOutcome::DurableLsn(to) => {
                if let Some(is_sync) = write {
                    self.flush_policy.written(span, self.ring.next());
                    self.groups().written(span, is_sync);
                }
                // Before the durable LSN moves, so that a thread that sees it moved finds the group.
                if *to > self.durable_lsn.get() {
                    self.groups().stable(*to, span.1);
                }
                (self.durable_lsn.advance(*to), *to)
            }
            IoOutcome::Failed(because) => {
                self.close(Arc::clone(because));
                (Csn::ZERO, Csn::ZERO)
            }
        };
        drop(frame_writer);
        if is_header {
            // The segment before may have waited for it.
            self.archive_signal.raise();
        }
        match finished {
            IoOutcome::DurableLsn(_) => self.wake_complete(range.0, range.1, me),
            IoOutcome::Failed(_) => {
                self.wake_all();
                WokenWaiters::default()
            }
        }
    }

    /// Closes the log after a failure that no I/O request caused.
    pub(super) fn fail(&self, because: &str) {
        self.frame_writer().poison();
        self.close(Arc::from(because));
        self.wake_all();
    }

    /// Completes no more commits.
    fn close(&self, because: Arc<str>) {
        if &*because != CLOSED && self.durable_lsn.failure().is_none() {
            events::failed(&because);
        }
        self.durable_lsn.fail(because);
    }

    /// Waits until no thread writes to the log's files or prepares one. The log has failed, so none begins.
    pub(super) fn wait_until_at_rest(&self) {
        while self.flying.load(Ordering::SeqCst) > 0
            || self.frame_writer().segments().is_preparing()
            || self.frame_writer().segments().is_archiving()
        {
            yield_now();
        }
    }

    /// Fails if the log has failed.
    pub(super) fn check(&self) -> Result<()> {
        match self.durable_lsn.failure() {
            Some(because) => Err(Error::Poisoned { because: Arc::clone(because) }),
            None => Ok(()),
        }
    }

    /// Fails for a ticket that this log has not issued: it would never complete.
    #[inline]
    pub(super) fn check_ticket(&self, ticket: Ticket) -> Result<()> {
        if ticket.log != self.number {
            return Err(Error::OtherTicket { csn: ticket.csn });
        }
        Ok(())
    }

    /// The outcome of a commit that is over. At durability none it is over when it and all before it are
    /// published, so that every later transaction sees it; this function waits for those before it.
    #[inline]
    pub(super) fn outcome(&self, csn: Csn) -> Option<Result<()>> {
        if self.options.durability == Durability::None && self.is_prefix_published(csn) {
            return Some(Ok(()));
        }
        self.durable_lsn.outcome(csn)
    }

    /// Waits until all commits up to `csn` are published; false if the log fails first. A commit waits for
    /// nothing between taking its number and publishing, but its thread may have lost the processor.
    fn is_prefix_published(&self, csn: Csn) -> bool {
        loop {
            if self.durable_lsn.failure().is_some() {
                return false;
            }
            let last = self.ring.published_prefix(self.durable_lsn.get());
            if last >= csn || planted(PlantedBug::AcknowledgeBehindGap) {
                return true;
            }
            yield_now();
        }
    }

    /// Wakes one waiter among the commits that are not launched, if nothing is in flight: the waiter finds
    /// its commit incomplete and drives.
    pub(super) fn hand_over(&self) {
        if self.is_busy() {
            return;
        }
        let mut csn = self.frame_writer().next();
        while self.ring.is_published(csn) {
            if let Some((waker, _)) = self.ring.take_waker(csn) {
                panics::wake(waker);
                return;
            }
            csn = csn.next();
        }
    }

    /// True if nothing was written since the log was made.
    pub(super) fn is_untouched(&self) -> bool {
        self.frame_writer().segments().begins_with(self.durable_lsn.get().next())
    }

    /// Bytes of the segments that hold commits which recovery may need.
    pub(super) fn live_bytes(&self) -> u64 {
        self.live_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn count_live(&self, frame_writer: &mut FrameWriter<D::File>) {
        let live = frame_writer.segments().live_bytes();
        self.live_bytes.store(live, Ordering::Relaxed);
    }

    /// True if a checkpoint of all commits would free a file.
    pub(super) fn is_releasable(&self) -> bool {
        self.frame_writer().segments().is_releasable()
    }

    /// Counters since the log was opened.
    pub(super) fn stats(&self) -> Stats {
        self.stats.get(self.frame_writer().segments())
    }

    /// The file of the current segment.
    pub(super) fn current_file(&self) -> Arc<D::File> {
        self.frame_writer().segments().current()
    }

    fn wake_complete(&self, from: Csn, to: Csn, me: u32) -> WokenWaiters {
        let mut woken = WokenWaiters { commits: to.0.saturating_sub(from.0), own: 0 };
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

    /// Wakes all waiters, since their commits will not complete.
    fn wake_all(&self) {
        if planted(PlantedBug::FailWithoutWake) {
            return;
        }
        let next = self.ring.next();
        for csn in self.durable_lsn.get().0 + 1..next.0 {
            while let Some((waker, _)) = self.ring.take_waker(Csn(csn)) {
                panics::wake(waker);
            }
        }
        self.writer_signal.raise();
    }

    /// The group that made a commit stable; none if the commit is not stable, or too old.
    pub(super) fn group_of(&self, csn: Csn) -> Option<Group> {
        self.groups().of(csn)
    }

    fn groups(&self) -> StdMutexGuard<'_, GroupHistory, GROUPS> {
        self.groups.lock()
    }

    pub(super) fn frame_writer(&self) -> StdMutexGuard<'_, FrameWriter<D::File>, FRAME_WRITER> {
        self.frame_writer.lock()
    }
}
