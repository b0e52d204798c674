//! Runs a workload on a target and looks at what came of it.

use std::sync::atomic::AtomicBool;
use std::time::Duration;
use syncline_contract::CheckOutcome;
use syncline_runner::{RunPlan, RunResult, run};
use syncline_stores::AnyTarget;
use syncline_workloads::AnyWorkload;

/// The embedded targets of every build, without a sync so that the miniature is quick: what syncs does
/// not change what is checked.
pub(crate) const STORES: [&str; 3] = [
    "engine:{}?durability=none&segment_kib=1024",
    "engine:{}?durability=none&segment_kib=1024&client=threads",
    "sqlite:{}?durability=os",
];

/// A workload with options, given as pairs.
pub(crate) fn workload(name: &str, options: &[(&str, &str)]) -> AnyWorkload {
    let pairs = options.iter();
    let pairs: Vec<_> =
        pairs.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    AnyWorkload::parse(name, &pairs).unwrap_or_else(|error| panic!("{error}"))
}

/// A plan of so many clients and transactions, with retries.
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

/// Runs it on the target of a URL, in which `{}` stands for a path of its own.
pub(crate) fn run_on(url: &str, workload: &AnyWorkload, plan: &RunPlan) -> RunResult {
    let folder = tempfile::tempdir().expect("a folder for the store");
    let path = folder.path().join("store");
    let url = url.replace("{}", &path.display().to_string());
    let target = AnyTarget::open(&url).unwrap_or_else(|error| panic!("{error}"));
    let stop = AtomicBool::new(false);
    run(&target, workload, plan, &stop, &()).unwrap_or_else(|error| panic!("{url}: {error}"))
}

/// Runs it on every store, where all checks must hold and something must commit, and on the null
/// target, where no check of rows applies.
pub(crate) fn runs_everywhere(workload: &AnyWorkload, clients: usize, transactions: u64) {
    runs_everywhere_but(workload, clients, transactions, &[]);
}

/// The same, where of these checks nobody can tell, which they must say.
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
                let said = matches!(check.outcome, CheckOutcome::NotApplicable(_));
                assert!(said, "{url}: {check:?}");
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
