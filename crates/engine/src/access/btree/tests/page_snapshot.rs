//! Exact snapshots: pages captured while a tree changes show their state at the snapshot, page by page.

use super::support::{Row, TestTree, options};
use crate::access::btree::Tree;
use crate::buffer::page_snapshot::PageSnapshot;
use crate::buffer::{Buffer, BufferOptions, page};
use crate::ids::{PageId, TreeId};
use crate::own_process::in_own_process;
use crate::planted_bug::{PlantedBug, with};
use std::cell::RefCell;
use std::collections::BTreeMap;

type Images = BTreeMap<PageId, Vec<u8>>;

/// Captures pages of a snapshot, in random order.
struct Capture<'a> {
    bed: &'a TestTree,
    snapshot: PageSnapshot,
    left: RefCell<Vec<PageId>>,
    disk: RefCell<&'a mut Images>,
}

impl Capture<'_> {
    fn one(&self) {
        let Some(page) = self.left.borrow_mut().pop() else {
            return;
        };
        let mut image = Vec::new();
        self.bed.buffer.capture(self.snapshot.epoch, page, &mut image);
        page::seal(&mut image, self.snapshot.epoch);
        assert_eq!(page::verify(&image, page).err(), None);
        self.disk.borrow_mut().insert(page, image);
    }

    fn rest(&self) {
        while !self.left.borrow().is_empty() {
            self.one();
        }
        self.bed.buffer.finish_snapshot(self.snapshot.epoch);
    }
}

/// One random change; when the pool is full, a waiting page is captured.
fn change(bed: &TestTree, random: &mut fastrand::Rng, on_full: &mut dyn FnMut()) {
    let key = random.u64(..300).to_be_bytes();
    if random.u8(..10) < 5 {
        bed.remove(&key, on_full);
    } else {
        let bytes = if random.u8(..12) == 0 { 1000 } else { random.usize(..128) };
        bed.put(&key, &vec![random.u8(..); bytes], on_full);
    }
}

/// The tree's rows, read only from captured images.
fn rows_of(disk: &Images, next: PageId, root: PageId) -> Vec<Row> {
    rows_of_pages(512, disk, next, root)
}

fn rows_of_pages(page_bytes: u32, disk: &Images, next: PageId, root: PageId) -> Vec<Row> {
    let buffer = Buffer::new(&BufferOptions { page_bytes, ..options(None) });
    for (page, image) in disk {
        buffer.install(*page, image.clone().into_boxed_slice());
    }
    buffer.set_next_page(next);
    let tree = Tree::existing(TreeId(5), root);
    assert_eq!(tree.check(&buffer), Vec::<String>::new());
    TestTree::of(buffer, tree).scan()
}

fn run(seed: u64, pre_image_pages: u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(seed);
    let limits = BufferOptions { pre_image_bytes_max: 512 * pre_image_pages, ..options(None) };
    let bed = TestTree::new(&limits);
    let mut disk = Images::new();
    let (mut full, mut captured) = (0, 0);
    for _ in 0..8 {
        for _ in 0..random.u32(..200) {
            change(&bed, &mut random, &mut || panic!("no snapshot is running"));
        }
        let rows = bed.scan();
        let snapshot = bed.buffer.take_snapshot();
        assert!(snapshot.dirty.iter().all(|page| !snapshot.freed.contains(page)));
        captured += snapshot.dirty.len();
        let mut left = snapshot.dirty.clone();
        random.shuffle(&mut left);
        snapshot.freed.iter().for_each(|page| drop(disk.remove(page)));
        let next = snapshot.next_page;
        let capture = Capture {
            bed: &bed,
            snapshot,
            left: RefCell::new(left),
            disk: RefCell::new(&mut disk),
        };
        for _ in 0..random.u32(..300) {
            if random.u8(..4) == 0 {
                capture.one();
            }
            change(&bed, &mut random, &mut || {
                full += 1;
                capture.one();
            });
        }
        capture.rest();
        assert_eq!(rows_of(&disk, next, bed.tree.root()), rows, "seed {seed}");
    }
    assert!(captured > 100, "seed {seed}: {captured} pages");
    full
}

#[test]
fn captured_pages_show_their_state_at_the_snapshot() {
    let full: u64 = (0..40).map(|seed| run(seed, 1 << 20)).sum();
    assert_eq!(full, 0);
}

#[test]
fn a_pool_of_few_pre_images_stops_changes_and_loses_nothing() {
    let full: u64 = (0..40).map(|seed| run(seed, 1 + seed % 5)).sum();
    assert!(full > 100, "the pool was full {full} times");
}

