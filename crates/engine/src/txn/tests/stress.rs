//! Threads that run freely: transfers between accounts, readers that add all of them up, and cuts
//! whose pages, put together again, must hold the same sum.

use super::fixture::{ALL, Shape, Store, TestSession};
use crate::access::btree::Tree;
use crate::access::btree::overflow::{self, OverflowPointer};
use crate::buffer::{Buffer, BufferOptions};
use crate::error::Result;
use crate::ids::PageId;
use crate::txn::action::PatchFailure;
use crate::txn::{Begin, TxnOptions, strip_ghosts};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const ACCOUNTS: u32 = 40;
const FIRST_SUM: i64 = 1_000;
/// At least so many cuts are taken beside the transfers.
const CUTS: u32 = 20;

/// A patch: adds to a number, which must not become negative.
fn add(patch: &[u8], old: &[u8], new: &mut Vec<u8>) -> std::result::Result<(), PatchFailure> {
    let sum = amount(old) + amount(patch);
    if sum < 0 {
        return Err(PatchFailure::Bound { column: 0 });
    }
    new.extend_from_slice(&sum.to_le_bytes());
    // Rows grow and shrink as they change, some into overflow pages.
    new.resize(8 + sum.unsigned_abs() as usize % 150, 0);
    Ok(())
}

fn amount(value: &[u8]) -> i64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&value[..8]);
    i64::from_le_bytes(bytes)
}

fn sum_of(session: &mut TestSession, trees: &[&Arc<Tree>]) -> Result<(i64, usize)> {
    let (mut sum, mut rows) = (0, 0);
    for tree in trees {
        session.scan(tree, ALL, |_, value| {
            sum += amount(value);
            rows += 1;
            ControlFlow::Continue(())
        })?;
    }
    Ok((sum, rows))
}

/// Moves an amount, one way or another.
fn transfer(session: &mut TestSession, store: &Store, random: &mut fastrand::Rng) -> Result<()> {
    let trees = [&store.tree, &store.other];
    let (from, to) = (random.u32(..ACCOUNTS), random.u32(..ACCOUNTS));
    let (from_tree, to_tree) = (trees[from as usize % 2], trees[to as usize % 2]);
    let (from, to) = (from.to_be_bytes(), to.to_be_bytes());
    let moved = random.i64(1..200);
    if random.bool() && from != to {
        // Blind: whether it fits is found out at the commit.
        session.patch(from_tree, &from, add, &(-moved).to_le_bytes())?;
        return session.patch(to_tree, &to, add, &moved.to_le_bytes());
    }
    let Some(left) = session.get(from_tree, &from)?.map(amount) else {
        return Ok(());
    };
    let moved = moved.min(left);
    if moved == left && from != to {
        // An account that is empty goes.
        session.delete(from_tree, &from)?;
    } else {
        session.put(from_tree, &from, &(left - moved).to_le_bytes())?;
    }
    match session.get(to_tree, &to)?.map(amount) {
        Some(there) => session.put(to_tree, &to, &(there + moved).to_le_bytes()),
        None => session.insert(to_tree, &to, &moved.to_le_bytes()),
    }
}

