//! Two runs side by side.

use super::comparison::{Comparison, Row, Unit, Verdict, refuse, row, spread_of};
use crate::record::{Interval, Latency, Machine, Repetition, RunRecord, TransactionFigures};
use crate::stats;
use crate::{Error, Result};

pub(super) fn compare_runs(
    first: &RunRecord,
    second: &RunRecord,
    unequal: bool,
) -> Result<Comparison> {
    for run in [first, second] {
        if run.end.outcomes.committed == 0 {
            let why = "nothing was committed in it".to_owned();
            return Err(Error::NothingToCompare {
                id: run.identity.id.clone(),
                why,
            });
        }
    }
    let differences = refuse(run_differences(first, second), unequal)?;
    let repeated = [first, second]
        .iter()
        .all(|run| run.end.repetitions.len() > 1);
    let rows = run_rows(first, second, repeated);
    let open = [first, second]
        .iter()
        .all(|run| run.head.plan.arrival != "closed");
    let counts = if open {
        "response time p99"
    } else {
        "throughput"
    };
    let regression = rows
        .iter()
        .any(|row| row.name == counts && row.verdict == Verdict::Slower);
    Ok(Comparison {
        titles: [first, second].map(|run| format!("{} ({})", run.title(), run.identity.id)),
        differences,
        rows,
        basis: basis(
            [first, second].map(|run| run.end.repetitions.len()),
            repeated,
        ),
        regression,
    })
}

fn run_differences(first: &RunRecord, second: &RunRecord) -> Vec<String> {
    let word = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    let (a, b) = (&first.head, &second.head);
    let mut differences = Vec::new();
    let mut differ = |what: &str, one: String, other: String| {
        if one != other {
            differences.push(format!("{what} {one} and {other}"));
        }
    };
    differ(
        "durability",
        word(&a.target.durability),
        word(&b.target.durability),
    );
    differ("workload", a.workload.name.clone(), b.workload.name.clone());
    let options = |run: &RunRecord| {
        let options = &run.head.workload.options;
        let texts: Vec<_> = options
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!("({})", texts.join(" "))
    };
    differ("workload options", options(first), options(second));
    differ(
        "client model",
        first.client_model().to_owned(),
        second.client_model().to_owned(),
    );
    differ("arrival", a.plan.arrival.clone(), b.plan.arrival.clone());
    if a.plan.rate_per_s != b.plan.rate_per_s {
        differences.push("different arrival rates".to_owned());
    }
    if !a.machine.equals(&b.machine) {
        let machines = [&a.machine, &b.machine].map(Machine::in_words);
        differences.push(format!("machine ({}) and ({})", machines[0], machines[1]));
    }
    differences
}

fn run_rows(first: &RunRecord, second: &RunRecord, repeated: bool) -> Vec<Row> {
    type Pick = fn(&Repetition) -> Option<f64>;
    type PickInterval = fn(&Interval) -> Option<f64>;
    let none: PickInterval = |_| None;
    let figures: [(&'static str, Unit, Pick, PickInterval); 6] = [
        (
            "throughput",
            Unit::PerSecond,
            |one| Some(one.throughput_per_s),
            |one| Some(one.throughput_per_s()),
        ),
        (
            "service time p50",
            Unit::Nanoseconds,
            |one| main_service(&one.transactions, |times| times.p50),
            |one| one.service_p50_ns.map(|ns| ns as f64),
        ),
        (
            "service time p99",
            Unit::Nanoseconds,
            |one| main_service(&one.transactions, |times| times.p99),
            |one| one.service_p99_ns.map(|ns| ns as f64),
        ),
        (
            "response time p50",
            Unit::Nanoseconds,
            |one| main_response(&one.transactions, |times| times.p50),
            none,
        ),
        (
            "response time p99",
            Unit::Nanoseconds,
            |one| main_response(&one.transactions, |times| times.p99),
            none,
        ),
        (
            "commits per sync",
            Unit::Plain,
            |one| one.commits_per_sync,
            none,
        ),
    ];
    figures
        .into_iter()
        .map(|(name, unit, of_repetition, of_interval)| {
            let spread = |run: &RunRecord| {
                let repetitions: Vec<f64> = run
                    .end
                    .repetitions
                    .iter()
                    .filter_map(of_repetition)
                    .collect();
                let inside: Vec<f64> = run.intervals.iter().filter_map(of_interval).collect();
                spread_of(&repetitions, &inside, repeated)
            };
            row(name, unit, spread(first), spread(second))
        })
        .collect()
}

fn basis(repetitions: [usize; 2], repeated: bool) -> String {
    if !repeated {
        return "ranges are over the intervals within one run and do not show how runs differ from \
                one another: repeat with --repeat 3 --interleave"
            .to_owned();
    }
    let [first, second] = repetitions;
    let chance = stats::chance_of_separation(first, second);
    let basis = format!("ranges are over {first} and {second} repetitions");
    if chance > 0.01 {
        let one_in = (1.0 / chance).round();
        format!("{basis}; equal settings would lie apart this way by chance once in {one_in:.0}")
    } else {
        basis
    }
}

fn main_service(transactions: &[TransactionFigures], pick: fn(&Latency) -> u64) -> Option<f64> {
    let main = transactions.iter().max_by_key(|one| one.count)?;
    main.service_ns.as_ref().map(|times| pick(times) as f64)
}

fn main_response(transactions: &[TransactionFigures], pick: fn(&Latency) -> u64) -> Option<f64> {
    let main = transactions.iter().max_by_key(|one| one.count)?;
    main.response_ns.as_ref().map(|times| pick(times) as f64)
}
