//! MariaDB and MySQL: our own implementation of the protocol, pipelined, prepared, without allocation.
//!
//! | file | what it holds |
//! |---|---|
//! | `settings.rs` | the options of the URL |
//! | `packet.rs`, `capability.rs` | framing; the capability flags that both sides agree on |
//! | `login.rs`, `auth.rs` | the handshake; how the plugins authenticate |
//! | `reply.rs`, `values.rs`, `calendar_time.rs` | answers packet by packet; values on the wire, times of the calendar among them |
//! | `connection.rs` | one connection over `wire`: log-in, requests, answers |
//! | `defaults.rs` | an option file of the clients, if a URL names one |
//! | `prepared.rs` | the plan's operations, prepared once |
//! | `server_key.rs` | a server's RSA key, which encrypts a password without TLS |
//! | `session.rs` | a client: the pipeline and its transactions |
//! | `load.rs` | the bulk path |
//! | `failure.rs` | maps error codes to stops |
//! | `server.rs`, `durability.rs` | the state of the server, and what its settings mean for a commit |
//! | `reported_settings.rs`, `counters.rs`, `observation.rs` | settings read back, counters, observations |
//! | `managed_database.rs` | the managed database: created, marked, dropped |
//! | `target.rs` | the target |
//! | `fuzzing.rs`, `random_packets.rs` | the decoders under fuzzing, and on random packets |
//!
//! Durability: `durability.rs` holds the table of words. No global setting is changed: a durability
//! that is not in force is refused with the setting that would provide it.
//!
//! Isolation is set for each session and read back: read committed, repeatable read (InnoDB's own, which
//! is not snapshot isolation), snapshot (MariaDB's `innodb_snapshot_isolation`), serializable.
//!
//! Transactions: the head of `session.rs` explains what may share a round trip here, and why COMMIT
//! mostly may not.
//!
//! The codec is our own. The crate `mysql_common` brings regular expressions, big numbers, compression,
//! JSON and UUIDs, about fifty crates, and its values own their bytes: a row would allocate for each
//! text. The dozen packets that are needed take less code than working around that.
//!
//! Not supported: compression, LOAD DATA LOCAL (a server's request to read local files is refused).

mod auth;
mod calendar_time;
mod capability;
mod connection;
mod counters;
mod defaults;
mod durability;
mod failure;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod load;
mod login;
mod managed_database;
mod observation;
mod packet;
mod prepared;
#[cfg(test)]
mod random_packets;
mod reply;
mod reported_settings;
mod server;
mod server_key;
mod session;
mod settings;
mod target;
mod values;

pub use session::MysqlSession;
pub use settings::IsolationLevel;
pub use target::Mysql;

#[cfg(feature = "jdbc")]
pub(crate) use durability::{Variables, judge};
pub(crate) use settings::{LISTING, MARIADB_LISTING};
pub(crate) use target::{open, open_mariadb};
