//! The log's public handle.

use crate::error::{Error, Result};
use crate::ids::{Csn, DatabaseId};
use crate::log::commit::{Permit, Ticket, claimed};
use crate::log::driver::{Shared, StopCondition};
use crate::log::group_history::Group;
use crate::log::open::{self, Guard, Opened};
use crate::log::options::{Durability, Options};
use crate::log::ring::{ClaimError, NO_WORKER};
use crate::log::stats::Stats;
use crate::log::threads::{Running, Threads};
use crate::log::wait::{Completion, block};
use crate::log::worker::Worker;
use crate::planted_bug::{PlantedBug, planted};
use crate::sync::rank::{Held, LOG_THREADS};
use crate::sync::thread::yield_now;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use syncline_instrument::{Module, clock, tag};
use syncline_vfs::{Disk, File};

/// The reason that a log gives for refusing commits after it was shut.
pub(crate) const CLOSED: &str = "the database was closed";

/// An open log; see the module `log` for its invariants.
#[derive(Debug)]
pub struct Log<D: Disk> {
    shared: Arc<Shared<D>>,
    database: DatabaseId,
    threads: Mutex<Option<Running>>,
    /// Held until nothing writes any more, which is when the log has been shut: only then may another process
    /// or handle open the log. None from then on.
    lock: Mutex<Option<D::File>>,
}

/// The settings in force, read back from the log's own files where these record them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The database that the log belongs to, from its segment header.
    pub database: DatabaseId,
    /// The durability in the header of the current segment, read back after it was synced.
    pub durability: Durability,
    /// Bytes in the newest segment, from its header.
    pub segment_bytes: u64,
    /// Bytes of which frames are multiples, from the segment's header.
    pub frame_unit_bytes: u32,
    /// True if frames bypass the page cache.
    pub direct: bool,
    /// How a write becomes stable, in words.
    pub sync_method: &'static str,
}

impl<D: Disk> Log<D> {
    /// Makes a log in `directory` for the database `database`. The directory is made if it is missing (its
    /// parent must exist); a directory that already holds a log is refused.
    pub fn create(
        disk: &D,
        directory: &Path,
        database: DatabaseId,
        options: Options,
    ) -> Result<Log<D>> {
        Log::create_with(disk, directory, database, options, Threads::Own)
    }

    /// Opens the log in `directory` and passes the number and the record of every commit after `replay_from`
    /// to `replay`, in order. Commits passed to `replay` stay committed. If `database` is given, the log must
    /// belong to it. A log that ends before `replay_from` is refused.
    pub fn open(
        disk: &D,
        directory: &Path,
        database: Option<DatabaseId>,
        replay_from: Csn,
        options: &Options,
        replay: &mut dyn FnMut(Csn, &[u8]),
    ) -> Result<Log<D>> {
        Log::open_with(disk, directory, database, replay_from, options, replay, Threads::Own)
    }

    /// [`Log::create`] with or without threads.
    pub(crate) fn create_with(
        disk: &D,
        directory: &Path,
        database: DatabaseId,
        options: Options,
        threads: Threads,
    ) -> Result<Log<D>> {
        Log::create_guarded(disk, directory, database, options, (Guard::Own, Csn::ZERO, threads))
    }

    /// The same for a log of a database that is being made, and that holds everything up to a commit.
    pub(crate) fn create_guarded(
        disk: &D,
        directory: &Path,
        database: DatabaseId,
        options: Options,
        (guard, after, threads): (Guard, Csn, Threads),
    ) -> Result<Log<D>> {
        let opened = open::create(disk, directory, database, options, (guard, after))?;
        Log::run(disk, directory, opened, threads)
    }

    /// [`Log::open`] with or without threads.
    pub(crate) fn open_with(
        disk: &D,
        directory: &Path,
        database: Option<DatabaseId>,
        replay_from: Csn,
        options: &Options,
        replay: &mut dyn FnMut(Csn, &[u8]),
        threads: Threads,
    ) -> Result<Log<D>> {
        let opened = open::open(disk, directory, database, replay_from, options, replay)?;
        Log::run(disk, directory, opened, threads)
    }

