//! A creation interrupted at every I/O, with its log in the database's directory or elsewhere: it can be
//! repeated, or the database can be opened, and the log of another database stays.

use crate::database::create::create;
use crate::database::open::open;
use crate::error::Error;
use crate::log::Threads;
use crate::options::Options;
use std::path::{Path, PathBuf};
use syncline_vfs::simulated::{Crash, Fault, FaultRule, Metadata};
use syncline_vfs::{CountingDisk, Disk, SimulatedDisk};

fn options(log_directory: Option<&str>) -> Options {
    Options { log_directory: log_directory.map(PathBuf::from), ..Options::tiny() }
}

/// Opens what a crash left, or creates it; fails if neither is possible.
fn opened_or_made(disk: &SimulatedDisk, options: &Options, what: &str) {
    let at = Path::new("db");
    let opened = open(disk, at, options.clone(), Threads::None);
    if opened.is_ok() {
        return;
    }
    drop(opened);
    if let Err(error) = create(disk, at, options.clone(), Threads::None) {
        panic!("{what}: {error}");
    }
    let again = disk.crash(Crash::DropAll);
    if let Err(error) = open(&again, at, options.clone(), Threads::None) {
        panic!("{what}, opened: {error}");
    }
}

/// The number of I/Os of one creation.
fn operations(options: &Options) -> u64 {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let before = disk.operations();
    drop(create(&disk, Path::new("db"), options.clone(), Threads::None).unwrap());
    disk.operations() - before
}

#[test]
fn a_creation_interrupted_anywhere_can_be_repeated() {
    for log_directory in [None, Some("log-elsewhere")] {
        let options = options(log_directory);
        let all = operations(&options);
        assert!(all > 10, "{all}");
        for how in [Crash::KeepAll, Crash::DropAll] {
            for first in 0..=all {
                for second in [0, 1, 3, 6, 10, 15, u64::MAX] {
                    let what = format!("{log_directory:?}, {how:?}, {first}, {second}");
                    let disk = SimulatedDisk::new(first, Metadata::Strict);
                    disk.crash_after(first);
                    drop(create(&disk, Path::new("db"), options.clone(), Threads::None));
                    let disk = disk.crash(how);
                    if second < u64::MAX {
                        disk.crash_after(second);
                        drop(create(&disk, Path::new("db"), options.clone(), Threads::None));
                        opened_or_made(&disk.crash(how), &options, &what);
                    } else {
                        opened_or_made(&disk, &options, &what);
                    }
                }
            }
        }
    }
}

/// The next creation in the same process found the mark, whose name was not stable, and went on without
/// syncing it: after a power loss other names could be there without it.
#[test]
fn a_mark_whose_sync_failed_is_stable_before_anything_else_is_made() {
    let options = Options::tiny();
    for at in 0..operations(&options) {
        for seed in 0..8 {
            let disk = SimulatedDisk::new(1, Metadata::Strict);
            let place = Path::new("db");
            disk.create_directory(place).unwrap();
            disk.arm(FaultRule::next(Fault::DirectorySyncError, "db"));
            let failed = create(&disk, place, options.clone(), Threads::None);
            assert!(matches!(failed, Err(Error::Disk(_))));
            disk.crash_after(at);
            drop(create(&disk, place, options.clone(), Threads::None));
            let image = disk.crash(Crash::Subset { seed });
            opened_or_made(&image, &options, &format!("crash at {at}, seed {seed}"));
        }
    }
}

/// A sync takes a tenth of a millisecond on a fast device and ten on a slow one; zeros count too.
#[test]
fn a_creation_takes_seven_syncs_and_fills_half_a_mebibyte() {
    let disk = CountingDisk::new(SimulatedDisk::new(1, Metadata::Strict));
    let before = disk.counts();
    let engine = create(&disk, Path::new("db"), Options::default(), Threads::None).unwrap();
    let counts = disk.counts().since(&before);
    assert_eq!(counts.syncs() + counts.directory_syncs, 7, "{counts:?}");
    let filled = counts.preallocated_bytes;
    assert!((256 << 10..=600 << 10).contains(&filled), "{counts:?}");
    drop(engine);
}

#[test]
fn the_log_of_another_database_stays() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let options = options(Some("log-elsewhere"));
    drop(create(&disk, Path::new("other"), options.clone(), Threads::None).unwrap());
    let before = disk.list(Path::new("log-elsewhere")).unwrap();
    for _ in 0..2 {
        let refused = create(&disk, Path::new("db"), options.clone(), Threads::None);
        assert!(matches!(refused, Err(Error::Exists { .. })));
    }
    assert_eq!(disk.list(Path::new("log-elsewhere")).unwrap(), before);
    drop(open(&disk, Path::new("other"), options, Threads::None).unwrap());
}
