//! No thread or future that waits for a commit sleeps forever, alone or together.

use super::behaviour::{commit, made, reopen, simulated, small};
use crate::log::{Log, Options, Threads, Worker, Writer};
use crate::{Csn, DatabaseId};
use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use syncline_instrument::{Nanos, clock};
use syncline_vfs::{Disk, RealDisk};

/// Fails instead of hanging if a wake-up is lost.
fn within_a_minute(body: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        body();
        sender.send(()).unwrap();
    });
    let ended = receiver.recv_timeout(Duration::from_mins(1));
    let hangs = ended == Err(mpsc::RecvTimeoutError::Timeout);
    assert!(!hangs, "a thread sleeps forever");
    thread.join().unwrap();
}

/// Every thread commits its own records; afterwards all of them must be recovered.
fn stress_threads<D: Disk>(disk: &D, directory: &Path, options: &Options, threads: u64, each: u64) {
    let log = Log::create(disk, directory, DatabaseId::random(), options.clone()).unwrap();
    let acknowledged = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (log, acknowledged) = (&log, &acknowledged);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(thread);
                for number in 0..each {
                    if random.u8(0..16) == 0 {
                        log.reserve(random.usize(0..500)).unwrap().take().void();
                    }
                    let mut content = (thread << 32 | number).to_le_bytes().to_vec();
                    content.resize(8 + random.usize(0..300), thread as u8);
                    let ticket = commit(log, &content).unwrap();
                    assert!(log.durable_lsn() >= ticket.csn);
                    acknowledged.lock().unwrap().insert(ticket.csn.0, content);
                }
            });
        }
    });
    log.close().unwrap();
    let found = reopen(disk, directory, options).unwrap();
    assert_eq!(found, acknowledged.into_inner().unwrap());
}

#[test]
fn no_thread_of_many_sleeps_forever_in_a_tiny_ring() {
    within_a_minute(|| {
        for (round, writes_in_flight_max) in [1, 1, 3].into_iter().enumerate() {
            let options = Options {
                ring_records: 8,
                writes_in_flight_max,
                direct: round == 0,
                ..Options::tiny()
            };
            stress_threads(&simulated(), Path::new("log"), &options, 12, 150);
        }
    });
}

#[test]
fn no_thread_of_many_sleeps_forever_on_a_real_disk() {
    within_a_minute(|| {
        let folder = tempfile::tempdir().unwrap();
        for direct in [true, false] {
            let options = Options { ring_records: 64, direct, ..small() };
            let directory = folder.path().join(format!("{direct}"));
            stress_threads(&RealDisk, &directory, &options, 32, 60);
        }
    });
}

