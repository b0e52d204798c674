//! Roots and pages that are torn, lost, corrupted or of another program.

use super::fixture::{
    change, change_root, check, checkpoint, made, path, put, refusal, simulated, small, step,
    work_of,
};
use crate::checkpoint::root::block_offset;
use crate::checkpoint::root::tests::refit;
use crate::checkpoint::{DataFile, FileOptions};
use crate::error::Error;
use crate::ids::PageId;
use syncline_vfs::File;
use syncline_vfs::simulated::{Crash, Fault, FaultRule};

#[test]
fn a_torn_newest_root_leaves_the_one_before() {
    let (disk, mut file) = made();
    let work = work_of(&file, [1, 2], 1);
    checkpoint(&mut file, work);
    let work = work_of(&file, [2], 2);
    checkpoint(&mut file, work);
    let home = file.root().home;
    drop(file);
    change(&disk, block_offset(home), |bytes| bytes[100..].fill(0x55));
    let file = DataFile::open(&disk, path(), &small()).unwrap();
    check(&file, &[(1, 1), (2, 1)]);
    assert_eq!(file.root().number, 2);
}

#[test]
fn a_corrupt_newest_root_is_damage_once_older_slots_were_reused() {
    let (disk, mut file) = made();
    // More than half of the file, so that there is no other space.
    for time in 1..=3 {
        let work = work_of(&file, 1..=9, time);
        checkpoint(&mut file, work);
    }
    // The next checkpoint takes the slots of the previous root; it does not complete.
    let mut next = file.begin(work_of(&file, 1..=9, 4));
    while next.remaining_bytes(&file) > 4096 {
        step(&mut next, &mut file).unwrap();
    }
    let home = file.root().home;
    drop(file);
    let whole = disk.crash(Crash::KeepAll);
    let all: Vec<_> = (1..=9).map(|page| (page, 3)).collect();
    check(&DataFile::open(&whole, path(), &small()).unwrap(), &all);
    let corrupt = disk.crash(Crash::KeepAll);
    change(&corrupt, block_offset(home), |bytes| bytes[70] ^= 4);
    assert!(matches!(refusal(&corrupt), Error::Damaged { .. }));
}

#[test]
fn a_root_corrupted_after_opening_is_found_in_its_copy() {
    let (disk, mut file) = made();
    let work = work_of(&file, [1], 1);
    checkpoint(&mut file, work);
    drop(file);
    let home = DataFile::open(&disk, path(), &small()).unwrap().root().home;
    change(&disk, block_offset(home), |bytes| bytes[70] ^= 4);
    let file = DataFile::open(&disk, path(), &small()).unwrap();
    check(&file, &[(1, 1)]);
    drop(file);
    let blocks = DataFile::open(&disk, path(), &small()).unwrap().inspect().unwrap().blocks;
    assert_eq!(blocks[usize::from(home)], "root 2 at csn 1");
}

#[test]
fn an_unreadable_root_block_is_ignored_if_there_is_another() {
    let (disk, mut file) = made();
    let work = work_of(&file, [1], 1);
    checkpoint(&mut file, work);
    drop(file);
    for failures in [1, 2] {
        // The first block, and the second attempt at it.
        for _ in 0..failures {
            disk.arm(FaultRule::next(Fault::ReadError, ""));
        }
        let file = DataFile::open(&disk, path(), &small()).unwrap();
        check(&file, &[(1, 1)]);
    }
    disk.arm(FaultRule { repeat: true, ..FaultRule::next(Fault::ReadError, "") });
    assert!(matches!(refusal(&disk), Error::Disk(_)));
}

#[test]
fn a_lost_write_is_detected_though_the_older_page_is_intact() {
    let (disk, mut file) = made();
    let work = work_of(&file, [1], 1);
    checkpoint(&mut file, work);
    let older = file.read(PageId(1)).unwrap();
    let work = work_of(&file, [1], 2);
    checkpoint(&mut file, work);
    let offset = file.map.get(PageId(1)).offset;
    change(&disk, offset, |bytes| bytes.copy_from_slice(&older));
    let error = file.read(PageId(1)).unwrap_err();
    assert!(error.to_string().contains("another version"), "{error}");
    assert!(file.load(&mut |_, _| Ok(())).is_err());
    let complaints = file.check().unwrap();
    assert!(complaints[0].contains("page 1"), "{complaints:?}");
}

#[test]
fn other_files_are_refused() {
    let disk = simulated();
    let error = refusal(&disk);
    assert!(matches!(error, Error::NoDataFile { .. }), "{error}");
    put(&disk, &[]);
    let error = refusal(&disk);
    assert!(error.to_string().contains("empty"), "{error}");
    put(&disk, &vec![0; 40_000]);
    let error = refusal(&disk);
    assert!(error.to_string().contains("no root"), "{error}");
    put(&disk, b"a letter to a friend");
    let error = refusal(&disk);
    assert!(matches!(error, Error::NotADataFile { .. }), "{error}");
    put(&disk, b"SYNCDAT1 and then something else");
    let error = refusal(&disk);
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

#[test]
fn another_format_or_an_unknown_feature_is_refused() {
    let (disk, file) = made();
    drop(file);
    change(&disk, block_offset(0), |bytes| {
        bytes[12] = 4;
        refit(bytes);
    });
    let error = refusal(&disk);
    assert!(matches!(error, Error::Newer { found: 4, known: 3, .. }), "{error}");

    change_root(&disk, 0, |bytes| bytes[12] = 1);
    let error = refusal(&disk);
    assert!(matches!(error, Error::Older { found: 1, known: 3, .. }), "{error}");

    change_root(&disk, 0, |bytes| {
        bytes[12] = 3;
        bytes[32] = 4;
    });
    let error = refusal(&disk);
    assert!(matches!(error, Error::Feature { bits: 4, .. }), "{error}");

    change_root(&disk, 0, |bytes| {
        bytes[32] = 0;
        bytes[24] = 2;
    });
    let error = refusal(&disk);
    assert!(matches!(error, Error::Feature { bits: 2, .. }), "{error}");
    let read_only = FileOptions { read_only: true, ..small() };
    check(&DataFile::open(&disk, path(), &read_only).unwrap(), &[]);

    change_root(&disk, 0, |bytes| {
        bytes[24] = 0;
        bytes[16] = 0xff;
    });
    let file = DataFile::open(&disk, path(), &small()).unwrap();
    assert_eq!(file.root().features.compatible, 0xff);
}

#[test]
fn a_truncated_file_and_a_wrong_page_size_are_damage() {
    let (disk, file) = made();
    let bytes = file.io.len().unwrap();
    file.io.set_len(bytes - 1).unwrap();
    drop(file);
    let error = refusal(&disk);
    assert!(error.to_string().contains("ends at"), "{error}");

    let (disk, file) = made();
    drop(file);
    change_root(&disk, 0, |bytes| {
        bytes[80..84].copy_from_slice(&1024_u32.to_le_bytes());
    });
    assert!(matches!(refusal(&disk), Error::Damaged { .. }));
    change_root(&disk, 0, |bytes| {
        bytes[80..84].copy_from_slice(&1000_u32.to_le_bytes());
    });
    assert!(matches!(refusal(&disk), Error::Damaged { .. }));
}
