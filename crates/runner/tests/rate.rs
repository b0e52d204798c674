//! The rate of real runs: transactions that end after the deadline are in no figure that is divided by the
//! planned time.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::{EventRecorder, plan};
use syncline_instrument::clock;
use syncline_runner::{Arrival, RunPlan, RunResult, RunWarning, run};
use syncline_testkit::{Answer, Keys, Store};

/// A run in which every commit is answered after the span.
fn answered_late(plan: &RunPlan) -> RunResult {
    let over = Arc::new(AtomicBool::new(false));
    let waits = over.clone();
    let store = Store::new(move |_, _| {
        let hang = clock::now() + 60 * clock::SECOND;
        while !waits.load(Ordering::SeqCst) && clock::now() < hang {
            std::thread::yield_now();
        }
        Answer::Committed
    })
    .blocking();
    let watcher = EventRecorder::new(|event| {
        if event == "draining" {
            over.store(true, Ordering::SeqCst);
        }
    });
    let stop = AtomicBool::new(false);
    run(&store, &Keys::new(&store), plan, &stop, &watcher).unwrap()
}

/// f01
#[test]
fn commits_after_the_deadline_are_in_no_rate() {
    for arrival in [Arrival::Closed, Arrival::Fixed { rate_per_s: 100.0 }] {
        let plan = RunPlan { workers: None, arrival, ..plan(2, 40) };
        let result = answered_late(&plan);
        assert!(result.outcomes.committed > 0, "{:?}", result.outcomes);
        assert!(
            result.throughput_per_s.abs() < f64::EPSILON,
            "{} commits ended after the deadline, but the rate is {}",
            result.outcomes.committed,
            result.throughput_per_s
        );
        let in_intervals: u64 = result.intervals.iter().map(|one| one.committed).sum();
        assert_eq!(in_intervals, 0);
        let ends = result.intervals.iter().map(|one| one.end_ns);
        assert!(ends.max().unwrap() <= result.measured_ns);
        let keys = result.figures[0].value;
        assert!(keys.abs() < f64::EPSILON, "keys a minute: {keys}");
    }
}

/// f01: the same, as the result reports it.
#[test]
fn commits_that_are_in_no_rate_are_reported() {
    let plan = RunPlan { workers: None, ..plan(2, 40) };
    let result = answered_late(&plan);
    let of = result.outcomes.committed;
    assert_eq!((result.commits_in_span, result.commits_late), (0, of));
    let warning = RunWarning::EndedLate { late: of, of };
    assert!(result.warnings.contains(&warning), "{:?}", result.warnings);
    assert!(result.to_last_end_ns > result.measured_ns);
}

#[test]
fn a_rate_by_count_is_the_budget_over_the_time_to_its_last_end() {
    let store = Store::always(Answer::ByTicket);
    let result = support::go(&store, &support::counted(4, 500)).unwrap();
    assert_eq!((result.commits_in_span, result.commits_late), (500, 0));
    assert_eq!(result.measured_ns, result.to_last_end_ns);
    let rate = 500.0 * 1e9 / result.measured_ns as f64;
    assert!((result.throughput_per_s - rate).abs() < rate * 1e-9);
    assert_eq!(result.count_base.commits, 500);
}
