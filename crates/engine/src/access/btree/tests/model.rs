//! One thread: a tree and a sorted map behave alike.

use super::support::{TestTree, options};
use crate::access::btree::Tree;
use crate::buffer::{Buffer, BufferOptions};
use crate::error::Error;
use crate::ids::{Csn, TreeId};
use std::collections::BTreeMap;

fn key(random: &mut fastrand::Rng, family: u32) -> Vec<u8> {
    match family {
        0 => random.u64(..400).to_be_bytes().to_vec(),
        1 => {
            let bytes = random.usize(..6);
            (0..bytes).map(|_| random.u8(..4) * 85).collect()
        }
        _ => {
            let mut key = vec![b'k'; random.usize(..60)];
            key.extend(random.u16(..60).to_be_bytes());
            key
        }
    }
}

fn value(random: &mut fastrand::Rng) -> Vec<u8> {
    let bytes = match random.u8(..10) {
        0 => random.usize(129..2000),
        1 => 0,
        _ => random.usize(..=128),
    };
    (0..bytes).map(|_| random.u8(..)).collect()
}

#[test]
fn a_tree_behaves_like_a_sorted_map() {
    let (mut grown, mut shrunk, mut emptied) = (0, 0, 0);
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let family = random.u32(..3);
        let bed = TestTree::new(&options([None, Some(2), Some(3), Some(7)][random.usize(..4)]));
        let mut model = BTreeMap::new();
        let mut full = || panic!("no snapshot is running");
        for phase in 0..6 {
            // Phases that mostly grow the tree, then phases that mostly shrink it.
            let (removes, steps) = if phase % 2 == 0 { (2, 300) } else { (10, 1000) };
            for _ in 0..steps {
                let key = key(&mut random, family);
                if random.u8(..10) < removes {
                    let was_there = bed.remove(&key, &mut full);
                    assert_eq!(was_there, model.remove(&key).is_some(), "seed {seed}");
                } else {
                    let value = value(&mut random);
                    bed.put(&key, &value, &mut full);
                    model.insert(key, value);
                }
            }
            let damage = bed.tree.check(&bed.buffer);
            assert_eq!(damage, Vec::<String>::new(), "seed {seed}");
            let pages = bed.buffer.pages_of(bed.tree.id).len();
            *(if phase % 2 == 0 { &mut grown } else { &mut shrunk }) += pages;
            let rows: Vec<_> = model.clone().into_iter().collect();
            assert_eq!(bed.scan(), rows, "seed {seed}");
            assert!(bed.scan_back().into_iter().rev().eq(rows), "seed {seed}");
            for _ in 0..50 {
                let key = key(&mut random, family);
                assert_eq!(bed.get(&key), model.get(&key).cloned(), "seed {seed}");
            }
        }
        let keys: Vec<_> = model.into_keys().collect();
        for key in &keys {
            assert!(bed.remove(key, &mut full));
        }
        assert_eq!(bed.scan(), [], "seed {seed}");
        emptied += bed.buffer.pages_of(bed.tree.id).len();
        assert_eq!(bed.tree.check(&bed.buffer), Vec::<String>::new(), "seed {seed}");
    }
    assert!(grown > 5000 && shrunk < grown, "{grown} pages grown, {shrunk} when shrunk");
    assert!(emptied < 2 * 60, "{emptied} pages in 60 trees without a row");
}

#[test]
fn a_tree_frees_its_pages_when_its_rows_are_deleted_in_order() {
    let bed = TestTree::new(&options(None));
    let mut full = || panic!("no snapshot is running");
    for number in 0..3000_u32 {
        bed.put(&number.to_be_bytes(), &[7; 40], &mut full);
    }
    let pages = bed.buffer.pages_of(bed.tree.id).len();
    assert!(pages > 250, "{pages} pages");
    for number in 0..3000_u32 {
        assert!(bed.remove(&number.to_be_bytes(), &mut full));
    }
    assert_eq!(bed.buffer.pages_of(bed.tree.id), [bed.tree.root()]);
    assert_eq!(bed.tree.check(&bed.buffer), Vec::<String>::new());
}