/// Runs a worker with clients that each commit several times, on this thread.
fn run_worker<D: Disk>(log: &Log<D>, worker: &Worker<D>, clients: usize, each: u64) -> u64 {
    let acknowledged = AtomicU64::new(0);
    let client = |_| async {
        for _ in 0..each {
            let mut record = vec![1; 60];
            let ticket = log.reserve(60).unwrap().take().publish(&mut record);
            worker.staged(60);
            worker.completion(ticket).await.unwrap();
            assert!(log.durable_lsn() >= ticket.csn);
            acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    };
    let mut clients: Vec<_> = (0..clients).map(|number| Some(Box::pin(client(number)))).collect();
    let waker = Arc::new(RecordingExecutor {
        woken: AtomicBool::new(true),
        thread: std::thread::current(),
    });
    let shared = Waker::from(Arc::clone(&waker));
    while clients.iter().any(Option::is_some) {
        while !waker.woken.swap(false, Ordering::SeqCst) {
            std::thread::park();
        }
        worker.begin_pass();
        for slot in &mut clients {
            if let Some(client) = slot {
                let polled = Pin::as_mut(client).poll(&mut Context::from_waker(&shared));
                if polled == Poll::Ready(()) {
                    *slot = None;
                }
            }
        }
        worker.end_pass();
    }
    drop(clients);
    acknowledged.into_inner()
}

struct RecordingExecutor {
    woken: AtomicBool,
    thread: std::thread::Thread,
}

impl Wake for RecordingExecutor {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

#[test]
fn no_future_of_several_workers_sleeps_forever_next_to_threads() {
    within_a_minute(|| {
        for writer in [Writer::Worker, Writer::Thread] {
            for round in 0..3 {
                let options = Options {
                    ring_records: 128,
                    writer,
                    pass_bytes_max: 500,
                    writes_in_flight_max: 1 + round % 2,
                    ..Options::tiny()
                };
                let disk = simulated();
                let log = made(&disk, &options);
                std::thread::scope(|scope| {
                    for clients in [1, 7, 30] {
                        let log = &log;
                        scope.spawn(move || {
                            let worker = log.worker();
                            worker.has_clients(clients);
                            let acknowledged = run_worker(log, &worker, clients, 40);
                            assert_eq!(acknowledged, clients as u64 * 40);
                        });
                    }
                    for _ in 0..2 {
                        scope.spawn(|| {
                            for _ in 0..80 {
                                commit(&log, b"blocking").unwrap();
                            }
                        });
                    }
                });
                assert_eq!(log.durable_lsn(), Csn(38 * 40 + 160), "{writer:?}");
                log.close().unwrap();
            }
        }
    });
}

#[test]
fn a_future_without_a_worker_is_completed_by_the_writer_thread() {
    within_a_minute(|| {
        let disk = simulated();
        let log = made(&disk, &Options::tiny());
        for _ in 0..200 {
            let mut record = vec![2; 30];
            let ticket = log.reserve(30).unwrap().take().publish(&mut record);
            let recall = Arc::new(RecordingExecutor {
                woken: AtomicBool::new(false),
                thread: std::thread::current(),
            });
            let waker = Waker::from(Arc::clone(&recall));
            let mut completion = Box::pin(log.completion(ticket));
            while completion.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                while !recall.woken.swap(false, Ordering::SeqCst) {
                    std::thread::park();
                }
            }
            assert!(log.durable_lsn() >= ticket.csn);
        }
        let nudged = log.reserve(3).unwrap().take().publish(&mut b"one".to_vec());
        log.nudge();
        while log.durable_lsn() < nudged.csn {
            std::thread::yield_now();
        }
    });
}

#[test]
fn a_worker_whose_woken_client_is_dropped_delays_no_other() {
    /// Sixteen writes of ten milliseconds, the assumed duration of the first one.
    const DEADLINE_NS: Nanos = 160_000_000;
    within_a_minute(|| {
        let began = clock::now();
        let log = made(&simulated(), &Options::tiny());
        let (one, other) = (log.worker(), log.worker());
        let publish = || log.reserve(3).unwrap().take().publish(&mut b"one".to_vec());
        let context = &mut Context::from_waker(Waker::noop());
        one.begin_pass();
        other.begin_pass();
        let mut of_one = Box::pin(one.completion(publish()));
        let mut of_other = Box::pin(other.completion(publish()));
        assert!(of_one.as_mut().poll(context).is_pending());
        assert!(of_other.as_mut().poll(context).is_pending());
        one.end_pass();
        // Commits staged for long are written anyway, and this thread may have been descheduled for long.
        assert!(
            log.durable_lsn() == Csn(0) || clock::now() - began > DEADLINE_NS,
            "the other worker may still add to the group"
        );
        other.end_pass();
        // The thread that prepares segments may hold the log at this moment, and then it writes.
        reached(&log, Csn(2));
        // The first worker is expected now, and its only client goes away.
        drop(of_one);
        other.begin_pass();
        let last = publish();
        let mut of_last = Box::pin(other.completion(last));
        assert!(of_last.as_mut().poll(context).is_pending());
        other.end_pass();
        reached(&log, last.csn);
    });
}

/// Waits until commits are complete up to that one; fails after a minute.
fn reached<D: Disk>(log: &Log<D>, csn: Csn) {
    while log.durable_lsn() < csn {
        std::thread::yield_now();
    }
}

/// A group that is ready to flush or past its deadline does not wait for the end of a pass: while one worker
/// makes a pass that does not end, a group of the others is written.
#[test]
fn a_group_is_written_during_a_pass_that_does_not_end() {
    within_a_minute(|| {
        let log = made(&simulated(), &Options::tiny());
        let (busy, other) = (log.worker(), log.worker());
        // All clients but one are in the group each time. Before the first write, and where the other client
        // is out for longer, the group is written at its deadline.
        for clients in [0, 3] {
            busy.has_clients(1);
            other.has_clients(clients);
            for round in 1..=50 {
                busy.begin_pass();
                other.begin_pass();
                let mut last = None;
                for _ in 0..3 {
                    let permit = log.reserve(3).unwrap();
                    last = Some(permit.take().publish(&mut b"one".to_vec()));
                    other.staged(3);
                }
                let last = last.expect("three were published");
                while log.durable_lsn() < last.csn {
                    other.end_pass();
                    std::thread::yield_now();
                    other.begin_pass();
                }
                other.end_pass();
                if round % 10 == 0 {
                    // From time to time all passes end, and the last worker writes.
                    let last = log.reserve(3).unwrap().take().publish(&mut b"one".to_vec());
                    busy.end_pass();
                    while log.durable_lsn() < last.csn {
                        std::thread::yield_now();
                    }
                }
            }
        }
        log.close().unwrap();
    });
}

/// A commit that no thread waits for fills a gap: the threads that sleep behind it are woken, with one ticket
/// or two.
#[test]
fn a_commit_without_a_waiter_that_fills_a_gap_wakes_those_behind_it() {
    let log = Log::create(&simulated(), Path::new("log"), DatabaseId::random(), small()).unwrap();
    for _ in 0..50 {
        let first = log.reserve(1).unwrap().take();
        let ticket = log.reserve(1).unwrap().take().publish(&mut vec![2]);
        let (sender, woken) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let (log, sender) = (&log, sender.clone());
                scope.spawn(move || {
                    log.wait(ticket).unwrap();
                    sender.send(()).unwrap();
                });
            }
            std::thread::yield_now();
            first.publish(&mut vec![1]);
            for _ in 0..2 {
                let waited = woken.recv_timeout(Duration::from_secs(20));
                if waited.is_err() {
                    // Lets the sleepers go, so that the test fails instead of hanging.
                    log.flush().unwrap();
                }
                waited.expect("both are woken");
            }
        });
        log.release(log.durable_lsn());
    }
}

