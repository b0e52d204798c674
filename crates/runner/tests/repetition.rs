//! Repetition: the order of runs, and their comparison.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]

mod support;

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use support::{EventRecorder, counted};
use syncline_contract::Waits;
use syncline_runner::{Case, Turns, calibrate, faster, repeat};
use syncline_testkit::{Answer, Keys, Store};

fn case<'c>(name: &str, workload: &'c Keys, busy_ns: u64) -> Case<'c, Store, Keys> {
    Case {
        name: name.to_owned(),
        make: Box::new(move || Ok(Store::always(Answer::Busy(busy_ns)).blocking())),
        workload,
        plan: syncline_runner::RunPlan { workers: None, ..counted(1, 50) },
    }
}

#[test]
fn cases_are_interleaved_and_a_broken_one_does_not_stop_the_others() {
    let some = Store::always(Answer::Committed);
    let mut workload = Keys::new(&some);
    workload.abort_every = None;
    let made = Mutex::new(0);
    let mut cases = vec![case("a", &workload, 0), case("b", &workload, 0), case("c", &workload, 0)];
    cases[1].make = Box::new(|| {
        *made.lock().unwrap() += 1;
        Ok(Store::broken("create"))
    });
    let watcher = EventRecorder::new(|_| ());
    let stop = AtomicBool::new(false);
    let results = repeat(&cases, 2, Turns::Interleaved, &stop, &watcher);
    let mut events = watcher.events();
    events.retain(|event| event.starts_with("case"));
    assert_eq!(events, ["case a1", "case b1", "case c1", "case a2", "case c2"]);
    assert_eq!(*made.lock().unwrap(), 1, "a case without a result ran again");
    let runs: Vec<usize> = results.iter().map(|result| result.runs.len()).collect();
    assert_eq!(runs, [2, 0, 2]);
    assert!(results[1].error.is_some());
    assert!(results[1].throughput_per_s().is_none());
    assert!(!faster(&results[0], &results[1]));
}

#[test]
fn a_case_is_faster_only_if_the_ranges_do_not_overlap() {
    let some = Store::always(Answer::Committed);
    let workload = Keys::new(&some);
    let cases = [case("quick", &workload, 20_000), case("slow", &workload, 20_000_000)];
    let stop = AtomicBool::new(false);
    let results = repeat(&cases, 2, Turns::InBlocks, &stop, &());
    assert!(faster(&results[0], &results[1]));
    assert!(!faster(&results[1], &results[0]));
    assert!(!faster(&results[0], &results[0]));
    let once = repeat(&cases, 1, Turns::InBlocks, &stop, &());
    assert!(!faster(&once[0], &once[1]), "one run each decided");
    let range = results[1].throughput_per_s().unwrap();
    assert!(range.least <= range.median && range.median <= range.most);
}

#[test]
fn calibration_does_not_wait_for_clients_that_think() {
    let store = Store::always(Answer::Committed);
    let mut workload = Keys::new(&store);
    workload.waits = Waits { before_ns: 60_000_000_000, after_ns: 60_000_000_000 };
    let span = std::time::Duration::from_millis(100);
    let stop = AtomicBool::new(false);
    let own = calibrate(&store, &workload, &counted(4, 1), span, &stop).unwrap();
    assert!(own.cpu_ns_per_transaction > 0.0 && own.throughput_per_s > 0.0);
}

#[test]
fn calibration_measures_the_laboratorys_own_cost() {
    let store = Store::always(Answer::Committed);
    let span = std::time::Duration::from_millis(100);
    let stop = AtomicBool::new(false);
    let own = calibrate(&store, &Keys::new(&store), &counted(4, 1), span, &stop).unwrap();
    assert!(own.cpu_ns_per_transaction > 0.0 && own.throughput_per_s > 0.0);
    assert_eq!(store.removed(), 1);
}
