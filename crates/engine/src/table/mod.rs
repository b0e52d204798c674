//! The typed front: tables of rows over sessions of bytes.
//!
//! A [`Table`] is a handle; a [`TypedSession`] runs one transaction after another on the thread of
//! whoever calls, and keeps its memory: no operation allocates once its buffers have grown. A
//! [`Transaction`] is a session with a transaction open that cannot be forgotten: dropped, it aborts.
//!
//! Invariants:
//! 1. Rows and their index entries are written by one transaction, so they change together or not at
//!    all, in memory, in the log and after a crash.
//! 2. A write that touches no indexed column reads nothing: it is blind, and conflicts with nobody who
//!    only changes other rows. One that does reads the row, and the commit validates that.
//! 3. A call that fails leaves the transaction as it was before the call.
//! 4. Whatever depends on data (a duplicate, a row that is not there, a bound) is told by the session,
//!    when what it depends on is stable, and never from a mixture of states.
//! 5. No handle is trusted where it does not belong: a table must be of the session's own opening and
//!    current, a sought row of the table, a mark of the transaction. A call that finds otherwise has done
//!    nothing yet.

mod change;
mod handle;
mod prefetch;
mod read;
mod row;
mod session_memory;
#[cfg(test)]
mod tests;
mod transaction;
mod write;

pub use change::Change;
pub use handle::{Path, Table};
pub use prefetch::{PrefetchKey, Prefetcher};
pub use row::Row;
pub use transaction::{Mark, Transaction, TypedSession};
