//! A leaf compared with a sorted map, on pages of 512 bytes; and damage that its check must find.

use crate::buffer::VersionWord;
use crate::buffer::{Leaf, NoRoom, RowCopy, page};
use crate::ids::{Csn, PageId, TreeId};
use std::collections::BTreeMap;

const PAGE_BYTES: usize = 512;

type Model = BTreeMap<Vec<u8>, (VersionWord, Vec<u8>)>;

/// The number of kinds of fences and keys.
const SHAPES: u32 = 5;

/// Keys between fences of several kinds: with and without a common prefix; the last two are numbers, few
/// enough that many are consecutive.
fn key(random: &mut fastrand::Rng, shape: u32) -> Vec<u8> {
    let mut key = match shape {
        0 => Vec::new(),
        1 => b"m".to_vec(),
        2 => b"prefix/long".to_vec(),
        3 => return random.u64(300..330).to_be_bytes().to_vec(),
        _ => return random.u64(250..280).to_be_bytes().to_vec(),
    };
    let bytes = random.usize(..9);
    key.extend((0..bytes).map(|_| random.u8(..3) * 127));
    key
}

fn empty(shape: u32) -> Leaf {
    let (first, behind) = (250_u64.to_be_bytes(), 280_u64.to_be_bytes());
    let (lower, upper): (&[u8], Option<&[u8]>) = match shape {
        0 | 3 => (b"", None),
        1 => (b"m", Some(b"n")),
        2 => (b"prefix/long", Some(b"prefix/lonh")),
        _ => (&first, Some(&behind)),
    };
    Leaf::empty(PAGE_BYTES, PageId(7), TreeId(3), lower, upper)
}

#[test]
fn a_leaf_covers_the_keys_between_its_fences() {
    let mut random = fastrand::Rng::with_seed(1);
    let (mut inside, mut outside) = (0, 0);
    for _ in 0..20_000 {
        let mut any = || {
            let shape = random.u32(..SHAPES);
            key(&mut random, shape)
        };
        let (mut one, mut other, key) = (any(), any(), any());
        if one > other {
            std::mem::swap(&mut one, &mut other);
        }
        let upper = random.bool().then_some(&*other).filter(|upper| one.as_slice() < *upper);
        let leaf = Leaf::empty(PAGE_BYTES, PageId(7), TreeId(3), &one, upper);
        let expected = one <= key && upper.is_none_or(|upper| key.as_slice() < upper);
        assert_eq!(leaf.covers(&key), expected, "{one:?} {key:?} {upper:?}");
        (inside, outside) = (inside + u32::from(expected), outside + u32::from(!expected));
    }
    assert!(inside > 1_000 && outside > 1_000, "{inside} {outside}");
}

fn compare(leaf: &Leaf, model: &Model, seed: u64) {
    assert_eq!(leaf.check(), Vec::<String>::new(), "seed {seed}");
    assert_eq!(leaf.count(), model.len(), "seed {seed}");
    let mut found = Vec::new();
    for (slot, (key, (word, value))) in model.iter().enumerate() {
        leaf.key_into(slot, &mut found);
        assert_eq!(&found, key, "seed {seed} slot {slot}");
        assert_eq!(leaf.word(slot), *word, "seed {seed} slot {slot}");
        assert_eq!(leaf.value(slot), value, "seed {seed} slot {slot}");
        assert_eq!(leaf.search(key), Ok(slot), "seed {seed}");
        assert!(leaf.compare_key(slot, key).is_eq());
    }
}

