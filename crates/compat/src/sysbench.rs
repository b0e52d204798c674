//! `syncline sysbench`: sysbench's OLTP tests on the laboratory's targets.
//!
//! `prepare` creates and fills the tables and keeps them at the target's place; a later `run` uses them, or a
//! part of them; only `cleanup` removes them. If nothing was prepared, a run creates and fills the tables and
//! removes them afterwards. A run that deletes rows may also use prepared tables, but no run after it can. A
//! run that inserts needs its own tables: on a server they are in a separate schema next to the prepared
//! ones, elsewhere it is refused if data exists. Tables of the real sysbench are refused, since their rows
//! cannot be verified.

use super::store_path::{has_path, remove_if_empty};
use super::sysbench_flags::{CHOSEN_HERE, Flags};
use super::sysbench_report as report;
use super::sysbench_tables as tables;
use super::sysbench_tables::Layout;
use super::sysbench_test::Command;
use super::sysbench_watch::Watch;
use crate::laboratory::Laboratory;
use crate::recorded_run::{self, CompatRun, Recording};
use crate::sysbench_args::SysbenchArgs;
use std::cell::Cell;
use std::time::Duration;
use syncline_benchmark::Benchmark;
use syncline_console::{CannotRun, Outcome, Verdict, terminal};
use syncline_contract::conformance::block_on;
use syncline_contract::{Target, Workload};
use syncline_instrument::clock;
use syncline_runner::{Arrival, Event, Observer, RunPlan, StopReason};
use syncline_stores::server::redacted_url;
use syncline_workloads::AnyWorkload;
use syncline_workloads::oltp::{Oltp, Options, Test};

/// Runs sysbench's command line.
pub(crate) fn sysbench<L: Laboratory>(args: &SysbenchArgs, laboratory: &L) -> Outcome {
    let read = |path: &str| {
        std::fs::read_to_string(path)
            .map_err(|error| CannotRun(format!("cannot read the options {path}: {error}")))
    };
    let flags = Flags::parse(&args.words, read)?;
    for warning in &flags.warnings {
        terminal::warn(warning);
    }
    if flags.version {
        terminal::print(&format!(
            "sysbench 1.0.20, as syncline {} imitates it\n",
            env!("CARGO_PKG_VERSION")
        ))?;
        return Ok(Verdict::Holds);
    }
    if flags.command == Command::Help {
        terminal::print(&help(&flags))?;
        return Ok(Verdict::Holds);
    }
    // Parsed before a store is opened, so that bad options change nothing.
    workload(&flags, false)?;
    let url = flags.url.as_deref().or(laboratory.own());
    let url = url.ok_or_else(|| {
        CannotRun::because(
            "no store was named: give --on=TARGET, such as --on=engine:./store, or --db-driver=mysql or \
             pgsql with that driver's options",
        )
    })?;
    if flags.dry_run && flags.command != Command::Cleanup {
        return laboratory.dry_run(&workload(&flags, false)?, flags.threads, url);
    }
    let mut url = url.to_owned();
    let mut target = match flags.command {
        Command::Cleanup => laboratory.open(&url)?,
        _ => laboratory.open_checked(&url)?,
    };
    if flags.dry_run {
        return cleanup_unmade(&flags, &target);
    }
    let named = tables::names(oltp(&workload(&flags, false)?).chosen().tables);
    let view = block_on(&(), target.user_view(&named))?;
    tables::refuse_others(&view, &url)?;
    if flags.by_driver && view.waits_for_log == Some(false) && flags.command != Command::Cleanup {
        terminal::note(tables::DOES_NOT_WAIT);
        url.push_str("&durability=none");
        target = laboratory.open_checked(&url)?;
    }
    match flags.command {
        Command::Prepare => prepare(&flags, &url, &target, laboratory),
        Command::Cleanup => cleanup(&flags, &url, &target),
        Command::Run | Command::Help => {
            let kept = workload(&flags, true)?;
            // An inserting test uses its own tables, and leaves prepared ones alone where it can.
            match tables::without_schema(&url).filter(|_| kept.loaded_as().is_none()) {
                Some(url) => run(&flags, &url, &laboratory.open_checked(&url)?, laboratory),
                None => run(&flags, &url, &target, laboratory),
            }
        }
    }
}

/// The options of a test, in sysbench's format.
fn help(flags: &Flags) -> String {
    let listed = Options::LISTING.iter();
    let listed = listed.filter(|option| !CHOSEN_HERE.contains(&option.name));
    let lines = listed.map(|option| {
        let (name, takes) = (option.name, option.takes);
        format!("  --{name}={takes} [{}]\n      {}\n", option.default, option.meaning)
    });
    format!("{} options:\n{}", flags.test.script(), lines.collect::<String>())
}

