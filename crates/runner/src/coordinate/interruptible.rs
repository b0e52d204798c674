//! Waits of a run outside its clients (loads, marks and checks), which a stop request ends.
//!
//! A store may never answer: a commit may wait for a lost synchronous standby, a statement for the lock of a
//! forgotten transaction.
//!
//! 1. A wait that began before the request ends [`STOP_DRAIN_NS`] after it, because an answer under way may
//!    still arrive. The future is dropped with its session; [`Target::remove`] ends whatever the store still
//!    does for that session.
//! 2. A wait that begins after the request, such as the check and the mark at the end of a stopped run, may
//!    take as long as its caller allows.
//! 3. A session that blocks its thread is never pending; its own waits observe the request.

use crate::coordinate::phases::{POLL_NS, STOP_DRAIN_NS};
use crate::drive::executor::{Executor, Signal, Timers, block_on};
use crate::error::Error;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use syncline_contract::{Failure, Target, Worker};
use syncline_instrument::Nanos;

/// The time limit of a commit that begins after the request.
pub(crate) const COMMIT_AFTER_STOP_NS: Nanos = 5 * syncline_instrument::clock::SECOND;

/// No limit after the request, for read-only waits.
pub(crate) const NO_LIMIT_NS: Nanos = Nanos::MAX;

/// The reason why there is no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The store failed.
    Failed(Failure),
    /// A stop was requested before the store answered.
    Stopped,
}

impl Unanswered {
    /// The error of a run that ends for this reason.
    pub(crate) fn into_error<T: Target>(self, target: &T, doing: &'static str) -> Error {
        match self {
            Unanswered::Failed(source) => Error::Target { target: target.name(), doing, source },
            Unanswered::Stopped => stopped(target, doing),
        }
    }

    /// One sentence without a final period.
    pub(crate) fn what(self) -> String {
        match self {
            Unanswered::Failed(failure) => failure.what,
            Unanswered::Stopped => "the run was stopped before the store answered".to_owned(),
        }
    }
}

impl From<Failure> for Unanswered {
    fn from(failure: Failure) -> Unanswered {
        Unanswered::Failed(failure)
    }
}

/// The error of a run that was stopped before the store answered, with what its sessions wait for.
pub(crate) fn stopped<T: Target>(target: &T, doing: &'static str) -> Error {
    let waits_for = block_on(target.unfinished_wait()).ok().flatten();
    Error::Stopped { doing, waits_for }
}

/// Runs a future to its end on the calling thread, as [`block_on`] does; `None` if a stop request ended the
/// wait. `after_stop_ns` is the limit of a wait that begins after the request.
pub(crate) fn block_on_until_stopped<T>(
    future: impl Future<Output = T>,
    part: &impl Worker,
    stop: &AtomicBool,
    after_stop_ns: Nanos,
) -> Option<T> {
    let timers = Timers::default();
    let mut output = None;
    let wait = async {
        let mut future = pin!(future);
        let began = timers.now();
        let stop_requested = || stop.load(Ordering::Relaxed);
        let mut ends = stop_requested().then(|| began.saturating_add(after_stop_ns));
        let mut next_poll = pin!(timers.sleep_until(began + POLL_NS));
        let answer = poll_fn(|context| {
            if let Poll::Ready(answer) = future.as_mut().poll(context) {
                return Poll::Ready(Some(answer));
            }
            loop {
                let now = timers.now();
                if ends.is_none() && stop_requested() {
                    ends = Some(now + STOP_DRAIN_NS);
                }
                if ends.is_some_and(|ends| now >= ends) {
                    return Poll::Ready(None);
                }
                if next_poll.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                next_poll.set(timers.sleep_until(now + POLL_NS));
            }
        });
        output = answer.await;
    };
    Executor::new([wait], &timers, part).drive(&Signal::default());
    output
}
