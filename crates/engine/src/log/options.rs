//! The log's options: each with its default, its limits and the reason for both.
//!
//! `frame_unit_bytes` determines the format on disk and is fixed when a log is made: an opened log keeps the
//! value in its segment headers, and [`Settings`](crate::log::Settings) reports it.

use crate::error::{RECORD_BYTES_MAX, Result, check_option};
use crate::log::segments::FileSizes;
use std::path::PathBuf;

/// The durability of a completed commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Not durable: a commit is complete when it is published in memory. It is written to the operating
    /// system soon afterwards, and synced only with a checkpoint or at the end of its segment.
    None,
    /// Data synced, with the metadata needed to read them back.
    Data,
    /// Data and all metadata synced.
    Full,
}

impl Durability {
    /// The word in options, headers and tables.
    pub fn word(self) -> &'static str {
        match self {
            Durability::None => "none",
            Durability::Data => "data",
            Durability::Full => "full",
        }
    }
}

/// Which thread writes the commits that an executor pass has staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Writer {
    /// The worker whose pass ends last: no hand-over, but it runs no client while it writes. Measured 1.2 to
    /// 1.6 times the commits of [`Writer::Thread`] at 1 to 64 clients, and no fewer at 1,000, so this is the
    /// default. A group that is better written while workers run is still left to a thread of the log.
    Worker,
    /// A thread of the log: one hand-over per group, while the worker may run other clients. For workers that
    /// must not block, such as those that also serve sockets.
    Thread,
}

/// How a log is made and driven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The durability of a completed commit. Default: data.
    pub durability: Durability,
    /// Bytes in a segment of a busy log, header included: 16 KiB to 1 GiB, a multiple of the unit. Default 64
    /// MiB: half a second of a busy log, and one header sync among thousands. Small ones are for tests.
    pub segment_bytes: u64,
    /// Bytes in the first segment: within the same limits; if it is more than `segment_bytes`, that is the
    /// size of all segments. Each next segment is four times as large, up to `segment_bytes`. Default 256
    /// KiB: the files of a log that is hardly used stay small.
    pub segment_bytes_min: u64,
    /// Bytes that all files of the log may take together, ever; at least four times `segment_bytes` and four
    /// times `segment_bytes_min`. A commit that needs more waits for a checkpoint. A file of full size and
    /// four of the smallest are kept for recovery after a crash. A record may have at most 7/16 of what the
    /// other files can hold, even if `record_bytes_max` is more. Default: none.
    pub log_bytes_max: Option<u64>,
    /// A directory, which is made if it is missing, that gets a copy of every segment before its file is
    /// reused; best on another device. Then a backup can be restored to any later commit: see
    /// [`Database::restore`](crate::Database::restore). While the copy fails, the log grows, up to its cap.
    /// An opening without the archive leaves a gap in it. Default: none.
    pub archive: Option<PathBuf>,
    /// Bytes of which frames are multiples: a power of two, 512 to 4096. Default 4096: every device's block
    /// size, so that no block is written twice. Smaller units go through the page cache.
    pub frame_unit_bytes: u32,
    /// The longest frame in bytes: a multiple of the unit, at most 1 MiB and a quarter of `segment_bytes`; in
    /// a smaller segment a quarter of that one. Default 256 KiB: a thousand short records; longer ones take
    /// several frames.
    pub frame_bytes_max: u32,
    /// Commits that may be between their number and their completion: a power of two, 8 to 2^18. Default
    /// 2048: more than the usual number of clients. The slots are used in turn, each with the memory of its
    /// last record, and this many stay in a core's second-level cache. A commit that finds all slots taken
    /// waits for the group that is being written.
    pub ring_records: u32,
    /// The longest record in bytes, up to 64 MiB. A larger record delays the acknowledgement of all others.
    pub record_bytes_max: u32,
    /// Writes in flight: 1 to 4. Default 1: with groups formed at the end of a pass, more brought no gain in
    /// the closed loops of the prototypes. A second write needs a second thread to wait for it; two workers
    /// that each write for themselves took 1.1 to 1.3 times the processor time per commit.
    pub writes_in_flight_max: u32,
    /// Bytes staged in one pass at which its worker launches a write anyway. Default 256 KiB, a longest
    /// frame: a worker that writes itself gains nothing from an earlier launch, and measured 1.5 times the
    /// commits of a cap of 64 KiB at 1,000 clients.
    pub pass_bytes_max: u32,
    /// Each write is itself a sync, and bypasses the page cache where the disk allows that; otherwise
    /// buffered writes followed by a call to sync. Default true: it saves a system call per group.
    pub direct: bool,
    /// Which thread writes the commits that an executor pass has staged.
    pub writer: Writer,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            durability: Durability::Data,
            segment_bytes: 64 << 20,
            segment_bytes_min: 256 << 10,
            log_bytes_max: None,
            archive: None,
            frame_unit_bytes: 4096,
            frame_bytes_max: 256 << 10,
            ring_records: 2048,
            record_bytes_max: 64 << 20,
            writes_in_flight_max: 1,
            pass_bytes_max: 256 << 10,
            direct: true,
            writer: Writer::Worker,
        }
    }
}

