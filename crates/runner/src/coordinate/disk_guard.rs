//! The free space that a run leaves on the file systems of a local store: required before the run, monitored
//! during it.
//!
//! A server whose disk is full stops, and PostgreSQL may not start again until an administrator frees space,
//! because its recovery writes too. An embedded store fills the disk of the machine.
//!
//! Invariants:
//! 1. The reserve of a file system is the larger of 5 % of its size (at most [`RESERVE_BYTES_MAX`]) and two
//!    log segments. A run starts only if the free space covers the reserve and the estimated load.
//! 2. While rows are loaded and clients run, the coordinating thread reads the free space every
//!    [`SPACE_POLL_NS`]. If it falls below the reserve, the run ends with what was measured.
//! 3. A file system that is not visible from here is not monitored, and the reason is reported.
//! 4. The free space comes from a [`SpaceSource`], so that tests need no full disk.

use crate::account::disk_reserve::DiskReserve;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use syncline_contract::{LogLocation, LogSegments, Rows, Target, Workload};
use syncline_host::FileSystemSpace;
use syncline_instrument::{Nanos, clock};

/// Reads the free space under a directory: [`FileSystemSpace::of`], except in tests.
pub(crate) type SpaceSource = fn(&Path) -> Result<FileSystemSpace, String>;

/// The upper limit of the 5 %: without it, a large disk with tens of gigabytes left would be refused.
const RESERVE_BYTES_MAX: u64 = 1 << 30;

/// The interval between two readings of the free space in a run.
const SPACE_POLL_NS: Nanos = 100_000_000;

/// Units of each load that are generated to estimate its size; fewer if they reach `SAMPLE_BYTES`.
const SAMPLE_UNITS: u64 = 16;
const SAMPLE_BYTES: u64 = 1 << 20;

/// Monitors the file systems of a run's store.
#[derive(Debug)]
pub(crate) struct DiskGuard {
    source: SpaceSource,
    reserves: Result<Vec<DiskReserve>, String>,
    next_poll: AtomicU64,
    shortage: OnceLock<String>,
}

impl DiskGuard {
    /// Requires the reserve on each file system of the store, and space for the load if `loads`. The error is
    /// the reason for a refusal.
    pub(crate) fn before<T: Target, W: Workload>(
        target: &T,
        workload: &W,
        loads: bool,
        source: SpaceSource,
    ) -> Result<DiskGuard, String> {
        let places = [target.log_location(), target.data_location()];
        let further = target.other_locations();
        let load_bytes = (loads && target.capabilities().keeps_rows)
            .then(|| load_bytes(workload))
            .filter(|bytes| *bytes > 0);
        let segments = target.log_segments();
        let reserves = reserves(&places, &further, segments, load_bytes, source);
        for reserve in reserves.iter().flatten() {
            reserve.require(segments)?;
        }
        Ok(DiskGuard { source, reserves, next_poll: AtomicU64::new(0), shortage: OnceLock::new() })
    }

    /// The monitored file systems, or why they are unknown.
    pub(crate) fn reserves(&self) -> &Result<Vec<DiskReserve>, String> {
        &self.reserves
    }

    /// The reason to end the run if a file system has less free space than its reserve. Reads at most once
    /// every [`SPACE_POLL_NS`]; a reason, once found, stays.
    pub(crate) fn shortage(&self) -> Option<String> {
        if self.shortage.get().is_none()
            && let Some(why) = self.read_shortage()
        {
            self.shortage.get_or_init(|| why);
        }
        self.shortage.get().cloned()
    }

    fn read_shortage(&self) -> Option<String> {
        let reserves = self.reserves.as_ref().ok()?;
        let (now, next) = (clock::now(), self.next_poll.load(Ordering::Relaxed));
        if now < next {
            return None;
        }
        self.next_poll.store(now + SPACE_POLL_NS, Ordering::Relaxed);
        reserves.iter().find_map(|reserve| {
            let space = (self.source)(&reserve.directory).ok()?;
            (space.free_bytes < reserve.reserve_bytes).then(|| {
                format!(
                    "{} free on the file system of {}, and the run keeps {} in reserve so that the store \
                     does not run out of space; free some space there, or run for a shorter time",
                    size(space.free_bytes),
                    reserve.directory.display(),
                    size(reserve.reserve_bytes)
                )
            })
        })
    }
}

