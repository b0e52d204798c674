//! The kernel's counters of the disk below, per sync.
//!
//! The counters cover the whole disk and every process that uses it. The probe therefore measures the idle
//! rate first and subtracts it, and reports nothing if there are several disks below or none. With one sync
//! outstanding, flushes can be compared with syncs; under concurrency the kernel merges flushes, so they are
//! at most the number of syncs.

use std::path::{Path, PathBuf};
use syncline_host::BlockCounts;
use syncline_instrument::Nanos;
use syncline_record::{Counted, FlushCounts};

/// The most writes or flushes of other processes for each sync, by the idle rate, up to which the probe
/// reports its own.
const OTHER_WRITES_MAX: f64 = 0.25;

/// The source of what was counted, in records.
const COUNTED_BY: &str = "the disk's counters, idle rate subtracted";

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Writes completed.
    pub(crate) writes: u64,
    /// Bytes written.
    pub(crate) written_bytes: u64,
    /// Flushes completed; `None` before Linux 5.5.
    pub(crate) flushes: Option<u64>,
}

/// The counters of the one disk below a directory, or the reason why there are none.
#[derive(Clone, Debug)]
pub(crate) struct DiskCounterReader {
    disk: Result<String, String>,
    root: PathBuf,
    idle: Option<Rates>,
}

/// Counts per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rates {
    writes: f64,
    written_bytes: f64,
    flushes: f64,
}

/// The counts over the measured time of a cell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CounterDelta {
    counters: Option<Counters>,
    elapsed_ns: Nanos,
}

/// Figures per sync: writes, bytes, flushes.
#[derive(Clone, Debug)]
pub(crate) struct PerSync {
    pub(crate) writes: Counted,
    pub(crate) written_bytes: Counted,
    pub(crate) flushes: Counted,
}

impl DiskCounterReader {
    /// Watches the disk if there is exactly one; `root` is `/` except in tests.
    pub(crate) fn new(root: &Path, disks: &[String]) -> DiskCounterReader {
        let disk = match disks {
            [one] => Ok(one.clone()),
            [] => Err("no known disk is below this directory".to_owned()),
            several => Err(format!(
                "there are {} disks below ({}), and their counts cannot be compared with syncs",
                several.len(),
                several.join(", ")
            )),
        };
        let mut watch = DiskCounterReader { disk, root: root.to_owned(), idle: None };
        if watch.read().is_none()
            && let Ok(name) = &watch.disk
        {
            watch.disk = Err(format!("the counters of {name} cannot be read"));
        }
        watch
    }

    /// The counters now; `None` unless there is exactly one disk.
    pub(crate) fn read(&self) -> Option<Counters> {
        let counts = BlockCounts::of(self.disk.as_deref().ok()?, &self.root)?;
        Some(Counters {
            writes: counts.writes,
            written_bytes: counts.written_bytes,
            flushes: counts.flushes,
        })
    }

    /// The one disk, or why there is none.
    pub(crate) fn disk(&self) -> Result<&str, &str> {
        self.disk.as_deref().map_err(String::as_str)
    }

    /// Sets the idle rate from the counts of an idle period.
    pub(crate) fn set_idle(&mut self, idle: CounterDelta) {
        let seconds = idle.elapsed_ns as f64 / 1e9;
        self.idle = idle.counters.filter(|_| seconds > 0.0).map(|counters| Rates {
            writes: counters.writes as f64 / seconds,
            written_bytes: counters.written_bytes as f64 / seconds,
            flushes: counters.flushes.unwrap_or(0) as f64 / seconds,
        });
    }

    /// For the result: the disk and its idle rates, or the reason why there are none.
    pub(crate) fn summary(&self) -> FlushCounts {
        let unknown = |reason: String| FlushCounts {
            disk: None,
            idle_flushes_per_s: None,
            idle_writes_per_s: None,
            reason: Some(reason),
        };
        match (&self.disk, self.idle) {
            (Err(reason), _) => unknown(reason.clone()),
            (Ok(disk), None) => unknown(format!("the idle rate of {disk} was not measured")),
            (Ok(disk), Some(idle)) => FlushCounts {
                disk: Some(disk.clone()),
                idle_flushes_per_s: Some(idle.flushes),
                idle_writes_per_s: Some(idle.writes),
                reason: None,
            },
        }
    }

    /// The counts per sync, with the idle rate subtracted.
    pub(crate) fn per_sync(&self, delta: CounterDelta, syncs: u64) -> PerSync {
        let unknown = |reason: &str| {
            let counted = Counted::unknown(reason);
            PerSync { writes: counted.clone(), written_bytes: counted.clone(), flushes: counted }
        };
        if let Err(reason) = &self.disk {
            return unknown(reason);
        }
        let Some(idle) = self.idle else {
            return unknown("the idle rate was not measured");
        };
        let Some(counters) = delta.counters.filter(|_| syncs > 0) else {
            return unknown("the disk's counters could not be read");
        };
        let seconds = delta.elapsed_ns as f64 / 1e9;
        let rest = |count: u64, idle_per_s: f64| {
            let own = (count as f64 - idle_per_s * seconds).max(0.0);
            Counted::by(Some(own / syncs as f64), COUNTED_BY)
        };
        // Other processes need not repeat in the cell what they did in the idle period. If their share may be
        // a large part of a sync, the counts do not describe the probe.
        let is_hidden = |idle_per_s: f64| idle_per_s * seconds > OTHER_WRITES_MAX * syncs as f64;
        if is_hidden(idle.writes.max(idle.flushes)) {
            return unknown(
                "other programs wrote to this disk too often to separate their writes from the probe's",
            );
        }
        let before_5_5 = "this kernel does not count flushes (it needs Linux 5.5)";
        PerSync {
            writes: rest(counters.writes, idle.writes),
            written_bytes: rest(counters.written_bytes, idle.written_bytes),
            flushes: counters.flushes.map_or_else(
                || Counted::unknown(before_5_5),
                |flushes| rest(flushes, idle.flushes),
            ),
        }
    }
}

