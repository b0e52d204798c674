//! Worker autotuning: the number of workers if the plan does not set it.

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

fn autotuned() -> RunPlan {
    RunPlan { workers: None, warm_up: Duration::from_secs(1), ..plan(CLIENTS, 50) }
}

/// A store with a log directory.
fn logging(script: impl Fn(i64, usize) -> Answer + Send + Sync + 'static) -> Store {
    let mut store = Store::new(script);
    store.log_location = LogLocation::Directory(std::env::temp_dir());
    store
}

fn processors() -> usize {
    available_parallelism().map_or(1, usize::from).min(CLIENTS)
}

/// Runs, checks that every key was committed once (also by clients that continued under another worker pool),
/// and returns the numbers of workers and of sessions.
fn run(store: &Store, plan: &RunPlan) -> (usize, usize) {
    let result = go(store, plan).unwrap();
    assert_eq!(result.checks[0].outcome, CheckOutcome::Held);
    assert_eq!(result.head.client.clients, CLIENTS);
    let sessions = store.calls.sessions.load(Ordering::SeqCst);
    (result.head.client.workers, sessions)
}

/// Sessions of the run itself, plus the session of the checks.
const SESSIONS: usize = CLIENTS + 1;

#[test]
fn one_worker_drives_all_clients_if_several_slow_each_other_down() {
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
    let (workers, sessions) = run(&store, &autotuned());
    assert_eq!(workers, 1);
    assert!(processors() == 1 || sessions > SESSIONS, "{sessions}");
}

#[test]
fn all_processors_are_used_if_workers_do_not_slow_each_other_down() {
    // Sleeping takes no processor time, so a busy machine slows no worker pool down.
    let store = logging(|_, _| {
        std::thread::sleep(Duration::from_millis(1));
        Answer::Committed
    });
    assert_eq!(run(&store, &autotuned()).0, processors());
}

#[test]
fn an_explicit_number_of_workers_is_not_tuned() {
    let store = || logging(|_, _| Answer::ByTicket);
    let one = RunPlan { workers: Some(1), ..autotuned() };
    assert_eq!(run(&store(), &one), (1, SESSIONS));
    let cold = RunPlan { warm_up: Duration::ZERO, ..autotuned() };
    assert_eq!(run(&store(), &cold), (processors(), SESSIONS));
    let without_log = Store::always(Answer::ByTicket);
    assert_eq!(run(&without_log, &autotuned()), (processors(), SESSIONS));
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
    let message = go(&store, &autotuned()).unwrap_err().to_string();
    assert!(message.contains("while workers were tried"), "{message}");
    assert_eq!(store.removed(), 1);
}
