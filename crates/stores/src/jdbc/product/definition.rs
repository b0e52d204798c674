//! What there is to know of a product, and which product a URL names.

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
    /// By one statement, which the dialect has.
    Whole,
    /// By an update, and an insert if that found no row.
    UpdateOrInsert,
}

/// What a store said of its durability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::jdbc) struct DurabilityReport {
    pub(in crate::jdbc) durability: Durability,
    /// Why that word is true.
    pub(in crate::jdbc) evidence: String,
    pub(in crate::jdbc) settings: Vec<Setting>,
}

/// What is looked at when a store is asked for its durability.
pub(in crate::jdbc) struct DurabilityQuery<'a> {
    pub(in crate::jdbc) connection: &'a mut Connection,
    /// The word that an embedded database was made with; none of a server.
    pub(in crate::jdbc) asked: Option<Durability>,
    /// Where an embedded database stands.
    pub(in crate::jdbc) directory: Option<&'a Path>,
    /// Where its log goes, if it is in a directory of this machine.
    pub(in crate::jdbc) log: Option<&'a Path>,
    /// The store's process, if it is known.
    pub(in crate::jdbc) process: Option<u32>,
}

/// How the sessions that use a schema of ours are known; its name stands between each two parts.
#[derive(Clone, Copy, Debug)]
pub(in crate::jdbc) struct Users {
    /// What a session says of itself, where the product does not know in which schema it stands.
    pub(in crate::jdbc) names: Option<(&'static str, &'static str)>,
    /// Counts the other sessions.
    pub(in crate::jdbc) counts: (&'static str, &'static str),
}

/// One product.
#[derive(Debug)]
pub(in crate::jdbc) struct Product {
    /// What follows `jdbc:` in its URLs.
    pub(in crate::jdbc) word: &'static str,
    /// What messages call it.
    pub(in crate::jdbc) name: &'static str,
    /// The port of its server where none is named.
    pub(in crate::jdbc) port: u16,
    pub(in crate::jdbc) dialect: Dialect,
    pub(in crate::jdbc) put: Put,
    /// What locks the rows of a scan, which some products word otherwise than those of a get.
    pub(in crate::jdbc) scan_lock: &'static str,
    /// How far transactions are kept apart unless a URL says.
    pub(in crate::jdbc) isolation: Level,
    /// Its own table of what is a conflict, before the common one.
    pub(in crate::jdbc) conflicts: &'static [Conflict],
    /// True if a counted key must be told where to go on after rows were loaded with theirs.
    pub(in crate::jdbc) restarts_keys: bool,
    /// How it keeps what is ours apart on a server.
    pub(in crate::jdbc) schema: Schema,
    /// How it runs in this process; none if it does not.
    pub(in crate::jdbc) embedded: Option<Embedded>,
    /// How `clean` knows that a run uses a schema; none where the product cannot be asked.
    pub(in crate::jdbc) users: Option<Users>,
    /// Properties that bound how long its driver waits for a log-in, and let the kernel notice a peer that is
    /// gone.
    pub(in crate::jdbc) patience: &'static [(&'static str, &'static str)],
    /// What is executed first on a connection that asks; none where every name means what it says.
    pub(in crate::jdbc) first: Option<&'static str>,
    /// What answers 1 if the session's own role owns a schema, whose name goes between; none where schemas
    /// have no owners, or where whoever reaches the server may do everything.
    pub(in crate::jdbc) owned: Option<(&'static str, &'static str)>,
    /// Asks for the sessions of others that work on the server, as one number; none where it cannot
    /// be asked.
    pub(in crate::jdbc) others: Option<&'static str>,
    /// Asks how many more connections the server takes, as one number; none where it cannot be asked.
    pub(in crate::jdbc) free: Option<&'static str>,
    /// Where a server of this machine keeps its log, by its own word or by the files that its process
    /// holds.
    pub(in crate::jdbc) log: fn(&mut DurabilityQuery<'_>) -> Option<PathBuf>,
    /// Reads back what a commit promises.
    pub(in crate::jdbc) said: fn(&mut DurabilityQuery<'_>) -> Result<DurabilityReport, Thrown>,
}

/// How a product keeps what is ours apart.
#[derive(Clone, Copy, Debug)]
pub(in crate::jdbc) struct Schema {
    /// What makes one, before and after its name: `CREATE SCHEMA `.
    pub(in crate::jdbc) make: (&'static str, &'static str),
    /// What removes one that holds no table any more, before and after its name.
    pub(in crate::jdbc) remove: (&'static str, &'static str),
    /// True if it is a catalog to JDBC, which is what MySQL's databases are.
    pub(in crate::jdbc) is_catalog: bool,
}

/// A schema as SQL's standard has it.
pub(super) const SCHEMA: Schema =
    Schema { make: ("CREATE SCHEMA ", ""), remove: ("DROP SCHEMA ", ""), is_catalog: false };

/// A property of the JVM and its value; one without is taken away.
pub(in crate::jdbc) type Property = (&'static str, Option<&'static str>);

/// How a product runs in this process.
#[derive(Clone, Copy, Debug)]
pub(in crate::jdbc) struct Embedded {
    /// What begins a place that is no directory: `mem:`; a directory may be named by `file:` before it.
    pub(in crate::jdbc) elsewhere: &'static [&'static str],
    /// What it makes in its directory.
    pub(in crate::jdbc) files: &'static [&'static str],
    /// The words it can honour.
    pub(in crate::jdbc) words: &'static [Durability],
    /// What it does unless told otherwise.
    pub(in crate::jdbc) default: Durability,
    /// Its URL of a directory, for a word.
    pub(in crate::jdbc) url: fn(&Path, Durability) -> String,
    /// Where its log goes, below its directory.
    pub(in crate::jdbc) log: &'static str,
    /// As whom it is entered; nothing where nobody is asked.
    pub(in crate::jdbc) login: &'static [(&'static str, &'static str)],
    /// Properties of the JVM that must stand while the database starts.
    pub(in crate::jdbc) properties: fn(Durability) -> Vec<Property>,
    /// What is executed once, when the database was made.
    pub(in crate::jdbc) made: fn(Durability) -> Vec<String>,
    /// What is executed after each commit, before it is acknowledged.
    pub(in crate::jdbc) after_commit: fn(Durability) -> Option<&'static str>,
    /// A query that checks every table: schema, table, and 1 for one that is whole; none where the
    /// product has no such check.
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

/// A setting that a statement answered.
pub(super) fn setting(name: &str, value: String, said_by: &str) -> Setting {
    Setting { name: name.to_owned(), value, said_by: said_by.to_owned() }
}

/// No log to be found.
pub(super) fn nowhere(_looked: &mut DurabilityQuery<'_>) -> Option<PathBuf> {
    None
}
