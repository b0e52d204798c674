//! The data file, behaviour by behaviour.

use crate::buffer::page;
use crate::checkpoint::create::making_path;
use crate::checkpoint::root::tests::refit;
use crate::checkpoint::root::{ROOT_BYTES, block_offset};
use crate::checkpoint::run::RUN_BYTES_MAX;
use crate::checkpoint::{Checkpoint, DataFile, FileOptions, Progress, Work};
use crate::error::{Error, Result};
use crate::ids::{Csn, DatabaseId, PageId, TreeId};
use std::path::Path;
use syncline_disk::simulated::{Crash, Fault, FaultRule, Metadata};
use syncline_disk::{CountingDisk, Disk, File, OpenOptions, RealDisk, SimulatedDisk};

const DATABASE: DatabaseId = DatabaseId([3; 16]);
const FOREVER: Csn = Csn(u64::MAX);

fn small() -> FileOptions {
    FileOptions {
        extent_bytes: 8 << 10,
        reserve_bytes: 0,
        ..FileOptions::default()
    }
}

fn path() -> &'static Path {
    Path::new("data")
}

fn simulated() -> SimulatedDisk {
    SimulatedDisk::new(1, Metadata::Strict)
}

/// A data file of small pages on a new disk.
fn made() -> (SimulatedDisk, DataFile<SimulatedDisk>) {
    let disk = simulated();
    let file = DataFile::create(&disk, path(), DATABASE, 512, &small()).unwrap();
    disk.sync_directory(Path::new("")).unwrap();
    (disk, file)
}

/// A page's bytes: each depends on the page and on the time.
fn image(page: PageId, time: u64, out: &mut [u8]) {
    out.fill((page.0 * 7 + time) as u8);
    out[..page::HEADER_BYTES].fill(0);
    page::label(out, page, TreeId(1), page::Kind::Leaf, 0);
}

/// The cut in which these pages changed; the time is the csn.
fn cut<D: Disk>(file: &DataFile<D>, dirty: impl IntoIterator<Item = u64>, time: u64) -> Work {
    let dirty: Vec<PageId> = dirty.into_iter().map(PageId).collect();
    let above = dirty.iter().map(|page| page.0 + 1).max().unwrap_or(1);
    Work {
        csn: Csn(time),
        next_page: PageId(above).max(file.root().next_page),
        dirty,
        meta: format!("meta at {time}").into_bytes(),
        ..Work::default()
    }
}

fn step<D: Disk>(checkpoint: &mut Checkpoint, file: &mut DataFile<D>) -> Result<Progress> {
    let time = checkpoint.csn().0;
    checkpoint.step(file, &mut |page, out| image(page, time, out), FOREVER)
}

fn finish<D: Disk>(checkpoint: &mut Checkpoint, file: &mut DataFile<D>) {
    while step(checkpoint, file).unwrap() != Progress::Done {}
}

fn checkpoint<D: Disk>(file: &mut DataFile<D>, work: Work) {
    let mut checkpoint = file.begin(work);
    finish(&mut checkpoint, file);
}

/// The pages found, each as it was at its time; in the order of their ids.
fn check<D: Disk>(file: &DataFile<D>, expected: &[(u64, u64)]) {
    let mut found = Vec::new();
    let mut wanted = vec![0; file.root().page_bytes as usize];
    let sink = &mut |page: PageId, bytes: Box<[u8]>| {
        found.push((page.0, bytes));
        Ok(())
    };
    file.load(sink).unwrap();
    found.sort();
    assert_eq!(found.len(), expected.len());
    assert_eq!(file.root().pages, expected.len() as u64);
    for ((page, bytes), (expected, time)) in found.iter().zip(expected) {
        assert_eq!(page, expected);
        image(PageId(*page), *time, &mut wanted);
        assert_eq!(bytes[page::HEADER_BYTES..], wanted[page::HEADER_BYTES..]);
        let mut alone = vec![0; wanted.len()];
        file.read(PageId(*page), &mut alone).unwrap();
        assert_eq!(&alone[..], &bytes[..]);
    }
    assert_eq!(file.check().unwrap(), Vec::<String>::new());
}

