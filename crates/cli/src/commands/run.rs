//! `syncline run WORKLOAD --on TARGET...`.

use super::dry_run::dry_run;
use super::find_max::find_max;
use super::live_option::with_live_option;
use super::metrics_file;
use super::run_matrix::{self, Choice};
use super::series::{self, Series};
use super::sync_lines::SyncLines;
use crate::args::RunArgs;
use crate::interrupt;
use crate::registry::TargetRegistry;
use std::path::Path;
use syncline_console::{CannotRun, LineArg, Outcome, Verdict, terminal};
use syncline_contract::{LogLocation, Target};
use syncline_profile::Map;
use syncline_record::{RunRecord, units};
use syncline_report::{export, table};
use syncline_runner::{TransactionListener, Turns};

/// All targets and choices of a run, and what they share.
#[derive(Debug)]
pub(super) struct RunRequest<'a> {
    pub(super) choices: Vec<Choice>,
    /// A map for the stacks of a profiled store, instead of its product's.
    pub(super) map: Option<Map>,
    pub(super) urls: Vec<String>,
    pub(super) dry_run: bool,
    pub(super) alias: Option<&'a str>,
    pub(super) repeat: usize,
    pub(super) interleave: bool,
    pub(super) line: &'a LineArg,
    /// The directory of the records.
    pub(super) runs: &'a Path,
}

/// Runs a workload on targets and prints the results.
pub(crate) fn run<S: TargetRegistry>(
    workload: &str,
    options: &[(String, String)],
    args: &RunArgs,
    registry: &S,
) -> Outcome {
    if let Some(bound) = &args.find_max {
        return find_max(workload, options, (args, bound), registry);
    }
    let request = RunRequest {
        choices: run_matrix::choose(workload, options, args)?,
        // Read before anything else, so that a bad map costs nothing.
        map: args.meter.read_map()?,
        urls: urls(args, registry)?,
        dry_run: args.dry_run,
        alias: args.alias.as_deref(),
        repeat: args.repeat,
        interleave: args.interleave,
        line: &args.line,
        runs: &args.runs,
    };
    run_with(request, registry, None, |records| show(args, records))
}

/// Runs every choice on every target and returns the records; the listener receives every transaction.
pub(super) fn run_with<S: TargetRegistry>(
    request: RunRequest<'_>,
    registry: &S,
    listener: Option<&dyn TransactionListener>,
    show: impl Fn(&[RunRecord]) -> Result<(), CannotRun>,
) -> Outcome {
    if request.dry_run {
        return dry_run(&request.choices, &request.urls, request.line, registry);
    }
    let RunRequest { choices, map, urls, alias, repeat, interleave, line, runs, .. } = request;
    let log_places = log_places(registry, &urls)?;
    syncline_record::prepare_folder(runs)?;
    let bar = terminal::Progress::of_time(estimate(&choices, &log_places, repeat, line));
    // A compatibility command prints its own tool's progress.
    let bar = match listener {
        Some(_) => bar.without_lines(),
        None => bar,
    };
    let mut lines = SyncLines::before(line, &log_places, &bar)?;
    if interrupt::stopped() {
        return Err(CannotRun::because("stopped before the measurement began"));
    }
    let tenths = u64::try_from(run_matrix::CALIBRATION.as_millis() / 100).unwrap_or(u64::MAX);
    let calibration = bar.part(None, tenths * choices.len() as u64, choices.len() as u64);
    let calibrated = (0..).zip(choices).map(|(done, choice)| {
        calibration.at(done, "calibration: the cost of syncline itself");
        choice.calibrated(registry)
    });
    let choices = calibrated.collect::<Result<Vec<_>, _>>()?;
    drop(calibration);
    let cases = run_matrix::cases(&choices, &urls, &log_places, &lines, alias);
    let series = Series {
        repetitions: repeat,
        turns: if interleave { Turns::Interleaved } else { Turns::InBlocks },
        runs,
        survey: None,
        map,
        first_number: 1,
    };
    let tenths = series::tenths(&cases, repeat);
    let part = bar.part(None, tenths, tenths);
    let result = series.run(registry, &cases, &part, listener);
    drop(part);
    if !result.ran.is_empty() && !interrupt::stopped() {
        lines.after(&bar);
    }
    drop(bar);
    let mut verdict = Verdict::Holds;
    if interrupt::stopped() && result.failed.is_empty() && result.ran.len() < cases.len() {
        terminal::error("stopped before every run had started");
        verdict = Verdict::Partial;
    }
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
    metrics_file::write(|| export::openmetrics(&series::wrapped(&records)));
    show(&records)?;
    for file in files {
        terminal::note(&format!("record: {}", file.display()));
    }
    for record in &records {
        verdict = verdict.and(series::report_verdict(record));
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
        terminal::print(&(syncline_record::json(&records) + "\n"))?;
    } else if !args.json {
        terminal::print_view(|| table::show(&records))?;
    }
    Ok(())
}

pub(super) fn urls<S: TargetRegistry>(
    args: &RunArgs,
    registry: &S,
) -> Result<Vec<String>, CannotRun> {
    match (args.on.is_empty(), registry.own()) {
        (false, _) => Ok(args.on.iter().map(|url| with_live_option(url, args.live)).collect()),
        (true, Some(own)) => Ok(vec![own.to_owned()]),
        (true, None) => Err(CannotRun::because(
            "no target was named: give --on TARGET, such as --on sqlite (see syncline list targets)",
        )),
    }
}

/// Opens each target once, so that errors show before anything runs.
pub(super) fn log_places<S: TargetRegistry>(
    registry: &S,
    urls: &[String],
) -> Result<Vec<LogLocation>, CannotRun> {
    urls.iter().map(|url| registry.open_checked(url).map(|target| target.log_location())).collect()
}

/// Prints the estimated time, and returns it in tenths of a second; 0 if only the transactions determine it.
fn estimate(choices: &[Choice], log_places: &[LogLocation], repeat: usize, line: &LineArg) -> u64 {
    // No sweep changes the durations.
    let (duration, warm_up) = choices.first().map(Choice::spans).unwrap_or_default();
    let one = duration.unwrap_or_default() + warm_up;
    let runs = one.as_secs_f64() * (choices.len() * log_places.len() * repeat) as f64;
    let calibration = run_matrix::CALIBRATION.as_secs_f64() * choices.len() as f64;
    let seconds = runs + SyncLines::seconds(line, log_places) + calibration;
    let open_end = if duration.is_none() { " plus the time of the transactions" } else { "" };
    terminal::note(&format!("about {}{open_end}", units::span(seconds * 1e9)));
    duration.map_or(0, |_| (seconds * 10.0).ceil() as u64)
}
