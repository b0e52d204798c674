//! What a checkpoint writes, in which steps, and what a later opening finds.

use super::fixture::{
    At, DATABASE, FOREVER, check, checkpoint, finish, image, made, path, simulated, small, step,
    work_of,
};
use crate::buffer::page_snapshot::ChangedPages;
use crate::checkpoint::image_writer::WRITE_BYTES_MAX;
use crate::checkpoint::{DataFile, DirtyPages, FileOptions, Progress, Work};
use crate::error::Error;
use crate::ids::{Csn, PageId};
use syncline_vfs::simulated::{Crash, Fault, FaultRule};
use syncline_vfs::{CountingDisk, RealDisk, SimulatedDisk};

#[test]
fn a_new_file_is_empty_and_opens_again() {
    let (disk, file) = made();
    check(&file, &[]);
    drop(file);
    let file = DataFile::open(&disk.crash(Crash::DropAll), path(), &small()).unwrap();
    check(&file, &[]);
    let root = file.root();
    assert_eq!((root.number, root.csn, root.next_page), (1, Csn::ZERO, PageId(1)));
    assert_eq!((root.database, root.page_bytes), (DATABASE, 512));
}

#[test]
fn pages_meta_and_numbers_come_back_at_every_page_size() {
    for page_bytes in [512, 1024, 2048, 4096, 8192, 16_384, 32_768] {
        let disk = simulated();
        let mut file = DataFile::create(&disk, path(), DATABASE, page_bytes, &small()).unwrap();
        let work = work_of(&file, [1, 2, 5], 10);
        checkpoint(&mut file, work);
        let mut work = work_of(&file, [5, 6], 20);
        work.freed = vec![PageId(1), PageId(3)];
        checkpoint(&mut file, work);
        drop(file);
        let file = DataFile::open(&disk, path(), &small()).unwrap();
        check(&file, &[(2, 10), (5, 20), (6, 20)]);
        let root = file.root();
        assert_eq!((root.number, root.csn, root.next_page), (3, Csn(20), PageId(7)));
        assert_eq!(root.meta, b"meta at 20");
    }
}

#[test]
fn a_map_of_many_map_pages_comes_back_and_shrinks() {
    let (disk, mut file) = made();
    let work = work_of(&file, 1..=1_000, 5);
    checkpoint(&mut file, work);
    assert_eq!(file.inspect().unwrap().map_pages, 34);
    let mut work = work_of(&file, [1, 1_000], 6);
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
    let work = work_of(&file, 1..=100, 1);
    checkpoint(&mut file, work);
    let mut slots = 0;
    for time in 2..100 {
        let changed = (1..=100).filter(|page| (page + time) % 3 == 0);
        let work = work_of(&file, changed, time);
        checkpoint(&mut file, work);
        if time == 10 {
            slots = file.inspect().unwrap().slots;
        }
    }
    assert_eq!(file.inspect().unwrap().slots, slots);
    assert_eq!(file.check().unwrap(), Vec::<String>::new());
}

#[test]
fn the_root_waits_for_the_durable_lsn() {
    let (disk, mut file) = made();
    let mut checkpoint = file.begin(work_of(&file, [1], 9));
    let pages = &mut At(9);
    let waits = loop {
        match checkpoint.step(&mut file, pages, Csn(8)).unwrap() {
            Progress::Worked { .. } => {}
            other => break other,
        }
    };
    assert_eq!(waits, Progress::AwaitDurable(Csn(9)));
    let early = DataFile::open(&disk.crash(Crash::KeepAll), path(), &small()).unwrap();
    assert_eq!(early.root().number, 1);
    while checkpoint.step(&mut file, pages, Csn(9)).unwrap() != Progress::Done {}
    let late = DataFile::open(&disk.crash(Crash::DropAll), path(), &small()).unwrap();
    check(&late, &[(1, 9)]);
    let again = checkpoint.step(&mut file, pages, Csn(9)).unwrap();
    assert_eq!(again, Progress::Done);
}

/// Pages that ask to be captured first, from the highest down.
struct Backwards {
    asking: Vec<PageId>,
    captured: Vec<PageId>,
}

