//! Titles that distinguish the runs of one command: the options and the load in which they differ.
//!
//! A record does not hold that it belongs to a sweep. Runs of one workload on one store by one command differ
//! in the swept values and in nothing else that a user chose; the number of clients is already in a run's
//! title.

use std::collections::BTreeSet;
use syncline_record::RunRecord;

/// The values in which `run` differs from the other runs of its command, such as `commit_every=10, rate=500`;
/// empty if there are none.
pub(crate) fn swept_values(run: &RunRecord, among: &[&RunRecord]) -> String {
    let family: Vec<&&RunRecord> = among.iter().filter(|other| is_same_sweep(run, other)).collect();
    let options = family.iter().flat_map(|other| other.head.workload.options.keys());
    let names: BTreeSet<&str> = options.map(String::as_str).chain(PLAN).collect();
    let differs = |name: &&str| {
        let own = value(run, name);
        family.iter().any(|other| value(other, name) != own)
    };
    let parts: Vec<String> = names
        .into_iter()
        .filter(differs)
        .map(|name| {
            let value = value(run, name).unwrap_or_else(|| "none".to_owned());
            format!("{name}={value}")
        })
        .collect();
    parts.join(", ")
}

/// The title of a run with its swept values.
pub(crate) fn title(run: &RunRecord, among: &[&RunRecord]) -> String {
    match swept_values(run, among) {
        swept if swept.is_empty() => run.title(),
        swept => format!("{}, {swept}", run.title()),
    }
}

/// What a sweep may vary besides options of the workload.
const PLAN: [&str; 3] = ["pipeline", "rate", "retries"];

fn value(run: &RunRecord, name: &str) -> Option<String> {
    let plan = &run.head.plan;
    match name {
        "pipeline" => plan.pipeline.map(|whether| whether.to_string()),
        "rate" => plan.rate_per_s.map(|rate| rate.to_string()),
        "retries" => Some(plan.retries.to_string()),
        option => run.head.workload.options.get(option).cloned(),
    }
}

fn is_same_sweep(one: &RunRecord, other: &RunRecord) -> bool {
    one.head.workload.name == other.head.workload.name
        && one.head.target.name == other.head.target.name
        && one.identity.command == other.identity.command
        && one.identity.survey == other.identity.survey
}
