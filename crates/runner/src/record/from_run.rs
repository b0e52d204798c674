//! Builds the record of a run.
//!
//! Several repetitions of one setting make one record: outcomes are summed, the throughput is the
//! median, and figures that cannot be averaged (percentiles, saturation, fairness) come from the
//! repetition in the middle, so that they belong together.

use super::commit_path::commit_path;
use super::cost::cost_of;
use super::from_head::{device, measured_machine, plan, target, workload};
use super::from_phase::{operation, outcomes, repetition, saturation, transactions};
use super::licence::licence_notice;
use crate::{self as runner, StopReason};
use syncline_contract::{CheckOutcome, FailureKind};
use syncline_profile::{Map, Profile};
use syncline_record::{
    Arrivals, Check, Client, Counted, CounterFigures, DroppedSyncs, Identity, InternalFigures,
    Interval, Machine, Outcomes, OwnFigure, PerCommit, REMOVED, RunEnd, RunHead, RunRecord,
    SyncLine, Warning, WorkerTrial, note_findings, stats, violations,
};

/// The inputs for a run's record that the runner does not know.
#[derive(Clone, Debug)]
pub struct RunInputs {
    /// The record's identity.
    pub identity: Identity,
    /// The URL the target was opened by, without a password.
    pub url: Option<String>,
    /// The name to use instead of the store's name and version.
    pub alias: Option<String>,
    /// The host's name.
    pub host: Option<String>,
    /// The planned number of measured phases.
    pub repeat: u64,
    /// True if the repetitions of several settings were interleaved.
    pub interleave: bool,
    /// A map for folding the store's stacks, instead of the built-in one.
    pub map: Option<Map>,
    /// A layer below the log directory that is known to drop syncs.
    pub dropped_syncs: Option<DroppedSyncs>,
    /// The sync line of the log directory.
    pub sync_line: SyncLine,
}

impl RunInputs {
    /// A directory, replaced if it may reveal a withheld product.
    fn shareable_directory(&self, directory: Option<String>) -> Option<String> {
        match &self.alias {
            None => directory,
            Some(_) => directory.map(|_| REMOVED.to_owned()),
        }
    }
}

/// The head of a record, as soon as the runner has started.
pub fn head_from_run(head: &runner::RunHead, given: &RunInputs) -> RunHead {
    RunHead {
        plan: plan(&head.plan, head.client.clients, given),
        workload: workload(&head.workload, head.plan.seed),
        target: target(&head.target, given),
        machine: Machine { host: given.host.clone(), ..machine_from(&head.machine) },
    }
}

/// One interval of a repetition, counted from 1.
pub fn interval_from_run(interval: &Interval, repetition: u64) -> Interval {
    Interval { repetition, ..interval.clone() }
}

/// The record of the repetitions of one setting; at least one.
pub fn from_run(runs: &[runner::RunResult], given: &RunInputs) -> RunRecord {
    assert!(!runs.is_empty(), "a record needs at least one repetition");
    let middle = &runs[middle_of(runs)];
    let intervals: Vec<Interval> = runs
        .iter()
        .zip(1..)
        .flat_map(|(run, repetition)| {
            run.intervals.iter().map(move |interval| interval_from_run(interval, repetition))
        })
        .collect();
    let mut head = head_from_run(&middle.head, given);
    head.machine = measured_machine(head.machine, &intervals);
    let end = end_of(runs, middle, given, &intervals);
    let mut record = RunRecord { identity: given.identity.clone(), head, end, intervals };
    note_findings(&mut record);
    let contradictions = violations(&record);
    record.end.warnings.extend(contradictions.into_iter().map(inconsistent));
    record
}

/// The warning about figures that contradict each other.
fn inconsistent(what: String) -> Warning {
    Warning {
        name: "inconsistent".to_owned(),
        what,
        advice: "these figures contradict each other: trust none of them, and report the record as a bug"
            .to_owned(),
    }
}