impl CounterDelta {
    /// Adds the difference of two readings over that time; unknown once any reading failed.
    pub(crate) fn add(
        &mut self,
        before: Option<Counters>,
        after: Option<Counters>,
        elapsed_ns: Nanos,
    ) {
        let first = self.elapsed_ns == 0;
        self.elapsed_ns += elapsed_ns;
        let difference = before.zip(after).map(|(before, after)| after.since(before));
        self.counters = match (first, self.counters, difference) {
            (true, _, difference) => difference,
            (false, Some(sum), Some(difference)) => Some(sum.plus(difference)),
            (false, _, _) => None,
        };
    }
}

impl Counters {
    fn since(self, before: Counters) -> Counters {
        Counters {
            writes: self.writes.wrapping_sub(before.writes),
            written_bytes: self.written_bytes.wrapping_sub(before.written_bytes),
            flushes: self.flushes.zip(before.flushes).map(|(now, then)| now.wrapping_sub(then)),
        }
    }

    fn plus(self, other: Counters) -> Counters {
        Counters {
            writes: self.writes + other.writes,
            written_bytes: self.written_bytes + other.written_bytes,
            flushes: self.flushes.zip(other.flushes).map(|(one, two)| one + two),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CounterDelta, Counters, DiskCounterReader};
    use std::fs;

    const STAT: &str = "47992 7325 3479498 11374 26084 19549 2669256 5734 0 5776 17666 8186 62 700304 434 3724 123";

    fn watch(stat: &str) -> (tempfile::TempDir, DiskCounterReader) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("sys/block/vda")).unwrap();
        fs::write(root.path().join("sys/block/vda/stat"), stat).unwrap();
        let watch = DiskCounterReader::new(root.path(), &["vda".to_owned()]);
        (root, watch)
    }

    fn delta(
        writes: u64,
        written_bytes: u64,
        flushes: Option<u64>,
        elapsed_ns: u64,
    ) -> CounterDelta {
        let mut delta = CounterDelta::default();
        let zero = Counters { flushes: flushes.map(|_| 0), ..Counters::default() };
        delta.add(Some(zero), Some(Counters { writes, written_bytes, flushes }), elapsed_ns);
        delta
    }

    #[test]
    fn the_idle_rate_is_subtracted() {
        let (_root, mut watch) = watch(STAT);
        watch.set_idle(delta(50, 50 * 4096, Some(73), 1_000_000_000));
        let per_sync =
            watch.per_sync(delta(2_100, 2_100 * 4096, Some(2_146), 2_000_000_000), 1_000);
        assert_eq!(per_sync.writes.value, Some(2.0));
        assert_eq!(per_sync.written_bytes.value, Some(8192.0));
        assert_eq!(per_sync.flushes.value, Some(2.0));
        let idle_flushes_per_s = watch.summary().idle_flushes_per_s;
        assert!(idle_flushes_per_s.is_some_and(|rate| (rate - 73.0).abs() < 1e-9));
    }

    #[test]
    fn frequent_writes_of_other_programs_are_neither_counted_nor_subtracted() {
        let (_root, mut watch) = watch(STAT);
        watch.set_idle(delta(2_000, 2_000 * 4096, Some(2_000), 1_000_000_000));
        let busy = watch.per_sync(delta(450, 450 * 4096, Some(450), 300_000_000), 470);
        for counted in [busy.flushes, busy.writes, busy.written_bytes] {
            assert!(
                counted.value.is_none() && counted.source.contains("other programs"),
                "{counted:?}"
            );
        }
    }

    #[test]
    fn missing_counts_have_a_reason() {
        let root = tempfile::tempdir().unwrap();
        let several = DiskCounterReader::new(root.path(), &["sda".to_owned(), "sdb".to_owned()]);
        let absent = DiskCounterReader::new(root.path(), &["sda".to_owned()]);
        let none = DiskCounterReader::new(root.path(), &[]);
        for (watch, words) in
            [(several, "2 disks"), (absent, "cannot be read"), (none, "no known disk")]
        {
            assert_eq!(watch.read(), None);
            let counted = watch.per_sync(CounterDelta::default(), 10).flushes;
            assert_eq!(counted.value, None, "{words} counted");
            assert!(counted.source.contains(words), "{}", counted.source);
            assert!(watch.summary().disk.is_none() && watch.summary().reason.is_some());
        }
    }

    #[test]
    fn an_old_kernel_counts_writes_but_no_flushes() {
        let (_root, mut watch) = watch(STAT);
        watch.set_idle(delta(0, 0, None, 1_000));
        let per_sync = watch.per_sync(delta(10, 40_960, None, 1_000), 10);
        assert_eq!(per_sync.writes.value, Some(1.0));
        assert_eq!(per_sync.flushes.value, None);
        assert!(per_sync.flushes.source.contains("Linux 5.5"));
    }

    #[test]
    fn laps_add_up_and_a_failed_reading_invalidates_them() {
        let mut sum = CounterDelta::default();
        let at = |writes| Some(Counters { writes, written_bytes: 0, flushes: Some(writes) });
        sum.add(at(0), at(10), 5);
        sum.add(at(20), at(35), 5);
        assert_eq!(sum.counters.unwrap().writes, 25);
        sum.add(at(35), None, 5);
        assert!(sum.counters.is_none());
        sum.add(at(35), at(36), 5);
        assert!(sum.counters.is_none());
    }
}
