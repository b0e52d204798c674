//! Caps on memory: garbage is reclaimed before a writer is refused, and emptied leaves are freed.

use super::behaviour::conflict;
use super::fixture::{Store, StoreConfig, TestSession, resize, scan_all};
use crate::Error;
use crate::buffer::MemoryNeed;
use crate::buffer::page::Kind;
use crate::conflict::Conflict;
use crate::txn::garbage::Ghost;
use crate::txn::{Begin, TxnOptions};

/// Bytes of a long row: 40 extents of 512 bytes.
const LONG: usize = 20_000;

/// Memory of its extents with their headers and frames.
const LONG_BYTES: u64 = LONG as u64 + 40 * (40 + 128);

fn capped(resident_bytes_max: u64, version_bytes_max: u64) -> Store {
    Store::new(StoreConfig {
        resident_bytes_max,
        options: TxnOptions { version_bytes_max, ..TxnOptions::default() },
        ..StoreConfig::default()
    })
}

/// Makes a row long, in a separate transaction.
fn put_long(store: &Store, session: &mut TestSession, key: &[u8], byte: u8) -> crate::Result<()> {
    session.begin(Begin::Serializable)?;
    session.put(&store.tree, key, &vec![byte; LONG])?;
    let ticket = session.commit()?;
    session.wait(ticket)
}

/// D3: the versions of long rows were charged with their extent pointers only, so the reader went on while
/// they took all memory.
#[test]
fn a_reader_during_updates_of_long_rows_ends_when_versions_reach_their_cap() {
    let cap = 8 * LONG_BYTES;
    let store = capped(u64::MAX, cap);
    let mut session = store.session();
    put_long(&store, &mut session, b"row", 0).unwrap();
    let mut reader = store.session();
    reader.begin(Begin::ReadOnly).unwrap();
    for update in 1..30 {
        put_long(&store, &mut session, b"row", update).unwrap();
        let pages = store.core.buffer.pages_of(store.tree.id).len() as u64;
        assert!(pages * (512 + 40 + 128) <= cap + 3 * LONG_BYTES, "update {update}: {pages} pages");
    }
    let read = reader.get(&store.tree, b"row").map(|_| ());
    assert_eq!(conflict(read), Conflict::SnapshotTooOld);
    reader.abort();
    drop((session, reader));
    store.assert_clean();
}

/// D4: the bound was computed once in 33 commits, and memory was refused without computing it.
#[test]
fn a_long_row_is_updated_again_and_again_below_a_cap_of_a_few_of_them() {
    let store = capped(6 * LONG_BYTES, 256 << 20);
    let mut session = store.session();
    for update in 0..100 {
        put_long(&store, &mut session, b"row", update).unwrap();
    }
    drop(session);
    store.assert_clean();
}

/// D4, with the long value made after the lock, in the section.
#[test]
fn a_row_is_patched_to_be_long_again_and_again_below_a_cap_of_a_few_of_them() {
    let store = capped(6 * LONG_BYTES, 256 << 20);
    store.apply(|session| session.put(&store.tree, b"row", b"").unwrap());
    let mut session = store.session();
    for update in 0..100 {
        session.begin(Begin::Serializable).unwrap();
        let [low, high] = (LONG as u16 + update).to_le_bytes();
        session.patch(&store.tree, b"row", resize, &[low, high, 7]).unwrap();
        let ticket = session.commit().unwrap();
        session.wait(ticket).unwrap();
    }
    drop(session);
    store.assert_clean();
}

/// D4, in an exclusive transaction behind the closed gate.
#[test]
fn an_exclusive_transaction_reclaims_memory_too() {
    let store = capped(6 * LONG_BYTES, 256 << 20);
    let mut session = store.session();
    for update in 0..40 {
        session.begin_exclusive().unwrap();
        session.put(&store.tree, b"row", &vec![update; LONG]).unwrap();
        let ticket = session.commit().unwrap();
        session.wait(ticket).unwrap();
    }
    drop(session);
    store.assert_clean();
}

