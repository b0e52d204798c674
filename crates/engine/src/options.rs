//! The engine's knobs: each with its default, its limit and the reason for both.
//!
//! What shapes the bytes on disk (`page_bytes`, the log's segments and frame unit) is fixed when a
//! database is made: an opened one keeps what its files say.

use crate::checkpoint::check_extent;
use crate::error::{Error, Result};
use crate::log;
use std::path::PathBuf;
use std::sync::OnceLock;
use syncline_instrument::memory;

/// How a database is made and run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes in a page: a power of two from 512 to 32768. Default 8192. Small ones are for tests.
    pub page_bytes: u32,
    /// Bytes that pages may take in memory, at least 16 pages; of the blocks of 2 MiB in which leaves lie
    /// also what is free in them. What needs more is refused with [`Error::Capped`], after everything that
    /// nobody needs any more was given back. Default: half of what the process may use (the machine's memory
    /// or the limit of its control group, whichever is less), 4 GiB where the system does not say.
    pub resident_bytes_max: u64,
    /// Bytes for pages that change while a checkpoint has yet to write them as they were, at least 4
    /// pages; taken while a checkpoint runs only. Writers wait for the disk when they are used up. More
    /// than 16 MiB never come to more than half of what `resident_bytes_max` leaves. Default 256 MiB.
    pub pre_image_bytes_max: u64,
    /// Bytes for before-images of rows, which open snapshots read, the pages of long values and the keys of
    /// deleted rows included. Beyond it the oldest snapshot ends with
    /// [`Conflict::SnapshotTooOld`](crate::Conflict::SnapshotTooOld); also when pages that only snapshots
    /// need stand in the way of a writer at `resident_bytes_max`. Default 256 MiB, or an eighth of the
    /// default of `resident_bytes_max` if that is less.
    pub version_bytes_max: u64,
    /// Bytes for what a serializable transaction has read, keys and places; beyond it reads are refused with
    /// [`Error::TooLong`]. A read of a row takes its key and some 64 bytes, a scan as much for each leaf.
    /// Large reports are for [`Begin::ReadOnly`](crate::Begin::ReadOnly), which keeps nothing. Default 256
    /// MiB, or an eighth of the default of `resident_bytes_max` if that is less.
    pub read_bytes_max: u64,
    /// The longest encoded key in bytes: 16 to 4096. Whatever this says, a page takes keys of 1,024 bytes at
    /// most, and one of 4 KiB keys of 1,004. Default 1 KiB.
    pub key_bytes_max: u32,
    /// The longest encoded row in bytes, up to 64 MiB. Default 16 MiB.
    pub value_bytes_max: u32,
    /// Bytes for sorting rows while a table is loaded; at least 4 KiB. A load of more rows than that holds
    /// is fastest if they come in the order of the key. Default 64 MiB.
    pub definition_bytes_max: u64,
    /// Bytes of log records after which a checkpoint begins by itself. It bounds what recovery reads.
    /// Default 1 GiB: some seven million changes of 100-byte rows.
    pub checkpoint_log_bytes: u64,
    /// Bytes of log segments after which a checkpoint begins by itself. If as many are written again before
    /// it ends, writers wait for it. A single client writes 4 KiB a commit, however short its record.
    /// Default 4 GiB.
    pub checkpoint_segment_bytes: u64,
    /// Bytes with which the data file begins and by which it grows at most, a multiple of the page from
    /// 4 KiB to 1 GiB; a file of less than 2 GiB grows by less. Default 64 MiB.
    pub extent_bytes: u64,
    /// How often [`Database::run`](crate::Database::run) tries again beside others before it runs the
    /// closure alone. Default 8.
    pub retries: u32,
    /// How long a commit, a checkpoint or a change of tables waits for one exclusive transaction
    /// ([`begin_exclusive`](crate::TypedSession::begin_exclusive), or the last run of
    /// [`run`](crate::TypedSession::run)) before it fails with [`Error::ExclusiveTooLong`], in
    /// milliseconds: 1 to 86,400,000, a day. Default 30,000. On the thread that began that transaction the
    /// same calls fail at once, with [`Error::ExclusiveHere`].
    pub exclusive_wait_ms: u64,
    /// Where the log lies, if not in the database's own directory. A second device takes the log's
    /// syncs away from the checkpoints' writes.
    pub log_directory: Option<PathBuf>,
    /// The log's own knobs: durability, segments, groups. Its `record_bytes_max` caps a transaction.
    pub log: log::Options,
    /// For tests: every n-th look for a page answers that it is absent, n being 1 or more. Default: none.
    pub miss_every: Option<u32>,
    /// Checkpoints begin by themselves, on a thread of the database. Default true; without it the
    /// caller checkpoints. When segments of more than twice `checkpoint_segment_bytes` wait for that,
    /// commits are refused with [`Error::LogLong`], and go on after
    /// [`Database::checkpoint`](crate::Database::checkpoint).
    pub checkpoint_by_itself: bool,
}

