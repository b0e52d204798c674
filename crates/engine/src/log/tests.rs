//! The log through its public face: what it keeps, what it refuses, and that nobody sleeps for ever.

use crate::log::{Durability, Log, Options, Ticket, Worker, Writer};
use crate::plant::Plant;
use crate::{Csn, DatabaseId, Error, Result};
use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use syncline_disk::simulated::{Fault, FaultRule, Metadata, SyncFailure};
use syncline_disk::{CountingDisk, Disk, File, OpenOptions, RealDisk, SimulatedDisk};

fn small() -> Options {
    Options {
        segment_bytes: 1 << 20,
        frame_bytes_max: 64 << 10,
        ring_records: 16,
        ..Options::default()
    }
}

fn commit<D: Disk>(log: &Log<D>, content: &[u8]) -> Result<Ticket> {
    let mut record = content.to_vec();
    let ticket = log.reserve(record.len())?.take().publish(&mut record);
    log.wait(ticket)?;
    Ok(ticket)
}

fn reopen<D: Disk>(
    disk: &D,
    directory: &Path,
    options: &Options,
) -> Result<BTreeMap<u64, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let replay = &mut |csn: Csn, record: &[u8]| {
        found.insert(csn.0, record.to_vec());
    };
    Log::open(disk, directory, None, Csn::ZERO, options, replay)?.close()?;
    Ok(found)
}

fn simulated() -> SimulatedDisk {
    SimulatedDisk::new(1, Metadata::Strict)
}

#[test]
fn commits_of_every_durability_and_sync_method_are_found_again() {
    let folder = tempfile::tempdir().unwrap();
    for durability in [Durability::None, Durability::Data, Durability::Full] {
        for direct in [false, true] {
            let options = Options {
                durability,
                direct,
                ..small()
            };
            let directory = folder
                .path()
                .join(format!("{}-{direct}", durability.word()));
            let log =
                Log::create(&RealDisk, &directory, DatabaseId::random(), options.clone()).unwrap();
            assert_eq!(log.settings().unwrap().durability, durability);
            let contents: Vec<Vec<u8>> =
                (0..40).map(|i: u8| vec![i; usize::from(i) * 97]).collect();
            for content in &contents {
                commit(&log, content).unwrap();
            }
            log.close().unwrap();
            let found = reopen(&RealDisk, &directory, &options).unwrap();
            assert!(found.keys().copied().eq(1..=40), "{durability:?} {direct}");
            assert!(found.values().eq(&contents), "{durability:?} {direct}");
        }
    }
}

#[test]
fn one_client_pays_one_sync_a_commit_and_none_at_durability_none() {
    let folder = tempfile::tempdir().unwrap();
    for (durability, direct, expected) in [
        (Durability::Data, true, 100),
        (Durability::Data, false, 100),
        (Durability::Full, false, 100),
        (Durability::None, true, 0),
    ] {
        let options = Options {
            durability,
            direct,
            segment_bytes: 4 << 20,
            ..small()
        };
        let disk = CountingDisk::new(RealDisk);
        let directory = folder
            .path()
            .join(format!("{}-{direct}", durability.word()));
        let log = Log::create(&disk, &directory, DatabaseId::random(), options).unwrap();
        commit(&log, b"the first waits for nothing else").unwrap();
        // The spare file is prepared beside the first commits; its syncs are not theirs.
        while log.shared().prepare_segment(false).unwrap() {}
        let before = log.stats().syncs;
        for number in 0..100_u64 {
            commit(&log, &number.to_le_bytes()).unwrap();
        }
        assert_eq!(
            log.stats().syncs - before,
            expected,
            "{durability:?} {direct}"
        );
        log.close().unwrap();
    }
}

#[test]
fn a_record_longer_than_a_frame_is_whole_and_one_over_the_cap_is_refused() {
    let disk = simulated();
    let options = Options {
        record_bytes_max: 40_000,
        ..Options::tiny()
    };
    let log = Log::create(
        &disk,
        Path::new("log"),
        DatabaseId::random(),
        options.clone(),
    )
    .unwrap();
    let long: Vec<u8> = (0..40_000_u32).map(|i| (i % 251) as u8).collect();
    commit(&log, &long).unwrap();
    commit(&log, b"short").unwrap();
    assert!(matches!(
        log.reserve(40_001),
        Err(Error::TooLarge {
            bytes: 40_001,
            bytes_max: 40_000
        })
    ));
    log.close().unwrap();
    let found = reopen(&disk, Path::new("log"), &options).unwrap();
    assert_eq!(
        found.into_values().collect::<Vec<_>>(),
        [long, b"short".to_vec()]
    );
}

