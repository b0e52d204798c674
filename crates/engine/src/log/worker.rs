//! A worker's part of the log: corks it while an executor makes a pass over its clients.

use crate::log::batch_gate::PassEnd;
use crate::log::commit::Ticket;
use crate::log::options::Writer;
use crate::log::ring::NO_WORKER;
use crate::log::shared::{Shared, StopCondition};
use crate::log::wait::Completion;
use std::cell::Cell;
use std::sync::Arc;
use syncline_instrument::{Module, Nanos, clock, tag};
use syncline_vfs::Disk;

/// More clients than that make no difference to when a group is ready to flush.
const CLIENTS_MAX: usize = 1 << 20;

/// See the module. It stays on its executor's thread.
#[derive(Debug)]
pub struct Worker<D: Disk> {
    shared: Arc<Shared<D>>,
    place: u32,
    /// Bytes staged in this pass.
    staged_bytes: Cell<u64>,
    /// Its clients, as last said.
    clients: Cell<usize>,
    /// When the pass began, and the commits in it.
    pass: Cell<(Nanos, u64)>,
}

impl<D: Disk> Worker<D> {
    pub(super) fn new(shared: Arc<Shared<D>>) -> Worker<D> {
        let place = shared.workers.join().unwrap_or(NO_WORKER);
        Worker {
            shared,
            place,
            staged_bytes: Cell::new(0),
            clients: Cell::new(0),
            pass: Cell::new((0, 0)),
        }
    }

    /// A pass starts: what is published waits for [`Worker::uncork`].
    #[inline]
    pub fn cork(&self) {
        let _entered = tag::enter(Module::Logging);
        self.staged_bytes.set(0);
        if self.place != NO_WORKER {
            self.shared.workers.cork(self.place);
            if self.shared.hands_over {
                self.pass.set((clock::now(), 0));
            }
        }
    }

    /// A pass has ended: what is staged is launched, unless another worker is about to add to it. If it is
    /// ready to flush it is launched all the same, but not by this worker.
    #[inline]
    pub fn uncork(&self) {
        let _entered = tag::enter(Module::Logging);
        if self.place == NO_WORKER {
            return self.launch();
        }
        let (began, commits) = self.pass.take();
        if commits > 0 && self.shared.hands_over {
            let span = clock::now().saturating_sub(began);
            self.shared.ripeness.passed(span, commits);
        }
        match self.shared.workers.uncork(self.place) {
            PassEnd::LastWithWork if self.shared.hands_over => {
                // Who has clients to run shall not be the one that waits for the write.
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

    /// The worker has so many clients now, who commit through it.
    #[inline]
    pub fn has_clients(&self, clients: usize) {
        let clients = clients.min(CLIENTS_MAX);
        let before = self.clients.replace(clients);
        if clients != before {
            self.shared.ripeness.change_clients(before, clients);
        }
    }

    /// A client of this worker has published so many bytes. Past the cap they are launched at once, and if
    /// with them a group is ready to flush, that.
    #[inline]
    pub fn staged(&self, bytes: usize) {
        let staged = self.staged_bytes.get().saturating_add(bytes as u64);
        self.staged_bytes.set(staged);
        let (began, commits) = self.pass.get();
        self.pass.set((began, commits.saturating_add(1)));
        if staged >= u64::from(self.shared.options.corked_bytes_max) {
            self.staged_bytes.set(0);
            match self.shared.options.writer {
                Writer::Thread => self.shared.request_write(),
                Writer::Worker => self.launch(),
            }
        } else if self.shared.is_ready_to_flush() {
            self.shared.request_write();
        }
    }

    /// A client's ticket as a future. Polled while this worker is corked it leaves the write to the uncork;
    /// otherwise the log's own thread writes, as for [`Database::completion`](crate::Database::completion).
    #[inline]
    pub fn completion(&self, ticket: Ticket) -> Completion<'_, D> {
        Completion::new(&self.shared, ticket, self.place)
    }

    fn launch(&self) {
        if self.shared.is_busy() {
            return;
        }
        match self.shared.options.writer {
            Writer::Thread => self.shared.writer_signal.raise(),
            Writer::Worker => {
                // Once own clients were woken, their pass will end with an uncork.
                let own_woken = StopCondition::Enough(&|woken| woken.own > 0);
                self.shared.drive(self.place, &own_woken);
            }
        }
    }
}

impl<D: Disk> Drop for Worker<D> {
    fn drop(&mut self) {
        self.has_clients(0);
        if self.place != NO_WORKER {
            self.shared.workers.leave(self.place);
        }
        // Others may have relied on an uncork that will not come.
        if !self.shared.is_busy() {
            self.shared.drive(NO_WORKER, &StopCondition::Idle);
        }
    }
}