impl DiskReserve {
    fn require(&self, segments: Option<LogSegments>) -> Result<(), String> {
        let load = self.load_bytes.unwrap_or(0);
        if self.free_bytes >= self.reserve_bytes.saturating_add(load) {
            return Ok(());
        }
        let load = match self.load_bytes {
            Some(bytes) => format!(" and loading writes about {}", size(bytes)),
            None => String::new(),
        };
        let by_segments = self.reserve_bytes > share(self.bytes);
        let reason = match segments.filter(|_| by_segments) {
            Some(LogSegments { bytes, set_by }) => {
                format!("two segments of its log, {} each, set by {set_by}", size(bytes))
            }
            None => format!("5 % of its {}, 1 GiB at most", size(self.bytes)),
        };
        Err(format!(
            "only {} are free on the file system of {}, and a run keeps {} in reserve ({reason}){load}: a store \
             stops when its disk is full; free some space there, or load fewer rows",
            size(self.free_bytes),
            self.directory.display(),
            size(self.reserve_bytes)
        ))
    }
}

/// The file systems of the directories, each once; the reason if none of them is known. Rows are loaded into
/// log and data. How many of them go to further directories is unknown, so the whole load must fit there too.
fn reserves(
    places: &[LogLocation; 2],
    further: &[LogLocation],
    segments: Option<LogSegments>,
    load_bytes: Option<u64>,
    source: SpaceSource,
) -> Result<Vec<DiskReserve>, String> {
    let mut devices = Vec::new();
    let mut list: Vec<DiskReserve> = Vec::new();
    let mut unknown = None;
    for (number, place) in places.iter().chain(further).enumerate() {
        let space = match place {
            LogLocation::Directory(directory) => source(directory).map(|space| (directory, space)),
            LogLocation::Nowhere(why) => Err(why.clone()),
        };
        match space {
            Ok((directory, space)) => {
                let known = devices.iter().position(|device| *device == space.device);
                if let Some(known) = known {
                    // Rows are written to the log and to the data. How much is written to a further directory
                    // on the same file system is unknown.
                    if number < places.len() {
                        let both = &mut list[known].load_bytes;
                        *both = both.zip(load_bytes).map(|(one, two)| one + two);
                    }
                    continue;
                }
                devices.push(space.device);
                list.push(DiskReserve {
                    directory: directory.clone(),
                    bytes: space.bytes,
                    free_bytes: space.free_bytes,
                    reserve_bytes: share(space.bytes).max(2 * segments.map_or(0, |one| one.bytes)),
                    load_bytes,
                });
            }
            Err(why) => unknown = Some(why),
        }
    }
    match unknown {
        Some(why) if list.is_empty() => Err(why),
        _ => Ok(list),
    }
}

fn share(bytes: u64) -> u64 {
    (bytes / 20).min(RESERVE_BYTES_MAX)
}

/// The bytes of all rows that the workload loads, from a sample of each load.
fn load_bytes<W: Workload>(workload: &W) -> u64 {
    let of = |load: syncline_contract::Load| {
        let width = workload.plan().tables()[load.table.0].columns.len();
        let mut batch = Rows::new(width);
        let (mut drawn, mut bytes) = (0, 0);
        while drawn < load.units.min(SAMPLE_UNITS) && bytes < SAMPLE_BYTES {
            batch.reset(width);
            workload.load_unit(load.table, drawn, &mut batch);
            bytes += batch.value_bytes();
            drawn += 1;
        }
        (bytes / drawn.max(1)).saturating_mul(load.units)
    };
    workload.loads().into_iter().map(of).sum()
}