/// The workload; `kept`: its tables may come from an earlier run.
pub(super) fn workload(flags: &Flags, kept: bool) -> Result<AnyWorkload, CannotRun> {
    let mut options = flags.options.clone();
    options.push(("test".to_owned(), flags.test.word().to_owned()));
    let kept = if kept { "on" } else { "off" };
    options.push(("kept".to_owned(), kept.to_owned()));
    Ok(AnyWorkload::parse(Oltp::NAME, &options)?)
}

fn oltp(workload: &AnyWorkload) -> &Oltp {
    match workload {
        AnyWorkload::Oltp(oltp) => oltp,
        _ => unreachable!("it was parsed as one"),
    }
}

/// The workload with a different number of tables, as may have been prepared.
fn with_tables(flags: &Flags, tables: u64) -> Result<AnyWorkload, CannotRun> {
    let mut flags = flags.clone();
    flags.options.retain(|(option, _)| option != "tables");
    flags.options.push(("tables".to_owned(), tables.to_string()));
    workload(&flags, true)
}

/// The workload on a part of prepared tables.
fn part_of(flags: &Flags, layout: &Layout) -> Result<AnyWorkload, CannotRun> {
    let asked = *oltp(&workload(flags, true)?).chosen();
    let mut flags = flags.clone();
    let replaced = ["tables", "table_size"];
    flags.options.retain(|(option, _)| !replaced.contains(&option.as_str()));
    let set = [
        ("tables", layout.tables),
        ("table_size", layout.rows),
        ("used_tables", asked.tables.min(layout.tables)),
        ("used_rows", asked.table_size.min(layout.rows)),
    ];
    let set = set.map(|(option, value)| (option.to_owned(), value.to_string()));
    flags.options.extend(set);
    workload(&flags, true)
}

/// The tables of a test, with point selects instead of its statements.
fn preparing(flags: &Flags) -> Result<AnyWorkload, CannotRun> {
    let shapes = ["tables", "table_size", "create_secondary", "secondary"];
    let options = flags.options.iter();
    let options = options.filter(|(option, _)| shapes.contains(&option.as_str()));
    let mut options: Vec<_> = options.cloned().collect();
    options.push(("test".to_owned(), Test::PointSelect.word().to_owned()));
    Ok(AnyWorkload::parse(Oltp::NAME, &options)?)
}

/// Creates, fills and keeps the tables unless they exist. A plan has at least one transaction, so one is run.
fn prepare<L: Laboratory>(flags: &Flags, url: &str, target: &L::Target, laboratory: &L) -> Outcome {
    let workload = workload(flags, true)?;
    if workload.loaded_as().is_none() {
        terminal::note(&format!(
            "there is nothing to prepare: {} inserts, so its run makes tables of its own",
            flags.test.script()
        ));
        return Ok(Verdict::Holds);
    }
    // A transaction of a test that deletes rows would change what is being prepared.
    let workload = if workload.leaves_other_rows() { preparing(flags)? } else { workload };
    if !has_path(url) || !target.capabilities().reopens {
        return Err(CannotRun(format!(
            "the tables of {} would be removed with the program, so nothing can be prepared there: name a place that \
             stays, such as --on=engine:./store",
            redacted_url(url)
        )));
    }
    let plan = RunPlan {
        transactions: Some(1),
        duration: None,
        warm_up: Duration::ZERO,
        retries: u32::MAX,
        reuse: true,
        ..RunPlan::default()
    };
    let filling = Filling::new(oltp(&workload).chosen());
    let result = target.run(&workload, &plan, laboratory.stop_flag(), &filling, None)?;
    if let StopReason::Failure { what, .. } = result.stopped_by {
        return Err(CannotRun(what));
    }
    if result.head.workload.rows_kept {
        terminal::note("the tables existed already, so none were created");
    }
    Ok(Verdict::Holds)
}

/// Prints what `cleanup` would remove.
fn cleanup_unmade<T: Target>(flags: &Flags, target: &T) -> Outcome {
    let workload = workload(flags, true)?;
    let dry_run = target.dry_run(workload.plan(), 1)?;
    let mut lines = dry_run.removes;
    if lines.is_empty() {
        lines = vec![format!("the data of {}, if a run of syncline created it", target.name())];
    }
    terminal::print(&format!("would remove\n  {}\n", lines.join("\n  ")))?;
    terminal::note("dry run: nothing was changed");
    Ok(Verdict::Holds)
}

fn cleanup<T: Target>(flags: &Flags, url: &str, target: &T) -> Outcome {
    let workload = workload(flags, true)?;
    recorded_run::make_empty(target)?;
    remove_if_empty(url);
    for number in 1..=oltp(&workload).chosen().tables {
        terminal::print(&format!("Dropping table 'sbtest{number}'...\n"))?;
    }
    Ok(Verdict::Holds)
}

