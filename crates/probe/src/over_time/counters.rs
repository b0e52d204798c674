//! Readings of what the disk and the kernel do.

use std::collections::VecDeque;
use std::path::Path;
use syncline_host::{BlockCounts, DirtyMemory, Pressure};
use syncline_instrument::{Nanos, clock};

/// One reading.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// When it was taken, on the clock of this process.
    pub(super) at_ns: Nanos,
    /// The disk's counters; `None` if there is not exactly one disk.
    pub(super) disk: Option<BlockCounts>,
    /// The time in which some task waited for I/O, since the machine started.
    pub(super) io_pressure_ns: Option<Nanos>,
    /// Data in the page cache.
    pub(super) memory: Option<DirtyMemory>,
}

impl Reading {
    /// Reads all now.
    pub(super) fn now(disk: Option<&str>) -> Reading {
        let root = Path::new("/");
        Reading {
            at_ns: clock::now(),
            disk: disk.and_then(|name| BlockCounts::of(name, root)),
            io_pressure_ns: Pressure::read(root).io_ns,
            memory: DirtyMemory::read(root),
        }
    }
}

/// The readings of the last seconds, and those since the sync in flight began.
#[derive(Debug, Default)]
pub(super) struct Readings {
    list: VecDeque<Reading>,
}

/// Readings that are older are dropped unless a sync in flight began before them.
const KEPT_NS: Nanos = 2_000_000_000;

/// At most this many are kept; of a longer stall every second one is dropped, so that its ends stay.
const MOST: usize = 4_096;

impl Readings {
    /// Adds a reading; readings from before `needed_since_ns` are dropped but for the last.
    pub(super) fn push(&mut self, reading: Reading, needed_since_ns: Nanos) {
        let since_ns = needed_since_ns.min(reading.at_ns.saturating_sub(KEPT_NS));
        self.list.push_back(reading);
        while self.list.len() > 1 && self.list[1].at_ns <= since_ns {
            self.list.pop_front();
        }
        if self.list.len() > MOST {
            let last = self.list.len() - 1;
            let mut index = 0;
            self.list.retain(|_| {
                index += 1;
                let index = index - 1;
                index % 2 == 0 || index == last
            });
        }
    }

    /// The readings from the last before `start_ns` to the first after `end_ns`.
    pub(super) fn around(&self, start_ns: Nanos, end_ns: Nanos) -> Vec<Reading> {
        let before = self.list.iter().rposition(|reading| reading.at_ns <= start_ns).unwrap_or(0);
        let after = self.list.iter().position(|reading| reading.at_ns >= end_ns);
        let after = after.unwrap_or(self.list.len().saturating_sub(1));
        self.list.iter().skip(before).take((after + 1).saturating_sub(before)).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Reading, Readings};

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Reading {
        Reading { at_ns: ms * MS, disk: None, io_pressure_ns: None, memory: None }
    }

    #[test]
    fn readings_around_a_stall_reach_from_before_to_after_it() {
        let mut readings = Readings::default();
        for ms in (0..10_000).step_by(100) {
            readings.push(at(ms), ms * MS);
        }
        let found: Vec<_> =
            readings.around(9_050 * MS, 9_210 * MS).iter().map(|one| one.at_ns / MS).collect();
        assert_eq!(found, [9_000, 9_100, 9_200, 9_300]);
        assert!(readings.list.len() < 30, "old ones are dropped: {}", readings.list.len());
    }

    #[test]
    fn a_stall_of_an_hour_keeps_its_first_reading_in_bounded_memory() {
        let mut readings = Readings::default();
        for ms in (0..3_600_000).step_by(100) {
            readings.push(at(ms), 50 * MS);
        }
        assert!(readings.list.len() <= MOST);
        let found = readings.around(50 * MS, 3_599_900 * MS);
        assert_eq!(found.first().map(|one| one.at_ns), Some(0));
        assert_eq!(found.last().map(|one| one.at_ns), Some(3_599_900 * MS));
    }
}
