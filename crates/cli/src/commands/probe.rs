//! `syncline probe`: how many durable writes directories complete, and the classic log writer.

use super::{environment, metrics_file};
use crate::args::{ALL_PRODUCTS, ProbeArgs, ProbeVerb, WritetestArgs};
use crate::{interrupt, recording_mount};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use syncline_console::{CannotRun, Outcome, Verdict, terminal};
use syncline_instrument::clock;
use syncline_probe::record::from_probe;
use syncline_probe::{
    BESIDE_NS, FITNESS_BUDGET_NS, Plan, ProbeResult, Product, Progress, WriteTest,
};
use syncline_record::{ProbeRecord, Record, SyncInterval, Writer, units};
use syncline_report::table::{self, Detail};
use syncline_report::{Rating, export};

/// Probes directories, or runs the log writer.
pub(crate) fn probe(args: &ProbeArgs) -> Outcome {
    if let Some(ProbeVerb::Writetest(args)) = &args.verb {
        return writetest(args);
    }
    let rating = args.endurance.as_deref().map(Rating::parse).transpose()?;
    let mut plan = plan(args)?;
    plan.rpm = args.rpm;
    refuse_repeated(&args.directories)?;
    for directory in &args.directories {
        environment::must_be_directory(directory)?;
        recording_mount::refuse_recording_mount(directory)?;
    }
    estimate(&plan, &args.directories);
    let (writers, records) = measured(&args.directories, &plan, &args.output.runs)?;
    let written = writers.into_iter().zip(&records);
    let files: Vec<_> = written.map(|(writer, record)| writer.finish_probe(record)).collect();
    metrics_file::write(|| {
        let records: Vec<Record> = records.iter().cloned().map(Record::from).collect();
        export::openmetrics(&records)
    });
    show(args, &records, rating)?;
    let kept = files.into_iter().map(|file| match file {
        Ok(file) => {
            terminal::note(&format!("record: {}", file.display()));
            Verdict::Holds
        }
        Err(why) => {
            terminal::error(&why.to_string());
            Verdict::Partial
        }
    });
    let kept = kept.fold(Verdict::Holds, Verdict::and);
    Ok(records.iter().map(verdict).fold(kept, Verdict::and))
}

/// The plan that the options ask for.
fn plan(args: &ProbeArgs) -> Result<Plan, CannotRun> {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    if args.products.is_empty() {
        if args.watch.is_some() || args.beside.is_some() {
            let beside_ns = args.duration.map_or(BESIDE_NS, nanoseconds);
            let watch_ns = args.watch.map(nanoseconds);
            return Ok(Plan::over_time(args.beside.as_ref(), watch_ns, beside_ns));
        }
        if args.duration.is_some() {
            let sentence = "--duration needs --for, --beside or --watch: the steps of a probe have fixed times";
            return Err(CannotRun::because(sentence));
        }
        return Ok(if args.full { Plan::full() } else { Plan::quick() });
    }
    let budget_ns = args.duration.map_or(FITNESS_BUDGET_NS, nanoseconds);
    let all = args.products.iter().any(|name| name == ALL_PRODUCTS);
    let is_named = |product: &&Product| all || args.products.contains(&product.name);
    let products: Vec<_> = syncline_probe::products().iter().filter(is_named).collect();
    let plan = Plan::fitness(&products, budget_ns);
    Ok(match &args.beside {
        Some(load) => plan.beside(load),
        None => plan,
    })
}

/// Refuses a directory that is given twice, under any name: its two probes would share one set of figures.
fn refuse_repeated(directories: &[PathBuf]) -> Result<(), CannotRun> {
    let mut known = Vec::new();
    for directory in directories {
        environment::must_be_directory(directory)?;
        let real = environment::real(directory)?;
        if known.contains(&real) {
            let directory = directory.display();
            return Err(CannotRun(format!("{directory} is given twice; name each directory once")));
        }
        known.push(real);
    }
    Ok(())
}

/// Prints the cost of a plan before it runs.
fn estimate(plan: &Plan, directories: &[PathBuf]) {
    let cost = plan.estimate(directories.len());
    // A directory without enough space is reported by its own probe.
    let space = directories.iter().filter_map(|directory| plan.space_in(directory));
    let space: u64 = space.sum();
    let shortest = units::span(cost.shortest_s * 1e9);
    let time = if cost.longest_s > 2.0 * cost.shortest_s {
        format!("{shortest} to {}, until cells are steady", units::span(cost.longest_s * 1e9))
    } else {
        format!("about {shortest}")
    };
    terminal::note(&format!(
        "{time} ({}), up to {} written, {} of space used temporarily",
        plan.label(),
        units::size(cost.bytes_written as f64),
        units::size(space as f64),
    ));
}

fn measured(
    directories: &[PathBuf],
    plan: &Plan,
    runs: &Path,
) -> Result<(Vec<Writer>, Vec<ProbeRecord>), CannotRun> {
    let mut writers = Vec::new();
    let mut identities = Vec::new();
    for (number, directory) in (0..).zip(directories) {
        let identity = environment::identity("probe", number);
        writers.push(Writer::create_probe(runs, &identity, &directory.display().to_string())?);
        identities.push(identity);
    }
    let bar = terminal::Progress::of_time(tenths(plan, directories.len()));
    let results = match run(directories, plan, interrupt::stop_flag(), &bar) {
        Ok(results) => results,
        Err(error) => {
            for writer in writers {
                writer.discard()?;
            }
            return Err(error);
        }
    };
    let records = results
        .iter()
        .zip(&identities)
        .map(|(result, identity)| from_probe(result, identity, environment::machine(), Vec::new()));
    Ok((writers, records.collect()))
}

