//! MariaDB and MySQL: an own session on the protocol, pipelined, prepared, without allocation.
//!
//! | file | what stands in it |
//! |---|---|
//! | `settings.rs` | the options of the URL |
//! | `packet.rs`, `capability.rs` | framing; the abilities that both sides agree on |
//! | `login.rs`, `auth.rs` | the handshake; how a password is shown |
//! | `reply.rs`, `values.rs`, `calendar_time.rs` | answers packet by packet; values on the wire, times of the calendar among them |
//! | `connection.rs` | one connection over `wire`: log-in, questions, answers |
//! | `defaults.rs` | an option file of the clients, where a URL asks for it |
//! | `prepared.rs` | the plan's operations, prepared once |
//! | `server_key.rs` | a server's RSA key, under which a password goes where there is no TLS |
//! | `session.rs` | a client: the pipeline and its transactions |
//! | `load.rs` | the bulk path |
//! | `failure.rs` | error codes as stops |
//! | `server.rs`, `durability.rs` | the server as it is met, and what its settings make of a commit |
//! | `reported_settings.rs`, `counters.rs`, `observation.rs` | what is read back, counted, observed |
//! | `managed_database.rs` | our own database: made, marked, dropped |
//! | `target.rs` | all of it as a target |
//!
//! Durability: `durability.rs` holds the table of words. Nothing of the server's is set: a word that is
//! not in force is refused with the setting that would give it.
//!
//! Isolation is set for each session and read back: read committed, repeatable read (InnoDB's own, which
//! is not snapshot isolation), snapshot (MariaDB's `innodb_snapshot_isolation`), serializable.
//!
//! Transactions: the head of `session.rs` says what may share a round trip here, and why COMMIT mostly
//! may not.
//!
//! The codec is ours. The crate `mysql_common` brings regular expressions, big numbers, compression, JSON
//! and UUIDs, about fifty crates, and its values own their bytes: a row would allocate for each text. The
//! dozen packets that are needed take less code than going around that.
//!
//! Not spoken: compression, LOAD DATA LOCAL (a server's wish to read our files is refused).

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
