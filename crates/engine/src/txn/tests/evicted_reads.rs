//! Leaves that are not in memory when a transaction needs them.

use super::behaviour::conflict;
use super::fixture::{ALL, Store, StoreConfig, scan};
use crate::conflict::Conflict;
use crate::txn::Begin;
use crate::txn::scan::{Direction, Scan};
use std::ops::Bound;

/// A store with a row to read in one tree and a row to write in the other.
fn store() -> Store {
    let store = Store::new(StoreConfig { evicts: true, ..StoreConfig::default() });
    store.apply(|session| {
        session.put(&store.tree, b"read", b"1").unwrap();
        session.put(&store.other, b"written", b"1").unwrap();
    });
    store
}

fn evict_all(store: &Store) {
    let evictor = store.evictor.as_ref().expect("the store evicts");
    for page in store.core.buffer.pages_of(store.tree.id) {
        evictor.evict(&store.core.buffer, page);
    }
}

/// The leaves of [`wide_store`], at least.
const LEAVES: u64 = 100;

/// A store with rows in many leaves, all of them evicted.
fn wide_store() -> Store {
    let store = Store::new(StoreConfig { evicts: true, ..StoreConfig::default() });
    store.apply(|session| {
        for number in 0..2_000_u32 {
            session.put(&store.tree, &number.to_be_bytes(), &[7; 20]).unwrap();
        }
    });
    store.core.log.flush().unwrap();
    assert!(store.core.buffer.pages_of(store.tree.id).len() as u64 > LEAVES + LEAVES / 4);
    evict_all(&store);
    store
}

fn reads(store: &Store) -> u64 {
    store.evictor.as_ref().expect("the store evicts").reads()
}

#[test]
fn a_scan_reads_ahead_in_both_directions_and_not_beyond_its_range() {
    let (low, high) = (500_u32.to_be_bytes(), 519_u32.to_be_bytes());
    for direction in [Direction::Ascending, Direction::Descending] {
        let store = wide_store();
        let loaded = store.core.buffer.loaded();
        let mut session = store.session();
        session.begin(Begin::ReadOnly).unwrap();
        let rows = scan(&mut session, &store.tree, Scan { direction, ..ALL }).unwrap();
        assert_eq!(rows.len(), 2_000);
        let loaded = store.core.buffer.loaded() - loaded;
        assert!(loaded > LEAVES, "{loaded} pages");
        // One read for each parent at least, and a few until the scan reads far ahead.
        assert!(reads(&store) < loaded / 4, "{} reads of {loaded} pages", reads(&store));

        let store = wide_store();
        let mut session = store.session();
        session.begin(Begin::ReadOnly).unwrap();
        let lower = Bound::Included(&low[..]);
        let range = Scan { lower, upper: Bound::Included(&high[..]), direction, ..ALL };
        assert_eq!(scan(&mut session, &store.tree, range).unwrap().len(), 20);
        let loaded = store.core.buffer.loaded();
        assert!(loaded <= 6, "{loaded} pages for 20 rows");
    }
}

#[test]
fn a_commit_of_many_rows_loads_their_leaves_together() {
    let store = wide_store();
    let mut session = store.session();
    session.begin(Begin::Serializable).unwrap();
    for number in (0..2_000_u32).step_by(100) {
        session.put(&store.tree, &number.to_be_bytes(), &[8; 20]).unwrap();
    }
    let ticket = session.commit().unwrap();
    session.wait(ticket).unwrap();
    assert_eq!((reads(&store), store.core.buffer.loaded()), (1, 20));
    store.core.log.flush().unwrap();
}

#[test]
fn a_commit_loads_a_leaf_it_has_read_whose_keys_have_changed_since() {
    let store = store();
    let mut session = store.session();
    session.begin(Begin::Serializable).unwrap();
    assert_eq!(session.get(&store.tree, b"read").unwrap(), Some(&b"1"[..]));
    session.put(&store.other, b"written", b"2").unwrap();
    store.apply(|other| other.insert(&store.tree, b"neighbour", b"1").unwrap());
    evict_all(&store);
    let loaded = store.core.buffer.loaded();
    let ticket = session.commit().unwrap();
    session.wait(ticket).unwrap();
    assert_eq!(store.core.buffer.loaded(), loaded + 1);
    store.assert_clean();
}

#[test]
fn a_commit_needs_no_leaf_it_has_read_that_left_memory_unchanged() {
    let store = store();
    let mut session = store.session();
    session.begin(Begin::Serializable).unwrap();
    assert_eq!(session.get(&store.tree, b"read").unwrap(), Some(&b"1"[..]));
    session.put(&store.other, b"written", b"2").unwrap();
    evict_all(&store);
    let loaded = store.core.buffer.loaded();
    let ticket = session.commit().unwrap();
    session.wait(ticket).unwrap();
    assert_eq!(store.core.buffer.loaded(), loaded);
    store.assert_clean();
}

#[test]
fn a_row_that_changed_in_an_evicted_leaf_is_a_conflict() {
    let store = store();
    let mut session = store.session();
    session.begin(Begin::Serializable).unwrap();
    assert_eq!(session.get(&store.tree, b"read").unwrap(), Some(&b"1"[..]));
    session.put(&store.other, b"written", b"2").unwrap();
    store.apply(|other| {
        other.insert(&store.tree, b"neighbour", b"1").unwrap();
        other.put(&store.tree, b"read", b"2").unwrap();
    });
    evict_all(&store);
    assert_eq!(conflict(session.commit()), Conflict::ReadChanged);
    store.assert_clean();
}