fn change(disk: &SimulatedDisk, offset: u64, change: impl FnOnce(&mut [u8; ROOT_BYTES])) {
    let file = disk.open(path(), OpenOptions::READ_WRITE).unwrap();
    let mut bytes = [0; ROOT_BYTES];
    file.read_at(&mut bytes, offset).unwrap();
    change(&mut bytes);
    file.write_at(&bytes, offset).unwrap();
    file.sync_all().unwrap();
}

/// Changes the root in both places that hold it.
fn change_root(disk: &SimulatedDisk, home: u8, edit: impl Fn(&mut [u8; ROOT_BYTES])) {
    for block in [home, 2] {
        change(disk, block_offset(block), |bytes| {
            edit(bytes);
            refit(bytes);
        });
    }
}

fn refusal(disk: &SimulatedDisk) -> Error {
    DataFile::open(disk, path(), &small()).unwrap_err()
}

fn put(disk: &SimulatedDisk, bytes: &[u8]) {
    let file = disk.open(path(), OpenOptions::READ_WRITE).unwrap();
    file.write_at(bytes, 0).unwrap();
}

#[test]
fn a_new_file_is_empty_and_opens_again() {
    let (disk, file) = made();
    check(&file, &[]);
    drop(file);
    let file = DataFile::open(&disk.crash(Crash::DropAll), path(), &small()).unwrap();
    check(&file, &[]);
    let root = file.root();
    assert_eq!(
        (root.number, root.csn, root.next_page),
        (1, Csn::ZERO, PageId(1))
    );
    assert_eq!((root.database, root.page_bytes), (DATABASE, 512));
}

#[test]
fn pages_meta_and_numbers_come_back_at_every_page_size() {
    for page_bytes in [512, 1024, 2048, 4096, 8192, 16_384, 32_768] {
        let disk = simulated();
        let mut file = DataFile::create(&disk, path(), DATABASE, page_bytes, &small()).unwrap();
        let work = cut(&file, [1, 2, 5], 10);
        checkpoint(&mut file, work);
        let mut work = cut(&file, [5, 6], 20);
        work.freed = vec![PageId(1), PageId(3)];
        checkpoint(&mut file, work);
        drop(file);
        let file = DataFile::open(&disk, path(), &small()).unwrap();
        check(&file, &[(2, 10), (5, 20), (6, 20)]);
        let root = file.root();
        assert_eq!(
            (root.number, root.csn, root.next_page),
            (3, Csn(20), PageId(7))
        );
        assert_eq!(root.meta, b"meta at 20");
    }
}

#[test]
fn a_map_of_many_map_pages_comes_back_and_shrinks() {
    let (disk, mut file) = made();
    let work = cut(&file, 1..=1_000, 5);
    checkpoint(&mut file, work);
    assert_eq!(file.inspect().unwrap().map_pages, 17);
    let mut work = cut(&file, [1, 1_000], 6);
    work.freed = (2..1_000).map(PageId).collect();
    checkpoint(&mut file, work);
    assert_eq!(file.inspect().unwrap().map_pages, 2);
    drop(file);
    let file = DataFile::open(&disk, path(), &small()).unwrap();
    check(&file, &[(1, 6), (1_000, 6)]);
}

#[test]
fn steady_changes_do_not_let_the_file_grow() {
    let (_, mut file) = made();
    let work = cut(&file, 1..=100, 1);
    checkpoint(&mut file, work);
    let mut slots = 0;
    for time in 2..100 {
        let changed = (1..=100).filter(|page| (page + time) % 3 == 0);
        let work = cut(&file, changed, time);
        checkpoint(&mut file, work);
        if time == 10 {
            slots = file.inspect().unwrap().slots;
        }
    }
    assert_eq!(file.inspect().unwrap().slots, slots);
    assert_eq!(file.check().unwrap(), Vec::<String>::new());
}

