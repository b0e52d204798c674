//! A worker's handle on the log: holds the batch while an executor makes a pass over its clients.

use crate::log::batch_gate::PassEnd;
use crate::log::commit::Ticket;
use crate::log::driver::{Shared, StopCondition};
use crate::log::options::Writer;
use crate::log::ring::NO_WORKER;
use crate::log::wait::Completion;
use std::cell::Cell;
use std::sync::Arc;
use syncline_instrument::{Module, Nanos, clock, tag};
use syncline_vfs::{Disk, RealDisk};

/// More clients make no difference to when a group is ready to flush.
const CLIENTS_MAX: usize = 1 << 20;

/// An executor's handle on the log. It stays on its executor's thread.
#[derive(Debug)]
pub struct Worker<D: Disk = RealDisk> {
    shared: Arc<Shared<D>>,
    slot: u32,
    /// Bytes staged in this pass.
    staged_bytes: Cell<u64>,
    /// The number of its clients, as last reported.
    clients: Cell<usize>,
    /// When the pass began, and the commits in it.
    pass: Cell<(Nanos, u64)>,
}

impl<D: Disk> Worker<D> {
    pub(super) fn new(shared: Arc<Shared<D>>) -> Worker<D> {
        let slot = shared.workers.join().unwrap_or(NO_WORKER);
        Worker {
            shared,
            slot,
            staged_bytes: Cell::new(0),
            clients: Cell::new(0),
            pass: Cell::new((0, 0)),
        }
    }

    /// Begins a pass: published commits wait for [`Worker::end_pass`].
    #[inline]
    pub fn begin_pass(&self) {
        let _entered = tag::enter(Module::Logging);
        self.staged_bytes.set(0);
        if self.slot != NO_WORKER {
            self.shared.workers.begin_pass(self.slot);
            if self.shared.hands_over {
                self.pass.set((clock::now(), 0));
            }
        }
    }

    /// Ends a pass: staged commits are launched, unless another worker is about to add to them. A group that
    /// is ready to flush is launched anyway, but by another thread.
    #[inline]
    pub fn end_pass(&self) {
        let _entered = tag::enter(Module::Logging);
        if self.slot == NO_WORKER {
            return self.launch();
        }
        let (began, commits) = self.pass.take();
        if commits > 0 && self.shared.hands_over {
            let span = clock::now().saturating_sub(began);
            self.shared.flush_policy.passed(span, commits);
        }
        match self.shared.workers.end_pass(self.slot) {
            PassEnd::LastWithWork if self.shared.hands_over => {
                // A worker that has clients to run must not be the one that waits for the write.
                if !self.shared.is_busy() {
                    self.shared.request_write();
                }
            }
            PassEnd::Last | PassEnd::LastWithWork => self.launch(),
            PassEnd::Others
                if self.shared.is_ready_to_flush() || self.shared.is_past_deadline() =>
            {
                self.shared.request_write();
            }
            PassEnd::Others => {}
        }
    }

    /// Reports how many clients commit through this worker.
    #[inline]
    pub fn has_clients(&self, clients: usize) {
        let clients = clients.min(CLIENTS_MAX);
        let before = self.clients.replace(clients);
        if clients != before {
            self.shared.flush_policy.change_clients(before, clients);
        }
    }

    /// Reports that a client of this worker has published `bytes` bytes. Past the cap they are launched at
    /// once; if they make a group ready to flush, that group is launched.
    #[inline]
    pub fn staged(&self, bytes: usize) {
        let staged = self.staged_bytes.get().saturating_add(bytes as u64);
        self.staged_bytes.set(staged);
        let (began, commits) = self.pass.get();
        self.pass.set((began, commits.saturating_add(1)));
        if staged >= u64::from(self.shared.options.pass_bytes_max) {
            self.staged_bytes.set(0);
            match self.shared.options.writer {
                Writer::Thread => self.shared.request_write(),
                Writer::Worker => self.launch(),
            }
        } else if self.shared.is_ready_to_flush() {
            self.shared.request_write();
        }
    }

    /// A client's ticket as a future. Polled during this worker's pass it leaves the write to the end of the
    /// pass; otherwise the log's own thread writes, as for
    /// [`Database::completion`](crate::Database::completion).
    #[inline]
    pub fn completion(&self, ticket: Ticket) -> Completion<'_, D> {
        Completion::new(&self.shared, ticket, self.slot)
    }

    fn launch(&self) {
        if self.shared.is_busy() {
            return;
        }
        match self.shared.options.writer {
            Writer::Thread => self.shared.writer_signal.raise(),
            Writer::Worker => {
                // Once own clients were woken, the end of their pass writes the rest.
                let own_woken = StopCondition::Enough(&|woken| woken.own > 0);
                self.shared.drive(self.slot, &own_woken);
            }
        }
    }
}

impl<D: Disk> Drop for Worker<D> {
    fn drop(&mut self) {
        self.has_clients(0);
        if self.slot != NO_WORKER {
            self.shared.workers.leave(self.slot);
        }
        // Other threads may have relied on the end of this worker's pass.
        if !self.shared.is_busy() {
            self.shared.drive(NO_WORKER, &StopCondition::Idle);
        }
    }
}
