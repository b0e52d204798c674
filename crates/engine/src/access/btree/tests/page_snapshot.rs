//! The exact cut: what is captured while a tree goes on is what stood there at the cut, page by page.

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

/// Captures pages of a cut, in random order.
struct Capture<'a> {
    bed: &'a TestTree,
    cut: PageSnapshot,
    left: RefCell<Vec<PageId>>,
    disk: RefCell<&'a mut Images>,
}

impl Capture<'_> {
    fn one(&self) {
        let Some(page) = self.left.borrow_mut().pop() else {
            return;
        };
        let mut image = vec![0; self.bed.buffer.page_bytes()];
        self.bed.buffer.capture(self.cut.epoch, page, &mut image);
        page::seal(&mut image, self.cut.epoch);
        assert_eq!(page::verify(&image, page).err(), None);
        self.disk.borrow_mut().insert(page, image);
    }

    fn rest(&self) {
        while !self.left.borrow().is_empty() {
            self.one();
        }
        self.bed.buffer.finish_snapshot(self.cut.epoch);
    }
}

/// One random change; when the pool is full, what waits is captured.
fn change(bed: &TestTree, random: &mut fastrand::Rng, on_full: &mut dyn FnMut()) {
    let key = random.u64(..300).to_be_bytes();
    if random.u8(..10) < 5 {
        bed.remove(&key, on_full);
    } else {
        let bytes = if random.u8(..12) == 0 { 1000 } else { random.usize(..128) };
        bed.put(&key, &vec![random.u8(..); bytes], on_full);
    }
}

/// The tree's rows, read from captured images alone.
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
            change(&bed, &mut random, &mut || panic!("no cut is running"));
        }
        let rows = bed.scan();
        let cut = bed.buffer.cut();
        assert!(cut.dirty.iter().all(|page| !cut.freed.contains(page)));
        captured += cut.dirty.len();
        let mut left = cut.dirty.clone();
        random.shuffle(&mut left);
        cut.freed.iter().for_each(|page| drop(disk.remove(page)));
        let next = cut.next_page;
        let capture =
            Capture { bed: &bed, cut, left: RefCell::new(left), disk: RefCell::new(&mut disk) };
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
fn what_is_captured_is_what_stood_there_at_the_cut() {
    let full: u64 = (0..40).map(|seed| run(seed, 1 << 20)).sum();
    assert_eq!(full, 0);
}

#[test]
fn a_pool_of_few_pre_images_stops_changes_and_loses_nothing() {
    let full: u64 = (0..40).map(|seed| run(seed, 1 + seed % 5)).sum();
    assert!(full > 100, "the pool was full {full} times");
}

/// Rows that take about a page of 32 KiB each four, all dirty; how many changes found the pool full, each of
/// which then had one page captured, and how much the pool took at most.
fn change_every_page(pages: u32, free_bytes: u64) -> (u64, u64) {
    let mut limits =
        BufferOptions { page_bytes: 32 << 10, pre_image_bytes_max: 64 << 20, ..options(None) };
    let value = |byte: u8| vec![byte; 7 << 10];
    let filled = |limits: &BufferOptions| {
        let bed = TestTree::new(limits);
        for number in 0..pages * 4 {
            bed.put(&number.to_be_bytes(), &value(1), &mut || panic!("no cut"));
        }
        bed
    };
    limits.resident_bytes_max = filled(&limits).buffer.resident_bytes() + free_bytes;
    let bed = filled(&limits);
    let (rows, before) = (bed.scan(), bed.buffer.resident_bytes());
    let cut = bed.buffer.cut();
    let (next, left) = (cut.next_page, RefCell::new(cut.dirty.clone()));
    let mut disk = Images::new();
    let capture = Capture { bed: &bed, cut, left, disk: RefCell::new(&mut disk) };
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
fn a_large_pool_takes_half_of_what_is_free_and_gives_it_back() {
    in_own_process(
        concat!(module_path!(), "::a_large_pool_takes_half_of_what_is_free_and_gives_it_back"),
        || {
            let (full, taken) = change_every_page(900, 200 << 20);
            assert_eq!(full, 0, "27 MiB of images beside 200 that are free");
            assert!(taken > 25 << 20, "{taken}");
            for free_mib in [40, 10] {
                let (full, taken) = change_every_page(900, free_mib << 20);
                assert!(full > 100, "{full} changes found the pool full");
                // Beyond what it may always take, half of what is free; and the block that is not full yet.
                let may_take = (free_mib << 20) / 2;
                let range = may_take.max(16 << 20) - (1 << 20)..=may_take.max(16 << 20) + (3 << 20);
                assert!(range.contains(&taken), "{taken} bytes with {free_mib} MiB free");
            }
        },
    );
}

#[test]
fn a_skipped_pre_image_is_found() {
    let found = (0..20).any(|seed| {
        std::panic::catch_unwind(|| with(Some(PlantedBug::SkipPreImage), || run(seed, 1 << 20)))
            .is_err()
    });
    assert!(found, "no seed found that pre-images are skipped");
}

#[test]
fn a_transaction_that_waits_for_the_pool_goes_on_when_pages_are_captured() {
    let bed = TestTree::new(&BufferOptions { pre_image_bytes_max: 512, ..options(None) });
    for number in 0..200_u32 {
        bed.put(&number.to_be_bytes(), &[1; 60], &mut || panic!("no cut"));
    }
    let rows = bed.scan();
    let cut = bed.buffer.cut();
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
        for page in &cut.dirty {
            let mut image = vec![0; 512];
            bed.buffer.capture(cut.epoch, *page, &mut image);
            disk.insert(*page, image);
        }
        bed.buffer.finish_snapshot(cut.epoch);
        changer.join().expect("the changer ends")
    });
    assert_eq!(rows_of(&disk, cut.next_page, bed.tree.root()), rows);
    assert!(bed.scan().iter().all(|row| row.1 == [2; 60]));
}

#[test]
fn detached_pages_are_in_no_cut_until_they_are_attached() {
    use crate::access::btree::overflow;
    let bed = TestTree::new(&options(None));
    let stub = overflow::write(&bed.buffer, bed.tree.id, &[9; 2000]).expect("memory");
    let lost = overflow::write(&bed.buffer, bed.tree.id, &[8; 600]).expect("memory");
    let first = bed.buffer.cut();
    assert_eq!((first.dirty.len(), first.freed.len()), (1, 0), "the root alone");
    bed.buffer.capture(first.epoch, first.dirty[0], &mut [0; 512]);
    bed.buffer.finish_snapshot(first.epoch);
    overflow::attach(&bed.buffer, stub);
    overflow::free(&bed.buffer, lost);
    let mut value = Vec::new();
    assert_eq!(overflow::read(&bed.buffer, stub, &mut value), Ok(true));
    assert_eq!(value, [9; 2000]);
    let second = bed.buffer.cut();
    assert_eq!((second.dirty.len(), second.freed.len()), (2000_usize.div_ceil(472), 0));
    overflow::free(&bed.buffer, stub);
    assert_eq!(overflow::read(&bed.buffer, stub, &mut value), Ok(false), "the chain is gone");
    for page in second.dirty {
        bed.buffer.capture(second.epoch, page, &mut [0; 512]);
    }
    bed.buffer.finish_snapshot(second.epoch);
}