impl DirtyPages for Backwards {
    fn capture(&mut self, page: PageId, out: &mut Vec<u8>) -> crate::Result<()> {
        self.asking.retain(|asking| *asking != page);
        self.captured.push(page);
        image(page, 7, out);
        Ok(())
    }

    fn first(&mut self) -> Option<PageId> {
        self.asking.last().copied()
    }
}

#[test]
fn urgent_pages_are_written_first() {
    let (disk, mut file) = made();
    let mut next = file.begin(work_of(&file, (1..=3_000).step_by(2), 7));
    let mut pages =
        Backwards { asking: (1..=1_000).step_by(10).map(PageId).collect(), captured: Vec::new() };
    while next.step(&mut file, &mut pages, Csn(7)).unwrap() != Progress::Done {}
    assert_eq!(pages.captured[0], PageId(991));
    assert_eq!(pages.captured[99], PageId(1));
    let others = &pages.captured[100..];
    assert!(others.is_sorted() && others.len() == 1_400);
    let all: Vec<_> = (1..=3_000).step_by(2).map(|page| (page, 7)).collect();
    check(&file, &all);
    drop(file);
    check(&DataFile::open(&disk, path(), &small()).unwrap(), &all);
}

#[test]
fn a_step_is_one_write_of_a_run_or_one_sync() {
    let disk = CountingDisk::new(simulated());
    let options = FileOptions::default();
    let mut file = DataFile::create(&disk, path(), DATABASE, 4096, &options).unwrap();
    let mut checkpoint = file.begin(work_of(&file, 1..=200, 1));
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
    assert_eq!(longest, WRITE_BYTES_MAX as u64);
}

#[test]
fn loading_takes_few_long_reads_in_file_order() {
    let disk = CountingDisk::new(simulated());
    let mut file = DataFile::create(&disk, path(), DATABASE, 4096, &small()).unwrap();
    let work = work_of(&file, 1..=600, 1);
    checkpoint(&mut file, work);
    let work = work_of(&file, (1..=600).step_by(5), 2);
    checkpoint(&mut file, work);
    let before = disk.counts();
    let mut offsets = Vec::new();
    let sink = &mut |page: PageId, _: &[u8]| {
        offsets.push(file.map.get(page).offset);
        Ok(())
    };
    file.load(sink).unwrap();
    assert!(offsets.len() == 600 && offsets.is_sorted());
    let reads = disk.counts().since(&before).reads;
    assert!(reads <= 4, "{reads} reads for 2.3 MiB");
}

/// Changed pages without long images.
fn changed(pages: u64, work: &Work) -> ChangedPages {
    ChangedPages { pages, long: 0, long_bytes: 0, next_page: work.next_page }
}

