//! `syncline list`: targets, workloads, meters, runs.

use super::show::write_page;
use crate::args::{FilterArgs, ListArgs, Listed};
use crate::registry::TargetRegistry;
use std::collections::BTreeSet;
use std::path::Path;
use syncline_console::{CannotRun, Outcome, Verdict, terminal};
use syncline_host::Process;
use syncline_launcher::Product;
use syncline_profile::Profile;
use syncline_profiler::{Profiler, ProfilerOptions, Subject};
use syncline_record::{Record, Summary};
use syncline_record_index::{Filter, Listing, RecordIndex};
use syncline_report::{export, html, table};

/// Prints the requested list.
pub(crate) fn list<S: TargetRegistry>(args: &ListArgs, registry: &S) -> Outcome {
    if args.what != Listed::Runs
        && let Some(option) = args.option_of_runs()
    {
        return Err(CannotRun(format!(
            "{option} applies to runs only: syncline list runs {option} ..."
        )));
    }
    match args.what {
        Listed::Targets => terminal::print_view(|| targets(registry.own()))?,
        Listed::Workloads => terminal::print_view(workloads)?,
        Listed::Meters => terminal::print_view(meters)?,
        // A program must not take the sentence below for a table.
        Listed::Runs if args.runs.exists() || is_for_programs(args) => runs(args)?,
        Listed::Runs => {
            let folder = args.runs.display();
            terminal::print(&format!("no records: there is no directory {folder}\n"))?;
        }
    }
    Ok(Verdict::Holds)
}

/// True if no table for the terminal is wanted.
fn is_for_programs(args: &ListArgs) -> bool {
    args.csv || args.json || args.html.is_some()
}

fn runs(args: &ListArgs) -> Result<(), CannotRun> {
    let index = RecordIndex::open(&args.runs)?;
    let Listing { records, refused } = index.list(&filter(&args.filter))?;
    if is_for_programs(args) || args.trend {
        for why in &refused {
            terminal::warn(&format!("left out: {why}"));
        }
    }
    if let Some(path) = &args.html {
        write_page(path, &html::results(&whole_records(args, &records)?))?;
        terminal::note(&format!("wrote {}", path.display()));
        Ok(())
    } else if args.csv {
        terminal::print(&export::csv_of_summaries(&records))
    } else if args.json {
        terminal::print(&(syncline_record::json_of_summaries(&records) + "\n"))
    } else if args.trend {
        terminal::print_view(|| table::trend(&records))
    } else if records.is_empty() && args.option_of_runs().is_some() {
        terminal::print("no record meets these conditions\n")
    } else {
        terminal::print_view(|| table::list(&records, &refused))
    }
}

/// The whole records of these summaries, with their file names.
fn whole_records(
    args: &ListArgs,
    summaries: &[Summary],
) -> Result<Vec<(String, Record)>, CannotRun> {
    let ids: BTreeSet<&str> = summaries.iter().map(|summary| summary.id.as_str()).collect();
    let files = syncline_record::list(&args.runs)?.into_iter().filter_map(|listed| {
        let record = listed.record.ok()?;
        let name = listed.path.file_name()?.to_string_lossy().into_owned();
        ids.contains(record.identity().id.as_str()).then_some((name, record))
    });
    Ok(files.collect())
}

fn filter(args: &FilterArgs) -> Filter {
    Filter {
        kind: args.kind.map(|kind| kind.word().to_owned()),
        workload: args.workload.clone(),
        target: args.on.clone(),
        tag: args.tag.clone(),
        clients: args.clients.map(|clients| clients as u64),
        since_wall_ns: args.since,
        until_wall_ns: args.until,
        last: args.last.map(|last| last as u64),
    }
}

fn targets(own: Option<&str>) -> String {
    let mut text = String::new();
    if let Some(name) = own {
        text += &format!("{name}\n  this program's own store\n\n");
    }
    for listing in syncline_stores::listings() {
        text += &format!("{}\n  {}\n", listing.form, listing.what);
        let options = listing.options.iter();
        options.for_each(|one| text += &option(one.name, one.meaning, one.takes, one.default));
        text.push('\n');
    }
    text += "PRODUCT:private?durability=...&cache=...&cpus=...&jvm=...\n  a temporary server that is started for \
             the run and removed afterwards;\n  PRODUCT is one of ";
    text += &Product::ALL.map(Product::word).join(", ");
    text + "\n\nA bare name opens a temporary database in the current directory and removes it afterwards.\n"
}

fn workloads() -> String {
    let mut text = String::new();
    for listing in syncline_workloads::LISTINGS {
        text += &format!("{}\n  {}\n", listing.name, listing.what);
        for one in listing.options {
            let flag = format!("--{}", one.name.replace('_', "-"));
            text += &option(&flag, one.meaning, one.takes, one.default);
        }
        text.push('\n');
    }
    text + "Options of a workload follow its name: syncline run insert --on sqlite --commit-every 10\n"
}

fn option(name: &str, meaning: &str, takes: &str, default: &str) -> String {
    table::option(name, &format!("{meaning}: {takes} (default: {default})"))
}

fn meters() -> String {
    let mut text = String::new();
    for listing in syncline_profiler::list(Path::new(".")) {
        let state = if listing.refusal.is_none() { "works" } else { "does not work" };
        text += &table::list_item(listing.name, state, listing.measures);
        if let Some(why) = listing.refusal {
            text += &table::list_item("", "", &why);
        }
    }
    text += "\nrun --meter, tried on this program: where a store's time goes\n\n";
    text + &table::accounts(empty_profile().accounts())
}

/// The accounts of every collector after a profile of this program with an empty window.
fn empty_profile() -> Profile {
    let mut meter = Profiler::open(&Subject::of(Process::Own), &ProfilerOptions::default());
    meter.prepare();
    meter.start(&|| 0);
    meter.stop(&|| 0);
    meter.finish()
}
