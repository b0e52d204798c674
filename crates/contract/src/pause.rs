//! A pause inside a transaction: the client sleeps, whoever drives it wakes it.
//!
//! Only scripts of a user ask for one (`\sleep`); what a client waits between its transactions is
//! [`Waits`](crate::Waits).

use std::fmt::Debug;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use syncline_instrument::{Nanos, clock};

/// Who wakes a sleeping client: the timers of the executor that drives it.
pub trait Timer: Debug {
    /// Will call the waker at that time of the one clock.
    fn wake_at(&self, due: Nanos, waker: Waker);
}

/// A wait until a time. A stray wake does not end it.
#[derive(Debug)]
pub(crate) struct Pause {
    timer: Rc<dyn Timer>,
    due: Nanos,
    asked: bool,
}

impl Pause {
    /// Until that time of the one clock.
    pub(crate) fn until(timer: Rc<dyn Timer>, due: Nanos) -> Pause {
        Pause { timer, due, asked: false }
    }
}

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if clock::now() >= self.due {
            return Poll::Ready(());
        }
        if !self.asked {
            self.timer.wake_at(self.due, context.waker().clone());
            self.asked = true;
        }
        Poll::Pending
    }
}
