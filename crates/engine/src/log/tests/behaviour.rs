//! The log's guarantees, and its refusals.

use crate::log::{Durability, Log, Options, Ticket};
use crate::planted_bug::PlantedBug;
use crate::{Csn, DatabaseId, Error, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use syncline_vfs::simulated::{Fault, FaultRule, Metadata, SyncFailure};
use syncline_vfs::{CountingDisk, Disk, File, OpenOptions, RealDisk, SimulatedDisk};

pub(super) fn small() -> Options {
    Options {
        segment_bytes: 1 << 20,
        frame_bytes_max: 64 << 10,
        ring_records: 16,
        ..Options::default()
    }
}

pub(super) fn commit<D: Disk>(log: &Log<D>, content: &[u8]) -> Result<Ticket> {
    let mut record = content.to_vec();
    let ticket = log.reserve(record.len())?.take().publish(&mut record);
    log.wait(ticket)?;
    Ok(ticket)
}

pub(super) fn reopen<D: Disk>(
    disk: &D,
    directory: &Path,
    options: &Options,
) -> Result<BTreeMap<u64, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let replay = &mut |csn: Csn, record: &[u8]| {
        found.insert(csn.0, record.to_vec());
    };
    Log::open(disk, directory, None, Csn::ZERO, options, replay)?.close()?;
    Ok(found)
}

pub(super) fn simulated() -> SimulatedDisk {
    SimulatedDisk::new(1, Metadata::Strict)
}

/// A new log on that disk, in the directory that callers of [`reopen`] also use.
pub(super) fn made(disk: &SimulatedDisk, options: &Options) -> Log<SimulatedDisk> {
    let id = DatabaseId::random();
    Log::create(disk, Path::new("log"), id, options.clone()).unwrap()
}

#[test]
fn commits_of_every_durability_and_sync_method_are_recovered() {
    let folder = tempfile::tempdir().unwrap();
    for durability in [Durability::None, Durability::Data, Durability::Full] {
        for direct in [false, true] {
            let options = Options { durability, direct, ..small() };
            let directory = folder.path().join(format!("{}-{direct}", durability.word()));
            let log =
                Log::create(&RealDisk, &directory, DatabaseId::random(), options.clone()).unwrap();
            assert_eq!(log.settings().unwrap().durability, durability);
            let contents: Vec<Vec<u8>> =
                (0..40).map(|i: u8| vec![i; usize::from(i) * 97]).collect();
            for content in &contents {
                commit(&log, content).unwrap();
            }
            log.close().unwrap();
            let found = reopen(&RealDisk, &directory, &options).unwrap();
            assert!(found.keys().copied().eq(1..=40), "{durability:?} {direct}");
            assert!(found.values().eq(&contents), "{durability:?} {direct}");
        }
    }
}

#[test]
fn one_client_pays_one_sync_a_commit_and_none_at_durability_none() {
    let folder = tempfile::tempdir().unwrap();
    for (durability, direct, expected) in [
        (Durability::Data, true, 100),
        (Durability::Data, false, 100),
        (Durability::Full, false, 100),
        (Durability::None, true, 0),
    ] {
        let bytes = 4 << 20;
        let small = Options { segment_bytes: bytes, segment_bytes_min: bytes, ..small() };
        let options = Options { durability, direct, ..small };
        let disk = CountingDisk::new(RealDisk);
        let directory = folder.path().join(format!("{}-{direct}", durability.word()));
        let log = Log::create(&disk, &directory, DatabaseId::random(), options).unwrap();
        commit(&log, b"the first waits for nothing else").unwrap();
        // The spare file is prepared during the first commits; its syncs are not theirs.
        while log.shared().prepare_segment(false).unwrap() {}
        let before = log.stats().syncs;
        for number in 0..100_u64 {
            commit(&log, &number.to_le_bytes()).unwrap();
        }
        assert_eq!(log.stats().syncs - before, expected, "{durability:?} {direct}");
        log.close().unwrap();
    }
}

#[test]
fn a_record_longer_than_a_frame_is_whole_and_one_over_the_cap_is_refused() {
    let disk = simulated();
    let options = Options { record_bytes_max: 40_000, ..Options::tiny() };
    let log = made(&disk, &options);
    let long: Vec<u8> = (0..40_000_u32).map(|i| (i % 251) as u8).collect();
    commit(&log, &long).unwrap();
    commit(&log, b"short").unwrap();
    assert!(matches!(
        log.reserve(40_001),
        Err(Error::TooLarge { bytes: 40_001, bytes_max: 40_000 })
    ));
    log.close().unwrap();
    let found = reopen(&disk, Path::new("log"), &options).unwrap();
    assert_eq!(found.into_values().collect::<Vec<_>>(), [long, b"short".to_vec()]);
}

#[test]
fn a_released_log_reuses_its_files_and_opens_only_from_there() {
    let disk = simulated();
    let options = Options::tiny();
    let log = made(&disk, &options);
    for number in 0..400_u64 {
        commit(&log, &[number as u8; 200]).unwrap();
        log.release(log.durable_lsn());
    }
    assert!(log.stats().segments_recycled > 5, "{:?}", log.stats());
    let durable_lsn = log.durable_lsn();
    log.close().unwrap();
    let files = disk.list(Path::new("log")).unwrap().len();
    assert!(files < 10, "{files} files for a log that was released all the time");
    let early = Log::open(&disk, Path::new("log"), None, Csn(3), &options, &mut |_, _| {});
    assert!(matches!(early, Err(Error::Missing { .. })), "{early:?}");
    let log = Log::open(&disk, Path::new("log"), None, durable_lsn, &options, &mut |csn, _| {
        panic!("{csn} was released")
    });
    assert_eq!(commit(&log.unwrap(), b"next").unwrap().csn, durable_lsn.next());
}