/// The cap on memory where the system does not say how much there is.
const RESIDENT_BYTES_UNKNOWN: u64 = 4 << 30;

impl Default for Options {
    fn default() -> Options {
        // Asked once: the options that a program makes shall not differ.
        static LIMIT: OnceLock<Option<u64>> = OnceLock::new();
        Options::for_memory(*LIMIT.get_or_init(memory::limit))
    }
}

impl Options {
    /// The defaults of a process that may use so many bytes of memory, if that is known.
    fn for_memory(limit: Option<u64>) -> Options {
        let resident_bytes_max = limit.map_or(RESIDENT_BYTES_UNKNOWN, |bytes| bytes / 2);
        let part = resident_bytes_max / 8;
        Options {
            page_bytes: 8192,
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
            retries: 8,
            exclusive_wait_ms: 30_000,
            log_directory: None,
            log: log::Options::default(),
            miss_every: None,
            checkpoint_by_itself: true,
        }
    }

    /// The smallest database there can be, for tests where every border shall be crossed often:
    /// pages of 512 bytes, segments of 16 KiB, no thread of its own.
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
            log: log::Options::tiny(),
            checkpoint_by_itself: false,
            ..Options::default()
        }
    }

    /// Refuses what lies outside the limits.
    pub fn check(&self) -> Result<()> {
        let page = u64::from(self.page_bytes);
        rule(
            page.is_power_of_two() && (512..=32768).contains(&page),
            "page_bytes",
            page,
            "it must be a power of two from 512 to 32768",
        )?;
        rule(
            self.resident_bytes_max >= 16 * page,
            "resident_bytes_max",
            self.resident_bytes_max,
            "it must hold 16 pages at least",
        )?;
        rule(
            self.pre_image_bytes_max >= 4 * page,
            "pre_image_bytes_max",
            self.pre_image_bytes_max,
            "it must hold 4 pages at least",
        )?;
        rule(
            (16..=4096).contains(&self.key_bytes_max),
            "key_bytes_max",
            self.key_bytes_max.into(),
            "it must lie between 16 and 4096 bytes",
        )?;
        rule(
            (1..=64 << 20).contains(&self.value_bytes_max),
            "value_bytes_max",
            self.value_bytes_max.into(),
            "it must lie between 1 byte and 64 MiB",
        )?;
        rule(
            self.definition_bytes_max >= 4 << 10,
            "definition_bytes_max",
            self.definition_bytes_max,
            "it must be 4 KiB at least",
        )?;
        rule(
            self.extent_bytes >= page && self.extent_bytes.is_multiple_of(page),
            "extent_bytes",
            self.extent_bytes,
            "it must be a multiple of page_bytes",
        )?;
        check_extent(self.extent_bytes)?;
        rule(self.miss_every != Some(0), "miss_every", 0, "it must be 1 or more, or none")?;
        rule(
            (1..=86_400_000).contains(&self.exclusive_wait_ms),
            "exclusive_wait_ms",
            self.exclusive_wait_ms,
            "it must lie between 1 ms and a day of 86400000 ms",
        )?;
        self.log.check()?;
        rule(
            self.checkpoint_segment_bytes >= 4 * self.log.segment_bytes,
            "checkpoint_segment_bytes",
            self.checkpoint_segment_bytes,
            "it must hold four log segments at least",
        )
    }
}

fn rule(holds: bool, option: &'static str, value: u64, rule: &'static str) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::Option { option, value, rule })
}

#[cfg(test)]
mod tests {
    use super::Options;
    use crate::Error;

    #[test]
    fn caps_on_memory_follow_what_the_process_may_use() {
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
    fn each_knob_is_held_to_its_limits() {
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
        assert_eq!(refused(|o| o.miss_every = Some(0)), "miss_every");
        assert_eq!(refused(|o| o.checkpoint_segment_bytes = 0), "checkpoint_segment_bytes");
        assert_eq!(refused(|o| o.log.ring_records = 3), "ring_records");
        assert_eq!(refused(|o| o.exclusive_wait_ms = 0), "exclusive_wait_ms");
        assert_eq!(refused(|o| o.exclusive_wait_ms = u64::MAX), "exclusive_wait_ms");
        // D12: a limit is not computed from a number that was not checked.
        assert_eq!(refused(|o| o.log.segment_bytes = u64::MAX / 512 * 512), "segment_bytes");
    }
}
