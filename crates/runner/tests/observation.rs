//! Counters and round trips around a run, and observations without a run.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]

mod support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::{counted, go};
use syncline_runner::{Bottleneck, Meaning, ObservePlan, RunWarning, commits_per_sync, observe};
use syncline_testkit::{Answer, Store};

fn counting() -> Store {
    let mut store = Store::always(Answer::ByTicket);
    store.counts = true;
    store
}

#[test]
fn a_stores_counters_are_read_around_its_clients_and_give_commits_per_sync() {
    let result = go(&counting(), &counted(4, 2_000)).unwrap();
    let commits = &result.counters[0];
    assert_eq!((commits.meaning, commits.grown.clone()), (Meaning::Commits, Ok(2_000)));
    assert_eq!((commits.before, commits.after), (Some(0), Some(2_000)));
    assert_eq!(commits_per_sync(&result.counters), Some(2.0));
    let time = &result.counters[2];
    assert_eq!((time.before, time.grown.clone()), (None, Err("it is not timed".to_owned())));
    assert_eq!(result.round_trip_ns, Some(50_000));
    assert!(result.saturation.figures.round_trip_share.is_some_and(|share| share > 0.0));
}

#[test]
fn a_round_trip_that_is_most_of_a_transaction_makes_a_run_network_bound() {
    let mut store = Store::always(Answer::Committed);
    store.counts = true;
    let result = go(&store, &counted(1, 500)).unwrap();
    assert_eq!(result.saturation.figures.round_trip_share, Some(1.0));
    assert!(matches!(result.saturation.verdict, Bottleneck::Network | Bottleneck::Client));
}

#[test]
fn a_store_that_does_not_answer_keeps_its_result_with_a_warning() {
    let mut store = Store::broken("counters");
    store.counts = true;
    let result = go(&store, &counted(1, 10)).unwrap();
    assert_eq!(result.outcomes.committed, 10);
    assert!(result.counters.is_empty());
    let warned = |warning: &RunWarning| matches!(warning, RunWarning::NotAnswered { .. });
    assert!(result.warnings.iter().any(warned));
}

#[test]
fn an_observation_counts_only_others_and_samples_at_equal_intervals() {
    let store = counting();
    let plan = ObservePlan { span: Duration::from_millis(90), every: Duration::from_millis(30) };
    let reported = std::cell::Cell::new(0);
    let observation = observe(&store, &plan, &AtomicBool::new(false), |interval| {
        assert_eq!(interval.commits, Some(4));
        reported.set(reported.get() + 1);
    });
    let observation = observation.unwrap();
    // A late machine takes fewer samples, but never too many.
    let samples = observation.intervals.len() as u64;
    assert!((1..=3).contains(&samples) && reported.get() == samples, "{samples}");
    assert_eq!((observation.commits(), observation.own_commits), (Some(4 * samples), samples));
    assert_eq!(observation.commits_per_sync(), Some(2.0));
    assert_eq!(observation.sync_ns(), None);
    assert!(observation.span_ns >= 90_000_000);
    assert_eq!(store.calls.created.load(Ordering::SeqCst), 0);
}

#[test]
fn a_stopped_observation_keeps_its_samples() {
    let store = counting();
    let plan = ObservePlan { span: Duration::from_mins(10), every: Duration::from_millis(10) };
    let stop = AtomicBool::new(false);
    let observation = observe(&store, &plan, &stop, |_| stop.store(true, Ordering::SeqCst));
    assert_eq!(observation.unwrap().intervals.len(), 1);
}
