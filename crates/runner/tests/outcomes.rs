//! Outcomes: every transaction has one, their sums hold, and the client learns each ending exactly once.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::{counted, go, plan};
use syncline_runner::{
    Cause, CheckOutcome, Error, FailureKind, RunPlan, RunResult, RunWarning, StopReason, run,
};
use syncline_testkit::{Answer, Keys, Store};

fn held(result: &RunResult) -> bool {
    !result.checks.is_empty()
        && result.checks.iter().all(|check| check.outcome == CheckOutcome::Held)
}

fn sum(result: &RunResult) -> u64 {
    let outcomes = &result.outcomes;
    let conflicted: u64 = outcomes.conflicted.iter().sum();
    let failed: u64 = outcomes.failed.iter().sum();
    outcomes.committed + outcomes.aborted + conflicted + failed + outcomes.unfinished
}

#[test]
fn a_run_by_count_attempts_exactly_that_many() {
    for answer in [Answer::Committed, Answer::ByTicket, Answer::ByPass] {
        let store = Store::always(answer);
        let result = go(&store, &counted(7, 1_000)).unwrap();
        assert_eq!(result.stopped_by, StopReason::Transactions);
        assert_eq!((result.outcomes.attempted, result.outcomes.committed), (1_000, 1_000));
        assert_eq!(sum(&result), 1_000);
        assert_eq!(store.calls.keys.lock().unwrap().len(), 1_000);
        assert!(held(&result), "{:?}", result.checks);
        assert!(result.throughput_per_s.is_finite() && result.throughput_per_s > 0.0);
        let service = result.transactions[0].service_ns.unwrap();
        let response = result.transactions[0].response_ns.unwrap();
        assert_eq!((service.count, response.count), (1_000, 1_000));
        assert_eq!((service.p50, service.max), (response.p50, response.max));
        assert_eq!(store.removed(), 1);
    }
}

#[test]
fn warm_up_transactions_have_an_ending_and_are_counted_nowhere() {
    let store = Store::always(Answer::ByTicket);
    let mut plan = counted(5, 200);
    plan.warm_up = Duration::from_millis(50);
    let result = go(&store, &plan).unwrap();
    assert_eq!(result.outcomes.attempted, 200);
    assert!(store.calls.keys.lock().unwrap().len() > 200, "the warm-up committed too");
    assert!(held(&result), "{:?}", result.checks);
}

#[test]
fn a_run_by_time_ends_by_time_and_its_sums_hold() {
    let store = Store::always(Answer::ByTicket);
    let result = go(&store, &plan(100, 200)).unwrap();
    assert_eq!(result.stopped_by, StopReason::Duration);
    assert_eq!(result.measured_ns, 200_000_000);
    assert_eq!(result.outcomes.attempted, sum(&result));
    assert_eq!(result.outcomes.unfinished, 0, "the drain ended before the transactions");
    assert!(result.outcomes.committed >= 100);
    assert_eq!(result.commits_in_span + result.commits_late, result.outcomes.committed);
    let rate = result.commits_in_span as f64 / 0.2;
    assert!((result.throughput_per_s - rate).abs() < 1e-6);
    assert!(held(&result), "{:?}", result.checks);
}

#[test]
fn conflicts_without_retries_are_counted_by_cause() {
    let store = Store::new(|key, _| match key % 4 {
        0 => Answer::Conflict(Cause::Deadlock),
        1 => Answer::Conflict(Cause::Locked),
        _ => Answer::Committed,
    });
    let result = go(&store, &counted(1, 400)).unwrap();
    assert_eq!(result.outcomes.committed, 200);
    assert_eq!(result.outcomes.conflicted, [100, 100, 0]);
    assert_eq!((result.outcomes.retries(), sum(&result)), (0, 400));
    assert_eq!(store.calls.aborts.load(Ordering::SeqCst), 200);
    assert!(held(&result));
}

