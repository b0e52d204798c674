//! The core of a store, which all its sessions share.

use crate::access::btree::extents::{self, EXTENT_POINTER_BYTES, ExtentPointer};
use crate::buffer::{Buffer, Leaf};
use crate::error::{Error, Result};
use crate::ids::{Csn, PageId};
use crate::log::{CLOSED, Log};
use crate::origin::Origin;
use crate::panics::OnPanic;
use crate::planted_bug::{PlantedBug, planted};
use crate::step::{Step, step, stepped};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::rank::ROW_LOG_INSTALLED;
use crate::sync::ranked::Mutex;
use crate::sync::thread::yield_now;
use crate::txn::commit_gate::{ClosedBy, ClosedGate, CommitGate, GateError, Section};
use crate::txn::commit_path::{CommitPaths, SharedPaths};
use crate::txn::counts::{Counters, Counts};
use crate::txn::garbage::Garbage;
use crate::txn::part_timers::{Latencies, PartTimers};
use crate::txn::registry::Registry;
use crate::txn::row_log::RowLog;
use crate::txn::transaction::Transaction;
use crate::txn::transaction_pool::TransactionPool;
use crate::txn::version::Versions;
use crossbeam_utils::CachePadded;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use syncline_vfs::Disk;

/// Commits, in addition to one per seat, between two computations of the bound.
const COMMITS_PER_BOUND: u64 = 32;

/// How transactions run.
#[allow(clippy::struct_field_names, reason = "every option is a cap, and its name says so")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TxnOptions {
    /// Memory for old versions in bytes. At the cap, the oldest transaction that needs them ends.
    pub(crate) version_bytes_max: u64,
    /// Memory for the read set of a serializable transaction, in bytes.
    pub(crate) read_bytes_max: u64,
    /// The longest key in bytes; a page may allow less.
    pub(crate) key_bytes_max: u32,
    /// The longest value in bytes.
    pub(crate) value_bytes_max: u32,
    /// How often a closure runs again before it runs exclusively.
    pub(crate) retries_max: u32,
    /// Retries for a locked row before it counts as a conflict: the first ones take some tens of nanoseconds,
    /// the later ones yield to the scheduler, since the holder may have lost its core.
    pub(crate) lock_retries_max: u32,
    /// The longest wait for a caller's exclusive transaction.
    pub(crate) exclusive_wait: Duration,
    /// The database is open for reading only: every transaction is read-only.
    pub(crate) read_only: bool,
}

impl Default for TxnOptions {
    fn default() -> TxnOptions {
        TxnOptions {
            version_bytes_max: 256 << 20,
            read_bytes_max: 256 << 20,
            key_bytes_max: 1 << 10,
            value_bytes_max: 16 << 20,
            retries_max: 8,
            lock_retries_max: 48,
            exclusive_wait: Duration::from_secs(30),
            read_only: false,
        }
    }
}

/// Makes room for writers that cannot go on without it, by moving the running checkpoint.
pub(crate) trait Relief: Send + Sync {
    /// Does a part of the work on the caller's thread, or waits for another thread that does it. Fails if no
    /// progress is possible, for instance on a full disk. Returns false if no checkpoint is running.
    fn relieve(&self) -> Result<bool>;

    /// Begins a checkpoint unless one is running. `alone` is the gate that this thread has closed. Returns
    /// false if there are none in this store.
    fn begin(&self, alone: Option<&ClosedGate>) -> Result<bool>;

    /// The same as [`Relief::relieve`] for a writer that needs space in the log: begins a checkpoint if none
    /// is running. Returns false if the database makes no checkpoints by itself.
    fn shorten_log(&self, alone: Option<&ClosedGate>) -> Result<bool>;
}

