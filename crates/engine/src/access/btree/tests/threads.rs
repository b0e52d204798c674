//! Several threads in one tree: each finds its own writes, and scans see every row that stays.

use super::support::{TestTree, options};
use crate::buffer::VersionWord;
use crate::buffer::{Leaf, without_misses};
use crate::ids::{Csn, PageId};
use crate::planted_bug::{PlantedBug, with};
use crate::stop_on_drop::StopOnDrop;
use std::sync::atomic::{AtomicBool, Ordering};

const THREADS: u64 = 4;

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// Each thread inserts, removes and reinserts its own keys, interleaved with those of the others, and checks
/// at once whether they exist. Returns how many did not.
fn run(seed: u64, steps: u64, plant: Option<PlantedBug>) -> u64 {
    let bed = TestTree::new(&options(if seed.is_multiple_of(2) { None } else { Some(5) }));
    let mut full = || panic!("no snapshot is running");
    // Rows that stay, which every scan must see.
    (0..100).for_each(|number| bed.put(&key(number * 1000), &key(number), &mut full));
    let is_done = AtomicBool::new(false);
    let lost = std::thread::scope(|scope| {
        let changers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let bed = &bed;
                scope.spawn(move || with(plant, || changer(bed, seed, thread, steps)))
            })
            .collect();
        let scanner = scope.spawn(|| {
            let mut missing = 0;
            while !is_done.load(Ordering::Acquire) {
                missing += 100 - bed.scan().iter().filter(|row| stays(&row.0)).count() as u64;
                missing += 100 - bed.scan_back().iter().filter(|row| stays(&row.0)).count() as u64;
            }
            missing
        });
        let over = StopOnDrop::new(&is_done);
        let lost: u64 = changers.into_iter().map(|changer| changer.join().expect("no panic")).sum();
        drop(over);
        lost + scanner.join().expect("no panic")
    });
    assert_eq!(bed.tree.check(&bed.buffer), Vec::<String>::new(), "seed {seed}");
    lost
}

fn stays(key: &[u8]) -> bool {
    key.first_chunk().is_some_and(|key| u64::from_be_bytes(*key).is_multiple_of(1000))
}

fn changer(bed: &TestTree, seed: u64, thread: u64, steps: u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(seed * 31 + thread);
    let mut full = || panic!("no snapshot is running");
    let mut own = std::collections::BTreeMap::new();
    let mut lost = 0;
    for step in 0..steps {
        // Phases of growing and of shrinking, so that leaves are split and unlinked all the time.
        let removes = if step / 400 % 2 == 0 { 2 } else { 8 };
        let number = random.u64(..20_000) * 5 + 1 + thread;
        if random.u8(..10) < removes {
            let was_there = bed.remove(&key(number), &mut full);
            lost += u64::from(was_there != own.remove(&number).is_some());
        } else {
            let value = vec![random.u8(..); random.usize(..60)];
            bed.put(&key(number), &value, &mut full);
            own.insert(number, value);
        }
        if let Some((number, value)) = own.range(random.u64(..100_000)..).next() {
            lost += u64::from(bed.get(&key(*number)).as_ref() != Some(value));
        }
    }
    let gone =
        |(number, value): &(&u64, &Vec<u8>)| bed.get(&key(**number)).as_ref() != Some(*value);
    lost + own.iter().filter(gone).count() as u64
}

#[test]
fn threads_find_their_writes_while_leaves_split_and_merge() {
    for seed in 0..4 {
        assert_eq!(run(seed, 3000, None), 0, "seed {seed}");
    }
}

