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
//!
//! | file | what it holds |
//! |---|---|
//! | `run_loop` | the pass loop, and the wait of the thread when no client is ready |
//! | `pinned_futures` | futures of one unnameable type, contiguous in memory |
//! | `prefetch` | the prefetch of the next client's memory |
//! | `waker` | wakers with a queue for the owner thread and one for all others |
//! | `timers` | clients that wait for a point in time |
//! | `signal` | the phase of a run, as every worker sees it |
//! | `yield_now` | a turn for the other ready clients |
//! | `tests` | tests of wakes, sleepers and aborts |

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
pub(crate) use run_loop::Executor;
pub use run_loop::block_on;
pub(crate) use signal::{Phase, Signal};
pub(crate) use timers::Timers;
pub(crate) use yield_now::yield_now;
