//! Reads of leaves that leave memory before the commit that depends on them.

use super::behaviour::conflict;
use super::fixture::{Store, StoreConfig};
use crate::conflict::Conflict;
use crate::txn::Begin;

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
