//! What the log has done so far, in counts and spans.

use std::sync::atomic::{AtomicU64, Ordering};
use syncline_metering::Nanos;

/// Classes of a distribution in powers of two: class `i` counts values in `[2^i, 2^(i+1))`, class 0
/// also zero.
pub const CLASSES: usize = 32;

/// A distribution in powers of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// How many values fell into each class.
    pub classes: [u64; CLASSES],
    /// How many values there were.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The greatest.
    pub max: u64,
}

impl Distribution {
    /// The mean; none of no values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

/// What the log has done since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Commits per frame: the groups.
    pub group_commits: Distribution,
    /// Bytes per write, the zeros at a frame's end included.
    pub write_bytes: Distribution,
    /// Bytes of records in frames: what recovery would have to read.
    pub record_bytes: u64,
    /// Nanoseconds per write of a frame; where a write is itself a sync, both.
    pub write_ns: Distribution,
    /// Nanoseconds per sync that is a call of its own.
    pub sync_ns: Distribution,
    /// Syncs: calls, and writes that are syncs. Segment headers included.
    pub syncs: u64,
    /// Segments begun.
    pub segments: u64,
    /// Segment files used again.
    pub segments_recycled: u64,
    /// Nanoseconds that commits waited in prepare for room in ring or segments, one value a wait.
    pub room_wait_ns: Distribution,
}

/// A distribution that several threads add to.
#[derive(Debug, Default)]
pub(super) struct SharedDistribution {
    classes: [AtomicU64; CLASSES],
    sum: AtomicU64,
    max: AtomicU64,
}

impl SharedDistribution {
    pub(super) fn add(&self, value: u64) {
        let class = value.max(1).ilog2().min(CLASSES as u32 - 1);
        self.classes[class as usize].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
        self.max.fetch_max(value, Ordering::Relaxed);
    }

    fn get(&self) -> Distribution {
        let classes = std::array::from_fn(|i| self.classes[i].load(Ordering::Relaxed));
        Distribution {
            classes,
            count: classes.iter().sum(),
            sum: self.sum.load(Ordering::Relaxed),
            max: self.max.load(Ordering::Relaxed),
        }
    }
}

/// What drivers add to.
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

    pub(super) fn get(&self, segments_recycled: u64) -> Stats {
        Stats {
            group_commits: self.group_commits.get(),
            write_bytes: self.write_bytes.get(),
            record_bytes: self.record_bytes.load(Ordering::Relaxed),
            write_ns: self.write_ns.get(),
            sync_ns: self.sync_ns.get(),
            syncs: self.syncs.load(Ordering::Relaxed),
            segments: self.segments.load(Ordering::Relaxed),
            segments_recycled,
            room_wait_ns: self.room_wait_ns.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, Distribution, SharedDistribution};

    #[test]
    fn values_fall_into_their_powers_of_two() {
        let shared = SharedDistribution::default();
        for value in [0, 1, 2, 3, 4, 1 << 20, u64::MAX >> 1] {
            shared.add(value);
        }
        let got = shared.get();
        assert_eq!(got.classes[..3], [2, 2, 1]);
        assert_eq!((got.classes[20], got.classes[CLASSES - 1]), (1, 1));
        assert_eq!((got.count, got.max), (7, u64::MAX >> 1));
        assert_eq!(Distribution::default().mean(), None);
    }
}
