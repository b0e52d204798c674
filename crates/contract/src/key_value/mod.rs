//! The short way to plug in a store: five functions that know nothing of tables.
//!
//! A store with keys, values, and batches that are atomic and durable when they return implements
//! [`KeyValue`]; [`KeyValueTarget`] turns it into a complete [`Target`](crate::Target). It encodes rows as
//! keys that sort like their values, buffers a transaction's writes until the commit, merges them into its
//! reads, and isolates transactions by row locks.
//!
//! ```text
//! Session: tables, rows, transactions      session.rs, operations.rs, aggregate.rs
//!   | own writes merged into reads         write_buffer.rs, scan.rs
//!   | row locks until commit               locks.rs; unused if the store itself watches rows
//!   | rows as keys and values              layout.rs, key.rs, row.rs
//! KeyValue: commit a batch, get, scan      store.rs, failure.rs
//! ```
//!
//! Its overhead is a few hundred nanoseconds per row, and waiting for contended rows. It does not support
//! secondary indexes, joins, many clients per thread, or one round trip for several reads; a store with these
//! abilities implements [`Target`](crate::Target) itself.
//!
//! | file | what it holds |
//! |---|---|
//! | `store.rs`, `target.rs` | the functions that a store implements; the store as a target |
//! | `session.rs`, `operations.rs`, `aggregate.rs` | a client's session; operations on keys and values; aggregates |
//! | `layout.rs`, `key.rs`, `row.rs` | the layout of a table's rows; keys and rows as bytes |
//! | `scan.rs`, `write_buffer.rs` | scans of a range of keys; a transaction's uncommitted writes |
//! | `locks.rs`, `failure.rs` | row locks; I/O errors as stops and failures |
//! | `tests/` | tests of the adapter |

mod aggregate;
mod failure;
mod key;
mod layout;
mod locks;
mod operations;
mod row;
mod scan;
mod session;
mod store;
mod target;
#[cfg(test)]
mod tests;
mod write_buffer;

pub use session::KeyValueSession;
pub use store::{Change, KeyValue, Pair, StoreInfo, WatchedKeyChanged};
pub use target::KeyValueTarget;
