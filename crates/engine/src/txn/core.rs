//! The core of a store: what all its sessions share.

use crate::access::btree::overflow::{self, ChainSize, OverflowPointer, STUB_BYTES};
use crate::buffer::{Buffer, Leaf};
use crate::error::{Error, Result};
use crate::ids::{Csn, PageId};
use crate::log::{CLOSED, Log};
use crate::origin::Origin;
use crate::panics::OnPanic;
use crate::planted_bug::{PlantedBug, planted};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::rank::ROW_LOG_INSTALLED;
use crate::sync::ranked::Mutex;
use crate::sync::thread::yield_now;
use crate::txn::commit_gate::{ClosedBy, ClosedGate, CommitGate, GateError, Section};
use crate::txn::commit_path::{CommitPaths, SharedPaths};
use crate::txn::conflict::{Counters, Counts};
use crate::txn::garbage::Garbage;
use crate::txn::part_timers::{Latencies, PartTimers};
use crate::txn::registry::Registry;
use crate::txn::row_log::RowLog;
use crate::txn::step::{Step, step, stepped};
use crate::txn::transaction::Transaction;
use crate::txn::transaction_pool::TransactionPool;
use crate::txn::version::Versions;
use crossbeam_utils::CachePadded;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use syncline_vfs::Disk;

/// A new bound is looked for once in so many commits, and sessions.
const COMMITS_A_BOUND: u64 = 32;

/// How transactions run.
#[allow(clippy::struct_field_names, reason = "each knob is a cap and says so")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TxnOptions {
    /// Memory for old versions in bytes. Beyond it the oldest transaction that needs them is told so.
    pub(crate) version_bytes_max: u64,
    /// Memory for what a serializable transaction has read, in bytes.
    pub(crate) read_bytes_max: u64,
    /// The longest key in bytes; a page may allow less.
    pub(crate) key_bytes_max: u32,
    /// The longest value in bytes.
    pub(crate) value_bytes_max: u32,
    /// How often a closure is run again before it is run alone.
    pub(crate) retries_max: u32,
    /// How often a locked row is looked at before that is a conflict: some tens of nanoseconds each at
    /// first, then a turn of the scheduler each, since the holder may have lost its core.
    pub(crate) lock_looks_max: u32,
    /// How long is waited for a caller's exclusive transaction.
    pub(crate) exclusive_wait: Duration,
}

impl Default for TxnOptions {
    fn default() -> TxnOptions {
        TxnOptions {
            version_bytes_max: 256 << 20,
            read_bytes_max: 256 << 20,
            key_bytes_max: 1 << 10,
            value_bytes_max: 16 << 20,
            retries_max: 8,
            lock_looks_max: 48,
            exclusive_wait: Duration::from_secs(30),
        }
    }
}

/// Makes room for writers that cannot go on without: it moves the running checkpoint.
pub(crate) trait Relief: Send + Sync {
    /// Does a part of the work on the caller's thread, or waits for another who does it. Fails if there
    /// is no way on, such as on a full disk. False if no checkpoint is running.
    fn relieve(&self) -> Result<bool>;
}

/// See the module.
pub(crate) struct Core<D: Disk> {
    /// What handles of its tables are compared with.
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
    /// The log has grown so long that commits wait for the checkpoint.
    is_pressed: AtomicBool,
    /// The row log of the table of which an index is being built; see `row_log`.
    row_log: Mutex<Option<Arc<RowLog>>, ROW_LOG_INSTALLED>,
    /// True while there is one. Changes with the gate closed only.
    has_row_log: AtomicBool,
    /// Beyond so many bytes of log that no checkpoint has released, commits are refused.
    log_bytes_max: AtomicU64,
    /// A bound of the registry: once it was right it stays right, since no begin goes behind it.
    bound: CachePadded<AtomicU64>,
    /// The commit at which the bound was last looked for.
    bound_at: CachePadded<AtomicU64>,
    /// The longest key that options and page allow.
    pub(super) key_bytes_max: usize,
}

