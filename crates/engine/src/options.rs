//! The engine's options: each with its default, its limits and the reason for both.
//!
//! Options that determine the format on disk (`page_bytes`, the log's segments and frame unit) are fixed when
//! a database is made: an existing one keeps what its files say.

use crate::buffer::extent::{EXTENT_BYTES_MAX, EXTENT_BYTES_MIN};
use crate::checkpoint::check_extent;
#[cfg(doc)]
use crate::error::Error;
use crate::error::{Result, check_option};
use crate::log;
use std::path::PathBuf;
use std::sync::OnceLock;
use syncline_instrument::memory;

/// Where the pages of a stored database are. A database that was written in one mode opens in every other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BufferMode {
    /// All in memory, after a while: a page is loaded when it is first needed, or behind the opening. The
    /// database must fit into [`Options::resident_bytes_max`].
    #[default]
    Resident,
    /// In memory up to [`Options::resident_bytes_max`]; the operating system's page cache is the
    /// second level. The database may be larger.
    Mapped,
    /// In memory up to [`Options::resident_bytes_max`]; the rest is read past the page cache, where
    /// the file system offers it. The database may be larger.
    Disk,
}

impl BufferMode {
    /// The mode's name in settings.
    pub fn name(self) -> &'static str {
        match self {
            BufferMode::Resident => "resident",
            BufferMode::Mapped => "mapped",
            BufferMode::Disk => "disk",
        }
    }
}

/// How a database is made and run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes in a page: a power of two from 512 to 32768. Default 8192. Small ones are for tests.
    pub page_bytes: u32,
    /// Where pages are. Default: all in memory.
    pub buffer_mode: BufferMode,
    /// Bytes that pages may take in memory, at least 16 pages: the size of the cache in the modes `Mapped`
    /// and `Disk`. The free space in the 2 MiB blocks that hold leaves counts too. At the cap, memory that
    /// no reader needs is freed first; then requests are refused with [`Error::Capped`]. Default: half of
    /// what the process may use (the machine's memory or the limit of its control group, whichever is less),
    /// or 4 GiB where the system does not report it.
    pub resident_bytes_max: u64,
    /// Bytes for before-images of pages that change before a running checkpoint has written them, at least 4
    /// pages; used only while a checkpoint runs. Writers wait for the disk when they are used up. Beyond 16
    /// MiB they never take more than half of what `resident_bytes_max` leaves. Default 256 MiB.
    pub pre_image_bytes_max: u64,
    /// Bytes for before-images of rows, which open snapshots read, including the pages of long values and the
    /// keys of deleted rows. At the cap the oldest snapshot ends with
    /// [`Conflict::SnapshotTooOld`](crate::Conflict::SnapshotTooOld); it also ends when pages that only
    /// snapshots need block a writer at `resident_bytes_max`. Default 256 MiB, or an eighth of the default of
    /// `resident_bytes_max` if that is less.
    pub version_bytes_max: u64,
    /// Bytes for the read set of a serializable transaction, keys and positions; beyond it reads are refused
    /// with [`Error::TooLong`]. Reading a row takes its key and about 64 bytes, a scan the same for each
    /// leaf. Run large reports with [`Begin::ReadOnly`](crate::Begin::ReadOnly), which keeps no read set.
    /// Default 256 MiB, or an eighth of the default of `resident_bytes_max` if that is less.
    pub read_bytes_max: u64,
    /// The longest encoded key in bytes: 16 to 4096. Independently of this option a page holds keys of at
    /// most 1,024 bytes, and a page of 4 KiB keys of at most 1,004. Default 1 KiB.
    pub key_bytes_max: u32,
    /// The longest encoded row in bytes, up to 64 MiB. Default 16 MiB.
    pub value_bytes_max: u32,
    /// Bytes for sorting rows while a table is loaded; at least 4 KiB. Larger loads are fastest if their rows
    /// come in key order. Default 64 MiB.
    pub definition_bytes_max: u64,
    /// Bytes of log records after which a checkpoint begins by itself. This bounds what recovery reads.
    /// Default 1 GiB: about seven million changes of 100-byte rows.
    pub checkpoint_log_bytes: u64,
    /// Bytes of log segments after which a checkpoint begins by itself. If the same amount is written again
    /// before it ends, writers wait for it. A single client writes 4 KiB per commit, however short its
    /// record. In a log with a cap ([`log::Options::log_bytes_max`]) a quarter of the cap counts if that is
    /// less. Default 4 GiB.
    pub checkpoint_segment_bytes: u64,
    /// The data file's largest growth step in bytes: a multiple of the page size from 4 KiB to 1 GiB. A file
    /// of less than 4 GiB grows in smaller steps, and a new one has 256 KiB if that is less. Default 64 MiB.
    pub extent_bytes: u64,
    /// Bytes of a long row in each of its pieces in the data file but the last: a power of two from 512 bytes
    /// to 1 MiB. Each is written and read as a whole. Default 1 MiB. Small ones are for tests.
    pub value_extent_bytes: u32,
    /// How often [`Database::run`](crate::Database::run) retries a transaction concurrently with others
    /// before it runs the closure alone. Default 8.
    pub retries: u32,
    /// How long a commit, a checkpoint or a change of tables waits for an exclusive transaction
    /// ([`begin_exclusive`](crate::TypedSession::begin_exclusive), or the last run of
    /// [`run`](crate::TypedSession::run)) before it fails with [`Error::ExclusiveTooLong`], in milliseconds:
    /// 1 to 86,400,000, a day. Default 30,000. On the thread that began the exclusive transaction the same
    /// calls fail at once, with [`Error::ExclusiveHere`].
    pub exclusive_wait_ms: u64,
    /// The log's directory, if it is not inside the database's own. A second device keeps the log's syncs
    /// apart from the checkpoints' writes.
    pub log_directory: Option<PathBuf>,
    /// The log's own options: durability, segments, groups. Its `record_bytes_max` caps a transaction.
    pub log: log::Options,
    /// For tests: every n-th page lookup reports a missing page; n is 1 or more. Default: none.
    pub miss_every: Option<u32>,
    /// Checkpoints begin by themselves, on a thread of the database. Default true. If false, the caller takes
    /// checkpoints: once more than twice `checkpoint_segment_bytes` of segments wait for one, commits are
    /// refused with [`Error::LogLong`] until [`Database::checkpoint`](crate::Database::checkpoint) has run.
    pub checkpoint_by_itself: bool,
}

