//! A load that is killed (SIGKILL) half-way leaves nothing that a later run takes for complete: a run that
//! wants the kept rows is refused with advice, and any other loads them again.
//!
//! The load runs in a separate process, which is this test's program again and kills itself.

use crate::all_workloads::{MINIATURES, Miniature, is_for};
use crate::run_on::{plan, workload};
use rustix::process::{Signal, getpid, kill_process};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use syncline_contract::{CheckOutcome, Workload};
use syncline_runner::{Event, Observer, RunPlan, run};
use syncline_stores::AnyTarget;
use syncline_workloads::AnyWorkload;

const STORES: [&str; 2] = ["engine:{}?durability=none&segment_kib=1024", "sqlite:{}?durability=os"];
/// Makes the program the process to be killed: the name of the workload, then the URL.
const VICTIM: &str = "SYNCLINE_TEST_KILLED_LOAD";

/// Kills its own process as soon as some units are loaded and some are not.
struct KillsItself;

impl Observer for KillsItself {
    fn event(&self, event: Event<'_>) {
        if let Event::Loading { units, of } = event
            && units > 0
            && units < of
        {
            kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
        }
    }
}

fn keeping() -> RunPlan {
    RunPlan { reuse: true, ..plan(1, 5) }
}

/// Does nothing except in the process to be killed.
#[test]
fn the_process_that_is_killed() {
    let Ok(asked) = std::env::var(VICTIM) else {
        return;
    };
    let (name, url) = asked.split_once(' ').expect("a name and a URL");
    let load = of(name);
    let target = AnyTarget::open(url).expect("a target");
    let plan = RunPlan { reuse: load.loaded_as().is_some(), ..keeping() };
    let ended = run(&target, &load, &plan, &AtomicBool::new(false), &KillsItself);
    panic!("{name} on {url} was loaded before anybody killed it: {ended:?}");
}

/// The workload with enough rows that a load takes several batches.
fn of(name: &str) -> AnyWorkload {
    let found = MINIATURES.iter().find(|one| one.name == name);
    let Miniature { name, loads, .. } = found.expect("a workload that there is");
    workload(name, loads)
}

#[test]
fn runs_after_a_killed_load_are_refused_with_advice() {
    let loading = MINIATURES.iter().filter(|one| !one.loads.is_empty());
    let names: Vec<_> = loading.map(|one| one.name).collect();
    for url in STORES {
        for name in &names {
            let folder = tempfile::tempdir().expect("a folder for the store");
            let path = folder.path().join("store").display().to_string();
            let url = url.replace("{}", &path);
            if !is_for(&of(name), &url) {
                continue;
            }
            let myself = std::env::current_exe().expect("the test's own program");
            let ended = Command::new(myself)
                .args(["--exact", "killed_load::the_process_that_is_killed"])
                .env(VICTIM, format!("{name} {url}"))
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .output()
                .expect("it starts");
            let output = String::from_utf8_lossy(&ended.stdout);
            assert_eq!(ended.status.signal(), Some(9), "{name} on {url}: {output}");
            is_refused(name, &url);
        }
    }
}

/// A run that wants kept rows is refused; any other starts with new ones.
fn is_refused(name: &str, url: &str) {
    let load = of(name);
    let stop = AtomicBool::new(false);
    if load.loaded_as().is_some() {
        let target = AnyTarget::open(url).expect("a target");
        let refused = run(&target, &load, &keeping(), &stop, &());
        let why = refused.expect_err("rows are missing").to_string();
        assert!(why.contains("its rows were not loaded to the end"), "{name} on {url}: {why}");
        assert!(why.contains("remove it"), "{name} on {url}: {why}");
        assert_eq!(why.lines().count(), 1, "{why}");
    }
    let small = MINIATURES.iter().find(|one| one.name == name);
    let small = workload(name, small.expect("it was found before").runs);
    let target = AnyTarget::open(url).expect("a target");
    let result = run(&target, &small, &plan(2, 50), &stop, &());
    let result = result.unwrap_or_else(|why| panic!("{name} on {url}: {why}"));
    assert!(result.outcomes.committed > 0, "{name} on {url}");
    for check in &result.checks {
        let violated = matches!(check.outcome, CheckOutcome::Violated(_));
        assert!(!violated, "{name} on {url}: {check:?}");
    }
}
