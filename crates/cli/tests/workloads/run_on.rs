//! Runs a workload on a target and checks the result.

use std::sync::atomic::AtomicBool;
use std::time::Duration;
use syncline_contract::CheckOutcome;
use syncline_runner::{RunPlan, RunResult, run};
use syncline_stores::AnyTarget;
use syncline_workloads::AnyWorkload;

/// The embedded targets of every build, without syncs so that the runs are quick; syncs do not affect the
/// checks.
pub(crate) const STORES: [&str; 3] = [
    "engine:{}?durability=none&segment_kib=1024",
    "engine:{}?durability=none&segment_kib=1024&client=threads",
    "sqlite:{}?durability=os",
];

/// A workload with options as pairs.
pub(crate) fn workload(name: &str, options: &[(&str, &str)]) -> AnyWorkload {
    let pairs = options.iter();
    let pairs: Vec<_> =
        pairs.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    AnyWorkload::parse(name, &pairs).unwrap_or_else(|error| panic!("{error}"))
}

/// A plan with a number of clients and transactions, with retries.
pub(crate) fn plan(clients: usize, transactions: u64) -> RunPlan {
    RunPlan {
        clients,
        transactions: Some(transactions),
        duration: Some(Duration::from_mins(1)),
        warm_up: Duration::ZERO,
        retries: 100,
        ..RunPlan::default()
    }
}

/// Runs it on the target of a URL, in which `{}` is replaced by a new path.
pub(crate) fn run_on(url: &str, workload: &AnyWorkload, plan: &RunPlan) -> RunResult {
    let folder = tempfile::tempdir().expect("a folder for the store");
    let path = folder.path().join("store");
    let url = url.replace("{}", &path.display().to_string());
    let target = AnyTarget::open(&url).unwrap_or_else(|error| panic!("{error}"));
    let stop = AtomicBool::new(false);
    run(&target, workload, plan, &stop, &()).unwrap_or_else(|error| panic!("{url}: {error}"))
}

/// Runs it on every store, where all checks must hold and something must commit, and on the null target,
/// where checks of rows do not apply.
pub(crate) fn runs_everywhere(workload: &AnyWorkload, clients: usize, transactions: u64) {
    runs_everywhere_but(workload, clients, transactions, &[]);
}

/// The same, for checks whose result is unknown, which they must report.
pub(crate) fn runs_everywhere_but(
    workload: &AnyWorkload,
    clients: usize,
    transactions: u64,
    unknown: &[&str],
) {
    let plan = plan(clients, transactions);
    for url in STORES {
        let result = run_on(url, workload, &plan);
        assert!(result.outcomes.committed > 0, "{url}: {:?}", result.outcomes);
        assert_eq!(result.outcomes.failed_all(), 0, "{url}: {:?}", result.stopped_by);
        assert!(!result.checks.is_empty(), "{url}: nothing was checked");
        for check in &result.checks {
            if unknown.contains(&check.name.as_str()) {
                let not_applicable = matches!(check.outcome, CheckOutcome::NotApplicable(_));
                assert!(not_applicable, "{url}: {check:?}");
            } else {
                assert_eq!(check.outcome, CheckOutcome::Held, "{url}: {}", check.name);
            }
        }
    }
    let result = run_on("null", workload, &plan);
    assert!(result.outcomes.committed > 0, "null: {:?}", result.outcomes);
    let violated = |outcome: &CheckOutcome| matches!(outcome, CheckOutcome::Violated(_));
    assert!(result.checks.iter().all(|check| !violated(&check.outcome)));
}