#[test]
fn a_checkpoint_uses_the_room_that_was_made_ahead() {
    let disk = CountingDisk::new(simulated());
    let mut file = DataFile::create(&disk, path(), DATABASE, 4096, &small()).unwrap();
    // The previous checkpoint shows that images fill their pages.
    let work = work_of(&file, 1..=10, 1);
    checkpoint(&mut file, work);
    let work = work_of(&file, 1..=200, 2);
    let before = disk.counts();
    let mut left_bytes = u64::MAX;
    while let Some((bytes, left)) = file.make_room(&changed(200, &work)).unwrap() {
        assert!(bytes == 0 || left < left_bytes, "{left} after {left_bytes}");
        left_bytes = left;
    }
    assert_eq!(left_bytes, 0);
    assert!(disk.counts().since(&before).preallocated_bytes >= 200 * 4096);
    let before = disk.counts();
    checkpoint(&mut file, work);
    assert_eq!(disk.counts().since(&before).preallocated_bytes, 0);
    // A growth that was written ahead and not synced is synced before it is used.
    let work = work_of(&file, 1..=400, 3);
    let written = file.make_room(&changed(400, &work)).unwrap();
    assert!(written.is_some_and(|(bytes, _)| bytes > 0), "{written:?}");
    let before = disk.counts();
    let mut next = file.begin(work);
    step(&mut next, &mut file).unwrap();
    let did = disk.counts().since(&before);
    assert_eq!((did.syncs(), did.writes, did.preallocated_bytes), (1, 0, 0));
    finish(&mut next, &mut file);
    assert_eq!(file.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_full_disk_is_reported_before_anything_is_written_and_a_retry_works() {
    let (disk, mut file) = made();
    let work = work_of(&file, 1..=3, 1);
    checkpoint(&mut file, work);
    let full = FaultRule { repeat: true, ..FaultRule::next(Fault::PreallocateFull, "") };
    disk.arm(full);
    let pending = disk.operations();
    let mut big = file.begin(work_of(&file, 1..=100, 2));
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
    let options = FileOptions { reserve_bytes: 16 << 10, ..small() };
    let mut file = DataFile::create(&disk, path(), DATABASE, 512, &options).unwrap();
    let work = work_of(&file, 1..=60, 1);
    checkpoint(&mut file, work);
    disk.arm(FaultRule { repeat: true, ..FaultRule::next(Fault::PreallocateFull, "") });
    for time in 2..20 {
        // As much as fits into the reserve with its map page and directory.
        let work = work_of(&file, 1..=30, time);
        checkpoint(&mut file, work);
    }
    let freed = Work { freed: (1..=60).map(PageId).collect(), ..work_of(&file, [], 20) };
    checkpoint(&mut file, freed);
    check(&file, &[]);
    assert!(disk.faults_injected() > 0);
}

#[test]
fn a_failed_write_or_sync_closes_the_file() {
    let failed_sync = Fault::SyncFull;
    for (fault, skip) in [(Fault::WriteError, 0), (Fault::WriteFull, 1), (failed_sync, 0)] {
        let (disk, mut file) = made();
        disk.arm(FaultRule { skip, ..FaultRule::next(fault, "") });
        let mut running = file.begin(work_of(&file, [1], 1));
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
fn a_real_disk_keeps_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    for (name, page_bytes, direct) in [("a", 8192, true), ("b", 8192, false), ("c", 512, true)] {
        let path = folder.path().join(name);
        let options = FileOptions {
            extent_bytes: 1 << 20,
            reserve_bytes: 256 << 10,
            direct,
            ..FileOptions::default()
        };
        let mut file = DataFile::create(&RealDisk, &path, DATABASE, page_bytes, &options).unwrap();
        assert!(direct || !file.is_direct());
        let work = work_of(&file, 1..=300, 1);
        checkpoint(&mut file, work);
        let work = work_of(&file, (1..=300).step_by(7), 2);
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
        let work = work_of(&file, 1..=pages, time);
        checkpoint(&mut file, work);
    }
    let image_bytes = pages * u64::from(page_bytes);
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes >= 2 * image_bytes, "{bytes}");
    assert!(10 * bytes <= 22 * image_bytes, "{bytes} for {image_bytes}");
}

/// Pages filled to this percentage, minus a few bytes.
struct FullTo(usize);

impl DirtyPages for FullTo {
    fn capture(&mut self, page: PageId, out: &mut Vec<u8>) -> crate::Result<()> {
        out.truncate(out.len() * self.0 / 100 - page.0 as usize % 7);
        image(page, 1, out);
        Ok(())
    }

    fn first(&mut self) -> Option<PageId> {
        None
    }
}

fn checkpoint_full_to(part: usize, file: &mut DataFile<SimulatedDisk>, work: Work) {
    let mut next = file.begin(work);
    let pages = &mut FullTo(part);
    while next.step(file, pages, FOREVER).unwrap() != Progress::Done {}
    assert_eq!(file.check().unwrap(), Vec::<String>::new());
}

#[test]
fn images_take_only_as_much_space_as_their_contents() {
    let options =
        FileOptions { extent_bytes: 64 << 10, reserve_bytes: 0, ..FileOptions::default() };
    for (page_bytes, part) in [(8192, 70), (8192, 30), (4096, 55), (32_768, 90), (512, 60)] {
        let disk = simulated();
        let mut file = DataFile::create(&disk, path(), DATABASE, page_bytes, &options).unwrap();
        let pages = (24 << 20) / u64::from(page_bytes);
        for time in 1..=4 {
            let work = work_of(&file, 1..=pages, time);
            checkpoint_full_to(part, &mut file, work);
        }
        let image_bytes = file.root().image_bytes;
        assert!(image_bytes * 100 <= pages * u64::from(page_bytes) * part as u64);
        // Grown in pieces of 4 MiB.
        let bytes = file.inspect().unwrap().slots * file.slot_bytes();
        let most = 2 * image_bytes * 106 / 100 + (5 << 20);
        assert!(bytes <= most, "{page_bytes}: {bytes}, images {image_bytes}");
        let found = file.read(PageId(1)).unwrap();
        assert_eq!(found.len(), page_bytes as usize * part / 100 - 1);
    }
}

#[test]
fn longer_images_get_more_room_in_the_middle_of_a_checkpoint() {
    let (disk, mut file) = made();
    let work = work_of(&file, 1..=400, 1);
    checkpoint_full_to(20, &mut file, work);
    let before = file.inspect().unwrap();
    // It begins with the room for images that fill a fifth of their pages.
    let mut next = file.begin(work_of(&file, 1..=400, 2));
    let (mut grown_at, mut step, pages) = (Vec::new(), 0, &mut FullTo(90));
    let mut slots = before.slots;
    while next.step(&mut file, pages, FOREVER).unwrap() != Progress::Done {
        step += 1;
        let now = file.inspect().unwrap().slots;
        if now > slots {
            grown_at.push(step);
            slots = now;
        }
    }
    assert!(grown_at.iter().any(|step| *step > 10), "{grown_at:?}");
    assert_eq!(file.check().unwrap(), Vec::<String>::new());
    drop(file);
    let file = DataFile::open(&disk, path(), &small()).unwrap();
    assert_eq!(file.read(PageId(400)).unwrap().len(), 512 * 90 / 100 - 1);
}

#[test]
fn a_checkpoint_continues_after_a_full_disk_in_the_middle_of_it() {
    let (disk, mut file) = made();
    let work = work_of(&file, 1..=400, 1);
    checkpoint_full_to(20, &mut file, work);
    let mut next = file.begin(work_of(&file, 1..=400, 2));
    let pages = &mut FullTo(90);
    let mut is_full = || {
        for _ in 0..1_000 {
            match next.step(&mut file, pages, FOREVER) {
                Ok(Progress::Done) => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        panic!("it does not end");
    };
    // The first growth makes room for the expected images.
    disk.arm(FaultRule { repeat: true, skip: 1, ..FaultRule::next(Fault::PreallocateFull, "") });
    for _ in 0..3 {
        let full = is_full().unwrap_err();
        assert!(matches!(full, Error::Full { .. }), "{full}");
    }
    let old = DataFile::open(&disk.crash(Crash::KeepAll), path(), &small()).unwrap();
    assert_eq!((old.root().number, old.root().pages), (2, 400));
    assert_eq!(old.check().unwrap(), Vec::<String>::new());
    disk.disarm();
    is_full().unwrap();
    assert_eq!(file.check().unwrap(), Vec::<String>::new());
    assert_eq!(file.read(PageId(400)).unwrap().len(), 512 * 90 / 100 - 1);
}

#[test]
fn random_changes_do_not_let_the_file_grow_forever() {
    let options =
        FileOptions { extent_bytes: 64 << 10, reserve_bytes: 0, ..FileOptions::default() };
    let disk = simulated();
    let mut file = DataFile::create(&disk, path(), DATABASE, 8192, &options).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let pages = 3_000;
    let mut sizes = Vec::new();
    for time in 1..=60 {
        let changed: Vec<u64> = (1..=pages).filter(|_| random.u8(0..10) < 2).collect();
        let changed = if time == 1 { (1..=pages).collect() } else { changed };
        let work = work_of(&file, changed, time);
        checkpoint_full_to(83, &mut file, work);
        sizes.push(file.inspect().unwrap().slots);
    }
    assert_eq!(sizes[30], sizes[59], "{sizes:?}");
    let bytes = sizes[59] * file.slot_bytes();
    let image_bytes = file.root().image_bytes;
    assert!(bytes < 2 * image_bytes, "{bytes}, images {image_bytes}");
}
