//! A worker's part of the engine: corks the log while its executor makes a pass, and goes ahead of the
//! reads that its clients have asked for when the pass ends, so that they wait for memory together. Reads
//! that one transaction asks for at once are gone ahead of without waiting for the pass.
//!
//! Where the store numbers rows, a worker takes numbers in blocks: with one counter for all, every insert
//! would wait for the counter's cache line, and all workers would insert into the same leaf, the last one.
//! So rows of two workers are not numbered in the order in which they came, and numbers are left out, as
//! where a server's sequence keeps some for each connection.

use super::session::{ClientContext, Notes};
use super::store::Numbers;
use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::future::poll_fn;
use std::mem;
use std::ops::Range;
use std::rc::Rc;
use std::task::Poll;
use syncline_engine::log;
use syncline_engine::{Database, PrefetchKey, Prefetcher, Result, Table};
use syncline_vfs::Disk;

/// So many clients of a worker must there be for their reads to wait for one another: fewer gain less
/// from going ahead together than the turn costs that they give away for it.
const CROWD: usize = 4;

/// A worker's part. Where clients block their threads it does nothing.
#[derive(Debug)]
pub struct EngineWorker<D: Disk> {
    part: OnceCell<Rc<Part<D>>>,
}

/// What the clients of a worker share.
#[derive(Debug)]
pub(super) struct Part<D: Disk> {
    pub(super) log: log::Worker<D>,
    scout: RefCell<Prefetcher<D>>,
    /// For the reads of one transaction, which do not wait for a pass to end.
    near: RefCell<Prefetcher<D>>,
    /// Rows are sought in this pass.
    has_sought: Cell<bool>,
    /// The memory in which the last transaction has worked, for the next one of any client: it is in the
    /// core's cache, and each client's own would have been driven out.
    memory: RefCell<(Box<ClientContext>, Box<Notes>)>,
    /// Numbers that are this worker's to give, by table.
    numbers: RefCell<Vec<Range<i64>>>,
}

impl<D: Disk> EngineWorker<D> {
    pub(super) fn new() -> EngineWorker<D> {
        EngineWorker { part: OnceCell::new() }
    }

    /// The part of a worker whose clients are futures.
    pub(super) fn part(&self, database: &Database<D>) -> Rc<Part<D>> {
        let part = self.part.get_or_init(|| {
            Rc::new(Part {
                log: database.worker(),
                scout: RefCell::new(database.scout()),
                near: RefCell::new(database.scout()),
                has_sought: Cell::new(false),
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
            // The part itself holds one.
            part.log.has_clients(Rc::strong_count(part) - 1);
            part.log.cork();
        }
    }

    #[inline]
    fn pass_ended(&self) {
        if let Some(part) = self.part.get() {
            part.log.uncork();
            if part.has_sought.replace(false) {
                part.scout.borrow_mut().go();
            }
        }
    }
}

impl<D: Disk> Part<D> {
    /// True if there are clients enough on the worker for reads to go ahead together.
    #[inline]
    pub(super) fn is_crowd(self: &Rc<Part<D>>) -> bool {
        Rc::strong_count(self) > CROWD
    }

    /// Exchanges the memory at hand for that which is in the cache, when a transaction begins, and back when
    /// it ends. Between the two others may do so, too: then it is another one's that comes back.
    #[inline]
    pub(super) fn exchange(&self, desk: &mut Box<ClientContext>, notes: &mut Box<Notes>) {
        let mut memory = self.memory.borrow_mut();
        mem::swap(&mut memory.0, desk);
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
            *block = numbers.give_block();
            block.next().expect("a block has numbers")
        })
    }

    /// Makes a sought row known; answers its place, for [`Part::tell`] in the next pass.
    #[inline]
    pub(super) fn add(&self, table: &Table, sought: &PrefetchKey) -> Result<usize> {
        self.has_sought.set(true);
        self.scout.borrow_mut().add(table, sought)
    }

    /// The scout for reads that one client makes at once.
    #[inline]
    pub(super) fn near(&self) -> RefMut<'_, Prefetcher<D>> {
        self.near.borrow_mut()
    }

    /// Hands over what was learned of the row when the pass ended.
    #[inline]
    pub(super) fn tell(&self, place: usize, sought: &mut PrefetchKey) {
        self.scout.borrow().tell(place, sought);
    }
}

/// Gives the turn away until the executor's next pass.
#[inline]
pub(super) async fn next_pass() {
    let mut given = false;
    poll_fn(|context| {
        if given {
            return Poll::Ready(());
        }
        given = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
