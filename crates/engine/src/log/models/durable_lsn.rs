//! The durable LSN and its waiters, under loom: a thread that registers and then checks once more is woken or
//! sees the durable LSN itself, in every order, also after a failure.
//!
//! The waiter does what `log::wait` does and the mover what `Shared::end` does, on the real ring and durable
//! LSN. `lost_wakeups` runs the real callers.

use crate::error::Error;
use crate::ids::Csn;
use crate::log::durable_lsn::DurableLsn;
use crate::log::frame::Kind;
use crate::log::ring::{NO_WORKER, Ring};
use crate::planted_bug::PlantedBug;
use crate::sync::explore::{Bound, Fault, find, hold};
use crate::sync::thread;
use std::sync::Arc;
use std::task::{Wake, Waker};

/// The fault injected into a model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InjectedFault {
    Nothing,
    /// The waiter sleeps without another check after it has registered.
    NoSecondCheck,
    /// The mover wakes before the durable LSN has moved.
    WakeBeforeMoving,
    /// The mover wakes one waiter of a commit, not all.
    WakeOne,
    /// The thread that fails the log wakes before it has failed.
    WakeBeforeFailing,
}

struct Log {
    ring: Ring,
    durable_lsn: DurableLsn,
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn log(records: u32) -> Arc<Log> {
    let (ring, durable_lsn) = (Ring::new(records, Csn(1)), DurableLsn::new(Csn(0)));
    ring.set_space(1 << 20);
    Arc::new(Log { ring, durable_lsn })
}

fn publish(log: &Log) -> Csn {
    while log.ring.claim(0).is_err() {
        thread::yield_now();
    }
    let csn = log.ring.take();
    log.ring.publish(csn, Kind::Transaction, &mut Vec::new());
    csn
}

/// Blocks until the commit is over.
fn wait(log: &Log, csn: Csn, wrong: InjectedFault) -> Result<(), Error> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut name = None;
    loop {
        if let Some(outcome) = log.durable_lsn.outcome(csn) {
            return outcome;
        }
        name = log.ring.register(csn, NO_WORKER, &waker, name);
        if wrong != InjectedFault::NoSecondCheck
            && let Some(outcome) = log.durable_lsn.outcome(csn)
        {
            log.ring.deregister(csn, name);
            return outcome;
        }
        thread::park();
    }
}

/// Makes the commits up to `to` complete, as a driver does that returns an I/O request.
fn complete(log: &Log, to: Csn, wrong: InjectedFault) {
    if wrong == InjectedFault::WakeBeforeMoving {
        wake(log, log.durable_lsn.get(), to, wrong);
        log.durable_lsn.advance(to);
        return;
    }
    let from = log.durable_lsn.advance(to);
    wake(log, from, to, wrong);
    log.ring.complete(to.0.saturating_sub(from.0));
}

fn wake(log: &Log, from: Csn, to: Csn, wrong: InjectedFault) {
    for csn in from.0 + 1..=to.0 {
        while let Some((waker, _)) = log.ring.take_waker(Csn(csn)) {
            waker.wake();
            if wrong == InjectedFault::WakeOne {
                break;
            }
        }
    }
}

/// A client and another thread wait for a commit; a driver completes it.
fn waking(wrong: InjectedFault) {
    let log = log(2);
    let csn = publish(&log);
    let other = {
        let log = Arc::clone(&log);
        thread::Builder::new().spawn(move || wait(&log, csn, wrong)).unwrap()
    };
    let driver = {
        let log = Arc::clone(&log);
        thread::Builder::new().spawn(move || complete(&log, csn, wrong)).unwrap()
    };
    wait(&log, csn, wrong).unwrap();
    assert!(log.durable_lsn.get() >= csn, "complete is stable");
    other.join().unwrap().unwrap();
    driver.join().unwrap();
}

/// One slot: when the first commit's driver has moved the durable LSN but not yet woken anyone, a second
/// commit takes the slot over. The waiters there are woken nevertheless.
fn overtaken(wrong: InjectedFault) {
    let log = log(1);
    let first = publish(&log);
    let waiter = {
        let log = Arc::clone(&log);
        thread::Builder::new()
            .spawn(move || {
                let outcome = wait(&log, first, wrong);
                assert!(log.durable_lsn.get() >= first, "complete is stable");
                outcome
            })
            .unwrap()
    };
    let later = {
        let log = Arc::clone(&log);
        thread::Builder::new()
            .spawn(move || {
                let csn = publish(&log);
                assert!(
                    log.durable_lsn.get() >= first,
                    "a slot is used again when its commit is over"
                );
                csn
            })
            .unwrap()
    };
    // A later group returns the claim before this one's driver has reached its wakers.
    let from = log.durable_lsn.advance(first);
    log.ring.complete(1);
    wake(&log, from, first, wrong);
    waiter.join().unwrap().unwrap();
    assert_eq!(later.join().unwrap(), Csn(2));
}

/// The log fails while threads wait and the driver may already have completed the first of two commits:
/// stable commits are acknowledged, others are indeterminate, and no thread sleeps on.
fn failing(wrong: InjectedFault) {
    let log = log(2);
    let (first, second) = (publish(&log), publish(&log));
    let waiters = [first, second].map(|csn| {
        let log = Arc::clone(&log);
        thread::Builder::new().spawn(move || wait(&log, csn, wrong)).unwrap()
    });
    complete(&log, first, InjectedFault::Nothing);
    if wrong == InjectedFault::WakeBeforeFailing {
        wake(&log, first, second, wrong);
    }
    log.durable_lsn.fail(Arc::from("the disk is gone"));
    if wrong != InjectedFault::WakeBeforeFailing {
        wake(&log, first, second, wrong);
    }
    let [one, other] = waiters.map(|waiter| waiter.join().unwrap());
    assert!(one.is_ok(), "what is at the durable LSN stays committed");
    assert!(matches!(other, Err(Error::Indeterminate { csn, .. }) if csn == second));
}

#[test]
fn no_waiter_misses_its_commit() {
    hold("durable_lsn: waking", Bound(3), || waking(InjectedFault::Nothing));
    for (name, wrong) in [
        ("no second check before the sleep", InjectedFault::NoSecondCheck),
        ("woken before the durable LSN moves", InjectedFault::WakeBeforeMoving),
        ("only one waiter woken", InjectedFault::WakeOne),
    ] {
        find("durable_lsn: waking", Fault::InModel(name), Bound(2), move || waking(wrong));
    }
}

#[test]
fn a_reused_slot_wakes_its_remaining_waiters() {
    hold("durable_lsn: overtaken", Bound(3), || overtaken(InjectedFault::Nothing));
    let planted = Fault::Planted(PlantedBug::ForgetWaiters);
    find("durable_lsn: overtaken", planted, Bound(2), || overtaken(InjectedFault::Nothing));
}

#[test]
fn a_failure_ends_every_wait() {
    hold("durable_lsn: failing", Bound(3), || failing(InjectedFault::Nothing));
    for (name, wrong) in [
        ("no second check before the sleep", InjectedFault::NoSecondCheck),
        ("woken before the log has failed", InjectedFault::WakeBeforeFailing),
    ] {
        find("durable_lsn: failing", Fault::InModel(name), Bound(2), move || failing(wrong));
    }
}
