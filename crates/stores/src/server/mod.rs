//! What every target that is a server shares: how it is named, what of it is ours, where it stands.
//!
//! | file | what stands in it |
//! |---|---|
//! | `secret.rs` | passwords: how a URL is shown without them |
//! | `url_secrets.rs` | where the passwords of a URL stand |
//! | `address.rs` | a server's address, user, password and database, taken out of a URL |
//! | `encryption.rs` | encryption of servers that negotiate none |
//! | `live_refusal.rs` | how a run is refused that would disturb others |
//! | `schema_name.rs` | the names of our own schemas, and the mark by which they are known |
//! | `session_name.rs` | the name of a session, by which its program is known to run or to have ended |
//! | `server_location.rs` | whether a server is on this machine, its process and its log directory |
//!
//! 1. No password is ever printed: it is a [`Password`], and a URL is shown through [`shown`].
//! 2. Nothing is dropped in a server but what bears a name of ours *and* our mark.

mod address;
mod encryption;
mod live_refusal;
mod schema_name;
mod secret;
mod server_location;
mod session_name;
mod url_secrets;

pub use address::{
    Address, AddressForm, CONNECT_TIMEOUT, Host, PASSWORD_FILE, SCHEMA, SOCKET, connect_timeout,
};
pub use encryption::{Encryption, TLS, TLS_ROOTS};
pub(crate) use live_refusal::{LIVE, counted};
pub(crate) use schema_name::FAREWELL_PAUSE;
pub use schema_name::{FAREWELL_LOOKS, MARK, SchemaName, digest_of_tables};
pub use secret::{Password, coded, coded_path, expanded, names_server, shown, without_secrets};
pub(crate) use server_location::{FORWARDER, is_parent_of, verified};
pub use server_location::{LogSetting, listener, log_place, process_of_peer};
pub(crate) use session_name::{Opener, PROGRAM, session_name};
