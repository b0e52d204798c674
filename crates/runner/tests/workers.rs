//! How many workers drive the clients, where nobody has said it.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;
use support::{go, plan};
use syncline_contract::{FailureKind, LogLocation};
use syncline_instrument::clock;
use syncline_runner::{CheckOutcome, RunPlan};
use syncline_testkit::{Answer, Store};

const CLIENTS: usize = 8;

fn untold() -> RunPlan {
    RunPlan { workers: None, warm_up: Duration::from_secs(1), ..plan(CLIENTS, 50) }
}

/// One with a log of its own.
fn logging(script: impl Fn(i64, usize) -> Answer + Send + Sync + 'static) -> Store {
    let mut store = Store::new(script);
    store.log_place = LogLocation::Directory(std::env::temp_dir());
    store
}

fn processors() -> usize {
    available_parallelism().map_or(1, usize::from).min(CLIENTS)
}

/// Runs, sees that every key was committed once, also by clients that have gone on under another worker
/// pool, and answers how many workers there were and how many sessions.
fn run(store: &Store, plan: &RunPlan) -> (usize, usize) {
    let result = go(store, plan).unwrap();
    assert_eq!(result.checks[0].outcome, CheckOutcome::Held);
    assert_eq!(result.head.client.clients, CLIENTS);
    let sessions = store.book.sessions.load(Ordering::SeqCst);
    (result.head.client.workers, sessions)
}

/// Sessions of the run itself, and of the session that checks.
const SESSIONS: usize = CLIENTS + 1;

#[test]
fn where_workers_stand_in_each_others_way_one_drives_all_clients() {
    let inside = AtomicUsize::new(0);
    let store = logging(move |_, _| {
        let others = inside.fetch_add(1, Ordering::SeqCst);
        let until = clock::now() + if others > 0 { 3_000_000 } else { 100_000 };
        while clock::now() < until {
            std::hint::spin_loop();
        }
        inside.fetch_sub(1, Ordering::SeqCst);
        Answer::Committed
    });
    let (workers, sessions) = run(&store, &untold());
    assert_eq!(workers, 1);
    assert!(processors() == 1 || sessions > SESSIONS, "{sessions}");
}

#[test]
fn where_they_do_not_all_processors_are_used() {
    // Sleeping takes no processor, so that a busy machine slows none of the crews.
    let store = logging(|_, _| {
        std::thread::sleep(Duration::from_millis(1));
        Answer::Committed
    });
    assert_eq!(run(&store, &untold()).0, processors());
}

#[test]
fn what_was_said_is_kept_and_nothing_is_tried() {
    let store = || logging(|_, _| Answer::ByTicket);
    let one = RunPlan { workers: Some(1), ..untold() };
    assert_eq!(run(&store(), &one), (1, SESSIONS));
    let cold = RunPlan { warm_up: Duration::ZERO, ..untold() };
    assert_eq!(run(&store(), &cold), (processors(), SESSIONS));
    let without_log = Store::always(Answer::ByTicket);
    assert_eq!(run(&without_log, &untold()), (processors(), SESSIONS));
}

#[test]
fn a_store_that_fails_while_workers_are_tried_ends_the_run() {
    if processors() == 1 {
        return;
    }
    let store = logging(|key, _| match key % 1000 {
        20 => Answer::Fails(FailureKind::Storage),
        _ => Answer::ByTicket,
    });
    let said = go(&store, &untold()).unwrap_err().to_string();
    assert!(said.contains("while workers were tried"), "{said}");
    assert_eq!(store.removed(), 1);
}
