//! A whole store under shuttle: rows are locked by bits in leaves whose latches the checker controls, with
//! the real commit, the real reads and the real collection.
//!
//! `tests::schedule` stops sessions between the steps of a commit; here they may stop at every atomic and at
//! every lock, latches included, so that the work of a step under a latch is explored too.

use crate::conflict::Conflict;
use crate::log::Threads;
use crate::planted_bug::PlantedBug;
use crate::sync::explore::{Bound, Fault, find, hold};
use crate::txn::tests::fixture::{Store, StoreConfig, TestSession};
use crate::txn::{Begin, TxnOptions};
use crate::{Error, Result};
use shuttle::thread;
use std::sync::Arc;

const ROWS: [&[u8]; 2] = [b"one", b"two"];

/// A store with two rows that hold 50 each.
fn store() -> Arc<Store> {
    let store = Store::with_threads(
        StoreConfig {
            options: TxnOptions { lock_retries_max: 6, ..TxnOptions::default() },
            ..StoreConfig::default()
        },
        Threads::None,
    );
    let mut session = store.session();
    session.begin(Begin::Serializable).unwrap();
    for row in ROWS {
        session.put(&store.tree, row, &[50]).unwrap();
    }
    let ticket = session.commit().unwrap();
    session.wait(ticket).unwrap();
    Arc::new(store)
}

fn get(session: &mut TestSession, store: &Store, row: &[u8]) -> Result<u8> {
    let value = session.get(&store.tree, row)?;
    Ok(value.expect("the row is never deleted")[0])
}

/// Transfers `amount` from one row to the other, unless there is a conflict; true if it did.
fn transfer(store: &Store, from: usize, amount: u8) -> bool {
    let mut session = store.session();
    let mut attempt = || {
        session.begin(Begin::Serializable)?;
        let (source, target) = (ROWS[from], ROWS[1 - from]);
        let left = get(&mut session, store, source)?;
        let there = get(&mut session, store, target)?;
        session.put(&store.tree, source, &[left - amount])?;
        session.put(&store.tree, target, &[there + amount])?;
        session.commit()
    };
    match attempt() {
        Ok(ticket) => {
            session.wait(ticket).unwrap();
            true
        }
        Err(Error::Conflict(Conflict::Locked | Conflict::ReadChanged | Conflict::ReadPoint)) => {
            false
        }
        Err(other) => panic!("{other}"),
    }
}

/// Reads both rows at one point; their sum never changes.
fn audit(store: &Store, begin: Begin) {
    let mut session = store.session();
    session.begin(begin).unwrap();
    let one = get(&mut session, store, ROWS[0]);
    let two = one.and_then(|one| Ok((one, get(&mut session, store, ROWS[1])?)));
    match two {
        Ok((one, two)) => assert_eq!(one + two, 100, "a sum that never existed: {one} and {two}"),
        Err(Error::Conflict(Conflict::ReadPoint | Conflict::ReadChanged | Conflict::Locked)) => {}
        Err(other) => panic!("{other}"),
    }
    session.abort();
}

/// Two concurrent transfers, with a snapshot and a serializable reader.
fn transfers() {
    let store = store();
    let movers = [(0, 7), (1, 20)].map(|(from, amount)| {
        let store = Arc::clone(&store);
        thread::spawn(move || transfer(&store, from, amount))
    });
    let reader = {
        let store = Arc::clone(&store);
        thread::spawn(move || audit(&store, Begin::ReadOnlyDurable))
    };
    audit(&store, Begin::Serializable);
    reader.join().unwrap();
    let [seven, twenty] = movers.map(|mover| mover.join().unwrap());
    let mut session = store.session();
    session.begin(Begin::Serializable).unwrap();
    let one = get(&mut session, &store, ROWS[0]).unwrap();
    session.abort();
    let expected = 50 - 7 * u8::from(seven) + 20 * u8::from(twenty);
    assert_eq!(one, expected, "each transfer happened once or not at all");
    drop(session);
    store.assert_clean();
}

/// Empties one row if both still hold 50; true if it was emptied.
fn empty(store: &Store, row: usize) -> bool {
    let mut session = store.session();
    let mut attempt = || {
        session.begin(Begin::Serializable)?;
        let sum = get(&mut session, store, ROWS[0])? + get(&mut session, store, ROWS[1])?;
        if sum < 100 {
            return Ok(None);
        }
        session.put(&store.tree, ROWS[row], &[0])?;
        session.commit().map(Some)
    };
    match attempt() {
        Ok(ticket) => ticket.is_some_and(|ticket| session.wait(ticket).is_ok()),
        Err(Error::Conflict(Conflict::Locked | Conflict::ReadChanged | Conflict::ReadPoint)) => {
            false
        }
        Err(other) => panic!("{other}"),
    }
}

/// Two transactions that each empty their own row if the other one is full: at most one may succeed.
fn skew() {
    let store = store();
    let other = {
        let store = Arc::clone(&store);
        thread::spawn(move || empty(&store, 1))
    };
    let one = empty(&store, 0);
    assert!(!(other.join().unwrap() && one), "both found the other row full");
}

#[test]
fn transfers_and_readers_at_every_atomic_and_latch() {
    hold("rows: transfers", Bound(20_000), transfers);
    for plant in [PlantedBug::SkipBeforeImage, PlantedBug::PublishBeforeApply] {
        find("rows: transfers", Fault::Planted(plant), Bound(40_000), transfers);
    }
}

#[test]
fn two_transactions_never_both_rely_on_what_the_other_changes() {
    hold("rows: skew", Bound(20_000), skew);
    let planted = Fault::Planted(PlantedBug::LockNotChecked);
    find("rows: skew", planted, Bound(20_000), skew);
}
