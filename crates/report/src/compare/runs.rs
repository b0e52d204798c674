//! Compares two runs.

use super::comparison::{
    Allowed, CONFIDENCE, Comparison, Row, Unit, Verdict, refuse, row, too_short, whole_row,
};
use super::verdict::{
    Basis, CHANCE_MOST, LEAST_EFFECT, LEAST_EFFECT_OF_COUNTS, LEAST_EFFECT_OF_ONE,
    REPETITIONS_LEAST, Sample,
};
use crate::{Error, Result};
use syncline_record::units;
use syncline_record::{
    Counted, DISTURBING_CPUS, DISTURBING_STEAL, Interval, Latency, Machine, PerCommit, Plan,
    Record, Repetition, RunRecord, TransactionFigures, stats,
};

/// The runs of one side: of one setting, so that all their repetitions are repetitions of it.
pub(super) struct Side<'r>(Vec<&'r RunRecord>);

impl<'r> Side<'r> {
    /// The runs of these records; `None` if there are none, or if some are of another kind.
    pub(super) fn of(records: &'r [Record]) -> Option<Side<'r>> {
        let runs = records.iter().map(Record::as_run).collect::<Option<Vec<_>>>()?;
        (!runs.is_empty()).then_some(Side(runs))
    }

    /// The first run; its setting is that of all.
    fn one(&self) -> &'r RunRecord {
        self.0[0]
    }

    fn title(&self) -> String {
        let one = self.one();
        match self.0.len() {
            1 => format!("{} ({})", one.title(), one.identity.id),
            count => format!("{}, {count} runs", one.title()),
        }
    }

    fn repetitions(&self) -> impl Iterator<Item = &'r Repetition> {
        self.0.iter().flat_map(|run| &run.end.repetitions)
    }

    fn disturbance(&self) -> f64 {
        let each = self.0.iter().map(|run| disturbance(&run.head.machine));
        each.fold(0.0, f64::max)
    }

    /// The windows of all runs, one after another; `None` if a run has none.
    fn windows(&self, of: OfInterval) -> Option<Vec<f64>> {
        let each = self.0.iter().map(|run| windows(&run.intervals, of));
        Some(each.collect::<Option<Vec<_>>>()?.concat())
    }
}

pub(super) fn compare_runs(
    first: &Side<'_>,
    second: &Side<'_>,
    allowed: Allowed,
) -> Result<Comparison> {
    for (side, name) in [(first, 'A'), (second, 'B')] {
        for run in &side.0 {
            if run.end.outcomes.committed == 0 {
                let why = "it has no committed transactions".to_owned();
                return Err(Error::NothingToCompare { id: run.identity.id.clone(), why });
            }
            let apart = run_differences(side.one(), run, Allowed::Nothing);
            if !apart.is_empty() && allowed != Allowed::Everything {
                let differences = format!("the runs of {name} differ: {}", apart.join(", "));
                return Err(Error::NotAlike { differences });
            }
        }
    }
    let differences = run_differences(first.one(), second.one(), allowed);
    let differences = refuse(differences, allowed)?;
    let repetitions = [first, second].map(|side| side.repetitions().count());
    let by = Basis::of(repetitions);
    let open = [first, second].map(|side| side.one().head.plan.arrival != "closed");
    let rows = run_rows(first, second, by, open.contains(&true));
    let counts = if open == [true, true] { "response time p99" } else { "throughput" };
    let deciding = rows.iter().find(|row| row.name == counts);
    let deciding = deciding.map_or(Verdict::NotJudged, |row| row.verdict);
    Ok(Comparison {
        titles: [first, second].map(Side::title),
        differences,
        rows,
        basis: basis(repetitions, by, [first, second]),
        regression: deciding == Verdict::Slower,
        worse: None,
        too_short: if by == Basis::Windows && deciding == Verdict::NotJudged {
            Some(lacks_windows(counts, [first, second]))
        } else {
            too_short(
                deciding,
                "run each for 10 s or longer, or better repeat them in turns: --repeat 5 --interleave",
            )
        },
    })
}