#[test]
fn a_dropped_tree_leaves_no_page_and_reads_get_a_miss() {
    let bed = TestTree::new(&options(None));
    for number in 0..500_u32 {
        bed.put(&number.to_be_bytes(), &vec![7; number as usize], &mut || panic!("no snapshot"));
    }
    bed.tree.drop_pages(&bed.buffer);
    assert_eq!(bed.buffer.pages_of(bed.tree.id), []);
    assert!(bed.tree.is_dropped());
    assert!(bed.tree.view(&bed.buffer, b"k", |_, _| ()).is_err());
    let snapshot = bed.buffer.take_snapshot();
    assert_eq!(snapshot.dirty, []);
    assert_eq!(snapshot.freed.len() as u64 + 1, snapshot.next_page.0);
}

#[test]
fn a_bulk_built_tree_is_sound_and_holds_its_rows() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let family = random.u32(..3);
        let count = [0, 1, 5, 50, 700][random.usize(..5)];
        let rows: BTreeMap<_, _> =
            (0..count).map(|_| (key(&mut random, family), value(&mut random))).collect();
        let buffer = Buffer::new(&options(None));
        let fill = random.u32(50..=100);
        let tree = Tree::bulk(TreeId(8), &buffer, rows.iter(), Csn(4), fill).expect("memory");
        assert_eq!(tree.check(&buffer), Vec::<String>::new(), "seed {seed}");
        let bed = TestTree::of(buffer, tree);
        assert!(bed.scan().into_iter().eq(rows.clone()), "seed {seed}");
        // It can be changed like any other tree.
        let mut model = rows;
        for _ in 0..200 {
            let (key, value) = (key(&mut random, family), value(&mut random));
            bed.put(&key, &value, &mut || panic!("no snapshot"));
            model.insert(key, value);
        }
        assert_eq!(bed.tree.check(&bed.buffer), Vec::<String>::new(), "seed {seed}");
        assert!(bed.scan().into_iter().eq(model), "seed {seed}");
    }
}

#[test]
fn a_refusal_at_the_memory_cap_changes_nothing() {
    for resident_bytes_max in [40_000, 60_000, 90_000, 150_000] {
        let bed = TestTree::new(&BufferOptions { resident_bytes_max, ..options(None) });
        let mut number = 0_u32;
        let refusal = loop {
            let room = bed.tree.make_room(&bed.buffer, &number.to_be_bytes(), 40);
            match room {
                Ok(()) => bed.put(&number.to_be_bytes(), &[3; 40], &mut || panic!("no snapshot")),
                Err(blocked) => break blocked,
            }
            number += 1;
        };
        let crate::access::btree::Blocked::Failed(Error::Capped { bytes_max, .. }) = refusal else {
            panic!("{refusal:?}")
        };
        assert_eq!(bytes_max, resident_bytes_max);
        assert!(bed.buffer.resident_bytes() <= resident_bytes_max + 20 * 800);
        assert_eq!(bed.tree.check(&bed.buffer), Vec::<String>::new());
        assert_eq!(bed.scan().len(), number as usize);
        // A bulk build that reaches the cap frees all its pages.
        let pages = bed.buffer.pages_of(TreeId(9)).len();
        let rows = (0..100_000_u32).map(|number| (number.to_be_bytes(), vec![1; 200]));
        assert!(Tree::bulk(TreeId(9), &bed.buffer, rows, Csn(1), 90).is_err());
        assert_eq!((pages, bed.buffer.pages_of(TreeId(9)).len()), (0, 0));
    }
}

#[test]
fn keys_over_the_cap_are_refused() {
    let bed = TestTree::new(&options(None));
    let longest = vec![1; Tree::key_bytes_max(&bed.buffer)];
    bed.put(&longest, b"value", &mut || panic!("no snapshot"));
    assert_eq!(bed.get(&longest).as_deref(), Some(b"value".as_slice()));
    let longer = vec![1; longest.len() + 1];
    assert!(bed.tree.make_room(&bed.buffer, &longer, 1).is_err());
}
