//! The list of changed pages in a snapshot, whatever happens between its two halves.

use crate::buffer::page::Kind;
use crate::buffer::{Buffer, BufferOptions, Content, Leaf};
use crate::ids::{PageId, TreeId};
use fastrand::Rng;
use std::collections::BTreeSet;
use syncline_instrument::clock;

const PAGE_BYTES: usize = 512;

pub(super) fn buffer() -> Buffer {
    Buffer::new(&BufferOptions { page_bytes: 512, ..BufferOptions::default() })
}

pub(super) fn make(buffer: &Buffer) -> PageId {
    let page = buffer.allocate(Kind::Leaf).unwrap();
    let leaf = Leaf::empty(PAGE_BYTES, page, TreeId(5), &[], None);
    buffer.add_page(Content::Leaf(leaf));
    page
}

/// Makes and frees pages; `there` is kept up to date.
fn change(buffer: &Buffer, there: &mut BTreeSet<PageId>, random: &mut Rng, changes: u32) {
    for _ in 0..changes {
        let at = random.usize(0..=there.len());
        match there.iter().nth(at).copied() {
            Some(page) if random.bool() => {
                there.remove(&page);
                buffer.free(page);
            }
            _ => {
                there.insert(make(buffer));
            }
        }
    }
}

// Suspicion of 2026-11-28: a snapshot sorted and looked up all changed pages behind the closed gate.
#[test]
fn a_snapshot_contains_the_pages_at_its_beginning_though_they_change_before_its_end() {
    for seed in 0..300 {
        let (buffer, mut random) = (buffer(), Rng::with_seed(seed));
        let mut there = BTreeSet::new();
        let mut in_file: BTreeSet<PageId> = BTreeSet::new();
        for _ in 0..4 {
            let changes = random.u32(0..40);
            change(&buffer, &mut there, &mut random, changes);
            let (at_cut, begun) = (there.clone(), buffer.begin_snapshot());
            let changes = random.u32(0..40);
            change(&buffer, &mut there, &mut random, changes);
            let snapshot = buffer.end_snapshot(begun);
            let dirty: BTreeSet<PageId> = snapshot.dirty.iter().copied().collect();
            assert!(snapshot.dirty.is_sorted() && snapshot.freed.is_sorted());
            assert!(dirty.is_subset(&at_cut), "seed {seed}");
            for page in &snapshot.freed {
                assert!(!at_cut.contains(page), "seed {seed}");
                in_file.remove(page);
            }
            let mut image = Vec::new();
            for page in snapshot.dirty {
                buffer.capture(snapshot.epoch, page, &mut image);
                in_file.insert(page);
            }
            assert_eq!(in_file, at_cut, "seed {seed}");
            buffer.finish_snapshot(snapshot.epoch);
        }
    }
}

#[test]
fn the_first_half_of_a_snapshot_leaves_the_work_to_the_second() {
    let buffer = buffer();
    for _ in 0..20_000 {
        make(&buffer);
    }
    let before = clock::now();
    let begun = buffer.begin_snapshot();
    let middle = clock::now();
    let snapshot = buffer.end_snapshot(begun);
    let (first, second) = (middle - before, clock::now() - middle);
    println!("{} pages: {first} ns closed, {second} ns open", snapshot.dirty.len());
    assert_eq!(snapshot.dirty.len(), 20_000);
    // The list is taken as a whole: later changes go into a new one.
    assert_eq!(buffer.changed_pages().pages, 0);
}