#[test]
fn a_full_disk_refuses_the_commit_and_a_retry_succeeds_later() {
    let disk = simulated();
    let log = made(&disk, &Options::tiny());
    disk.arm(FaultRule { repeat: true, ..FaultRule::next(Fault::PreallocateFull, "log") });
    let mut committed = 0_u64;
    let refusal = loop {
        match commit(&log, &[7; 400]) {
            Ok(_) => committed += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refusal, Error::Full { .. }), "{refusal}");
    assert!(committed > 10, "a prepared segment was there: {committed}");
    disk.disarm();
    assert_eq!(commit(&log, b"there is room again").unwrap().csn, Csn(committed + 1));
}

#[test]
fn a_failed_sync_ends_the_ticket_as_indeterminate_and_closes_the_log() {
    for direct in [false, true] {
        let disk = simulated();
        let options = Options { direct, ..Options::tiny() };
        let log = made(&disk, &options);
        while log.shared().prepare_segment(false).unwrap() {}
        commit(&log, b"stable").unwrap();
        let dropped = Fault::SyncError(SyncFailure::PagesDropped);
        disk.arm(FaultRule::next(dropped, "log"));
        let failed = commit(&log, b"in flight");
        assert!(matches!(failed, Err(Error::Indeterminate { csn: Csn(2), .. })), "{failed:?}");
        assert!(matches!(log.reserve(1), Err(Error::Poisoned { .. })));
        assert!(log.wait(log.ticket(Csn(1))).is_ok(), "what was stable stays so");
        assert!(matches!(log.flush(), Err(Error::Poisoned { .. } | Error::Indeterminate { .. })));
    }
}

#[test]
fn a_number_that_is_dropped_closes_the_log_and_wakes_those_behind_it() {
    let disk = simulated();
    let log = made(&disk, &Options::tiny());
    let hole = log.reserve(1).unwrap().take();
    std::thread::scope(|scope| {
        let behind = scope.spawn(|| commit(&log, b"behind the hole"));
        while log.shared().ring.next() < Csn(3) {
            std::thread::yield_now();
        }
        drop(hole);
        let outcome = behind.join().unwrap();
        assert!(matches!(outcome, Err(Error::Indeterminate { .. })), "{outcome:?}");
    });
}

#[test]
fn a_voided_number_lets_those_behind_it_pass() {
    let disk = simulated();
    let options = Options::tiny();
    let log = made(&disk, &options);
    let hole = log.reserve(100).unwrap().take();
    std::thread::scope(|scope| {
        let behind = scope.spawn(|| commit(&log, b"behind the hole"));
        while !log.shared().ring.is_published(Csn(2)) {
            std::thread::yield_now();
        }
        hole.void();
        behind.join().unwrap().unwrap();
    });
    log.close().unwrap();
    let found = reopen(&disk, Path::new("log"), &options).unwrap();
    assert_eq!(found, BTreeMap::from([(2, b"behind the hole".to_vec())]));
}

/// At durability none, too, a commit is not acknowledged before the next transaction would see it.
fn acknowledges_behind_a_gap(plant: Option<PlantedBug>) -> bool {
    let options = Options { durability: Durability::None, ..Options::tiny() };
    let log = Log::create(&simulated(), Path::new("log"), DatabaseId::random(), options).unwrap();
    let hole = log.reserve(100).unwrap().take();
    let acknowledged = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            crate::planted_bug::with(plant, || commit(&log, b"behind the hole").unwrap());
            acknowledged.store(true, Ordering::SeqCst);
        });
        while !log.shared().ring.is_published(Csn(2)) {
            std::thread::yield_now();
        }
        // The bug acknowledges as soon as its thread runs, which a busy machine may delay.
        let tries = if plant.is_some() { 12_000 } else { 10 };
        for _ in 0..tries {
            if acknowledged.load(Ordering::SeqCst) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let early = acknowledged.load(Ordering::SeqCst);
        hole.void();
        early
    })
}

#[test]
fn without_durability_a_commit_waits_for_those_before_it() {
    assert!(!acknowledges_behind_a_gap(None));
    let found = acknowledges_behind_a_gap(Some(PlantedBug::AcknowledgeBehindGap));
    assert!(found, "the planted bug is found");
}

#[test]
fn a_directory_without_this_log_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("log");
    let open = |database| {
        Log::open(&RealDisk, &directory, database, Csn::ZERO, &small(), &mut |_, _| {}).map(drop)
    };
    assert!(matches!(open(None), Err(Error::Missing { .. })));
    let id = DatabaseId::random();
    let log = Log::create(&RealDisk, &directory, id, small()).unwrap();
    assert!(matches!(open(None), Err(Error::Disk(syncline_vfs::Error::Locked { .. }))));
    commit(&log, b"one").unwrap();
    drop(log);
    let again = Log::create(&RealDisk, &directory, id, small());
    assert!(matches!(again, Err(Error::Exists { .. })), "{again:?}");
    assert!(matches!(open(Some(DatabaseId::random())), Err(Error::WrongDatabase { .. })));
    open(Some(id)).unwrap();
    for name in RealDisk.list(&directory).unwrap() {
        let file = RealDisk.open(&directory.join(name), OpenOptions::READ_WRITE).unwrap();
        file.set_len(0).unwrap();
        file.write_at(b"somebody's notes", 0).unwrap();
    }
    let error = open(None).unwrap_err();
    assert!(matches!(error, Error::NotASegment { .. }), "{error}");
    assert!(matches!(Log::create(&RealDisk, &directory, id, small()), Err(Error::Exists { .. })));
}
