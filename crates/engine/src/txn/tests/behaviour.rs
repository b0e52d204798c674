//! Tests of one behaviour each.

use super::fixture::{ALL, Store, StoreConfig, append, resize, scan, scan_all};
use crate::Error;
use crate::conflict::Conflict;
use crate::error::PatchFailure;
use crate::ids::Csn;
use crate::own_process::in_own_process;
use crate::txn::Begin;
use crate::txn::scan::{Direction, Scan};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

pub(super) fn store() -> Store {
    Store::new(StoreConfig::default())
}

pub(super) fn conflict<T: std::fmt::Debug>(result: crate::Result<T>) -> Conflict {
    match result {
        Err(Error::Conflict(conflict)) => conflict,
        other => panic!("not a conflict: {other:?}"),
    }
}

#[test]
fn a_session_reads_its_own_writes_and_others_only_committed_ones() {
    let store = store();
    let (mut one, mut other) = (store.session(), store.session());
    one.begin(Begin::Serializable).unwrap();
    one.insert(&store.tree, b"a", b"1").unwrap();
    one.put(&store.tree, b"b", b"2").unwrap();
    assert_eq!(one.get(&store.tree, b"a").unwrap(), Some(&b"1"[..]));
    one.delete(&store.tree, b"a").unwrap();
    assert_eq!(one.get(&store.tree, b"a").unwrap(), None);
    one.insert(&store.tree, b"a", b"3").unwrap();
    one.patch(&store.tree, b"a", append, b"4").unwrap();
    assert_eq!(one.get(&store.tree, b"a").unwrap(), Some(&b"34"[..]));
    other.begin(Begin::Serializable).unwrap();
    assert_eq!(other.get(&store.tree, b"a").unwrap(), None);
    other.abort();
    let ticket = one.commit().unwrap();
    one.wait(ticket).unwrap();
    other.begin(Begin::ReadOnly).unwrap();
    assert_eq!(other.get(&store.tree, b"a").unwrap(), Some(&b"34"[..]));
    assert_eq!(other.get(&store.tree, b"b").unwrap(), Some(&b"2"[..]));
    other.abort();
    store.assert_clean();
}

#[test]
fn refusals_come_from_the_data_at_the_commit_and_leave_nothing_behind() {
    let store = store();
    store.apply(|session| session.put(&store.tree, b"there", b"1").unwrap());
    let mut session = store.session();
    let mut refused = |write: &dyn Fn(&mut super::fixture::TestSession)| {
        session.begin(Begin::Serializable).unwrap();
        session.put(&store.tree, b"beside", b"x").unwrap();
        write(&mut session);
        session.commit().unwrap_err()
    };
    let error = refused(&|session| session.insert(&store.tree, b"there", b"2").unwrap());
    assert!(matches!(error, Error::Duplicate { ref key, .. } if **key == *b"there"), "{error}");
    let error = refused(&|session| session.update(&store.tree, b"gone", b"2").unwrap());
    assert!(matches!(error, Error::Absent { ref key, .. } if **key == *b"gone"), "{error}");
    let error = refused(&|session| session.delete(&store.tree, b"gone").unwrap());
    assert!(matches!(error, Error::Absent { .. }), "{error}");
    let error = refused(&|session| session.patch(&store.tree, b"gone", append, b"2").unwrap());
    assert!(matches!(error, Error::Absent { .. }), "{error}");
    let long = [9; 60];
    let error = refused(&|session| session.patch(&store.tree, b"there", append, &long).unwrap());
    assert!(
        matches!(error, Error::Patch { failure: PatchFailure::Bound { column: 0 }, .. }),
        "{error}"
    );
    assert_eq!(store.core.counts().refused, 5);
    assert_eq!(store.rows(&store.tree), [(b"there".to_vec(), b"1".to_vec())]);
    store.assert_clean();
}

