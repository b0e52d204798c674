//! redb: a copy-on-write tree in one file, written in Rust. See [`Redb`].
//!
//! | word | option of each transaction | effect of a commit |
//! |---|---|---|
//! | `none` | `Durability::None` | changes its memory; a later synced commit would write it |
//! | `os` | refused: redb has no such level | |
//! | `data` | `Durability::Immediate` | writes its pages, then one `fdatasync` |
//! | `full` | refused: redb calls `fdatasync` only | |
//!
//! redb's two-phase commit, a second sync that protects against malicious data, stays off, which is its
//! default. One writer at a time: a commit waits for that of another thread and does not share its
//! sync.

use crate::directory::Directory;
use crate::directory_store::DirectoryStore;
use crate::error::Error;
use crate::url::{Listing, Url};
use redb::{Database, ReadableDatabase, TableDefinition};
use std::io::{self, ErrorKind};
use syncline_contract::key_value::{Change, KeyValue, KeyValueTarget, Pair, StoreInfo};
use syncline_contract::{Durability, Order, options};

/// redb as a target.
pub type RedbTarget = KeyValueTarget<Redb>;

/// The one file that redb creates.
const FILE: &str = "store.redb";

/// The version of the crate, which it does not report; a test compares it with the lock file.
const VERSION: &str = "4.4.0";

const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");

options! {
    /// The options of a `redb:` URL.
    #[derive(Debug)]
    struct UrlOptions {
        durability: Durability as "none or data" = "data",
            "Durability::None or Durability::Immediate for each transaction";
    }
}

/// The entry in `syncline list targets`.
pub(crate) const LISTING: &Listing = &Listing {
    name: "redb",
    what: "redb in this process, a directory of one file",
    form: "redb:PATH?options, or redb?options for a temporary database that is removed",
    options: UrlOptions::LISTING,
};

/// redb as a key-value store, in one table.
#[derive(Debug)]
pub struct Redb {
    durability: Durability,
    home: DirectoryStore<Database>,
}

/// Opens the target that a `redb:` URL names, without touching its files.
pub(crate) fn open(url: &Url) -> Result<RedbTarget, Error> {
    let store = Redb {
        durability: honoured(UrlOptions::read(&url.option_args(LISTING)?)?.durability)?,
        home: DirectoryStore::new(Directory::of(url, LISTING, &[FILE], LISTING.name)?),
    };
    Ok(KeyValueTarget::new(store))
}

fn honoured(durability: Durability) -> Result<Durability, Error> {
    let why = match durability {
        word @ (Durability::None | Durability::Data) => return Ok(word),
        Durability::Os => {
            "durability=os: a commit is synced or stays in redb's memory; use none or data"
        }
        Durability::Full => "durability=full: redb only syncs by fdatasync; the maximum is data",
    };
    Err(Error::NotHonoured { target: LISTING.name, what: why.to_owned() })
}

impl Redb {
    fn make(&self) -> io::Result<Database> {
        let made = Database::create(self.home.directory().path().join(FILE));
        let made = made.map_err(failure)?;
        // The table is created here, so that a read before the first row finds it.
        let write = made.begin_write().map_err(failure)?;
        write.open_table(ROWS).map_err(failure)?;
        write.commit().map_err(failure)?;
        self.home.directory().sync_names()?;
        Ok(made)
    }

    fn apply(&self, database: &Database, changes: &[Change]) -> Result<(), redb::Error> {
        let mut write = database.begin_write()?;
        write.set_durability(match self.durability {
            Durability::None => redb::Durability::None,
            _ => redb::Durability::Immediate,
        })?;
        let mut rows = write.open_table(ROWS)?;
        for Change { key, value } in changes {
            match value {
                Some(value) => rows.insert(key.as_slice(), value.as_slice())?,
                None => rows.remove(key.as_slice())?,
            };
        }
        drop(rows);
        write.commit()?;
        Ok(())
    }
}

fn value_of(database: &Database, key: &[u8]) -> Result<Option<Vec<u8>>, redb::Error> {
    let rows = database.begin_read()?.open_table(ROWS)?;
    let value = rows.get(key)?;
    Ok(value.map(|value| value.value().to_vec()))
}

fn pairs(
    database: &Database,
    from: &[u8],
    to: &[u8],
    order: Order,
    limit: usize,
) -> Result<Vec<Pair>, redb::Error> {
    let rows = database.begin_read()?.open_table(ROWS)?;
    let pairs = order.of(rows.range::<&[u8]>(from..to)?).take(limit).map(|next| {
        let (key, value) = next?;
        Ok((key.value().to_vec(), value.value().to_vec()))
    });
    pairs.collect()
}

impl KeyValue for Redb {
    fn about(&self) -> StoreInfo {
        let how = match self.durability {
            Durability::None => {
                "each commit follows set_durability(Durability::None), which keeps it in redb's memory"
            }
            _ => {
                "each commit follows set_durability(Durability::Immediate), for which redb calls \
                 fdatasync once"
            }
        };
        StoreInfo {
            name: LISTING.name.to_owned(),
            version: VERSION.to_owned(),
            durability: self.durability,
            durability_evidence: format!("{how}; redb has no call that reads it back"),
            log_location: self.home.directory().log_location(),
        }
    }

    fn preflight(&self) -> io::Result<()> {
        self.home.directory().check()
    }

    fn create(&self) -> io::Result<()> {
        self.home.create(|| self.make())
    }

    fn remove(&self) -> io::Result<()> {
        self.home.remove()
    }

    fn commit(&self, changes: &[Change]) -> io::Result<()> {
        self.home.with(|database| self.apply(database, changes).map_err(failure))
    }

    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.home.with(|database| value_of(database, key).map_err(failure))
    }

    fn scans(&self) -> bool {
        true
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, limit: usize) -> io::Result<Vec<Pair>> {
        self.home.with(|database| pairs(database, from, to, order, limit).map_err(failure))
    }
}

fn failure(error: impl Into<redb::Error>) -> io::Error {
    match error.into() {
        redb::Error::Io(error) => error,
        error @ redb::Error::ValueTooLarge(_) => {
            io::Error::new(ErrorKind::InvalidInput, error.to_string())
        }
        other => io::Error::other(other.to_string()),
    }
}
