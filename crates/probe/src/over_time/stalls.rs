//! Stalls: syncs that took far longer than usual, with the counters around them.

use super::counters::Reading;
use syncline_instrument::Nanos;
use syncline_record::Stall;

/// A stall takes this many medians, and at least [`LEAST_NS`].
const MEDIANS: u64 = 10;
const LEAST_NS: Nanos = 10_000_000;

/// The most stalls that are kept.
const MOST: usize = 1_000;

/// The time above which a sync is a stall.
pub(super) fn stall_ns(median_alone_ns: Option<Nanos>) -> Nanos {
    median_alone_ns.map_or(LEAST_NS, |median| (median * MEDIANS).max(LEAST_NS))
}

/// The longest stalls, and the number of all.
#[derive(Clone, Debug, Default)]
pub(super) struct Stalls {
    longest: Vec<Stall>,
    total: u64,
}

impl Stalls {
    /// Adds a stall; of too many the shortest is dropped.
    pub(super) fn push(&mut self, stall: Stall) {
        self.total += 1;
        self.longest.push(stall);
        if self.longest.len() > MOST {
            let shortest = (0..self.longest.len()).min_by_key(|&one| self.longest[one].length_ns);
            self.longest.remove(shortest.expect("there are more than the most"));
        }
    }

    /// The longest, in the order of time.
    pub(super) fn longest(&self) -> &[Stall] {
        &self.longest
    }

    /// The number of all.
    pub(super) fn total(&self) -> u64 {
        self.total
    }
}

/// A stall from the readings around it, of which each may lack any figure.
pub(super) fn explained(
    phase: &str,
    start_ns: Nanos,
    length_ns: Nanos,
    readings: &[Reading],
) -> Stall {
    let ends = readings.first().zip(readings.last()).filter(|_| readings.len() > 1);
    let disks = ends.and_then(|(first, last)| first.disk.zip(last.disk));
    let grown = |count: fn(&syncline_host::BlockCounts) -> u64| {
        disks.map(|(first, last)| count(&last).wrapping_sub(count(&first)))
    };
    let flushes = disks.and_then(|(first, last)| Some(last.flushes?.wrapping_sub(first.flushes?)));
    let pressure = ends
        .and_then(|(first, last)| Some(last.io_pressure_ns?.saturating_sub(first.io_pressure_ns?)));
    let most = |figure: fn(&Reading) -> Option<u64>| readings.iter().filter_map(figure).max();
    Stall {
        phase: phase.to_owned(),
        start_ns,
        length_ns,
        counted_ns: ends.map_or(0, |(first, last)| last.at_ns - first.at_ns),
        device_busy_ns: grown(|counts| counts.busy_ms).map(|ms| ms * 1_000_000),
        device_read_bytes: grown(|counts| counts.read_bytes),
        device_written_bytes: grown(|counts| counts.written_bytes),
        device_flushes: flushes,
        device_in_flight: most(|reading| reading.disk.map(|disk| disk.in_flight)),
        io_pressure_ns: pressure,
        dirty_bytes: most(|reading| reading.memory.map(|memory| memory.dirty_bytes)),
        writeback_bytes: most(|reading| reading.memory.map(|memory| memory.writeback_bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Reading, Stalls, explained, stall_ns};
    use syncline_host::{BlockCounts, DirtyMemory};

    const MS: u64 = 1_000_000;

    fn reading(ms: u64, written_bytes: u64, in_flight: u64, dirty_bytes: u64) -> Reading {
        Reading {
            at_ns: ms * MS,
            disk: Some(BlockCounts {
                written_bytes,
                in_flight,
                busy_ms: ms,
                flushes: Some(ms / 100),
                ..BlockCounts::default()
            }),
            io_pressure_ns: Some(ms * MS / 2),
            memory: Some(DirtyMemory { dirty_bytes, writeback_bytes: 7 }),
        }
    }

    #[test]
    fn a_stall_has_the_growth_of_counters_and_the_most_of_levels() {
        let readings =
            [reading(100, 1_000, 1, 50), reading(200, 9_000, 32, 90), reading(300, 9_500, 2, 10)];
        let stall = explained("beside", 110, 150 * MS, &readings);
        assert_eq!((stall.phase.as_str(), stall.length_ns), ("beside", 150 * MS));
        assert_eq!(stall.counted_ns, 200 * MS);
        assert_eq!(stall.device_busy_ns, Some(200 * MS));
        assert_eq!(stall.device_written_bytes, Some(8_500));
        assert_eq!((stall.device_flushes, stall.device_in_flight), (Some(2), Some(32)));
        assert_eq!(stall.io_pressure_ns, Some(100 * MS));
        assert_eq!((stall.dirty_bytes, stall.writeback_bytes), (Some(90), Some(7)));
    }

    #[test]
    fn figures_that_were_not_read_are_unknown() {
        let nothing = Reading { at_ns: 1, disk: None, io_pressure_ns: None, memory: None };
        for readings in [&[][..], &[nothing], &[nothing, Reading { at_ns: 9, ..nothing }]] {
            let stall = explained("alone", 0, MS, readings);
            assert_eq!(stall.device_written_bytes, None);
            assert_eq!((stall.device_flushes, stall.io_pressure_ns), (None, None));
            assert_eq!(stall.dirty_bytes, None);
        }
        let once = explained("alone", 0, MS, &[reading(1, 5, 1, 1)]);
        assert_eq!(once.device_written_bytes, None, "one reading shows no growth");
    }

    #[test]
    fn of_too_many_stalls_the_longest_are_kept_and_all_are_counted() {
        let mut stalls = Stalls::default();
        let count = MOST as u64 + 50;
        for number in 0..count {
            stalls.push(explained("alone", number, (number * 7_919) % count + 1, &[]));
        }
        assert_eq!((stalls.longest().len(), stalls.total()), (MOST, count));
        assert!(stalls.longest().iter().all(|stall| stall.length_ns > 50));
        assert!(stalls.longest().is_sorted_by_key(|stall| stall.start_ns));
    }

    #[test]
    fn a_stall_is_ten_medians_and_at_least_ten_milliseconds() {
        assert_eq!(stall_ns(None), 10 * MS);
        assert_eq!(stall_ns(Some(MS / 10)), 10 * MS);
        assert_eq!(stall_ns(Some(8 * MS)), 80 * MS);
    }
}
