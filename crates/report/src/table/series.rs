//! Several runs of one workload in one table: the options in which they differ, and their results.

use super::grid::{Grid, Side};
use super::prose;
use std::collections::BTreeSet;
use syncline_record::units;
use syncline_record::{Latency, RunRecord};

/// The workload whose rows show what a commit waits for instead of conflicts, of which it has none.
const GROUP_COMMIT: &str = "group-commit";

/// A row per run; empty for fewer than two runs, or runs of different workloads.
pub fn series(runs: &[&RunRecord]) -> String {
    let Some((first, others)) = runs.split_first().filter(|(_, others)| !others.is_empty()) else {
        return String::new();
    };
    let workload = &first.head.workload.name;
    if others.iter().any(|run| run.head.workload.name != *workload) {
        return String::new();
    }
    let differing = differing_options(runs);
    let mut columns =
        vec![("store", Side::Left), ("durable", Side::Left), ("clients", Side::Right)];
    columns.extend(differing.iter().map(|name| (*name, Side::Right)));
    let repeated = runs.iter().any(|run| run.end.throughput_range.is_some());
    columns.push(("commits/s", Side::Right));
    columns.extend(repeated.then_some(("from-to", Side::Right)));
    columns.extend([("p50", Side::Right), ("p99", Side::Right), ("per sync", Side::Right)]);
    let grouped = workload == GROUP_COMMIT;
    if grouped {
        columns.extend([("wait", Side::Right), ("sync", Side::Right)]);
    } else {
        columns.push(("conflicts", Side::Right));
    }
    let unit = (first.head.workload.unit_per_transaction != 1
        || others.iter().any(|run| run.head.workload.unit_per_transaction != 1))
    .then(|| format!("{}/s", first.head.workload.unit));
    columns.extend(unit.iter().map(|unit| (unit.as_str(), Side::Right)));
    let mut grid = Grid::new(&columns).optional_columns(&["from-to", "p50", "conflicts"]);
    for run in runs {
        grid.row(cells(run, &differing, repeated, unit.is_some()));
    }
    let last = if grouped {
        "wait, sync: of a commit for its group and for the sync, the mean of those that the store times"
    } else {
        "conflicts: transactions given up, and retries"
    };
    let note = prose::wrap(
        "",
        &format!(
            "per sync: commits per sync; {last}; durable: the durability; its evidence is listed with each run \
             above"
        ),
    );
    format!(
        "{workload}
{}
{note}",
        grid.render()
    )
}

/// The options that are not the same in all runs.
fn differing_options<'r>(runs: &[&'r RunRecord]) -> Vec<&'r str> {
    let names: BTreeSet<&str> =
        runs.iter().flat_map(|run| run.head.workload.options.keys().map(String::as_str)).collect();
    let value = |run: &'r RunRecord, name: &str| run.head.workload.options.get(name);
    let differ = |name: &&str| {
        let mut values = runs.iter().map(|run| value(run, name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    names.into_iter().filter(differ).collect()
}

fn cells(run: &RunRecord, differing: &[&str], with_range: bool, with_unit: bool) -> Vec<String> {
    let end = &run.end;
    let times = run.service_ns();
    let time = |pick: fn(&Latency) -> u64| units::or_unknown(times.map(pick), units::span_ns);
    let mut cells = vec![
        format!("{}, {}", run.head.target.name, run.client_model()),
        run.head.target.durability.clone().unwrap_or_else(|| units::UNKNOWN.to_owned()),
        run.head.plan.clients.to_string(),
    ];
    let options = &run.head.workload.options;
    cells.extend(differing.iter().map(|name| options.get(*name).cloned().unwrap_or_default()));
    let range = end.throughput_range.as_ref();
    let conflicted = end.outcomes.conflicted + end.outcomes.retries;
    cells.push(units::rate(end.throughput_per_s));
    cells.extend(with_range.then(|| {
        range.map_or_else(String::new, |range| units::rate_range(range.least, range.most))
    }));
    cells.extend([
        time(|times| times.p50),
        time(|times| times.p99),
        units::or_unknown(end.per_commit.commits_per_sync(), units::figure),
    ]);
    if run.head.workload.name == GROUP_COMMIT {
        cells.extend(["wait for group", "sync"].map(|step| step_of(run, step)));
    } else {
        cells.push(conflicted.to_string());
    }
    if with_unit {
        let per_s = end.throughput_per_s * run.head.workload.unit_per_transaction as f64;
        cells.push(units::rate(per_s));
    }
    cells
}

/// The mean of a step of a commit's path.
fn step_of(run: &RunRecord, step: &str) -> String {
    let mean = run.end.commit_path.as_ref().and_then(|path| {
        let index = path.steps.iter().position(|name| name == step)?;
        let mean = path.rows.iter().find(|row| row.name == "mean")?;
        mean.step_ns.get(index).copied()
    });
    units::or_unknown(mean, units::span)
}
