//! Converts the figures of one measured phase to their place in the record.

use super::from_run::{finite, per_commit};
use crate as runner;
use std::collections::BTreeMap;
use syncline_contract::{Cause, FailureKind};
use syncline_record::{
    Latency, OperationFigures, Outcomes, Repetition, Saturation, TransactionFigures,
};

pub(super) fn outcomes(result: &runner::OutcomeCounts) -> Outcomes {
    let causes = |counts: &[u64], names: Vec<&'static str>| -> BTreeMap<String, u64> {
        let named = names.into_iter().map(str::to_owned).zip(counts.iter().copied());
        named.filter(|(_, count)| *count > 0).collect()
    };
    Outcomes {
        attempted: result.attempted,
        committed: result.committed,
        aborted: result.aborted,
        conflicted: result.conflicted.iter().sum(),
        failed: result.failed.iter().sum(),
        unfinished: result.unfinished,
        conflict_causes: causes(
            &result.conflicted,
            Cause::ALL.iter().map(|cause| cause.name()).collect(),
        ),
        failure_causes: causes(
            &result.failed,
            FailureKind::ALL.iter().map(|kind| kind.name()).collect(),
        ),
        retries: result.retries(),
        retry_causes: causes(
            &result.retried,
            Cause::ALL.iter().map(|cause| cause.name()).collect(),
        ),
        committed_after_retry: result.committed_after_retry,
    }
}

pub(super) fn repetition(run: &runner::RunResult) -> Repetition {
    Repetition {
        started_wall_ns: run.head.began_wall_ns,
        measured_ns: run.measured_ns,
        to_last_end_ns: Some(run.to_last_end_ns),
        commits_in_span: Some(run.commits_in_span),
        commits_late: Some(run.commits_late),
        client_time: Some(run.client_time),
        counted: Some(run.count_base),
        outcomes: outcomes(&run.outcomes),
        throughput_per_s: run.throughput_per_s,
        transactions: transactions(run),
        commits_per_sync: per_commit(std::slice::from_ref(run)).commits_per_sync(),
    }
}

pub(super) fn transactions(run: &runner::RunResult) -> Vec<TransactionFigures> {
    run.transactions
        .iter()
        .map(|one| TransactionFigures {
            name: one.name.clone(),
            always_writes: Some(one.always_writes),
            count: one.outcomes.committed,
            outcomes: outcomes(&one.outcomes),
            service_ns: one.service_ns.as_ref().map(latency),
            response_ns: one.response_ns.as_ref().map(latency),
            service_histogram: one.service_histogram.clone(),
            response_histogram: one.response_histogram.clone(),
        })
        .collect()
}

pub(super) fn operation(one: &runner::OperationResult) -> OperationFigures {
    OperationFigures {
        name: one.name.clone(),
        count: one.service_ns.map_or(0, |times| times.count),
        service_ns: one.service_ns.as_ref().map(latency),
        pipelined: one.pipelined,
    }
}

pub(super) fn latency(times: &runner::Distribution) -> Latency {
    Latency {
        p50: times.p50,
        p90: times.p90,
        p99: times.p99,
        p999: times.p999,
        max: times.max,
        mean: times.mean,
    }
}

pub(super) fn saturation(result: &runner::BottleneckAnalysis) -> Saturation {
    let figures = &result.figures;
    let named = [
        ("workers_busy", figures.workers_busy),
        ("laboratory_share", figures.laboratory_share),
        ("machine_busy", figures.machine_busy),
        ("conflict_share", figures.conflict_share),
        ("line_share", figures.line_share),
        ("device_busy", figures.device_busy),
        ("syncs_per_s", figures.syncs_per_s),
        ("synced_writes_per_s", figures.synced_writes_per_s),
        ("flushes_per_s", figures.flushes_per_s),
        ("read_share", figures.read_share),
        ("round_trip_share", figures.round_trip_share),
        ("lock_wait_share", figures.lock_wait_share),
    ];
    Saturation {
        verdict: result.verdict.words().to_owned(),
        reason: result.reason.clone(),
        figures: named.into_iter().map(|(name, value)| (name.to_owned(), finite(value))).collect(),
        thresholds: result
            .thresholds
            .iter()
            .map(|threshold| (threshold.figure.to_owned(), threshold.at_least))
            .collect(),
    }
}
