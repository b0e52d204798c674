//! Free-running threads: transfers between accounts, readers that sum them up, and snapshots whose pages,
//! reopened, must hold the same sum.

use super::fixture::{ALL, Store, StoreConfig, TestSession};
use crate::access::btree::Tree;
use crate::access::btree::extents::{self, ExtentPointer};
use crate::buffer::{Buffer, BufferOptions};
use crate::error::PatchFailure;
use crate::error::Result;
use crate::ids::PageId;
use crate::txn::{Begin, TxnOptions, strip_ghosts};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const ACCOUNTS: u32 = 40;
const FIRST_SUM: i64 = 1_000;
/// The least number of snapshots during the transfers.
const SNAPSHOTS: u32 = 20;

/// A patch that adds to a number, which must not become negative.
fn add(patch: &[u8], old: &[u8], new: &mut Vec<u8>) -> std::result::Result<(), PatchFailure> {
    let sum = amount(old) + amount(patch);
    if sum < 0 {
        return Err(PatchFailure::Bound { column: 0 });
    }
    new.extend_from_slice(&sum.to_le_bytes());
    // Rows grow and shrink as they change, some into extents.
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

/// Transfers an amount in one of several ways.
fn transfer(session: &mut TestSession, store: &Store, random: &mut fastrand::Rng) -> Result<()> {
    let trees = [&store.tree, &store.other];
    let (from, to) = (random.u32(..ACCOUNTS), random.u32(..ACCOUNTS));
    let (from_tree, to_tree) = (trees[from as usize % 2], trees[to as usize % 2]);
    let (from, to) = (from.to_be_bytes(), to.to_be_bytes());
    let moved = random.i64(1..200);
    if random.bool() && from != to {
        // Blind: the commit checks whether it fits.
        session.patch(from_tree, &from, add, &(-moved).to_le_bytes())?;
        return session.patch(to_tree, &to, add, &moved.to_le_bytes());
    }
    let Some(left) = session.get(from_tree, &from)?.map(amount) else {
        return Ok(());
    };
    let moved = moved.min(left);
    if moved == left && from != to {
        // An empty account is deleted.
        session.delete(from_tree, &from)?;
    } else {
        session.put(from_tree, &from, &(left - moved).to_le_bytes())?;
    }
    match session.get(to_tree, &to)?.map(amount) {
        Some(there) => session.put(to_tree, &to, &(there + moved).to_le_bytes()),
        None => session.insert(to_tree, &to, &moved.to_le_bytes()),
    }
}

/// Transfers until there were enough transfers and snapshots.
fn change(store: &Store, seed: u64, snapshots: &AtomicU32) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut session = store.session();
    let mut transfers = 0;
    while transfers < 3_000 || snapshots.load(Ordering::Relaxed) < SNAPSHOTS {
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
        store.core.log.release(store.core.log.durable_lsn());
    }
}

fn sum_repeatedly(store: &Store, seed: u64, stop: &AtomicBool) -> u32 {
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut session, mut sums) = (store.session(), 0);
    while !stop.load(Ordering::Relaxed) {
        let begin = [Begin::Serializable, Begin::Snapshot, Begin::ReadOnly, Begin::ReadOnlyDurable]
            [random.usize(..4)];
        let sum = session.run(begin, |session| sum_of(session, &[&store.tree, &store.other]));
        assert_eq!(sum.unwrap().0.0, FIRST_SUM * i64::from(ACCOUNTS), "{begin:?}");
        sums += 1;
    }
    sums
}

/// Takes snapshots again and again.
fn take_snapshots(store: &Store, snapshots: &AtomicU32, stop: &AtomicBool) {
    let buffer = &store.core.buffer;
    let mut disk: BTreeMap<PageId, Vec<u8>> = BTreeMap::new();
    while !stop.load(Ordering::Relaxed) {
        let closed = store.core.close_gate().unwrap();
        let snapshot = buffer.take_snapshot();
        assert_eq!(store.core.log.published(), store.core.log.taken());
        let pointers = store.core.extents_of_versions();
        drop(closed);
        for page in &snapshot.freed {
            disk.remove(page);
        }
        for page in &snapshot.dirty {
            let mut image = Vec::new();
            buffer.capture(snapshot.epoch, *page, &mut image);
            disk.insert(*page, image);
            std::thread::yield_now();
        }
        buffer.finish_snapshot(snapshot.epoch);
        assert_whole(store, &disk, snapshot.next_page, &pointers);
        snapshots.fetch_add(1, Ordering::Relaxed);
    }
}