/// Writers through an old and a new handle of a tree split and unlink the same pages.
#[test]
fn two_handles_of_a_tree_change_its_structure_one_at_a_time() {
    for seed in 0..4 {
        let old = TestTree::new(&options(None));
        let new = old.renewed();
        let lost: u64 = std::thread::scope(|scope| {
            let changers: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let bed = if thread % 2 == 0 { &old } else { &new };
                    scope.spawn(move || changer(bed, seed, thread, 2000))
                })
                .collect();
            let lost = changers.into_iter().map(|changer| changer.join().expect("no panic"));
            lost.sum()
        });
        assert_eq!(lost, 0, "seed {seed}");
        assert_eq!(new.tree.check(&new.buffer), Vec::<String>::new());
    }
}

#[test]
fn a_split_that_unlatches_too_early_is_found() {
    let found = (0..40).any(|seed| run(seed, 1000, Some(PlantedBug::SplitUnlatched)) > 0);
    assert!(found, "no seed detects a write lost by a split");
}

/// A reader remembers page, slot and counter of a row, and later trusts the slot if the counter is unchanged.
/// Returns how often the slot held another row.
fn believe_hints(seed: u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(seed);
    let bed = TestTree::new(&options(None));
    let mut full = || panic!("no snapshot is running");
    let mut hints: Vec<(PageId, usize, u64, Vec<u8>)> = Vec::new();
    let (mut wrong, mut trusted) = (0, 0_u64);
    for _ in 0..2000 {
        let key = key(random.u64(..500)).to_vec();
        match random.u8(..4) {
            0 => drop(bed.remove(&key, &mut full)),
            1 => bed.put(&key, &[7; 30], &mut full),
            2 => {
                let look = |leaf: &Leaf, page| {
                    let slot = leaf.search(&key).ok()?;
                    Some((page, slot, leaf.counter(), key.clone()))
                };
                hints.extend(bed.tree.view(&bed.buffer, &key, look).expect("no misses"));
            }
            _ => {
                let index = random.usize(..hints.len().max(1));
                let Some((page, slot, counter, key)) = hints.get(index) else {
                    continue;
                };
                let is_other = bed.buffer.view_leaf(*page, &crate::buffer::pin(), |leaf| {
                    (leaf.counter() == *counter)
                        .then(|| *slot >= leaf.count() || leaf.compare_key(*slot, key).is_ne())
                });
                trusted += u64::from(is_other.flatten().is_some());
                wrong += u64::from(is_other.flatten() == Some(true));
            }
        }
    }
    assert!(trusted > 0, "seed {seed}: no hint was still valid");
    wrong
}

#[test]
fn an_unchanged_counter_means_unchanged_slots() {
    for seed in 0..60 {
        assert_eq!(believe_hints(seed), 0, "seed {seed}");
    }
}

#[test]
fn a_counter_that_is_not_renewed_is_found() {
    let found =
        (0..60).any(|seed| with(Some(PlantedBug::CounterReset), || believe_hints(seed)) > 0);
    assert!(found, "no seed detects a counter that is used twice");
}

#[test]
fn words_and_values_change_by_page_number_without_a_new_counter() {
    let bed = TestTree::new(&options(Some(2)));
    bed.put(b"k", b"value", &mut || panic!("no snapshot"));
    let look = |leaf: &Leaf, page: PageId| (page, leaf.counter());
    let (page, counter) = without_misses(|| bed.tree.view(&bed.buffer, b"k", look)).expect("off");
    let change = |leaf: &mut Leaf| {
        leaf.set_word(0, VersionWord::of(Csn(9)).locked());
        leaf.set_value(0, b"other");
    };
    assert_eq!(bed.buffer.change_leaf(page, &crate::buffer::pin(), change), Ok(Some(())));
    let seen = bed.buffer.view_leaf(page, &crate::buffer::pin(), |leaf| {
        (leaf.counter(), leaf.word(0), leaf.value(0).to_vec())
    });
    assert_eq!(seen, Some((counter, VersionWord::of(Csn(9)).locked(), b"other".to_vec())));
    assert_eq!(bed.buffer.view_leaf(PageId(77), &crate::buffer::pin(), |_| ()), None);
}
