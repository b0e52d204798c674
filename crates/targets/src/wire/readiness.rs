//! What the poller knows of one socket, and who waits for it.
//!
//! The kernel tells a socket's readiness once, when it changes. So a flag stays up until a read or a
//! write has found nothing more to do; only then may anyone wait for the next word. One task at a time
//! waits for a socket.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::task::{Poll, Waker};
use syncline_metering::{Nanos, clock};

/// See the module.
#[derive(Debug)]
pub(super) struct Readiness {
    /// A read may find something.
    readable: Cell<bool>,
    /// A write may find room.
    writable: Cell<bool>,
    /// When waiting becomes a failure; none while the session may take as long as it likes.
    due: Cell<Option<Nanos>>,
    waiting: RefCell<Option<Waker>>,
}

impl Readiness {
    /// Of a socket of which nothing has been told yet.
    pub(super) fn new() -> Readiness {
        Readiness {
            readable: Cell::new(false),
            writable: Cell::new(false),
            due: Cell::new(None),
            waiting: RefCell::new(None),
        }
    }

    /// The kernel has told something.
    pub(super) fn told(&self, readable: bool, writable: bool) {
        if readable {
            self.readable.set(true);
        }
        if writable {
            self.writable.set(true);
        }
        self.wake();
    }

    /// Wakes who waits.
    pub(super) fn wake(&self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    /// A read found nothing more.
    pub(super) fn drained(&self) {
        self.readable.set(false);
    }

    /// A write found no more room.
    pub(super) fn full(&self) {
        self.writable.set(false);
    }

    /// When waiting becomes a failure.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.due.get()
    }

    /// Sets when waiting becomes a failure.
    pub(super) fn set_due(&self, due: Option<Nanos>) {
        self.due.set(due);
    }

    /// True if a read may find something.
    pub(super) fn may_read(&self) -> bool {
        self.readable.get()
    }

    /// Waits until a read may find something.
    pub(super) async fn readable(&self) -> io::Result<()> {
        self.until(|| self.readable.get()).await
    }

    /// Waits until a write may find room.
    pub(super) async fn writable(&self) -> io::Result<()> {
        self.until(|| self.writable.get()).await
    }

    /// Waits until a read or a write may go on.
    pub(super) async fn either(&self) -> io::Result<()> {
        self.until(|| self.readable.get() || self.writable.get())
            .await
    }

    async fn until(&self, reached: impl Fn() -> bool) -> io::Result<()> {
        poll_fn(|context| {
            if reached() {
                return Poll::Ready(Ok(()));
            }
            if self.due.get().is_some_and(|due| clock::now() >= due) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            let mut waiting = self.waiting.borrow_mut();
            match &mut *waiting {
                Some(waker) => waker.clone_from(context.waker()),
                None => *waiting = Some(context.waker().clone()),
            }
            Poll::Pending
        })
        .await
    }
}
