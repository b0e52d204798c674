//! The abilities that client and server agree on, as bits.
//!
//! The low 64 bits are one number here: MySQL's 32, and above them those that MariaDB added, which
//! count only where the server does not claim [`MYSQL`].

/// The server is MySQL; MariaDB leaves it out where it offers more.
pub(super) const MYSQL: u64 = 1;
/// Affected rows are those found, also where an update changes nothing.
pub(super) const FOUND_ROWS: u64 = 1 << 1;
/// The answer to the greeting names a database.
pub(super) const WITH_DATABASE: u64 = 1 << 3;
/// The protocol of version 4.1.
pub(super) const PROTOCOL_41: u64 = 1 << 9;
/// TLS follows the greeting.
pub(super) const TLS: u64 = 1 << 11;
/// Answers say whether a transaction is open.
pub(super) const TRANSACTIONS: u64 = 1 << 13;
/// Passwords are shown by a nonce of 20 bytes.
pub(super) const SECURE: u64 = 1 << 15;
/// A statement may answer several times.
pub(super) const MULTI_RESULTS: u64 = 1 << 17;
/// So may a prepared one.
pub(super) const PREPARED_MULTI_RESULTS: u64 = 1 << 18;
/// Plugins show the password.
pub(super) const PLUGIN: u64 = 1 << 19;
/// The client says who it is.
pub(super) const ATTRIBUTES: u64 = 1 << 20;
/// An answer of a plugin has any length.
pub(super) const PLUGIN_LENGTH: u64 = 1 << 21;
/// Rows end with one packet instead of two.
pub(super) const ONE_END: u64 = 1 << 24;
/// MariaDB: a prepared statement's columns are described again only if they changed.
pub(super) const CACHED_COLUMNS: u64 = 1 << 36;

/// What this client asks for where the server has it.
pub(super) const WANTED: u64 = FOUND_ROWS
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

/// What it cannot do without.
pub(super) const NEEDED: u64 = FOUND_ROWS | PROTOCOL_41 | TRANSACTIONS | SECURE | PLUGIN;
