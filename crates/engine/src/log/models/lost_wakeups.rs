//! The whole log under shuttle, on a simulated disk: no thread that waits for a commit sleeps forever.
//!
//! The callers are the real ones: blocked threads, futures with and without a worker, numbers given up, a
//! disk that fails, with and without the log's own threads. The checker reports a thread that is never woken
//! as a deadlock.

use crate::log::{Durability, Log, Options, Threads, Ticket, Writer};
use crate::planted_bug::PlantedBug;
use crate::sync::explore::{Bound, Fault, find, hold};
use crate::{DatabaseId, Error};
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::{future, thread};
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::Metadata;

type TestLog = Log<SimulatedDisk>;

fn log(threads: Threads, change: impl FnOnce(&mut Options)) -> Arc<TestLog> {
    let mut options = Options { ring_records: 8, ..Options::tiny() };
    change(&mut options);
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let log = Log::create_with(&disk, Path::new("log"), DatabaseId([7; 16]), options, threads);
    Arc::new(log.unwrap())
}

fn publish(log: &TestLog) -> Ticket {
    let permit = log.reserve(3).unwrap();
    permit.take().publish(&mut b"one".to_vec())
}

fn commit(log: &TestLog) {
    let ticket = publish(log);
    log.wait(ticket).unwrap();
    assert!(log.durable_lsn() >= ticket.csn, "complete is stable");
}

/// Threads that block, one of which gives a number up: all of them drive the log themselves.
fn blocking() {
    let log = log(Threads::None, |_| {});
    let committers = [0, 1, 2].map(|number| {
        let log = Arc::clone(&log);
        thread::spawn(move || {
            commit(&log);
            if number == 0 {
                log.reserve(3).unwrap().take().void();
            } else {
                commit(&log);
            }
        })
    });
    for committer in committers {
        committer.join().unwrap();
    }
}

/// A commit that no thread waits for fills the gap before one that a thread waits for.
fn gap() {
    let log = log(Threads::None, |_| {});
    let idle = {
        let log = Arc::clone(&log);
        thread::spawn(move || {
            publish(&log);
        })
    };
    commit(&log);
    idle.join().unwrap();
}

/// A number is given up before a commit that a thread waits for.
fn void() {
    let log = log(Threads::None, |_| {});
    let refused = {
        let log = Arc::clone(&log);
        thread::spawn(move || log.reserve(3).unwrap().take().void())
    };
    commit(&log);
    refused.join().unwrap();
}

/// An executor that notes when one of its clients was woken.
struct RecordingExecutor {
    is_woken: AtomicBool,
    thread: thread::Thread,
}

impl Wake for RecordingExecutor {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

/// An executor with two clients, each of which commits twice; it makes a pass whenever one was woken. If it
/// has more clients, which do nothing, their groups are never ready to flush.
fn run_worker(log: &TestLog, clients: usize) {
    let worker = log.worker();
    worker.has_clients(clients);
    let client = async || {
        for _ in 0..2 {
            let ticket = publish(log);
            worker.staged(3);
            worker.completion(ticket).await.unwrap();
            assert!(log.durable_lsn() >= ticket.csn, "complete is stable");
        }
    };
    let mut clients = [Some(Box::pin(client())), Some(Box::pin(client()))];
    let recall =
        Arc::new(RecordingExecutor { is_woken: AtomicBool::new(true), thread: thread::current() });
    let waker = Waker::from(Arc::clone(&recall));
    while clients.iter().any(Option::is_some) {
        while !recall.is_woken.swap(false, Ordering::SeqCst) {
            thread::park();
        }
        worker.begin_pass();
        for slot in &mut clients {
            if let Some(client) = slot
                && client.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
            {
                *slot = None;
            }
        }
        worker.end_pass();
    }
}

/// Clients of a worker and a future without one, next to a blocked thread; the log has its threads.
fn futures(writer: Writer, writes_in_flight_max: u32, clients: usize) {
    let log = log(Threads::Own, |options| {
        options.writer = writer;
        options.writes_in_flight_max = writes_in_flight_max;
    });
    let of_a_worker = {
        let log = Arc::clone(&log);
        thread::spawn(move || run_worker(&log, clients))
    };
    let alone = {
        let log = Arc::clone(&log);
        thread::spawn(move || {
            let ticket = publish(&log);
            future::block_on(log.completion(ticket)).unwrap();
        })
    };
    commit(&log);
    of_a_worker.join().unwrap();
    alone.join().unwrap();
}

/// The log fails while two threads wait: each wait ends as complete or as indeterminate.
fn failing() {
    let log = log(Threads::None, |_| {});
    let committers = [0, 1].map(|_| {
        let log = Arc::clone(&log);
        thread::spawn(move || {
            let Ok(permit) = log.reserve(3) else {
                return;
            };
            let ticket = permit.take().publish(&mut b"one".to_vec());
            match log.wait(ticket) {
                Ok(()) => assert!(log.durable_lsn() >= ticket.csn, "complete is stable"),
                Err(Error::Indeterminate { csn, .. }) => assert_eq!(csn, ticket.csn),
                Err(other) => panic!("{other}"),
            }
        })
    });
    // A number that is neither published nor given up: nothing after it can become stable.
    if let Ok(permit) = log.reserve(3) {
        drop(permit.take());
    }
    for committer in committers {
        committer.join().unwrap();
    }
    assert!(log.check().is_err(), "a failed log stays failed");
}

/// At durability none a commit is complete when it is published, and is still written.
fn unsynced() {
    let log = log(Threads::Own, |options| options.durability = Durability::None);
    let committers = [0, 1].map(|_| {
        let log = Arc::clone(&log);
        thread::spawn(move || {
            let ticket = publish(&log);
            log.wait(ticket).unwrap();
            ticket
        })
    });
    let tickets = committers.map(|committer| committer.join().unwrap());
    for ticket in tickets {
        log.wait_durable(ticket.csn).unwrap();
        assert!(log.durable_lsn() >= ticket.csn);
    }
}

#[test]
fn blocked_threads_are_woken() {
    hold("sleepers: blocking", Bound(20_000), blocking);
    hold("sleepers: gap", Bound(20_000), gap);
    hold("sleepers: void", Bound(20_000), void);
    let bound = Bound(20_000);
    find("sleepers: gap", Fault::Planted(PlantedBug::LeaveGapWaiters), bound, gap);
    find("sleepers: void", Fault::Planted(PlantedBug::LeaveVoidWaiters), bound, void);
    find("sleepers: blocking", Fault::Planted(PlantedBug::CheckOnce), bound, blocking);
}

#[test]
fn futures_are_woken() {
    for writer in [Writer::Worker, Writer::Thread] {
        for (flights, clients) in [(1, 2), (2, 2), (1, 9)] {
            let name = format!("sleepers: futures, {writer:?}, {flights} in flight, {clients}");
            hold(&name, Bound(8_000), move || futures(writer, flights, clients));
        }
    }
    hold("sleepers: unsynced", Bound(8_000), unsynced);
    find("sleepers: futures", Fault::Planted(PlantedBug::LeaveToAbsentPass), Bound(8_000), || {
        futures(Writer::Worker, 1, 9)
    });
}

#[test]
fn a_failure_wakes_every_waiter() {
    hold("sleepers: failing", Bound(20_000), failing);
    find("sleepers: failing", Fault::Planted(PlantedBug::FailWithoutWake), Bound(20_000), failing);
}
