//! The state of a worker: holds the log batch while its executor makes a pass, and prefetches the reads
//! that its clients have deferred when the pass ends, so that their cache misses overlap. Deferred
//! reads of one transaction are prefetched without waiting for the pass if there are enough of them.
//! Rows that are not in memory, to be read or written by the next commits, are read from the disk from that
//! moment on, those of all clients at the same time. A client waits for its own rows only; the worker waits
//! for one of the reads at the end of each pass, so that others begin while the rest is under way.
//!
//! If the store numbers rows, a worker takes numbers in blocks: with one shared counter, every insert
//! would wait for the counter's cache line, and all workers would insert into the same leaf, the last
//! one. So rows of two workers are not numbered in the order of their insertion, and some numbers are
//! skipped, as with a server's sequence that caches numbers for each connection.

use super::session::{ClientContext, Notes};
use super::store::Numbers;
use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::future::poll_fn;
use std::mem;
use std::ops::Range;
use std::rc::Rc;
use std::task::Poll;
use syncline_engine::log;
use syncline_engine::{
    BufferMode, Database, PrefetchKey, Prefetcher, Result, RowLoad, Table, TypedSession,
};
use syncline_vfs::Disk;

/// How many clients a worker must have for their reads to wait for each other: with fewer, the prefetch
/// gains less than the wait for the next pass costs.
const CLIENTS_MIN: usize = 4;

/// A worker of the engine. It does nothing where clients block their threads.
#[derive(Debug)]
pub struct EngineWorker<D: Disk> {
    part: OnceCell<Rc<Part<D>>>,
}

/// The state that the clients of a worker share.
#[derive(Debug)]
pub(super) struct Part<D: Disk> {
    pub(super) log: log::Worker<D>,
    prefetcher: RefCell<Prefetcher<D>>,
    /// For the reads of one transaction, which do not wait for the pass to end.
    transaction_prefetcher: RefCell<Prefetcher<D>>,
    /// This pass has reads to prefetch.
    has_keys: Cell<bool>,
    /// Rows may have to be read from the disk: then their reads go on during a write of the log.
    may_read: bool,
    /// The memory of the last transaction, for the next one of any client: it is in the core's cache,
    /// while each client's own memory would have been evicted.
    memory: RefCell<(Box<ClientContext>, Box<Notes>)>,
    /// Numbers that this worker may assign, by table.
    numbers: RefCell<Vec<Range<i64>>>,
}

impl<D: Disk> EngineWorker<D> {
    pub(super) fn new() -> EngineWorker<D> {
        EngineWorker { part: OnceCell::new() }
    }

    /// The state of a worker whose clients are futures.
    pub(super) fn part(&self, database: &Database<D>) -> Rc<Part<D>> {
        let part = self.part.get_or_init(|| {
            Rc::new(Part {
                log: database.worker(),
                prefetcher: RefCell::new(database.prefetcher()),
                transaction_prefetcher: RefCell::new(database.prefetcher()),
                has_keys: Cell::new(false),
                may_read: database.options().buffer_mode != BufferMode::Resident,
                memory: RefCell::default(),
                numbers: RefCell::default(),
            })
        });
        Rc::clone(part)
    }
}

impl<D: Disk> syncline_contract::Worker for EngineWorker<D> {
    #[inline]
    fn pass_started(&self) {
        if let Some(part) = self.part.get() {
            // The worker itself holds one reference.
            part.log.has_clients(Rc::strong_count(part) - 1);
            part.log.begin_pass();
        }
    }

    #[inline]
    fn pass_ended(&self) {
        if let Some(part) = self.part.get() {
            let mut prefetcher = part.prefetcher.borrow_mut();
            let has_keys = part.has_keys.replace(false);
            if has_keys && part.may_read {
                prefetcher.begin();
            }
            part.log.end_pass();
            if has_keys && !part.may_read {
                // What is fetched into the processor's caches would not stay there during a write of the log.
                prefetcher.begin();
            }
            if prefetcher.is_loading() {
                prefetcher.wait().expect("a pass ends outside of rows that are shown");
            }
        }
    }
}

