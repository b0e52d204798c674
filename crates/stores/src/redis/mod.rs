//! Redis and what speaks as it does, as a store of keys and values.
//!
//! | file | what stands in it |
//! |---|---|
//! | `settings.rs` | the options of the URL |
//! | `protocol.rs` | commands and replies as bytes (RESP2) |
//! | `connection.rs` | a connection: commands out, replies in |
//! | `store.rs` | rows as keys, transactions by WATCH, MULTI and EXEC |
//! | `reported_settings.rs` | what the server says of itself: durability, place, limits |
//! | `counters.rs` | its running counters, and one look at it |
//!
//! A row is a string of its own, `syncline_<id>:row:<key>`; the names of all rows stand in a sorted set,
//! by which they are scanned in order (`scans=no` leaves it out, and with it scans and aggregates). A
//! commit is MULTI, its writes and EXEC in one round trip; what the transaction has read for update or
//! writes over is under WATCH, so that EXEC does nothing if another changed it. Redis cannot roll back,
//! and need not: nothing is sent before the commit. It has no joins and no secondary indexes.
//!
//! Each client is a thread with a connection, encrypted where the URL begins with `rediss`. Durability
//! is the server's: `data` with its append-only file and `appendfsync always`, `os` with `everysec` (up
//! to two seconds of commits are lost with the power) or `no`, `none` without the file. It is read back,
//! and a word that is not in force is refused.

mod connection;
mod counters;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod protocol;
mod reported_settings;
mod settings;
mod store;

pub use store::{Redis, RedisTarget};

pub(crate) use settings::LISTING;
pub(crate) use store::open;
