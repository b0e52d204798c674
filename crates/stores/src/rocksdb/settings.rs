//! The settings of a `rocksdb:` URL, and the RocksDB options that follow from them.

use crate::error::Error;
use crate::url::{Listing, Url};
use rocksdb::{BlockBasedOptions, Cache, DBCompressionType, DBRecoveryMode, Options, WriteOptions};
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
        cache_mib: u64 = ["RocksDB's own, 8"] in 1..=16_777_216,
            "the block cache, for data, index and filter blocks";
        bloom_bits: u64 = 0 in 0..=32,
            "bits of a Bloom filter for each key, full and not by blocks; 0: no filter, as by default";
        direct: Direct = "no", "yes: reads, flushes and compactions pass the page cache by";
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

words! {
    /// Whether files are read and written past the page cache.
    pub(super) enum Direct {
        /// Past it; the log is not affected.
        Yes = "yes",
        /// By way of it.
        No = "no",
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
    /// The size of the block cache, in bytes; RocksDB's own by default.
    pub(super) cache_bytes: Option<usize>,
    /// Bits of a filter for each key; 0 without filters.
    pub(super) bloom_bits: u32,
    /// Reads, flushes and compactions pass the page cache by.
    pub(super) is_direct: bool,
}

/// How many logs are available for reuse: one while the other is in use.
pub(super) const RECYCLED_LOGS: usize = 2;

impl Settings {
    /// Parses a URL.
    pub(super) fn of(url: &Url) -> Result<Settings, Error> {
        let UrlOptions { durability, wal, write_buffer_mib, cache_mib, bloom_bits, direct } =
            UrlOptions::read(&url.option_args(LISTING)?)?;
        if wal == Wal::Recycled && durability == Durability::None {
            return Err(Error::NotHonoured {
                target: LISTING.name,
                what: "wal=recycled with durability=none: no log is written".to_owned(),
            });
        }
        Ok(Settings {
            durability,
            wal,
            write_buffer_bytes: (write_buffer_mib as usize) << 20,
            cache_bytes: cache_mib.map(|mib| (mib as usize) << 20),
            bloom_bits: bloom_bits as u32,
            is_direct: direct == Direct::Yes,
        })
    }

    /// The options for opening RocksDB; all others keep their defaults.
    pub(super) fn options(&self) -> Options {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_error_if_exists(true);
        options.set_compression_type(DBCompressionType::None);
        options.set_write_buffer_size(self.write_buffer_bytes);
        options.set_use_fsync(self.durability == Durability::Full);
        options.set_use_direct_reads(self.is_direct);
        options.set_use_direct_io_for_flush_and_compaction(self.is_direct);
        if self.cache_bytes.is_some() || self.bloom_bits > 0 {
            options.set_block_based_table_factory(&self.table_options());
        }
        if self.wal == Wal::Recycled {
            options.set_recycle_log_file_num(RECYCLED_LOGS);
            options.set_wal_recovery_mode(DBRecoveryMode::SkipAnyCorruptedRecord);
        }
        options
    }

    /// The options of tables where they differ from RocksDB's own.
    fn table_options(&self) -> BlockBasedOptions {
        let mut options = BlockBasedOptions::default();
        if let Some(bytes) = self.cache_bytes {
            let cache = Cache::new_lru_cache(bytes);
            options.set_block_cache(&cache.expect("RocksDB allocates a cache"));
            options.set_cache_index_and_filter_blocks(true);
        }
        if self.bloom_bits > 0 {
            options.set_bloom_filter(self.bloom_bits.into(), false);
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