/// Transfers until there were enough of them and of cuts beside them.
fn change(store: &Store, seed: u64, cuts: &AtomicU32) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut session = store.session();
    let mut transfers = 0;
    while transfers < 3_000 || cuts.load(Ordering::Relaxed) < CUTS {
        transfers += 1;
        let before = random.clone();
        let run = session.run(Begin::Serializable, |session| {
            random = before.clone();
            transfer(session, store, &mut random)
        });
        match run {
            Ok(((), ticket)) if random.u8(..4) == 0 => session.wait(ticket).unwrap(),
            // Some blind transfers do not fit.
            Ok(_) | Err(crate::Error::Patch { .. } | crate::Error::Absent { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        store.core.log.release(store.core.log.horizon());
    }
}

fn look(store: &Store, seed: u64, stop: &AtomicBool) -> u32 {
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut session, mut looks) = (store.session(), 0);
    while !stop.load(Ordering::Relaxed) {
        let begin =
            [Begin::Serializable, Begin::Snapshot, Begin::ReadOnly, Begin::ReadOnlyAtHorizon]
                [random.usize(..4)];
        let seen = session.run(begin, |session| sum_of(session, &[&store.tree, &store.other]));
        assert_eq!(seen.unwrap().0.0, FIRST_SUM * i64::from(ACCOUNTS), "{begin:?}");
        looks += 1;
    }
    looks
}

/// Cuts again and again.
fn cut(store: &Store, cuts: &AtomicU32, stop: &AtomicBool) {
    let buffer = &store.core.buffer;
    let mut disk: BTreeMap<PageId, Vec<u8>> = BTreeMap::new();
    while !stop.load(Ordering::Relaxed) {
        let closed = store.core.close_gate().unwrap();
        let cut = buffer.cut();
        assert_eq!(store.core.log.published(), store.core.log.taken());
        let pointers = store.core.overflow_pointers_of_versions();
        drop(closed);
        for page in &cut.freed {
            disk.remove(page);
        }
        for page in &cut.dirty {
            let mut image = vec![0; buffer.page_bytes()];
            buffer.capture(cut.epoch, *page, &mut image);
            disk.insert(*page, image);
            std::thread::yield_now();
        }
        buffer.finish_snapshot(cut.epoch);
        assert_whole(store, &disk, cut.next_page, &pointers);
        cuts.fetch_add(1, Ordering::Relaxed);
    }
}

/// Opens the pages of a cut and adds all accounts up.
fn assert_whole(
    store: &Store,
    disk: &BTreeMap<PageId, Vec<u8>>,
    next_page: PageId,
    pointers: &[OverflowPointer],
) {
    let buffer = Buffer::new(&BufferOptions {
        page_bytes: store.core.buffer.page_bytes() as u32,
        ..BufferOptions::default()
    });
    for (page, image) in disk {
        buffer.install(*page, image.clone().into_boxed_slice());
    }
    buffer.set_next_page(next_page);
    for pointer in pointers {
        overflow::free(&buffer, *pointer);
    }
    let mut sum = 0;
    for tree in [&store.tree, &store.other] {
        let tree = Tree::existing(tree.id, tree.root());
        assert_eq!(tree.check(&buffer), Vec::<String>::new());
        strip_ghosts(&buffer, &tree).unwrap();
        let mut from = Some(Vec::new());
        while let Some(key) = from {
            let look = |leaf: &crate::buffer::Leaf, _| {
                for slot in 0..leaf.count() {
                    let word = leaf.word(slot);
                    assert!(!word.is_locked() && !word.is_ghost() && word.csn().0 > 0, "{word:?}");
                    let mut value = leaf.value(slot).to_vec();
                    if word.is_overflow() {
                        assert!(crate::txn::read::resolve(&buffer, &mut value));
                    }
                    sum += amount(&value);
                }
                leaf.upper_fence().map(<[u8]>::to_vec)
            };
            from = tree.view(&buffer, &key, look).unwrap();
        }
        assert_eq!(tree.check(&buffer), Vec::<String>::new());
    }
    assert_eq!(sum, FIRST_SUM * i64::from(ACCOUNTS));
}

#[test]
fn sums_hold_for_every_reader_and_in_every_cut() {
    let store = Store::new(Shape {
        miss_every: Some(40),
        pre_image_bytes_max: 2 << 10,
        options: TxnOptions { retries_max: 3, ..TxnOptions::default() },
        ..Shape::default()
    });
    store.apply(|session| {
        for account in 0..ACCOUNTS {
            let tree = [&store.tree, &store.other][account as usize % 2];
            session.insert(tree, &account.to_be_bytes(), &FIRST_SUM.to_le_bytes()).unwrap();
        }
    });
    let (stop, cuts) = (AtomicBool::new(false), AtomicU32::new(0));
    let looks = std::thread::scope(|scope| {
        let (store, stop, cuts) = (&store, &stop, &cuts);
        let changes: Vec<_> =
            (0..3).map(|seed| scope.spawn(move || change(store, seed, cuts))).collect();
        let looks = scope.spawn(move || look(store, 9, stop));
        let cutter = scope.spawn(move || cut(store, cuts, stop));
        // A cutter that has failed makes no more cuts to wait for.
        while !cutter.is_finished() && changes.iter().any(|change| !change.is_finished()) {
            std::thread::yield_now();
        }
        cuts.fetch_add(CUTS, Ordering::Relaxed);
        stop.store(true, Ordering::Relaxed);
        looks.join().unwrap()
    });
    let counts = store.core.counts();
    assert!(looks > 0, "{looks} looks, {counts:?}");
    assert!(counts.commits > 6_000 && counts.retries > 10, "{counts:?}");
    store.assert_clean();
}

/// The count by which every session's turns are known: nobody loses an increment, whatever is hot.
#[test]
fn increments_of_one_hot_row_are_all_there() {
    let store = Store::new(Shape {
        options: TxnOptions { retries_max: 2, ..TxnOptions::default() },
        ..Shape::default()
    });
    store.apply(|session| {
        let zero = 0_i64.to_le_bytes();
        session.put(&store.tree, b"hot", &zero).unwrap();
    });
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let store = &store;
            scope.spawn(move || {
                let mut session = store.session();
                for _ in 0..2_000 {
                    let run = session.run(Begin::Serializable, |session| {
                        if thread == 0 {
                            return session.patch(&store.tree, b"hot", add, &1_i64.to_le_bytes());
                        }
                        let now = session.get(&store.tree, b"hot")?.map_or(0, amount);
                        session.put(&store.tree, b"hot", &(now + 1).to_le_bytes())
                    });
                    run.unwrap();
                    store.core.log.release(store.core.log.horizon());
                }
            });
        }
    });
    assert_eq!(amount(&store.rows(&store.tree)[0].1), 6_000);
    store.assert_clean();
}
