//! LMDB, built from source: a copy-on-write tree in one memory-mapped file. See [`Lmdb`].
//!
//! | word | options of LMDB | effect of a commit |
//! |---|---|---|
//! | `none` | refused: a commit always writes its pages to the file | |
//! | `os` | `MDB_NOSYNC` | writes pages and meta page, syncs nothing |
//! | `data` | no flag | fdatasync after the pages, meta page through an `O_DSYNC` descriptor |
//! | `full` | refused: LMDB has no such setting | |
//!
//! `MDB_NOMETASYNC` is in between: the pages are synced and the meta page is not, so that a power loss
//! may undo the last commit. That is `os` at the cost of a sync, and is not offered.
//!
//! One writer at a time: a commit of one thread waits for that of another and does not share its sync.

#![allow(
    unsafe_code,
    reason = "opening a memory map is always unsafe in Rust: the file must not change while it is mapped"
)]

use crate::directory::Directory;
use crate::directory_store::DirectoryStore;
use crate::error::Error;
use crate::url::{Listing, Url};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, MdbError};
use std::io::{self, ErrorKind};
use std::ops::Bound;
use syncline_contract::key_value::{Change, KeyValue, KeyValueTarget, Pair, StoreInfo};
use syncline_contract::{Durability, Order, Setting, options};

/// LMDB as a target.
pub type LmdbTarget = KeyValueTarget<Lmdb>;

/// The files that LMDB creates in its directory.
const NAMES: &[&str] = &["data.mdb", "lock.mdb"];

/// The maximum number of reader threads; a thread keeps its slot of 64 bytes in LMDB's table until it
/// ends.
const READERS_MAX: u32 = 1 << 15;

options! {
    /// The options of an `lmdb:` URL.
    #[derive(Debug)]
    struct UrlOptions {
        durability: Durability as "os or data" = "data",
            "MDB_NOSYNC, or LMDB's default of two syncs for each commit";
        map_mib: u64 = 65_536 in 1..=16_777_216,
            "address space of the map, which limits the size of the store";
    }
}

/// The entry in `syncline list targets`.
pub(crate) const LISTING: &Listing = &Listing {
    name: "lmdb",
    what: "LMDB in this process, a directory of two files",
    form: "lmdb:PATH?options, or lmdb?options for a temporary database that is removed",
    options: UrlOptions::LISTING,
};

/// LMDB as a key-value store, in its unnamed database.
#[derive(Debug)]
pub struct Lmdb {
    durability: Durability,
    map_mib: u64,
    home: DirectoryStore<Open>,
}

struct Open {
    environment: Env,
    rows: Database<'static, Bytes, Bytes>,
}

/// Opens the target that a `lmdb:` URL names, without touching its files.
pub(crate) fn open(url: &Url) -> Result<LmdbTarget, Error> {
    let UrlOptions { durability, map_mib } = UrlOptions::read(&url.option_args(LISTING)?)?;
    let store = Lmdb {
        durability: honoured(durability)?,
        map_mib,
        home: DirectoryStore::new(Directory::of(url, LISTING, NAMES, LISTING.name)?),
    };
    Ok(KeyValueTarget::new(store))
}

fn honoured(durability: Durability) -> Result<Durability, Error> {
    let why = match durability {
        word @ (Durability::Os | Durability::Data) => return Ok(word),
        Durability::None => {
            "durability=none: a commit always writes its pages to the file; the minimum is os"
        }
        Durability::Full => {
            "durability=full: LMDB only syncs by fdatasync and O_DSYNC; the maximum is data"
        }
    };
    Err(Error::NotHonoured { target: LISTING.name, what: why.to_owned() })
}

impl Lmdb {
    fn make(&self) -> io::Result<Open> {
        let failed = |error| self.failure(error);
        let mut options = EnvOpenOptions::new();
        options.map_size((self.map_mib as usize) << 20);
        options.max_readers(READERS_MAX);
        if self.durability == Durability::Os {
            // SAFETY: the flag omits syncs; the effect of a power loss on the file does not matter
            // here, since each store is created anew.
            unsafe { options.flags(EnvFlags::NO_SYNC) };
        }
        // SAFETY: we hold the lock of the directory, and its files are created anew, so that only LMDB
        // changes the mapped file.
        let environment = unsafe { options.open(self.home.directory().path()) }.map_err(failed)?;
        let write = environment.write_txn().map_err(failed)?;
        let rows = environment.create_databases_and_commit(write, |opener, write| {
            let made = opener.create_database::<Bytes, Bytes>(write, None);
            made.map(CommitOrAbort::<_, ()>::Commit)
        });
        let rows = rows.map_err(failed)?.unwrap_commit();
        self.home.directory().sync_names()?;
        Ok(Open { environment, rows })
    }

    fn failure(&self, error: heed::Error) -> io::Error {
        match error {
            heed::Error::Io(error) => error,
            heed::Error::Mdb(MdbError::MapFull) => {
                let map_mib = self.map_mib;
                let what = format!("its map of {map_mib} MiB is full; set a larger map_mib");
                io::Error::new(ErrorKind::StorageFull, what)
            }
            heed::Error::Mdb(MdbError::ReadersFull) => {
                io::Error::other(format!("more than {READERS_MAX} threads read from it"))
            }
            other => io::Error::other(other.to_string()),
        }
    }
}

