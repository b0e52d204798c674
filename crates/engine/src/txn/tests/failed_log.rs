//! Calls that a session may still make after the log has failed, by itself or by a panic.

use super::behaviour::store;
use crate::Error;
use crate::error::PatchFailure;
use crate::txn::Begin;

/// A patch with a bug.
fn broken(_: &[u8], _: &[u8], _: &mut Vec<u8>) -> Result<(), PatchFailure> {
    panic!("a bug in a patch");
}

#[test]
fn a_panic_while_rows_are_locked_closes_the_log() {
    let store = store();
    store.apply(|session| session.put(&store.tree, b"b", b"1").unwrap());
    let mut session = store.session();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        session.begin(Begin::Serializable).unwrap();
        session.put(&store.tree, b"a", b"2").unwrap();
        session.patch(&store.tree, b"b", broken, b"").unwrap();
        session.commit()
    }));
    assert!(panicked.is_err());
    session.abort();
    assert!(matches!(session.begin(Begin::Serializable), Err(Error::Poisoned { .. })));
    session.begin(Begin::ReadOnly).unwrap();
    assert_eq!(session.get(&store.tree, b"a").unwrap(), None);
    assert_eq!(session.get(&store.tree, b"b").unwrap(), Some(&b"1"[..]));
    session.abort();
    assert!(store.core.gate.try_enter(0).is_some());
}

#[test]
fn after_the_log_has_failed_only_reads_of_stable_data_begin() {
    let store = store();
    store.apply(|session| session.put(&store.tree, b"a", b"1").unwrap());
    let mut session = store.session();
    session.begin(Begin::Serializable).unwrap();
    session.put(&store.tree, b"a", b"2").unwrap();
    // A number that is neither published nor given up.
    drop(store.core.log.reserve(1).unwrap().take());
    assert!(matches!(session.commit(), Err(Error::Poisoned { .. })));
    assert!(matches!(session.begin(Begin::Serializable), Err(Error::Poisoned { .. })));
    session.begin(Begin::ReadOnly).unwrap();
    assert_eq!(session.get(&store.tree, b"a").unwrap(), Some(&b"1"[..]));
    session.abort();
}