fn run<L: Laboratory>(flags: &Flags, url: &str, target: &L::Target, laboratory: &L) -> Outcome {
    let can = target.capabilities();
    let kept = workload(flags, true)?;
    let stays = can.reopens && has_path(url);
    let starts = stays && kept.loaded_as().is_some();
    let script = flags.test.script();
    let prepared = if starts {
        tables::prepared(target, oltp(&kept).chosen(), |tables| with_tables(flags, tables))?
    } else {
        None
    };
    let reuse = prepared.is_some();
    if kept.loaded_as().is_none() {
        let needs = format!("{script} inserts, so it makes tables of its own");
        if stays {
            recorded_run::refuse_existing(target, &needs)?;
        }
        terminal::note(&format!("{needs} and removes them afterwards"));
    } else if starts && !reuse {
        recorded_run::refuse_existing(target, "nothing was prepared there completely")?;
        terminal::note(
            "nothing was prepared there: the tables are created for this run and removed after it",
        );
    } else if reuse && kept.leaves_other_rows() {
        terminal::note(&format!(
            "{script} deletes rows, so no later run can use what was prepared here"
        ));
    }
    let workload = match prepared {
        Some(layout) => part_of(flags, &layout)?,
        None => workload(flags, false)?,
    };
    let oltp = oltp(&workload);
    let plan = plan(flags, oltp, reuse);
    let recording = Recording { url, runs: &flags.runs, map: flags.meter.read_map()? };
    if !flags.json {
        terminal::print(&report::head(flags, &target.name()))?;
    }
    let watch = Watch::new(flags, oltp);
    let CompatRun { result, record, kept } =
        recorded_run::run(recording, laboratory, target, &workload, &plan, &watch, Some(&watch))?;
    if flags.json {
        terminal::print(&recorded_run::json(&record))?;
    } else {
        // As in sysbench, events in progress at the end of the time are counted, including their time.
        let seconds = result.elapsed_ns() as f64 / clock::SECOND as f64;
        let events = oltp.events_of_transaction();
        let (all, clients) = (watch.all(), watch.clients());
        if flags.histogram {
            terminal::print(&report::histogram(&all))?;
        }
        terminal::print(&report::cumulative(flags, &all, &clients, events, seconds))?;
        recorded_run::print_cost(&record)?;
        if events < 1.0 {
            terminal::note("each latency is of one statement, which is a transaction of its own");
        } else if events > 1.0 {
            terminal::note(&format!(
                "latencies are of transactions of {events:.0} events each; only whole transactions are \
                 run"
            ));
        }
    }
    let verdict = laboratory.report_verdict(&record).and(kept);
    if let StopReason::Failure { .. } = result.stopped_by {
        terminal::error("the run was aborted; the results above are incomplete");
        return Ok(Verdict::Broken);
    }
    Ok(verdict)
}

pub(super) fn plan(flags: &Flags, oltp: &Oltp, reuse: bool) -> RunPlan {
    let seconds = Duration::from_secs;
    let per_event = 1.0 / oltp.events_of_transaction();
    let transactions = (flags.events as f64 * per_event).ceil() as u64;
    let rate_per_s = flags.rate_per_s * per_event;
    RunPlan {
        clients: flags.threads,
        duration: (flags.time_s > 0).then(|| seconds(flags.time_s)),
        transactions: (flags.events > 0).then_some(transactions.max(1)),
        warm_up: seconds(flags.warm_up_s),
        drain: seconds(flags.forced_shutdown_s.unwrap_or(3_600)),
        arrival: if flags.rate_per_s > 0.0 {
            Arrival::Poisson { rate_per_s }
        } else {
            Arrival::Closed
        },
        // sysbench repeats an event until it no longer conflicts.
        retries: u32::MAX,
        seed: match flags.seed {
            0 => clock::wall(),
            seed => seed,
        },
        reuse,
        spends_rows: true,
        interval: seconds(flags.report_interval_s.max(1)),
        meter: flags.meter.options(),
        ..RunPlan::default()
    }
}

/// Prints sysbench's lines while tables are created and filled.
struct Filling<'o> {
    options: &'o Options,
    /// The number of tables announced so far.
    announced: Cell<u64>,
}

impl<'o> Filling<'o> {
    fn new(options: &'o Options) -> Filling<'o> {
        Filling { options, announced: Cell::new(0) }
    }
}

impl Observer for Filling<'_> {
    fn event(&self, event: Event<'_>) {
        let Event::Loading { units, of } = event else {
            return;
        };
        let Options { tables, table_size, .. } = *self.options;
        let mut text = String::new();
        if self.announced.get() == 0 && of > 0 {
            for number in 1..=tables {
                text += &format!("Creating table 'sbtest{number}'...\n");
            }
        }
        // Tables are filled one after another.
        let begun = tables.min(units / table_size + 1);
        for number in self.announced.replace(begun) + 1..=begun {
            text += &format!("Inserting {table_size} records into 'sbtest{number}'\n");
        }
        if let Err(error) = terminal::print(&text) {
            terminal::warn(&error.0);
        }
    }
}
