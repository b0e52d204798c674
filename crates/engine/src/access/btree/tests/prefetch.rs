//! Batched prefetch: its results in a tree at rest, and reads and changes with its hints while leaves split,
//! merge and are freed.

use super::support::{TestTree, options};
use crate::ids::PageId;
use crate::planted_bug::{PlantedBug, with};
use std::collections::BTreeMap;

const THREADS: u64 = 3;

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

#[test]
fn at_rest_a_prefetch_returns_the_leaf_of_a_read() {
    let bed = TestTree::new(&options(None));
    let mut full = || panic!("no snapshot is running");
    for rows in [0, 1, 20, 3000] {
        (0..rows).for_each(|number| bed.put(&key(number * 7), &[1; 20], &mut full));
        // More than one batch, including absent keys.
        let keys: Vec<[u8; 8]> = (0..200).map(|number| key(number * 53)).collect();
        for (key, leaf) in keys.iter().zip(bed.prefetch_leaves(&keys)) {
            let found = bed.tree.view(&bed.buffer, key, |_, page| page);
            assert_eq!(leaf, found.ok(), "{rows} rows");
        }
    }
}

#[test]
fn a_prefetch_reports_no_misses_and_finds_nothing_in_a_dropped_tree() {
    let bed = TestTree::new(&options(Some(1)));
    assert!(bed.prefetch_leaves(&[key(1)])[0].is_some(), "forced misses are for reads");
    bed.tree.drop_pages(&bed.buffer);
    assert_eq!(bed.prefetch_leaves(&[key(1)]), [None]);
}

/// Each thread changes its own keys, interleaved with those of the others, and reads them by hints of any
/// age. Returns how many reads did not return the written value.
fn read_by_hints(seed: u64, steps: u64, plant: Option<PlantedBug>) -> u64 {
    let bed = TestTree::new(&options(seed.is_multiple_of(2).then_some(5)));
    let wrong: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let bed = &bed;
                scope.spawn(move || with(plant, || reader(bed, seed, thread, steps)))
            })
            .collect();
        let wrong = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        wrong.sum()
    });
    assert_eq!(bed.tree.check(&bed.buffer), Vec::<String>::new(), "seed {seed}");
    wrong
}

fn reader(bed: &TestTree, seed: u64, thread: u64, steps: u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(seed * 31 + thread);
    let mut full = || panic!("no snapshot is running");
    let mut own: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut hints: Vec<([u8; 8], Option<PageId>)> = Vec::new();
    let mut wrong = 0;
    for step in 0..steps {
        let number = random.u64(..2_000) * THREADS + thread;
        // Phases of growing and of shrinking, so that pages are freed and their numbers reused.
        if random.u8(..10) < if step / 300 % 2 == 0 { 2 } else { 8 } {
            bed.remove(&key(number), &mut full);
            own.remove(&number);
        } else {
            let value = vec![random.u8(..); random.usize(..60)];
            bed.put(&key(number), &value, &mut full);
            own.insert(number, value);
        }
        if step % 40 == 0 {
            let number = |_| key(random.u64(..2_000) * THREADS + thread);
            let keys: Vec<[u8; 8]> = (0..40).map(number).collect();
            let leaves = bed.prefetch_leaves(&keys);
            hints.truncate(200);
            hints.splice(0..0, keys.into_iter().zip(leaves));
        }
        let (key, hint) = hints[random.usize(..hints.len())];
        let expected = own.get(&u64::from_be_bytes(key));
        wrong += u64::from(bed.get_at(hint, &key).as_ref() != expected);
        if let Some(expected) = own.get_mut(&u64::from_be_bytes(key)) {
            for byte in &mut *expected {
                *byte ^= 1;
            }
            wrong += u64::from(!bed.overwrite_at(hint, &key, expected, &mut full));
            wrong += u64::from(bed.get_at(None, &key).as_ref() != Some(&*expected));
        }
    }
    wrong
}

#[test]
fn reads_by_hints_of_any_age_return_the_written_rows() {
    for seed in 0..6 {
        assert_eq!(read_by_hints(seed, 3000, None), 0, "seed {seed}");
    }
}

#[test]
fn a_read_that_trusts_its_hint_is_found() {
    let found = (0..20).any(|seed| read_by_hints(seed, 600, Some(PlantedBug::TrustHint)) > 0);
    assert!(found, "no seed detects a read from the wrong leaf");
}
