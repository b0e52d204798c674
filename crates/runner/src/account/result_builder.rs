//! Builds the result of a run from the workers' reports, the samples and the store's answers.

use crate::account::fairness::fairness;
use crate::account::measured::{RunMeasurements, StopCause};
use crate::account::measured_span::{self, Counts, SpanEnd};
use crate::account::per_commit::{count_base, per_commit, workers_cpu_ns};
use crate::account::response_bounds;
use crate::account::result::{
    OperationResult, OutcomeCounts, RunHead, RunResult, StopReason, TransactionResult,
};
use crate::account::sampler::Sampler;
use crate::account::saturation::{SaturationFigures, all_syncs, saturation};
use crate::account::store_counters::{StoreCounter, lock_wait_share};
use crate::account::warning::RunWarning;
use crate::account::warning_rules::warnings;
use crate::account::worker_stats::{TypeStats, WorkerStats, add, distribution, encoded};
use hdrhistogram::Histogram;
use syncline_contract::{Check, Failure, OwnFigure, StoreProcess, Workload};
use syncline_instrument::{Nanos, clock};
use syncline_record::ClientTime;

/// What the store reported before and after the clients ran.
pub(crate) struct Around {
    pub counters: Vec<StoreCounter>,
    pub round_trip_ns: Option<Nanos>,
    pub checks: Vec<Check>,
    pub warnings: Vec<RunWarning>,
}

/// Builds the result.
pub(crate) fn assemble<W: Workload>(
    head: RunHead,
    workload: &W,
    mut measured: RunMeasurements<W>,
    sampler: &Sampler,
    around: Around,
) -> RunResult {
    let operations = head.plan.operations;
    let stats = merged(workload, operations, &measured);
    let mut outcomes = OutcomeCounts::default();
    for kind in &stats.kinds {
        outcomes.merge(&kind.outcomes);
    }
    outcomes.assert_sum();
    let span_end = measured.span_end;
    let counted = |kind: &TypeStats| measured_span::counted(span_end, kind.in_span, kind.started());
    let rated: Vec<Counts> = stats.kinds.iter().map(counted).collect();
    let commits_in_span = rated.iter().map(|kind| kind.committed).sum();
    let seconds = measured.span_ns as f64 / clock::SECOND as f64;
    let ended = measured.ended_in_whole as f64;
    let mut result = RunResult {
        measured_ns: measured.span_ns,
        to_last_end_ns: measured.to_last_end_ns,
        outcomes,
        throughput_per_s: commits_in_span as f64 / seconds,
        arrivals: measured.arrivals,
        transactions: transactions(workload, &stats),
        operations: if operations {
            operation_rows(workload, &stats, head.plan.pipeline == Some(true))
        } else {
            Vec::new()
        },
        count_base: count_base(&measured),
        per_commit: per_commit(&measured, sampler, &around.counters),
        figures: own_figures(workload, &rated, seconds, head.client.clients),
        internals: std::mem::take(&mut measured.internals),
        commit_paths: measured.commit_paths.take(),
        client_cpu_ns_per_transaction: (ended > 0.0).then(|| workers_cpu_ns(&measured) / ended),
        profile: measured.profile.take(),
        profiler_cpu: measured.profiler_cpu,
        overhead_pairs: std::mem::take(&mut measured.overhead_pairs),
        commits_in_span,
        client_time: client_time(&stats, head.client.clients, measured.span_ns),
        commits_late: late(span_end, &stats),
        commits_in_whole: measured.commits_in_whole,
        saturation: saturation(figures(&head, &measured, sampler, &stats, &around)),
        counters: around.counters,
        round_trip_ns: around.round_trip_ns,
        fairness: fairness(&measured.reports),
        intervals: measured.intervals,
        checks: around.checks,
        warnings: Vec::new(),
        stopped_by: stop_reason(workload, measured.stopped_by),
        reconnects: stats.reconnects,
        first_lost: stats.first_lost.clone(),
        head,
    };
    result.checks.extend(response_bounds::judge(workload, &stats));
    result.warnings = warnings(&result);
    result.warnings.extend(around.warnings);
    result
}

fn merged<W: Workload>(
    workload: &W,
    operations: bool,
    measured: &RunMeasurements<W>,
) -> WorkerStats {
    let timed = if operations { workload.plan().operations().len() } else { 0 };
    let mut all = WorkerStats::new(workload.transactions().len(), timed);
    for report in &measured.reports {
        all.merge(&report.stats);
    }
    all
}

fn transactions<W: Workload>(workload: &W, stats: &WorkerStats) -> Vec<TransactionResult> {
    let kinds = workload.transactions().iter().zip(&stats.kinds);
    kinds
        .enumerate()
        .map(|(position, (name, kind))| TransactionResult {
            name: (*name).to_owned(),
            always_writes: workload.always_writes(position),
            outcomes: kind.outcomes,
            service_ns: distribution(&kind.service),
            response_ns: distribution(&kind.response),
            service_histogram: encoded(&kind.service),
            response_histogram: encoded(&kind.response).filter(|_| kind.response != kind.service),
        })
        .collect()
}

/// The clients' time in and between transactions, as shares of the span.
fn client_time(stats: &WorkerStats, clients: usize, span_ns: Nanos) -> ClientTime {
    let all_ns = clients as f64 * span_ns as f64;
    let part = |ns: Nanos| share(ns as f64, all_ns).unwrap_or(0.0);
    ClientTime { in_transactions: part(stats.busy_ns), between: part(stats.between_ns) }
}

