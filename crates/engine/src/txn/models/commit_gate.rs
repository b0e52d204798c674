//! The commit gate under shuttle: while it is closed only the holder's section runs, and no thread that waits
//! to enter or to close sleeps forever.

use crate::planted_bug::PlantedBug;
use crate::sync::explore::{Bound, Fault, find, hold};
use crate::txn::commit_gate::{ClosedBy, CommitGate};
use shuttle::sync::atomic::{AtomicU32, Ordering};
use shuttle::thread;
use std::sync::Arc;
use std::time::Duration;

/// What runs at this moment.
struct Inside {
    sections: AtomicU32,
    closers: AtomicU32,
}

fn section(gate: &CommitGate, inside: &Inside, seat: u32) {
    let section = gate.enter(seat, Duration::MAX).unwrap();
    inside.sections.fetch_add(1, Ordering::SeqCst);
    assert_eq!(
        inside.closers.load(Ordering::SeqCst),
        0,
        "no section runs while the gate is closed"
    );
    inside.sections.fetch_sub(1, Ordering::SeqCst);
    drop(section);
}

fn close(gate: &Arc<CommitGate>, inside: &Inside) {
    let closed = gate.close(ClosedBy::Engine, Duration::MAX).unwrap();
    assert_eq!(inside.closers.fetch_add(1, Ordering::SeqCst), 0, "one closer at a time");
    assert_eq!(inside.sections.load(Ordering::SeqCst), 0, "sections have ended");
    // The holder's own section, as in an exclusive transaction.
    drop(closed.section());
    assert_eq!(inside.sections.load(Ordering::SeqCst), 0, "and none has begun");
    inside.closers.fetch_sub(1, Ordering::SeqCst);
    drop(closed);
}

/// `entering` threads make two sections each, on two seats, while `closing` threads close twice.
fn race(entering: u32, closing: u32) {
    let gate = CommitGate::new();
    let inside = Arc::new(Inside { sections: AtomicU32::new(0), closers: AtomicU32::new(0) });
    let mut threads = Vec::new();
    for seat in 0..entering {
        let (gate, inside) = (Arc::clone(&gate), Arc::clone(&inside));
        threads.push(thread::spawn(move || {
            (0..2).for_each(|_| section(&gate, &inside, seat));
        }));
    }
    for _ in 0..closing {
        let (gate, inside) = (Arc::clone(&gate), Arc::clone(&inside));
        threads.push(thread::spawn(move || {
            (0..2).for_each(|_| close(&gate, &inside));
        }));
    }
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(!gate.is_closed() && gate.is_at_rest());
}

#[test]
fn sections_and_closers_exclude_each_other_and_no_thread_sleeps_forever() {
    hold("gate: two enter, one closes", Bound(30_000), || race(2, 1));
    hold("gate: three enter, two close", Bound(30_000), || race(3, 2));
    for plant in
        [PlantedBug::CheckBeforeCounting, PlantedBug::LeaveWithoutWake, PlantedBug::WakeUnlocked]
    {
        let name = "gate: two enter, one closes";
        find(name, Fault::Planted(plant), Bound(30_000), || race(2, 1));
    }
}
