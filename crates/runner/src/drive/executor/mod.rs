//! An executor that drives many clients on one thread; each client is a future.
//!
//! A *pass* polls every ready client once, between the `pass_started` and `pass_ended` of the worker's own
//! part; clients that are woken meanwhile are ready for the next pass. If no client is ready, the thread
//! waits in the worker's own part (`Worker::wait`: a park, or a poll of sockets) until a wake, the next
//! sleeper's time, or a change of the signal. While clients stay ready, the part is polled once in a while,
//! so that it can wake others.
//!
//! 1. A wake is never lost: a task's `scheduled` flag is cleared before its poll, so that a wake during
//!    or after the poll queues it again; `Shared::any` is set after the push, and the owner's wait ended.
//! 2. A task is in at most one queue, once: only the waker that turned `scheduled` from false to true
//!    pushes it.
//! 3. Futures never move after the first poll, and are dropped in place.
//! 4. Nothing allocates once the queues have grown to the number of clients.

mod pinned_futures;
mod prefetch;
mod run_loop;
mod signal;
#[cfg(test)]
mod tests;
mod timers;
mod waker;
mod yield_now;

pub(crate) use prefetch::PrefetchRange;
pub use run_loop::ask;
pub(crate) use run_loop::{Executor, block_on};
pub(crate) use signal::{Phase, Signal};
pub(crate) use timers::Timers;
pub(crate) use yield_now::yield_now;
