//! Scans with a limit read a leaf only a few times, however many deleted rows precede their results.

use super::fixture::{ALL, Store, StoreConfig, TestSession, scan};
use crate::txn::Begin;
use crate::txn::scan::{Direction, LEAVES_READ, Scan};
use std::ops::Bound;

const ROWS: u32 = 600;

fn rows(store: &Store, numbers: &(impl Iterator<Item = u32> + Clone)) {
    store.apply(|session| {
        for number in numbers.clone() {
            session.put(&store.tree, &number.to_be_bytes(), b"value").unwrap();
        }
    });
}

fn delete(store: &Store, numbers: &(impl Iterator<Item = u32> + Clone)) {
    store.apply(|session| {
        for number in numbers.clone() {
            session.delete(&store.tree, &number.to_be_bytes()).unwrap();
        }
    });
}

/// The first rows, and the number of leaf reads to find them.
fn first(
    session: &mut TestSession,
    store: &Store,
    (direction, limit): (Direction, usize),
) -> (Vec<u32>, u64) {
    let before = LEAVES_READ.get();
    let range = Scan { direction, limit, ..ALL };
    let rows = scan(session, &store.tree, range).unwrap();
    let numbers = rows.iter().map(|(key, _)| {
        let key = key[..].try_into().expect("a number");
        u32::from_be_bytes(key)
    });
    (numbers.collect(), LEAVES_READ.get() - before)
}

const WAYS: [(Direction, u32); 2] = [(Direction::Ascending, 0), (Direction::Descending, 1)];

/// A queue whose head, at the end from which the scan comes, is deleted while a reader is idle.
fn queue(direction: Direction) -> (Store, TestSession, u64) {
    let store = Store::new(StoreConfig::default());
    for from in [0, 200, 400] {
        rows(&store, &(from..from + 200));
    }
    let leaves = store.core.buffer.pages_of(store.tree.id).len() as u64;
    let mut idle = store.session();
    idle.begin(Begin::ReadOnly).unwrap();
    match direction {
        Direction::Ascending => delete(&store, &(0..ROWS - 5)),
        Direction::Descending => delete(&store, &(5..ROWS)),
    }
    (store, idle, leaves)
}

/// D13: a scan with a limit descended once for each ghost kept by an idle reader.
#[test]
fn readers_of_a_deleted_head_read_each_leaf_once() {
    for (direction, _) in WAYS {
        let (store, mut idle, leaves) = queue(direction);
        for begin in [Begin::ReadOnly, Begin::Snapshot, Begin::Serializable] {
            let mut session = store.session();
            session.begin(begin).unwrap();
            let (rows, reads) = first(&mut session, &store, (direction, 1));
            let expected = if direction == Direction::Ascending { ROWS - 5 } else { 4 };
            assert_eq!(rows, [expected], "{begin:?}, {direction:?}");
            assert!(reads <= leaves, "{begin:?}, {direction:?}: {reads} leaf reads");
            session.abort();
        }
        // The idle reader still sees these rows, and reads nothing beyond the first.
        let (rows, reads) = first(&mut idle, &store, (direction, 1));
        let at_end = if direction == Direction::Ascending { 0 } else { ROWS - 1 };
        assert_eq!((rows, reads), (vec![at_end], 1), "{direction:?}");
    }
}

/// D13: the ghosts of rows that were inserted and deleted after the reader's begin are not rows for it.
#[test]
fn rows_inserted_and_deleted_after_a_reader_cost_it_few_reads_per_leaf() {
    for (direction, _) in WAYS {
        let store = Store::new(StoreConfig::default());
        rows(&store, &[0, ROWS].into_iter());
        let mut reader = store.session();
        reader.begin(Begin::ReadOnly).unwrap();
        for from in [1, 200, 400] {
            rows(&store, &(from..(from + 200).min(ROWS)));
        }
        let leaves = store.core.buffer.pages_of(store.tree.id).len() as u64;
        delete(&store, &(1..ROWS));
        let (rows, reads) = first(&mut reader, &store, (direction, 2));
        let expected = match direction {
            Direction::Ascending => [0, ROWS],
            Direction::Descending => [ROWS, 0],
        };
        assert_eq!(rows, expected);
        assert!(reads <= leaves + 10, "{reads} reads of {leaves} leaves");
    }
}

/// D13: a transaction that deletes rows from a queue scans past its own deletes.
#[test]
fn rows_deleted_by_the_transaction_itself_cost_few_reads_per_leaf() {
    for (direction, _) in WAYS {
        let store = Store::new(StoreConfig::default());
        for from in [0, 200, 400] {
            rows(&store, &(from..from + 200));
        }
        let leaves = store.core.buffer.pages_of(store.tree.id).len() as u64;
        let mut session = store.session();
        session.begin(Begin::Serializable).unwrap();
        for number in 1..ROWS - 1 {
            session.delete(&store.tree, &number.to_be_bytes()).unwrap();
        }
        let (rows, reads) = first(&mut session, &store, (direction, 2));
        assert_eq!(rows.len(), 2);
        assert!(reads <= leaves + 10, "{reads} reads of {leaves} leaves");
        session.abort();
    }
}

/// A limit takes no more of a leaf than it may need: a long leaf is not copied for one row.
#[test]
fn a_limit_ends_within_a_leaf_and_goes_on_behind_it() {
    let store = Store::new(StoreConfig::default());
    rows(&store, &(0..100));
    let mut session = store.session();
    session.begin(Begin::Snapshot).unwrap();
    let mut from = None;
    let mut all = Vec::new();
    loop {
        let edge = from.map(u32::to_be_bytes);
        let range = Scan {
            lower: edge.as_ref().map_or(Bound::Unbounded, |key| Bound::Excluded(&key[..])),
            limit: 3,
            ..ALL
        };
        let rows = scan(&mut session, &store.tree, range).unwrap();
        let Some((last, _)) = rows.last() else { break };
        from = Some(u32::from_be_bytes(last[..].try_into().unwrap()));
        all.extend(rows.into_iter().map(|(key, _)| key));
    }
    assert_eq!(all.len(), 100);
    session.abort();
}
