//! The ring under loom: the taker takes records published, whole and in order, and a slot is reused only when
//! its record was taken.

use crate::ids::Csn;
use crate::log::frame::Kind;
use crate::log::ring::{ClaimError, Ring};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::explore::{Bound, Fault, find, find_weak, hold};
use loom::thread;
use std::sync::Arc;

const RECORD_BYTES: u64 = 512;
const SOURCE: (&str, &str) = ("log/ring.rs", include_str!("../ring.rs"));

/// The fault injected into a model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InjectedFault {
    Nothing,
    /// A producer takes its number without a claim.
    NoClaim,
    /// The taker frees a slot before it has taken the record.
    CompleteBeforeTaking,
    /// A claim is not returned.
    KeepClaim,
}

fn ring(records: u32) -> Arc<Ring> {
    let ring = Ring::new(records, Csn(1));
    ring.set_space(u64::from(records + 1) * RECORD_BYTES);
    Arc::new(ring)
}

/// Commits once: the record is the commit's own number.
fn commit(ring: &Ring, wrong: InjectedFault) {
    while wrong != InjectedFault::NoClaim && ring.claim(RECORD_BYTES).is_err() {
        thread::yield_now();
    }
    let csn = ring.take();
    let mut record = csn.0.to_le_bytes().to_vec();
    ring.publish(csn, Kind::Transaction, &mut record);
    assert!(record.is_empty(), "an empty buffer comes back");
}

/// Two producers, three commits, two slots: the third commit gets the slot of the first.
fn taking(wrong: InjectedFault) {
    let ring = ring(2);
    let producers = [1, 2].map(|commits| {
        let ring = Arc::clone(&ring);
        thread::spawn(move || (0..commits).for_each(|_| commit(&ring, wrong)))
    });
    for csn in (1..=3).map(Csn) {
        if wrong == InjectedFault::CompleteBeforeTaking {
            while !ring.is_published(csn) {
                thread::yield_now();
            }
            ring.complete(1);
        }
        let record = loop {
            match ring.drain(csn, |record| record.content.to_vec()) {
                Some(record) => break record,
                None => thread::yield_now(),
            }
            assert!(ring.next().0 <= csn.0 + 2, "its slot does not go to a later commit");
        };
        assert_eq!(record, csn.0.to_le_bytes(), "the record of that number");
        ring.bytes_written(RECORD_BYTES);
        let is_kept = wrong == InjectedFault::KeepClaim && csn == Csn(3);
        if wrong != InjectedFault::CompleteBeforeTaking && !is_kept {
            ring.complete(1);
        }
    }
    for producer in producers {
        producer.join().unwrap();
    }
    // Every claim has come back: all slots and all space can be claimed once more, and nothing beyond.
    assert_eq!(ring.claim(3 * RECORD_BYTES), Ok(()), "all bytes came back");
    assert_eq!(ring.claim(1), Err(ClaimError::Space));
    assert_eq!(ring.claim(0), Ok(()), "all slots came back");
    assert_eq!(ring.claim(0), Err(ClaimError::Slots));
}

/// A commit applies (here: a relaxed store), then publishes. A thread that learns from the prefix that it is
/// published sees it applied.
fn applying() {
    let (ring, applied) = (ring(4), Arc::new([AtomicU64::new(0), AtomicU64::new(0)]));
    let committers = [0, 1].map(|_| committer(&ring, &applied));
    assert_applied(ring.published_prefix(Csn(0)), &applied);
    for committer in committers {
        committer.join().unwrap();
    }
    assert_eq!(ring.published_prefix(Csn(0)), Csn(2), "nothing is lost");
}

/// The same if the reader does not read the slot, because another thread has computed the prefix. The flag
/// orders nothing: it holds the reader back until there is something to learn.
fn applying_by_hearsay() {
    let (ring, applied) = (ring(4), Arc::new([AtomicU64::new(0), AtomicU64::new(0)]));
    let flag = Arc::new(AtomicU64::new(0));
    let committer = committer(&ring, &applied);
    let reader = {
        let (ring, applied, flag) = (Arc::clone(&ring), Arc::clone(&applied), Arc::clone(&flag));
        thread::spawn(move || {
            while flag.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
            assert_applied(ring.published_prefix(Csn(0)), &applied);
        })
    };
    committer.join().unwrap();
    assert_eq!(ring.published_prefix(Csn(0)), Csn(1));
    flag.store(1, Ordering::Relaxed);
    reader.join().unwrap();
}

fn committer(ring: &Arc<Ring>, applied: &Arc<[AtomicU64; 2]>) -> thread::JoinHandle<()> {
    let (ring, applied) = (Arc::clone(ring), Arc::clone(applied));
    thread::spawn(move || {
        ring.claim(RECORD_BYTES).unwrap();
        let csn = ring.take();
        applied[csn.0 as usize - 1].store(csn.0, Ordering::Relaxed);
        ring.publish(csn, Kind::Transaction, &mut Vec::new());
    })
}

fn assert_applied(prefix: Csn, applied: &[AtomicU64; 2]) {
    for csn in 1..=prefix.0 {
        let seen = applied[csn as usize - 1].load(Ordering::Relaxed);
        assert_eq!(seen, csn, "what is published is applied");
    }
}

#[test]
fn records_are_taken_published_whole_in_order_and_once() {
    hold("ring: taking", Bound(2), || taking(InjectedFault::Nothing));
    for (name, wrong) in [
        ("a number without a claim", InjectedFault::NoClaim),
        ("completed before taken", InjectedFault::CompleteBeforeTaking),
        ("a claim that is kept", InjectedFault::KeepClaim),
    ] {
        let model = move || taking(wrong);
        find("ring: taking", Fault::InModel(name), Bound(2), model);
    }
}

#[test]
fn a_published_commit_is_applied() {
    hold("ring: applying", Bound(3), applying);
    hold("ring: applying by hearsay", Bound(3), applying_by_hearsay);
    let mut found = find_weak("ring: applying", SOURCE, Bound(2), applying);
    let by_hearsay = find_weak("ring: applying by hearsay", SOURCE, Bound(2), applying_by_hearsay);
    found.extend(by_hearsay);
    for line in [
        "slot.published.store(csn.0, Ordering::Release)",
        "self.slot(csn).published.load(Ordering::Acquire) == csn.0",
        "self.prefix.load(Ordering::Acquire)",
        "self.prefix.fetch_max(last.0, Ordering::AcqRel)",
    ] {
        assert!(found.iter().any(|found| found.contains(line)), "{line}");
    }
}
