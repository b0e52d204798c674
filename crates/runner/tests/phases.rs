//! Phases: refusals, removal, stopping, and events.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]

mod support;

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::{EventRecorder, counted, go, plan};
use syncline_contract::{ResponseBound, Waits};
use syncline_profile::Metric;
use syncline_runner::{
    Arrival, CheckOutcome, Error, ProfilerOptions, RunPlan, RunWarning, StopReason, run,
};
use syncline_testkit::{Answer, Keys, Store};

#[test]
fn an_invalid_plan_is_refused_before_the_store_is_touched() {
    let refused = |change: fn(&mut RunPlan), word: &str| {
        let store = Store::always(Answer::Committed);
        let mut plan = plan(2, 50);
        change(&mut plan);
        let sentence = go(&store, &plan).unwrap_err().to_string();
        assert!(sentence.contains(word), "{sentence}");
        assert!(!sentence.contains('\n') && !sentence.ends_with('.'), "{sentence}");
        assert_eq!(store.calls.created.load(Ordering::SeqCst), 0);
    };
    refused(|plan| plan.clients = 0, "--clients");
    refused(|plan| plan.workers = Some(0), "--workers");
    refused(|plan| plan.duration = None, "--duration");
    refused(|plan| plan.duration = Some(Duration::ZERO), "--duration");
    refused(|plan| plan.transactions = Some(0), "--transactions");
    refused(|plan| plan.interval = Duration::ZERO, "--interval");
    refused(|plan| plan.arrival = Arrival::Fixed { rate_per_s: 0.0 }, "--rate");
    refused(|plan| plan.arrival = Arrival::Poisson { rate_per_s: f64::NAN }, "--rate");
}

#[test]
fn a_run_that_the_store_cannot_do_is_refused_before_the_store_is_touched() {
    let refused = |change: fn(&mut Store), plan: &RunPlan, rows: u64, word: &str| {
        let mut store = Store::always(Answer::Committed);
        change(&mut store);
        let mut workload = Keys::new(&store);
        workload.rows = rows;
        let error = run(&store, &workload, plan, &AtomicBool::new(false), &()).unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{error:?}");
        assert!(error.to_string().contains(word), "{error}");
        assert_eq!(store.calls.created.load(Ordering::SeqCst), 0);
    };
    let some = plan(4, 50);
    refused(|store| store.capabilities.clients_max = Some(3), &some, 0, "at most 3 clients");
    refused(|store| store.capabilities.workers_max = Some(1), &some, 0, "at most 1 workers");
    refused(|store| store.capabilities.loads = false, &some, 5, "cannot load");
    let blocking: fn(&mut Store) =
        |store| store.capabilities.client_model = syncline_runner::ClientModel::Threads;
    refused(blocking, &some, 0, "as many workers");
}

#[test]
fn a_store_that_fails_the_preflight_check_is_not_touched() {
    let store = Store::broken("preflight");
    let error = go(&store, &counted(1, 10)).unwrap_err();
    assert!(error.to_string().contains("while the preflight check ran"), "{error}");
    let created = store.calls.created.load(Ordering::Relaxed);
    assert_eq!((created, store.removed()), (0, 0));
}

#[test]
fn a_blocking_store_gets_one_thread_per_client() {
    let store = Store::always(Answer::Busy(1_000)).blocking();
    let mut plan = counted(6, 600);
    plan.workers = None;
    let result = go(&store, &plan).unwrap();
    assert_eq!((result.head.client.workers, result.head.client.clients), (6, 6));
    assert_eq!(result.outcomes.committed, 600);
}

#[test]
fn the_store_is_removed_whatever_fails() {
    for step in ["create", "reported_settings", "load", "worker", "connect"] {
        let store = Store::broken(step);
        let mut workload = Keys::new(&store);
        workload.rows = if step == "load" { 2_500 } else { 0 };
        let stop = AtomicBool::new(false);
        let error = run(&store, &workload, &plan(3, 50), &stop, &()).unwrap_err();
        let expected = format!("{step} does not work today");
        assert!(error.to_string().contains(&expected), "{error}");
        assert_eq!(store.removed(), 1, "{step}");
    }
}

#[test]
fn a_panic_of_the_observer_ends_the_workers_and_removes_the_store() {
    let store = Store::always(Answer::ByTicket);
    let watcher = EventRecorder::new(|event| assert_ne!(event, "interval", "the observer panics"));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let stop = AtomicBool::new(false);
        run(&store, &Keys::new(&store), &plan(3, 600_000), &stop, &watcher)
    }));
    assert!(panicked.is_err());
    assert_eq!(store.removed(), 1);
}

