//! The definition of a product, and which product a URL names.

use super::{DERBY, H2, HSQLDB, MARIADB, OTHER, POSTGRES};
use crate::jdbc::connection::Connection;
use crate::jdbc::failure::Conflict;
use crate::jdbc::jvm::Thrown;
use crate::jdbc::settings::Level;
use crate::sql::Dialect;
use std::path::{Path, PathBuf};
use syncline_contract::{Durability, Setting};

/// How a row is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::jdbc) enum Put {
    /// By one statement of the dialect.
    Whole,
    /// By an update, and an insert if that found no row.
    UpdateOrInsert,
}

/// The durability that a store reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::jdbc) struct DurabilityReport {
    pub(in crate::jdbc) durability: Durability,
    /// The reason for that durability.
    pub(in crate::jdbc) evidence: String,
    pub(in crate::jdbc) settings: Vec<Setting>,
}

/// The sources from which a store's durability is determined.
pub(in crate::jdbc) struct DurabilityQuery<'a> {
    pub(in crate::jdbc) connection: &'a mut Connection,
    /// The durability that an embedded database was created with; `None` for a server.
    pub(in crate::jdbc) requested: Option<Durability>,
    /// The directory of an embedded database.
    pub(in crate::jdbc) directory: Option<&'a Path>,
    /// The directory of its log, if it is on this machine.
    pub(in crate::jdbc) log: Option<&'a Path>,
    /// The store's process, if it is known.
    pub(in crate::jdbc) process: Option<u32>,
}

/// How to find the sessions that use a managed schema; the schema's name goes between the two parts.
#[derive(Clone, Copy, Debug)]
pub(in crate::jdbc) struct Users {
    /// A statement that records the schema in the session, if the product cannot report it.
    pub(in crate::jdbc) names: Option<(&'static str, &'static str)>,
    /// Counts the other sessions.
    pub(in crate::jdbc) counts: (&'static str, &'static str),
}

