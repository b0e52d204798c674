//! Waits of a run outside its clients, which a request to stop ends: loads, marks and checks.
//!
//! A store may never answer: a commit waits for a synchronous standby that has gone, a statement for the
//! lock of somebody's forgotten transaction.
//!
//! 1. A wait that began before the request ends [`STOP_DRAIN_NS`] after it: an answer that is under way
//!    may still come. The future is dropped, and its session with it; what the store goes on doing for that
//!    session is for [`Target::remove`] to end.
//! 2. A wait that begins after the request, as the check and the mark at the end of a stopped run do, has as
//!    long as its caller allows it.
//! 3. A session that blocks its thread is never pending; its own waits see the request.

use crate::coordinate::phases::{POLL_NS, STOP_DRAIN_NS};
use crate::drive::executor::{Executor, Signal, Timers, block_on};
use crate::error::Error;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use syncline_contract::{Failure, Target, Worker};
use syncline_instrument::Nanos;

/// How long a commit may take that begins after the request.
pub(crate) const COMMIT_AFTER_STOP_NS: Nanos = 5 * syncline_instrument::clock::SECOND;

/// No limit after the request, for what only reads.
pub(crate) const NO_LIMIT_NS: Nanos = Nanos::MAX;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The store failed.
    Failed(Failure),
    /// The run was asked to stop before the store answered.
    Stopped,
}

impl Unanswered {
    /// The error of a run that ends with it.
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
            Unanswered::Stopped => "the run was asked to stop before the store answered".to_owned(),
        }
    }
}

impl From<Failure> for Unanswered {
    fn from(failure: Failure) -> Unanswered {
        Unanswered::Failed(failure)
    }
}

/// A run that ends before the store has answered, with what its sessions wait for.
pub(crate) fn stopped<T: Target>(target: &T, doing: &'static str) -> Error {
    let waits_for = block_on(target.unfinished_wait(), &()).ok().flatten();
    Error::Stopped { doing, waits_for }
}

/// Runs a future to its end on the calling thread, as [`block_on`] does; none if a request to stop ended
/// the wait. `after_stop_ns` is for a wait that begins after the request.
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
        let asked = || stop.load(Ordering::Relaxed);
        let mut ends = asked().then(|| began.saturating_add(after_stop_ns));
        let mut next_look = pin!(timers.sleep_until(began + POLL_NS));
        let answer = poll_fn(|context| {
            if let Poll::Ready(answer) = future.as_mut().poll(context) {
                return Poll::Ready(Some(answer));
            }
            loop {
                let now = timers.now();
                if ends.is_none() && asked() {
                    ends = Some(now + STOP_DRAIN_NS);
                }
                if ends.is_some_and(|ends| now >= ends) {
                    return Poll::Ready(None);
                }
                if next_look.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                next_look.set(timers.sleep_until(now + POLL_NS));
            }
        });
        output = answer.await;
    };
    Executor::new([wait], &timers, part).drive(&Signal::default());
    output
}