#[test]
fn a_released_log_uses_its_files_again_and_opens_from_there_only() {
    let disk = simulated();
    let options = Options::tiny();
    let log = Log::create(
        &disk,
        Path::new("log"),
        DatabaseId::random(),
        options.clone(),
    )
    .unwrap();
    for number in 0..400_u64 {
        commit(&log, &[number as u8; 200]).unwrap();
        log.release(log.horizon());
    }
    assert!(log.stats().segments_recycled > 5, "{:?}", log.stats());
    let horizon = log.horizon();
    log.close().unwrap();
    let files = disk.list(Path::new("log")).unwrap().len();
    assert!(
        files < 10,
        "{files} files for a log that was released all the time"
    );
    let early = Log::open(
        &disk,
        Path::new("log"),
        None,
        Csn(3),
        &options,
        &mut |_, _| {},
    );
    assert!(matches!(early, Err(Error::Missing { .. })), "{early:?}");
    let log = Log::open(
        &disk,
        Path::new("log"),
        None,
        horizon,
        &options,
        &mut |csn, _| panic!("{csn} was released"),
    );
    assert_eq!(commit(&log.unwrap(), b"next").unwrap().csn, horizon.next());
}

#[test]
fn a_full_disk_refuses_the_commit_that_lacks_room_and_can_be_tried_again() {
    let disk = simulated();
    let log = Log::create(
        &disk,
        Path::new("log"),
        DatabaseId::random(),
        Options::tiny(),
    )
    .unwrap();
    disk.arm(FaultRule {
        repeat: true,
        ..FaultRule::next(Fault::PreallocateFull, "log")
    });
    let mut committed = 0_u64;
    let refusal = loop {
        match commit(&log, &[7; 400]) {
            Ok(_) => committed += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refusal, Error::Full { .. }), "{refusal}");
    assert!(committed > 10, "a prepared segment was there: {committed}");
    disk.disarm();
    assert_eq!(
        commit(&log, b"there is room again").unwrap().csn,
        Csn(committed + 1)
    );
}

#[test]
fn a_failed_sync_ends_the_ticket_as_indeterminate_and_closes_the_log() {
    for direct in [false, true] {
        let disk = simulated();
        let options = Options {
            direct,
            ..Options::tiny()
        };
        let log = Log::create(&disk, Path::new("log"), DatabaseId::random(), options).unwrap();
        while log.shared().prepare_segment(false).unwrap() {}
        commit(&log, b"stable").unwrap();
        let dropped = Fault::SyncError(SyncFailure::PagesDropped);
        disk.arm(FaultRule::next(dropped, "log"));
        let failed = commit(&log, b"in flight");
        assert!(
            matches!(failed, Err(Error::Indeterminate { csn: Csn(2), .. })),
            "{failed:?}"
        );
        assert!(matches!(log.reserve(1), Err(Error::Poisoned { .. })));
        assert!(
            log.wait(Ticket { csn: Csn(1) }).is_ok(),
            "what was stable stays so"
        );
        assert!(matches!(
            log.flush(),
            Err(Error::Poisoned { .. } | Error::Indeterminate { .. })
        ));
    }
}

#[test]
fn a_number_that_is_dropped_closes_the_log_and_wakes_those_behind_it() {
    let disk = simulated();
    let log = Log::create(
        &disk,
        Path::new("log"),
        DatabaseId::random(),
        Options::tiny(),
    )
    .unwrap();
    let hole = log.reserve(1).unwrap().take();
    std::thread::scope(|scope| {
        let behind = scope.spawn(|| commit(&log, b"behind the hole"));
        while log.shared().ring.next() < Csn(3) {
            std::thread::yield_now();
        }
        drop(hole);
        let outcome = behind.join().unwrap();
        assert!(
            matches!(outcome, Err(Error::Indeterminate { .. })),
            "{outcome:?}"
        );
    });
}

#[test]
fn a_voided_number_lets_those_behind_it_pass() {
    let disk = simulated();
    let options = Options::tiny();
    let log = Log::create(
        &disk,
        Path::new("log"),
        DatabaseId::random(),
        options.clone(),
    )
    .unwrap();
    let hole = log.reserve(100).unwrap().take();
    std::thread::scope(|scope| {
        let behind = scope.spawn(|| commit(&log, b"behind the hole"));
        while !log.shared().ring.is_published(Csn(2)) {
            std::thread::yield_now();
        }
        hole.void();
        behind.join().unwrap().unwrap();
    });
    log.close().unwrap();
    let found = reopen(&disk, Path::new("log"), &options).unwrap();
    assert_eq!(found, BTreeMap::from([(2, b"behind the hole".to_vec())]));
}