/// Formats a size: "512 B", "31 MiB", "1.5 GiB".
fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut size, mut unit) = (bytes as f64, 0);
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        (size, unit) = (size / 1024.0, unit + 1);
    }
    let digits = usize::from(size < 10.0 && size.fract() > 0.0);
    format!("{size:.digits$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::{DiskGuard, FileSystemSpace, OnceLock, reserves, size};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU64, Ordering};
    use syncline_contract::{LogLocation, LogSegments};

    const MIB: u64 = 1 << 20;
    const SEGMENTS: Option<LogSegments> =
        Some(LogSegments { bytes: 16 * MIB, set_by: "initdb --wal-segsize" });

    /// The log on a file system of 200 MiB, the data on one of 4 TiB.
    fn two_disks(directory: &Path) -> Result<FileSystemSpace, String> {
        match directory.to_str() {
            Some("/log") => {
                Ok(FileSystemSpace { device: 1, bytes: 200 * MIB, free_bytes: 116 * MIB })
            }
            Some("/data") => {
                Ok(FileSystemSpace { device: 2, bytes: 4 << 40, free_bytes: 100 << 30 })
            }
            _ => Err("it cannot be read".to_owned()),
        }
    }

    fn at(directory: &str) -> LogLocation {
        LogLocation::Directory(PathBuf::from(directory))
    }

    // B.F9
    #[test]
    fn the_reserve_is_two_segments_of_a_small_disk_and_bounded_on_a_large_one() {
        let places = [at("/log"), at("/data")];
        let list = reserves(&places, &[], SEGMENTS, None, two_disks).unwrap();
        assert_eq!(list[0].reserve_bytes, 32 * MIB);
        assert_eq!(list[1].reserve_bytes, 1 << 30);
        let without = reserves(&places, &[], None, None, two_disks).unwrap();
        assert_eq!(without[0].reserve_bytes, 10 * MIB);
    }

    // B.F9
    #[test]
    fn a_load_that_would_use_the_reserve_is_refused_with_figures() {
        let places = [at("/log"), at("/log")];
        let list = reserves(&places, &[], SEGMENTS, Some(30 * MIB), two_disks).unwrap();
        assert_eq!(list.len(), 1, "one file system is checked once");
        assert_eq!(list[0].load_bytes, Some(60 * MIB), "log and data");
        assert_eq!(list[0].require(SEGMENTS), Ok(()));
        let list = reserves(&places, &[], SEGMENTS, Some(43 * MIB), two_disks).unwrap();
        let why = list[0].require(SEGMENTS).unwrap_err();
        for part in ["only 116 MiB", "/log", "32 MiB in reserve", "about 86 MiB"] {
            assert!(why.contains(part), "{why}");
        }
    }

    // B.F9
    #[test]
    fn an_unknown_directory_has_its_reason_and_the_known_one_is_monitored() {
        let elsewhere = || LogLocation::Nowhere("it is on another machine".to_owned());
        let none = reserves(&[elsewhere(), elsewhere()], &[], None, None, two_disks);
        assert_eq!(none.unwrap_err(), "it is on another machine");
        let one = reserves(&[at("/log"), elsewhere()], &[], None, None, two_disks).unwrap();
        assert_eq!(one[0].directory, Path::new("/log"));
    }

    // B.F9
    #[test]
    fn a_further_directory_on_its_own_disk_is_monitored_and_an_unknown_one_is_left_out() {
        let unknown = LogLocation::Nowhere("it is in a container".to_owned());
        let places = [at("/data"), at("/data")];
        let further = [unknown, at("/log")];
        let list = reserves(&places, &further, SEGMENTS, Some(MIB), two_disks).unwrap();
        let directories: Vec<_> = list.iter().map(|one| one.directory.as_path()).collect();
        assert_eq!(directories, [Path::new("/data"), Path::new("/log")]);
        assert_eq!(list[1].load_bytes, Some(MIB));
        // A further directory on a file system that is monitored already adds nothing.
        let list = reserves(&places, &[at("/data")], SEGMENTS, Some(MIB), two_disks).unwrap();
        assert_eq!((list.len(), list[0].load_bytes), (1, Some(2 * MIB)));
    }

    /// The free space that [`draining`] returns next.
    static FREE: AtomicU64 = AtomicU64::new(0);

    #[expect(clippy::unnecessary_wraps, reason = "the signature of a SpaceSource")]
    fn draining(_: &Path) -> Result<FileSystemSpace, String> {
        Ok(FileSystemSpace {
            device: 1,
            bytes: 200 * MIB,
            free_bytes: FREE.load(Ordering::Relaxed),
        })
    }

    // B.F9
    #[test]
    fn a_run_ends_when_free_space_falls_below_the_reserve_and_not_earlier() {
        FREE.store(50 * MIB, Ordering::Relaxed);
        let guard = DiskGuard {
            source: draining,
            reserves: reserves(&[at("/log"), at("/log")], &[], SEGMENTS, None, draining),
            next_poll: AtomicU64::new(0),
            shortage: OnceLock::new(),
        };
        assert_eq!(guard.shortage(), None);
        FREE.store(31 * MIB, Ordering::Relaxed);
        guard.next_poll.store(0, Ordering::Relaxed);
        let why = guard.shortage().unwrap();
        assert!(why.contains("31 MiB free") && why.contains("32 MiB in reserve"), "{why}");
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(3 * MIB / 2), "1.5 MiB");
        assert_eq!(size(116 * MIB), "116 MiB");
    }
}