fn run_differences(first: &RunRecord, second: &RunRecord, allowed: Allowed) -> Vec<String> {
    let word = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    let (a, b) = (&first.head, &second.head);
    let mut differences = Vec::new();
    let mut differ = |what: &str, one: String, other: String| {
        if one != other {
            differences.push(format!("{what} {one} and {other}"));
        }
    };
    differ("durability", word(&a.target.durability), word(&b.target.durability));
    differ(
        "disk below the log",
        a.target.disk_durability().to_owned(),
        b.target.disk_durability().to_owned(),
    );
    differ("workload", a.workload.name.clone(), b.workload.name.clone());
    let options = |run: &RunRecord| {
        let options = &run.head.workload.options;
        let texts: Vec<_> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("({})", texts.join(" "))
    };
    differ("workload options", options(first), options(second));
    differ("client model", first.client_model().to_owned(), second.client_model().to_owned());
    differ("clients", a.plan.clients.to_string(), b.plan.clients.to_string());
    let workers = |run: &RunRecord| {
        let client = run.end.client.as_ref();
        client.map_or_else(|| "unknown".to_owned(), |one| one.workers.to_string())
    };
    let (one, other) = (workers(first), workers(second));
    if one != other && a.plan.clients == b.plan.clients {
        let chosen = [a, b].iter().any(|head| head.plan.workers.is_none());
        let fix = if chosen { " (--workers fixes it)" } else { "" };
        differ("workers", one, format!("{other}{fix}"));
    }
    differ("length", length(&a.plan), length(&b.plan));
    if allowed != Allowed::Versions {
        let versions = [first, second].map(|run| run.identity.syncline.clone());
        let [one, other] = versions;
        differ("version of syncline", one, other);
    }
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

/// Why single runs of an open loop have no verdict if one of them is an older record.
fn lacks_windows(counts: &str, sides: [&Side<'_>; 2]) -> String {
    let response: OfInterval = |one| one.response_p99_ns.map(|ns| ns as f64);
    let lacks = |run: &&RunRecord| windows(&run.intervals, response).is_none();
    let runs = sides.into_iter().flat_map(|side| side.0.iter().copied());
    let old: Vec<&str> = runs.filter(lacks).map(|run| &*run.identity.id).collect();
    format!(
        "no verdict on {counts}: {} has no such figure per second, like all records of older versions; \
         run it again",
        old.join(" and of ")
    )
}

/// The length of a plan's measured phase, by time, by count, or by whichever ends first, and of its warm-up.
fn length(plan: &Plan) -> String {
    let time = plan.duration_ns.map(units::span_ns);
    let count = plan.transactions.map(|count| format!("{count} transactions"));
    let ends: Vec<String> = time.into_iter().chain(count).collect();
    let warm_up = units::span_ns(plan.warm_up_ns);
    format!("{} after {warm_up}", ends.join(" or "))
}

type OfRepetition = fn(&Repetition) -> Option<f64>;
type OfInterval = fn(&Interval) -> Option<f64>;

/// A figure of a run: its name, its name in rules, its unit, how to read it from a repetition, and from an
/// interval if intervals have it.
type Figure = (&'static str, &'static str, Unit, OfRepetition, Option<OfInterval>);

const FIGURES: [Figure; 5] = [
    (
        "throughput",
        "throughput_per_s",
        Unit::PerSecond,
        |one| Some(one.throughput_per_s),
        Some(|one| Some(one.throughput_per_s())),
    ),
    (
        "service time p50",
        "service_ns.p50",
        Unit::Nanoseconds,
        |one| main_service(&one.transactions, |times| times.p50),
        Some(|one| one.service_p50_ns.map(|ns| ns as f64)),
    ),
    (
        "service time p99",
        "service_ns.p99",
        Unit::Nanoseconds,
        |one| main_service(&one.transactions, |times| times.p99),
        Some(|one| one.service_p99_ns.map(|ns| ns as f64)),
    ),
    (
        "response time p50",
        "response_ns.p50",
        Unit::Nanoseconds,
        |one| main_response(&one.transactions, |times| times.p50),
        Some(|one| one.response_p50_ns.map(|ns| ns as f64)),
    ),
    (
        "response time p99",
        "response_ns.p99",
        Unit::Nanoseconds,
        |one| main_response(&one.transactions, |times| times.p99),
        Some(|one| one.response_p99_ns.map(|ns| ns as f64)),
    ),
];

fn run_rows(first: &Side<'_>, second: &Side<'_>, by: Basis, open: bool) -> Vec<Row> {
    let sample = |side: &Side<'_>, repetitions: Vec<f64>, windows| Sample {
        repetitions,
        windows,
        disturbance: side.disturbance(),
    };
    let syncs = |side: &Side<'_>| {
        let syncs = side.repetitions().filter_map(|one| one.commits_per_sync.map(f64::recip));
        sample(side, syncs.collect(), None)
    };
    let syncs = row(SYNCS, Unit::Count, by, &syncs(first), &syncs(second));
    // A run has these once, so they are judged only if each side has several runs.
    let costs = COSTS.into_iter().map(|(name, key, unit, of)| {
        let values = |side: &Side<'_>| -> Vec<f64> {
            side.0.iter().filter_map(|run| of(&run.end.per_commit).value).collect()
        };
        let sides = [first, second].map(|side| (side, values(side)));
        if sides.iter().all(|(_, values)| values.len() >= REPETITIONS_LEAST) {
            let [one, other] = sides.map(|(side, values)| sample(side, values, None));
            return row((name, key), unit, Basis::Repetitions, &one, &other);
        }
        let [one, other] = sides.map(|(_, values)| stats::median(&values));
        whole_row((name, key), unit, one, other)
    });
    let figures = FIGURES.into_iter();
    // In a closed loop a transaction is due when it starts, so its response times would repeat the service
    // times.
    let judged = figures.filter(|(name, ..)| open || !name.starts_with("response")).map(
        |(name, key, unit, of_repetition, of_interval)| {
            let sample = |side: &Side<'_>| {
                let repetitions = side.repetitions().filter_map(of_repetition).collect();
                sample(side, repetitions, of_interval.and_then(|of| side.windows(of)))
            };
            row((name, key), unit, by, &sample(first), &sample(second))
        },
    );
    [syncs].into_iter().chain(costs).chain(judged).collect()
}

