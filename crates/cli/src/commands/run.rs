//! `syncline run WORKLOAD --on TARGET...`.

use super::line::Lines;
use super::series::{self, Planned, Series};
use crate::args::{ArrivalArg, RunArgs};
use crate::exit::{CannotRun, Outcome, Verdict};
use crate::shelf::Shelf;
use crate::{interrupt, terminal};
use std::time::Duration;
use syncline_contract::{LogPlace, Target};
use syncline_report::record::{self, RunRecord};
use syncline_report::{table, units};
use syncline_runner::{self as runner, Arrival, RunPlan, Turns};
use syncline_workloads::AnyWorkload;

/// How long the laboratory's own cost is measured.
const CALIBRATION: Duration = Duration::from_millis(200);

/// Runs a workload on targets, and reports.
pub(crate) fn run<S: Shelf>(
    workload: &str,
    options: &[(String, String)],
    args: &RunArgs,
    shelf: &S,
) -> Outcome {
    let workload = AnyWorkload::parse(workload, options)?;
    let urls = urls(args, shelf)?;
    let places = places(shelf, &urls)?;
    estimate(args, &urls, &places);
    let mut lines = Lines::before(&args.line, &places)?;
    let cases = cases(
        args,
        &urls,
        places,
        &lines,
        laboratory(args, &workload, shelf)?,
    );
    let series = Series {
        workload: &workload,
        repetitions: args.repeat,
        turns: if args.interleave {
            Turns::Interleaved
        } else {
            Turns::InBlocks
        },
        runs: &args.runs,
        survey: None,
        first_number: 1,
    };
    let bar = terminal::Progress::new(series::tenths(&cases, args.repeat));
    let result = series.run(shelf, &cases, &bar);
    drop(bar);
    if !result.ran.is_empty() && !interrupt::stopped() {
        lines.after()?;
    }
    let mut verdict = Verdict::Holds;
    let mut records = Vec::new();
    let mut files = Vec::new();
    let mut broken = result.broken_records;
    for ran in result.ran {
        let (record, file) = ran.finish(|place| lines.of(place));
        match file {
            Ok(file) => files.extend(file),
            Err(why) => broken.push(why.0),
        }
        records.push(record);
    }
    show(args, &records)?;
    for file in files {
        terminal::note(&format!("record: {}", file.display()));
    }
    for record in &records {
        verdict = verdict.and(series::judge(record));
    }
    for why in result.failed.into_iter().map(|(_, why)| why).chain(broken) {
        terminal::error(&why);
        verdict = verdict.and(Verdict::Partial);
    }
    Ok(verdict)
}

fn show(args: &RunArgs, records: &[RunRecord]) -> Result<(), CannotRun> {
    let records = series::wrapped(records);
    if args.json && !records.is_empty() {
        terminal::print(&(record::json(&records) + "\n"))?;
    } else if !args.json {
        terminal::print(&table::show(&records))?;
    }
    Ok(())
}

fn urls<S: Shelf>(args: &RunArgs, shelf: &S) -> Result<Vec<String>, CannotRun> {
    match (args.on.is_empty(), shelf.own()) {
        (false, _) => Ok(args.on.clone()),
        (true, Some(own)) => Ok(vec![own.to_owned()]),
        (true, None) => Err(CannotRun::because(
            "no target was named: say --on TARGET, such as --on sqlite (see syncline list targets)",
        )),
    }
}

/// Opens each target once, so that whatever is wrong shows before anything runs.
fn places<S: Shelf>(shelf: &S, urls: &[String]) -> Result<Vec<LogPlace>, CannotRun> {
    urls.iter()
        .map(|url| shelf.open(url).map(|target| target.log_place()))
        .collect()
}

fn estimate(args: &RunArgs, urls: &[String], places: &[LogPlace]) {
    let (duration, _) = spans(args);
    let one = duration.unwrap_or_default() + args.warm_up;
    let runs = one.as_secs_f64() * (urls.len() * args.repeat) as f64;
    let seconds = runs + Lines::seconds(&args.line, places) + CALIBRATION.as_secs_f64();
    let open_end = if duration.is_none() {
        " and as long as the transactions take"
    } else {
        ""
    };
    terminal::note(&format!("about {}{open_end}", units::span(seconds * 1e9)));
}

fn spans(args: &RunArgs) -> (Option<Duration>, Option<u64>) {
    let transactions = args.transactions.map(|count| count as u64);
    let fallback = transactions.is_none().then_some(Duration::from_secs(10));
    (args.duration.or(fallback), transactions)
}

fn cases(
    args: &RunArgs,
    urls: &[String],
    places: Vec<LogPlace>,
    lines: &Lines,
    laboratory_cpu_ns: Option<f64>,
) -> Vec<Planned> {
    let planned = urls
        .iter()
        .zip(places)
        .enumerate()
        .map(|(number, (url, log_place))| {
            let twice = urls.iter().filter(|other| *other == url).count() > 1;
            let name = if twice {
                format!("{url} ({})", number + 1)
            } else {
                url.clone()
            };
            let line_max_per_s = lines.line_max(&log_place);
            let plan = RunPlan {
                laboratory_cpu_ns,
                line_max_per_s,
                ..plan(args)
            };
            Planned {
                name,
                url: url.clone(),
                log_place,
                plan,
            }
        });
    planned.collect()
}

fn plan(args: &RunArgs) -> RunPlan {
    let (duration, transactions) = spans(args);
    RunPlan {
        clients: args.clients,
        workers: args.workers,
        duration,
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
        operations: args.operations,
        ..RunPlan::default()
    }
}

/// The laboratory's own cost a transaction of this workload.
fn laboratory<S: Shelf>(
    args: &RunArgs,
    workload: &AnyWorkload,
    shelf: &S,
) -> Result<Option<f64>, CannotRun> {
    let null = shelf.open("null")?;
    let stop = interrupt::stop_flag();
    match runner::calibrate(&null, workload, &plan(args), CALIBRATION, stop) {
        Ok(calibration) => Ok(Some(calibration.cpu_ns_per_transaction)),
        // A workload that the null target cannot answer goes uncalibrated, and the record says so.
        Err(error) => {
            terminal::warn(&format!("the laboratory's own cost is not known: {error}"));
            Ok(None)
        }
    }
}