/// The stacks of the repetition that the record shows, for the file next to the record. `None` without the
/// profiler, and under an alias, because function names reveal the product.
pub fn stacks_of<'a>(runs: &'a [runner::RunResult], given: &RunInputs) -> Option<&'a Profile> {
    let middle = runs.get(middle_of(runs))?;
    middle.profile.as_ref().filter(|_| given.alias.is_none())
}

/// The machine in the record's words.
pub fn machine_from(machine: &runner::Machine) -> Machine {
    Machine {
        cpu: machine.cpu_model.clone(),
        cores: Some(machine.cores as u64),
        smt: machine.smt,
        governor: machine.governor.clone(),
        memory_bytes: machine.memory_bytes,
        kernel: machine.kernel.clone(),
        hypervisor: machine.hypervisor.clone(),
        ..Machine::unknown()
    }
}

fn end_of(
    runs: &[runner::RunResult],
    middle: &runner::RunResult,
    given: &RunInputs,
    intervals: &[Interval],
) -> RunEnd {
    let mut summed = Outcomes::none();
    for run in runs {
        summed.add(&outcomes(&run.outcomes));
    }
    let rates: Vec<f64> = runs.iter().map(|run| run.throughput_per_s).collect();
    let per_commit = per_commit(runs);
    let cost = cost_of(middle, runs, &per_commit, given);
    RunEnd {
        stopped_by: runs.last().map(|run| stopped_by(&run.stopped_by).to_owned()),
        cut_short: cut_short(runs, given.repeat),
        measured_ns: runs.iter().map(|run| run.measured_ns).sum(),
        to_last_end_ns: Some(runs.iter().map(runner::RunResult::elapsed_ns).sum()),
        commits_in_span: Some(runs.iter().map(|run| run.commits_in_span).sum()),
        commits_late: Some(runs.iter().map(|run| run.commits_late).sum()),
        outcomes: summed,
        throughput_per_s: stats::median(&rates).unwrap_or(0.0),
        throughput_range: (runs.len() > 1).then(|| stats::range(&rates)).flatten(),
        repetitions: runs.iter().map(repetition).collect(),
        arrivals: arrivals(runs),
        transactions: transactions(middle),
        operations: middle
            .head
            .plan
            .operations
            .then(|| middle.operations.iter().map(operation).collect()),
        figures: figures(runs),
        internals: internals(middle),
        commit_path: middle.commit_paths.as_ref().and_then(commit_path),
        counters: counters(middle).filter(|_| given.alias.is_none()),
        commits_per_sync_by_store: finite(runner::commits_per_sync(&middle.counters)),
        per_commit,
        sync_line: SyncLine {
            round_trip_ns: runs.iter().filter_map(|run| run.round_trip_ns).min(),
            directory: given.shareable_directory(given.sync_line.directory.clone()),
            ..given.sync_line.clone()
        },
        client: Some(Client {
            model: middle.head.client.model.word().to_owned(),
            workers: middle.head.client.workers as u64,
            cpu_ns_per_transaction: finite(middle.client_cpu_ns_per_transaction),
            workers_tried: workers_tried(middle),
            workers_clear: middle.head.worker_trials.as_ref().map(|one| one.clear),
        }),
        saturation: Some(saturation(&middle.saturation)),
        device: device(&middle.head, intervals),
        fairness: Some(middle.fairness.clone()),
        cost,
        reconnects: runs.iter().map(|run| run.reconnects).sum(),
        checks: checks(runs),
        warnings: warnings(runs)
            .into_iter()
            .chain(notice(middle, given))
            .chain(disk_warning(middle, given))
            .collect(),
    }
}

/// The numbers of workers that were tried.
fn workers_tried(run: &runner::RunResult) -> Option<Vec<WorkerTrial>> {
    let trials = run.head.worker_trials.as_ref()?;
    Some(trials.tried.clone())
}

