//! From what workers and meters left behind to a result.

use crate::account::fairness::fairness;
use crate::account::measured::{Measured, StopCause};
use crate::account::measured_span::{self, Counts, SpanEnd};
use crate::account::per_commit::{count_base, per_commit, workers_cpu_ns};
use crate::account::response_bounds;
use crate::account::result::{
    OperationResult, Outcomes, RunHead, RunResult, StopReason, TransactionResult,
};
use crate::account::sampler::Sampler;
use crate::account::saturation::{SaturationFigures, all_syncs, saturation};
use crate::account::store_counters::{StoreCounter, lock_wait_share};
use crate::account::warning::Warning;
use crate::account::warning_rules::warnings;
use crate::account::worker_stats::{TypeStats, WorkerStats, add, distribution};
use hdrhistogram::Histogram;
use syncline_contract::{Check, Failure, OwnFigure, StoreProcess, Workload};
use syncline_instrument::{Nanos, clock};
use syncline_record::ClientTime;

/// What was asked of the store before and after.
pub(crate) struct Around {
    pub counters: Vec<StoreCounter>,
    pub round_trip_ns: Option<Nanos>,
    pub checks: Vec<Check>,
    pub warnings: Vec<Warning>,
}

/// The result, with what was asked around it.
pub(crate) fn assemble<W: Workload>(
    head: RunHead,
    workload: &W,
    mut measured: Measured<W>,
    sampler: &Sampler,
    around: Around,
) -> RunResult {
    let operations = head.plan.operations;
    let meter = merged(workload, operations, &measured);
    let mut outcomes = Outcomes::default();
    for kind in &meter.kinds {
        outcomes.merge(&kind.outcomes);
    }
    outcomes.assert_sum();
    let span_end = measured.span_end;
    let counted = |kind: &TypeStats| measured_span::counted(span_end, kind.in_span, kind.started());
    let rated: Vec<Counts> = meter.kinds.iter().map(counted).collect();
    let commits_in_span = rated.iter().map(|kind| kind.committed).sum();
    let seconds = measured.span_ns as f64 / clock::SECOND as f64;
    let ended = measured.ended_in_whole as f64;
    let mut result = RunResult {
        measured_ns: measured.span_ns,
        to_last_end_ns: measured.to_last_end_ns,
        outcomes,
        throughput_per_s: commits_in_span as f64 / seconds,
        arrivals: measured.arrivals,
        transactions: transactions(workload, &meter),
        operations: if operations {
            operation_rows(workload, &meter, head.plan.pipeline == Some(true))
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
        spent: measured.spent,
        weighed: std::mem::take(&mut measured.weighed),
        commits_in_span,
        client_time: client_time(&meter, head.client.clients, measured.span_ns),
        commits_late: late(span_end, &meter),
        commits_in_whole: measured.commits_in_whole,
        saturation: saturation(figures(&head, &measured, sampler, &meter, &around)),
        counters: around.counters,
        round_trip_ns: around.round_trip_ns,
        fairness: fairness(&measured.reports),
        intervals: measured.intervals,
        checks: around.checks,
        warnings: Vec::new(),
        stopped_by: stop_reason(workload, measured.stopped_by),
        reconnects: meter.reconnects,
        first_lost: meter.first_lost.clone(),
        head,
    };
    result.checks.extend(response_bounds::judge(workload, &meter));
    result.warnings = warnings(&result);
    result.warnings.extend(around.warnings);
    result
}

fn merged<W: Workload>(workload: &W, operations: bool, measured: &Measured<W>) -> WorkerStats {
    let timed = if operations { workload.plan().operations().len() } else { 0 };
    let mut all = WorkerStats::new(workload.transactions().len(), timed);
    for report in &measured.reports {
        all.merge(&report.meter);
    }
    all
}

fn transactions<W: Workload>(workload: &W, meter: &WorkerStats) -> Vec<TransactionResult> {
    let kinds = workload.transactions().iter().zip(&meter.kinds);
    kinds
        .enumerate()
        .map(|(position, (name, kind))| TransactionResult {
            name: (*name).to_owned(),
            always_writes: workload.always_writes(position),
            outcomes: kind.outcomes,
            service_ns: distribution(&kind.service),
            response_ns: distribution(&kind.response),
        })
        .collect()
}

/// What the clients did with their time.
fn client_time(meter: &WorkerStats, clients: usize, span_ns: Nanos) -> ClientTime {
    let all_ns = clients as f64 * span_ns as f64;
    let part = |ns: Nanos| share(ns as f64, all_ns).unwrap_or(0.0);
    ClientTime { in_transactions: part(meter.busy_ns), between: part(meter.between_ns) }
}

/// Commits that are not in the rate, since they were acknowledged after the span; a run by count ends with
/// its last.
fn late(end: SpanEnd, meter: &WorkerStats) -> u64 {
    match end {
        SpanEnd::Time { .. } => meter.kinds.iter().map(|kind| kind.late).sum(),
        SpanEnd::Count { .. } => 0,
    }
}

/// A row a name: a workload may prepare one operation several times, once a column.
fn operation_rows<W: Workload>(
    workload: &W,
    meter: &WorkerStats,
    pipelined: bool,
) -> Vec<OperationResult> {
    let plan = workload.plan();
    let rows = plan.operations().iter().zip(&meter.operations);
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

/// What the workload is known by; an unknown figure is left out.
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
    measured: &Measured<W>,
    sampler: &Sampler,
    meter: &WorkerStats,
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
            // Whatever a client of another process does is the laboratory's and its library's work.
            StoreProcess::Other(_) | StoreProcess::Unknown(_) => Some(1.0),
            StoreProcess::InProcess => head
                .plan
                .laboratory_cpu_ns
                .and_then(|ns| share(ns * measured.ended_in_whole as f64, cpu_ns)),
        },
        machine_busy: machine.busy,
        conflict_share: share(meter.conflicts as f64, meter.tries as f64),
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
            .zip(usual_service_ns(meter))
            .and_then(|(trip, service)| share(trip as f64, service as f64)),
        lock_wait_share: lock_wait_share(&around.counters, measured, head.client.clients),
    }
}

/// Half of the transactions of the type that committed most took at most this.
fn usual_service_ns(meter: &WorkerStats) -> Option<Nanos> {
    let kinds = meter.kinds.iter();
    let most = kinds.max_by_key(|kind| kind.outcomes.committed)?;
    distribution(&most.service).map(|times| times.p50)
}

/// A part of a whole, 0 to 1; none without a whole.
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