impl<D: Disk> Part<D> {
    /// True if the worker has enough clients for a shared prefetch.
    #[inline]
    pub(super) fn has_enough_clients(self: &Rc<Part<D>>) -> bool {
        Rc::strong_count(self) > CLIENTS_MIN
    }

    /// Exchanges a client's memory for the worker's cached one when a transaction begins, and back when
    /// it ends. Other clients may do so in between; the client then gets another one's memory back.
    #[inline]
    pub(super) fn exchange(&self, context: &mut Box<ClientContext>, notes: &mut Box<Notes>) {
        let mut memory = self.memory.borrow_mut();
        mem::swap(&mut memory.0, context);
        mem::swap(&mut memory.1, notes);
    }

    /// The number of a table's next row, from the worker's block.
    #[inline]
    pub(super) fn number(&self, table: usize, numbers: &Numbers) -> i64 {
        let mut blocks = self.numbers.borrow_mut();
        if table >= blocks.len() {
            blocks.resize(table + 1, 0..0);
        }
        let block = &mut blocks[table];
        block.next().unwrap_or_else(|| {
            *block = numbers.allocate_block();
            block.next().expect("a block has numbers")
        })
    }

    /// Adds a key to the prefetch; returns its position, for [`Part::set_hint`] in the next pass.
    #[inline]
    pub(super) fn add(&self, table: &Table, prefetch_key: &PrefetchKey) -> Result<usize> {
        self.has_keys.set(true);
        self.prefetcher.borrow_mut().add(table, prefetch_key)
    }

    /// Adds a key to the prefetch if its row is not in memory; returns its position as [`Part::add`].
    #[inline]
    pub(super) fn add_missing(
        &self,
        table: &Table,
        prefetch_key: &PrefetchKey,
    ) -> Result<Option<usize>> {
        let place = self.prefetcher.borrow_mut().add_missing(table, prefetch_key)?;
        if place.is_some() {
            self.has_keys.set(true);
        }
        Ok(place)
    }

    /// Adds the rows that the session writes and that are not in memory; returns their positions.
    #[inline]
    pub(super) fn add_writes(&self, session: &TypedSession<D>) -> Range<usize> {
        let added = self.prefetcher.borrow_mut().add_writes(session);
        if !added.is_empty() {
            self.has_keys.set(true);
        }
        added
    }

    /// Adds the loads to `loads` that have begun for these positions when the last pass ended.
    #[inline]
    pub(super) fn loads(&self, places: impl Iterator<Item = usize>, loads: &mut Vec<RowLoad>) {
        let prefetcher = self.prefetcher.borrow();
        loads.extend(places.filter_map(|place| prefetcher.load(place)));
    }

    /// Yields until these rows have been read.
    pub(super) async fn loaded(&self, loads: &mut Vec<RowLoad>) {
        while self.is_loading(loads) {
            next_pass().await;
        }
    }

    /// True if some of these rows are still being read; removes the others.
    fn is_loading(&self, loads: &mut Vec<RowLoad>) -> bool {
        let prefetcher = self.prefetcher.borrow();
        loads.retain(|load| !prefetcher.is_loaded(*load));
        !loads.is_empty()
    }

    /// The prefetcher for reads that one client makes at once.
    #[inline]
    pub(super) fn transaction_prefetcher(&self) -> RefMut<'_, Prefetcher<D>> {
        self.transaction_prefetcher.borrow_mut()
    }

    /// Returns the prefetch result for a key after the pass has ended.
    #[inline]
    pub(super) fn set_hint(&self, place: usize, prefetch_key: &mut PrefetchKey) {
        self.prefetcher.borrow().set_hint(place, prefetch_key);
    }
}

/// Yields until the executor's next pass.
#[inline]
pub(super) async fn next_pass() {
    let mut yielded = false;
    poll_fn(|context| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
