//! Figures a commit, each with its source or the reason why there is none.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]

mod support;

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use support::{counted, go};
use syncline_record::{Counted, PerCommit};
use syncline_runner::{RunResult, StoreProcess};
use syncline_testkit::{Answer, Store};

fn of_process(process: StoreProcess) -> RunResult {
    let mut store = Store::always(Answer::ByTicket);
    store.process = process;
    go(&store, &counted(4, 2_000)).unwrap()
}

fn all(per_commit: &PerCommit) -> [&Counted; 9] {
    [
        &per_commit.syncs,
        &per_commit.synced_writes,
        &per_commit.device_writes,
        &per_commit.device_bytes,
        &per_commit.flushes,
        &per_commit.system_calls,
        &per_commit.client_cpu_ns,
        &per_commit.target_cpu_ns,
        &per_commit.page_faults,
    ]
}

fn said(result: &RunResult) -> bool {
    let figures = all(&result.per_commit);
    figures.iter().all(|figure| {
        let sane = figure.value.is_none_or(|value| value.is_finite() && value >= 0.0);
        sane && !figure.source.is_empty()
    })
}

#[test]
fn a_library_store_has_its_figures_and_the_log_that_is_nowhere_has_reasons() {
    let result = of_process(StoreProcess::InProcess);
    assert!(said(&result), "{:?}", result.per_commit);
    let per_commit = &result.per_commit;
    assert!(per_commit.client_cpu_ns.value.is_some_and(|ns| ns > 0.0));
    assert!(per_commit.target_cpu_ns.value.is_some());
    assert!(per_commit.page_faults.value.is_some());
    for figure in [&per_commit.device_writes, &per_commit.device_bytes, &per_commit.flushes] {
        assert_eq!((figure.value, figure.source.as_str()), (None, "it keeps no log"));
    }
    assert_eq!(per_commit.synced_writes.value, None);
}

#[test]
fn another_process_is_looked_at_and_not_this_one() {
    let mut command = Command::new("cat");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // It has answered once, so it has started and sleeps until its input ends.
    let mut answer = [0; 1];
    child.stdin.as_mut().unwrap().write_all(b"a").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut answer).unwrap();
    let result = of_process(StoreProcess::Other(child.id()));
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(said(&result), "{:?}", result.per_commit);
    let per_commit = &result.per_commit;
    // It slept: what this process did meanwhile is not charged to it.
    assert_eq!(per_commit.target_cpu_ns.value, Some(0.0));
    assert_eq!(per_commit.page_faults.value, Some(0.0));
    assert!(per_commit.system_calls.value.is_none_or(|calls| calls <= 0.01));
    assert_eq!(result.saturation.figures.laboratory_share, Some(1.0));
}

#[test]
fn a_store_elsewhere_has_reasons_and_no_zeros() {
    let result = of_process(StoreProcess::REMOTE);
    assert!(said(&result), "{:?}", result.per_commit);
    let per_commit = &result.per_commit;
    let unknown = [
        &per_commit.syncs,
        &per_commit.system_calls,
        &per_commit.target_cpu_ns,
        &per_commit.page_faults,
    ];
    assert!(unknown.iter().all(|figure| figure.value.is_none()), "{unknown:?}");
    assert!(per_commit.syncs.source.contains("not on this machine"));
}