/// Log, buffer, commit gate, versions and garbage of a store.
pub(crate) struct Core<D: Disk> {
    /// Handles of its tables are compared with this.
    pub(crate) origin: Arc<Origin>,
    pub(crate) log: Log<D>,
    pub(crate) buffer: Buffer,
    pub(crate) options: TxnOptions,
    pub(super) gate: Arc<CommitGate>,
    pub(super) registry: Registry,
    pub(super) versions: Versions,
    pub(super) garbage: Garbage,
    pub(super) counters: Counters,
    pub(super) watch: PartTimers,
    pub(super) paths: SharedPaths,
    pub(super) idle: TransactionPool,
    relief: OnceLock<Box<dyn Relief>>,
    /// The log is so long that commits wait for the checkpoint.
    is_pressed: AtomicBool,
    /// The row log of a table with an index under construction; see `row_log`.
    row_log: Mutex<Option<Arc<RowLog>>, ROW_LOG_INSTALLED>,
    /// True while there is one. Changes only with the gate closed.
    has_row_log: AtomicBool,
    /// Commits are refused while more bytes of log than this are not released by a checkpoint.
    log_bytes_max: AtomicU64,
    /// A bound of the registry. It stays valid once computed, since no begin goes below it.
    bound: CachePadded<AtomicU64>,
    /// The commit at which the bound was last computed.
    bound_at: CachePadded<AtomicU64>,
    /// The longest key that options and page allow.
    pub(super) key_bytes_max: usize,
}

impl<D: Disk> Core<D> {
    pub(crate) fn new(log: Log<D>, buffer: Buffer, options: TxnOptions) -> Core<D> {
        let start = log.durable_lsn().0;
        let page_allows = Leaf::key_bytes_max(buffer.page_bytes());
        Core {
            key_bytes_max: page_allows.min(options.key_bytes_max as usize),
            origin: Arc::new(Origin::new(log.database(), Path::new(""))),
            log,
            buffer,
            options,
            gate: CommitGate::new(),
            registry: Registry::new(),
            versions: Versions::new(),
            garbage: Garbage::new(),
            counters: Counters::default(),
            watch: PartTimers::default(),
            paths: SharedPaths::default(),
            idle: TransactionPool::default(),
            relief: OnceLock::new(),
            is_pressed: AtomicBool::new(false),
            row_log: Mutex::new(None),
            has_row_log: AtomicBool::new(false),
            log_bytes_max: AtomicU64::new(u64::MAX),
            bound: CachePadded::new(AtomicU64::new(start)),
            bound_at: CachePadded::new(AtomicU64::new(start)),
        }
    }

    /// The core of the database in that directory, which errors then name.
    pub(crate) fn in_directory(mut self, directory: &Path) -> Core<D> {
        self.origin = Arc::new(Origin::new(self.log.database(), directory));
        self
    }

    /// Closes the commit gate: waits until no section runs. For snapshots and changes of tables.
    ///
    /// # Errors
    ///
    /// [`Error::ExclusiveHere`], [`Error::ExclusiveTooLong`], and [`Error::Poisoned`] while the database is
    /// being closed.
    pub(crate) fn close_gate(&self) -> Result<ClosedGate> {
        self.close_gate_by(ClosedBy::Engine)
    }

    /// The same. `by` says who decides when it opens again.
    pub(super) fn close_gate_by(&self, by: ClosedBy) -> Result<ClosedGate> {
        let closed = self.gate.close(by, self.options.exclusive_wait);
        closed.map_err(gate_error)
    }

    /// Fails if the calling thread holds the gate closed in an exclusive transaction: a call that closes it
    /// would wait for itself. Check this before locking anything else.
    pub(crate) fn check_gate(&self) -> Result<()> {
        self.gate.check_not_held_here().map_err(gate_error)
    }