/// The memory cap if the system does not report how much memory there is.
const RESIDENT_BYTES_UNKNOWN: u64 = 4 << 30;

impl Default for Options {
    fn default() -> Options {
        // Asked once, so that all options that a program makes agree.
        static LIMIT: OnceLock<Option<u64>> = OnceLock::new();
        Options::for_memory(*LIMIT.get_or_init(memory::limit))
    }
}

impl Options {
    /// The defaults for a database that may be larger than its memory: `cache_bytes` is the budget for
    /// everything whose size grows with the work. Pages get seven eighths of it, before-images of pages
    /// included (`resident_bytes_max`, `pre_image_bytes_max`), and before-images of rows
    /// (`version_bytes_max`) and the read set of a transaction (`read_bytes_max`) a sixteenth each.
    #[must_use]
    pub fn with_cache(buffer_mode: BufferMode, cache_bytes: u64) -> Options {
        Options {
            buffer_mode,
            resident_bytes_max: cache_bytes / 8 * 7,
            pre_image_bytes_max: (cache_bytes / 8).min(256 << 20),
            version_bytes_max: cache_bytes / 16,
            read_bytes_max: cache_bytes / 16,
            ..Options::default()
        }
    }

    /// The defaults for a process that may use `limit` bytes of memory, if that is known.
    fn for_memory(limit: Option<u64>) -> Options {
        let resident_bytes_max = limit.map_or(RESIDENT_BYTES_UNKNOWN, |bytes| bytes / 2);
        let part = resident_bytes_max / 8;
        Options {
            page_bytes: 8192,
            buffer_mode: BufferMode::Resident,
            resident_bytes_max,
            pre_image_bytes_max: 256 << 20,
            version_bytes_max: part.min(256 << 20),
            read_bytes_max: part.min(256 << 20),
            key_bytes_max: 1024,
            value_bytes_max: 16 << 20,
            definition_bytes_max: 64 << 20,
            checkpoint_log_bytes: 1 << 30,
            checkpoint_segment_bytes: 4 << 30,
            extent_bytes: 64 << 20,
            value_extent_bytes: EXTENT_BYTES_MAX as u32,
            retries: 8,
            exclusive_wait_ms: 30_000,
            log_directory: None,
            log: log::Options::default(),
            miss_every: None,
            checkpoint_by_itself: true,
        }
    }

    /// The smallest possible database, for tests that should cross every boundary often: pages of 512 bytes,
    /// segments of 16 KiB, no checkpoint thread.
    pub fn tiny() -> Options {
        Options {
            page_bytes: 512,
            resident_bytes_max: 4 << 20,
            pre_image_bytes_max: 64 << 10,
            version_bytes_max: 1 << 20,
            key_bytes_max: 64,
            value_bytes_max: 4 << 10,
            definition_bytes_max: 4 << 10,
            checkpoint_log_bytes: 32 << 10,
            checkpoint_segment_bytes: 256 << 10,
            extent_bytes: 16 << 10,
            value_extent_bytes: 1 << 10,
            log: log::Options::tiny(),
            checkpoint_by_itself: false,
            ..Options::default()
        }
    }

