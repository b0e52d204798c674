//! Converts the facts fixed before a run to the record's plan, workload, target, machine and device.

use super::from_run::{RunInputs, finite};
use crate as runner;
use std::time::Duration;
use syncline_contract::LogLocation;
use syncline_record::{
    Device, DiskSpace, Interval, Machine, OperationStatements, Plan, REMOVED, Setting, Statements,
    Target, Workload,
};

pub(super) fn plan(plan: &runner::RunPlan, clients: usize, given: &RunInputs) -> Plan {
    let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    Plan {
        clients: clients as u64,
        workers: plan.workers.map(|workers| workers as u64),
        duration_ns: plan.duration.map(nanos),
        transactions: plan.transactions,
        warm_up_ns: nanos(plan.warm_up),
        drain_ns: nanos(plan.drain),
        arrival: plan.arrival.word().to_owned(),
        rate_per_s: finite(plan.arrival.rate_per_s()),
        retries: u64::from(plan.retries),
        seed: plan.seed,
        pin: plan.pin.iter().map(|cpu| *cpu as u64).collect(),
        operations: plan.operations,
        looks_per_s: plan.profiler.as_ref().map(|meter| u64::from(meter.samples_per_s)),
        unmetered_beside: Some(plan.overhead_test),
        pipeline: plan.pipeline,
        connects_each: Some(plan.connects_each),
        transactions_each: plan.transactions_each,
        skip_after_ns: plan.skip_after.map(nanos),
        retry_within_ns: plan.retry_within.map(nanos),
        goes_on_after_errors: Some(plan.continue_on_error),
        reuse: Some(plan.reuse),
        interval_ns: nanos(plan.interval),
        repeat: given.repeat,
        interleave: given.interleave,
    }
}

pub(super) fn workload(facts: &runner::WorkloadFacts, seed: u64) -> Workload {
    Workload {
        name: facts.name.clone(),
        options: facts.options.iter().cloned().collect(),
        seed,
        rows_kept: Some(facts.rows_kept),
        unit: facts.unit.name.to_owned(),
        unit_per_transaction: facts.unit.per_transaction,
        notice: facts.notice.clone(),
    }
}

/// The target; under an alias, without anything that reveals the product.
pub(super) fn target(facts: &runner::TargetFacts, given: &RunInputs) -> Target {
    let full = of_product(facts, given);
    match &given.alias {
        None => full,
        Some(alias) => Target {
            name: alias.clone(),
            url: None,
            product: Some(alias.clone()),
            version: None,
            evidence: Some("read back from the store, whose name is withheld".to_owned()),
            settings: Vec::new(),
            log_directory: full.log_directory.as_ref().map(|_| REMOVED.to_owned()),
            disk_drops_syncs: full.disk_drops_syncs.as_ref().map(|_| REMOVED.to_owned()),
            disk_space: without_directories(&full.disk_space),
            statements: None,
            statements_reason: Some(
                "they would name the product, whose name is withheld".to_owned(),
            ),
            ..full
        },
    }
}

fn of_product(facts: &runner::TargetFacts, given: &RunInputs) -> Target {
    let (url, dropped_syncs) = (given.url.clone(), given.dropped_syncs.as_ref());
    let evidence = &facts.reported_settings;
    let (log_directory, log_reason) = match &facts.log_location {
        LogLocation::Directory(path) => (Some(path.display().to_string()), None),
        LogLocation::Nowhere(reason) => (None, Some(reason.clone())),
    };
    Target {
        name: facts.name.clone(),
        url,
        product: Some(evidence.product.clone()),
        version: Some(evidence.version.clone()),
        durability: Some(evidence.durability.word().to_owned()),
        evidence: Some(evidence.durability_evidence.clone()),
        isolation: Some(evidence.isolation.words().to_owned()),
        settings: evidence
            .settings
            .iter()
            .map(|setting| Setting {
                name: setting.name.clone(),
                value: setting.value.clone(),
                said_by: setting.source.clone(),
            })
            .collect(),
        log_directory,
        log_reason,
        disk_drops_syncs: dropped_syncs.map(|dropped| dropped.evidence.clone()),
        disk_space: facts.disk_space.iter().flatten().map(disk_space).collect(),
        disk_space_reason: facts.disk_space.as_ref().err().cloned(),
        statements: statements(&facts.dry_run),
        statements_reason: (facts.dry_run == runner::DryRunPlan::default())
            .then(|| NO_STATEMENTS.to_owned()),
    }
}

/// Why a record has no statements for a store.
const NO_STATEMENTS: &str =
    "the store runs in this process, which calls its functions and reports no statements";

fn without_directories(known: &[DiskSpace]) -> Vec<DiskSpace> {
    let without = |space: &DiskSpace| DiskSpace { directory: REMOVED.to_owned(), ..space.clone() };
    known.iter().map(without).collect()
}

fn disk_space(reserve: &runner::DiskReserve) -> DiskSpace {
    DiskSpace {
        directory: reserve.directory.display().to_string(),
        bytes: reserve.bytes,
        free_bytes: reserve.free_bytes,
        reserve_bytes: reserve.reserve_bytes,
        load_bytes: reserve.load_bytes,
    }
}

fn statements(intent: &runner::DryRunPlan) -> Option<Statements> {
    let operations = intent.operations.iter();
    let has_any = *intent != runner::DryRunPlan::default();
    has_any.then(|| Statements {
        makes: intent.makes.clone(),
        transactions: intent.transactions.clone(),
        settings: intent.settings.clone(),
        operations: operations
            .map(|operation| OperationStatements {
                name: operation.name.to_string(),
                statements: operation.statements.clone(),
            })
            .collect(),
        removes: intent.removes.clone(),
    })
}

pub(super) fn device(head: &runner::RunHead, intervals: &[Interval]) -> Device {
    match &head.device {
        Ok(place) => Device {
            name: Some(place.device.clone()),
            model: place.model.clone(),
            queue_length: mean(intervals, |interval| interval.queue_length),
            reason: None,
        },
        Err(reason) => {
            Device { name: None, model: None, queue_length: None, reason: Some(reason.clone()) }
        }
    }
}

pub(super) fn measured_machine(machine: Machine, intervals: &[Interval]) -> Machine {
    Machine {
        steal: mean(intervals, |interval| interval.steal),
        foreign_cpus: mean(intervals, |interval| interval.foreign_cpus),
        pressure_cpu: mean(intervals, |interval| interval.pressure_cpu),
        pressure_io: mean(intervals, |interval| interval.pressure_io),
        ..machine
    }
}

/// The mean over the intervals that know the figure, weighted by their length.
fn mean(intervals: &[Interval], figure: impl Fn(&Interval) -> Option<f64>) -> Option<f64> {
    let (mut sum, mut seconds) = (0.0, 0.0);
    for interval in intervals {
        if let Some(value) = figure(interval) {
            sum += value * interval.seconds();
            seconds += interval.seconds();
        }
    }
    finite(Some(sum / seconds))
}
