//! Runs every listed workload, in a small size, on every store and on the null target, so that a new one
//! cannot be forgotten here.

use crate::run_on::{STORES, runs_everywhere, workload};
use syncline_contract::{Target, Workload};
use syncline_stores::AnyTarget;
use syncline_workloads::{AnyWorkload, LISTINGS};

/// A workload made small.
pub(crate) struct Miniature {
    pub(crate) name: &'static str,
    /// Options of a short run.
    pub(crate) runs: &'static [(&'static str, &'static str)],
    /// Options of a slow load; empty for a workload without rows to load.
    pub(crate) loads: &'static [(&'static str, &'static str)],
}

const fn of(
    name: &'static str,
    runs: &'static [(&'static str, &'static str)],
    loads: &'static [(&'static str, &'static str)],
) -> Miniature {
    Miniature { name, runs, loads }
}

/// All of them.
pub(crate) const MINIATURES: [Miniature; 17] = [
    of("insert", &[], &[]),
    of(
        "debit-credit",
        &[("accounts", "50")],
        &[("profile", "pgbench-select-only"), ("scale", "20")],
    ),
    of("select", &[("rows", "100")], &[("rows", "2000"), ("tables", "32")]),
    of("update", &[("rows", "100")], &[("rows", "2000"), ("tables", "32")]),
    of("join", &[("rows", "50"), ("joined", "10")], &[("rows", "10000")]),
    of("short", &[("rows", "20")], &[("rows", "20000"), ("tables", "8"), ("do", "read")]),
    of("concurrent-tx", &[("nops", "5")], &[]),
    of("group-commit", &[("ninsert", "5")], &[]),
    of("smallbank", &[("customers", "40"), ("hot", "3")], &[("customers", "300000")]),
    of("transfer", &[("accounts", "40"), ("balance", "20")], &[("accounts", "700000")]),
    of("tatp", &[("subscribers", "50")], &[("subscribers", "300000")]),
    of(
        "tpcc",
        &[("items", "100"), ("customers", "30")],
        &[("items", "3000"), ("customers", "300")],
    ),
    of("mrmw", &[("prewritten", "50")], &[("prewritten", "700000")]),
    of("mrow", &[("prewritten", "50")], &[("prewritten", "700000"), ("records", "700001")]),
    of("ycsb", &[("records", "200")], &[("records", "700000")]),
    of(
        "oltp",
        &[("table_size", "200")],
        &[("table_size", "5000"), ("tables", "8"), ("test", "read_only")],
    ),
    of("script", &[], &[("check", "none")]),
];

#[test]
fn every_listed_workload_has_a_miniature() {
    let listed: Vec<_> = LISTINGS.iter().map(|listing| listing.name).collect();
    let here: Vec<_> = MINIATURES.iter().map(|one| one.name).collect();
    assert_eq!(here, listed);
}

/// True if a store of that URL can run it.
pub(crate) fn is_for(load: &AnyWorkload, url: &str) -> bool {
    let target = AnyTarget::open(url).expect("it opens nothing yet");
    load.plan().refusal(&target.capabilities()).is_none()
}

#[test]
fn every_workload_runs_on_every_store_with_its_checks() {
    let mut elsewhere = Vec::new();
    for one in &MINIATURES {
        let load = workload(one.name, one.runs);
        if STORES.iter().all(|url| is_for(&load, url)) {
            runs_everywhere(&load, 3, 300);
        } else {
            elsewhere.push(one.name);
        }
    }
    // It requires a store that executes a user's statements: `script.rs` runs it on one.
    assert_eq!(elsewhere, ["script"]);
}
