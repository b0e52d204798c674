//! RocksDB as a key-value store.

use super::reported_settings::{Counts, OptionsFile};
use super::settings::{LISTING, RECYCLED_LOGS, Settings, Wal};
use crate::directory::Directory;
use crate::directory_store::DirectoryStore;
use crate::error::Error;
use crate::url::Url;
use rocksdb::{DB, Options, ReadOptions, WriteBatch, WriteOptions};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use syncline_contract::key_value::{Change, KeyValue, KeyValueTarget, Pair, StoreInfo};
use syncline_contract::{Order, Setting};

/// RocksDB as a target.
pub type RocksdbTarget = KeyValueTarget<Rocksdb>;

/// RocksDB's own directory within the store's.
const FOLDER: &str = "database";

/// The key for the trial and for filling logs, deleted by the batch that writes it; no row has it.
const KEY: &[u8] = b"\xffsyncline";

/// The size of the value that fills logs, in bytes.
const FILLER_BYTES: usize = 1 << 16;

/// RocksDB as a key-value store, in its default column family.
#[derive(Debug)]
pub struct Rocksdb {
    settings: Settings,
    home: DirectoryStore<Open>,
}

struct Open {
    database: DB,
    write: WriteOptions,
    options_file: OptionsFile,
    trial: Counts,
}

/// Opens the target that a `rocksdb:` URL names, without touching its files.
pub(crate) fn open(url: &Url) -> Result<RocksdbTarget, Error> {
    let store = Rocksdb {
        settings: Settings::of(url)?,
        home: DirectoryStore::new(Directory::of(url, LISTING, &[FOLDER], LISTING.name)?),
    };
    Ok(KeyValueTarget::new(store))
}

impl Rocksdb {
    fn folder(&self) -> PathBuf {
        self.home.directory().path().join(FOLDER)
    }

    fn make(&self) -> io::Result<Open> {
        let folder = self.folder();
        let trial = self.try_commit(&folder)?;
        let write = self.settings.write_options();
        let database = DB::open(&self.settings.options(), &folder).map_err(failure)?;
        let options_file = OptionsFile::read(&folder)?;
        if self.settings.wal == Wal::Recycled {
            refuse_unless_recycled(&options_file)?;
            self.fill_logs(&database, &write)?;
        }
        self.home.directory().sync_names()?;
        Ok(Open { database, write, options_file, trial })
    }

    /// The counts of one trial commit, in a separate store that is then removed: enabling statistics
    /// would cost the run some hundredths of its rate.
    fn try_commit(&self, folder: &Path) -> io::Result<Counts> {
        let mut options = self.settings.options();
        options.enable_statistics();
        let database = DB::open(&options, folder).map_err(failure)?;
        let counts = self.commit_once(&database, &options)?;
        drop(database);
        fs::remove_dir_all(folder)?;
        Ok(counts)
    }

    fn commit_once(&self, database: &DB, options: &Options) -> io::Result<Counts> {
        let before = Counts::read(options)?;
        let mut batch = WriteBatch::default();
        batch.put(KEY, b"trial");
        batch.delete(KEY);
        let written = database.write_opt(batch, &self.settings.write_options());
        written.map_err(failure)?;
        let after = Counts::read(options)?;
        Ok(Counts {
            log_writes: after.log_writes - before.log_writes,
            syncs: after.syncs - before.syncs,
        })
    }

    /// Opens the store of an earlier process. The trial is made in the store itself, so its statistics
    /// stay enabled.
    fn open_again(&self) -> io::Result<Option<Open>> {
        let folder = self.folder();
        if !folder.join("CURRENT").exists() {
            return Ok(None);
        }
        let mut options = self.settings.options();
        options.create_if_missing(false);
        options.set_error_if_exists(false);
        options.enable_statistics();
        let database = DB::open(&options, &folder).map_err(failure)?;
        let trial = self.commit_once(&database, &options)?;
        Ok(Some(Open {
            database,
            write: self.settings.write_options(),
            options_file: OptionsFile::read(&folder)?,
            trial,
        }))
    }

