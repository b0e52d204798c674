//! Faults of the simulated disk: when they are injected, their effects, and which handles report them.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::io::ErrorKind;
use std::path::Path;
use syncline_vfs::simulated::{Crash, Fault, FaultRule, Metadata, SyncFailure};
use syncline_vfs::{Disk, File, OpenOptions, SimulatedDisk, SimulatedFile, WriteSync};

/// A disk with a file `f` of eight stable bytes.
fn with_file() -> (SimulatedDisk, SimulatedFile) {
    let disk = SimulatedDisk::new(3, Metadata::Strict);
    let file = open(&disk, "f");
    file.write_at(b"oldoldol", 0).unwrap();
    file.sync_all().unwrap();
    disk.sync_directory(Path::new("/")).unwrap();
    (disk, file)
}

fn open(disk: &SimulatedDisk, path: &str) -> SimulatedFile {
    disk.open(Path::new(path), OpenOptions::READ_WRITE).unwrap()
}

fn content(file: &SimulatedFile) -> Vec<u8> {
    let mut bytes = vec![0; file.len().unwrap() as usize];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

fn after(disk: &SimulatedDisk, crash: Crash) -> Vec<u8> {
    content(&open(&disk.crash(crash), "f"))
}

fn is_io_error<T: std::fmt::Debug>(result: Result<T, syncline_vfs::Error>) -> bool {
    let error = result.unwrap_err();
    assert!(!error.is_full());
    error.to_string().contains("Input/output error")
}

#[test]
fn a_rule_is_injected_at_its_place_and_time() {
    let (disk, file) = with_file();
    disk.create_directory(Path::new("/log")).unwrap();
    let log = open(&disk, "log/1");
    disk.arm(FaultRule { skip: 2, ..FaultRule::next(Fault::ReadError, "/log") });
    let mut byte = [0];
    for _ in 0..5 {
        file.read_at(&mut byte, 0).unwrap();
    }
    log.read_at(&mut byte, 0).unwrap();
    log.read_at(&mut byte, 0).unwrap();
    assert_eq!(disk.faults_injected(), 0);
    assert!(is_io_error(log.read_at(&mut byte, 0)));
    log.read_at(&mut byte, 0).unwrap();
    assert_eq!(disk.faults_injected(), 1);

    disk.arm(FaultRule { repeat: true, ..FaultRule::next(Fault::ReadError, "") });
    for _ in 0..3 {
        assert!(is_io_error(file.read_at(&mut byte, 0)));
    }
    disk.disarm();
    file.read_at(&mut byte, 0).unwrap();
    assert_eq!(disk.faults_injected(), 4);
}

#[test]
fn a_flipped_bit_is_seen_once_and_not_stored() {
    let (disk, file) = with_file();
    disk.arm(FaultRule::next(Fault::FlippedBit, "f"));
    let wrong = content(&file);
    let flipped: u32 =
        wrong.iter().zip(b"oldoldol").map(|(found, stored)| (found ^ stored).count_ones()).sum();
    assert_eq!(flipped, 1);
    assert_eq!(content(&file), b"oldoldol");
    assert_eq!(after(&disk, Crash::KeepAll), b"oldoldol");
}

#[test]
fn a_failed_write_leaves_any_first_part() {
    for (fault, is_full) in [(Fault::WriteError, false), (Fault::WriteFull, true)] {
        let mut lengths = std::collections::BTreeSet::new();
        let (disk, file) = with_file();
        for _ in 0..100 {
            file.set_len(8).unwrap();
            disk.arm(FaultRule::next(fault, "f"));
            let error = file.write_at(b"newnew", 8).unwrap_err();
            assert_eq!(error.is_full(), is_full, "{error}");
            let bytes = content(&file);
            assert_eq!(bytes, b"oldoldolnewnew"[..bytes.len()]);
            lengths.insert(bytes.len());
        }
        assert_eq!(lengths, (8..=14).collect());
    }
}

#[test]
fn a_full_disk_shows_in_preallocation_and_can_be_retried() {
    let (disk, file) = with_file();
    disk.arm(FaultRule::next(Fault::PreallocateFull, "f"));
    file.write_at(b"x", 0).unwrap();
    let error = file.preallocate(10_000).unwrap_err();
    assert_eq!(error.kind(), Some(ErrorKind::StorageFull));
    assert!(file.len().unwrap() <= 10_000);
    file.preallocate(10_000).unwrap();
    file.sync_data().unwrap();
    let bytes = after(&disk, Crash::DropAll);
    assert_eq!((&bytes[..8], bytes.len()), (&b"xldoldol"[..], 10_000));
}

#[test]
fn a_length_change_fails_whole() {
    let (disk, file) = with_file();
    disk.arm(FaultRule::next(Fault::WriteError, "f"));
    assert!(is_io_error(file.set_len(2)));
    assert_eq!((content(&file), disk.pending()), (b"oldoldol".to_vec(), 0));
}

#[test]
fn dropped_pages_read_old_and_are_never_written() {
    for fault in [Fault::SyncError(SyncFailure::PagesDropped), Fault::SyncFull] {
        let (disk, file) = with_file();
        let other = open(&disk, "f");
        file.write_at(b"new", 0).unwrap();
        file.write_at(b"tail", 8).unwrap();
        disk.arm(FaultRule::next(fault, "f"));
        let error = file.sync_data().unwrap_err();
        assert_eq!(error.is_full(), fault == Fault::SyncFull);
        // The length stays, as in the kernel; the bytes are gone.
        assert_eq!(content(&file), b"oldoldol\0\0\0\0");
        // The second handle reports the error once, this one not again, a later one never.
        assert!(is_io_error(other.sync_data()));
        for handle in [&file, &other, &open(&disk, "f")] {
            handle.sync_data().unwrap();
        }
        assert_eq!(after(&disk, Crash::KeepAll), b"oldoldol\0\0\0\0");
    }
}

#[test]
fn kept_pages_read_new_until_evicted_and_no_later_sync_covers_them() {
    let (disk, file) = with_file();
    let other = open(&disk, "f");
    file.write_at(b"new", 0).unwrap();
    disk.arm(FaultRule::next(Fault::SyncError(SyncFailure::PagesKeptUntilEviction), "f"));
    assert!(is_io_error(file.sync_all()));
    assert_eq!(content(&file), b"newoldol");
    // The trap: the sync is retried and succeeds, and nothing is stable.
    file.sync_all().unwrap();
    assert_eq!(content(&file), b"newoldol");
    assert_eq!(after(&disk, Crash::DropAll), b"oldoldol");
    // The pages may have reached the device before the error.
    assert_eq!(after(&disk, Crash::KeepAll), b"newoldol");
    assert!(is_io_error(other.sync_all()));
    // Later writes are covered as usual.
    file.write_at(b"end", 5).unwrap();
    file.sync_data().unwrap();
    assert_eq!(after(&disk, Crash::DropAll), b"oldolend");
    assert_eq!(content(&file), b"newolend");
    disk.evict();
    assert_eq!(content(&file), b"oldolend");
    assert_eq!(disk.pending(), 0);
}

#[test]
fn a_failure_may_be_reported_to_one_handle_only() {
    let (disk, file) = with_file();
    let other = open(&disk, "f");
    file.write_at(b"new", 0).unwrap();
    disk.arm(FaultRule::next(Fault::SyncError(SyncFailure::OneHandleOnly), "f"));
    assert!(is_io_error(other.sync_data()));
    // The handle that wrote does not learn of it.
    file.sync_data().unwrap();
    assert_eq!(content(&file), b"newoldol");
    assert_eq!(after(&disk, Crash::DropAll), b"oldoldol");
}

#[test]
fn a_synced_write_fails_for_itself_alone() {
    let (disk, file) = with_file();
    file.write_at(b"A", 0).unwrap();
    let options = OpenOptions { write_sync: WriteSync::Data, ..OpenOptions::READ_WRITE };
    let synced = disk.open(Path::new("f"), options).unwrap();
    disk.arm(FaultRule::next(Fault::SyncError(SyncFailure::PagesDropped), "f"));
    assert!(is_io_error(synced.write_at(b"B", 1)));
    assert_eq!(content(&file), b"Aldoldol");
    // The buffered write was not part of it: the next sync covers it, after reporting the failure.
    assert!(is_io_error(file.sync_data()));
    assert_eq!(after(&disk, Crash::DropAll), b"Aldoldol");
    synced.write_at(b"C", 2).unwrap();
    assert_eq!(after(&disk, Crash::DropAll), b"AlColdol");
}

#[test]
fn a_failed_directory_sync_makes_no_name_stable() {
    let (disk, _file) = with_file();
    drop(open(&disk, "g"));
    disk.arm(FaultRule::next(Fault::DirectorySyncError, "/"));
    assert!(is_io_error(disk.sync_directory(Path::new("/"))));
    assert_eq!(disk.crash(Crash::DropAll).list(Path::new("/")).unwrap(), [Path::new("f")]);
    disk.sync_directory(Path::new("/")).unwrap();
    assert_eq!(disk.crash(Crash::DropAll).list(Path::new("/")).unwrap().len(), 2);
}

#[test]
fn faults_do_not_outlive_a_crash() {
    let (disk, _file) = with_file();
    disk.arm(FaultRule { repeat: true, ..FaultRule::next(Fault::ReadError, "") });
    assert_eq!(after(&disk, Crash::DropAll), b"oldoldol");
}