#[test]
fn a_retry_repeats_the_same_input_and_counts_in_the_latency() {
    // Each key conflicts twice; the third try takes a millisecond.
    let store = Store::new(|_, tries| match tries {
        1 | 2 => Answer::Conflict(Cause::Serialization),
        _ => Answer::Busy(100_000),
    });
    let mut plan = counted(2, 20);
    plan.retries = 2;
    let result = go(&store, &plan).unwrap();
    assert_eq!((result.outcomes.committed, result.outcomes.retries()), (20, 40));
    assert_eq!(result.outcomes.committed_after_retry, 20);
    assert_eq!(result.outcomes.retried, [0, 0, 40], "by cause");
    let mut tried = store.calls.attempts.lock().unwrap().clone();
    tried.sort_unstable();
    let thrice = tried.chunks(3).all(|tries| tries[0] == tries[2]);
    assert!(thrice && tried.len() == 60, "{tried:?}");
    assert!(result.transactions[0].service_ns.unwrap().p50 >= 99_000);
    // One retry too few: all conflict.
    let store = Store::new(|_, tries| match tries {
        1 | 2 => Answer::Conflict(Cause::Serialization),
        _ => Answer::Committed,
    });
    plan.retries = 1;
    let result = go(&store, &plan).unwrap();
    assert_eq!((result.outcomes.committed, result.outcomes.retries()), (0, 20));
    assert_eq!(result.outcomes.conflicted, [0, 0, 20]);
    assert_eq!(result.transactions[0].service_ns, None);
    assert!(result.throughput_per_s.abs() < f64::EPSILON);
    assert!(held(&result));
}

#[test]
fn the_workloads_own_aborts_are_not_errors() {
    let store = Store::always(Answer::Committed);
    let mut workload = Keys::new(&store);
    workload.abort_every = Some(10);
    let plan = counted(1, 1_000);
    let result = run(&store, &workload, &plan, &AtomicBool::new(false), &()).unwrap();
    assert_eq!((result.outcomes.aborted, result.outcomes.committed), (100, 900));
    assert!(held(&result));
}

#[test]
fn transactions_that_never_end_are_unfinished_after_the_drain() {
    // Each client's third key never ends.
    let store = Store::new(|key, _| match key % (1 << 32) {
        2 => Answer::Never,
        _ => Answer::ByTicket,
    });
    let mut plan = plan(9, 100);
    plan.drain = Duration::from_millis(30);
    let result = go(&store, &plan).unwrap();
    assert_eq!((result.outcomes.committed, result.outcomes.unfinished), (18, 9));
    assert_eq!(result.outcomes.attempted, 27);
    assert!(held(&result), "{:?}", result.checks);
    assert!(result.warnings.contains(&RunWarning::Unfinished { count: 9 }));
    assert_eq!((store.removed(), store.calls.sessions_open.load(Ordering::SeqCst)), (1, 0));
    // The same in a run by count.
    let mut plan = counted(9, 27);
    plan.drain = Duration::from_millis(30);
    let store = Store::new(|key, _| match key % (1 << 32) {
        2 => Answer::Never,
        _ => Answer::ByTicket,
    });
    let result = go(&store, &plan).unwrap();
    assert_eq!(result.outcomes.attempted, sum(&result));
    assert!(held(&result), "{:?}", result.checks);
}

#[test]
fn a_failed_statement_ends_the_run_and_is_named() {
    let store = Store::new(|key, _| match key {
        50 => Answer::Fails(FailureKind::Statement),
        _ => Answer::ByTicket,
    });
    let result = go(&store, &plan(3, 60_000)).unwrap();
    assert_eq!(
        result.stopped_by,
        StopReason::Failure {
            kind: FailureKind::Statement,
            operation: Some("insert key".to_owned()),
            what: "key 50 does not fit".to_owned(),
        }
    );
    assert_eq!(result.outcomes.failed, [0, 0, 0, 1, 0]);
    assert!(result.outcomes.committed >= 50);
    assert_eq!(result.outcomes.attempted, sum(&result));
    assert!(held(&result), "{:?}", result.checks);
    assert_eq!(store.removed(), 1);
}

#[test]
fn every_fatal_failure_ends_the_run() {
    for kind in FailureKind::ALL.into_iter().filter(|kind| kind.stops_run()) {
        let store = Store::new(move |key, _| match key {
            5 => Answer::Fails(kind),
            _ => Answer::Committed,
        });
        let result = go(&store, &plan(1, 60_000)).unwrap();
        assert!(
            matches!(result.stopped_by, StopReason::Failure { kind: found, .. } if found == kind)
        );
    }
}