#[test]
fn a_store_that_cannot_be_removed_keeps_its_result_with_a_warning() {
    let result = go(&Store::broken("remove"), &counted(1, 10)).unwrap();
    let why = "remove does not work today".to_owned();
    assert!(result.warnings.contains(&RunWarning::NotRemoved { why }));
    assert_eq!(result.outcomes.committed, 10);
}

#[test]
fn a_panic_of_one_worker_ends_the_run_with_its_message() {
    let store = Store::new(|key, _| match key {
        20 => Answer::Panics,
        _ => Answer::ByTicket,
    });
    let error = go(&store, &plan(4, 60_000)).unwrap_err();
    assert!(matches!(error, Error::Panicked { .. }), "{error:?}");
    assert!(error.to_string().contains("the store panicked at key 20"), "{error}");
    assert_eq!(store.removed(), 1);
}

#[test]
fn a_stop_ends_the_run_with_what_was_measured() {
    let store = Store::always(Answer::ByTicket);
    let stop = AtomicBool::new(false);
    let watcher = EventRecorder::new(|event| {
        if event == "interval" {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let plan = plan(8, 600_000);
    let result = run(&store, &Keys::new(&store), &plan, &stop, &watcher).unwrap();
    assert_eq!(result.stopped_by, StopReason::Requested);
    assert!(result.measured_ns > 0 && result.outcomes.committed > 0);
    assert_eq!(result.checks[0].outcome, CheckOutcome::Held);
    assert_eq!(store.removed(), 1);
}

#[test]
fn a_stop_wakes_clients_that_wait_for_an_arrival() {
    let store = Store::always(Answer::Committed);
    let stop = AtomicBool::new(false);
    let watcher = EventRecorder::new(|event| {
        if event == "interval" {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let mut plan = plan(3, 600_000);
    plan.arrival = Arrival::Fixed { rate_per_s: 0.01 };
    let result = run(&store, &Keys::new(&store), &plan, &stop, &watcher).unwrap();
    let arrivals = result.arrivals.unwrap();
    assert_eq!(arrivals.offered, arrivals.started + arrivals.abandoned);
    assert!(arrivals.offered <= 2, "{arrivals:?}");
}

#[test]
fn a_stop_before_the_measured_span_has_no_result() {
    for at in ["creating", "connecting 2", "warming up"] {
        let store = Store::always(Answer::ByTicket);
        let stop = AtomicBool::new(false);
        let watcher = EventRecorder::new(|event| {
            if event == at {
                stop.store(true, Ordering::Relaxed);
            }
        });
        let mut plan = plan(2, 600_000);
        plan.warm_up = Duration::from_mins(10);
        let error = run(&store, &Keys::new(&store), &plan, &stop, &watcher).unwrap_err();
        assert!(matches!(error, Error::Stopped { .. }), "{at}: {error:?}");
        assert_eq!(store.removed(), 1, "{at}");
    }
}

#[test]
fn rows_are_loaded_once_each_before_the_clients_start() {
    let store = Store::always(Answer::Committed);
    let mut workload = Keys::new(&store);
    workload.rows = 12_345;
    let stop = AtomicBool::new(false);
    let watcher = EventRecorder::new(|_| ());
    run(&store, &workload, &counted(2, 10), &stop, &watcher).unwrap();
    let loaded = store.calls.loaded.lock().unwrap();
    assert_eq!(loaded.len(), 12_345);
    assert!(loaded.values().all(|times| *times == 1));
    assert!(watcher.events().contains(&"loading 12345/12345".to_owned()));
}

#[test]
fn events_follow_the_order_of_the_phases() {
    let store = Store::always(Answer::Committed);
    let watcher = EventRecorder::new(|_| ());
    let mut plan = plan(2, 50);
    plan.warm_up = Duration::from_millis(20);
    let stop = AtomicBool::new(false);
    let result = run(&store, &Keys::new(&store), &plan, &stop, &watcher).unwrap();
    let mut events = watcher.events();
    let intervals = events.iter().filter(|event| *event == "interval").count();
    assert_eq!(intervals, result.intervals.len());
    events.retain(|event| event != "interval" && event != "draining");
    assert_eq!(
        events,
        [
            "creating",
            "started scripted",
            "connecting 2",
            "warming up",
            "measuring",
            "checking",
            "removing",
            "ended"
        ]
    );
}

#[test]
fn intervals_are_contiguous_and_include_the_commits() {
    let store = Store::always(Answer::ByTicket);
    let mut plan = plan(10, 200);
    plan.warm_up = Duration::from_millis(20);
    let result = go(&store, &plan).unwrap();
    assert!(!result.intervals.is_empty());
    for pair in result.intervals.windows(2) {
        assert_eq!(pair[0].end_ns, pair[1].start_ns);
    }
    for interval in &result.intervals {
        assert!(interval.start_ns < interval.end_ns);
        assert_eq!(interval.committed > 0, interval.service_p50_ns.is_some());
        assert!(interval.service_p50_ns <= interval.service_p99_ns);
        assert!(interval.service_p99_ns <= interval.service_max_ns);
        // D7: a closed loop.
        assert_eq!(interval.response_p50_ns, interval.service_p50_ns);
        assert_eq!(interval.response_p99_ns, interval.service_p99_ns);
        assert_eq!(interval.response_max_ns, interval.service_max_ns);
    }
    let in_intervals: u64 = result.intervals.iter().map(|interval| interval.committed).sum();
    // They differ by the transactions under way at the two ends: at most one per client at each.
    let difference = in_intervals.abs_diff(result.outcomes.committed);
    assert!(in_intervals > 0 && difference <= result.outcomes.committed / 2 + 20);
}

#[test]
fn a_run_without_warm_up_is_profiled_from_the_gate_on() {
    const READS: u64 = 8;
    let store = Store::new(|_, _| {
        let mut zero = std::fs::File::open("/dev/zero").unwrap();
        for _ in 0..READS {
            zero.read_exact(&mut [0]).unwrap();
        }
        Answer::Committed
    });
    let mut plan = counted(2, 2_000);
    plan.profiler = Some(ProfilerOptions::default());
    let result = go(&store, &plan).unwrap();
    assert_eq!(result.commits_in_span, 2_000);
    let profile = result.profile.unwrap();
    let totals = profile.accounts().iter().filter_map(|account| {
        let total = account.total.as_ref()?;
        (account.metric == Metric::SystemCalls && total.source.starts_with("syscr"))
            .then_some(total.amount)
    });
    let calls: Vec<u64> = totals.collect();
    assert!(
        matches!(calls[..], [calls] if calls >= 2_000 * READS),
        "{calls:?} of at least {}",
        2_000 * READS
    );
}

#[test]
fn a_store_that_keeps_nothing_has_no_checks_to_apply() {
    let mut store = Store::always(Answer::Committed);
    store.capabilities.keeps_rows = false;
    let mut workload = Keys::new(&store);
    workload.rows = 10;
    let stop = AtomicBool::new(false);
    let result = run(&store, &workload, &counted(1, 10), &stop, &()).unwrap();
    assert_eq!(result.checks.len(), 1);
    assert!(matches!(result.checks[0].outcome, CheckOutcome::NotApplicable(_)));
    assert!(store.calls.loaded.lock().unwrap().is_empty());
}

#[test]
fn starved_clients_are_listed() {
    // Client 1 always conflicts.
    let store = Store::new(|key, _| match key >> 32 {
        1 => Answer::Conflict(syncline_runner::Cause::Locked),
        _ => Answer::Committed,
    });
    // On one worker all clients take equal turns.
    let mut plan = counted(3, 3_000);
    plan.workers = Some(1);
    let result = go(&store, &plan).unwrap();
    assert_eq!(result.fairness.starved, [1]);
    assert_eq!(result.fairness.least, 0);
    let clients = vec![1];
    assert!(result.warnings.contains(&RunWarning::StarvedClients { clients, of: 3 }));
}

#[test]
fn a_worker_can_be_pinned_and_a_missing_processor_is_refused() {
    let mut plan = counted(2, 100);
    plan.pin = vec![0];
    assert_eq!(go(&Store::always(Answer::Committed), &plan).unwrap().outcomes.committed, 100);
    plan.pin = vec![0, 1_000];
    let store = Store::always(Answer::Committed);
    let sentence = go(&store, &plan).unwrap_err().to_string();
    assert!(sentence.contains("processor 1000"), "{sentence}");
    assert_eq!(store.removed(), 1);
}

#[test]
fn no_client_is_connected_twice_and_passes_are_reported() {
    let store = Store::always(Answer::ByPass);
    let mut plan = counted(50, 5_000);
    // A budget per client: if one thread starts late, the clients of the other would do everything.
    plan.transactions_each = Some(100);
    let result = go(&store, &plan).unwrap();
    assert_eq!(result.outcomes.committed, 5_000);
    // Fifty clients and the session of the checks.
    assert_eq!(store.calls.sessions.load(Ordering::SeqCst), 51);
    let passes = store.calls.passes.load(Ordering::SeqCst);
    assert!((100..10_000).contains(&passes), "groups of clients share a pass: {passes}");
    let numbers: BTreeSet<i64> =
        store.calls.keys.lock().unwrap().keys().map(|key| key >> 32).collect();
    assert_eq!(numbers.len(), 50, "every client had its turn");
}

#[test]
fn clients_of_a_closed_loop_wait_and_their_latencies_exclude_the_waits() {
    let store = Store::always(Answer::Committed);
    let mut workload = Keys::new(&store);
    let ms = 1_000_000;
    workload.waits = Waits { before_ns: 10 * ms, after_ns: 15 * ms };
    let result = run(&store, &workload, &plan(2, 200), &AtomicBool::new(false), &()).unwrap();
    let committed = result.outcomes.committed;
    // Two clients, 200 ms, a cycle of at least 25 ms; a busy machine makes fewer, never more.
    assert!((1..=16).contains(&committed), "{committed}");
    // Item 4: a wait that the end of the run interrupts is client time, too.
    let time = result.client_time;
    let sum = time.in_transactions + time.between;
    assert!((0.98..=1.02).contains(&sum), "{time:?}");
    let response = result.transactions[0].response_ns.as_ref().unwrap();
    assert!(response.p50 < 10 * ms, "the response time includes the keying: {response:?}");
    // An open loop has its own schedule and ignores keying times.
    let mut open = plan(2, 200);
    open.arrival = Arrival::Fixed { rate_per_s: 500.0 };
    let result = run(&store, &workload, &open, &AtomicBool::new(false), &()).unwrap();
    assert!(result.outcomes.committed > 20, "{:?}", result.outcomes);
}

#[test]
fn response_bounds_are_judged_and_own_figures_reported() {
    let store = Store::always(Answer::Committed);
    let mut workload = Keys::new(&store);
    let within = |within_ns| ResponseBound { transaction: 0, percent: 90, within_ns };
    workload.bounds = vec![within(1), within(10_000_000_000)];
    let result = run(&store, &workload, &plan(1, 50), &AtomicBool::new(false), &()).unwrap();
    let judged = &result.checks[result.checks.len() - 2..];
    assert!(matches!(judged[0].outcome, CheckOutcome::Violated(_)));
    assert_eq!(judged[1].outcome, CheckOutcome::Held);
    assert_eq!(judged[1].name, "90 % of insert responses within 10 s");
    let figure = &result.figures[0];
    let per_minute = result.throughput_per_s * 60.0;
    assert_eq!(figure.name, "keys a minute");
    assert!((figure.value - per_minute).abs() < 1.0, "{figure:?}");
}

// B.F14
#[test]
fn a_store_that_takes_no_writes_is_refused_before_anything_is_created() {
    let mut store = Store::always(Answer::Committed);
    store.read_only_reason = Some("it follows another server".to_owned());
    let error = go(&store, &plan(1, 100)).unwrap_err();
    assert!(error.to_string().contains("it follows another server"), "{error}");
    assert_eq!(store.calls.created.load(Ordering::Relaxed), 0);
}

// B.F6
#[test]
fn a_stop_in_the_drain_ends_it_whatever_its_planned_length() {
    let store = Store::always(Answer::Never);
    let stop = AtomicBool::new(false);
    let watcher = EventRecorder::new(|event| {
        if event == "draining" {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let mut plan = plan(2, 100);
    plan.drain = Duration::from_hours(1);
    let result = run(&store, &Keys::new(&store), &plan, &stop, &watcher).unwrap();
    assert!(result.outcomes.unfinished > 0);
}

// B.F6
#[test]
fn one_stop_ends_a_load_that_the_store_never_answers_and_reports_the_wait() {
    /// A load that takes longer than this hangs.
    const HANGS_AFTER: Duration = Duration::from_mins(1);
    for broken in [None, Some("remove")] {
        let (sender, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut store = Store::always(Answer::Committed);
            store.hangs = Some("load");
            store.broken = broken;
            let mut workload = Keys::new(&store);
            workload.rows = 2_500;
            let stop = AtomicBool::new(false);
            let watcher = EventRecorder::new(|event| {
                if event.starts_with("loading") {
                    stop.store(true, Ordering::Relaxed);
                }
            });
            let error = run(&store, &workload, &plan(3, 50), &stop, &watcher).unwrap_err();
            let sentence = error.to_string();
            let stopped = match error {
                Error::NotRemoved { error, .. } => matches!(*error, Error::Stopped { .. }),
                error => matches!(error, Error::Stopped { .. }),
            };
            sender.send((stopped, sentence, store.removed())).unwrap();
        });
        let (stopped, sentence, removed) = ended.recv_timeout(HANGS_AFTER).unwrap();
        assert!(stopped, "{sentence}");
        assert!(sentence.contains("a load waits forever"), "{sentence}");
        assert_eq!(removed, 1);
        let left = "were not removed: remove does not work today; remove them by hand";
        assert_eq!(sentence.contains(left), broken.is_some(), "{sentence}");
    }
}