    /// Opens a log that is only read, without threads: nothing is reserved in it, and its directory does not
    /// change. Its lock is shared with other readers, and kept until the handle is dropped.
    pub(crate) fn open_read_only(
        disk: &D,
        directory: &Path,
        database: DatabaseId,
        replay_from: Csn,
        options: &Options,
        replay: &mut dyn FnMut(Csn, &[u8]),
    ) -> Result<Log<D>> {
        let opened = open::open_read_only(disk, directory, database, replay_from, options, replay)?;
        Log::run(disk, directory, opened, Threads::None)
    }

    /// Builds the handle from the result of [`open::open`] or [`open::create`].
    pub(super) fn run(
        disk: &D,
        directory: &Path,
        opened: Opened<D>,
        threads: Threads,
    ) -> Result<Log<D>> {
        let has_threads = !matches!(threads, Threads::None);
        let shared = Arc::new(Shared::new(
            disk.clone(),
            directory.to_owned(),
            opened.options,
            opened.mode,
            opened.start.csn,
            opened.frame_writer,
            threads,
        ));
        let threads = if has_threads { Some(Running::start(&shared)?) } else { None };
        Ok(Log {
            shared,
            database: opened.start.database,
            threads: Mutex::new(threads),
            lock: Mutex::new(opened.lock),
        })
    }