#[test]
fn writes_that_contradict_the_transactions_own_are_refused_at_once() {
    let store = store();
    let mut session = store.session();
    session.begin(Begin::Serializable).unwrap();
    session.put(&store.tree, b"a", b"1").unwrap();
    let error = session.insert(&store.tree, b"a", b"2").unwrap_err();
    assert!(matches!(error, Error::Duplicate { .. }), "{error}");
    session.delete(&store.tree, b"a").unwrap();
    for error in [
        session.delete(&store.tree, b"a").unwrap_err(),
        session.update(&store.tree, b"a", b"3").unwrap_err(),
        session.patch(&store.tree, b"a", append, b"3").unwrap_err(),
    ] {
        assert!(matches!(error, Error::Absent { .. }), "{error}");
    }
    // The transaction goes on. The row that was put and deleted may have existed or not.
    session.put(&store.tree, b"b", b"4").unwrap();
    session.commit().unwrap();
    session.begin(Begin::Serializable).unwrap();
    session.insert(&store.tree, b"a", b"1").unwrap();
    session.delete(&store.tree, b"a").unwrap();
    session.put(&store.tree, b"b", b"4").unwrap();
    session.commit().unwrap();
    assert_eq!(store.rows(&store.tree), [(b"b".to_vec(), b"4".to_vec())]);
    store.assert_clean();
}

#[test]
fn a_changed_read_is_a_conflict_and_an_unchanged_one_is_not() {
    let store = store();
    store.apply(|session| {
        session.put(&store.tree, b"x", b"0").unwrap();
        session.put(&store.tree, b"y", b"0").unwrap();
    });
    let mut session = store.session();
    for (other, expected) in [(&b"x"[..], true), (b"z", false)] {
        session.begin(Begin::Serializable).unwrap();
        session.get(&store.tree, b"x").unwrap();
        session.put(&store.tree, b"y", b"1").unwrap();
        store.apply(|session| session.put(&store.tree, other, b"2").unwrap());
        let committed = session.commit();
        if expected {
            assert_eq!(conflict(committed), Conflict::ReadChanged);
        } else {
            committed.unwrap();
        }
    }
    store.assert_clean();
}

#[test]
fn absence_and_ranges_are_reads_too() {
    let store = store();
    for at in 0..40_u8 {
        store.apply(|session| session.put(&store.tree, &[at * 2], b"0").unwrap());
    }
    let mut session = store.session();
    let mut check = |read: &dyn Fn(&mut super::fixture::TestSession), key: u8, expected: bool| {
        session.begin(Begin::Serializable).unwrap();
        read(&mut session);
        session.put(&store.other, b"w", b"1").unwrap();
        store.apply(|session| session.insert(&store.tree, &[key], b"new").unwrap());
        let committed = session.commit();
        if expected {
            assert_eq!(conflict(committed), Conflict::Phantom);
        } else {
            committed.unwrap();
        }
        store.apply(|session| session.delete(&store.tree, &[key]).unwrap());
    };
    let range = |direction, limit| Scan {
        lower: Bound::Included(&[20]),
        upper: Bound::Excluded(&[31]),
        direction,
        limit,
    };
    check(&|session| assert_eq!(session.get(&store.tree, &[21]).unwrap(), None), 21, true);
    check(&|session| assert_eq!(session.get(&store.tree, &[21]).unwrap(), None), 23, false);
    for direction in [Direction::Ascending, Direction::Descending] {
        let read = |session: &mut super::fixture::TestSession| {
            assert_eq!(scan(session, &store.tree, range(direction, 99)).unwrap().len(), 6);
        };
        for (key, expected) in [(19, false), (21, true), (25, true), (29, true), (31, false)] {
            check(&read, key, expected);
        }
        let some = |session: &mut super::fixture::TestSession| {
            assert_eq!(scan(session, &store.tree, range(direction, 2)).unwrap().len(), 2);
        };
        let (inside, outside) = match direction {
            Direction::Ascending => (21, 23),
            Direction::Descending => (29, 27),
        };
        check(&some, inside, true);
        check(&some, outside, false);
    }
    store.assert_clean();
}

#[test]
fn a_transaction_that_must_be_run_again_has_read_one_moment() {
    let store = store();
    let set = |value: &[u8]| {
        store.apply(|session| {
            session.put(&store.tree, b"x", value).unwrap();
            session.put(&store.tree, b"y", value).unwrap();
        });
    };
    set(b"1");
    let mut session = store.session();
    // Nothing that was read has changed yet: the read point moves.
    session.begin(Begin::Serializable).unwrap();
    session.get(&store.tree, b"z").unwrap();
    set(b"2");
    assert_eq!(session.get(&store.tree, b"x").unwrap(), Some(&b"2"[..]));
    // Now something has.
    set(b"3");
    assert_eq!(conflict(session.get(&store.tree, b"y").map(|_| ())), Conflict::ReadChanged);
    assert_eq!(conflict(session.put(&store.tree, b"y", b"9")), Conflict::ReadChanged);
    assert_eq!(conflict(session.commit()), Conflict::ReadChanged);
    store.assert_clean();
}

