//! The short way to plug in a store: five functions that know nothing of tables.
//!
//! Whoever has keys and values, and batches that are atomic and durable when they return, implements
//! [`KeyValue`]; [`KeyValueTarget`] makes a whole [`Target`](crate::Target) of it. It turns rows into
//! keys that sort as their values do, buffers what a transaction writes until its commit, reads own
//! writes over the store's, and keeps transactions apart by row locks.
//!
//! ```text
//! Session: tables, rows, transactions      session.rs, operations.rs, aggregate.rs
//!   | own writes over the store's          write_buffer.rs, scan.rs
//!   | row locks until commit               locks.rs; none where the store itself watches rows
//!   | rows as keys and values              layout.rs, key.rs, row.rs
//! KeyValue: commit a batch, get, scan      store.rs, failure.rs
//! ```
//!
//! What it adds to a run are some hundred nanoseconds a row and a waiting at contended rows; what it
//! does not do: secondary indexes, joins, many clients a thread, one round trip for several reads. A
//! store that has these implements [`Target`](crate::Target) itself.

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