/// The notice about the product's licence; `None` under an alias.
fn notice(run: &runner::RunResult, given: &RunInputs) -> Option<Warning> {
    let product = &run.head.target.reported_settings.product;
    licence_notice(product).filter(|_| given.alias.is_none())
}

/// The warning about a store that syncs on a disk that drops syncs.
fn disk_warning(run: &runner::RunResult, given: &RunInputs) -> Option<Warning> {
    let dropped = given.dropped_syncs.as_ref()?;
    let evidence = match given.alias {
        None => &dropped.evidence,
        Some(_) => REMOVED,
    };
    let durability = run.head.target.reported_settings.durability;
    let syncs = matches!(durability, runner::Durability::Data | runner::Durability::Full);
    syncs.then(|| Warning {
        name: "disk".to_owned(),
        what: format!(
            "the disk below the log keeps nothing over a power cut, whatever the store syncs: {evidence}"
        ),
        advice: match dropped.remedy.as_ref().filter(|_| given.alias.is_none()) {
            Some(command) => format!("run {command}, or read these rates as those of a disk without syncs"),
            None => "put the log on a disk that keeps it, or read these rates as those of memory".to_owned(),
        },
    })
}

/// The repetition whose throughput is the median, or the lower of the middle two.
fn middle_of(runs: &[runner::RunResult]) -> usize {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by(|a, b| runs[*a].throughput_per_s.total_cmp(&runs[*b].throughput_per_s));
    order[(runs.len() - 1) / 2]
}

fn arrivals(runs: &[runner::RunResult]) -> Option<Arrivals> {
    runs.iter().filter_map(|run| run.arrivals).reduce(Arrivals::plus)
}

/// Each figure of the workload once: the median over the repetitions that have it.
fn figures(runs: &[runner::RunResult]) -> Option<Vec<OwnFigure>> {
    let mut figures: Vec<OwnFigure> = Vec::new();
    for one in runs.iter().flat_map(|run| &run.figures) {
        let (name, unit) = (one.name, one.unit);
        if figures.iter().all(|known| known.name != name) {
            let values = runs.iter().flat_map(|run| &run.figures);
            let values = values.filter(|one| one.name == name).map(|one| one.value);
            figures.extend(stats::median(&values.collect::<Vec<_>>()).map(|value| OwnFigure {
                name: name.to_owned(),
                unit: unit.to_owned(),
                value,
            }));
        }
    }
    (!figures.is_empty()).then_some(figures)
}

fn counters(run: &runner::RunResult) -> Option<Vec<CounterFigures>> {
    let all = counter_figures(&run.counters);
    (!all.is_empty()).then_some(all)
}

/// The store's own counters in the record's words.
pub(super) fn counter_figures(counters: &[runner::StoreCounter]) -> Vec<CounterFigures> {
    let all = counters.iter().map(|counter| CounterFigures {
        meaning: counter.meaning.name().to_owned(),
        name: counter.name.clone(),
        unit: counter.unit.name().to_owned(),
        before: counter.before,
        after: counter.after,
        grown: counter.grown.as_ref().ok().copied(),
        reason: counter.grown.as_ref().err().cloned(),
        said_by: counter.said_by.clone(),
    });
    all.collect()
}

fn internals(run: &runner::RunResult) -> Option<Vec<InternalFigures>> {
    // Counted between the readings at the ends of the span, as syncs are.
    let seconds = run.count_base.span_ns.max(1) as f64 / 1e9;
    let parts = run.internals.iter().map(|part| InternalFigures {
        name: part.name.to_owned(),
        count: part.count(),
        rate_per_s: part.count() as f64 / seconds,
        timed_one_in: part.one_in,
        p50_ns: part.quantile_ns(0.5),
        p90_ns: part.quantile_ns(0.9),
        p99_ns: part.quantile_ns(0.99),
        p999_ns: part.quantile_ns(0.999),
        mean_ns: part.mean_ns(),
    });
    let parts: Vec<_> = parts.collect();
    (!parts.is_empty()).then_some(parts)
}

