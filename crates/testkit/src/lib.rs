//! Support for the tests of several crates: a store that follows a script, a workload that checks it, and
//! private servers in separate directories. Only dev-dependencies name this crate.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]

mod keys;
mod scripted_store;
mod servers;

pub use keys::{BY_CLIENT, Keys, KeysClient, Tally};
pub use scripted_store::{Answer, CallLog, Connection, Part, Store};
pub use servers::{TestServer, password_of, port_of, public_directory, url_option};
