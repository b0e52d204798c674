//! The laboratory's own cost per transaction, measured with the same workload on a target that does nothing.

use crate::coordinate::run::run;
use crate::error::Error;
use crate::plan::{Arrival, RunPlan};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use syncline_contract::{Target, Workload};

/// The laboratory's own cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Processor time of a worker per transaction, in nanoseconds.
    pub cpu_ns_per_transaction: f64,
    /// Transactions a second that one worker drives.
    pub throughput_per_s: f64,
}

/// Measures the laboratory's own cost: one worker with as many clients as a worker of the plan would drive,
/// in a closed loop without waits, with the plan's seed and timing of operations, and without the profiler.
/// `idle` is a target that answers at once (the null target).
pub fn calibrate<T: Target, W: Workload>(
    idle: &T,
    workload: &W,
    plan: &RunPlan,
    span: Duration,
    stop: &AtomicBool,
) -> Result<Calibration, Error> {
    let workers = plan.workers.unwrap_or(1).max(1);
    let plan = RunPlan {
        clients: plan.clients.div_ceil(workers),
        workers: Some(1),
        duration: Some(span),
        transactions: None,
        transactions_each: None,
        warm_up: span / 4,
        drain: span,
        arrival: Arrival::Closed,
        // A client that thinks for longer than the span would not end a single transaction.
        waits: false,
        reuse: false,
        consume_rows: false,
        profiler: None,
        overhead_test: false,
        interval: span.max(Duration::from_millis(10)),
        laboratory_cpu_ns: None,
        line_max_per_s: None,
        ..plan.clone()
    };
    let result = run(idle, workload, &plan, stop, &())?;
    let cpu_ns_per_transaction = result
        .client_cpu_ns_per_transaction
        .ok_or_else(|| Error::Plan("the calibration ended no transaction".to_owned()))?;
    Ok(Calibration { cpu_ns_per_transaction, throughput_per_s: result.throughput_per_s })
}
