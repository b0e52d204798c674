//! `syncline ycsb load|run`: YCSB's two phases on Syncline's stores.
//!
//! A load uses the store's bulk path, keeps the rows at the target's path, and reads every row back. It may
//! load a part of the records (`insertstart`, `insertcount`), and later loads add the other parts; a run
//! requires all of them, or the part that it names. A run uses the rows of an earlier load, or loads them
//! first and keeps them likewise. A mix that inserts leaves other rows than were loaded: it can use the rows
//! of a load, but no run after it can, so that YCSB's own order holds (load, A, B, C, F, D; remove, load, E).
//! Rows that such a mix, or a run on a target without a path, has loaded itself are removed afterwards. The
//! rows of a load are never removed.

use super::store_path::has_path;
use super::ycsb_flags::Flags;
use super::ycsb_lines;
use super::ycsb_properties::ParsedProperties;
use super::ycsb_watch::Watch;
use crate::laboratory::Laboratory;
use crate::laboratory::RunRequest;
use crate::recorded_run;
use crate::ycsb_args::{YcsbArgs, YcsbPhase};
use std::cell::Cell;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;
use syncline_benchmark::Benchmark;
use syncline_console::{CannotRun, Outcome, Verdict, terminal};
use syncline_contract::{CheckOutcome, Target, read_named_text};
use syncline_instrument::clock;
use syncline_runner::{Arrival, Event, Observer, RunPlan};
use syncline_stores::server::redacted_url;
use syncline_workloads::AnyWorkload;
use syncline_workloads::ycsb::RecordRanges;

/// The maximum size of a file of properties or of a histogram, in bytes.
const PROPERTIES_MAX: u64 = 16 << 20;

/// Runs YCSB's command line.
pub(crate) fn ycsb<L: Laboratory>(args: &YcsbArgs, laboratory: &L) -> Outcome {
    let read = |what: &str, path: &str| {
        read_named_text(Path::new(path), PROPERTIES_MAX)
            .map_err(|error| CannotRun(format!("cannot read the {what} {path}: {error}")))
    };
    let flags = Flags::parse(&args.flags, |path| read("properties", path))?;
    if flags.phase.is_some_and(|phase| phase != args.phase) {
        return Err(CannotRun::because(
            "-load means load and -t means run, but the phase before them differs: use only one of them",
        ));
    }
    let mut parsed = ParsedProperties::of(&flags.properties, args.phase == YcsbPhase::Run)?;
    parsed.read_histogram(|path| read("histogram", path))?;
    for warning in flags.warnings.iter().chain(&parsed.warnings) {
        terminal::warn(warning);
    }
    let Some(url) = flags.on.as_deref().or(laboratory.own()) else {
        let what = "no target was named: give --on TARGET, such as --on engine:./store";
        return Err(CannotRun::because(what));
    };
    if flags.meter.meter && args.phase == YcsbPhase::Load {
        return Err(CannotRun::because("--meter does not apply to load: it profiles a run"));
    }
    match args.phase {
        YcsbPhase::Load => load(&flags, &parsed, url, laboratory),
        YcsbPhase::Run => run(&flags, &parsed, url, laboratory),
    }
}

fn run<L: Laboratory>(
    flags: &Flags,
    parsed: &ParsedProperties,
    url: &str,
    laboratory: &L,
) -> Outcome {
    let workload = AnyWorkload::parse("ycsb", &parsed.options)?;
    // A dry run prints the same whether or not rows stay, and it does not connect.
    let stays =
        has_path(url) && !flags.dry_run && laboratory.open_checked(url)?.capabilities().reopens;
    if stays && parsed.changes_rows {
        terminal::note(
            "the mix inserts, so no later run can use the rows of a load here, and rows that the run \
             loads itself is removed",
        );
    }
    let watch = Watch::new(parsed.threads, &workload);
    let request = RunRequest {
        workload,
        plan: plan(flags, parsed, stays),
        url: url.to_owned(),
        meter: flags.meter.clone(),
        line: flags.line.clone(),
        runs: flags.runs.clone(),
        dry_run: flags.dry_run,
    };
    laboratory.run(request, &watch, |records| {
        for warning in records.iter().flat_map(|record| &record.end.warnings) {
            // YCSB's rate includes operations that ended late, and the time that they took.
            if warning.name == "ended_late" {
                continue;
            }
            let advice = match warning.name.as_str() {
                "short_warm_up" => "use -p warmuptime=5 or longer for results you keep",
                _ => &warning.advice,
            };
            terminal::warn(&format!("{}; {advice}", warning.what));
        }
        let lines = records.iter().map(|record| ycsb_lines::of_run(record, &watch, parsed));
        export(parsed, &lines.collect::<String>())?;
        records.iter().try_for_each(recorded_run::print_cost)
    })
}

/// Prints the result lines, or writes them to the export file.
fn export(parsed: &ParsedProperties, lines: &str) -> Result<(), CannotRun> {
    let Some(path) = &parsed.export_file else {
        return terminal::print(lines);
    };
    std::fs::write(path, lines).map_err(|error| {
        CannotRun(format!("the results cannot be written to {path} (exportfile): {error}"))
    })
}

