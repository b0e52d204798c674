//! What differs between products, as data: one [`Product`] each, in a file of its name.
//!
//! | product | embedded | durability of an embedded one | as a server |
//! |---|---|---|---|
//! | Derby | yes | `none` by `derby.system.durability=test`; `data`, its own default | yes |
//! | H2 | yes | `none`, its own default; `os` and `data` by a checkpoint after each commit | yes |
//! | HSQLDB | yes | `none`, its own default; `data` by `hsqldb.write_delay=false` | yes |
//! | PostgreSQL, MariaDB | no | | yes, as their settings say |
//! | any other | no | | yes; nothing is claimed |

mod derby;
mod h2;
mod hsqldb;
mod mariadb;
mod other;
mod postgres;

pub(super) use derby::DERBY;
pub(super) use h2::H2;
pub(super) use hsqldb::HSQLDB;
pub(super) use mariadb::MARIADB;
pub(super) use other::OTHER;
pub(super) use postgres::POSTGRES;

use super::connection::Connection;
use super::failure::Conflict;
use super::jvm::Thrown;
use super::settings::Level;
use crate::sql::Dialect;
use std::path::{Path, PathBuf};
use syncline_contract::{Durability, Setting};

/// How a row is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// By one statement, which the dialect has.
    Whole,
    /// By an update, and an insert if that found no row.
    UpdateOrInsert,
}

/// What a store said of its durability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) durability: Durability,
    /// Why that word is true.
    pub(super) evidence: String,
    pub(super) settings: Vec<Setting>,
}

/// What is looked at when a store is asked for its durability.
pub(super) struct Looked<'a> {
    pub(super) connection: &'a mut Connection,
    /// The word that an embedded database was made with; none of a server.
    pub(super) asked: Option<Durability>,
    /// Where an embedded database stands.
    pub(super) directory: Option<&'a Path>,
    /// Where its log goes, if it is in a directory of this machine.
    pub(super) log: Option<&'a Path>,
    /// The store's process, if it is known.
    pub(super) process: Option<u32>,
}

/// One product.
#[derive(Debug)]
pub(super) struct Product {
    /// What follows `jdbc:` in its URLs.
    pub(super) word: &'static str,
    /// What messages call it.
    pub(super) name: &'static str,
    /// The port of its server where none is named.
    pub(super) port: u16,
    pub(super) dialect: Dialect,
    pub(super) put: Put,
    /// What locks the rows of a scan, which some products word otherwise than those of a get.
    pub(super) scan_lock: &'static str,
    /// How far transactions are kept apart unless a URL says.
    pub(super) isolation: Level,
    /// Its own table of what is a conflict, before the common one.
    pub(super) conflicts: &'static [Conflict],
    /// True if a counted key must be told where to go on after rows were loaded with theirs.
    pub(super) restarts_keys: bool,
    /// How it keeps what is ours apart on a server.
    pub(super) schema: Schema,
    /// How it runs in this process; none if it does not.
    pub(super) embedded: Option<Embedded>,
    /// Asks for the sessions of others that work on the server, as one number; none where it cannot
    /// be asked.
    pub(super) others: Option<&'static str>,
    /// Asks how many more connections the server takes, as one number; none where it cannot be asked.
    pub(super) free: Option<&'static str>,
    /// Where a server of this machine keeps its log, by its own word or by the files that its process
    /// holds.
    pub(super) log: fn(&mut Looked<'_>) -> Option<PathBuf>,
    /// Reads back what a commit promises.
    pub(super) said: fn(&mut Looked<'_>) -> Result<Said, Thrown>,
}

/// How a product keeps what is ours apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schema {
    /// What makes one: `CREATE SCHEMA `.
    pub(super) make: &'static str,
    /// What removes one that holds no table any more, before and after its name.
    pub(super) remove: (&'static str, &'static str),
    /// True if it is a catalog to JDBC, which is what MySQL's databases are.
    pub(super) is_catalog: bool,
}

/// A schema as SQL's standard has it.
const SCHEMA: Schema = Schema {
    make: "CREATE SCHEMA ",
    remove: ("DROP SCHEMA ", ""),
    is_catalog: false,
};

/// A property of the JVM and its value; one without is taken away.
pub(super) type Property = (&'static str, Option<&'static str>);

/// How a product runs in this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Embedded {
    /// What begins a place that is no directory: `mem:`; a directory may be named by `file:` before it.
    pub(super) elsewhere: &'static [&'static str],
    /// What it makes in its directory.
    pub(super) files: &'static [&'static str],
    /// The words it can honour.
    pub(super) words: &'static [Durability],
    /// What it does unless told otherwise.
    pub(super) default: Durability,
    /// Its URL of a directory, for a word.
    pub(super) url: fn(&Path, Durability) -> String,
    /// Where its log goes, below its directory.
    pub(super) log: &'static str,
    /// As whom it is entered; nothing where nobody is asked.
    pub(super) login: &'static [(&'static str, &'static str)],
    /// Properties of the JVM that must stand while the database starts.
    pub(super) properties: fn(Durability) -> Vec<Property>,
    /// What is executed once, when the database was made.
    pub(super) made: fn(Durability) -> Vec<String>,
    /// What is executed after each commit, before it is acknowledged.
    pub(super) after_commit: fn(Durability) -> Option<&'static str>,
    /// How it is closed.
    pub(super) close: Close,
}

/// How an embedded database is closed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Close {
    /// By a statement.
    Statement(&'static str),
    /// By connecting to this URL, which always throws.
    Connecting(fn(&Path) -> String),
}

impl Product {
    /// The product of a URL's second word.
    pub(super) fn of(word: &str) -> &'static Product {
        const ALL: [&Product; 5] = [&DERBY, &H2, &HSQLDB, &POSTGRES, &MARIADB];
        let known = ALL.into_iter().find(|product| product.word == word);
        known.unwrap_or(&OTHER)
    }
}

/// A setting that a statement answered.
fn setting(name: &str, value: String, said_by: &str) -> Setting {
    Setting {
        name: name.to_owned(),
        value,
        said_by: said_by.to_owned(),
    }
}

/// No log to be found.
fn nowhere(_looked: &mut Looked<'_>) -> Option<PathBuf> {
    None
}