/// Opens the pages of a snapshot and sums up all accounts.
fn assert_whole(
    store: &Store,
    disk: &BTreeMap<PageId, Vec<u8>>,
    next_page: PageId,
    pointers: &[ExtentPointer],
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
        extents::free(&buffer, *pointer);
    }
    let mut sum = 0;
    for tree in [&store.tree, &store.other] {
        let tree = Tree::existing(tree.id, tree.root());
        assert_eq!(tree.check(&buffer), Vec::<String>::new());
        strip_ghosts(&buffer, &tree).unwrap();
        let mut from = Some(Vec::new());
        while let Some(key) = from {
            let add_leaf = |leaf: &crate::buffer::Leaf, _| {
                for slot in 0..leaf.count() {
                    let word = leaf.word(slot);
                    assert!(!word.is_locked() && !word.is_ghost() && word.csn().0 > 0, "{word:?}");
                    let mut value = leaf.value(slot).to_vec();
                    if word.is_overflow() {
                        assert!(crate::txn::read::resolve(&buffer, &mut value).unwrap());
                    }
                    sum += amount(&value);
                }
                leaf.upper_fence().map(<[u8]>::to_vec)
            };
            from = tree.view(&buffer, &key, add_leaf).unwrap();
        }
        assert_eq!(tree.check(&buffer), Vec::<String>::new());
    }
    assert_eq!(sum, FIRST_SUM * i64::from(ACCOUNTS));
}

#[test]
fn sums_hold_for_every_reader_and_in_every_snapshot() {
    let store = Store::new(StoreConfig {
        miss_every: Some(40),
        pre_image_bytes_max: 2 << 10,
        options: TxnOptions { retries_max: 3, ..TxnOptions::default() },
        ..StoreConfig::default()
    });
    store.apply(|session| {
        for account in 0..ACCOUNTS {
            let tree = [&store.tree, &store.other][account as usize % 2];
            session.insert(tree, &account.to_be_bytes(), &FIRST_SUM.to_le_bytes()).unwrap();
        }
    });
    let (stop, snapshots) = (AtomicBool::new(false), AtomicU32::new(0));
    let sums = std::thread::scope(|scope| {
        let (store, stop, snapshots) = (&store, &stop, &snapshots);
        let changes: Vec<_> =
            (0..3).map(|seed| scope.spawn(move || change(store, seed, snapshots))).collect();
        let sums = scope.spawn(move || sum_repeatedly(store, 9, stop));
        let snapshot_thread = scope.spawn(move || take_snapshots(store, snapshots, stop));
        // A failed snapshot thread takes no more snapshots to wait for.
        while !snapshot_thread.is_finished() && changes.iter().any(|change| !change.is_finished()) {
            std::thread::yield_now();
        }
        snapshots.fetch_add(SNAPSHOTS, Ordering::Relaxed);
        stop.store(true, Ordering::Relaxed);
        sums.join().unwrap()
    });
    let counts = store.core.counts();
    assert!(sums > 0, "{sums} sums, {counts:?}");
    assert!(counts.commits > 6_000 && counts.retries > 10, "{counts:?}");
    store.assert_clean();
}

/// Each session increments one hot row; no increment may be lost, whatever the contention.
#[test]
fn increments_of_one_hot_row_are_all_there() {
    let store = Store::new(StoreConfig {
        options: TxnOptions { retries_max: 2, ..TxnOptions::default() },
        ..StoreConfig::default()
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
                    store.core.log.release(store.core.log.durable_lsn());
                }
            });
        }
    });
    assert_eq!(amount(&store.rows(&store.tree)[0].1), 6_000);
    store.assert_clean();
}