pub(super) fn plan(flags: &Flags, parsed: &ParsedProperties, stays: bool) -> RunPlan {
    let ends_by_time = parsed.operations.is_none();
    RunPlan {
        clients: parsed.threads,
        duration: parsed.duration.or(ends_by_time.then_some(Duration::from_secs(10))),
        transactions: parsed.operations,
        warm_up: parsed.warm_up,
        // YCSB spreads its target evenly over the threads at fixed intervals.
        arrival: match parsed.target_per_s {
            Some(rate_per_s) => Arrival::Fixed { rate_per_s },
            None => Arrival::Closed,
        },
        retries: 10,
        seed: flags.seed,
        reuse: stays,
        spends_rows: true,
        // The reads in read-modify-writes are measured as reads.
        operations: parsed.modifies,
        meter: flags.meter.options(),
        ..RunPlan::default()
    }
}

/// Loads the records and keeps them. A plan has at least one transaction, so one row is read.
fn load<L: Laboratory>(
    flags: &Flags,
    parsed: &ParsedProperties,
    url: &str,
    laboratory: &L,
) -> Outcome {
    if !has_path(url) {
        return Err(CannotRun(format!(
            "--on {} is removed when the program ends, so a load would be lost: name a place, such as {}",
            redacted_url(url),
            placed(url, laboratory)
        )));
    }
    let mixes = ["read", "update", "insert", "scan", "read_modify_write", "new_keys"];
    let options = parsed.options.iter();
    let options = options.filter(|(option, _)| !mixes.contains(&option.as_str()));
    let mut options: Vec<_> = options.cloned().collect();
    options.push(("workload".to_owned(), "c".to_owned()));
    let part = &parsed.part;
    if part.end - part.start < parsed.records {
        let words = RecordRanges::of(part.clone()).words();
        options.push(("load_part".to_owned(), words));
    }
    let workload = AnyWorkload::parse("ycsb", &options)?;
    if flags.dry_run {
        return laboratory.dry_run(&workload, 1, url);
    }
    let target = laboratory.open_checked(url)?;
    let (workload, adds_to) = adding_to_loaded(workload, &options, part, &target)?;
    let plan = RunPlan {
        adds_to: adds_to.clone(),
        transactions: Some(1),
        duration: None,
        warm_up: Duration::ZERO,
        reuse: true,
        ..RunPlan::default()
    };
    let watch = LoadWatch::new(part.end - part.start);
    let result = target.run(&workload, &plan, laboratory.stop_flag(), &watch, None)?;
    drop(watch.bar);
    let were_there = result.head.workload.rows_kept && adds_to.is_none();
    if were_there {
        terminal::note("the records existed already, so none were loaded");
    }
    let loaded = if were_there { 0 } else { part.end - part.start };
    export(parsed, &ycsb_lines::of_load(loaded, watch.took_ns.get()))?;
    let mut verdict = Verdict::Holds;
    for check in &result.checks {
        if let CheckOutcome::Violated(what) = &check.outcome {
            terminal::error(&format!("violated: {}: {what}", check.name));
            verdict = verdict.and(Verdict::Broken);
        }
    }
    Ok(verdict)
}

/// The workload of a load that adds to the parts of earlier loads, and how those were loaded if this one adds
/// rows.
fn adding_to_loaded<T: Benchmark>(
    workload: AnyWorkload,
    options: &[(String, String)],
    part: &Range<u64>,
    target: &T,
) -> Result<(AnyWorkload, Option<String>), CannotRun> {
    let AnyWorkload::Ycsb(ycsb) = &workload else {
        unreachable!("it was parsed as one");
    };
    let there = target.loaded_as(&workload)?;
    let parts = there.as_deref().and_then(|there| ycsb.parts_of(there));
    // Nothing exists, or something that the runner refuses.
    let Some((there, parts)) = there.zip(parts) else {
        return Ok((workload, None));
    };
    let adds = !parts.has(part);
    if adds && parts.touches(part) {
        return Err(CannotRun(format!(
            "cannot load the records {}: {} exist already; load others (insertstart, insertcount)",
            RecordRanges::of(part.clone()).words(),
            parts.words()
        )));
    }
    let before = ("loaded_before".to_owned(), parts.words());
    let options: Vec<_> = options.iter().cloned().chain([before]).collect();
    let workload = AnyWorkload::parse("ycsb", &options)?;
    Ok((workload, adds.then_some(there)))
}

/// An example of a place that stays, for the same target if possible.
fn placed<L: Laboratory>(url: &str, laboratory: &L) -> String {
    let (name, options) = url.split_once('?').unwrap_or((url, ""));
    let options = if options.is_empty() { String::new() } else { format!("?{options}") };
    let place = format!("{name}:./store{options}");
    match laboratory.open(&place) {
        Ok(target) if target.capabilities().reopens => redacted_url(&place),
        _ => "engine:./store".to_owned(),
    }
}

/// Shows the progress of a load, and measures its duration.
#[derive(Debug)]
struct LoadWatch {
    bar: terminal::Progress,
    began: Cell<Option<u64>>,
    took_ns: Cell<u64>,
}

impl LoadWatch {
    fn new(records: u64) -> LoadWatch {
        LoadWatch {
            bar: terminal::Progress::of_steps(records).without_lines(),
            began: Cell::new(None),
            took_ns: Cell::new(0),
        }
    }
}

impl Observer for LoadWatch {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Loading { units, of } => {
                let now = clock::now();
                let began = self.began.get().unwrap_or(now);
                self.began.set(Some(began));
                self.took_ns.set(now - began);
                self.bar.at(units, &format!("loaded {units} of {of}"));
            }
            Event::Checking => self.bar.at(u64::MAX, "reading every row back"),
            _ => {}
        }
    }
}
