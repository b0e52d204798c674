//! The typed layer: tables of rows over sessions of bytes.
//!
//! A [`Table`] is a handle. A [`TypedSession`] runs one transaction after another on the thread of its
//! caller, and reuses its memory: no operation allocates once its buffers have grown. A [`Transaction`] is a
//! guard for a session's open transaction: dropping it aborts, and its rows are owned.
//!
//! Invariants:
//! 1. Rows and their index entries are written by one transaction, so they change together or not at
//!    all, in memory, in the log and after a crash.
//! 2. A write that changes no indexed column reads nothing: it is blind, and does not conflict with changes
//!    of other rows. Any other write reads the row, and the commit validates that.
//! 3. A call that fails leaves the transaction as it was before the call.
//! 4. A refusal that depends on rows (a duplicate, a missing row, a bound) is returned by the session once
//!    everything that it depends on is stable, and never results from a mixture of states.
//! 5. Every handle is checked: a table must belong to the session's own opening and be current, a prefetch
//!    key to the table, a mark to the transaction. Otherwise the call fails before it does anything.
//!
//! | file | what it holds |
//! |---|---|
//! | `handle.rs`, `column_ref.rs` | handles of tables and of their indexes; names of columns |
//! | `typed_session.rs`, `transaction.rs`, `calls.rs` | sessions, whose rows are borrowed; transactions as guards, whose rows are owned; their common calls |
//! | `read.rs`, `row.rs` | reads by primary key, index or range; rows as they return them |
//! | `rows.rs` | iterators over rows, between whose steps the transaction can be used |
//! | `write.rs`, `change.rs`, `mark.rs` | writes of rows with their index entries; changes of columns; savepoints |
//! | `table_row.rs` | structs as rows |
//! | `prefetch.rs`, `loading_rows.rs` | batched prefetch of reads by primary key; rows being read from the disk |
//! | `session_memory.rs` | the reusable buffers of a session |
//! | `tests/` | tests |

mod calls;
mod change;
mod column_ref;
mod handle;
pub(crate) mod loading_rows;
mod mark;
mod prefetch;
mod read;
mod row;
mod rows;
mod session_memory;
mod table_row;
#[cfg(test)]
mod tests;
mod transaction;
mod typed_session;
mod write;

pub use change::Change;
pub use column_ref::ColumnRef;
pub use handle::{Path, Table};
pub use loading_rows::RowLoad;
pub use mark::Mark;
pub use prefetch::{PrefetchKey, Prefetcher};
pub use row::{OwnedRow, Row};
pub use rows::Rows;
pub use table_row::TableRow;
pub use transaction::Transaction;
pub use typed_session::TypedSession;
pub use write::Upserted;