/// Puts rows with long keys, one per transaction, until one is refused. Returns the number of rows.
fn fill(store: &Store, session: &mut TestSession, first: u8) -> u32 {
    for number in 0..100_000 {
        session.begin(Begin::Serializable).unwrap();
        session.put(&store.tree, &key(first, number), b"value").unwrap();
        match session.commit() {
            Ok(ticket) => session.wait(ticket).unwrap(),
            Err(Error::Capped { .. }) => return number,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the cap is never reached")
}

/// A key that differs from its neighbours in most bytes.
fn key(first: u8, number: u32) -> Vec<u8> {
    let number = number.to_be_bytes();
    [&[first][..], &number, &number.repeat(9)].concat()
}

fn delete_all(store: &Store, session: &mut TestSession, (first, count): (u8, u32)) {
    for from in (0..count).step_by(100) {
        session.begin(Begin::Serializable).unwrap();
        for number in from..count.min(from + 100) {
            session.delete(&store.tree, &key(first, number)).unwrap();
        }
        let ticket = session.commit().unwrap();
        session.wait(ticket).unwrap();
    }
}

/// D4: a split, inside the section. Removable ghosts kept their leaves.
#[test]
fn a_full_store_takes_as_many_rows_after_it_was_emptied() {
    let store = capped(200 << 10, 256 << 20);
    let mut session = store.session();
    let count = fill(&store, &mut session, 1);
    assert!(count > 500, "{count}");
    let mut there = (1, count);
    for round in [2, 3, 4] {
        delete_all(&store, &mut session, there);
        there = (round, fill(&store, &mut session, round));
        assert!(there.1 >= count * 9 / 10, "{there:?} of {count}");
    }
    drop(session);
    store.core.log.flush().unwrap();
    store.core.sweep();
    assert_eq!(store.tree.check(&store.core.buffer), Vec::<String>::new());
}

/// An idle reader keeps every ghost: it is ended when they block a writer, not before.
#[test]
fn a_full_store_can_be_emptied_despite_an_idle_reader() {
    let store = capped(200 << 10, 256 << 20);
    let mut session = store.session();
    let count = fill(&store, &mut session, 1);
    let mut idle = store.session();
    idle.begin(Begin::ReadOnly).unwrap();
    // Nothing can be reclaimed, so no reader is ended.
    assert_eq!(fill(&store, &mut session, 2), 0);
    assert_eq!(scan_all(&mut idle, &store.tree).unwrap().len() as u32, count);
    delete_all(&store, &mut session, (1, count));
    assert_eq!(scan_all(&mut idle, &store.tree).unwrap().len() as u32, count);
    let again = fill(&store, &mut session, 3);
    assert!(again >= count * 9 / 10, "{again} of {count}");
    let read = idle.get(&store.tree, &key(1, 0)).map(|_| ());
    assert_eq!(conflict(read), Conflict::SnapshotTooOld);
}

/// Waiting ghosts, with their keys, count towards the memory for old versions.
#[test]
fn waiting_ghosts_count_as_old_versions() {
    let store = capped(u64::MAX, 256 << 20);
    let mut session = store.session();
    for from in [0, 500, 1_000, 1_500] {
        store.apply(|session| {
            for number in from..from + 500 {
                session.put(&store.tree, &key(1, number), b"").unwrap();
            }
        });
    }
    let mut reader = store.session();
    reader.begin(Begin::ReadOnly).unwrap();
    let before = store.core.garbage.bytes();
    delete_all(&store, &mut session, (1, 2_000));
    let ghosts = store.core.garbage.bytes() - before;
    let expected = 2_000 * (size_of::<Ghost>() + key(1, 0).len()) as u64;
    assert!((expected - (16 << 10)..=expected).contains(&ghosts), "{ghosts}");
    assert!(store.core.version_bytes() > 2 * ghosts * 9 / 10);
    reader.abort();
    drop((session, reader));
    store.assert_clean();
    assert!(store.core.version_bytes() < 64 * (16 << 10) + 16 * (16 << 10));
}

#[test]
fn threads_that_update_long_rows_near_the_cap_are_not_refused() {
    let store = capped(20 * LONG_BYTES, 256 << 20);
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let store = &store;
            scope.spawn(move || {
                let mut session = store.session();
                for update in 0..40 {
                    let put = |session: &mut TestSession| {
                        session.put(&store.tree, &[thread], &vec![update; LONG])
                    };
                    // Near the cap one transaction may be ended for another, and is run again.
                    let ((), ticket) = session.run(Begin::Serializable, put).unwrap();
                    session.wait(ticket).unwrap();
                }
            });
        }
    });
    store.assert_clean();
}

