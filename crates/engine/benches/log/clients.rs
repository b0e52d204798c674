//! Clients that commit records of 132 bytes one after another: as threads, or as futures on small executors.

use crate::Outcome;
use std::collections::VecDeque;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use syncline_engine::DatabaseId;
use syncline_engine::log::{Durability, Log, Options, Worker};
use syncline_instrument::clock;
use syncline_vfs::RealDisk;

const RECORD_BYTES: usize = 124;

/// The kind of clients.
#[derive(Clone, Copy)]
pub(crate) enum Load {
    Threads { clients: usize },
    Tickets { clients: usize, workers: usize },
}

/// Lets the clients commit for a while. Returns the number of acknowledged commits.
pub(crate) fn run(log: &Log<RealDisk>, load: Load, slice_ms: u64) -> u64 {
    let stop = AtomicBool::new(false);
    let commits = AtomicU64::new(0);
    let (stop, commits) = (&stop, &commits);
    std::thread::scope(|scope| {
        match load {
            Load::Threads { clients } => {
                for _ in 0..clients {
                    scope
                        .spawn(|| commits.fetch_add(commit_as_thread(log, stop), Ordering::SeqCst));
                }
            }
            Load::Tickets { clients, workers } => {
                for worker in 0..workers {
                    let mine = clients / workers + usize::from(worker < clients % workers);
                    scope.spawn(move || {
                        commits.fetch_add(commit_as_futures(log, stop, mine), Ordering::SeqCst)
                    });
                }
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(slice_ms));
        stop.store(true, Ordering::SeqCst);
    });
    commits.load(Ordering::SeqCst)
}

fn commit_as_thread(log: &Log<RealDisk>, stop: &AtomicBool) -> u64 {
    let (mut record, mut commits) = (Vec::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        fill(&mut record, commits);
        let permit = log.reserve(record.len()).expect("room");
        let ticket = permit.take().publish(&mut record);
        log.wait(ticket).expect("a commit");
        commits += 1;
    }
    commits
}

fn commit_as_futures(log: &Log<RealDisk>, stop: &AtomicBool, clients: usize) -> u64 {
    let worker = log.worker();
    let client = || async {
        let (mut record, mut commits) = (Vec::new(), 0);
        while !stop.load(Ordering::Relaxed) {
            fill(&mut record, commits);
            let bytes = record.len();
            let permit = log.reserve(bytes).expect("room");
            let ticket = permit.take().publish(&mut record);
            worker.staged(bytes);
            worker.completion(ticket).await.expect("a commit");
            commits += 1;
        }
        commits
    };
    let clients = (0..clients).map(|_| Box::pin(client())).collect();
    Executor::run(&worker, clients)
}

fn fill(record: &mut Vec<u8>, number: u64) {
    record.resize(RECORD_BYTES, 0x5a);
    record[..8].copy_from_slice(&number.to_le_bytes());
}

/// Runs futures on this thread, in passes; the worker holds its batch during a pass.
struct Executor;

#[derive(Debug)]
struct Ready {
    queue: Mutex<VecDeque<usize>>,
    asleep: AtomicBool,
    thread: Thread,
}

struct ClientWaker {
    ready: Arc<Ready>,
    client: usize,
}

impl Wake for ClientWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.queue.lock().expect("no panic").push_back(self.client);
        if self.ready.asleep.swap(false, Ordering::SeqCst) {
            self.ready.thread.unpark();
        }
    }
}

impl Executor {
    fn run<F: Future<Output = u64>>(
        worker: &Worker<RealDisk>,
        mut clients: Vec<Pin<Box<F>>>,
    ) -> u64 {
        let ready = Arc::new(Ready {
            queue: Mutex::new((0..clients.len()).collect()),
            asleep: AtomicBool::new(false),
            thread: std::thread::current(),
        });
        let waker =
            |client| Waker::from(Arc::new(ClientWaker { ready: Arc::clone(&ready), client }));
        let wakers: Vec<Waker> = (0..clients.len()).map(waker).collect();
        let (mut running, mut sum) = (clients.len(), 0);
        let mut pass = VecDeque::new();
        while running > 0 {
            std::mem::swap(&mut pass, &mut *ready.queue.lock().expect("no panic"));
            if pass.is_empty() {
                ready.asleep.store(true, Ordering::SeqCst);
                if ready.queue.lock().expect("no panic").is_empty() {
                    std::thread::park();
                }
                ready.asleep.store(false, Ordering::SeqCst);
                continue;
            }
            worker.begin_pass();
            for client in pass.drain(..) {
                let mut context = Context::from_waker(&wakers[client]);
                if let Poll::Ready(commits) = clients[client].as_mut().poll(&mut context) {
                    running -= 1;
                    sum += commits;
                }
            }
            worker.end_pass();
        }
        sum
    }
}

/// The cost of a commit without any waiting: claim, number, publish, and its share of draining.
pub(crate) fn publish_cost(path: &Path, slice_ms: u64) -> Outcome {
    let options = Options {
        durability: Durability::None,
        segment_bytes: 1 << 20,
        frame_bytes_max: 256 << 10,
        ..Options::default()
    };
    let log = Log::create(&RealDisk, path, DatabaseId::random(), options).expect("a log");
    let (mut record, mut publishing_ns, mut commits) = (Vec::new(), 0, 0_u64);
    let started = clock::now();
    while clock::now() - started < slice_ms * 1_000_000 {
        let from = clock::now();
        for _ in 0..64 {
            fill(&mut record, commits);
            let permit = log.reserve(record.len()).expect("room");
            permit.take().publish(&mut record);
            commits += 1;
        }
        publishing_ns += clock::now() - from;
        log.flush().expect("a flush");
        log.release(log.durable_lsn());
    }
    let hash = log.durable_lsn().0;
    log.close().expect("the log can be closed");
    std::fs::remove_dir_all(path).expect("the benchmark's folder can be removed");
    Outcome {
        rate_per_s: commits as f64 * 1e9 / publishing_ns as f64,
        hash,
        notes: format!("{:.1} ns each", publishing_ns as f64 / commits as f64),
    }
}
