//! Open loop: arrivals follow their schedule whatever the store does.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]

mod support;

use std::time::Duration;
use support::{go, plan};
use syncline_runner::{Arrival, RunPlan, RunResult, RunWarning, StopReason};
use syncline_testkit::{Answer, Store};

fn open(clients: usize, ms: u64, arrival: Arrival) -> RunPlan {
    RunPlan { arrival, ..plan(clients, ms) }
}

fn balanced(result: &RunResult) -> bool {
    let arrivals = result.arrivals.unwrap();
    arrivals.offered == arrivals.started + arrivals.abandoned
        && arrivals.started == result.outcomes.attempted
}

#[test]
fn a_closed_loop_has_no_arrivals() {
    let result = go(&Store::always(Answer::Committed), &plan(1, 30)).unwrap();
    assert_eq!(result.arrivals, None);
}

#[test]
fn overload_shows_in_the_response_time_and_not_in_the_service_time() {
    // One thread that needs 0.4 ms per transaction can do 2,500/s at best; 5,000/s are offered.
    let store = Store::always(Answer::Busy(400_000)).blocking();
    let mut plan = open(1, 400, Arrival::Fixed { rate_per_s: 5_000.0 });
    plan.workers = None;
    let result = go(&store, &plan).unwrap();
    let arrivals = result.arrivals.unwrap();
    assert_eq!(result.stopped_by, StopReason::Duration);
    assert_eq!(arrivals.offered, 2_000, "an arrival was skipped");
    assert!(balanced(&result), "{arrivals:?}");
    assert!(arrivals.abandoned >= 900, "{arrivals:?}");
    assert!(arrivals.late * 10 >= arrivals.started * 9, "{arrivals:?}");
    let service = result.transactions[0].service_ns.unwrap();
    let response = result.transactions[0].response_ns.unwrap();
    assert!(response.p50 > 20 * service.p50, "{response:?} {service:?}");
    assert!(response.max > 100_000_000, "the queue grew to half the span: {response:?}");
    let (abandoned, offered) = (arrivals.abandoned, arrivals.offered);
    assert!(result.warnings.contains(&RunWarning::Overload { abandoned, offered }));
}

#[test]
fn a_store_with_spare_capacity_starts_every_arrival() {
    let store = Store::always(Answer::ByTicket);
    let result = go(&store, &open(32, 300, Arrival::Fixed { rate_per_s: 1_000.0 })).unwrap();
    let arrivals = result.arrivals.unwrap();
    assert_eq!(arrivals.offered, 300);
    assert!(balanced(&result), "{arrivals:?}");
}

#[test]
fn poisson_arrivals_are_equal_for_equal_seeds() {
    let offered = |seed| {
        let mut plan = open(8, 200, Arrival::Poisson { rate_per_s: 5_000.0 });
        plan.seed = seed;
        let result = go(&Store::always(Answer::Committed), &plan).unwrap();
        assert!(balanced(&result));
        result.arrivals.unwrap().offered
    };
    let mut counts: Vec<u64> = (0..4).map(offered).collect();
    assert_eq!(offered(0), counts[0]);
    // A thousand on average, with a standard deviation of 32.
    assert!(counts.iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
    counts.dedup();
    assert!(counts.len() > 1, "different seeds gave the same arrivals");
}

#[test]
fn the_schedule_restarts_after_the_warm_up() {
    // Overloaded in the warm-up too: its backlog is not carried over.
    let store = Store::always(Answer::Busy(2_000_000)).blocking();
    let mut plan = open(1, 100, Arrival::Fixed { rate_per_s: 5_000.0 });
    plan.workers = None;
    plan.warm_up = Duration::from_millis(100);
    let result = go(&store, &plan).unwrap();
    assert_eq!(result.arrivals.unwrap().offered, 500);
    assert!(balanced(&result));
    assert!(result.transactions[0].response_ns.unwrap().max < 1_000_000_000);
}

#[test]
fn a_count_ends_an_open_loop_without_waiting_for_further_arrivals() {
    let store = Store::always(Answer::Committed);
    let mut plan = open(16, 1, Arrival::Fixed { rate_per_s: 100.0 });
    plan.duration = None;
    plan.transactions = Some(5);
    let result = go(&store, &plan).unwrap();
    assert_eq!(result.outcomes.committed, 5);
    assert_eq!(result.arrivals.unwrap().started, 5);
    assert!(balanced(&result), "{:?}", result.arrivals);
}

#[test]
fn a_run_without_arrivals_has_a_warning() {
    let store = Store::always(Answer::Committed);
    let result = go(&store, &open(1, 40, Arrival::Fixed { rate_per_s: 5.0 })).unwrap();
    assert!(!result.warnings.contains(&RunWarning::NothingAttempted));
    let mut plan = open(1, 40, Arrival::Poisson { rate_per_s: 1e-6 });
    plan.workers = Some(1);
    let result = go(&store, &plan).unwrap();
    assert_eq!(result.outcomes.attempted, 0);
    assert!(result.warnings.contains(&RunWarning::NothingAttempted));
}

/// The offered arrivals are those of one schedule, whatever the number of workers that share it.
#[test]
fn poisson_arrivals_do_not_depend_on_the_number_of_workers() {
    let offered = |workers| {
        let mut plan = open(8, 200, Arrival::Poisson { rate_per_s: 2_000.0 });
        plan.workers = Some(workers);
        plan.warm_up = Duration::from_millis(30);
        let result = go(&Store::always(Answer::ByTicket), &plan).unwrap();
        assert!(balanced(&result), "{:?}", result.arrivals);
        result.arrivals.unwrap().offered
    };
    let one = offered(1);
    assert_eq!([offered(2), offered(3)], [one, one]);
}

#[test]
fn a_span_by_duration_lasts_until_its_deadline_although_no_arrival_is_left() {
    // Arrivals at 0, 200 and 400 ms; the next would be after the deadline, so all clients leave.
    let store = Store::always(Answer::Committed);
    let plan = open(2, 580, Arrival::Fixed { rate_per_s: 5.0 });
    let result = go(&store, &plan).unwrap();
    assert_eq!(result.stopped_by, StopReason::Duration);
    assert_eq!(result.outcomes.committed, 3);
    assert_eq!(result.measured_ns, 580_000_000);
    assert!((result.throughput_per_s - 3.0 / 0.58).abs() < 1e-9);
}
