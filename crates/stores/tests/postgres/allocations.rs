//! In the steady state a session on PostgreSQL allocates nothing: reads, writes and commits, pipelined
//! or not. Counted by an allocator that wraps the system's own.

#![allow(
    unsafe_code,
    reason = "an allocator is unsafe by its contract; this one forwards every call"
)]

use crate::server::{Numbers, Server};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use syncline_contract::conformance::block_on;
use syncline_contract::{AccessPattern, Durability, RequestTracker, Session, Target, Transaction};

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Counts the allocations of each thread.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count() {
    // A thread that is ending is not counted.
    if COUNT.try_with(|count| count.set(count.get() + 1)).is_err() {}
}

// SAFETY: all calls are forwarded unchanged to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's guarantee is forwarded.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantee is forwarded, and `alloc` got the pointer from there.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's guarantee is forwarded, and `alloc` got the pointer from there.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

async fn some<S: Session>(
    numbers: &Numbers,
    session: &mut S,
    asked: &mut RequestTracker,
    rounds: i64,
) {
    for round in 0..rounds {
        let id = round % 100 + 1;
        session.begin(AccessPattern::Single);
        let mut tx = Transaction::new(session, asked);
        tx.read(&numbers.get, (id,)).await.unwrap();
        session.commit().await.unwrap();
        session.begin(AccessPattern::Several);
        let mut tx = Transaction::new(session, asked);
        tx.ask(&numbers.get_for_update, (id,)).unwrap();
        tx.ask(&numbers.get, (101 - id,)).unwrap();
        tx.answer(&numbers.get_for_update).await.unwrap();
        tx.answer(&numbers.get).await.unwrap();
        tx.write(&numbers.add, (id, 1)).unwrap();
        session.commit().await.unwrap();
    }
}

#[test]
fn the_steady_state_allocates_nothing() {
    let server = Server::start(Durability::Os);
    for pipeline in [true, false] {
        let mut numbers = Numbers::new();
        numbers.plan.pipeline = pipeline;
        let target = server.target("");
        block_on(&(), target.create(&numbers.plan)).unwrap();
        let worker = target.worker().unwrap();
        block_on(&worker, async {
            let mut session = target.connect(&numbers.plan, &worker).await.unwrap();
            numbers.fill(&mut session).await.unwrap();
            let mut asked = RequestTracker::new(false);
            some(&numbers, &mut session, &mut asked, 200).await;
            let before = COUNT.get();
            some(&numbers, &mut session, &mut asked, 500).await;
            assert_eq!(COUNT.get() - before, 0, "pipeline={pipeline}, in 1,000 transactions");
        });
        block_on(&(), target.remove()).unwrap();
    }
}
