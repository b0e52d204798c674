//! Redis, and products that speak its protocol, as a key-value store.
//!
//! | file | what it holds |
//! |---|---|
//! | `settings.rs` | the options of the URL |
//! | `protocol.rs` | commands and replies as bytes (RESP2) |
//! | `connection.rs` | a connection: commands out, replies in |
//! | `store.rs` | rows as keys, transactions by WATCH, MULTI and EXEC |
//! | `reported_settings.rs` | the settings that the server reports: durability, location, limits |
//! | `counters.rs` | its running counters, and one observation |
//! | `fuzzing.rs` | the decoder under fuzzing |
//!
//! A row is a string of its own, `syncline_<id>:row:<key>`; a sorted set holds the names of all rows,
//! so that they can be scanned in order (`scans=no` omits it, and with it scans and aggregates). A
//! commit is MULTI, its writes and EXEC in one round trip; the rows that the transaction has read for
//! update or overwrites are under WATCH, so that EXEC does nothing if another client changed them.
//! Redis cannot roll back, and need not: nothing is sent before the commit. It has no joins and no
//! secondary indexes.
//!
//! Each client is a thread with a connection, encrypted if the URL begins with `rediss`. Durability is
//! the server's: `data` with its append-only file and `appendfsync always`, `os` with `everysec` (a
//! power loss loses up to two seconds of commits) or `no`, `none` without the file. It is read back,
//! and a durability that is not in force is refused.

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