/// D9: a leaf that became empty while another thread changed the structure was never checked again.
#[test]
fn leaves_that_could_not_be_unlinked_when_they_became_empty_are_unlinked_later() {
    let store = Store::new(StoreConfig::default());
    let mut session = store.session();
    store.apply(|session| {
        for number in 0..400 {
            session.put(&store.tree, &key(1, number), b"").unwrap();
        }
    });
    let leaves = || store.core.buffer.pages_of(store.tree.id).len();
    let before = leaves();
    assert!(before > 40, "{before}");
    delete_all(&store, &mut session, (1, 400));
    store.core.log.flush().unwrap();
    {
        let _busy = store.tree.hold_structure();
        store.core.sweep();
        assert!(leaves() >= before / 2, "{} of {before}", leaves());
        // It ends although nothing can be removed.
        store.core.sweep();
    }
    assert!(store.core.garbage.len() > 10, "the leaves wait");
    store.core.sweep();
    assert_eq!(leaves(), 1, "only the root remains");
    drop(session);
    store.assert_clean();
}

/// D9: the same where a transaction inserts and deletes rows, or is refused, and leaves its leaf empty.
#[test]
fn a_leaf_that_an_abort_leaves_empty_is_unlinked_later() {
    let store = Store::new(StoreConfig::default());
    let mut session = store.session();
    let (rows, fresh) = ((0..200, 1), (0..60, 2));
    store.apply(|session| {
        for number in rows.0.clone() {
            session.put(&store.tree, &key(rows.1, number), b"").unwrap();
        }
    });
    let before = store.core.buffer.pages_of(store.tree.id).len();
    // Blind inserts, the last of which is refused: rows are locked and leaves split, and all is undone.
    session.begin(Begin::Serializable).unwrap();
    for number in fresh.0 {
        session.insert(&store.tree, &key(fresh.1, number), b"").unwrap();
    }
    session.update(&store.tree, &key(9, 9), b"").unwrap();
    let refused = session.commit();
    assert!(matches!(refused, Err(Error::Absent { .. })), "{refused:?}");
    store.core.sweep();
    let after = store.core.buffer.pages_of(store.tree.id).len();
    assert!(after <= before + 1, "{after} pages, {before} before");
    drop(session);
    store.assert_clean();
}

/// The memory that a page or an extent needs is known, even if free cells of blocks provide it.
#[test]
fn memory_at_the_cap_is_known_by_kind() {
    let store = capped(64 << 10, 256 << 20);
    let buffer = &store.core.buffer;
    let extents = |count| MemoryNeed::Extents { count, value_bytes: 512 * count };
    assert!(buffer.has_memory(MemoryNeed::Pages(Kind::Leaf, 1)));
    assert!(buffer.has_memory(extents(10)) && !buffer.has_memory(extents(100)));
}

/// The read set of serializable transactions was unbounded.
#[test]
fn the_read_set_is_bounded() {
    let store = Store::new(StoreConfig {
        options: TxnOptions { read_bytes_max: 4 << 10, ..TxnOptions::default() },
        ..StoreConfig::default()
    });
    store.apply(|session| {
        for number in 0..200 {
            session.put(&store.tree, &key(1, number), b"").unwrap();
        }
    });
    let mut session = store.session();
    for begin in [Begin::Serializable, Begin::ReadOnly, Begin::Snapshot] {
        session.begin(begin).unwrap();
        let mut get = |number| session.get(&store.tree, &key(1, number)).map(drop);
        let refused = (0..200).find_map(|number| get(number).err());
        match refused {
            Some(Error::TooLong { bytes_max, .. }) if begin == Begin::Serializable => {
                assert_eq!(bytes_max, 4 << 10);
            }
            None if begin != Begin::Serializable => {}
            other => panic!("{begin:?}: {other:?}"),
        }
        let scanned = scan_all(&mut session, &store.tree);
        assert_eq!(scanned.is_err(), begin == Begin::Serializable, "{begin:?}");
        session.abort();
    }
    store.assert_clean();
}