pub(super) fn per_commit(runs: &[runner::RunResult]) -> PerCommit {
    let of = |pick: fn(&PerCommit) -> &Counted| median_count(runs, pick);
    PerCommit {
        syncs: of(|per| &per.syncs),
        synced_writes: of(|per| &per.synced_writes),
        device_writes: of(|per| &per.device_writes),
        device_bytes: of(|per| &per.device_bytes),
        flushes: of(|per| &per.flushes),
        system_calls: of(|per| &per.system_calls),
        client_cpu_ns: of(|per| &per.client_cpu_ns),
        target_cpu_ns: of(|per| &per.target_cpu_ns),
        page_faults: of(|per| &per.page_faults),
    }
}

/// The median over the repetitions that counted; the first reason if none did.
fn median_count(runs: &[runner::RunResult], pick: fn(&PerCommit) -> &Counted) -> Counted {
    let counts: Vec<_> = runs.iter().map(|run| pick(&run.per_commit)).collect();
    let values: Vec<f64> = counts.iter().filter_map(|count| count.value).collect();
    let known = counts.iter().find(|count| count.value.is_some()).or(counts.first());
    Counted::by(
        stats::median(&values),
        known.map_or_else(|| "not counted".to_owned(), |count| count.source.clone()),
    )
}

/// Each check once, with the worst outcome of all repetitions.
fn checks(runs: &[runner::RunResult]) -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::new();
    for check in runs.iter().flat_map(|run| &run.checks) {
        let (outcome, detail) = match &check.outcome {
            CheckOutcome::Held => ("held", None),
            CheckOutcome::Violated(what) => ("violated", Some(what.clone())),
            CheckOutcome::NotApplicable(why) => ("not applicable", Some(why.clone())),
        };
        let one = Check { name: check.name.clone(), outcome: outcome.to_owned(), detail };
        match checks.iter_mut().find(|known| known.name == one.name) {
            None => checks.push(one),
            Some(known) if badness(&one.outcome) > badness(&known.outcome) => *known = one,
            Some(_) => {}
        }
    }
    checks
}

fn badness(outcome: &str) -> u8 {
    match outcome {
        "held" => 0,
        "not applicable" => 1,
        _ => 2,
    }
}

/// Each sentence once.
fn warnings(runs: &[runner::RunResult]) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    for warning in runs.iter().flat_map(|run| &run.warnings) {
        let one = Warning {
            name: warning.name().to_owned(),
            what: warning.what(),
            advice: warning.advice().to_owned(),
        };
        if !warnings.contains(&one) {
            warnings.push(one);
        }
    }
    warnings
}

fn stopped_by(reason: &StopReason) -> &'static str {
    match reason {
        StopReason::Duration => "duration",
        StopReason::Transactions => "transactions",
        StopReason::Requested => "asked to stop",
        StopReason::DiskSpace { .. } => "disk space",
        StopReason::Failure { .. } => "failure",
    }
}

fn cut_short(runs: &[runner::RunResult], repeat: u64) -> Option<String> {
    let failure = runs.iter().find_map(|run| match &run.stopped_by {
        // An error in a statement or a script is not a failure of the store.
        StopReason::Failure { kind: FailureKind::Statement, what, .. } => Some(what.clone()),
        StopReason::Failure { operation: Some(operation), what, .. } => {
            Some(format!("the store failed in {operation}: {what}"))
        }
        StopReason::Failure { what, .. } => Some(format!("the store failed: {what}")),
        StopReason::Requested => Some("interrupted".to_owned()),
        StopReason::DiskSpace { why } => Some(why.clone()),
        StopReason::Duration | StopReason::Transactions => None,
    });
    let missing = (runs.len() as u64) < repeat;
    failure.or_else(|| missing.then(|| format!("{} of {repeat} repetitions ran", runs.len())))
}

/// The figure, if it is finite.
pub(super) fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}
