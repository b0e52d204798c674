//! The capability flags that client and server agree on.
//!
//! Here they are one 64-bit number: MySQL's 32 bits, and above them those that MariaDB added, which are
//! valid only where the server does not set [`MYSQL`].

/// The server is MySQL; MariaDB clears it to offer its own flags.
pub(super) const MYSQL: u64 = 1;
/// Affected rows are the rows found, even if an update does not change them.
pub(super) const FOUND_ROWS: u64 = 1 << 1;
/// The handshake response names a database.
pub(super) const WITH_DATABASE: u64 = 1 << 3;
/// The protocol of version 4.1.
pub(super) const PROTOCOL_41: u64 = 1 << 9;
/// TLS follows the greeting.
pub(super) const TLS: u64 = 1 << 11;
/// Answers report whether a transaction is open.
pub(super) const TRANSACTIONS: u64 = 1 << 13;
/// Passwords are authenticated with a nonce of 20 bytes.
pub(super) const SECURE: u64 = 1 << 15;
/// A statement may return several results.
pub(super) const MULTI_RESULTS: u64 = 1 << 17;
/// A prepared statement may return several results.
pub(super) const PREPARED_MULTI_RESULTS: u64 = 1 << 18;
/// Authentication plugins are supported.
pub(super) const PLUGIN: u64 = 1 << 19;
/// The client sends attributes that describe it.
pub(super) const ATTRIBUTES: u64 = 1 << 20;
/// A plugin's answer may have any length.
pub(super) const PLUGIN_LENGTH: u64 = 1 << 21;
/// Rows end with one packet instead of two.
pub(super) const ONE_END: u64 = 1 << 24;
/// MariaDB: a prepared statement's columns are described again only if they have changed.
pub(super) const CACHED_COLUMNS: u64 = 1 << 36;

/// The capabilities that this client requests.
pub(super) const REQUESTED: u64 = FOUND_ROWS
    | PROTOCOL_41
    | TRANSACTIONS
    | SECURE
    | MULTI_RESULTS
    | PREPARED_MULTI_RESULTS
    | PLUGIN
    | ATTRIBUTES
    | PLUGIN_LENGTH
    | ONE_END
    | CACHED_COLUMNS;

/// The capabilities that it requires.
pub(super) const REQUIRED: u64 = FOUND_ROWS | PROTOCOL_41 | TRANSACTIONS | SECURE | PLUGIN;
