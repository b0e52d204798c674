//! Loaded rows that several runs share: reused, or refused if they differ or are incomplete.

use crate::run_on::{plan, workload};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_runner::{Error, Event, Observer, RunPlan, RunResult, run};
use syncline_stores::AnyTarget;

const STORES: [&str; 2] = ["engine:{}?durability=none&segment_kib=1024", "sqlite:{}?durability=os"];

/// Selects from `rows` rows, in a store at a path that stays.
fn select(url: &str, path: &Path, rows: &str, seed: u64) -> Result<RunResult, Error> {
    let plan = RunPlan { reuse: true, seed, ..plan(2, 50) };
    go(url, path, rows, &plan, &AtomicBool::new(false), &())
}

fn go(
    url: &str,
    path: &Path,
    rows: &str,
    plan: &RunPlan,
    stop: &AtomicBool,
    observer: &dyn Observer,
) -> Result<RunResult, Error> {
    let url = url.replace("{}", &path.display().to_string());
    let target = AnyTarget::open(&url).unwrap_or_else(|error| panic!("{error}"));
    let load = workload("select", &[("rows", rows)]);
    run(&target, &load, plan, stop, observer)
}

#[test]
fn rows_are_loaded_once_and_serve_runs_of_any_seed() {
    for url in STORES {
        let folder = tempfile::tempdir().expect("a folder for the store");
        let path = folder.path().join("store");
        let kept: Vec<bool> = (1..=3)
            .map(|seed| {
                let result = select(url, &path, "500", seed).expect("a run");
                assert_eq!(result.outcomes.failed_all(), 0, "{url}");
                assert!(result.checks.iter().all(|check| {
                    !matches!(check.outcome, syncline_contract::CheckOutcome::Violated(_))
                }));
                result.head.workload.rows_kept
            })
            .collect();
        assert_eq!(kept, [false, true, true], "{url}");
        // Rows made with other options are refused, and stay.
        let refused = select(url, &path, "600", 1).expect_err("other rows");
        assert!(refused.to_string().contains("keeps rows of"), "{refused}");
        assert!(select(url, &path, "500", 4).is_ok(), "{url}");
    }
}

/// Requests a stop once rows are being loaded.
struct StopsLoading<'s>(&'s AtomicBool);

impl Observer for StopsLoading<'_> {
    fn event(&self, event: Event<'_>) {
        if let Event::Loading { .. } = event {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn an_interrupted_load_leaves_nothing_that_a_later_run_takes_for_complete() {
    for url in STORES {
        let folder = tempfile::tempdir().expect("a folder for the store");
        let path = folder.path().join("store");
        let plan = RunPlan { reuse: true, ..plan(1, 50) };
        let stop = AtomicBool::new(false);
        let ended = go(url, &path, "200000", &plan, &stop, &StopsLoading(&stop));
        assert!(matches!(ended, Err(Error::Stopped { .. })), "{url}: {ended:?}");
        let result = select(url, &path, "500", 1).expect("the place is free");
        assert!(!result.head.workload.rows_kept, "{url}");
    }
}