impl Options {
    /// The smallest possible log: segments of 16 KiB, frames of 512 bytes. For tests that should cross every
    /// boundary often.
    pub fn tiny() -> Options {
        Options {
            segment_bytes: SEGMENT_BYTES_MIN,
            segment_bytes_min: SEGMENT_BYTES_MIN,
            frame_unit_bytes: 512,
            frame_bytes_max: 2 << 10,
            ring_records: 64,
            record_bytes_max: 8 << 10,
            ..Options::default()
        }
    }

    /// The sizes of segment files.
    pub(super) fn file_sizes(&self) -> FileSizes {
        FileSizes {
            min: self.segment_bytes_min.min(self.segment_bytes),
            max: self.segment_bytes,
            all: self.log_bytes_max.unwrap_or(u64::MAX),
        }
    }

    /// Refuses values outside their limits.
    pub fn check(&self) -> Result<()> {
        let unit = u64::from(self.frame_unit_bytes);
        check_option(
            is_unit(self.frame_unit_bytes),
            "frame_unit_bytes",
            unit,
            "it must be 512, 1024, 2048 or 4096, the block sizes of devices",
        )?;
        check_option(
            is_segment(self.segment_bytes, self.frame_unit_bytes),
            "segment_bytes",
            self.segment_bytes,
            "it must lie between 16 KiB and 1 GiB and be a multiple of frame_unit_bytes",
        )?;
        check_option(
            is_segment(self.segment_bytes_min, self.frame_unit_bytes),
            "segment_bytes_min",
            self.segment_bytes_min,
            "it must lie between 16 KiB and 1 GiB and be a multiple of frame_unit_bytes",
        )?;
        let sizes = self.file_sizes();
        check_option(
            sizes.all / 4 >= sizes.max + sizes.min,
            "log_bytes_max",
            sizes.all,
            "it must hold four files of segment_bytes and four of segment_bytes_min; raise it, or lower \
             segment_bytes",
        )?;
        let frame = u64::from(self.frame_bytes_max);
        check_option(
            frame >= unit
                && frame.is_multiple_of(unit)
                && frame <= (self.segment_bytes / 4).min(1 << 20),
            "frame_bytes_max",
            frame,
            "it must be a multiple of frame_unit_bytes, at most 1 MiB and a quarter of a segment",
        )?;
        check_option(
            self.ring_records.is_power_of_two() && (8..=1 << 18).contains(&self.ring_records),
            "ring_records",
            self.ring_records.into(),
            "it must be a power of two between 8 and 262144",
        )?;
        check_option(
            (1..=RECORD_BYTES_MAX).contains(&self.record_bytes_max.into()),
            "record_bytes_max",
            self.record_bytes_max.into(),
            "it must lie between 1 byte and 64 MiB, since a record blocks all later commits",
        )?;
        check_option(
            (1..=4).contains(&self.writes_in_flight_max),
            "writes_in_flight_max",
            self.writes_in_flight_max.into(),
            "it must lie between 1 and 4",
        )?;
        check_option(
            (1..=16 << 20).contains(&self.pass_bytes_max),
            "pass_bytes_max",
            self.pass_bytes_max.into(),
            "it must lie between 1 byte and 16 MiB",
        )
    }
}

/// Bytes in the smallest segment.
pub(super) const SEGMENT_BYTES_MIN: u64 = 16 << 10;

/// The longest frame of the smallest segment has this many bytes.
pub(super) const FRAME_BYTES_MIN: usize = (SEGMENT_BYTES_MIN / 4) as usize;

/// True if frames may be multiples of `bytes`.
pub(super) fn is_unit(bytes: u32) -> bool {
    bytes.is_power_of_two() && (512..=4096).contains(&bytes)
}

/// True if a segment with frames of this unit may have `bytes` bytes.
pub(super) fn is_segment(bytes: u64, unit_bytes: u32) -> bool {
    (SEGMENT_BYTES_MIN..=1 << 30).contains(&bytes) && bytes.is_multiple_of(unit_bytes.into())
}

#[cfg(test)]
mod tests {
    use super::Options;
    use crate::Error;

    #[test]
    fn defaults_and_the_tiny_log_are_allowed() {
        Options::default().check().unwrap();
        Options::tiny().check().unwrap();
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
        assert_eq!(refused(|o| o.frame_unit_bytes = 3000), "frame_unit_bytes");
        assert_eq!(refused(|o| o.frame_unit_bytes = 8192), "frame_unit_bytes");
        assert_eq!(refused(|o| o.segment_bytes = 8 << 10), "segment_bytes");
        assert_eq!(refused(|o| o.segment_bytes += 1), "segment_bytes");
        assert_eq!(refused(|o| o.segment_bytes_min = 8 << 10), "segment_bytes_min");
        assert_eq!(refused(|o| o.frame_bytes_max = 2 << 20), "frame_bytes_max");
        assert_eq!(refused(|o| o.log_bytes_max = Some(256 << 20)), "log_bytes_max");
        assert_eq!(refused(|o| o.ring_records = 100), "ring_records");
        assert_eq!(refused(|o| o.record_bytes_max = 0), "record_bytes_max");
        assert_eq!(refused(|o| o.writes_in_flight_max = 5), "writes_in_flight_max");
        assert_eq!(refused(|o| o.pass_bytes_max = 0), "pass_bytes_max");
    }
}
