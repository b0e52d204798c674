//! Small runs of debit-credit: every profile, with the branch incremented, and read and written.

use crate::run_on::{STORES, plan, run_on, runs_everywhere, workload};
use std::time::Duration;
use syncline_contract::{Cause, CheckOutcome};
use syncline_runner::{Arrival, RunPlan};

const PROFILES: [&str; 7] = [
    "tpcb",
    "tpca",
    "pgbench",
    "pgbench-simple-update",
    "pgbench-select-only",
    "derby",
    "berkeley",
];

#[test]
fn sums_agree_in_every_profile() {
    for profile in PROFILES {
        let options = [("profile", profile), ("scale", "3"), ("accounts", "50"), ("think_s", "0")];
        runs_everywhere(&workload("debit-credit", &options), 6, 300);
    }
}

#[test]
fn sums_agree_where_the_branch_is_read_and_written() {
    for profile in ["tpcb", "pgbench", "derby", "berkeley"] {
        let options = [("profile", profile), ("accounts", "50"), ("branch", "read-write")];
        runs_everywhere(&workload("debit-credit", &options), 4, 200);
    }
}

#[test]
fn a_hot_branch_shows_as_conflicts_only_if_it_is_read() {
    let conflicts = |branch| {
        let options = [("accounts", "100000"), ("branch", branch)];
        let load = workload("debit-credit", &options);
        let plan = RunPlan { retries: 0, ..plan(16, 2_000) };
        let outcomes = run_on(STORES[0], &load, &plan).outcomes;
        let [_, _, serialization] = outcomes.conflicted;
        assert_eq!(Cause::ALL[2], Cause::Serialization);
        serialization
    };
    // Two transactions may conflict on an account, which is read back.
    let added = conflicts("add");
    assert!(added < 10, "{added} conflicts although no branch was read");
    // The number depends on how often two workers run at the same time.
    let mut read = 0;
    for _ in 0..30 {
        read += conflicts("read-write");
        if read > 100 {
            return;
        }
    }
    panic!("{read} conflicts in 60,000 transactions on one branch");
}

#[test]
fn terminals_think_and_arrivals_do_not() {
    let options = [("profile", "tpca"), ("accounts", "50"), ("think_s", "1")];
    let load = workload("debit-credit", &options);
    let closed = RunPlan {
        clients: 40,
        transactions: None,
        duration: Some(Duration::from_secs(2)),
        warm_up: Duration::ZERO,
        ..RunPlan::default()
    };
    let result = run_on("null", &load, &closed);
    // 40 terminals that think a second on average: 80 in 2 s, plus or minus five deviations of a Poisson
    // count.
    let committed = result.outcomes.committed;
    assert!((35..=125).contains(&committed), "{committed}");
    let open = RunPlan { arrival: Arrival::Poisson { rate_per_s: 500.0 }, ..closed };
    let result = run_on("null", &load, &open);
    let committed = result.outcomes.committed;
    assert!((800..=1_200).contains(&committed), "{committed}");
    let judged = result.checks.iter().find(|check| check.name.contains("within 2 s"));
    assert_eq!(judged.map(|check| &check.outcome), Some(&CheckOutcome::Held));
    let figure =
        result.figures.first().expect("the record contains the rate that the scale allows");
    assert!(figure.name.contains("(not scaled)"), "{}", figure.name);
}