/// Transactions that have read a commit's writes wait for it too, in addition to its own client: futures of
/// any worker or none, and blocked threads. None of them may lose its wake-up to another one that leaves.
#[test]
fn all_waiters_of_one_commit_are_woken() {
    within_a_minute(|| {
        let disk = simulated();
        let directory = Path::new("log");
        let log = Log::create(&disk, directory, DatabaseId::random(), Options::tiny()).unwrap();
        let worker = log.worker();
        let recalls: Vec<_> = (0..4)
            .map(|_| {
                let woken = AtomicBool::new(false);
                let thread = std::thread::current();
                Arc::new(RecordingExecutor { woken, thread })
            })
            .collect();
        for round in 0..200 {
            worker.begin_pass();
            // The writer of the previous round may still be at work, in a pass or not; it cannot pass this
            // commit.
            let earlier = log.reserve(3).unwrap().take();
            let ticket = log.reserve(3).unwrap().take().publish(&mut b"one".to_vec());
            let mut waiting: Vec<_> = recalls
                .iter()
                .map(|recall| {
                    let mut completion = Box::pin(worker.completion(ticket));
                    let waker = Waker::from(Arc::clone(recall));
                    let context = &mut Context::from_waker(&waker);
                    assert!(completion.as_mut().poll(context).is_pending());
                    completion
                })
                .collect();
            // One waiter leaves, in turn, including the first.
            drop(waiting.remove(round % 4));
            earlier.publish(&mut b"two".to_vec());
            std::thread::scope(|scope| {
                let blocked = scope.spawn(|| log.wait(ticket).unwrap());
                if round % 2 == 0 {
                    std::thread::yield_now();
                }
                worker.end_pass();
                blocked.join().unwrap();
            });
            assert!(log.durable_lsn() >= ticket.csn);
            for (place, recall) in recalls.iter().enumerate() {
                let woken = recall.woken.swap(false, Ordering::SeqCst);
                assert!(woken || place == round % 4, "{place} of round {round} sleeps on");
            }
        }
    });
}

/// A waker that panics.
struct PanickingWaker;

impl Wake for PanickingWaker {
    fn wake(self: Arc<Self>) {
        panic!("a bug in a waker");
    }
}

#[test]
fn a_panicking_waker_does_not_affect_the_ones_behind_it() {
    within_a_minute(|| {
        let options = Options { ring_records: 8, ..Options::tiny() };
        let (disk, id) = (simulated(), DatabaseId::random());
        let log = Log::create_with(&disk, Path::new("log"), id, options, Threads::None).unwrap();
        // More rounds than the ring has slots: a leak would soon be noticed.
        for round in 0..40 {
            let woken = AtomicBool::new(false);
            let thread = std::thread::current();
            let recall = Arc::new(RecordingExecutor { woken, thread });
            // Reserving may write what is already staged.
            let permits = [(); 3].map(|()| log.reserve(3).unwrap());
            let tickets = permits.map(|permit| permit.take().publish(&mut b"one".to_vec()));
            let wakers = [
                Waker::from(Arc::new(PanickingWaker)),
                Waker::from(Arc::new(PanickingWaker)),
                Waker::from(Arc::clone(&recall)),
            ];
            let waiting = tickets.iter().zip(&wakers).map(|(ticket, waker)| {
                let mut completion = Box::pin(log.completion(*ticket));
                let context = &mut Context::from_waker(waker);
                assert!(completion.as_mut().poll(context).is_pending());
                completion
            });
            let waiting: Vec<_> = waiting.collect();
            log.flush().unwrap();
            assert!(recall.woken.load(Ordering::SeqCst), "round {round}");
            drop(waiting);
            log.release(log.durable_lsn());
        }
    });
}
