//! What the poller knows of one socket, and who waits for it.
//!
//! The kernel tells a socket's readiness once, when it changes. So a flag stays up until a read or a
//! write has found nothing more to do; only then may anyone wait for the next word. One task at a time
//! waits for a socket.
//!
//! Poller and session share a thread, so nothing here is ever contended; that both may be sent to another
//! thread lets a connection that is not polled rest in a target between two questions.

use parking_lot::{Mutex, MutexGuard};
use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Poll, Waker};
use syncline_instrument::{Nanos, clock};

const NEVER: Nanos = Nanos::MAX;

/// See the module.
#[derive(Debug)]
pub(super) struct Readiness {
    /// A read may find something.
    readable: AtomicBool,
    /// A write may find room.
    writable: AtomicBool,
    /// The other side has ended it: what is left can be read, and then its end, of which no more is told.
    closed: AtomicBool,
    /// When waiting becomes a failure; [`NEVER`] while the session may take as long as it likes.
    due: AtomicU64,
    waiting: Mutex<Option<Waker>>,
}

impl Readiness {
    /// Of a socket of which nothing has been told yet.
    pub(super) fn new() -> Readiness {
        Readiness {
            readable: AtomicBool::new(false),
            writable: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            due: AtomicU64::new(NEVER),
            waiting: Mutex::new(None),
        }
    }

    /// The kernel has told something.
    pub(super) fn told(&self, readable: bool, writable: bool, closed: bool) {
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

    /// Wakes who waits.
    pub(super) fn wake(&self) {
        let waiting = self.waiting().take();
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// A read found nothing more.
    pub(super) fn drained(&self) {
        self.readable.store(false, Relaxed);
    }

    /// A read found less than it had room for: nothing more, unless the end comes behind it.
    pub(super) fn fell_short(&self) {
        if !self.closed.load(Relaxed) {
            self.drained();
        }
    }

    /// A write found no more room.
    pub(super) fn full(&self) {
        self.writable.store(false, Relaxed);
    }

    /// When waiting becomes a failure.
    pub(super) fn due(&self) -> Option<Nanos> {
        Some(self.due.load(Relaxed)).filter(|due| *due != NEVER)
    }

    /// Sets when waiting becomes a failure.
    pub(super) fn set_due(&self, due: Option<Nanos>) {
        self.due.store(due.unwrap_or(NEVER), Relaxed);
    }

    /// True if a read may find something.
    pub(super) fn may_read(&self) -> bool {
        self.readable.load(Relaxed)
    }

    /// Waits until a read may find something.
    pub(super) async fn readable(&self) -> io::Result<()> {
        self.until(|| self.readable.load(Relaxed)).await
    }

    /// Waits until a write may find room.
    pub(super) async fn writable(&self) -> io::Result<()> {
        self.until(|| self.writable.load(Relaxed)).await
    }

    /// Waits until a read or a write may go on.
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