    /// Fails if the database is open for reading only.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.options.read_only {
            return Err(Error::ReadOnlyDatabase);
        }
        Ok(())
    }

    /// Waits until the gate is open. Errors as [`Core::close_gate`].
    #[cold]
    pub(super) fn wait_for_gate(&self) -> Result<()> {
        let open = self.gate.wait_until_open(self.options.exclusive_wait);
        open.map_err(gate_error)
    }

    /// Starts a section of a commit, or of a change of trees outside commits. Waits while the gate is closed.
    /// The caller holds nothing that other threads wait for. Errors as [`Core::close_gate`].
    pub(crate) fn enter_gate(&self, thread_slot: u32) -> Result<Section<'_>> {
        let section = self.gate.enter(thread_slot, self.options.exclusive_wait);
        section.map_err(gate_error)
    }

    /// From here on waits for an exclusive transaction fail, because the database is being closed.
    pub(crate) fn shut_gate(&self) {
        self.gate.shut();
    }

    /// Makes commits log which rows of a table they change, from now on.
    pub(crate) fn install_row_log(&self, log: Arc<RowLog>, _closed: &ClosedGate) {
        let before = self.row_log.lock().replace(log);
        assert!(before.is_none_or(|log| log.is_abandoned()), "one index is built at a time");
        self.has_row_log.store(true, Ordering::Relaxed);
    }

    /// Ends the logging of row changes, if it is on.
    pub(crate) fn remove_row_log(&self, _closed: &ClosedGate) {
        self.has_row_log.store(false, Ordering::Relaxed);
        if let Some(log) = self.row_log.lock().take() {
            log.abandon();
        }
    }

    /// Ends the logging of row changes if its index build has failed. One under way goes on.
    pub(crate) fn remove_abandoned_row_log(&self, _closed: &ClosedGate) {
        let mut row_log = self.row_log.lock();
        if row_log.take_if(|log| log.is_abandoned()).is_some() {
            self.has_row_log.store(false, Ordering::Relaxed);
        }
    }

    /// True if a commit that changes the table of the row log would wait; for tests on one thread.
    #[cfg(test)]
    pub(crate) fn row_log_is_full(&self) -> bool {
        self.row_log().is_some_and(|log| log.is_full())
    }

    /// The row log, if one is installed. It cannot change within a section.
    #[inline]
    pub(super) fn row_log(&self) -> Option<Arc<RowLog>> {
        if !self.has_row_log.load(Ordering::Relaxed) {
            return None;
        }
        self.row_log.lock().clone()
    }

    /// Sampled commit paths since the last call.
    pub(crate) fn take_paths(&self) -> CommitPaths {
        self.paths.take()
    }

    /// Durations of parts of sampled transactions.
    pub(crate) fn latencies(&self) -> Latencies {
        self.watch.get()
    }

    /// True if the gate could be closed without waiting; for tests on one thread.
    #[cfg(test)]
    pub(crate) fn could_close_gate(&self) -> bool {
        !self.gate.is_closed() && self.gate.is_at_rest()
    }

    /// Sets what relieves writers; once.
    pub(crate) fn set_relief(&self, relief: Box<dyn Relief>) {
        let before = self.relief.set(relief);
        assert!(before.is_ok(), "the relief is set only once");
    }

    /// Makes commits wait for the checkpoint, or stops that.
    pub(crate) fn set_pressed(&self, is_pressed: bool) {
        self.is_pressed.store(is_pressed, Ordering::Relaxed);
    }

    /// Refuses commits while the log is longer than this: for stores whose user runs checkpoints.
    pub(crate) fn cap_log(&self, bytes_max: u64) {
        self.log_bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    /// Waits while the log is too long and a checkpoint is on its way. Outside a section.
    #[inline]
    pub(super) fn wait_under_pressure(&self) -> Result<()> {
        while self.is_pressed.load(Ordering::Relaxed) {
            self.log.check()?;
            if !self.relieve()? {
                yield_now(); // the thread that drives the checkpoint ends the pressure
            }
        }
        let bytes_max = self.log_bytes_max.load(Ordering::Relaxed);
        if self.log.live_bytes() > bytes_max {
            self.shorten_log(bytes_max)?;
        }
        Ok(())
    }

    #[cold]
    fn shorten_log(&self, bytes_max: u64) -> Result<()> {
        loop {
            self.log.check()?;
            let is_moved = self.relieve()?;
            let bytes = self.log.live_bytes();
            if bytes <= bytes_max {
                return Ok(());
            }
            if !is_moved {
                return Err(Error::LogLong { bytes, bytes_max });
            }
        }
    }

    /// Returns when there may be space in a log that has reached its cap. Outside a section.
    #[cold]
    pub(super) fn wait_for_log(&self, alone: Option<&ClosedGate>, refusal: Error) -> Result<()> {
        self.log.check()?;
        let Some(relief) = self.relief.get() else {
            return Err(refusal);
        };
        if !self.log.is_releasable() {
            // Other writers hold the space and will use it or give it back.
            yield_now();
            return Ok(());
        }
        if relief.shorten_log(alone)? { Ok(()) } else { Err(refusal) }
    }

    /// Returns when there may be room for another pre-image. Outside a section.
    pub(crate) fn wait_for_pre_images(&self) -> Result<()> {
        self.log.check()?;
        if self.relief.get().is_none() {
            self.buffer.wait_for_pre_images();
        }
        match self.relieve() {
            // The checkpoint was abandoned, and its images were freed.
            Err(Error::Full { .. }) => Ok(()),
            relieved => relieved.map(drop),
        }
    }

    /// Waits while changed pages fill too much of a cache that is smaller than the store: checkpoints make
    /// them clean. Outside a section. `alone` is the gate that this thread has closed.
    #[inline]
    pub(super) fn wait_for_clean_pages(&self, alone: Option<&ClosedGate>) -> Result<()> {
        if self.buffer.has_many_changed() { self.clean_pages_until_few(alone) } else { Ok(()) }
    }

    #[cold]
    fn clean_pages_until_few(&self, alone: Option<&ClosedGate>) -> Result<()> {
        while self.buffer.has_many_changed() {
            self.log.check()?;
            match self.clean_pages(alone) {
                Ok(true) => {}
                // On a full disk deletes must go on.
                Ok(false) | Err(Error::Full { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Does a step towards clean pages in a store that is larger than its cache: moves the checkpoint, or
    /// begins one. Returns false if nothing can be done.
    pub(super) fn clean_pages(&self, alone: Option<&ClosedGate>) -> Result<bool> {
        if !self.buffer.evicts() {
            return Ok(false);
        }
        if self.relieve()? {
            return Ok(true);
        }
        let is_useless = !self.buffer.has_changed();
        if is_useless || alone.is_none() && self.check_gate().is_err() {
            return Ok(false);
        }
        match self.relief.get().map_or(Ok(false), |relief| relief.begin(alone)) {
            // Another transaction runs alone.
            Err(Error::ExclusiveHere | Error::ExclusiveTooLong { .. }) => Ok(false),
            begun => begun,
        }
    }

    /// Does a step of the running checkpoint. Returns false if none is running.
    pub(super) fn relieve(&self) -> Result<bool> {
        self.relief.get().map_or(Ok(false), |relief| relief.relieve())
    }

    /// Fails the log if a panic unwinds through the following code and leaves it half done.
    #[inline]
    pub(crate) fn fail_on_panic(&self, what: &'static str) -> OnPanic<impl FnMut()> {
        OnPanic::new(move || self.log.fail(&format!("{what} panicked")))
    }

    /// Ends of transactions by outcome.
    pub(crate) fn counts(&self) -> Counts {
        self.counters.get()
    }

    pub(crate) fn open_transactions(&self) -> usize {
        self.registry.open()
    }

    /// Deleted rows whose ghosts still wait for readers.
    #[cfg(test)]
    pub(crate) fn waiting_ghosts(&self) -> usize {
        self.garbage.len()
    }

    /// The last computed bound.
    #[inline]
    pub(super) fn bound(&self) -> Csn {
        if planted(PlantedBug::CollectBlindly) {
            return self.log.published();
        }
        Csn(self.bound.load(Ordering::Relaxed))
    }

    /// Computes a new bound if the last one is old.
    #[inline]
    pub(super) fn refresh_bound(&self, now: Csn) {
        let at = self.bound_at.load(Ordering::Relaxed);
        if now.0 < at + COMMITS_PER_BOUND + self.registry.seats_made() {
            return;
        }
        let mine = self.bound_at.compare_exchange(at, now.0, Ordering::Relaxed, Ordering::Relaxed);
        if mine.is_ok() {
            self.compute_bound();
        }
    }

    /// Computes the bound now.
    pub(super) fn compute_bound(&self) -> Csn {
        let bound = self.registry.oldest(|| self.log.durable_lsn());
        self.bound.fetch_max(bound.0, Ordering::Relaxed);
        self.bound()
    }

    /// The extents that only old versions hold, by their extent pointers. Called with the gate
    /// closed. A snapshot contains these pages, but after a restart nothing refers to them: the checkpoint
    /// records the pointers, and opening frees the pages.
    pub(crate) fn extents_of_versions(&self) -> Vec<ExtentPointer> {
        debug_assert!(self.gate.is_closed(), "otherwise a version may be about to be dropped");
        let pointers = self.versions.pointers();
        pointers.chunks_exact(EXTENT_POINTER_BYTES).filter_map(ExtentPointer::from_value).collect()
    }

    /// The extents of old versions, with the gate closed.
    pub(crate) fn pages_of_versions(&self) -> BTreeSet<PageId> {
        let pointers = self.extents_of_versions().into_iter();
        pointers.flat_map(ExtentPointer::pages).collect()
    }

    /// Frees extents, given their extent pointers as stored in leaves. The caller is in a section.
    pub(super) fn free_extents(&self, pointers: &mut Vec<u8>) {
        for pointer in
            pointers.chunks_exact(EXTENT_POINTER_BYTES).filter_map(ExtentPointer::from_value)
        {
            extents::free(&self.buffer, pointer);
        }
        pointers.clear();
    }

    /// Fails if a row is longer than allowed or the transaction holds too much already.
    #[inline]
    pub(super) fn check_row(&self, txn: &Transaction, key: &[u8], value: &[u8]) -> Result<()> {
        if key.len() > self.key_bytes_max {
            return Err(capped("a key", key.len(), self.key_bytes_max));
        }
        if value.len() > self.options.value_bytes_max as usize {
            let value_bytes_max = self.options.value_bytes_max as usize;
            return Err(capped("a value", value.len(), value_bytes_max));
        }
        check_arena(txn, key.len() + value.len())
    }

    /// Fails if a serializable transaction has no memory to record a read with `key_bytes` more bytes of
    /// keys.
    #[inline]
    pub(super) fn check_read(&self, txn: &Transaction, key_bytes: usize) -> Result<()> {
        let (bytes, bytes_max) = (txn.reads.bytes() + key_bytes, self.options.read_bytes_max);
        if bytes as u64 > bytes_max {
            return Err(capped("the read set of a transaction", bytes, bytes_max as usize));
        }
        check_arena(txn, key_bytes)
    }

    /// Waits until all commits up to that one are applied. A commit that holds them up is in a section and
    /// does not wait, but its thread may have lost its core.
    pub(crate) fn wait_published(&self, csn: Csn) -> Result<()> {
        if self.log.durable_lsn() >= csn {
            return Ok(());
        }
        let mut retries = 0_u32;
        while self.log.published() < csn {
            self.log.check()?;
            pause(retries);
            retries += 1;
        }
        Ok(())
    }

    /// Waits until a commit is stable, so that an answer that depends on it may be returned.
    pub(super) fn wait_stable(&self, seen: Csn) -> Result<()> {
        if self.log.durable_lsn() >= seen {
            return Ok(());
        }
        self.wait_published(seen)?;
        self.log.wait_durable(seen)
    }
}

/// Fails if a transaction has no room for this many more bytes.
#[inline]
pub(super) fn check_arena(txn: &Transaction, bytes: usize) -> Result<()> {
    if txn.arena.has_room(bytes) {
        return Ok(());
    }
    let kept = txn.arena.len() + bytes;
    Err(capped("a transaction", kept, u32::MAX as usize))
}

/// Turns a failed wait for the gate into the caller's error.
#[cold]
fn gate_error(error: GateError) -> Error {
    match error {
        GateError::Here => Error::ExclusiveHere,
        GateError::TooLong { thread, held_ms } => Error::ExclusiveTooLong { thread, held_ms },
        GateError::Shut => Error::Poisoned { because: Arc::from(CLOSED) },
    }
}

#[cold]
fn capped(what: &'static str, bytes: usize, bytes_max: usize) -> Error {
    Error::TooLong { what, bytes: bytes as u64, bytes_max: bytes_max as u64 }
}

/// Lets other threads run, shortly at first.
#[inline]
pub(super) fn pause(retries: u32) {
    if stepped() {
        step(Step::Spin);
    } else if retries < 32 {
        std::hint::spin_loop();
    } else {
        yield_now();
    }
}
