//! Limits: a value at the limit is accepted, one beyond it is refused with a clear error.

use super::behaviour::{conflict, store};
use super::fixture::{Store, StoreConfig, append, resize};
use crate::Error;
use crate::conflict::Conflict;
use crate::txn::{Begin, TxnOptions};

#[test]
fn the_cap_on_old_versions_ends_the_oldest_reader_only() {
    let store = Store::new(StoreConfig {
        options: TxnOptions { version_bytes_max: 64 << 10, ..TxnOptions::default() },
        ..StoreConfig::default()
    });
    store.apply(|session| session.put(&store.tree, b"a", b"first").unwrap());
    let (mut old, mut young) = (store.session(), store.session());
    old.begin(Begin::ReadOnly).unwrap();
    let mut session = store.session();
    for round in 0..3_000_u32 {
        if round == 2_990 {
            young.begin(Begin::Snapshot).unwrap();
            young.get(&store.tree, b"a").unwrap();
        }
        session.begin(Begin::Serializable).unwrap();
        session.put(&store.tree, b"a", &[round as u8; 50]).unwrap();
        let ticket = session.commit().unwrap();
        session.wait(ticket).unwrap();
    }
    assert_eq!(conflict(old.get(&store.tree, b"a").map(|_| ())), Conflict::SnapshotTooOld);
    old.abort();
    assert_eq!(young.get(&store.tree, b"a").unwrap(), Some(&[173; 50][..]));
    young.abort();
    assert!(store.core.version_bytes() < 128 << 10);
    assert_eq!(store.core.counts().conflicts_by(Conflict::SnapshotTooOld), 1);
    store.assert_clean();
}

#[test]
fn errors_about_keys_values_and_sessions_are_clear() {
    let store = Store::new(StoreConfig {
        options: TxnOptions { value_bytes_max: 100, key_bytes_max: 20, ..TxnOptions::default() },
        ..StoreConfig::default()
    });
    let mut session = store.session();
    session.begin(Begin::Serializable).unwrap();
    let error = session.put(&store.tree, &[0; 21], b"").unwrap_err();
    assert_eq!(
        error.to_string(),
        "a key of 21 bytes is over the cap of 20; make it shorter or raise the cap"
    );
    let error = session.put(&store.tree, &[0; 20], &[0; 101]).unwrap_err();
    assert!(error.to_string().starts_with("a value of 101 bytes"), "{error}");
    // D8: a write that no record can hold with the others is refused at once.
    let refused = (0..1_000_u32).find_map(|key| {
        let put = session.put(&store.tree, &key.to_be_bytes(), &[1; 100]);
        put.err().map(|error| (key, error))
    });
    let (key, error) = refused.unwrap();
    let fit = (64 << 10) / (1 + 1 + 1 + 4 + 1 + 100);
    assert!(matches!(error, Error::TooLarge { .. }) && key == fit, "{key}: {error}");
    session.commit().unwrap();
    store.assert_clean();
}

/// Sets a row's length by a patch, in a separate transaction.
fn resize_one(session: &mut super::fixture::TestSession, store: &Store, key: &[u8], bytes: u16) {
    let [low, high] = bytes.to_le_bytes();
    session.patch(&store.tree, key, resize, &[low, high, 1]).unwrap();
}

#[test]
fn a_commit_that_fits_into_a_record_is_accepted_whatever_the_session_wrote_before() {
    let store = store();
    let keys: Vec<[u8; 2]> = (0..40).map(|key: u16| key.to_be_bytes()).collect();
    store.apply(|session| {
        let put = |key| session.put(&store.tree, key, b"short").unwrap();
        keys.iter().map(|key| &key[..]).for_each(put);
    });
    let mut session = store.session();
    // Long rows: one made by a patch, and one that is put.
    session.begin(Begin::Serializable).unwrap();
    resize_one(&mut session, &store, &keys[0], 30_000);
    session.put(&store.other, b"long", &vec![1; 30_000]).unwrap();
    session.commit().unwrap();
    // Many short rows, each of which could have been as long.
    session.begin(Begin::Serializable).unwrap();
    for key in &keys[1..] {
        session.patch(&store.tree, key, append, b"er").unwrap();
    }
    session.commit().unwrap();
    // Many short rows and a long one, in each order.
    for long in [1, 20, 39] {
        session.begin(Begin::Serializable).unwrap();
        for (at, key) in keys.iter().enumerate().skip(1) {
            resize_one(&mut session, &store, key, if at == long { 50_000 } else { 30 });
        }
        session.commit().unwrap();
    }
    // A value that is overwritten before the commit is not part of its record.
    session.begin(Begin::Serializable).unwrap();
    for round in 0..10 {
        session.put(&store.other, b"over", &vec![round; 20_000]).unwrap();
    }
    session.commit().unwrap();
    drop(session);
    store.assert_clean();
}

#[test]
fn the_longest_record_is_accepted_and_one_byte_more_is_not() {
    let store = store();
    store.apply(|session| session.put(&store.tree, b"row", b"").unwrap());
    let mut session = store.session();
    // Kind, tree, key's length, key, value's length in three digits.
    let most = (64 << 10) - (1 + 1 + 1 + 3 + 3);
    for bytes in [most - 1, most, most + 1, most + 40] {
        for is_patched in [false, true] {
            if is_patched && bytes > usize::from(u16::MAX) {
                continue;
            }
            session.begin(Begin::Serializable).unwrap();
            let result = if is_patched {
                resize_one(&mut session, &store, b"row", bytes as u16);
                session.commit().map(drop)
            } else {
                let put = session.put(&store.tree, b"row", &vec![2; bytes]);
                put.and(session.commit().map(drop))
            };
            if bytes <= most {
                result.unwrap();
            } else {
                assert!(matches!(result, Err(Error::TooLarge { .. })), "{bytes}: {result:?}");
            }
        }
    }
    drop(session);
    store.assert_clean();
}
