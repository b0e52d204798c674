//! The readiness of one socket, and the task that waits for it.
//!
//! The kernel reports a socket's readiness once, when it changes. So a flag remains set until a read or
//! a write would block; only then may a task wait for the next report. One task at a time waits for a
//! socket.
//!
//! Poller and session share a thread, so there is no contention; both are `Send`, so that a connection
//! without a poller can stay in a target between two requests.

use parking_lot::{Mutex, MutexGuard};
use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Poll, Waker};
use syncline_instrument::{Nanos, clock};

const NEVER: Nanos = Nanos::MAX;

/// The readiness flags of a socket, and its deadline.
#[derive(Debug)]
pub(super) struct Readiness {
    /// A read may find data.
    readable: AtomicBool,
    /// A write may find space.
    writable: AtomicBool,
    /// The peer has closed it: the remaining data can be read, then its end, and no more readiness is
    /// reported.
    closed: AtomicBool,
    /// When waiting fails; [`NEVER`] without a limit.
    due: AtomicU64,
    waiting: Mutex<Option<Waker>>,
}

impl Readiness {
    /// For a socket without any report so far.
    pub(super) fn new() -> Readiness {
        Readiness {
            readable: AtomicBool::new(false),
            writable: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            due: AtomicU64::new(NEVER),
            waiting: Mutex::new(None),
        }
    }

    /// Records a report of the kernel.
    pub(super) fn set_ready(&self, readable: bool, writable: bool, closed: bool) {
        if closed {
            self.closed.store(true, Relaxed);
        }
        if readable {
            self.readable.store(true, Relaxed);
        }
        if writable {
            self.writable.store(true, Relaxed);
        }
        self.wake();
    }

    /// Wakes the waiting task.
    pub(super) fn wake(&self) {
        let waiting = self.waiting().take();
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// A read would block.
    pub(super) fn drained(&self) {
        self.readable.store(false, Relaxed);
    }

    /// A read returned less than its buffer holds: there is no more data, unless the end follows.
    pub(super) fn fell_short(&self) {
        if !self.closed.load(Relaxed) {
            self.drained();
        }
    }

    /// A write would block.
    pub(super) fn full(&self) {
        self.writable.store(false, Relaxed);
    }

    /// When waiting fails.
    pub(super) fn due(&self) -> Option<Nanos> {
        Some(self.due.load(Relaxed)).filter(|due| *due != NEVER)
    }

    /// Sets when waiting fails.
    pub(super) fn set_due(&self, due: Option<Nanos>) {
        self.due.store(due.unwrap_or(NEVER), Relaxed);
    }

    /// True if a read may find data.
    pub(super) fn may_read(&self) -> bool {
        self.readable.load(Relaxed)
    }

    /// Waits until a read may find data.
    pub(super) async fn readable(&self) -> io::Result<()> {
        self.until(|| self.readable.load(Relaxed)).await
    }

    /// Waits until a write may find space.
    pub(super) async fn writable(&self) -> io::Result<()> {
        self.until(|| self.writable.load(Relaxed)).await
    }

    /// Waits until a read or a write may continue.
    pub(super) async fn either(&self) -> io::Result<()> {
        self.until(|| self.readable.load(Relaxed) || self.writable.load(Relaxed)).await
    }

    async fn until(&self, reached: impl Fn() -> bool) -> io::Result<()> {
        poll_fn(|context| {
            if reached() {
                return Poll::Ready(Ok(()));
            }
            if self.due().is_some_and(|due| clock::now() >= due) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            let mut waiting = self.waiting();
            match &mut *waiting {
                Some(waker) => waker.clone_from(context.waker()),
                None => *waiting = Some(context.waker().clone()),
            }
            Poll::Pending
        })
        .await
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waiting.lock()
    }
}
