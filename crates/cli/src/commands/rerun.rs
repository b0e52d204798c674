//! `syncline run --like RECORD`: repeats the run of a record.

use super::run;
use crate::args::{ArrivalArg, LikeArgs, RunArgs};
use crate::registry::TargetRegistry;
use std::time::Duration;
use syncline_console::{CannotRun, LineArg, MeterArgs, Outcome, terminal};
use syncline_profile::Map;
use syncline_record::{Record, RunRecord};

/// Repeats the run of a record and writes a new record.
pub(crate) fn run_again<S: TargetRegistry>(args: &LikeArgs, registry: &S) -> Outcome {
    let old = match syncline_record::read(&syncline_record::named(&args.like)?)? {
        Record::Run(run) => *run,
        Record::Probe(_) | Record::Observation(_) | Record::Verification(_) => {
            let what = "is not the record of a run, which --like expects";
            return Err(CannotRun(format!("{} {what}", args.like.display())));
        }
    };
    let options = old.head.workload.options.iter();
    let options: Vec<_> = options.map(|(name, value)| (name.clone(), value.clone())).collect();
    run(&old.head.workload.name, &options, &again(&old, args)?, registry)
}

/// The profiling options: those typed, otherwise those of the recorded run.
fn profiling_options(old: &RunRecord, args: &LikeArgs) -> Result<MeterArgs, CannotRun> {
    let was = old.head.plan.looks_per_s.map(count);
    let not_profiled = |why| {
        let record = args.like.display();
        CannotRun(format!("{why}: the run of {record} was not profiled"))
    };
    let merged = args.meter.with_defaults(was).map_err(not_profiled)?;
    if merged.map.is_none()
        && let Some(other) = other_map(old)
    {
        terminal::warn(&format!(
            "the recorded run used the map \"{other}\", which the record does not contain; this run uses the \
             built-in map unless --map FILE is given"
        ));
    }
    Ok(merged)
}

/// The map of a record, if it is not the product's built-in map.
fn other_map(old: &RunRecord) -> Option<&str> {
    let used = old.end.cost.as_ref()?.map.as_deref()?;
    let target = &old.head.target;
    let product = target.product.as_deref()?;
    let own = Map::for_product(product, target.version.as_deref().unwrap_or_default());
    let own = own.as_ref().map_or("none", Map::product);
    (used != own).then_some(used)
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn again(old: &RunRecord, args: &LikeArgs) -> Result<RunArgs, CannotRun> {
    let plan = &old.head.plan;
    let url = old.head.target.url.clone();
    Ok(RunArgs {
        on: vec![url.ok_or_else(|| CannotRun::because("the record does not name its target"))?],
        clients: count(plan.clients),
        workers: plan.workers.map(count),
        duration: plan.duration_ns.map(Duration::from_nanos),
        transactions: plan.transactions.map(count),
        warm_up: Duration::from_nanos(plan.warm_up_ns),
        drain: Duration::from_nanos(plan.drain_ns),
        arrival: match plan.arrival.as_str() {
            "fixed" => Some(ArrivalArg::Fixed),
            "poisson" => Some(ArrivalArg::Poisson),
            _ => None,
        },
        rate: plan.rate_per_s,
        retries: u32::try_from(plan.retries).unwrap_or(u32::MAX),
        seed: plan.seed,
        pin: plan.pin.iter().map(|cpu| count(*cpu)).collect(),
        reuse: plan.reuse.unwrap_or(false),
        spends_rows: plan.reuse.unwrap_or(false),
        pipeline: plan.pipeline,
        connects_each: plan.connects_each.unwrap_or(false),
        transactions_each: plan.transactions_each,
        skip_after: plan.skip_after_ns.map(Duration::from_nanos),
        retry_within: plan.retry_within_ns.map(Duration::from_nanos),
        goes_on_after_errors: plan.goes_on_after_errors.unwrap_or(false),
        operations: plan.operations,
        meter: profiling_options(old, args)?,
        meter_overhead: plan.unmetered_beside.unwrap_or(false),
        sweep: Vec::new(),
        find_max: None,
        repeat: count(plan.repeat),
        interleave: plan.interleave,
        line: if old.end.sync_line.line_1.is_some() { LineArg::Brief } else { LineArg::None },
        dry_run: false,
        live: false,
        alias: None,
        runs: args.runs.clone(),
        json: args.json,
    })
}