#[test]
fn the_root_waits_for_the_horizon() {
    let (disk, mut file) = made();
    let mut checkpoint = file.begin(cut(&file, [1], 9));
    let capture = &mut |page: PageId, out: &mut [u8]| image(page, 9, out);
    let waits = loop {
        match checkpoint.step(&mut file, capture, Csn(8)).unwrap() {
            Progress::Worked { .. } => {}
            other => break other,
        }
    };
    assert_eq!(waits, Progress::AwaitHorizon(Csn(9)));
    let early = DataFile::open(&disk.crash(Crash::KeepAll), path(), &small()).unwrap();
    assert_eq!(early.root().number, 1);
    while checkpoint.step(&mut file, capture, Csn(9)).unwrap() != Progress::Done {}
    let late = DataFile::open(&disk.crash(Crash::DropAll), path(), &small()).unwrap();
    check(&late, &[(1, 9)]);
    let again = checkpoint.step(&mut file, capture, Csn(9)).unwrap();
    assert_eq!(again, Progress::Done);
}

#[test]
fn a_step_is_one_write_of_a_run_or_one_sync() {
    let disk = CountingDisk::new(simulated());
    let options = FileOptions::default();
    let mut file = DataFile::create(&disk, path(), DATABASE, 4096, &options).unwrap();
    let mut checkpoint = file.begin(cut(&file, 1..=200, 1));
    let (mut longest, mut promised) = (0, checkpoint.remaining_bytes(&file));
    loop {
        let before = disk.counts();
        let progress = step(&mut checkpoint, &mut file).unwrap();
        let did = disk.counts().since(&before);
        let bytes = did.written_bytes + did.preallocated_bytes;
        longest = longest.max(did.written_bytes);
        if progress == Progress::Done {
            break;
        }
        assert_eq!(progress, Progress::Worked { bytes });
        let grown = u64::from(did.preallocated_bytes > 0);
        assert_eq!(did.writes + did.syncs() + grown, 1);
        assert!(checkpoint.remaining_bytes(&file) <= promised - did.written_bytes);
        promised = checkpoint.remaining_bytes(&file);
    }
    assert_eq!(promised, 0);
    assert_eq!(longest, RUN_BYTES_MAX as u64);
}

#[test]
fn loading_takes_few_long_reads_in_the_order_of_slots() {
    let disk = CountingDisk::new(simulated());
    let mut file = DataFile::create(&disk, path(), DATABASE, 4096, &small()).unwrap();
    let work = cut(&file, 1..=600, 1);
    checkpoint(&mut file, work);
    let work = cut(&file, (1..=600).step_by(5), 2);
    checkpoint(&mut file, work);
    let before = disk.counts();
    let mut slots = Vec::new();
    let sink = &mut |page: PageId, _: Box<[u8]>| {
        slots.push(file.map.get(page).slot());
        Ok(())
    };
    file.load(sink).unwrap();
    assert!(slots.len() == 600 && slots.is_sorted());
    let reads = disk.counts().since(&before).reads;
    assert!(reads <= 4, "{reads} reads for 2.3 MiB");
}

#[test]
fn a_full_disk_is_told_before_anything_is_written_and_may_be_tried_again() {
    let (disk, mut file) = made();
    let work = cut(&file, 1..=3, 1);
    checkpoint(&mut file, work);
    let full = FaultRule {
        repeat: true,
        ..FaultRule::next(Fault::PreallocateFull, "")
    };
    disk.arm(full);
    let pending = disk.operations();
    let mut big = file.begin(cut(&file, 1..=100, 2));
    for _ in 0..3 {
        let full = loop {
            match step(&mut big, &mut file) {
                Ok(progress) => assert_eq!(progress, Progress::Worked { bytes: 0 }),
                Err(error) => break error,
            }
        };
        assert!(matches!(full, Error::Full { .. }), "{full}");
        assert!(full.to_string().contains("free some space"), "{full}");
    }
    assert!(disk.operations() > pending);
    for how in [Crash::KeepAll, Crash::DropAll] {
        let found = DataFile::open(&disk.crash(how), path(), &small()).unwrap();
        check(&found, &[(1, 1), (2, 1), (3, 1)]);
    }
    disk.disarm();
    finish(&mut big, &mut file);
    let all: Vec<_> = (1..=100).map(|page| (page, 2)).collect();
    check(&file, &all);
}