/// Commits that are not in the rate because they were acknowledged after the span. A run by count has none:
/// its span ends with its last transaction.
fn late(end: SpanEnd, stats: &WorkerStats) -> u64 {
    match end {
        SpanEnd::Time { .. } => stats.kinds.iter().map(|kind| kind.late).sum(),
        SpanEnd::Count { .. } => 0,
    }
}

/// One row per name. A workload may prepare an operation several times, such as once per column; their times
/// are added.
fn operation_rows<W: Workload>(
    workload: &W,
    stats: &WorkerStats,
    pipelined: bool,
) -> Vec<OperationResult> {
    let plan = workload.plan();
    let rows = plan.operations().iter().zip(&stats.operations);
    let mut named: Vec<(&str, Histogram<u64>)> = Vec::new();
    for (operation, times) in rows {
        match named.iter_mut().find(|(name, _)| *name == operation.name) {
            Some((_, all)) => add(all, times),
            None => named.push((&operation.name, times.clone())),
        }
    }
    let rows = named.iter().map(|(name, times)| OperationResult {
        name: (*name).to_owned(),
        pipelined,
        service_ns: distribution(times),
    });
    rows.collect()
}

/// The workload's own figures, without those that are not finite.
fn own_figures<W: Workload>(
    workload: &W,
    rated: &[Counts],
    seconds: f64,
    clients: usize,
) -> Vec<OwnFigure> {
    let of = |count: fn(&Counts) -> u64| -> Vec<u64> { rated.iter().map(count).collect() };
    let figures = workload.figures(&syncline_contract::Counts {
        seconds,
        clients,
        committed: &of(|counts| counts.committed),
        aborted: &of(|counts| counts.aborted),
    });
    let known = figures.into_iter();
    known.filter(|figure| figure.value.is_finite()).collect()
}

fn figures<W: Workload>(
    head: &RunHead,
    measured: &RunMeasurements<W>,
    sampler: &Sampler,
    stats: &WorkerStats,
    around: &Around,
) -> SaturationFigures {
    let (before, now) = &measured.span;
    let machine = sampler.between(before, now);
    let seconds = now.at.saturating_sub(before.at) as f64 / clock::SECOND as f64;
    let a_second = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
    let wall_ns: u64 = measured.reports.iter().map(|report| report.wall_ns).sum();
    let cpu_ns = workers_cpu_ns(measured);
    let disk = before.block.zip(now.block);
    let calls_per_s = now.calls_since(before).and_then(|calls| a_second(calls.syncs));
    let written = now.synced_writes.zip(before.synced_writes);
    let synced_writes_per_s =
        written.and_then(|(now, before)| a_second(now.saturating_sub(before)));
    let syncs_per_s = all_syncs(calls_per_s, synced_writes_per_s);
    SaturationFigures {
        workers_busy: share(cpu_ns, wall_ns as f64),
        laboratory_share: match sampler.process() {
            // If the store is another process, all work of the workers is the laboratory's or its client
            // library's.
            StoreProcess::Other(_) | StoreProcess::Unknown(_) => Some(1.0),
            StoreProcess::InProcess => head
                .plan
                .laboratory_cpu_ns
                .and_then(|ns| share(ns * measured.ended_in_whole as f64, cpu_ns)),
        },
        machine_busy: machine.busy,
        conflict_share: share(stats.conflicts as f64, stats.tries as f64),
        line_share: head
            .plan
            .line_max_per_s
            .zip(syncs_per_s)
            .filter(|(line, _)| *line > 0.0)
            .map(|(line, syncs)| syncs / line),
        device_busy: machine.device_busy,
        syncs_per_s,
        synced_writes_per_s,
        flushes_per_s: disk
            .and_then(|(before, now)| now.flushes?.checked_sub(before.flushes?))
            .and_then(a_second),
        read_share: disk.and_then(|(before, now)| {
            let reads = now.reads.saturating_sub(before.reads) as f64;
            let writes = now.writes.saturating_sub(before.writes) as f64;
            share(reads, reads + writes)
        }),
        round_trip_share: around
            .round_trip_ns
            .zip(usual_service_ns(stats))
            .and_then(|(trip, service)| share(trip as f64, service as f64)),
        lock_wait_share: lock_wait_share(&around.counters, measured, head.client.clients),
    }
}

/// The median service time of the type with the most commits.
fn usual_service_ns(stats: &WorkerStats) -> Option<Nanos> {
    let kinds = stats.kinds.iter();
    let most = kinds.max_by_key(|kind| kind.outcomes.committed)?;
    distribution(&most.service).map(|times| times.p50)
}

/// A share from 0 to 1; `None` if the whole is zero.
fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (part / whole).clamp(0.0, 1.0))
}

fn stop_reason<W: Workload>(workload: &W, why: StopCause) -> StopReason {
    match why {
        StopCause::Duration => StopReason::Duration,
        StopCause::Transactions => StopReason::Transactions,
        StopCause::Requested => StopReason::Requested,
        StopCause::DiskSpace(why) => StopReason::DiskSpace { why },
        StopCause::Failure(Failure { kind, operation, what }) => StopReason::Failure {
            kind,
            operation: operation.map(|id| workload.plan().operation(id).name.to_string()),
            what,
        },
    }
}
