//! What a `rocksdb:` URL asks for, and RocksDB's options that follow from it.

use crate::error::Error;
use crate::url::{Listing, Url};
use rocksdb::{DBCompressionType, DBRecoveryMode, Options, WriteOptions};
use syncline_contract::{Durability, OptionListing};

/// What `syncline list targets` shows.
pub(crate) const LISTING: &Listing = &Listing {
    name: "rocksdb",
    what: "RocksDB of the operating system in this process, a directory",
    form: "rocksdb:PATH?options, or rocksdb?options for a temporary database that is removed",
    options: &[
        OptionListing {
            name: "durability",
            takes: "none, os, data or full",
            default: "data",
            meaning: "disableWAL, neither, sync, or sync with use_fsync",
        },
        OptionListing {
            name: "wal",
            takes: "fresh or recycled",
            default: "fresh",
            meaning: "the log is a file that grows, or is written over old ones: see docs/targets.md",
        },
        OptionListing {
            name: "write_buffer_mib",
            takes: "a whole number from 1 to 4096",
            default: "64",
            meaning: "write_buffer_size: a memtable, hence also how long a log gets",
        },
    ],
};

/// How the write-ahead log gets its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wal {
    /// Each log is written over an old one.
    Recycled,
    /// Each log is a new file, which grows.
    Fresh,
}

impl Wal {
    const ALL: [Wal; 2] = [Wal::Fresh, Wal::Recycled];

    fn word(self) -> &'static str {
        match self {
            Wal::Recycled => "recycled",
            Wal::Fresh => "fresh",
        }
    }
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// What a commit is worth.
    pub(super) durability: Durability,
    /// How the log gets its files.
    pub(super) wal: Wal,
    /// The bytes of a memtable.
    pub(super) write_buffer_bytes: usize,
}

/// How many logs wait to be written over: one while the other is in use.
pub(super) const RECYCLED_LOGS: usize = 2;

impl Settings {
    /// Of a URL.
    pub(super) fn of(url: &Url) -> Result<Settings, Error> {
        let given = url.given(LISTING)?;
        let durability = given.word("durability", &Durability::ALL, Durability::word)?;
        let durability = durability.unwrap_or(Durability::Data);
        let wal = given.word("wal", &Wal::ALL, Wal::word)?;
        if wal == Some(Wal::Recycled) && durability == Durability::None {
            return Err(Error::NotHonoured {
                target: LISTING.name,
                what: "wal=recycled with durability=none: no log is written".to_owned(),
            });
        }
        let mib = given.number("write_buffer_mib", 1..=4096)?.unwrap_or(64);
        Ok(Settings {
            durability,
            wal: wal.unwrap_or(Wal::Fresh),
            write_buffer_bytes: (mib as usize) << 20,
        })
    }

    /// What RocksDB is opened with; anything else stays as it is by default.
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

    /// What each batch is written with.
    pub(super) fn write_options(&self) -> WriteOptions {
        let mut options = WriteOptions::default();
        options.disable_wal(self.durability == Durability::None);
        options.set_sync(self.durability.syncs());
        options
    }
}