#[test]
fn the_reserve_lets_checkpoints_work_on_a_full_disk() {
    let disk = simulated();
    let options = FileOptions {
        reserve_bytes: 16 << 10,
        ..small()
    };
    let mut file = DataFile::create(&disk, path(), DATABASE, 512, &options).unwrap();
    let work = cut(&file, 1..=60, 1);
    checkpoint(&mut file, work);
    disk.arm(FaultRule {
        repeat: true,
        ..FaultRule::next(Fault::PreallocateFull, "")
    });
    for time in 2..20 {
        // As much as fits into the reserve with its map page and directory.
        let work = cut(&file, 1..=30, time);
        checkpoint(&mut file, work);
    }
    let freed = Work {
        freed: (1..=60).map(PageId).collect(),
        ..cut(&file, [], 20)
    };
    checkpoint(&mut file, freed);
    check(&file, &[]);
    assert!(disk.faults_struck() > 0);
}

#[test]
fn a_failed_write_or_sync_closes_the_file() {
    let failed_sync = Fault::SyncFull;
    for (fault, skip) in [
        (Fault::WriteError, 0),
        (Fault::WriteFull, 1),
        (failed_sync, 0),
    ] {
        let (disk, mut file) = made();
        disk.arm(FaultRule {
            skip,
            ..FaultRule::next(fault, "")
        });
        let mut running = file.begin(cut(&file, [1], 1));
        let failed = loop {
            if let Err(error) = step(&mut running, &mut file) {
                break error;
            }
        };
        assert!(matches!(failed, Error::Disk(_)), "{failed}");
        let after = step(&mut running, &mut file).unwrap_err();
        assert!(matches!(after, Error::Poisoned { .. }), "{after}");
    }
}

#[test]
fn a_torn_newest_root_leaves_the_one_before() {
    let (disk, mut file) = made();
    let work = cut(&file, [1, 2], 1);
    checkpoint(&mut file, work);
    let work = cut(&file, [2], 2);
    checkpoint(&mut file, work);
    let home = file.root().home;
    drop(file);
    change(&disk, block_offset(home), |bytes| bytes[100..].fill(0x55));
    let file = DataFile::open(&disk, path(), &small()).unwrap();
    check(&file, &[(1, 1), (2, 1)]);
    assert_eq!(file.root().number, 2);
}

#[test]
fn a_rotten_newest_root_is_damage_once_older_slots_were_used_again() {
    let (disk, mut file) = made();
    for time in 1..=3 {
        let work = cut(&file, [1, 2], time);
        checkpoint(&mut file, work);
    }
    // The next one takes the slots of the root before; it does not come to its end.
    let mut next = file.begin(cut(&file, [1, 2], 4));
    while next.remaining_bytes(&file) > 4096 {
        step(&mut next, &mut file).unwrap();
    }
    let home = file.root().home;
    drop(file);
    let whole = disk.crash(Crash::KeepAll);
    check(
        &DataFile::open(&whole, path(), &small()).unwrap(),
        &[(1, 3), (2, 3)],
    );
    let rotten = disk.crash(Crash::KeepAll);
    change(&rotten, block_offset(home), |bytes| bytes[70] ^= 4);
    assert!(matches!(refusal(&rotten), Error::Damaged { .. }));
}