/// A product.
#[derive(Debug)]
pub(in crate::jdbc) struct Product {
    /// The word after `jdbc:` in its URLs.
    pub(in crate::jdbc) word: &'static str,
    /// Its name in messages.
    pub(in crate::jdbc) name: &'static str,
    /// The default port of its server.
    pub(in crate::jdbc) port: u16,
    pub(in crate::jdbc) dialect: Dialect,
    pub(in crate::jdbc) put: Put,
    /// The clause that locks the rows of a scan, which for some products differs from that of a get.
    pub(in crate::jdbc) scan_lock: &'static str,
    /// The isolation level if a URL does not set one.
    pub(in crate::jdbc) isolation: Level,
    /// Its own table of conflicts, which precedes the common one.
    pub(in crate::jdbc) conflicts: &'static [Conflict],
    /// True if a generated key must be advanced after rows were loaded with theirs.
    pub(in crate::jdbc) restarts_keys: bool,
    /// How it separates managed tables on a server.
    pub(in crate::jdbc) schema: Schema,
    /// How it runs in this process; `None` if it does not.
    pub(in crate::jdbc) embedded: Option<Embedded>,
    /// How `clean` detects that a run uses a schema; `None` if the product cannot report it.
    pub(in crate::jdbc) users: Option<Users>,
    /// Properties that limit how long its driver waits for a log-in, and enable the kernel's keepalive.
    pub(in crate::jdbc) patience: &'static [(&'static str, &'static str)],
    /// The statement that is executed first on a control connection; `None` if names cannot be
    /// hijacked.
    pub(in crate::jdbc) first: Option<&'static str>,
    /// Returns 1 if the session's role owns a schema, whose name goes between; `None` if schemas have
    /// no owners, or if every user of the server may do everything.
    pub(in crate::jdbc) owned: Option<(&'static str, &'static str)>,
    /// Counts the active sessions of other users on the server; `None` if it cannot be queried.
    pub(in crate::jdbc) others: Option<&'static str>,
    /// Counts how many more connections the server accepts; `None` if it cannot be queried.
    pub(in crate::jdbc) free: Option<&'static str>,
    /// The directory of a local server's log, as the server reports it or from the files that its
    /// process holds.
    pub(in crate::jdbc) log: fn(&mut DurabilityQuery<'_>) -> Option<PathBuf>,
    /// Reads back the durability of a commit.
    pub(in crate::jdbc) reported_durability:
        fn(&mut DurabilityQuery<'_>) -> Result<DurabilityReport, Thrown>,
}

/// How a product separates managed tables.
#[derive(Clone, Copy, Debug)]
pub(in crate::jdbc) struct Schema {
    /// Creates a schema; the parts before and after its name: `CREATE SCHEMA `.
    pub(in crate::jdbc) make: (&'static str, &'static str),
    /// Removes a schema without tables; the parts before and after its name.
    pub(in crate::jdbc) remove: (&'static str, &'static str),
    /// True if it is a catalog to JDBC, like MySQL's databases.
    pub(in crate::jdbc) is_catalog: bool,
}

/// A schema as in SQL's standard.
pub(super) const SCHEMA: Schema =
    Schema { make: ("CREATE SCHEMA ", ""), remove: ("DROP SCHEMA ", ""), is_catalog: false };

/// A property of the JVM and its value; `None` clears it.
pub(in crate::jdbc) type Property = (&'static str, Option<&'static str>);

/// How a product runs in this process.
#[derive(Clone, Copy, Debug)]
pub(in crate::jdbc) struct Embedded {
    /// Prefixes of locations that are not directories, such as `mem:`; a directory may be prefixed by
    /// `file:`.
    pub(in crate::jdbc) elsewhere: &'static [&'static str],
    /// The files that it creates in its directory.
    pub(in crate::jdbc) files: &'static [&'static str],
    /// The durabilities that it supports.
    pub(in crate::jdbc) durabilities: &'static [Durability],
    /// The default durability.
    pub(in crate::jdbc) default: Durability,
    /// Its URL for a directory and a durability.
    pub(in crate::jdbc) url: fn(&Path, Durability) -> String,
    /// The path of its log within its directory.
    pub(in crate::jdbc) log: &'static str,
    /// The properties for logging in; empty if no log-in is required.
    pub(in crate::jdbc) login: &'static [(&'static str, &'static str)],
    /// Properties of the JVM that must be set while the database starts.
    pub(in crate::jdbc) properties: fn(Durability) -> Vec<Property>,
    /// The statements that are executed once, after the database was created.
    pub(in crate::jdbc) creation_statements: fn(Durability) -> Vec<String>,
    /// The statement that is executed after each commit, before it is acknowledged.
    pub(in crate::jdbc) after_commit: fn(Durability) -> Option<&'static str>,
    /// A query that checks every table: schema, table, and 1 for an intact one; `None` if the product
    /// has no such check.
    pub(in crate::jdbc) check: Option<&'static str>,
    /// How it is closed.
    pub(in crate::jdbc) close: Close,
}

/// How an embedded database is closed.
#[derive(Clone, Copy, Debug)]
pub(in crate::jdbc) enum Close {
    /// By a statement.
    Statement(&'static str),
    /// By connecting to this URL, which always throws.
    Connecting(fn(&Path) -> String),
}

impl Product {
    /// The product of a URL's second word.
    pub(in crate::jdbc) fn of(word: &str) -> &'static Product {
        const ALL: [&Product; 5] = [&DERBY, &H2, &HSQLDB, &POSTGRES, &MARIADB];
        let known = ALL.into_iter().find(|product| product.word == word);
        known.unwrap_or(&OTHER)
    }
}

/// A setting that a statement returned.
pub(super) fn setting(name: &str, value: String, source: &str) -> Setting {
    Setting { name: name.to_owned(), value, source: source.to_owned() }
}

/// For a log that cannot be located.
pub(super) fn nowhere(_looked: &mut DurabilityQuery<'_>) -> Option<PathBuf> {
    None
}