    /// Fills the logs to recycle, each with half a memtable more than fits, since a log needs a few
    /// more bytes for each row. Each flush retires a log and starts the next, so that the last one
    /// reuses an old file.
    fn fill_logs(&self, database: &DB, write: &WriteOptions) -> io::Result<()> {
        let filler = vec![0xa5; FILLER_BYTES];
        let values = self.settings.write_buffer_bytes / FILLER_BYTES * 3 / 4;
        for _ in 0..RECYCLED_LOGS {
            // In halves, since the first must not fill the memtable: that would start a log.
            for _ in 0..2 {
                let mut batch = WriteBatch::default();
                for _ in 0..values {
                    batch.put(KEY, &filler);
                }
                batch.delete(KEY);
                database.write_opt(batch, write).map_err(failure)?;
            }
            database.flush().map_err(failure)?;
        }
        Ok(())
    }
}

/// RocksDB silently ignores the option if it does not support it.
fn refuse_unless_recycled(options_file: &OptionsFile) -> io::Result<()> {
    let number = options_file.value("recycle_log_file_num").unwrap_or("unknown");
    if number == RECYCLED_LOGS.to_string() {
        return Ok(());
    }
    let version = options_file.version();
    let what = format!(
        "RocksDB {version} recycles {number} logs instead of {RECYCLED_LOGS}; use \
         wal=fresh"
    );
    Err(io::Error::new(ErrorKind::Unsupported, what))
}

impl Open {
    fn pairs(&self, from: &[u8], to: &[u8], order: Order, limit: usize) -> io::Result<Vec<Pair>> {
        let mut bounds = ReadOptions::default();
        bounds.set_iterate_lower_bound(from);
        bounds.set_iterate_upper_bound(to);
        let mut within = self.database.raw_iterator_opt(bounds);
        match order {
            Order::Ascending => within.seek_to_first(),
            Order::Descending => within.seek_to_last(),
        }
        let mut pairs = Vec::new();
        while pairs.len() < limit
            && let Some((key, value)) = within.item()
        {
            pairs.push((key.to_vec(), value.to_vec()));
            match order {
                Order::Ascending => within.next(),
                Order::Descending => within.prev(),
            }
        }
        // An iterator ends at an error as it does at the last pair.
        within.status().map_err(failure)?;
        Ok(pairs)
    }
}

impl KeyValue for Rocksdb {
    fn about(&self) -> StoreInfo {
        let mut version = "unknown before it is opened".to_owned();
        let mut durability = self.settings.durability;
        let mut durability_evidence =
            "set by its options, and read back after the store is opened".to_owned();
        if let Some(open) = &*self.home.opened() {
            version = open.options_file.version();
            (durability, durability_evidence) = open.options_file.durability(open.trial);
        }
        StoreInfo {
            name: LISTING.name.to_owned(),
            version,
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

    /// Not with recycled logs, whose recovery RocksDB 7.8.3 does not finish: see the module.
    fn reopens(&self) -> bool {
        self.settings.wal == Wal::Fresh
    }

    fn reopen(&self) -> io::Result<bool> {
        self.home.reopen(|| self.open_again())
    }

    fn keep(&self) -> io::Result<()> {
        self.home.keep();
        Ok(())
    }

    fn remove(&self) -> io::Result<()> {
        self.home.remove()
    }

    fn commit(&self, changes: &[Change]) -> io::Result<()> {
        self.home.with(|open| {
            let mut batch = WriteBatch::default();
            for Change { key, value } in changes {
                match value {
                    Some(value) => batch.put(key, value),
                    None => batch.delete(key),
                }
            }
            let written = open.database.write_opt(batch, &open.write);
            written.map_err(failure)
        })
    }

    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.home.with(|open| open.database.get(key).map_err(failure))
    }

    fn scans(&self) -> bool {
        true
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, limit: usize) -> io::Result<Vec<Pair>> {
        self.home.with(|open| open.pairs(from, to, order, limit))
    }

    fn settings(&self) -> Vec<Setting> {
        let open = self.home.opened();
        let Some(open) = &*open else {
            return Vec::new();
        };
        let mut settings = open.options_file.settings();
        let property = "rocksdb.block-cache-capacity";
        if let Ok(Some(bytes)) = open.database.property_int_value(property) {
            settings.push(Setting {
                name: "cache_bytes".to_owned(),
                value: bytes.to_string(),
                source: format!("property {property}"),
            });
        }
        settings
    }
}

/// RocksDB returns its errors as text; a full disk is recognized by the operating system's message.
fn failure(error: rocksdb::Error) -> io::Error {
    let kind = match error.kind() {
        rocksdb::ErrorKind::InvalidArgument => ErrorKind::InvalidInput,
        _ if error.as_ref().contains("No space left on device") => ErrorKind::StorageFull,
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, error.into_string())
}