impl<D: Disk> Core<D> {
    pub(crate) fn new(log: Log<D>, buffer: Buffer, options: TxnOptions) -> Core<D> {
        let start = log.horizon().0;
        let page_allows = Leaf::key_bytes_max(buffer.page_bytes());
        let chains = ChainSize::of(&buffer);
        Core {
            key_bytes_max: page_allows.min(options.key_bytes_max as usize),
            origin: Arc::new(Origin::new(log.database(), Path::new(""))),
            log,
            buffer,
            options,
            gate: CommitGate::new(),
            registry: Registry::new(),
            versions: Versions::new(chains),
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

    /// The same as the core of the database in that directory, which errors then name.
    pub(crate) fn in_directory(mut self, directory: &Path) -> Core<D> {
        self.origin = Arc::new(Origin::new(self.log.database(), directory));
        self
    }

    /// Closes the commit gate: waits until no section runs. For cuts and for changes of tables.
    ///
    /// # Errors
    ///
    /// [`Error::ExclusiveHere`], [`Error::ExclusiveTooLong`], and [`Error::Poisoned`] while the database is
    /// being closed.
    pub(crate) fn close_gate(&self) -> Result<ClosedGate> {
        self.close_gate_by(ClosedBy::Engine)
    }

    /// The same; by whom says who decides when it is opened again.
    pub(super) fn close_gate_by(&self, by: ClosedBy) -> Result<ClosedGate> {
        let closed = self.gate.close(by, self.options.exclusive_wait);
        closed.map_err(refused)
    }

    /// Fails if the calling thread holds the gate closed, in an exclusive transaction: whatever closes it
    /// would wait for itself. To be asked before anything else is locked.
    pub(crate) fn check_gate(&self) -> Result<()> {
        self.gate.check_not_held_here().map_err(refused)
    }

    /// Waits until the gate is open. Errors as [`Core::close_gate`].
    #[cold]
    pub(super) fn wait_for_gate(&self) -> Result<()> {
        let open = self.gate.wait_until_open(self.options.exclusive_wait);
        open.map_err(refused)
    }

    /// Starts a section, of a commit or of a change of trees that no commit makes; waits while the gate is
    /// closed. The caller holds nothing that others wait for. Errors as [`Core::close_gate`].
    pub(crate) fn enter_gate(&self, thread_slot: u32) -> Result<Section<'_>> {
        let section = self.gate.enter(thread_slot, self.options.exclusive_wait);
        section.map_err(refused)
    }

    /// From here on nobody waits for an exclusive transaction to end: the database is being closed.
    pub(crate) fn shut_gate(&self) {
        self.gate.shut();
    }

    /// Makes commits log which rows of a table they change, from now on.
    pub(crate) fn install_row_log(&self, log: Arc<RowLog>, _closed: &ClosedGate) {
        let before = self.row_log.lock().replace(log);
        assert!(before.is_none_or(|log| log.is_abandoned()), "one index is built at a time");
        self.has_row_log.store(true, Ordering::Relaxed);
    }

    /// Ends that, if commits do it.
    pub(crate) fn remove_row_log(&self, _closed: &ClosedGate) {
        self.has_row_log.store(false, Ordering::Relaxed);
        if let Some(log) = self.row_log.lock().take() {
            log.abandon();
        }
    }

    /// Ends that if the index build for which commits do it has failed. One that is under way goes on.
    pub(crate) fn remove_abandoned_row_log(&self, _closed: &ClosedGate) {
        let mut row_log = self.row_log.lock();
        if row_log.take_if(|log| log.is_abandoned()).is_some() {
            self.has_row_log.store(false, Ordering::Relaxed);
        }
    }

    /// True if a commit that changes the table of the row log would wait, for tests on one thread.
    #[cfg(test)]
    pub(crate) fn row_log_is_full(&self) -> bool {
        self.row_log().is_some_and(|log| log.is_full())
    }

    /// The row log, if there is one. Within a section it is always the same.
    #[inline]
    pub(super) fn row_log(&self) -> Option<Arc<RowLog>> {
        if !self.has_row_log.load(Ordering::Relaxed) {
            return None;
        }
        self.row_log.lock().clone()
    }

    /// Commits' ways since this was last asked, of a sample.
    pub(crate) fn take_paths(&self) -> CommitPaths {
        self.paths.take()
    }

    /// What parts of transactions took, of a sample.
    pub(crate) fn latencies(&self) -> Latencies {
        self.watch.get()
    }

    /// True if the gate could be closed without waiting, for tests on one thread.
    #[cfg(test)]
    pub(crate) fn could_close_gate(&self) -> bool {
        !self.gate.is_closed() && self.gate.is_at_rest()
    }

    /// Says who relieves writers; once.
    pub(crate) fn set_relief(&self, relief: Box<dyn Relief>) {
        let before = self.relief.set(relief);
        assert!(before.is_ok(), "a store has one who relieves its writers");
    }

    /// Lets commits wait for the checkpoint, or not any more.
    pub(crate) fn set_pressed(&self, is_pressed: bool) {
        self.is_pressed.store(is_pressed, Ordering::Relaxed);
    }

    /// Refuses commits while the log holds more bytes than that: for stores whose user checkpoints.
    pub(crate) fn cap_log(&self, bytes_max: u64) {
        self.log_bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    /// Waits while the log is too long, as far as a checkpoint is on its way. Outside a section.
    #[inline]
    pub(super) fn heed_pressure(&self) -> Result<()> {
        while self.is_pressed.load(Ordering::Relaxed) {
            self.log.check()?;
            if !self.relieve()? {
                yield_now(); // whoever drives the checkpoint takes the pressure off
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

    /// Comes back when there may be room for another pre-image. Outside a section.
    pub(crate) fn wait_for_pre_images(&self) -> Result<()> {
        self.log.check()?;
        if self.relief.get().is_none() {
            self.buffer.wait_for_pre_images();
        }
        match self.relieve() {
            // The checkpoint was abandoned, and its images with it.
            Err(Error::Full { .. }) => Ok(()),
            relieved => relieved.map(drop),
        }
    }

    /// Does a step of the running checkpoint; false if none is running.
    pub(super) fn relieve(&self) -> Result<bool> {
        self.relief.get().map_or(Ok(false), |relief| relief.relieve())
    }

    /// Fails the log if a panic unwinds through what follows, which it leaves half done.
    #[inline]
    pub(crate) fn fail_on_panic(&self, what: &'static str) -> OnPanic<impl FnMut()> {
        OnPanic::new(move || self.log.fail(&format!("{what} panicked")))
    }

    /// How often transactions ended in which way.
    pub(crate) fn counts(&self) -> Counts {
        self.counters.get()
    }

    /// How many transactions are open.
    pub(crate) fn open_transactions(&self) -> usize {
        self.registry.open()
    }

    /// How many deleted rows wait until nobody needs their ghosts.
    #[cfg(test)]
    pub(crate) fn waiting_ghosts(&self) -> usize {
        self.garbage.len()
    }

    /// The bound that is known.
    #[inline]
    pub(super) fn bound(&self) -> Csn {
        if planted(PlantedBug::CollectBlindly) {
            return self.log.published();
        }
        Csn(self.bound.load(Ordering::Relaxed))
    }

    /// Looks for a new bound if the last look was long ago.
    #[inline]
    pub(super) fn refresh_bound(&self, now: Csn) {
        let at = self.bound_at.load(Ordering::Relaxed);
        if now.0 < at + COMMITS_A_BOUND + self.registry.seats_made() {
            return;
        }
        let mine = self.bound_at.compare_exchange(at, now.0, Ordering::Relaxed, Ordering::Relaxed);
        if mine.is_ok() {
            self.find_bound();
        }
    }

    /// Looks for the bound now.
    pub(super) fn find_bound(&self) -> Csn {
        let bound = self.registry.oldest(|| self.log.horizon());
        self.bound.fetch_max(bound.0, Ordering::Relaxed);
        self.bound()
    }

    /// The overflow pages that only old versions hold, by their overflow pointers. To be called with the
    /// gate closed. A cut contains these pages, but after a restart nothing leads to them: whoever writes
    /// the cut notes them beside it, and frees them when it is opened.
    pub(crate) fn stubs_of_versions(&self) -> Vec<OverflowPointer> {
        debug_assert!(self.gate.is_closed(), "else a version may be about to go");
        let stubs = self.versions.stubs();
        stubs.chunks_exact(STUB_BYTES).filter_map(OverflowPointer::from_value).collect()
    }

    /// The overflow pages that belong to old versions, with the gate closed.
    pub(crate) fn pages_of_versions(&self) -> BTreeSet<PageId> {
        let stubs = self.stubs_of_versions().into_iter();
        let pages = stubs.flat_map(|stub| overflow::pages(&self.buffer, stub));
        pages.collect()
    }

    /// Frees overflow pages, given their overflow pointers as they lay in leaves. The caller is in a section.
    pub(super) fn free_overflow(&self, stubs: &mut Vec<u8>) {
        for stub in stubs.chunks_exact(STUB_BYTES).filter_map(OverflowPointer::from_value) {
            overflow::free(&self.buffer, stub);
        }
        stubs.clear();
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

    /// Fails if a serializable transaction cannot keep a key of so many bytes more among what it has read.
    #[inline]
    pub(super) fn check_read(&self, txn: &Transaction, key_bytes: usize) -> Result<()> {
        let (bytes, bytes_max) = (txn.reads.bytes() + key_bytes, self.options.read_bytes_max);
        if bytes as u64 > bytes_max {
            return Err(capped("what a transaction has read", bytes, bytes_max as usize));
        }
        check_arena(txn, key_bytes)
    }

    /// Waits until all commits up to that one are applied. Whoever holds them up is in a section and
    /// does not wait, but it may have lost its core.
    pub(crate) fn wait_published(&self, csn: Csn) -> Result<()> {
        if self.log.horizon() >= csn {
            return Ok(());
        }
        let mut looks = 0_u32;
        while self.log.published() < csn {
            self.log.check()?;
            pause(looks);
            looks += 1;
        }
        Ok(())
    }

    /// Waits until what was seen of the store is stable: an answer that depends on it may go out.
    pub(super) fn wait_stable(&self, seen: Csn) -> Result<()> {
        if self.log.horizon() >= seen {
            return Ok(());
        }
        self.wait_published(seen)?;
        self.log.wait_horizon(seen)
    }
}

/// Fails if a transaction cannot keep so many bytes more.
#[inline]
pub(super) fn check_arena(txn: &Transaction, bytes: usize) -> Result<()> {
    if txn.arena.has_room(bytes) {
        return Ok(());
    }
    let kept = txn.arena.len() + bytes;
    Err(capped("a transaction", kept, u32::MAX as usize))
}

/// Why the gate could not be waited for, to the caller.
#[cold]
fn refused(error: GateError) -> Error {
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

/// Lets others go on, shortly at first.
#[inline]
pub(super) fn pause(looks: u32) {
    if stepped() {
        step(Step::Spin);
    } else if looks < 32 {
        std::hint::spin_loop();
    } else {
        yield_now();
    }
}
