//! Checks that refuse a run before it touches a store, and the number of its workers.

use crate::error::Error;
use crate::plan::RunPlan;
use std::time::Duration;
use syncline_contract::{Capabilities, ClientModel, Target, Workload};

/// The shortest interval: with a shorter one, sampling would slow the run down.
const INTERVAL_MIN: Duration = Duration::from_millis(10);

/// The most clients: each takes a few KiB for histograms and for its transaction in flight, and a million of
/// them still fit into a machine's memory.
pub const CLIENTS_MAX: usize = 1_000_000;

/// The most arrivals a second: arrivals without a free client are counted one by one, also after the end.
const RATE_MAX: f64 = 1e8;

/// The number of workers, if target, workload and plan fit each other.
pub(crate) fn admit<T: Target, W: Workload>(
    target: &T,
    workload: &W,
    plan: &RunPlan,
) -> Result<usize, Error> {
    sane(plan).map_err(Error::Plan)?;
    let can = target.capabilities();
    let limits = Limits {
        clients_max_reason: target.clients_max_reason(),
        read_only_reason: target.read_only_reason(),
    };
    let lacks = lacks(&can, limits, workload, plan);
    let workers = workers(&can, plan);
    match (lacks, workers) {
        (None, Ok(workers)) => Ok(workers),
        (Some(why), _) | (None, Err(why)) => {
            Err(Error::Refused { target: target.name(), workload: workload.name().to_owned(), why })
        }
    }
}

fn sane(plan: &RunPlan) -> Result<(), String> {
    let refuse = |why: &str| Err(why.to_owned());
    if plan.clients == 0 {
        return refuse("--clients: a run needs at least one client");
    }
    if plan.clients > CLIENTS_MAX {
        return refuse("--clients: a run has at most 1000000 clients");
    }
    if plan.workers == Some(0) {
        return refuse("--workers: a run needs at least one worker");
    }
    if plan.duration.is_none() && plan.transactions.is_none() {
        return refuse("a run needs an end: give --duration, --transactions or both");
    }
    if plan.duration == Some(Duration::ZERO) {
        return refuse("--duration: the duration must be longer than zero");
    }
    if plan.transactions == Some(0) {
        return refuse("--transactions: the number of transactions must be above zero");
    }
    let each = plan.transactions_each;
    if each.is_some_and(|each| plan.transactions != each.checked_mul(plan.clients as u64)) {
        return refuse("--transactions must be the transactions per client times the clients");
    }
    if plan.interval < INTERVAL_MIN {
        return refuse("--interval: the interval must be at least 10 ms");
    }
    if let Some(rate) = plan.arrival.rate_per_s()
        && !(rate.is_finite() && rate > 0.0)
    {
        return refuse("--rate: the number of arrivals a second must be above zero");
    }
    if plan.arrival.rate_per_s() > Some(RATE_MAX) {
        return refuse("--rate: a run has at most 100000000 arrivals a second");
    }
    Ok(())
}

/// The limits that a store reports.
struct Limits {
    clients_max_reason: Option<String>,
    read_only_reason: Option<String>,
}

fn lacks<W: Workload>(
    can: &Capabilities,
    limits: Limits,
    workload: &W,
    plan: &RunPlan,
) -> Option<String> {
    if let Some(most) = can.clients_max
        && plan.clients > most
    {
        let requested = plan.clients;
        let reason = limits.clients_max_reason;
        let reason = reason.map_or_else(String::new, |why| format!(": {why}"));
        return Some(format!(
            "it takes at most {most} clients, but --clients is {requested}{reason}"
        ));
    }
    let loads = workload.loads().iter().any(|load| load.units > 0);
    if loads && can.keeps_rows && !can.loads {
        return Some(
            "the workload starts from loaded rows, and the store cannot load any".to_owned(),
        );
    }
    // Whether a user's statement writes is unknown; the server will refuse it if it must.
    let operations = workload.plan().operations();
    let writes = !plan.reuse || operations.iter().any(|one| one.action.writes());
    if let Some(why) = limits.read_only_reason.filter(|_| writes) {
        return Some(why);
    }
    if plan.reuse && !can.reopens {
        return Some("--reuse: this store cannot keep its rows for a later run".to_owned());
    }
    let other_rows = workload.leaves_other_rows() && !plan.consume_rows;
    // A workload without its own tables runs on whatever the store contains.
    let unknown = workload.loaded_as().is_none() && !workload.plan().tables().is_empty();
    if plan.reuse && (unknown || other_rows) {
        return Some(
            "--reuse: the workload cannot start from the rows of an earlier run".to_owned(),
        );
    }
    if plan.pipeline == Some(true) && !can.pipelines {
        return Some(
            "--pipeline yes: the store takes one call at a time, so statements cannot share a round trip"
                .to_owned(),
        );
    }
    workload.plan().refusal(can)
}

fn workers(can: &Capabilities, plan: &RunPlan) -> Result<usize, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = can.workers_max.unwrap_or(usize::MAX);
    if let Some(requested) = plan.workers
        && requested > most
    {
        return Err(format!("it takes at most {most} workers, but --workers is {requested}"));
    }
    match (can.client_model, plan.workers) {
        (ClientModel::Threads, Some(requested)) if requested != plan.clients => Err(format!(
            "it blocks its caller, so {} clients need as many workers, but --workers is {requested}",
            plan.clients
        )),
        (ClientModel::Threads, _) if plan.clients > most => Err(format!(
            "it takes at most {most} workers, one per client, but --clients is {}",
            plan.clients
        )),
        (ClientModel::Threads, _) => Ok(plan.clients),
        (ClientModel::Futures | ClientModel::Queue, requested) => {
            Ok(requested.unwrap_or(cores).min(most).min(plan.clients))
        }
    }
}
