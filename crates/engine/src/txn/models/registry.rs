//! Begins against a collector, under loom: no begin slips through, and no reader's version is collected.
//!
//! The durable LSN here is a number that a committer moves; the begin and the collector are the real ones,
//! with their fences.

use crate::buffer::VersionWord;
use crate::ids::{Csn, TreeId};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::explore::{Bound, Fault, find, find_weak, hold};
use crate::txn::registry::Registry;
use crate::txn::version::{Name, Versions};
use loom::sync::Mutex;
use loom::thread;
use std::sync::Arc;

const SOURCE: (&str, &str) = ("txn/registry.rs", include_str!("../registry.rs"));

/// A fault injected into a model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InjectedFault {
    Nothing,
    /// The collector's bound is the durable LSN, ignoring readers.
    CollectBlindly,
    /// A begin uses the point that it had before it registered.
    PointBeforeRegistering,
    /// The commit does not save the old row.
    SkipVersion,
    /// A doomed reader does not check.
    DoomNotAsked,
}

struct Store {
    registry: Registry,
    versions: Versions,
    durable_lsn: AtomicU64,
    /// The row under its leaf's latch: the commit that wrote it. Its value is the commit's number.
    leaf: Mutex<u64>,
}

fn store() -> Arc<Store> {
    Arc::new(Store {
        registry: Registry::new(),
        versions: Versions::new(),
        durable_lsn: AtomicU64::new(1),
        leaf: Mutex::new(1),
    })
}

impl Store {
    fn durable_lsn(&self) -> Csn {
        Csn(self.durable_lsn.load(Ordering::SeqCst))
    }

    /// Commits number `csn` to the row, and becomes stable.
    fn commit(&self, csn: u64, wrong: InjectedFault) {
        let mut leaf = self.leaf.lock().unwrap();
        let was = *leaf;
        let none = (Csn::ZERO, &mut Vec::new());
        // Each of two commits saves in its own thread slot, as two threads do.
        let thread_slot = csn as u32;
        let saved = (wrong != InjectedFault::SkipVersion).then(|| {
            let (word, value) = (VersionWord::of(Csn(was)), was.to_le_bytes());
            self.versions.save(thread_slot, NAME, word, &value, none)
        });
        drop(leaf);
        if let Some(saved) = saved {
            self.versions.supersede(saved, Csn(csn));
        }
        leaf = self.leaf.lock().unwrap();
        *leaf = csn;
        drop(leaf);
        self.durable_lsn.store(csn, Ordering::SeqCst);
    }

    /// Drops the versions that no reader needs, as the collector sees it.
    fn collect(&self, wrong: InjectedFault) {
        let bound = if wrong == InjectedFault::CollectBlindly {
            self.durable_lsn()
        } else {
            self.registry.oldest(|| self.durable_lsn())
        };
        self.versions.collect(bound, &mut Vec::new());
    }

    /// The row as seen at a point; none if it is absent there.
    fn read(&self, point: Csn) -> Option<u64> {
        let leaf = self.leaf.lock().unwrap();
        let newest = *leaf;
        drop(leaf);
        if newest <= point.0 {
            return Some(newest);
        }
        let mut value = Vec::new();
        let word = self.versions.find(NAME, point, &mut value)?;
        let value = u64::from_le_bytes(value.try_into().unwrap());
        assert_eq!(word, VersionWord::of(Csn(value)), "the version's word matches its value");
        Some(value)
    }
}

const NAME: Name<'static> = Name { hash: 7, tree: TreeId(3), key: b"row" };