    /// Reserves room for a record of up to `content_bytes`. Waits for commits in flight and for segment files
    /// to be prepared, and drives the log meanwhile. On a full disk it fails with [`Error::Full`], at the cap
    /// of the log with [`Error::LogLong`]: then it may be retried, after a [`Log::release`].
    #[inline]
    pub fn reserve(&self, content_bytes: usize) -> Result<Permit<'_, D>> {
        let _entered = tag::enter(Module::Logging);
        match self.claim(content_bytes)? {
            Ok(permit) => Ok(permit),
            Err(_) => self.reserve_slowly(content_bytes),
        }
    }

    /// The same for a record that only deletes: on a full disk it may use the reserve.
    pub(crate) fn reserve_to_delete(&self, content_bytes: usize) -> Result<Permit<'_, D>> {
        let full = match self.reserve(content_bytes) {
            Err(full @ (Error::Full { .. } | Error::LogLong { .. })) => full,
            other => return other,
        };
        let claim = claimed(self, content_bytes);
        loop {
            match self.shared.ring.claim_reserve(claim) {
                Ok(()) => return Ok(Permit::new(self, content_bytes)),
                // Staged records hold claims until they are written.
                Err(_) if self.shared.drive(NO_WORKER, &StopCondition::Idle) > 0 => {}
                Err(ClaimError::Slots) => yield_now(),
                Err(ClaimError::Space) => return Err(full),
            }
            self.shared.check()?;
        }
    }

    /// The same without waiting: [`Error::Busy`] if there is no room at this moment.
    #[inline]
    pub fn try_reserve(&self, content_bytes: usize) -> Result<Permit<'_, D>> {
        self.claim(content_bytes)?.map_err(|_lack| Error::Busy)
    }

    /// Prepares the next segment file if one is needed: for the thread that waits for the signal of
    /// [`Threads::Writers`].
    pub(crate) fn prepare_file(&self) {
        self.shared.prepare_file();
    }

    /// The ticket of a commit of this log.
    #[inline]
    pub(crate) fn ticket(&self, csn: Csn) -> Ticket {
        Ticket { csn, log: self.shared.number }
    }

    /// Blocks until the commit is complete. If no write is in flight, the caller writes.
    #[inline]
    pub fn wait(&self, ticket: Ticket) -> Result<()> {
        let outcome = block(&self.shared, ticket);
        if self.shared.options.durability == Durability::None && !self.shared.is_busy() {
            self.shared.drive(NO_WORKER, &StopCondition::Idle);
        }
        outcome
    }

    /// The same as a future, for callers without a [`Worker`].
    pub fn completion(&self, ticket: Ticket) -> Completion<'_, D> {
        Completion::new(&self.shared, ticket, NO_WORKER)
    }

    /// The group that made a commit stable; none if the commit is not stable, or too old.
    pub(crate) fn group_of(&self, csn: Csn) -> Option<Group> {
        self.shared.group_of(csn)
    }

    /// Makes the log's own thread write the published commits, for commits that no caller waits for.
    pub fn nudge(&self) {
        if !self.shared.is_busy() {
            self.shared.request_write();
        }
    }

    /// The last commit that is known, without a sync, to survive a loss of power.
    pub(crate) fn known_stable(&self) -> Csn {
        match self.shared.options.durability {
            Durability::None => Csn::ZERO,
            Durability::Data | Durability::Full => self.durable_lsn(),
        }
    }

    /// Waits until the durable LSN has reached a published commit, also at durability none, where the commit
    /// is complete earlier.
    pub(crate) fn wait_durable(&self, csn: Csn) -> Result<()> {
        self.wait(self.ticket(csn))?;
        while self.durable_lsn() < csn {
            self.check()?;
            if self.shared.drive(NO_WORKER, &StopCondition::Idle) == 0 {
                // Another thread is writing it.
                yield_now();
            }
        }
        Ok(())
    }

    /// Makes everything up to a published commit stable, also at durability none: for callers that are about
    /// to rely on it elsewhere.
    pub(crate) fn make_stable(&self, csn: Csn) -> Result<()> {
        self.wait_durable(csn)?;
        if self.shared.options.durability != Durability::None {
            return Ok(());
        }
        let synced = self.shared.current_file().sync_data();
        if let Err(error) = &synced {
            self.fail(&error.to_string());
        }
        synced?;
        // Earlier segments were synced when the log moved on from them, or the log has failed.
        self.check()
    }

    /// The disk of the log's files.
    pub(crate) fn disk(&self) -> &D {
        &self.shared.disk
    }

    /// Writes everything published before the call and waits until it is complete.
    pub fn flush(&self) -> Result<()> {
        let last = Csn(self.shared.ring.next().0 - 1);
        if last > Csn::ZERO && self.durable_lsn() < last {
            self.shared.drive(NO_WORKER, &StopCondition::Idle);
            if self.durable_lsn() < last {
                block(&self.shared, self.ticket(last))?;
            }
        }
        self.shared.check()
    }

    /// Registers an executor's worker, which holds the batch during its passes.
    pub fn worker(&self) -> Worker<D> {
        Worker::new(Arc::clone(&self.shared))
    }

    /// The last commit up to which everything is stable (at durability none: written).
    #[inline]
    pub fn durable_lsn(&self) -> Csn {
        self.shared.durable_lsn.get()
    }

    /// The last commit of the contiguous published prefix: since commits apply before they publish, all
    /// commits up to it are applied. Never behind the durable LSN.
    #[inline]
    pub(crate) fn published(&self) -> Csn {
        let _entered = tag::enter(Module::Logging);
        self.shared.ring.published_prefix(self.shared.durable_lsn.get())
    }

    /// A commit of the contiguous published prefix, often the last: the cheap answer, without a search. Never
    /// behind the durable LSN.
    #[inline]
    pub(crate) fn known_published(&self) -> Csn {
        let _entered = tag::enter(Module::Logging);
        if planted(PlantedBug::BeginAhead) {
            return Csn(self.shared.ring.next().0 - 1);
        }
        let durable_lsn = self.shared.durable_lsn.get();
        self.shared.ring.known_prefix().max(durable_lsn)
    }

    /// The last number that was taken. With the commit gate closed it is also published.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> Csn {
        Csn(self.shared.ring.next().0 - 1)
    }

    /// Fails if the log has failed.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        self.shared.check()
    }

    /// Declares that recovery no longer needs the commits up to `csn`, so that their files may be reused. The
    /// caller has made durable what replaces them, and opens the log from there.
    pub fn release(&self, csn: Csn) {
        self.shared.release(csn);
    }

    /// True if a checkpoint of all commits would free a file.
    pub(crate) fn is_releasable(&self) -> bool {
        self.shared.is_releasable()
    }

    /// Bytes of the segments that hold commits which have not been released.
    #[inline]
    pub(crate) fn live_bytes(&self) -> u64 {
        self.shared.live_bytes()
    }

    /// The longest record in bytes.
    #[inline]
    pub(crate) fn record_bytes_max(&self) -> usize {
        self.shared.options.record_bytes_max as usize
    }

    /// Closes the log for good after a failure elsewhere in the database: no commit may be acknowledged any
    /// more.
    pub(crate) fn fail(&self, because: &str) {
        self.shared.fail(because);
    }

    /// Why the log has failed; none while it works, and after it was closed.
    pub(crate) fn failure(&self) -> Option<Arc<str>> {
        let failure = self.shared.durable_lsn.failure();
        failure.filter(|because| &***because != CLOSED).map(Arc::clone)
    }

    /// The database that the log belongs to.
    pub(crate) fn database(&self) -> DatabaseId {
        self.database
    }

    /// Archives the oldest released segment, for callers without threads. False if there is none, or if it
    /// cannot be archived yet.
    #[cfg(test)]
    pub(crate) fn archive_segment(&self) -> Result<bool> {
        self.shared.archive_segment()
    }

    /// Why the last attempt to archive a segment failed; none if it did not. It is repeated every second.
    pub fn archive_failure(&self) -> Option<Arc<str>> {
        self.shared.archive_failure()
    }

    /// True if nothing was written to it since it was made, and it was not opened for writing.
    pub(crate) fn is_untouched(&self) -> bool {
        self.shared.is_untouched()
    }

    /// Counters since the log was opened.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// The settings in force.
    pub fn settings(&self) -> Result<Settings> {
        let header = open::newest_header(&self.shared.disk, &self.shared.directory)?;
        Ok(Settings {
            database: self.database,
            durability: header.durability,
            segment_bytes: header.segment_bytes,
            frame_unit_bytes: header.unit_bytes,
            direct: self.shared.mode.direct,
            sync_method: self.shared.mode.sync_method(),
        })
    }

    /// Writes everything published and ends the log's threads. Dropping does the same, but cannot report a
    /// failure.
    pub fn close(self) -> Result<()> {
        self.flush()
    }

    /// The same for a log that others still hold: later commits fail because the log is closed, and nothing
    /// in its directory changes any more, so that it may be opened again although the old handle still
    /// exists. Reads stay possible.
    pub(crate) fn shut(&self) {
        if self.end_threads() {
            self.shared.fail(CLOSED);
            self.shared.wait_until_at_rest();
            let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            *lock = None;
        }
    }

    /// Writes the published commits and ends the threads; false if there are none.
    fn end_threads(&self) -> bool {
        let threads = {
            let _held = Held::<LOG_THREADS>::awaited();
            let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
            threads.take()
        };
        let Some(threads) = threads else {
            return false;
        };
        // The commits concerned report a failure to their own callers.
        self.shared.drive(NO_WORKER, &StopCondition::Idle);
        threads.stop(&self.shared);
        true
    }

    pub(super) fn shared(&self) -> &Shared<D> {
        &self.shared
    }

    #[cold]
    fn reserve_slowly(&self, content_bytes: usize) -> Result<Permit<'_, D>> {
        let started = clock::now();
        let permit = loop {
            // Staged records are written first; only then more files are prepared.
            let wrote = self.shared.drive(NO_WORKER, &StopCondition::Idle) > 0;
            match self.claim(content_bytes)? {
                Ok(permit) => break permit,
                Err(_) if wrote => {}
                Err(ClaimError::Space) if self.shared.prepare_segment(true)? => {}
                // Other threads publish, write or prepare what is missing.
                Err(ClaimError::Slots | ClaimError::Space) => yield_now(),
            }
        };
        let waited = clock::now().saturating_sub(started);
        self.shared.stats.room_wait_ns.add(waited);
        Ok(permit)
    }

    #[inline]
    fn claim(
        &self,
        content_bytes: usize,
    ) -> Result<std::result::Result<Permit<'_, D>, ClaimError>> {
        self.shared.check()?;
        if content_bytes as u64 > u64::from(self.shared.options.record_bytes_max) {
            return Err(Error::TooLarge {
                bytes: content_bytes as u64,
                bytes_max: self.shared.options.record_bytes_max.into(),
            });
        }
        let claimed = self.shared.ring.claim(claimed(self, content_bytes));
        Ok(claimed.map(|()| Permit::new(self, content_bytes)))
    }
}

impl<D: Disk> Drop for Log<D> {
    fn drop(&mut self) {
        self.end_threads();
    }
}
