//! `syncline show`: displays records, using nothing but the records.

use super::atomic_file;
use crate::args::{ExportArg, ShowArgs, StacksArg};
use std::path::Path;
use syncline_console::{CannotRun, Outcome, Verdict, meter::read_map, terminal};
use syncline_profile::{Metric, collapsed, pprof};
use syncline_record::{Record, RunRecord, Stacks, Summary};
use syncline_report::{CostChoice, CostThreads, FunctionsBy, export, html, table};

/// Shows records as a table, JSON or HTML, or in the form of a published source.
pub(crate) fn show(args: &ShowArgs) -> Outcome {
    let map = args.map.as_deref().map(read_map).transpose()?;
    let choice = choice(args)?;
    let mut records = Vec::new();
    let mut stacks = Vec::new();
    let mut files = Vec::new();
    for word in &args.records {
        files.extend(syncline_record::all_named(word)?);
    }
    for path in &files {
        for mut record in syncline_record::read_all(path)? {
            // Folding again and listing functions require the stacks; a page shows them if they exist.
            let needed = map.is_some() || args.functions.is_some() || args.stacks.is_some();
            if let Record::Run(run) = &mut record
                && (needed || args.html.is_some())
            {
                match syncline_record::stacks_of_record(path, run, map.as_ref()) {
                    Ok(found) => {
                        if map.is_some() {
                            run.end.cost = syncline_record::refold(run, &found);
                        }
                        stacks.push(found);
                    }
                    Err(why) if needed => return Err(why.into()),
                    // A run that was not profiled, or whose stacks are missing, has no flame graph.
                    Err(syncline_record::Error::NoStacks { .. }) => {}
                    Err(why) => terminal::note(&format!("no flame graph: {why}")),
                }
            }
            records.push(record);
        }
    }
    if let Some(by) = args.functions {
        return functions(args, &records, &stacks, by.into(), &choice);
    }
    if let Some(format) = args.stacks {
        return export(format, &stacks);
    }
    if args.share {
        let had_stacks = records.iter().filter_map(Record::as_run);
        if had_stacks.filter_map(|run| run.end.cost.as_ref()).any(|cost| cost.stacks.is_some()) {
            terminal::note(
                "the stacks are left out, since function and thread names may identify the machine or its users",
            );
        }
        records = records.iter().map(syncline_record::share).collect();
        stacks.clear();
    }
    if let Some(path) = &args.html {
        write_report(path, &records, &stacks)?;
        terminal::note(&format!("wrote {}", path.display()));
    } else if let Some(format) = args.format {
        terminal::print(&in_format(format, &records)?)?;
    } else if let Some(source) = args.source {
        let columns = terminal::columns();
        let view = table::at_width(columns, || table::as_published(source.into(), &records));
        terminal::print(&view?)?;
    } else if args.statements {
        for run in records.iter().filter_map(Record::as_run) {
            terminal::print_view(|| table::statements(run))?;
        }
    } else if args.json {
        terminal::print(&(syncline_record::json(&records) + "\n"))?;
    } else {
        terminal::print_view(|| table::show_with_costs(&records, &choice))?;
    }
    Ok(Verdict::Holds)
}

/// The records in a format of other programs.
fn in_format(format: ExportArg, records: &[Record]) -> Result<String, CannotRun> {
    let summaries: Vec<Summary> = records.iter().map(Record::summary).collect();
    let runs: Vec<&RunRecord> = records.iter().filter_map(Record::as_run).collect();
    Ok(match format {
        ExportArg::Csv => export::csv_of_summaries(&summaries),
        ExportArg::Intervals => export::csv_of_intervals(records),
        ExportArg::Markdown => export::markdown(&summaries),
        ExportArg::Openmetrics => export::openmetrics(records),
        ExportArg::Hgrm => {
            let [run] = runs[..] else {
                let count = runs.len();
                return Err(CannotRun(format!(
                    "--format hgrm prints the times of one run, but these records have {count}"
                )));
            };
            export::hgrm(run)?
        }
        ExportArg::Hlog if runs.is_empty() => {
            return Err(CannotRun::because(
                "--format hlog prints the times of runs, and none of these records is one",
            ));
        }
        ExportArg::Hlog => export::hlog(&runs)?,
    })
}

/// Which costs are shown.
fn choice(args: &ShowArgs) -> Result<CostChoice, CannotRun> {
    let threads = match args.threads.as_deref() {
        None => CostThreads::Serving,
        Some("all") => CostThreads::All,
        Some(word) if args.functions.is_some() || CostThreads::CLASSES.contains(&word) => {
            CostThreads::Class(word.to_owned())
        }
        Some(word) => {
            return Err(CannotRun(format!(
                "--threads {word}: without --functions, give one of the thread classes {}, or all; patterns of \
                 names require --functions",
                CostThreads::CLASSES.join(", ")
            )));
        }
    };
    Ok(CostChoice { view: args.view.into(), threads })
}

/// Prints the stacks of one run in a format for other programs.
fn export(format: StacksArg, stacks: &[Stacks]) -> Outcome {
    let [one] = stacks else {
        return Err(CannotRun(format!(
            "--stacks prints the stacks of one profiled run, but these records are of {}",
            stacks.len()
        )));
    };
    let mut bytes = Vec::new();
    match format {
        StacksArg::Collapsed => {
            for metric in [Metric::CpuUser, Metric::CpuKernel] {
                collapsed(&one.profile, metric, &mut bytes)?;
            }
        }
        StacksArg::Pprof => pprof(&one.profile, &one.map, &mut bytes)?,
    }
    terminal::print_bytes(&bytes)?;
    Ok(Verdict::Holds)
}

fn functions(
    args: &ShowArgs,
    records: &[Record],
    stacks: &[Stacks],
    by: FunctionsBy,
    choice: &CostChoice,
) -> Outcome {
    let runs = records.iter().filter_map(Record::as_run);
    for (run, stacks) in runs.zip(stacks) {
        let view = || table::functions_of(run, stacks, by, choice, args.top);
        terminal::print(&table::at_width(terminal::columns(), view)?)?;
    }
    if stacks.is_empty() {
        return Err(CannotRun::because(
            "--functions requires the record of a profiled run, and none of these records is one",
        ));
    }
    Ok(Verdict::Holds)
}

/// Writes a self-contained report, completely or not at all.
pub(crate) fn write_report(
    path: &Path,
    records: &[Record],
    stacks: &[Stacks],
) -> Result<(), CannotRun> {
    write_page(path, &html::report(records, stacks))
}

/// Writes an HTML page, completely or not at all.
pub(super) fn write_page(path: &Path, page: &str) -> Result<(), CannotRun> {
    atomic_file::write(path, page.as_bytes())
        .map_err(|error| CannotRun(format!("cannot write the report {}: {error}", path.display())))
}
