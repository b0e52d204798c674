//! The parts that all server targets share: addresses, ownership of schemas, locations.
//!
//! | file | what it holds |
//! |---|---|
//! | `secret.rs` | passwords: how a URL is shown without them |
//! | `url_secrets.rs` | finds the passwords in a URL |
//! | `address.rs` | a server's address, user, password and database, parsed from a URL |
//! | `encryption.rs` | encryption of servers that do not negotiate it |
//! | `live_refusal.rs` | the refusal of runs that would disturb others |
//! | `schema_name.rs` | the names of managed schemas, and their mark |
//! | `session_name.rs` | the name of a session, which shows whether its program is still running |
//! | `server_location.rs` | whether a server is on this machine, its process and its log directory |
//!
//! 1. No password is ever printed: it is a [`Password`], and a URL is printed through [`redacted_url`].
//! 2. Only objects with a name of Syncline's form *and* its mark are dropped on a server.

mod address;
mod encryption;
mod live_refusal;
mod schema_name;
mod secret;
mod server_location;
mod session_name;
mod url_secrets;

pub use address::{
    Address, AddressForm, CONNECT_TIMEOUT, Host, PASSWORD, PASSWORD_FILE, SCHEMA, SOCKET,
    connect_timeout,
};
pub use encryption::{Encryption, TLS, TLS_ROOTS};
pub(crate) use live_refusal::{LIVE, pluralized};
pub(crate) use schema_name::SESSION_END_PAUSE;
pub use schema_name::{MARK, SESSION_END_CHECKS, SchemaName, digest_of_tables};
pub use secret::{
    Password, expand_variables, names_server, percent_encoded, percent_encoded_path, redacted_url,
    without_secrets,
};
pub(crate) use server_location::{FORWARDER, is_parent_of, verified_process};
pub use server_location::{LogSetting, listener, log_location, process_of_peer};
pub(crate) use session_name::{Opener, PROGRAM, session_name};