#[test]
fn a_lost_connection_is_reopened_and_its_outcome_may_be_unknown() {
    let store = Store::new(|key, _| match key % 100 {
        7 => Answer::Fails(FailureKind::Connection),
        13 => Answer::Unknown,
        _ => Answer::Committed,
    });
    let result = go(&store, &counted(2, 200)).unwrap();
    let failed = result.outcomes.failed[FailureKind::Connection as usize];
    // A client connects again before its next transaction, if it has one.
    let lost = failed + result.outcomes.unfinished;
    assert!((lost - 2..=lost).contains(&result.reconnects), "{result:?}");
    assert!(failed >= 1 && result.outcomes.unfinished >= 1);
    assert_eq!(sum(&result), 200);
    assert!(held(&result), "{:?}", result.checks);
    let count = result.reconnects;
    // B.Smaller: the store's message is kept.
    let why = result.first_lost.clone();
    let message = why.as_deref().unwrap();
    assert!(message.contains("does not fit") || message == "the connection broke", "{message}");
    let warning = RunWarning::Reconnected { count, why };
    assert!(
        warning
            .what()
            .ends_with(&format!("lost; the first: {}", result.first_lost.as_ref().unwrap()))
    );
    assert!(result.warnings.contains(&warning));
}

#[test]
fn operations_are_timed_only_if_the_plan_requests_it() {
    let mut plan = counted(2, 100);
    let result = go(&Store::always(Answer::Committed), &plan).unwrap();
    assert!(result.operations.is_empty());
    plan.operations = true;
    let result = go(&Store::always(Answer::Committed), &plan).unwrap();
    let [operation] = &result.operations[..] else {
        panic!("the plan has one operation");
    };
    assert_eq!((operation.name.as_str(), operation.pipelined), ("insert key", false));
    assert_eq!(operation.service_ns.unwrap().count, 100);
}

#[test]
fn the_plan_or_else_the_workload_decides_if_statements_share_a_round_trip() {
    let mut store = Store::always(Answer::Committed);
    let mut plan = counted(1, 10);
    plan.operations = true;
    let pipelined = |store: &Store, requested| {
        let plan = RunPlan { pipeline: requested, ..plan.clone() };
        let result = go(store, &plan)?;
        assert_eq!(result.head.plan.pipeline, Some(result.operations[0].pipelined));
        Ok::<_, Error>(result.operations[0].pipelined)
    };
    assert!(!pipelined(&store, None).unwrap(), "this store takes one call at a time");
    let refused = pipelined(&store, Some(true)).unwrap_err().to_string();
    assert!(refused.contains("--pipeline yes"), "{refused}");
    store.capabilities.pipelines = true;
    assert!(pipelined(&store, None).unwrap(), "the workload pipelines by default");
    assert!(!pipelined(&store, Some(false)).unwrap());
    assert!(pipelined(&store, Some(true)).unwrap());
}

#[test]
fn a_refused_statement_fails_only_its_transaction_if_the_plan_allows_it() {
    let store = Store::new(|key, _| match key % 10 {
        3 => Answer::Fails(FailureKind::Statement),
        _ => Answer::Committed,
    });
    let plan = RunPlan { continue_on_error: true, ..counted(1, 200) };
    let result = go(&store, &plan).unwrap();
    assert_eq!(result.stopped_by, StopReason::Transactions);
    let failed = result.outcomes.failed[FailureKind::Statement as usize];
    assert_eq!((failed, result.outcomes.committed), (20, 180));
    assert_eq!(result.reconnects, 0, "the session was not kept");
    assert!(held(&result), "{:?}", result.checks);
    // A full disk still ends the run.
    let full = Store::always(Answer::Fails(FailureKind::DiskFull));
    let result = go(&full, &plan).unwrap();
    assert!(matches!(result.stopped_by, StopReason::Failure { .. }));
}

#[test]
fn each_transaction_may_have_its_own_connection() {
    let store = Store::always(Answer::Committed);
    let connections = || store.calls.sessions.load(Ordering::SeqCst);
    let kept = go(&store, &counted(2, 100)).unwrap();
    let before = connections();
    let plan = RunPlan { connects_each: true, ..counted(2, 100) };
    let result = go(&store, &plan).unwrap();
    assert_eq!(result.outcomes.committed, kept.outcomes.committed);
    let more = connections() - before;
    assert!((100..=110).contains(&more), "{more} connections for 100 transactions");
    assert_eq!(result.reconnects, 0, "a connection was lost");
}
