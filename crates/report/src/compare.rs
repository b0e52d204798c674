//! Two records side by side, and whether the second is worse.
//!
//! 1. Runs are compared only if workload, durability, client model and machine are alike, or if asked
//!    to compare them anyway; then the differences are said.
//! 2. "Faster" and "slower" are said only where the ranges do not meet. A range is over repetitions;
//!    with fewer than two on either side it is over the intervals of the one run, and that is said.
//! 3. A regression is a throughput that is slower, or, where the schedule fixes the throughput (open
//!    loop), a 99th percentile of response time that is.

use crate::record::{Interval, ProbeRecord, Record, Repetition, RunRecord, TransactionFigures};
use crate::stats::{self, Range};
use crate::{Error, Result};

/// What two records say of one another.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The two, as they are headed.
    pub titles: [String; 2],
    /// In what else than speed they differ; empty if in nothing.
    pub differences: Vec<String>,
    /// Each figure of both.
    pub rows: Vec<Row>,
    /// How ranges were made, and what they are worth.
    pub basis: String,
    /// True if the second is worse in what counts.
    pub regression: bool,
}

/// One figure of both records.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is.
    pub name: &'static str,
    /// How it is shown.
    pub unit: Unit,
    /// The first record's.
    pub first: Option<Spread>,
    /// The second record's.
    pub second: Option<Spread>,
    /// What may be said of them.
    pub verdict: Verdict,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Per second; more is better.
    PerSecond,
    /// Nanoseconds; less is better.
    Nanoseconds,
    /// A count that is neither good nor bad.
    Plain,
}

/// A median and what it was found between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The middle.
    pub median: f64,
    /// The least and the most.
    pub range: Range,
}

/// What may be said of two figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The second is better, and the ranges do not meet.
    Faster,
    /// The second is worse, and the ranges do not meet.
    Slower,
    /// The ranges meet.
    NoDifferenceShown,
    /// One of the two is unknown, or the figure is neither good nor bad.
    NotJudged,
}

impl Verdict {
    /// The words in tables.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::NoDifferenceShown => "no difference shown",
            Verdict::NotJudged => "",
        }
    }
}

/// Compares two records of one kind; `unequal` compares them even if they are not alike.
pub fn compare(first: &Record, second: &Record, unequal: bool) -> Result<Comparison> {
    match (first, second) {
        (Record::Run(first), Record::Run(second)) => compare_runs(first, second, unequal),
        (Record::Probe(first), Record::Probe(second)) => compare_probes(first, second, unequal),
        _ => Err(Error::NotComparable),
    }
}

fn compare_runs(first: &RunRecord, second: &RunRecord, unequal: bool) -> Result<Comparison> {
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

fn refuse(differences: Vec<String>, unequal: bool) -> Result<Vec<String>> {
    if differences.is_empty() || unequal {
        Ok(differences)
    } else {
        Err(Error::NotAlike {
            differences: differences.join(", "),
        })
    }
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
        let machines = [&a.machine, &b.machine].map(crate::record::Machine::in_words);
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

/// The middle of the repetitions, between the repetitions or, of one run, between its intervals.
fn spread_of(repetitions: &[f64], intervals: &[f64], repeated: bool) -> Option<Spread> {
    let ranged = if repeated || intervals.is_empty() {
        repetitions
    } else {
        intervals
    };
    let range = stats::range(ranged)?;
    let median = stats::median(repetitions).or_else(|| stats::median(intervals))?;
    // The whole run's figure may lie a little outside what its intervals show of it.
    let range = Range {
        least: range.least.min(median),
        most: range.most.max(median),
    };
    Some(Spread { median, range })
}

fn row(name: &'static str, unit: Unit, first: Option<Spread>, second: Option<Spread>) -> Row {
    let verdict = match (first, second) {
        (Some(first), Some(second)) => judged(unit, first, second),
        _ => Verdict::NotJudged,
    };
    Row {
        name,
        unit,
        first,
        second,
        verdict,
    }
}

fn judged(unit: Unit, first: Spread, second: Spread) -> Verdict {
    if unit == Unit::Plain {
        Verdict::NotJudged
    } else if first.range.meets(second.range) {
        Verdict::NoDifferenceShown
    } else if (second.median > first.median) == (unit == Unit::PerSecond) {
        Verdict::Faster
    } else {
        Verdict::Slower
    }
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

fn main_service(
    transactions: &[TransactionFigures],
    pick: fn(&crate::record::Latency) -> u64,
) -> Option<f64> {
    let main = transactions.iter().max_by_key(|one| one.count)?;
    main.service_ns.as_ref().map(|times| pick(times) as f64)
}

fn main_response(
    transactions: &[TransactionFigures],
    pick: fn(&crate::record::Latency) -> u64,
) -> Option<f64> {
    let main = transactions.iter().max_by_key(|one| one.count)?;
    main.response_ns.as_ref().map(|times| pick(times) as f64)
}

fn compare_probes(first: &ProbeRecord, second: &ProbeRecord, unequal: bool) -> Result<Comparison> {
    let mut differences = Vec::new();
    if !first.body.machine.equals(&second.body.machine) {
        let machines = [first, second].map(|probe| probe.body.machine.in_words());
        differences.push(format!("machine ({}) and ({})", machines[0], machines[1]));
    }
    if first.body.label != second.body.label {
        differences.push(format!(
            "length ({} and {})",
            first.body.label, second.body.label
        ));
    }
    let differences = refuse(differences, unequal)?;
    let line_1 = |probe: &ProbeRecord| {
        let line = &probe.body.sync_line;
        spread_of(
            &line.line_1.into_iter().collect::<Vec<_>>(),
            &line.before,
            false,
        )
    };
    let line_max = |probe: &ProbeRecord| {
        let line = &probe.body.sync_line;
        let windows = line
            .method
            .as_deref()
            .zip(line.line_max_outstanding)
            .and_then(|(method, n)| {
                let (_, figures) = probe.cell(method, 4_096, "overwrite", n)?;
                Some(figures.windows.as_slice())
            });
        spread_of(
            &line.line_max.into_iter().collect::<Vec<_>>(),
            windows.unwrap_or(&[]),
            false,
        )
    };
    let rows = vec![
        row("line_1", Unit::PerSecond, line_1(first), line_1(second)),
        row(
            "line_max",
            Unit::PerSecond,
            line_max(first),
            line_max(second),
        ),
    ];
    for probe in [first, second] {
        if probe.body.sync_line.line_1.is_none() {
            let why = "it has no sync line".to_owned();
            return Err(Error::NothingToCompare {
                id: probe.identity.id.clone(),
                why,
            });
        }
    }
    Ok(Comparison {
        titles: [first, second]
            .map(|probe| format!("{} ({})", probe.body.directory, probe.identity.id)),
        differences,
        regression: rows[0].verdict == Verdict::Slower,
        rows,
        basis: "ranges are over the windows within one probe".to_owned(),
    })
}
