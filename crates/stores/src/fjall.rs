//! fjall: a log-structured merge tree behind a journal, written in Rust. See [`Fjall`].
//!
//! | word | option of each batch | effect of a commit |
//! |---|---|---|
//! | `none` | no `PersistMode` | leaves its record in the buffer of the journal's writer, in memory |
//! | `os` | `PersistMode::Buffer` | writes the record to the journal's file |
//! | `data` | `PersistMode::SyncData` | and calls `fdatasync` |
//! | `full` | `PersistMode::SyncAll` | and calls `fsync` |
//!
//! The sync runs under the journal's lock: a commit waits for that of another thread and does not share
//! its sync. Reads use a snapshot, so that none sees half of a batch.

use crate::directory::Directory;
use crate::directory_store::DirectoryStore;
use crate::error::Error;
use crate::url::{Listing, Url};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};
use std::io::{self, ErrorKind};
use syncline_contract::key_value::{Change, KeyValue, KeyValueTarget, Pair, StoreInfo};
use syncline_contract::{Durability, Order, Setting, options};

/// fjall as a target.
pub type FjallTarget = KeyValueTarget<Fjall>;

/// fjall's own directory within the store's.
const FOLDER: &str = "database";

/// The version of the crate, which it does not report; a test compares it with the lock file.
const VERSION: &str = "3.1.13";

/// The length of a key is stored in 16 bits.
const KEY_BYTES_MAX: usize = u16::MAX as usize;

options! {
    /// The options of a `fjall:` URL.
    #[derive(Debug)]
    struct UrlOptions {
        durability: Durability = "data",
            "no PersistMode, Buffer, SyncData or SyncAll for each batch";
    }
}

/// The entry in `syncline list targets`.
pub(crate) const LISTING: &Listing = &Listing {
    name: "fjall",
    what: "fjall in this process, a directory",
    form: "fjall:PATH?options, or fjall?options for a temporary database that is removed",
    options: UrlOptions::LISTING,
};

/// fjall as a key-value store, in one keyspace.
#[derive(Debug)]
pub struct Fjall {
    durability: Durability,
    home: DirectoryStore<Open>,
}

struct Open {
    rows: Keyspace,
    database: Database,
}

/// Opens the target that a `fjall:` URL names, without touching its files.
pub(crate) fn open(url: &Url) -> Result<FjallTarget, Error> {
    let given = url.option_args(LISTING)?;
    let store = Fjall {
        durability: UrlOptions::read(&given)?.durability,
        home: DirectoryStore::new(Directory::of(url, LISTING, &[FOLDER], LISTING.name)?),
    };
    Ok(KeyValueTarget::new(store))
}

impl Fjall {
    fn make(&self) -> io::Result<Open> {
        let path = self.home.directory().path().join(FOLDER);
        let database = Database::builder(path).open().map_err(failure)?;
        let rows = database.keyspace("rows", KeyspaceCreateOptions::default);
        let rows = rows.map_err(failure)?;
        self.home.directory().sync_names()?;
        Ok(Open { rows, database })
    }

    /// The option of each batch.
    fn mode(&self) -> Option<PersistMode> {
        match self.durability {
            Durability::None => None,
            Durability::Os => Some(PersistMode::Buffer),
            Durability::Data => Some(PersistMode::SyncData),
            Durability::Full => Some(PersistMode::SyncAll),
        }
    }
}

impl Open {
    fn apply(&self, changes: &[Change], mode: Option<PersistMode>) -> fjall::Result<()> {
        let mut batch = self.database.batch().durability(mode);
        for Change { key, value } in changes {
            match value {
                Some(value) => batch.insert(&self.rows, key.as_slice(), value.as_slice()),
                None => batch.remove(&self.rows, key.as_slice()),
            }
        }
        batch.commit()
    }

    fn pairs(
        &self,
        from: &[u8],
        to: &[u8],
        order: Order,
        limit: usize,
    ) -> fjall::Result<Vec<Pair>> {
        let within = order.of(self.database.snapshot().range(&self.rows, from..to));
        let pairs = within.take(limit).map(|next| {
            let (key, value) = next.into_inner()?;
            Ok((key.to_vec(), value.to_vec()))
        });
        pairs.collect()
    }
}

impl KeyValue for Fjall {
    fn about(&self) -> StoreInfo {
        let how = match self.durability {
            Durability::None => {
                "each batch is committed without a PersistMode, so that fjall keeps it in a buffer"
            }
            Durability::Os => "each batch carries PersistMode::Buffer, which fjall writes unsynced",
            Durability::Data => {
                "each batch carries PersistMode::SyncData, for which fjall calls fdatasync on its \
                 journal"
            }
            Durability::Full => {
                "each batch carries PersistMode::SyncAll, for which fjall calls fsync on its journal"
            }
        };
        StoreInfo {
            name: LISTING.name.to_owned(),
            version: VERSION.to_owned(),
            durability: self.durability,
            durability_evidence: format!("{how}; fjall has no call that reads it back"),
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
        self.home.with(|open| {
            let mut keys = changes.iter().map(|change| change.key.len());
            if let Some(bytes) = keys.find(|bytes| !(1..=KEY_BYTES_MAX).contains(bytes)) {
                let what =
                    format!("a key has {bytes} bytes, but fjall accepts 1 to {KEY_BYTES_MAX}");
                return Err(io::Error::new(ErrorKind::InvalidInput, what));
            }
            open.apply(changes, self.mode()).map_err(failure)
        })
    }

    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.home.with(|open| {
            let value = open.database.snapshot().get(&open.rows, key);
            Ok(value.map_err(failure)?.map(|value| value.to_vec()))
        })
    }

    fn scans(&self) -> bool {
        true
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, limit: usize) -> io::Result<Vec<Pair>> {
        self.home.with(|open| open.pairs(from, to, order, limit).map_err(failure))
    }

    fn settings(&self) -> Vec<Setting> {
        let open = self.home.opened();
        let capacity = open.as_ref().map(|open| open.database.cache_capacity());
        let setting = capacity.map(|bytes| Setting {
            name: "cache_bytes".to_owned(),
            value: bytes.to_string(),
            source: "Database::cache_capacity".to_owned(),
        });
        setting.into_iter().collect()
    }
}

fn failure(error: fjall::Error) -> io::Error {
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => error,
        other => io::Error::other(other.to_string()),
    }
}
