//! A pause inside a transaction: the client sleeps until the executor wakes it.
//!
//! Only user scripts pause (`\sleep`); waits between transactions are [`Waits`](crate::Waits).

use std::fmt::Debug;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use syncline_instrument::{Nanos, clock};

/// Wakes sleeping clients: the timers of the executor that drives them.
pub trait Timer: Debug {
    /// Wakes the waker at this time of the monotonic clock.
    fn wake_at(&self, due: Nanos, waker: Waker);
}

/// A wait until a time. A spurious wake-up does not end it.
#[derive(Debug)]
pub(crate) struct Pause {
    timer: Rc<dyn Timer>,
    due: Nanos,
    is_registered: bool,
}

impl Pause {
    /// A pause until this time of the monotonic clock.
    pub(crate) fn until(timer: Rc<dyn Timer>, due: Nanos) -> Pause {
        Pause { timer, due, is_registered: false }
    }
}

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if clock::now() >= self.due {
            return Poll::Ready(());
        }
        if !self.is_registered {
            self.timer.wake_at(self.due, context.waker().clone());
            self.is_registered = true;
        }
        Poll::Pending
    }
}