/// One random step on both; true if the leaf had no room.
fn step(random: &mut fastrand::Rng, shape: u32, leaf: &mut Leaf, model: &mut Model) -> bool {
    let key = key(random, shape);
    let at = model.range(..key.clone()).count();
    let before = leaf.counter();
    for lesser in 0..at {
        assert_eq!(leaf.search_behind(lesser, &key), leaf.search(&key));
    }
    match leaf.search(&key) {
        Err(slot) => {
            assert!(!model.contains_key(&key));
            assert_eq!(slot, at);
            let value: Vec<u8> = (0..random.usize(..60)).map(|_| random.u8(..)).collect();
            let word = VersionWord::of(Csn(random.u64(..1 << 40)));
            let has_room = leaf.has_room(&key, value.len());
            let outcome = leaf.insert(slot, &key, word, value.len());
            assert_eq!(outcome.is_ok(), has_room, "has_room predicts insert");
            if outcome == Err(NoRoom) {
                assert_eq!(leaf.counter(), before);
                return true;
            }
            assert_ne!(leaf.counter(), before);
            leaf.set_value(slot, &value);
            model.insert(key, (word, value));
        }
        Ok(slot) if random.u8(..4) == 0 => {
            leaf.remove(slot);
            model.remove(&key);
            assert_ne!(leaf.counter(), before);
        }
        Ok(slot) => {
            assert_eq!(slot, at);
            let row = model.get_mut(&key).expect("the model has what the leaf has");
            row.0 = if row.0.is_locked() { row.0.unlocked() } else { row.0.locked() };
            leaf.set_word(slot, row.0);
            let value: Vec<u8> = (0..random.usize(..80)).map(|_| random.u8(..)).collect();
            let has_room = leaf.has_room(&key, value.len());
            let outcome = leaf.reserve(slot, value.len());
            assert_eq!(outcome.is_ok(), has_room, "has_room predicts reserve");
            assert_eq!(leaf.counter(), before);
            if outcome.is_err() {
                return true;
            }
            leaf.set_value(slot, &value);
            row.1 = value;
        }
    }
    false
}

#[test]
fn a_leaf_behaves_like_a_sorted_map() {
    let mut refusals = 0;
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let shape = random.u32(..SHAPES);
        let (mut leaf, mut model) = (empty(shape), Model::new());
        for _ in 0..200 {
            refusals += u32::from(step(&mut random, shape, &mut leaf, &mut model));
            compare(&leaf, &model, seed);
        }
        let absent = key(&mut random, shape);
        let slot = model.range(..absent.clone()).count();
        if !model.contains_key(&absent) {
            assert_eq!(leaf.search(&absent), Err(slot), "seed {seed}");
        }
        let image = leaf.image().to_vec().into_boxed_slice();
        compare(&Leaf::from_image(image.into()), &model, seed);
    }
    assert!(refusals > 1000, "pages were full {refusals} times");
}

#[test]
fn copied_rows_read_as_in_their_leaf() {
    let mut copy = RowCopy::default();
    for seed in 0..100 {
        let mut random = fastrand::Rng::with_seed(seed);
        let shape = random.u32(..SHAPES);
        let (mut leaf, mut model) = (empty(shape), Model::new());
        for _ in 0..100 {
            step(&mut random, shape, &mut leaf, &mut model);
            let slots: Vec<usize> = (0..leaf.count()).filter(|_| random.bool()).collect();
            copy.begin(&leaf);
            for slot in &slots {
                copy.add(&leaf, *slot);
            }
            copy.copy(&leaf);
            assert_eq!(copy.len(), slots.len());
            let (mut key, mut expected) = (vec![9; 3], Vec::new());
            copy.begin_key(&mut key);
            for (row, slot) in slots.into_iter().enumerate() {
                let read = copy.read(row, &mut key);
                assert_eq!(read, (leaf.word(slot), leaf.value(slot)), "seed {seed}");
                assert_eq!(copy.word(row), leaf.word(slot), "seed {seed}");
                leaf.key_into(slot, &mut expected);
                assert_eq!(key, expected, "seed {seed}");
                assert_eq!(copy.slot(row), slot as u32, "seed {seed}");
            }
        }
    }
}

#[test]
fn both_halves_of_a_split_hold_all_rows_and_have_room() {
    let mut splits = 0;
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let shape = random.u32(..SHAPES);
        let (mut leaf, mut model) = (empty(shape), Model::new());
        while !step(&mut random, shape, &mut leaf, &mut model) {}
        let new = key(&mut random, shape);
        let Some(plan) = leaf.split_plan(&new, 100) else {
            continue;
        };
        splits += 1;
        let (left, right) = (leaf.left_half(&plan, PageId(7)), leaf.right_half(&plan, PageId(8)));
        assert!(left.counter() != right.counter() && left.counter() != leaf.counter());
        let behind = model.split_off(&plan.separator);
        compare(&left, &model, seed);
        compare(&right, &behind, seed);
        assert_eq!(left.upper_fence(), Some(plan.separator.as_slice()));
        assert_eq!(right.lower_fence(), plan.separator);
        assert_eq!(right.upper_fence(), leaf.upper_fence());
        let fitting = if new < plan.separator { &left } else { &right };
        assert!(fitting.has_room(&new, 100), "seed {seed}");
        if let Some(joined) = right.with_fences(leaf.lower_fence(), right.upper_fence()) {
            assert_eq!(joined.page(), PageId(8));
            compare(&joined, &behind, seed);
        }
    }
    assert!(splits > 200, "{splits} splits");
}