#[test]
fn snapshots_keep_their_moment_through_updates_deletes_and_inserts() {
    let store = store();
    store.apply(|session| {
        for key in [b"a", b"b", b"c"] {
            session.put(&store.tree, key, b"old").unwrap();
        }
    });
    let (mut snapshot, mut reader) = (store.session(), store.session());
    snapshot.begin(Begin::Snapshot).unwrap();
    reader.begin(Begin::ReadOnly).unwrap();
    for round in 0..3 {
        store.apply(|session| {
            session.put(&store.tree, b"a", &[round]).unwrap();
            session.insert(&store.tree, &[b'd', round], b"new").unwrap();
        });
    }
    store.apply(|session| session.delete(&store.tree, b"b").unwrap());
    store.apply(|session| session.insert(&store.tree, b"b", b"again").unwrap());
    store.apply(|session| session.delete(&store.tree, b"c").unwrap());
    store.core.sweep();
    let old: Vec<_> = [b"a", b"b", b"c"].map(|key| (key.to_vec(), b"old".to_vec())).into();
    for session in [&mut snapshot, &mut reader] {
        assert_eq!(session.get(&store.tree, b"a").unwrap(), Some(&b"old"[..]));
        assert_eq!(session.get(&store.tree, b"b").unwrap(), Some(&b"old"[..]));
        assert_eq!(session.get(&store.tree, b"c").unwrap(), Some(&b"old"[..]));
        assert_eq!(session.get(&store.tree, &[b'd', 1]).unwrap(), None);
        assert_eq!(scan_all(session, &store.tree).unwrap(), old);
        let mut down =
            scan(session, &store.tree, Scan { direction: Direction::Descending, ..ALL }).unwrap();
        down.reverse();
        assert_eq!(down, old);
    }
    // Write skew is allowed, a lost update is not.
    snapshot.put(&store.tree, b"e", b"1").unwrap();
    let ticket = snapshot.commit().unwrap();
    snapshot.wait(ticket).unwrap();
    snapshot.begin(Begin::Snapshot).unwrap();
    store.apply(|session| session.put(&store.tree, b"a", b"first").unwrap());
    snapshot.put(&store.tree, b"a", b"second").unwrap();
    assert_eq!(conflict(snapshot.commit()), Conflict::WriteChanged);
    // A delete counts as a change, too.
    snapshot.begin(Begin::Snapshot).unwrap();
    store.apply(|session| session.delete(&store.tree, b"a").unwrap());
    store.core.sweep();
    snapshot.put(&store.tree, b"a", b"second").unwrap();
    assert_eq!(conflict(snapshot.commit()), Conflict::WriteChanged);
    reader.abort();
    store.assert_clean();
}

#[test]
fn a_session_finds_its_own_commits_in_what_it_begins_next() {
    let store = store();
    let mut session = store.session();
    for round in 0..20_u8 {
        session.begin(Begin::Serializable).unwrap();
        session.put(&store.tree, b"a", &[round]).unwrap();
        let ticket = session.commit().unwrap();
        for begin in [Begin::Snapshot, Begin::ReadOnly, Begin::ReadOnlyDurable] {
            session.begin(begin).unwrap();
            assert_eq!(session.get(&store.tree, b"a").unwrap(), Some(&[round][..]));
            assert!(session.read_point() >= ticket.csn);
            session.abort();
        }
    }
    // Without waiting, the last commits may be missing.
    session.begin(Begin::Serializable).unwrap();
    session.put(&store.tree, b"a", b"late").unwrap();
    session.commit().unwrap();
    session.begin(Begin::ReadOnlyDurable).unwrap();
    assert_eq!(session.get(&store.tree, b"a").unwrap(), Some(&[19][..]));
    session.abort();
    store.assert_clean();
}