#[test]
fn a_root_that_rots_after_opening_is_found_in_its_copy() {
    let (disk, mut file) = made();
    let work = cut(&file, [1], 1);
    checkpoint(&mut file, work);
    drop(file);
    let home = DataFile::open(&disk, path(), &small()).unwrap().root().home;
    change(&disk, block_offset(home), |bytes| bytes[70] ^= 4);
    let file = DataFile::open(&disk, path(), &small()).unwrap();
    check(&file, &[(1, 1)]);
    drop(file);
    let blocks = DataFile::open(&disk, path(), &small())
        .unwrap()
        .inspect()
        .unwrap()
        .blocks;
    assert_eq!(blocks[usize::from(home)], "root 2 at csn 1");
}

#[test]
fn a_root_block_that_cannot_be_read_is_passed_over_if_there_is_another() {
    let (disk, mut file) = made();
    let work = cut(&file, [1], 1);
    checkpoint(&mut file, work);
    drop(file);
    for failures in [1, 2] {
        // The first block, and its second try.
        for _ in 0..failures {
            disk.arm(FaultRule::next(Fault::ReadError, ""));
        }
        let file = DataFile::open(&disk, path(), &small()).unwrap();
        check(&file, &[(1, 1)]);
    }
    disk.arm(FaultRule {
        repeat: true,
        ..FaultRule::next(Fault::ReadError, "")
    });
    assert!(matches!(refusal(&disk), Error::Disk(_)));
}

#[test]
fn a_write_that_was_lost_is_noticed_though_the_older_page_is_whole() {
    let (disk, mut file) = made();
    let work = cut(&file, [1], 1);
    checkpoint(&mut file, work);
    let mut older = [0; 512];
    file.read(PageId(1), &mut older).unwrap();
    let work = cut(&file, [1], 2);
    checkpoint(&mut file, work);
    let offset = file.offset(file.map.get(PageId(1)).slot());
    change(&disk, offset, |bytes| bytes.copy_from_slice(&older));
    let error = file.read(PageId(1), &mut older).unwrap_err();
    assert!(error.to_string().contains("another version"), "{error}");
    assert!(file.load(&mut |_, _| Ok(())).is_err());
    let complaints = file.check().unwrap();
    assert!(complaints[0].contains("page 1"), "{complaints:?}");
}