#[test]
fn sorted_inserts_leave_full_leaves_behind() {
    let mut leaf = Leaf::empty(PAGE_BYTES, PageId(1), TreeId(1), &[], None);
    let mut next = 0_u64;
    let full = loop {
        let key = next.to_be_bytes();
        let Err(slot) = leaf.search(&key) else { panic!("a new key") };
        if leaf.insert(slot, &key, VersionWord::of(Csn(1)), 20).is_err() {
            break key;
        }
        next += 1;
    };
    let plan = leaf.split_plan(&full, 20).expect("a full leaf can be split");
    assert_eq!(plan.left_count, leaf.count(), "all rows stay left");
    assert_eq!(leaf.right_half(&plan, PageId(2)).count(), 0);
}

#[test]
fn the_caps_make_every_split_possible() {
    for page_bytes in [512, 1024, 4096, 8192, 32768] {
        let (key_bytes, value_bytes) =
            (Leaf::key_bytes_max(page_bytes), Leaf::value_bytes_max(page_bytes));
        let key = |first: u8| {
            let mut key = vec![first; key_bytes];
            key[key_bytes - 1] = 1;
            key
        };
        // Fences of maximal length, with nothing in common.
        let (lower, upper) = (key(1), key(9));
        let mut leaf = Leaf::empty(page_bytes, PageId(1), TreeId(1), &lower, Some(&upper));
        assert!(leaf.has_room(&key(5), value_bytes), "{page_bytes}");
        assert_eq!(leaf.insert(0, &key(5), VersionWord::of(Csn(1)), value_bytes), Ok(()));
        leaf.set_value(0, &vec![3; value_bytes]);
        if !leaf.has_room(&key(6), value_bytes) {
            let plan = leaf.split_plan(&key(6), value_bytes).expect("two rows can be divided");
            assert_eq!(plan.left_count, 1);
            assert!(leaf.right_half(&plan, PageId(2)).has_room(&key(6), value_bytes));
        }
    }
}

#[test]
fn the_check_finds_planted_damage() {
    let mut leaf = empty(2);
    for number in 0..9_u8 {
        let key = [b"prefix/long".as_slice(), &[number, 7, 7, 7, number]].concat();
        leaf.insert(usize::from(number), &key, VersionWord::of(Csn(1)), 20).unwrap();
        leaf.set_value(usize::from(number), &[number; 20]);
    }
    leaf.remove(4);
    assert_eq!(leaf.check(), Vec::<String>::new());
    let fences = 40 + 11 + 11;
    let offsets = fences + 4 * 8;
    let row = usize::from(page::u16_at(leaf.image(), offsets + 2));
    let damages: [(&str, usize, u16, &str); 9] = [
        ("count too large", 28, 200, "slots end at"),
        ("count too small", 28, 7, "outside the rows"),
        ("prefix", 30, 4, "the prefix is"),
        ("lower fence above upper", 40, 0xFFFF, "the prefix is"),
        ("heap", 36, 300, "outside the rows"),
        ("dead bytes", 38, 1, "living and"),
        ("offset", offsets + 2, 3, "outside the rows"),
        ("two slots of one row", offsets + 2, page::u16_at(leaf.image(), offsets), "overlap"),
        ("length over capacity", row + 10, 99, "longer than its room"),
    ];
    for (what, at, value, expected) in damages {
        let mut image = leaf.image().to_vec().into_boxed_slice();
        page::put_u16(&mut image, at, value);
        let found = Leaf::from_image(image.into()).check();
        assert!(found.iter().any(|problem| problem.contains(expected)), "{what}: {found:?}");
    }
    let mut image = leaf.image().to_vec().into_boxed_slice();
    image.swap(fences + 2, fences + 4 + 2);
    let found = Leaf::from_image(image.into()).check();
    assert!(found.iter().any(|problem| problem.contains("not above the one before")), "{found:?}");
}