#[test]
fn savepoints_undo_only_the_writes_after_them() {
    let store = store();
    store.apply(|session| session.put(&store.tree, b"base", b"b").unwrap());
    let mut session = store.session();
    session.begin(Begin::Serializable).unwrap();
    session.patch(&store.tree, b"base", append, b"1").unwrap();
    let outer = session.savepoint();
    session.patch(&store.tree, b"base", append, b"2").unwrap();
    for key in 0..30_u8 {
        session.insert(&store.tree, &[key], b"x").unwrap();
    }
    let inner = session.savepoint();
    session.delete(&store.tree, b"base").unwrap();
    session.put(&store.tree, &[3], b"y").unwrap();
    assert_eq!(session.get(&store.tree, b"base").unwrap(), None);
    session.rollback_to(inner);
    assert_eq!(session.get(&store.tree, b"base").unwrap(), Some(&b"b12"[..]));
    assert_eq!(session.get(&store.tree, &[3]).unwrap(), Some(&b"x"[..]));
    assert_eq!(scan_all(&mut session, &store.tree).unwrap().len(), 31);
    session.rollback_to(outer);
    assert_eq!(session.get(&store.tree, &[3]).unwrap(), None);
    session.commit().unwrap();
    assert_eq!(store.rows(&store.tree), [(b"base".to_vec(), b"b1".to_vec())]);
    store.assert_clean();
}

