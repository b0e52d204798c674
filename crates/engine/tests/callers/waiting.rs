//! A ticket completes in every way of waiting for it.

use crate::support::{on_disk, returns, row, table};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use syncline_engine::log::{Ticket, Writer};
use syncline_engine::{Begin, Database, Result, Table};
use syncline_vfs::RealDisk;

struct Unpark(Thread, AtomicU32);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.unpark();
    }
}

fn waker() -> (Arc<Unpark>, Waker) {
    let unpark = Arc::new(Unpark(std::thread::current(), AtomicU32::new(0)));
    (Arc::clone(&unpark), Waker::from(unpark))
}

/// Sleeps until it is woken, and only then: a lost wake-up is a test that does not return.
fn block_on<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    let (woken, waker) = waker();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        while woken.1.swap(0, Ordering::SeqCst) == 0 {
            std::thread::park();
        }
    }
}

fn commit(database: &Database<RealDisk>, table: &Table, key: i64) -> Ticket {
    let mut session = database.session().unwrap();
    let put = session.run(Begin::Serializable, |tx| tx.put(table, &row(key)));
    put.unwrap().1
}

// D2
#[test]
fn a_ticket_that_is_awaited_completes_with_and_without_a_worker() {
    for writer in [Writer::Worker, Writer::Thread] {
        let folder = tempfile::tempdir().unwrap();
        let mut options = crate::support::options();
        options.log.writer = writer;
        let database = Database::create(folder.path().join("db"), options).unwrap();
        returns(move || {
            let table = table(&database, "t");
            let worker = database.worker();
            for key in 0..5 {
                let ticket = commit(&database, &table, key);
                block_on(pin!(worker.completion(ticket))).unwrap();
                let ticket = commit(&database, &table, key);
                block_on(pin!(database.completion(ticket))).unwrap();
                assert!(database.durable_lsn() >= ticket.csn());
            }
        });
    }
}

// D2
#[test]
fn a_worker_after_its_pass_completes_a_ticket_that_is_awaited_later() {
    let (_folder, database) = on_disk();
    returns(move || {
        let table = table(&database, "t");
        let (worker, other) = (database.worker(), database.worker());
        for key in 0..5 {
            worker.begin_pass();
            let first = commit(&database, &table, key);
            let mut first = pin!(worker.completion(first));
            let (_, waker) = waker();
            let polled = first.as_mut().poll(&mut Context::from_waker(&waker));
            worker.end_pass();
            if polled.is_pending() {
                block_on(first).unwrap();
            }
            // The worker counted as about to begin a pass until its client was polled outside of one: then
            // nothing waits for it.
            let second = commit(&database, &table, key);
            block_on(pin!(worker.completion(second))).unwrap();
            other.begin_pass();
            let third = commit(&database, &table, key);
            let mut third = pin!(other.completion(third));
            let polled = third.as_mut().poll(&mut Context::from_waker(&waker));
            other.end_pass();
            if polled.is_pending() {
                block_on(third).unwrap();
            }
        }
    });
}

// D2
#[test]
fn the_waker_of_the_last_poll_is_woken_and_a_dropped_future_blocks_nothing() {
    let (_folder, database) = on_disk();
    returns(move || {
        let table = table(&database, "t");
        let worker = database.worker();
        worker.begin_pass();
        let ticket = commit(&database, &table, 1);
        let (dropped, mut awaited) = (worker.completion(ticket), pin!(worker.completion(ticket)));
        {
            let mut dropped = pin!(dropped);
            let (_, waker) = waker();
            assert!(dropped.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let ((_, first), (last, second)) = (waker(), waker());
        for waker in [first, second] {
            let polled: Poll<Result<()>> = awaited.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending(), "the worker holds its batch");
        }
        worker.end_pass();
        while last.1.load(Ordering::SeqCst) == 0 {
            std::thread::park();
        }
        block_on(awaited).unwrap();
        // Nor does a worker that is dropped while it holds its batch.
        let gone = database.worker();
        gone.begin_pass();
        drop(gone);
        let ticket = commit(&database, &table, 2);
        block_on(pin!(worker.completion(ticket))).unwrap();
    });
}

// D2
#[test]
fn a_future_moves_to_another_thread_between_two_polls() {
    let (_folder, database) = on_disk();
    returns(move || {
        let table = table(&database, "t");
        let ticket = commit(&database, &table, 1);
        let mut completion = Box::pin(database.completion(ticket));
        let (_, waker) = waker();
        let polled = completion.as_mut().poll(&mut Context::from_waker(&waker));
        if polled.is_pending() {
            std::thread::scope(|scope| {
                let waits = scope.spawn(move || block_on(completion.as_mut()));
                waits.join().unwrap().unwrap();
            });
        }
        assert!(database.durable_lsn() >= ticket.csn());
    });
}