/// Rows of about a quarter of a 32 KiB page each, all dirty. Returns how many changes found the pool full,
/// each of which then had one page captured, and the maximum size of the pool.
fn change_every_page(pages: u32, free_bytes: u64) -> (u64, u64) {
    let mut limits =
        BufferOptions { page_bytes: 32 << 10, pre_image_bytes_max: 64 << 20, ..options(None) };
    let value = |byte: u8| vec![byte; 7 << 10];
    let filled = |limits: &BufferOptions| {
        let bed = TestTree::new(limits);
        for number in 0..pages * 4 {
            bed.put(&number.to_be_bytes(), &value(1), &mut || panic!("no snapshot"));
        }
        bed
    };
    limits.resident_bytes_max = filled(&limits).buffer.resident_bytes() + free_bytes;
    let bed = filled(&limits);
    let (rows, before) = (bed.scan(), bed.buffer.resident_bytes());
    let snapshot = bed.buffer.take_snapshot();
    let (next, left) = (snapshot.next_page, RefCell::new(snapshot.dirty.clone()));
    let mut disk = Images::new();
    let capture = Capture { bed: &bed, snapshot, left, disk: RefCell::new(&mut disk) };
    let (mut full, mut most) = (0, before);
    for number in 0..pages * 4 {
        let mut on_full = || {
            full += 1;
            capture.one();
        };
        assert!(bed.overwrite_at(None, &number.to_be_bytes(), &value(2), &mut on_full));
        most = most.max(bed.buffer.resident_bytes());
    }
    capture.rest();
    assert_eq!(rows_of_pages(limits.page_bytes, &disk, next, bed.tree.root()), rows);
    let after = bed.buffer.resident_bytes();
    assert!(after <= before + (2 << 20), "{after} bytes after {before}");
    (full, most - before)
}

#[test]
fn a_large_pool_takes_half_of_the_free_memory_and_frees_it() {
    in_own_process(
        concat!(module_path!(), "::a_large_pool_takes_half_of_the_free_memory_and_frees_it"),
        || {
            let (full, taken) = change_every_page(900, 200 << 20);
            assert_eq!(full, 0, "27 MiB of images fit into a half of 200 MiB free");
            assert!(taken > 25 << 20, "{taken}");
            for free_mib in [40, 10] {
                let (full, taken) = change_every_page(900, free_mib << 20);
                assert!(full > 100, "{full} changes found the pool full");
                // The fixed allowance, half of the free memory beyond it, and a block that is not full yet.
                let may_take = (free_mib << 20) / 2;
                let range = may_take.max(16 << 20) - (1 << 20)..=may_take.max(16 << 20) + (3 << 20);
                assert!(range.contains(&taken), "{taken} bytes with {free_mib} MiB free");
            }
        },
    );
}

#[test]
fn a_skipped_pre_image_is_found() {
    let is_detected = (0..20).any(|seed| {
        std::panic::catch_unwind(|| with(Some(PlantedBug::SkipPreImage), || run(seed, 1 << 20)))
            .is_err()
    });
    assert!(is_detected, "no seed detects that pre-images are skipped");
}

#[test]
fn a_transaction_that_waits_for_the_pool_goes_on_when_pages_are_captured() {
    let bed = TestTree::new(&BufferOptions { pre_image_bytes_max: 512, ..options(None) });
    for number in 0..200_u32 {
        bed.put(&number.to_be_bytes(), &[1; 60], &mut || panic!("no snapshot"));
    }
    let rows = bed.scan();
    let snapshot = bed.buffer.take_snapshot();
    let mut disk = Images::new();
    std::thread::scope(|scope| {
        let changer = scope.spawn(|| {
            let mut waits = 0;
            for number in 0..200_u32 {
                bed.put(&number.to_be_bytes(), &[2; 60], &mut || {
                    waits += 1;
                    bed.buffer.wait_for_pre_images();
                });
            }
            waits
        });
        for page in &snapshot.dirty {
            let mut image = Vec::new();
            bed.buffer.capture(snapshot.epoch, *page, &mut image);
            disk.insert(*page, image);
        }
        bed.buffer.finish_snapshot(snapshot.epoch);
        changer.join().expect("the changer ends")
    });
    assert_eq!(rows_of(&disk, snapshot.next_page, bed.tree.root()), rows);
    assert!(bed.scan().iter().all(|row| row.1 == [2; 60]));
}

#[test]
fn detached_pages_are_in_no_snapshot_until_attached() {
    use crate::access::btree::extents;
    let bed = TestTree::new(&options(None));
    let pointer = extents::write(&bed.buffer, bed.tree.id, &[9; 2000]).expect("memory");
    let lost = extents::write(&bed.buffer, bed.tree.id, &[8; 600]).expect("memory");
    let first = bed.buffer.take_snapshot();
    assert_eq!((first.dirty.len(), first.freed.len()), (1, 0), "the root alone");
    bed.buffer.capture(first.epoch, first.dirty[0], &mut Vec::new());
    bed.buffer.finish_snapshot(first.epoch);
    extents::attach(&bed.buffer, pointer);
    extents::free(&bed.buffer, lost);
    let mut value = Vec::new();
    assert_eq!(extents::read(&bed.buffer, pointer, &mut value), Ok(true));
    assert_eq!(value, [9; 2000]);
    let second = bed.buffer.take_snapshot();
    assert_eq!((second.dirty.len(), second.freed.len()), (2000_usize.div_ceil(512), 0));
    extents::free(&bed.buffer, pointer);
    assert_eq!(extents::read(&bed.buffer, pointer, &mut value), Ok(false), "the value is gone");
    for page in second.dirty {
        bed.buffer.capture(second.epoch, page, &mut Vec::new());
    }
    bed.buffer.finish_snapshot(second.epoch);
}
