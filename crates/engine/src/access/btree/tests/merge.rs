//! Poor leaves are merged: pages are freed when most rows are deleted, and nothing else changes.

use super::support::{TestTree, options};
use crate::access::btree::Tree;
use crate::buffer::{Buffer, BufferOptions};
use crate::ids::{Csn, TreeId};
use std::collections::BTreeMap;

/// Pages of a tree that is built from these rows in full pages.
fn ideal(options: &BufferOptions, rows: &BTreeMap<Vec<u8>, Vec<u8>>) -> usize {
    let buffer = Buffer::new(options);
    let tree = Tree::bulk(TreeId(5), &buffer, rows.iter(), Csn(1), 100).expect("memory");
    buffer.pages_of(tree.id).len()
}

/// Deletes a random nine of ten rows. Returns the pages then, and the ideal number.
fn pages_left(seed: u64, page_bytes: u32, misses: Option<u32>) -> (usize, usize) {
    let options = BufferOptions { page_bytes, ..options(misses) };
    let (bed, mut random) = (TestTree::new(&options), fastrand::Rng::with_seed(seed));
    let mut full = || panic!("no snapshot is running");
    let mut rows = BTreeMap::new();
    for _ in 0..20_000 {
        let key = random.u64(..).to_be_bytes().to_vec();
        let value = vec![random.u8(..); random.usize(..40)];
        bed.put(&key, &value, &mut full);
        rows.insert(key, value);
    }
    let mut keys: Vec<_> = rows.keys().cloned().collect();
    random.shuffle(&mut keys);
    for key in &keys[..keys.len() / 10 * 9] {
        assert!(bed.remove(key, &mut full));
        rows.remove(key);
    }
    assert_eq!(bed.tree.check(&bed.buffer), Vec::<String>::new());
    assert!(bed.scan().into_iter().eq(rows.clone()), "seed {seed}");
    let left = bed.buffer.pages_of(bed.tree.id).len();
    (left, ideal(&options, &rows))
}

#[test]
fn pages_are_freed_when_nine_of_ten_rows_are_deleted() {
    for (seed, page_bytes, misses) in [(1, 512, None), (2, 1024, Some(7)), (3, 8192, None)] {
        let (left, ideal) = pages_left(seed, page_bytes, misses);
        assert!(left < 2 * ideal, "{page_bytes}: {left} pages, ideal {ideal}");
    }
}

#[test]
fn a_tree_without_rows_is_only_its_root() {
    let (bed, mut random) = (TestTree::new(&options(None)), fastrand::Rng::with_seed(4));
    let mut full = || panic!("no snapshot is running");
    let mut keys: Vec<_> = (0..3_000_u32).map(u32::to_be_bytes).collect();
    for key in &keys {
        bed.put(key, &[7; 20], &mut full);
    }
    random.shuffle(&mut keys);
    assert!(keys.iter().all(|key| bed.remove(key, &mut full)));
    assert_eq!(bed.buffer.pages_of(bed.tree.id), [bed.tree.root()]);
}