/// A begin and a collector alone, on numbers: no dropped version is above a begin's point.
fn beginning(wrong: InjectedFault) {
    let registry = Arc::new(Registry::new());
    let durable_lsn = Arc::new(AtomicU64::new(1));
    let dropped = Arc::new(AtomicU64::new(0));
    let seat = registry.claim().unwrap();
    let collector = {
        let (registry, durable_lsn, dropped) =
            (Arc::clone(&registry), Arc::clone(&durable_lsn), Arc::clone(&dropped));
        thread::spawn(move || {
            durable_lsn.store(2, Ordering::Release);
            let bound = if wrong == InjectedFault::CollectBlindly {
                Csn(durable_lsn.load(Ordering::Acquire))
            } else {
                registry.oldest(|| Csn(durable_lsn.load(Ordering::Acquire)))
            };
            dropped.store(bound.0, Ordering::Release);
        })
    };
    let read = || Csn(durable_lsn.load(Ordering::Acquire));
    let point = if wrong == InjectedFault::PointBeforeRegistering {
        let point = read();
        registry.enter(seat, point, || point)
    } else {
        registry.enter(seat, read(), read)
    };
    collector.join().unwrap();
    assert!(dropped.load(Ordering::Acquire) <= point.0, "a begin slipped through");
    registry.leave(seat);
}

/// A row committed twice more, a reader, a collector: the reader sees the row at its point.
fn reading(wrong: InjectedFault) {
    let store = store();
    let seat = store.registry.claim().unwrap();
    let committer = {
        let store = Arc::clone(&store);
        thread::spawn(move || (2..=3).for_each(|csn| store.commit(csn, wrong)))
    };
    let collector = {
        let store = Arc::clone(&store);
        thread::spawn(move || store.collect(wrong))
    };
    let floor = store.durable_lsn();
    let point = store.registry.enter(seat, floor, || store.durable_lsn());
    assert_eq!(store.read(point), Some(point.0), "the row at its point");
    store.registry.leave(seat);
    committer.join().unwrap();
    collector.join().unwrap();
    store.collect(InjectedFault::Nothing);
    assert_eq!(store.versions.count(), 0, "versions without readers remain");
}

/// The reader is doomed for the memory of its version: it sees the row at its point, or that it is doomed.
fn dooming(wrong: InjectedFault) {
    let store = store();
    let seat = store.registry.claim().unwrap();
    let floor = store.durable_lsn();
    let point = store.registry.enter(seat, floor, || store.durable_lsn());
    store.commit(2, InjectedFault::Nothing);
    let collector = {
        let store = Arc::clone(&store);
        thread::spawn(move || {
            assert!(store.registry.doom_oldest(store.durable_lsn()));
            store.collect(InjectedFault::Nothing);
        })
    };
    let seen = store.read(point);
    if wrong == InjectedFault::DoomNotAsked || !store.registry.is_doomed(seat) {
        assert_eq!(seen, Some(1), "the row at its point");
    }
    collector.join().unwrap();
    store.registry.advance(seat, Csn(2));
    assert!(store.registry.is_doomed(seat), "a doom lasts until the transaction ends");
    store.registry.leave(seat);
    assert_eq!(store.versions.count(), 0);
}

#[test]
fn no_begin_slips_through() {
    hold("registry: beginning", Bound(4), || beginning(InjectedFault::Nothing));
    for (name, wrong) in [
        ("a collector that ignores begins", InjectedFault::CollectBlindly),
        ("a point from before the registration", InjectedFault::PointBeforeRegistering),
    ] {
        let fault = Fault::InModel(name);
        find("registry: beginning", fault, Bound(4), move || beginning(wrong));
    }
    let found = find_weak("registry: beginning", SOURCE, Bound(4), || {
        beginning(InjectedFault::Nothing);
    });
    let fences = found.iter().filter(|line| line.contains("fence(Ordering::SeqCst)"));
    assert_eq!(fences.count(), 2, "each of the two fences is needed: {found:?}");
}

#[test]
fn a_reader_sees_the_row_at_its_point_and_versions_are_finally_dropped() {
    hold("registry: reading", Bound(2), || reading(InjectedFault::Nothing));
    for (name, wrong) in [
        ("a collector that ignores begins", InjectedFault::CollectBlindly),
        ("a commit that saves no version", InjectedFault::SkipVersion),
    ] {
        find("registry: reading", Fault::InModel(name), Bound(2), move || reading(wrong));
    }
}

#[test]
fn a_doomed_reader_sees_the_row_at_its_point_or_that_it_is_doomed() {
    hold("registry: dooming", Bound(4), || dooming(InjectedFault::Nothing));
    let fault = Fault::InModel("a doom that is not checked");
    find("registry: dooming", fault, Bound(4), || dooming(InjectedFault::DoomNotAsked));
}