/// Runs a plan with a progress bar.
pub(super) fn run(
    directories: &[PathBuf],
    plan: &Plan,
    stop: &AtomicBool,
    bar: &terminal::Progress,
) -> Result<Vec<ProbeResult>, CannotRun> {
    let tenths = tenths(plan, directories.len());
    let part = bar.part(Some("probe"), tenths, tenths);
    let mut bar = Bar { part, tenths };
    syncline_probe::probe(directories, plan, stop, &mut bar).map_err(CannotRun::from)
}

struct Bar<'p> {
    part: terminal::Part<'p>,
    tenths: u64,
}

impl syncline_probe::Observer for Bar<'_> {
    fn step(&mut self, progress: &Progress<'_>) {
        let left = progress.remaining_ns / 100_000_000;
        let what = format!("probe: {}", progress.what);
        self.part.at(self.tenths.saturating_sub(left), &what);
    }

    fn interval(&mut self, directory: &Path, interval: &SyncInterval) {
        metrics_file::write(|| export::openmetrics_of_syncs(directory, interval));
    }
}

/// The minimum duration of a plan, in tenths of a second.
pub(super) fn tenths(plan: &Plan, directories: usize) -> u64 {
    (plan.estimate(directories).shortest_s * 10.0).ceil() as u64
}

fn show(
    args: &ProbeArgs,
    records: &[ProbeRecord],
    rating: Option<Rating>,
) -> Result<(), CannotRun> {
    if args.output.json {
        let records: Vec<Record> = records.iter().cloned().map(Record::from).collect();
        return terminal::print(&(syncline_record::json(&records) + "\n"));
    }
    if !args.products.is_empty() && !args.wide {
        return terminal::print_view(|| table::fitness(records));
    }
    if (args.watch.is_some() || args.beside.is_some()) && !args.wide {
        let view = || records.iter().map(table::over_time).collect::<Vec<_>>().join("\n");
        return terminal::print_view(view);
    }
    let detail = if args.wide { Detail::Wide } else { Detail::Short };
    for record in records {
        terminal::print_view(|| table::probe(record, detail))?;
        if let Some(rating) = rating {
            terminal::print_view(|| format!("\n{}", table::endurance_of_line(rating, record)))?;
        }
    }
    Ok(())
}

/// The verdict of a probe: a directory that does not keep what it syncs breaks a promise.
pub(super) fn verdict(record: &ProbeRecord) -> Verdict {
    let broken = record
        .verdict()
        .filter(|verdict| matches!(verdict.word.as_str(), "not durable" | "implausible"));
    if let Some(verdict) = broken {
        let (subject, word, reason) = (&verdict.subject, &verdict.word, &verdict.reason);
        terminal::error(&format!("{subject}: {word}: {reason}"));
    }
    let partial = record.body.cut_short.is_some();
    let fitness = record.body.fitness.iter().map(|fitness| match fitness.word.as_str() {
        "fit" => Verdict::Holds,
        "unfit" => Verdict::Broken,
        _ => Verdict::Partial,
    });
    let fitness = fitness.fold(Verdict::Holds, Verdict::and);
    let first = if broken.is_some() { Verdict::Broken } else { Verdict::Holds };
    first.and(fitness).and(if partial { Verdict::Partial } else { Verdict::Holds })
}

fn writetest(args: &WritetestArgs) -> Outcome {
    recording_mount::refuse_recording_mount(&args.file)?;
    let test = WriteTest {
        bytes: args.bytes,
        file: args.file.clone(),
        operations: args.operations as u64,
        fsync: args.explicit,
    };
    let began = clock::now();
    let Some(result) = test.run(interrupt::stop_flag())? else {
        return Err(CannotRun::because("stopped before the first write was done"));
    };
    let seconds = result.elapsed_ns as f64 / 1e9;
    let asked = if result.operations == result.operations_asked {
        String::new()
    } else {
        format!(" ({} requested)", result.operations_asked)
    };
    let latency = &result.latency;
    let text = format!(
        "{} x {} bytes by {}{asked}: {seconds:.6} s, {:.2} operations/s\n\
         p50 {}  p90 {}  p99 {}  p99.9 {}  max {}\n\
         The same bytes of one file are overwritten; only the first operation grows it and is included.\n",
        result.operations,
        args.bytes,
        result.method.name(),
        result.rate_per_s,
        units::span_ns(latency.p50),
        units::span_ns(latency.p90),
        units::span_ns(latency.p99),
        units::span_ns(latency.p999),
        units::span_ns(latency.max),
    );
    terminal::print(&text)?;
    if result.stopped {
        let spent = units::span_ns(clock::now() - began);
        terminal::warn(&format!("stopped after {spent}, before all operations were done"));
    }
    Ok(if result.stopped { Verdict::Partial } else { Verdict::Holds })
}
