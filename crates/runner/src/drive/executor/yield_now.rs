//! Giving the other ready clients a turn.

use std::pin::Pin;
use std::task::{Context, Poll};

/// Lets every other ready client run before this one continues.
pub(crate) fn yield_now() -> YieldNow {
    YieldNow { given: false }
}

/// The future of [`yield_now`].
pub(crate) struct YieldNow {
    given: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.given {
            return Poll::Ready(());
        }
        self.given = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