type OfCommit = fn(&PerCommit) -> &Counted;

/// Syncs of a commit, of which a record holds one figure per repetition.
const SYNCS: (&str, &str) = ("syncs per commit", "per_commit.syncs");

/// The other costs of a commit, of which a record holds one figure: name, name in rules, unit, and where it
/// is.
const COSTS: [(&str, &str, Unit, OfCommit); 7] = [
    ("device bytes per commit", "per_commit.device_bytes", Unit::Bytes, |per| &per.device_bytes),
    ("device writes per commit", "per_commit.device_writes", Unit::Count, |per| &per.device_writes),
    ("device flushes per commit", "per_commit.flushes", Unit::Count, |per| &per.flushes),
    ("system calls per commit", "per_commit.system_calls", Unit::Count, |per| &per.system_calls),
    ("page faults per commit", "per_commit.page_faults", Unit::Count, |per| &per.page_faults),
    ("client CPU per commit", "per_commit.client_cpu_ns", Unit::CpuTime, |per| &per.client_cpu_ns),
    ("store CPU per commit", "per_commit.target_cpu_ns", Unit::CpuTime, |per| &per.target_cpu_ns),
];

/// The names of all figures in rules.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    let costs = COSTS.iter().map(|(_, key, ..)| *key);
    let figures = FIGURES.iter().map(|(_, key, ..)| *key);
    [SYNCS.1].into_iter().chain(costs).chain(figures)
}

/// The part of the processors that others used; zero below the load at which a run warns of it.
fn disturbance(machine: &Machine) -> f64 {
    let others = machine.foreign_cpus.filter(|cpus| *cpus >= DISTURBING_CPUS);
    let cores = machine.cores.unwrap_or(1).max(1) as f64;
    let steal = machine.steal.filter(|share| *share >= DISTURBING_STEAL);
    (others.unwrap_or(0.0) / cores + steal.unwrap_or(0.0)).clamp(0.0, 1.0)
}

/// A window may be this much shorter than a second and still count as one.
const WINDOW_S: f64 = 0.95;

/// A figure in windows of about a second: the mean of successive intervals of a repetition, weighted by their
/// lengths. A remainder shorter than a window is dropped. `None` if no interval with commits has the figure:
/// older records lack response times of intervals.
fn windows(intervals: &[Interval], of: OfInterval) -> Option<Vec<f64>> {
    let mut committed = intervals.iter().filter(|one| one.committed > 0).peekable();
    if committed.peek().is_some() && committed.all(|one| of(one).is_none()) {
        return None;
    }
    let mut windows = Vec::new();
    let (mut repetition, mut sum, mut seconds, mut known) = (0, 0.0, 0.0, 0.0);
    for interval in intervals {
        if interval.repetition != repetition {
            (repetition, sum, seconds, known) = (interval.repetition, 0.0, 0.0, 0.0);
        }
        seconds += interval.seconds();
        if let Some(value) = of(interval) {
            sum += value * interval.seconds();
            known += interval.seconds();
        }
        if seconds >= WINDOW_S {
            windows.extend((known > 0.0).then(|| sum / known));
            (sum, seconds, known) = (0.0, 0.0, 0.0);
        }
    }
    Some(windows)
}

fn basis(repetitions: [usize; 2], by: Basis, sides: [&Side<'_>; 2]) -> String {
    let percent = |part: f64| format!("{:.0} %", part * 100.0);
    if by == Basis::Windows {
        let others = sides.map(Side::disturbance);
        let others = others[0].max(others[1]);
        let effect = percent(LEAST_EFFECT_OF_ONE + others);
        let busy = if others > 0.0 {
            format!(" (others used {} of the processors)", percent(others))
        } else {
            String::new()
        };
        return format!(
            "judged by fifths of the measured time, which do not show how runs differ from one another; \
             differences below {effect}{busy} are not judged; repeat with --repeat 5 --interleave"
        );
    }
    let [first, second] = repetitions;
    let (effect, chance) = (percent(LEAST_EFFECT), percent(CHANCE_MOST));
    let (of_counts, confidence) = (percent(LEAST_EFFECT_OF_COUNTS), percent(CONFIDENCE));
    format!(
        "judged by the ranks of {first} and {second} repetitions: the chance of \"slower\" if A and B are \
         identical is at most {chance}; differences below {effect}, and of counts below {of_counts}, are not \
         judged; intervals contain the ratio with a probability of {confidence}"
    )
}

fn main_service(transactions: &[TransactionFigures], pick: fn(&Latency) -> u64) -> Option<f64> {
    let main = transactions.iter().max_by_key(|one| one.count)?;
    main.service_ns.as_ref().map(|times| pick(times) as f64)
}

fn main_response(transactions: &[TransactionFigures], pick: fn(&Latency) -> u64) -> Option<f64> {
    let main = transactions.iter().max_by_key(|one| one.count)?;
    main.response_ns.as_ref().map(|times| pick(times) as f64)
}