    /// Refuses values outside their limits.
    pub fn check(&self) -> Result<()> {
        let page = u64::from(self.page_bytes);
        check_option(
            page.is_power_of_two() && (512..=32768).contains(&page),
            "page_bytes",
            page,
            "it must be a power of two from 512 to 32768",
        )?;
        check_option(
            self.resident_bytes_max >= 16 * page,
            "resident_bytes_max",
            self.resident_bytes_max,
            "it must hold at least 16 pages",
        )?;
        check_option(
            self.pre_image_bytes_max >= 4 * page,
            "pre_image_bytes_max",
            self.pre_image_bytes_max,
            "it must hold at least 4 pages",
        )?;
        check_option(
            (16..=4096).contains(&self.key_bytes_max),
            "key_bytes_max",
            self.key_bytes_max.into(),
            "it must lie between 16 and 4096 bytes",
        )?;
        check_option(
            (1..=64 << 20).contains(&self.value_bytes_max),
            "value_bytes_max",
            self.value_bytes_max.into(),
            "it must lie between 1 byte and 64 MiB",
        )?;
        check_option(
            self.definition_bytes_max >= 4 << 10,
            "definition_bytes_max",
            self.definition_bytes_max,
            "it must be at least 4 KiB",
        )?;
        check_option(
            self.extent_bytes >= page && self.extent_bytes.is_multiple_of(page),
            "extent_bytes",
            self.extent_bytes,
            "it must be a multiple of page_bytes",
        )?;
        check_extent(self.extent_bytes)?;
        let value_extent = u64::from(self.value_extent_bytes);
        check_option(
            value_extent.is_power_of_two()
                && (EXTENT_BYTES_MIN..=EXTENT_BYTES_MAX).contains(&value_extent),
            "value_extent_bytes",
            value_extent,
            "it must be a power of two from 512 bytes to 1 MiB",
        )?;
        check_option(self.miss_every != Some(0), "miss_every", 0, "it must be 1 or more, or none")?;
        check_option(
            (1..=86_400_000).contains(&self.exclusive_wait_ms),
            "exclusive_wait_ms",
            self.exclusive_wait_ms,
            "it must lie between 1 ms and a day of 86400000 ms",
        )?;
        self.log.check()?;
        check_option(
            self.checkpoint_segment_bytes >= 4 * self.log.segment_bytes,
            "checkpoint_segment_bytes",
            self.checkpoint_segment_bytes,
            "it must hold at least four log segments",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{BufferMode, Options};
    use crate::Error;

    #[test]
    fn memory_caps_follow_the_memory_limit_of_the_process() {
        let of = |limit| {
            let options = Options::for_memory(limit);
            options.check().unwrap();
            (options.resident_bytes_max, options.version_bytes_max)
        };
        assert_eq!(of(Some(2 << 30)), (1 << 30, 128 << 20));
        assert_eq!(of(Some(64 << 30)), (32 << 30, 256 << 20));
        assert_eq!(of(None), (4 << 30, 256 << 20));
        assert_eq!(Options::default(), Options::default());
    }

    #[test]
    fn a_cache_is_shared_by_pages_versions_and_read_sets() {
        let options = Options::with_cache(BufferMode::Disk, 64 << 20);
        options.check().unwrap();
        assert_eq!(options.buffer_mode, BufferMode::Disk);
        let sum = options.resident_bytes_max + options.version_bytes_max + options.read_bytes_max;
        assert_eq!(sum, 64 << 20);
        assert!(options.pre_image_bytes_max <= options.resident_bytes_max);
    }

    #[test]
    fn values_outside_their_limits_are_refused() {
        let refused = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            match options.check() {
                Err(Error::Option { option, .. }) => option,
                other => panic!("not refused: {other:?}"),
            }
        };
        Options::default().check().unwrap();
        Options::tiny().check().unwrap();
        assert_eq!(refused(|o| o.page_bytes = 1000), "page_bytes");
        assert_eq!(refused(|o| o.resident_bytes_max = 1), "resident_bytes_max");
        assert_eq!(refused(|o| o.pre_image_bytes_max = 1), "pre_image_bytes_max");
        assert_eq!(refused(|o| o.key_bytes_max = 4097), "key_bytes_max");
        assert_eq!(refused(|o| o.value_bytes_max = 0), "value_bytes_max");
        assert_eq!(refused(|o| o.definition_bytes_max = 1), "definition_bytes_max");
        assert_eq!(refused(|o| o.extent_bytes = 1), "extent_bytes");
        assert_eq!(refused(|o| o.extent_bytes = 2 << 30), "extent_bytes");
        assert_eq!(refused(|o| o.value_extent_bytes = 600), "value_extent_bytes");
        assert_eq!(refused(|o| o.value_extent_bytes = 2 << 20), "value_extent_bytes");
        assert_eq!(refused(|o| o.miss_every = Some(0)), "miss_every");
        assert_eq!(refused(|o| o.checkpoint_segment_bytes = 0), "checkpoint_segment_bytes");
        assert_eq!(refused(|o| o.log.ring_records = 3), "ring_records");
        assert_eq!(refused(|o| o.exclusive_wait_ms = 0), "exclusive_wait_ms");
        assert_eq!(refused(|o| o.exclusive_wait_ms = u64::MAX), "exclusive_wait_ms");
        // D12: a limit is never computed from an unchecked number.
        assert_eq!(refused(|o| o.log.segment_bytes = u64::MAX / 512 * 512), "segment_bytes");
    }
}
