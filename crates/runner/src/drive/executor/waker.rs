//! Wakers with two queues: a thread-local one for the owner thread, and a locked one for all other threads.
//!
//! A wake on the owner's thread goes into the owner's own queue wherever it comes from: a poll, the end of a
//! pass, the wait for sockets, or anything else that runs there. The owner checks the queue before it waits.

use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};
use syncline_instrument::{Module, tag};

/// The id of an executor, unique in this process.
type ExecutorId = u64;

/// The id for a thread that drives no executor.
const NONE: ExecutorId = 0;

static NEXT_ID: AtomicU64 = AtomicU64::new(NONE + 1);

struct Local {
    driving: Cell<ExecutorId>,
    ready: RefCell<Vec<usize>>,
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            driving: Cell::new(NONE),
            ready: RefCell::new(Vec::new()),
        }
    };
}

/// The part of an executor that other threads access.
pub(super) struct Shared {
    id: ExecutorId,
    woken: Mutex<Vec<usize>>,
    any: AtomicBool,
    /// Wakes the owner.
    owner: Waker,
}

impl Shared {
    /// For an executor whose thread waits until `owner` is woken.
    pub(super) fn new(clients: usize, owner: Waker) -> Arc<Shared> {
        Arc::new(Shared {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            woken: Mutex::new(Vec::with_capacity(clients)),
            any: AtomicBool::new(false),
            owner,
        })
    }

    /// True if another thread has woken a task since the last [`Shared::collect`].
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Appends the tasks that other threads have woken.
    fn collect(&self, ready: &mut Vec<usize>) {
        if self.any() && self.any.swap(false, Ordering::SeqCst) {
            let mut woken = self.woken.lock();
            ready.append(&mut woken);
        }
    }

    fn push(&self, index: usize) {
        self.woken.lock().push(index);
        // After the push, so that the thread that clears the flag finds the pushed task.
        if !self.any.swap(true, Ordering::SeqCst) {
            self.owner.wake_by_ref();
        }
    }
}

/// One client's task, as its wakers know it.
pub(super) struct Task {
    index: usize,
    scheduled: AtomicBool,
    shared: Arc<Shared>,
}

impl Task {
    /// A task that is in no queue.
    pub(super) fn new(index: usize, shared: Arc<Shared>) -> Arc<Task> {
        Arc::new(Task { index, scheduled: AtomicBool::new(false), shared })
    }

    /// Call this right before the poll: from here on, a wake queues the task again. It is a
    /// read-modify-write, so that everything before a wake that found the flag set is visible to the poll.
    pub(super) fn taken(&self) {
        self.scheduled.swap(false, Ordering::AcqRel);
    }
}

impl Wake for Task {
    fn wake(self: Arc<Task>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Task>) {
        // A store wakes clients from inside its own code; the cost belongs to the laboratory.
        let _entered = tag::enter(Module::Laboratory);
        if self.scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        let queued = LOCAL.try_with(|local| {
            let own = local.driving.get() == self.shared.id;
            if own {
                local.ready.borrow_mut().push(self.index);
            }
            own
        });
        // An ending thread has no local queue any more, so it is not the owner.
        if !queued.unwrap_or(false) {
            self.shared.push(self.index);
        }
    }
}

/// Marks the calling thread as the driver of an executor, until dropped.
pub(super) struct DriveGuard;

impl DriveGuard {
    /// Panics if the thread already drives an executor, whose clients would then never run.
    pub(super) fn start(shared: &Shared, clients: usize) -> DriveGuard {
        LOCAL.with(|local| {
            assert!(
                local.driving.get() == NONE,
                "an executor must not be driven inside another one on the same thread"
            );
            local.driving.set(shared.id);
            let mut ready = local.ready.borrow_mut();
            ready.clear();
            ready.reserve(clients);
        });
        DriveGuard
    }

    /// True if a task is ready, whichever thread woke it.
    pub(super) fn any_ready(shared: &Shared) -> bool {
        shared.any() || LOCAL.with(|local| !local.ready.borrow().is_empty())
    }

    /// Moves all ready tasks into the empty `running`.
    pub(super) fn take_ready(shared: &Shared, running: &mut Vec<usize>) {
        debug_assert!(running.is_empty(), "the previous pass ran all its tasks");
        LOCAL.with(|local| {
            let mut ready = local.ready.borrow_mut();
            shared.collect(&mut ready);
            std::mem::swap(&mut *ready, running);
        });
    }
}

impl Drop for DriveGuard {
    fn drop(&mut self) {
        // The thread may be ending, and its queue with it.
        if LOCAL.try_with(|local| local.driving.set(NONE)).is_err() {}
    }
}
