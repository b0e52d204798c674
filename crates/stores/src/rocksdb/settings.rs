//! The settings of a `rocksdb:` URL, and the RocksDB options that follow from them.

use crate::error::Error;
use crate::url::{Listing, Url};
use rocksdb::{DBCompressionType, DBRecoveryMode, Options, WriteOptions};
use syncline_contract::{Durability, options, words};

options! {
    /// The options of a `rocksdb:` URL.
    #[derive(Debug)]
    struct UrlOptions {
        durability: Durability = "data", "disableWAL, neither, sync, or sync with use_fsync";
        wal: Wal = "fresh",
            "fresh: each log is a new, growing file; recycled: it overwrites an old one; see docs/targets.md";
        write_buffer_mib: u64 = 64 in 1..=4_096,
            "write_buffer_size: the size of a memtable, which also limits a log";
    }
}

/// The entry in `syncline list targets`.
pub(crate) const LISTING: &Listing = &Listing {
    name: "rocksdb",
    what: "RocksDB of the operating system in this process, a directory",
    form: "rocksdb:PATH?options, or rocksdb?options for a temporary database that is removed",
    options: UrlOptions::LISTING,
};

words! {
    /// How the write-ahead log gets its files.
    pub(super) enum Wal {
        /// Each log overwrites an old one.
        Recycled = "recycled",
        /// Each log is a new, growing file.
        Fresh = "fresh",
    }
}

/// All settings of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The durability of a commit.
    pub(super) durability: Durability,
    /// How the log gets its files.
    pub(super) wal: Wal,
    /// The size of a memtable, in bytes.
    pub(super) write_buffer_bytes: usize,
}

/// How many logs are available for reuse: one while the other is in use.
pub(super) const RECYCLED_LOGS: usize = 2;

impl Settings {
    /// Parses a URL.
    pub(super) fn of(url: &Url) -> Result<Settings, Error> {
        let UrlOptions { durability, wal, write_buffer_mib } =
            UrlOptions::read(&url.option_args(LISTING)?)?;
        if wal == Wal::Recycled && durability == Durability::None {
            return Err(Error::NotHonoured {
                target: LISTING.name,
                what: "wal=recycled with durability=none: no log is written".to_owned(),
            });
        }
        Ok(Settings { durability, wal, write_buffer_bytes: (write_buffer_mib as usize) << 20 })
    }

    /// The options for opening RocksDB; all others keep their defaults.
    pub(super) fn options(&self) -> Options {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_error_if_exists(true);
        options.set_compression_type(DBCompressionType::None);
        options.set_write_buffer_size(self.write_buffer_bytes);
        options.set_use_fsync(self.durability == Durability::Full);
        if self.wal == Wal::Recycled {
            options.set_recycle_log_file_num(RECYCLED_LOGS);
            options.set_wal_recovery_mode(DBRecoveryMode::SkipAnyCorruptedRecord);
        }
        options
    }

    /// The options for writing each batch.
    pub(super) fn write_options(&self) -> WriteOptions {
        let mut options = WriteOptions::default();
        options.disable_wal(self.durability == Durability::None);
        options.set_sync(self.durability.syncs());
        options
    }
}