/// At durability none, too, nobody is told of a commit that the next transaction would not see.
fn acknowledges_behind_a_gap(plant: Option<Plant>) -> bool {
    let options = Options {
        durability: Durability::None,
        ..Options::tiny()
    };
    let log = Log::create(
        &simulated(),
        Path::new("log"),
        DatabaseId::random(),
        options,
    )
    .unwrap();
    let hole = log.reserve(100).unwrap().take();
    let told = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            crate::plant::with(plant, || commit(&log, b"behind the hole").unwrap());
            told.store(true, Ordering::SeqCst);
        });
        while !log.shared().ring.is_published(Csn(2)) {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(50));
        let told_early = told.load(Ordering::SeqCst);
        hole.void();
        told_early
    })
}

#[test]
fn without_durability_a_commit_waits_for_those_before_it() {
    assert!(!acknowledges_behind_a_gap(None));
    let found = acknowledges_behind_a_gap(Some(Plant::AcknowledgeBehindGap));
    assert!(found, "the planted bug is found");
}

#[test]
fn what_is_not_this_log_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("log");
    let open = |database| {
        Log::open(
            &RealDisk,
            &directory,
            database,
            Csn::ZERO,
            &small(),
            &mut |_, _| {},
        )
        .map(drop)
    };
    assert!(matches!(open(None), Err(Error::Missing { .. })));
    let id = DatabaseId::random();
    let log = Log::create(&RealDisk, &directory, id, small()).unwrap();
    assert!(matches!(
        open(None),
        Err(Error::Disk(syncline_disk::Error::Locked { .. }))
    ));
    commit(&log, b"one").unwrap();
    drop(log);
    let again = Log::create(&RealDisk, &directory, id, small());
    assert!(matches!(again, Err(Error::Exists { .. })), "{again:?}");
    assert!(matches!(
        open(Some(DatabaseId::random())),
        Err(Error::WrongDatabase { .. })
    ));
    open(Some(id)).unwrap();
    for name in RealDisk.list(&directory).unwrap() {
        let file = RealDisk
            .open(&directory.join(name), OpenOptions::READ_WRITE)
            .unwrap();
        file.set_len(0).unwrap();
        file.write_at(b"somebody's notes", 0).unwrap();
    }
    let error = open(None).unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
    assert!(matches!(
        Log::create(&RealDisk, &directory, id, small()),
        Err(Error::Exists { .. })
    ));
}

/// Fails instead of hanging, should a wake-up be lost.
fn within_a_minute(body: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        body();
        sender.send(()).unwrap();
    });
    let ended = receiver.recv_timeout(Duration::from_mins(1));
    let hangs = ended == Err(mpsc::RecvTimeoutError::Timeout);
    assert!(!hangs, "somebody sleeps for ever");
    thread.join().unwrap();
}