impl Open {
    fn refuse_long(&self, key: &[u8]) -> io::Result<()> {
        let bytes_max = self.environment.max_key_size();
        if key.len() <= bytes_max {
            return Ok(());
        }
        let what = format!("a key has {} bytes, but LMDB accepts at most {bytes_max}", key.len());
        Err(io::Error::new(ErrorKind::InvalidInput, what))
    }

    fn apply(&self, changes: &[Change]) -> heed::Result<()> {
        let mut write = self.environment.write_txn()?;
        for Change { key, value } in changes {
            match value {
                Some(value) => self.rows.put(&mut write, key, value)?,
                None => {
                    self.rows.delete(&mut write, key)?;
                }
            }
        }
        write.commit()
    }

    fn value_of(&self, key: &[u8]) -> heed::Result<Option<Vec<u8>>> {
        let read = self.environment.read_txn()?;
        Ok(self.rows.get(&read, key)?.map(<[u8]>::to_vec))
    }

    fn pairs(&self, from: &[u8], to: &[u8], order: Order, limit: usize) -> heed::Result<Vec<Pair>> {
        let within = (Bound::Included(from), Bound::Excluded(to));
        let read = self.environment.read_txn()?;
        let owned = |pair: heed::Result<(&[u8], &[u8])>| {
            pair.map(|(key, value)| (key.to_vec(), value.to_vec()))
        };
        match order {
            Order::Ascending => {
                let pairs = self.rows.range(&read, &within)?;
                pairs.take(limit).map(owned).collect()
            }
            Order::Descending => {
                let pairs = self.rows.rev_range(&read, &within)?;
                pairs.take(limit).map(owned).collect()
            }
        }
    }

    /// The durability that the flags in force provide, and the sentence that explains it.
    fn durability_report(&self) -> (Durability, String) {
        let Ok(flags) = self.environment.get_flags() else {
            let what = "mdb_env_get_flags failed, so nothing is known about its syncs";
            return (Durability::Os, what.to_owned());
        };
        let reported_flags = format!("mdb_env_get_flags returns {flags:#x}:");
        let (durability, what) = if flags & EnvFlags::NO_SYNC.bits() != 0 {
            (Durability::Os, "MDB_NOSYNC is set, a commit syncs nothing")
        } else if flags & EnvFlags::NO_META_SYNC.bits() != 0 {
            let what = "MDB_NOMETASYNC is set, a power loss may undo the last commit";
            (Durability::Os, what)
        } else {
            let what = "neither MDB_NOSYNC nor MDB_NOMETASYNC is set, so that each commit calls \
                        fdatasync for its pages and then writes the meta page through a descriptor \
                        opened with O_DSYNC";
            (Durability::Data, what)
        };
        (durability, format!("{reported_flags} {what}"))
    }
}

impl KeyValue for Lmdb {
    fn about(&self) -> StoreInfo {
        let asked = "set by its flags, and read back after the store is opened";
        let (durability, durability_evidence) = match &*self.home.opened() {
            Some(open) => open.durability_report(),
            None => (self.durability, asked.to_owned()),
        };
        let version = heed::lmdb_version();
        StoreInfo {
            name: LISTING.name.to_owned(),
            version: format!("{}.{}.{}", version.major, version.minor, version.patch),
            durability,
            durability_evidence,
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
            let mut keys = changes.iter().map(|change| &change.key);
            keys.try_for_each(|key| open.refuse_long(key))?;
            open.apply(changes).map_err(|error| self.failure(error))
        })
    }

    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.home.with(|open| {
            open.refuse_long(key)?;
            open.value_of(key).map_err(|error| self.failure(error))
        })
    }

    fn scans(&self) -> bool {
        true
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, limit: usize) -> io::Result<Vec<Pair>> {
        self.home.with(|open| {
            let pairs = open.pairs(from, to, order, limit);
            pairs.map_err(|error| self.failure(error))
        })
    }

    fn settings(&self) -> Vec<Setting> {
        let open = self.home.opened();
        let Some(open) = &*open else {
            return Vec::new();
        };
        let info = open.environment.info();
        let setting = |name: &str, value: String, source: &str| Setting {
            name: name.to_owned(),
            value,
            source: source.to_owned(),
        };
        let mut settings = vec![
            setting("map_bytes", info.map_size.to_string(), "mdb_env_info"),
            setting("readers_max", info.maximum_number_of_readers.to_string(), "mdb_env_info"),
        ];
        if let Ok(flags) = open.environment.get_flags() {
            settings.push(setting("flags", format!("{flags:#x}"), "mdb_env_get_flags"));
        }
        settings
    }

    /// Each commit writes one meta page through a descriptor that syncs; LMDB numbers them.
    fn synced_writes(&self) -> Option<u64> {
        let open = self.home.opened();
        let open = open.as_ref()?;
        let (durability, _) = open.durability_report();
        (durability == Durability::Data).then(|| open.environment.info().last_txn_id as u64)
    }
}
