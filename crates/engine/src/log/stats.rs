//! Counters of the log.

use crate::distribution::{Distribution, SharedDistribution};
use crate::log::segments::Segments;
use std::sync::atomic::{AtomicU64, Ordering};
use syncline_instrument::Nanos;

/// Counters of the log since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Commits per frame (group sizes).
    pub group_commits: Distribution,
    /// Bytes per write, including the padding of the frames.
    pub write_bytes: Distribution,
    /// Bytes of records in frames: how much recovery would have to read.
    pub record_bytes: u64,
    /// Nanoseconds per write of a frame; the sync is included if the write is itself a sync.
    pub write_ns: Distribution,
    /// Nanoseconds per separate sync call.
    pub sync_ns: Distribution,
    /// Syncs: calls, and writes that are themselves syncs. Segment headers included.
    pub syncs: u64,
    /// Segments begun.
    pub segments: u64,
    /// Segment files reused.
    pub segments_recycled: u64,
    /// Segments that were archived.
    pub segments_archived: u64,
    /// Segments that wait at this moment to be archived.
    pub segments_unarchived: u64,
    /// Bytes of all files of the log at this moment.
    pub file_bytes: u64,
    /// Nanoseconds that commits waited for room in the ring or in segments, one value per wait.
    pub room_wait_ns: Distribution,
}

/// The shared counters.
#[derive(Debug, Default)]
pub(super) struct SharedStats {
    pub(super) group_commits: SharedDistribution,
    pub(super) write_bytes: SharedDistribution,
    pub(super) write_ns: SharedDistribution,
    pub(super) sync_ns: SharedDistribution,
    pub(super) room_wait_ns: SharedDistribution,
    pub(super) record_bytes: AtomicU64,
    pub(super) syncs: AtomicU64,
    pub(super) segments: AtomicU64,
}

impl SharedStats {
    pub(super) fn synced(&self, span: Nanos) {
        self.sync_ns.add(span);
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn get<F>(&self, segments: &Segments<F>) -> Stats {
        Stats {
            group_commits: self.group_commits.get(),
            write_bytes: self.write_bytes.get(),
            record_bytes: self.record_bytes.load(Ordering::Relaxed),
            write_ns: self.write_ns.get(),
            sync_ns: self.sync_ns.get(),
            syncs: self.syncs.load(Ordering::Relaxed),
            segments: self.segments.load(Ordering::Relaxed),
            segments_recycled: segments.recycled(),
            segments_archived: segments.archived(),
            segments_unarchived: segments.unarchived(),
            file_bytes: segments.file_bytes(),
            room_wait_ns: self.room_wait_ns.get(),
        }
    }
}