/// Every thread commits under its own name; afterwards all of them must be found.
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
                    assert!(log.horizon() >= ticket.csn);
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
fn no_thread_of_many_sleeps_for_ever_in_a_tiny_ring() {
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
fn no_thread_of_many_sleeps_for_ever_on_a_real_disk() {
    within_a_minute(|| {
        let folder = tempfile::tempdir().unwrap();
        for direct in [true, false] {
            let options = Options {
                ring_records: 64,
                direct,
                ..small()
            };
            let directory = folder.path().join(format!("{direct}"));
            stress_threads(&RealDisk, &directory, &options, 32, 60);
        }
    });
}

/// A worker with clients that each commit some times, on this thread.
fn run_worker<D: Disk>(log: &Log<D>, worker: &Worker<D>, clients: usize, each: u64) -> u64 {
    let acknowledged = AtomicU64::new(0);
    let client = |_| async {
        for _ in 0..each {
            let mut record = vec![1; 60];
            let ticket = log.reserve(60).unwrap().take().publish(&mut record);
            worker.staged(60);
            worker.completion(ticket).await.unwrap();
            assert!(log.horizon() >= ticket.csn);
            acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    };
    let mut clients: Vec<_> = (0..clients)
        .map(|number| Some(Box::pin(client(number))))
        .collect();
    let waker = Arc::new(Recall {
        woken: AtomicBool::new(true),
        thread: std::thread::current(),
    });
    let shared = Waker::from(Arc::clone(&waker));
    while clients.iter().any(Option::is_some) {
        while !waker.woken.swap(false, Ordering::SeqCst) {
            std::thread::park();
        }
        worker.cork();
        for place in &mut clients {
            if let Some(client) = place {
                let polled = Pin::as_mut(client).poll(&mut Context::from_waker(&shared));
                if polled == Poll::Ready(()) {
                    *place = None;
                }
            }
        }
        worker.uncork();
    }
    drop(clients);
    acknowledged.into_inner()
}

struct Recall {
    woken: AtomicBool,
    thread: std::thread::Thread,
}

impl Wake for Recall {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

#[test]
fn no_future_of_several_workers_beside_threads_sleeps_for_ever() {
    within_a_minute(|| {
        for writer in [Writer::Worker, Writer::Thread] {
            for round in 0..3 {
                let options = Options {
                    ring_records: 128,
                    writer,
                    corked_bytes_max: 500,
                    writes_in_flight_max: 1 + round % 2,
                    ..Options::tiny()
                };
                let disk = simulated();
                let log =
                    Log::create(&disk, Path::new("log"), DatabaseId::random(), options).unwrap();
                std::thread::scope(|scope| {
                    for clients in [1, 7, 30] {
                        let log = &log;
                        scope.spawn(move || {
                            let worker = log.worker();
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
                assert_eq!(log.horizon(), Csn(38 * 40 + 160), "{writer:?}");
                log.close().unwrap();
            }
        }
    });
}

#[test]
fn a_future_without_a_worker_is_completed_by_the_writer_thread() {
    within_a_minute(|| {
        let disk = simulated();
        let log = Log::create(
            &disk,
            Path::new("log"),
            DatabaseId::random(),
            Options::tiny(),
        )
        .unwrap();
        for _ in 0..200 {
            let mut record = vec![2; 30];
            let ticket = log.reserve(30).unwrap().take().publish(&mut record);
            let recall = Arc::new(Recall {
                woken: AtomicBool::new(false),
                thread: std::thread::current(),
            });
            let waker = Waker::from(Arc::clone(&recall));
            let mut completion = Box::pin(log.completion(ticket));
            while completion
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
            {
                while !recall.woken.swap(false, Ordering::SeqCst) {
                    std::thread::park();
                }
            }
            assert!(log.horizon() >= ticket.csn);
        }
        let nudged = log.reserve(3).unwrap().take().publish(&mut b"one".to_vec());
        log.nudge();
        while log.horizon() < nudged.csn {
            std::thread::yield_now();
        }
    });
}

#[test]
fn a_worker_whose_woken_client_is_dropped_holds_nobody_back() {
    within_a_minute(|| {
        let disk = simulated();
        let log = Log::create(
            &disk,
            Path::new("log"),
            DatabaseId::random(),
            Options::tiny(),
        )
        .unwrap();
        let (one, other) = (log.worker(), log.worker());
        let publish = || log.reserve(3).unwrap().take().publish(&mut b"one".to_vec());
        let context = &mut Context::from_waker(Waker::noop());
        one.cork();
        other.cork();
        let mut of_one = Box::pin(one.completion(publish()));
        let mut of_other = Box::pin(other.completion(publish()));
        assert!(of_one.as_mut().poll(context).is_pending());
        assert!(of_other.as_mut().poll(context).is_pending());
        one.uncork();
        assert_eq!(
            log.horizon(),
            Csn(0),
            "the other worker may still add to the group"
        );
        other.uncork();
        assert_eq!(log.horizon(), Csn(2), "the last uncork writes");
        // The first worker is expected now, and its only client goes away.
        drop(of_one);
        other.cork();
        let last = publish();
        let mut of_last = Box::pin(other.completion(last));
        assert!(of_last.as_mut().poll(context).is_pending());
        other.uncork();
        assert_eq!(log.horizon(), last.csn);
    });
}

/// A commit that nobody waits for fills a gap: whoever sleeps behind it is woken, on one ticket or two.
#[test]
fn a_gap_that_is_filled_in_passing_wakes_those_behind_it() {
    let log = Log::create(
        &simulated(),
        Path::new("log"),
        DatabaseId::random(),
        small(),
    )
    .unwrap();
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
        log.release(log.horizon());
    }
}

/// Who has read what a commit wrote waits for it too, beside its own client: futures of any worker or
/// none, and blocked threads. None of them may lose its wake-up to another, or to one that goes away.
#[test]
fn all_who_wait_for_one_commit_are_woken() {
    within_a_minute(|| {
        let disk = simulated();
        let directory = Path::new("log");
        let log = Log::create(&disk, directory, DatabaseId::random(), Options::tiny()).unwrap();
        let worker = log.worker();
        let recalls: Vec<_> = (0..4)
            .map(|_| {
                let woken = AtomicBool::new(false);
                let thread = std::thread::current();
                Arc::new(Recall { woken, thread })
            })
            .collect();
        for round in 0..200 {
            worker.cork();
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
            // One of them goes away, the first one too.
            drop(waiting.remove(round % 4));
            std::thread::scope(|scope| {
                let blocked = scope.spawn(|| log.wait(ticket).unwrap());
                if round % 2 == 0 {
                    std::thread::yield_now();
                }
                worker.uncork();
                blocked.join().unwrap();
            });
            assert!(log.horizon() >= ticket.csn);
            for (place, recall) in recalls.iter().enumerate() {
                let woken = recall.woken.swap(false, Ordering::SeqCst);
                assert!(
                    woken || place == round % 4,
                    "{place} of round {round} sleeps on"
                );
            }
        }
    });
}
