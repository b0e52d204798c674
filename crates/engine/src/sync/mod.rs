//! The engine's synchronization primitives: std's and `parking_lot`'s, or a model checker's instead.
//!
//! The ring, the durable LSN, the gate and the registry are short and each order of their steps matters, but
//! a test on real threads sees few of the orders, and one machine's memory shows few of the allowed
//! reorderings. So these files import from here, and the models (`log::models`, `txn::models`) run the same
//! code, unchanged, under a checker that decides every step:
//! - `--cfg loom`: every interleaving within a bound, and every value that a load may return under the memory
//!   model. Few threads, few steps. It treats sequentially consistent loads and stores as acquiring and
//!   releasing ones (but models such fences exactly), so it may report impossible executions.
//! - `--cfg shuttle`: random interleavings of sequentially consistent threads, thousands of them; a thread
//!   that is never woken is reported as a deadlock. For code that is too large for loom.
//!
//! Every other build re-exports the plain primitives: nothing is added to them.
//!
//! Locks are taken in one order everywhere: `rank.rs` has the table, and `ranked.rs` the locks that assert it
//! in builds with debug assertions.
//!
//! | file | contents |
//! |---|---|
//! | `plain`, `checked` | the primitives themselves: std's and `parking_lot`'s, or the checker's |
//! | `rank`, `ranked` | the lock order; locks that assert it |
//! | `signal` | waking a thread that has work |
//! | `explore`, `weak`, `park` | running a model, weakening its orderings, sleeping under loom |

#[cfg(all(test, any(loom, shuttle)))]
mod checked;
#[cfg(all(test, any(loom, shuttle)))]
pub(crate) mod explore;
#[cfg(all(test, loom))]
mod park;
#[cfg(not(all(test, any(loom, shuttle))))]
mod plain;
pub(crate) mod rank;
pub(crate) mod ranked;
pub(crate) mod signal;
#[cfg(all(test, loom))]
pub(crate) mod weak;

#[cfg(all(test, any(loom, shuttle)))]
pub(crate) use checked::*;
#[cfg(not(all(test, any(loom, shuttle))))]
pub(crate) use plain::*;
pub(crate) use std::sync::PoisonError;
