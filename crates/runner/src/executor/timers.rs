//! Sleepers: those who wait for a point in time, earliest first.
//!
//! Arrivals are taken in the order of their times, so a new sleeper nearly always goes to the end and
//! no heap is needed.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use syncline_metering::{Nanos, clock};

/// The sleepers of one executor.
#[derive(Default)]
pub(crate) struct Timers {
    sleepers: RefCell<VecDeque<(Nanos, Waker)>>,
    over: Cell<bool>,
}

impl Timers {
    /// Waits until that time has come, or until everyone is woken early.
    pub(crate) fn sleep_until(&self, due: Nanos) -> Sleep<'_> {
        Sleep {
            timers: self,
            due,
            registered: false,
        }
    }

    /// When the next sleeper is due; none if nobody sleeps.
    pub(super) fn next_due(&self) -> Option<Nanos> {
        self.sleepers.borrow().front().map(|(due, _)| *due)
    }

    /// Wakes everyone now, and lets nobody sleep any more.
    pub(super) fn end(&self) {
        self.over.set(true);
        self.wake_due(Nanos::MAX);
    }

    /// Wakes everyone who is due by `now`.
    pub(super) fn wake_due(&self, now: Nanos) {
        let mut sleepers = self.sleepers.borrow_mut();
        while sleepers.front().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, waker)) = sleepers.pop_front() {
                waker.wake();
            }
        }
    }

    fn register(&self, due: Nanos, waker: Waker) {
        let mut sleepers = self.sleepers.borrow_mut();
        let place = sleepers.partition_point(|(other, _)| *other <= due);
        sleepers.insert(place, (due, waker));
    }
}

/// A wait. Ends at its time, or when nobody shall sleep any more; a stray wake does not end it.
pub(crate) struct Sleep<'t> {
    timers: &'t Timers,
    due: Nanos,
    registered: bool,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.timers.over.get() || clock::now() >= self.due {
            return Poll::Ready(());
        }
        if !self.registered {
            self.timers.register(self.due, context.waker().clone());
            self.registered = true;
        }
        Poll::Pending
    }
}