#[test]
fn what_is_no_data_file_is_refused() {
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
fn a_newer_format_or_an_unknown_feature_is_refused() {
    let (disk, file) = made();
    drop(file);
    change(&disk, block_offset(0), |bytes| {
        bytes[12] = 2;
        refit(bytes);
    });
    let error = refusal(&disk);
    assert!(
        matches!(
            error,
            Error::Newer {
                found: 2,
                known: 1,
                ..
            }
        ),
        "{error}"
    );

    change_root(&disk, 0, |bytes| {
        bytes[12] = 1;
        bytes[32] = 4;
    });
    let error = refusal(&disk);
    assert!(matches!(error, Error::Feature { bits: 4, .. }), "{error}");

    change_root(&disk, 0, |bytes| {
        bytes[32] = 0;
        bytes[24] = 2;
    });
    let error = refusal(&disk);
    assert!(error.to_string().contains("reading only"), "{error}");
    let read_only = FileOptions {
        read_only: true,
        ..small()
    };
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

#[test]
fn a_file_is_opened_once_and_made_once() {
    let (disk, file) = made();
    let error = refusal(&disk);
    let is_locked = matches!(error, Error::Disk(syncline_disk::Error::Locked { .. }));
    assert!(is_locked, "{error}");
    let again = DataFile::create(&disk, path(), DATABASE, 512, &small()).unwrap_err();
    assert!(matches!(again, Error::DataFileExists { .. }), "{again}");
    assert_eq!(disk.list(Path::new("")).unwrap(), [path().to_owned()]);
    drop(file);
    DataFile::open(&disk, path(), &small()).unwrap();
}

#[test]
fn a_making_that_is_cut_leaves_nothing_or_a_whole_file() {
    let (mut nothing, mut whole) = (0, 0);
    for seed in 0..40 {
        for after in 0..12 {
            let disk = SimulatedDisk::new(seed, Metadata::Strict);
            disk.crash_after(after);
            let made = DataFile::create(&disk, path(), DATABASE, 512, &small());
            drop(made.and_then(|_| Ok(disk.sync_directory(Path::new(""))?)));
            let left = disk.crash(Crash::Torn { seed });
            match DataFile::open(&left, path(), &small()) {
                Ok(file) => {
                    check(&file, &[]);
                    whole += 1;
                }
                Err(Error::NoDataFile { .. }) => {
                    nothing += 1;
                    let made = DataFile::create(&left, path(), DATABASE, 512, &small());
                    check(&made.unwrap(), &[]);
                    let leftover = left.open(&making_path(path()), OpenOptions::READ);
                    assert!(leftover.is_err());
                }
                Err(error) => panic!("after {after}: {error}"),
            }
        }
    }
    assert!(nothing > 40 && whole > 40, "{nothing} and {whole}");
}

#[test]
fn a_making_on_a_full_disk_leaves_nothing() {
    let disk = simulated();
    disk.arm(FaultRule::next(Fault::PreallocateFull, ""));
    let full = DataFile::create(&disk, path(), DATABASE, 512, &small()).unwrap_err();
    assert!(matches!(full, Error::Full { .. }), "{full}");
    assert!(disk.list(Path::new("")).unwrap().is_empty());
    DataFile::create(&disk, path(), DATABASE, 512, &small()).unwrap();
}

#[test]
fn looking_writes_nothing() {
    let (disk, mut file) = made();
    let work = cut(&file, [1], 1);
    checkpoint(&mut file, work);
    drop(file);
    let before = disk.operations();
    let read_only = FileOptions {
        read_only: true,
        ..small()
    };
    let file = DataFile::open(&disk, path(), &read_only).unwrap();
    check(&file, &[(1, 1)]);
    let text = file.inspect().unwrap().to_string();
    assert_eq!(disk.operations(), before);
    for part in [
        "checkpoint 2 at csn 1",
        "pages 1 of 512 bytes",
        "map pages 1",
        "copy block 2",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn a_real_disk_keeps_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    for (name, page_bytes, direct) in [("a", 8192, true), ("b", 8192, false), ("c", 512, true)] {
        let path = folder.path().join(name);
        let options = FileOptions {
            extent_bytes: 1 << 20,
            reserve_bytes: 256 << 10,
            direct,
            read_only: false,
        };
        let mut file = DataFile::create(&RealDisk, &path, DATABASE, page_bytes, &options).unwrap();
        assert!(direct || !file.is_direct());
        let work = cut(&file, 1..=300, 1);
        checkpoint(&mut file, work);
        let work = cut(&file, (1..=300).step_by(7), 2);
        checkpoint(&mut file, work);
        let twice = DataFile::open(&RealDisk, &path, &options);
        assert!(matches!(twice, Err(Error::Disk(_))));
        drop(file);
        let file = DataFile::open(&RealDisk, &path, &options).unwrap();
        let time = |page| if page % 7 == 1 { 2 } else { 1 };
        let all: Vec<_> = (1..=300).map(|page| (page, time(page))).collect();
        check(&file, &all);
    }
}

#[test]
fn a_file_whose_pages_all_change_again_and_again_is_little_more_than_two_images() {
    let folder = tempfile::tempdir().unwrap();
    let (page_bytes, pages) = (8192, 8_000);
    let options = FileOptions::default();
    let path = folder.path().join("data");
    let mut file = DataFile::create(&RealDisk, &path, DATABASE, page_bytes, &options).unwrap();
    for time in 1..=4 {
        let work = cut(&file, 1..=pages, time);
        checkpoint(&mut file, work);
    }
    let image_bytes = pages * u64::from(page_bytes);
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes >= 2 * image_bytes, "{bytes}");
    assert!(10 * bytes <= 22 * image_bytes, "{bytes} for {image_bytes}");
}
