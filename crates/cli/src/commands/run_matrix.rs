//! The cases of a `run`: every target with every combination of swept values.

use super::series::Planned;
use super::sync_lines::SyncLines;
use crate::args::{ArrivalArg, RunArgs, choices};
use crate::interrupt;
use crate::registry::TargetRegistry;
use std::sync::Arc;
use std::time::Duration;
use syncline_benchmark::Benchmark;
use syncline_console::{CannotRun, terminal, value::yes_or_no};
use syncline_contract::LogLocation;
use syncline_runner::{Arrival, RunPlan};
use syncline_stores::server::redacted_url;
use syncline_workloads::AnyWorkload;

/// How long calibration measures the laboratory's own cost.
pub(super) const CALIBRATION: Duration = Duration::from_millis(200);

/// A workload and a plan, to be run on every target.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// The swept values in words; empty without a sweep.
    label: String,
    workload: Arc<AnyWorkload>,
    plan: RunPlan,
}

/// Every combination of swept values; an invalid one is refused before anything runs.
pub(super) fn choose(
    workload: &str,
    options: &[(String, String)],
    args: &RunArgs,
) -> Result<Vec<Choice>, CannotRun> {
    let all = choices(&args.sweep).into_iter();
    all.map(|chosen| choice(workload, options, args, &chosen)).collect()
}

/// A parsed workload, without a sweep.
pub(super) fn only(workload: AnyWorkload, plan: RunPlan) -> Choice {
    Choice { label: String::new(), workload: Arc::new(workload), plan }
}

fn choice(
    workload: &str,
    options: &[(String, String)],
    args: &RunArgs,
    chosen: &[(String, String)],
) -> Result<Choice, CannotRun> {
    let mut args = args.clone();
    let mut options = options.to_vec();
    for (name, value) in chosen {
        let bad = || CannotRun(format!("--sweep {name}: invalid value \"{value}\""));
        match name.as_str() {
            "clients" => {
                let clients = value.parse().ok().filter(|clients| *clients > 0);
                args.clients = clients.ok_or_else(bad)?;
            }
            "rate" => {
                let rate = value.parse().ok().filter(|rate: &f64| rate.is_finite());
                args.rate = Some(rate.filter(|rate| *rate > 0.0).ok_or_else(bad)?);
            }
            "pipeline" => {
                args.pipeline = Some(yes_or_no(value).map_err(|_error| bad())?);
            }
            "retries" => args.retries = value.parse().map_err(|_error| bad())?,
            _ => {
                options.retain(|(option, _)| option != name);
                options.push((name.clone(), value.clone()));
            }
        }
    }
    let words: Vec<_> = chosen.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(Choice {
        label: words.join(", "),
        workload: Arc::new(AnyWorkload::parse(workload, &options)?),
        plan: plan(&args),
    })
}

impl Choice {
    /// The workload.
    pub(super) fn workload(&self) -> &AnyWorkload {
        &self.workload
    }

    /// The number of clients.
    pub(super) fn clients(&self) -> usize {
        self.plan.clients
    }

    /// The same with other arrivals.
    pub(super) fn arriving(&self, arrival: Arrival) -> Choice {
        Choice { plan: RunPlan { arrival, ..self.plan.clone() }, ..self.clone() }
    }

    /// The measured time, if it is limited, and the warm-up.
    pub(super) fn spans(&self) -> (Option<Duration>, Duration) {
        (self.plan.duration, self.plan.warm_up)
    }

    /// Adds the laboratory's own cost per transaction.
    pub(super) fn calibrated<S: TargetRegistry>(
        mut self,
        registry: &S,
    ) -> Result<Choice, CannotRun> {
        let null = registry.open("null")?;
        let stop = interrupt::stop_flag();
        match null.calibrate(&self.workload, &self.plan, CALIBRATION, stop) {
            Ok(calibration) => {
                self.plan.laboratory_cpu_ns = Some(calibration.cpu_ns_per_transaction);
            }
            // The null target cannot answer every workload; the record then has no calibration.
            Err(error) => {
                terminal::warn(&format!("the cost of syncline itself is unknown: {error}"));
            }
        }
        Ok(self)
    }
}

/// Every target with every choice; the targets of one choice are adjacent.
pub(super) fn cases(
    choices: &[Choice],
    urls: &[String],
    places: &[LogLocation],
    lines: &SyncLines,
    alias: Option<&str>,
) -> Vec<Planned> {
    let mut cases: Vec<Planned> = Vec::new();
    for choice in choices {
        for (url, log_location) in urls.iter().zip(places) {
            let mut name = redacted_url(url);
            if !choice.label.is_empty() {
                name = format!("{name}, {}", choice.label);
            }
            let twice = cases.iter().filter(|case| case.name == name).count();
            if twice > 0 {
                name = format!("{name} ({})", twice + 1);
            }
            cases.push(Planned {
                name,
                url: url.clone(),
                alias: alias.map(str::to_owned),
                workload: Arc::clone(&choice.workload),
                log_location: log_location.clone(),
                plan: RunPlan {
                    line_max_per_s: lines.line_max(log_location),
                    ..choice.plan.clone()
                },
            });
        }
    }
    cases
}

/// The run plan that the arguments describe.
fn plan(args: &RunArgs) -> RunPlan {
    let transactions = args.transactions.map(|count| count as u64);
    let fallback = transactions.is_none().then_some(Duration::from_secs(10));
    RunPlan {
        clients: args.clients,
        workers: args.workers,
        duration: args.duration.or(fallback),
        transactions,
        warm_up: args.warm_up,
        drain: args.drain,
        arrival: match (args.rate, args.arrival) {
            (None, _) => Arrival::Closed,
            (Some(rate_per_s), Some(ArrivalArg::Fixed)) => Arrival::Fixed { rate_per_s },
            (Some(rate_per_s), _) => Arrival::Poisson { rate_per_s },
        },
        retries: args.retries,
        seed: args.seed,
        pin: args.pin.clone(),
        reuse: args.reuse,
        consume_rows: args.spends_rows,
        pipeline: args.pipeline,
        connects_each: args.connects_each,
        transactions_each: args.transactions_each,
        skip_after: args.skip_after,
        retry_within: args.retry_within,
        continue_on_error: args.goes_on_after_errors,
        operations: args.operations,
        profiler: args.meter.options(),
        overhead_test: args.meter_overhead,
        ..RunPlan::default()
    }
}
