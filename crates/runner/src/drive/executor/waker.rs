//! Wakers: a queue of the owner thread's own, and a locked one for every other thread.
//!
//! A wake on the owner's thread goes into the owner's own queue wherever it comes from: a poll, the end
//! of a pass, the wait for sockets, or anything else that runs there; the owner looks into it before it
//! waits.

use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};
use syncline_instrument::{Module, tag};

/// Which executor, of all that ever were in this process.
type ExecutorId = u64;

/// What executors outside of any thread's driving have.
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

/// The part of an executor that other threads reach.
pub(super) struct Shared {
    id: ExecutorId,
    woken: Mutex<Vec<usize>>,
    any: AtomicBool,
    /// Ends the owner's wait.
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

    /// Appends what other threads have woken.
    fn collect(&self, ready: &mut Vec<usize>) {
        if self.any() && self.any.swap(false, Ordering::SeqCst) {
            let mut woken = self.woken.lock();
            ready.append(&mut woken);
        }
    }

    fn push(&self, index: usize) {
        self.woken.lock().push(index);
        // After the push: whoever clears the flag then finds what was pushed.
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

    /// To be called right before the poll: from here on, a wake queues the task again. Reads and
    /// writes, so that everything before a wake that found the flag set is visible to the poll.
    pub(super) fn taken(&self) {
        self.scheduled.swap(false, Ordering::AcqRel);
    }
}

impl Wake for Task {
    fn wake(self: Arc<Task>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Task>) {
        // A store wakes clients from inside of itself; what that costs is ours.
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
        // A thread that is ending has no local queue any more, and so is not the owner.
        if !queued.unwrap_or(false) {
            self.shared.push(self.index);
        }
    }
}

/// Marks the calling thread as the one that drives an executor, until dropped.
pub(super) struct DriveGuard;

impl DriveGuard {
    /// Panics if the thread drives one already: its clients would never run.
    pub(super) fn start(shared: &Shared, clients: usize) -> DriveGuard {
        LOCAL.with(|local| {
            assert!(
                local.driving.get() == NONE,
                "an executor is driven inside another one on the same thread"
            );
            local.driving.set(shared.id);
            let mut ready = local.ready.borrow_mut();
            ready.clear();
            ready.reserve(clients);
        });
        DriveGuard
    }

    /// True if a task is ready, whoever woke it.
    pub(super) fn any_ready(shared: &Shared) -> bool {
        shared.any() || LOCAL.with(|local| !local.ready.borrow().is_empty())
    }

    /// Exchanges the empty `running` for everything that is ready.
    pub(super) fn take_ready(shared: &Shared, running: &mut Vec<usize>) {
        debug_assert!(running.is_empty(), "a pass takes all that was ready");
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