#[test]
fn a_transaction_larger_than_leaves_splits_them_and_comes_back_whole() {
    let store = Store::new(StoreConfig { miss_every: Some(3), ..StoreConfig::default() });
    let keys: Vec<[u8; 4]> =
        (0..300_u32).map(|key| key.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    store.apply(|session| {
        for key in &keys {
            session.insert(&store.tree, key, &[key[0]; 40]).unwrap();
        }
    });
    // Growing rows take space from others.
    store.apply(|session| {
        for key in &keys {
            session.update(&store.tree, key, &[key[1]; 90]).unwrap();
        }
    });
    let mut expected: Vec<_> = keys.iter().map(|key| (key.to_vec(), vec![key[1]; 90])).collect();
    expected.sort();
    assert_eq!(store.rows(&store.tree), expected);
    let mut session = store.session();
    session.begin(Begin::Serializable).unwrap();
    for key in &keys {
        session.delete(&store.tree, key).unwrap();
    }
    session.insert(&store.tree, b"more", b"x").unwrap();
    let ticket = session.commit().unwrap();
    session.wait(ticket).unwrap();
    assert_eq!(store.rows(&store.tree).len(), 1);
    store.assert_clean();
}

#[test]
fn a_refused_commit_takes_back_its_ghosts_and_the_leaves_they_filled() {
    let store = store();
    store.apply(|session| session.put(&store.tree, b"zzz", b"1").unwrap());
    let mut session = store.session();
    for _ in 0..3 {
        session.begin(Begin::Serializable).unwrap();
        for key in 0..200_u8 {
            session.insert(&store.tree, &[key, key], &[key; 50]).unwrap();
        }
        session.insert(&store.tree, b"zzz", b"2").unwrap();
        let error = session.commit().unwrap_err();
        assert!(matches!(error, Error::Duplicate { .. }), "{error}");
    }
    assert_eq!(store.rows(&store.tree).len(), 1);
    store.assert_clean();
}

#[test]
fn long_values_live_in_extents_and_leave_them_when_nobody_reads_them() {
    in_own_process(
        concat!(
            module_path!(),
            "::long_values_live_in_extents_and_leave_them_when_nobody_reads_them"
        ),
        || {
            let store = Store::new(StoreConfig { miss_every: Some(5), ..StoreConfig::default() });
            let empty = store.core.buffer.resident_bytes();
            let long = |byte: u8| vec![byte; 5_000];
            store.apply(|session| session.put(&store.tree, b"a", &long(1)).unwrap());
            let patch = |bytes: &[u8; 3]| {
                store.apply(|session| session.patch(&store.tree, b"a", resize, bytes).unwrap());
            };
            let mut reader = store.session();
            reader.begin(Begin::ReadOnly).unwrap();
            store.apply(|session| session.put(&store.tree, b"a", &long(2)).unwrap());
            patch(&[0x80, 0x20, 3]);
            patch(&[3, 0, 0]);
            patch(&[0, 4, 7]);
            store.core.sweep();
            assert_eq!(reader.get(&store.tree, b"a").unwrap(), Some(&long(1)[..]));
            assert_eq!(scan_all(&mut reader, &store.tree).unwrap()[0].1, long(1));
            reader.abort();
            let now = [vec![2; 3], vec![7; 1021]].concat();
            assert_eq!(store.rows(&store.tree), [(b"a".to_vec(), now)]);
            // Refused commits free theirs, too.
            let mut session = store.session();
            session.begin(Begin::Serializable).unwrap();
            session.put(&store.tree, b"b", &long(9)).unwrap();
            session.insert(&store.tree, b"a", &long(9)).unwrap();
            session.commit().unwrap_err();
            store.apply(|session| session.delete(&store.tree, b"a").unwrap());
            store.assert_clean();
            store.core.buffer.free_all_retired();
            let kept = store.core.buffer.resident_bytes().saturating_sub(empty);
            assert!(kept < 4_096, "{kept} bytes remain");
        },
    );
}

#[test]
fn a_transaction_that_keeps_losing_is_run_exclusively_and_wins() {
    let store = store();
    store.apply(|session| session.put(&store.tree, b"hot", b"0").unwrap());
    let mut session = store.session();
    let mut runs = 0;
    let run = session.run(Begin::Serializable, |session| {
        runs += 1;
        session.get(&store.tree, b"hot")?;
        if !session.runs_alone() {
            store.apply(|session| session.put(&store.tree, b"hot", &[runs]).unwrap());
        }
        session.put(&store.tree, b"mine", &[runs])
    });
    run.unwrap();
    let counts = store.core.counts();
    assert_eq!((runs, counts.retries, counts.exclusive_runs), (10, 9, 1));
    assert_eq!(counts.conflicts_by(Conflict::ReadChanged), 9);
    store.assert_clean();
}

#[test]
fn a_dropped_tree_is_a_conflict_for_transactions_that_used_it() {
    let store = store();
    store.apply(|session| session.put(&store.tree, b"a", b"1").unwrap());
    let (mut writer, mut reader) = (store.session(), store.session());
    writer.begin(Begin::Serializable).unwrap();
    writer.put(&store.tree, b"a", b"2").unwrap();
    reader.begin(Begin::ReadOnly).unwrap();
    reader.get(&store.tree, b"a").unwrap();
    let mut session = store.session();
    session.begin_exclusive().unwrap();
    session.note(crate::txn::Operation::DropTree(store.tree.id)).unwrap();
    store.tree.drop_pages(&store.core.buffer);
    session.commit().unwrap();
    assert_eq!(conflict(writer.commit()), Conflict::Dropped);
    assert_eq!(conflict(reader.get(&store.tree, b"a").map(|_| ())), Conflict::Dropped);
    reader.abort();
    reader.begin(Begin::ReadOnly).unwrap();
    assert_eq!(conflict(scan_all(&mut reader, &store.tree)), Conflict::Dropped);
    reader.abort();
    store.core.sweep();
}

#[test]
fn a_visitor_may_stop_and_the_rest_is_not_read() {
    let store = store();
    for key in 0..50_u8 {
        store.apply(|session| session.put(&store.tree, &[key], &[key]).unwrap());
    }
    let mut session = store.session();
    session.begin(Begin::Serializable).unwrap();
    let mut read = Vec::new();
    session
        .scan(&store.tree, ALL, |key, _| {
            read.push(key[0]);
            match key[0] {
                7 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        })
        .unwrap();
    assert_eq!(read, [0, 1, 2, 3, 4, 5, 6, 7]);
    session.put(&store.other, b"w", b"").unwrap();
    store.apply(|session| session.put(&store.tree, &[8], b"later").unwrap());
    session.commit().unwrap();
    assert_eq!(store.core.log.published(), Csn(52));
    store.assert_clean();
}

#[test]
fn a_session_may_move_to_another_thread() {
    fn is_send<T: Send>(_: &T) {}
    is_send(&store().session());
}

#[test]
fn a_cached_tree_is_used_without_counting_references() {
    let store = store();
    let mut sessions = [store.session(), store.session()];
    let write = |session: &mut super::fixture::TestSession, key: &[u8]| {
        session.begin(Begin::Serializable).unwrap();
        session.put(&store.tree, key, b"x").unwrap();
        let during = Arc::strong_count(&store.tree);
        let ticket = session.commit().unwrap();
        session.wait(ticket).unwrap();
        (during, Arc::strong_count(&store.tree))
    };
    let first = write(&mut sessions[0], b"a");
    assert_eq!(first.0, first.1);
    assert_eq!(write(&mut sessions[0], b"b"), first);
    // The two sessions' transactions share one memory.
    assert_eq!(write(&mut sessions[1], b"c"), first);
}
