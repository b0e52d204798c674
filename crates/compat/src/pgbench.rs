//! `syncline pgbench`: runs pgbench's options as the workload "script", and prints pgbench's summary.
//!
//! A target whose tables can stay is used as pgbench uses a database: `-i` creates the tables, and later runs
//! use the existing tables at their scale and keep them; the growth of the built-in scripts' balances is
//! checked. Without `-i` no tables are created there. The user's own tables, such as those of the real
//! `pgbench -i`, are used as they are (`pgbench_tables.rs`). Scripts that do not name pgbench's tables run on
//! whatever exists. On a target without a path, tables are created, filled, checked and removed with the run.
//!
//! Exit codes are Syncline's: 2 where pgbench has 1 (nothing was measured), 1 where pgbench has 2 (the run
//! was aborted; the results so far are printed).

use super::clients::clients;
use super::libpq_environment::{LibpqEnvironment, unread};
use super::pgbench_report as report;
use super::pgbench_server::{self, Named};
use super::pgbench_tables::{self, TABLES};
use super::pgbench_watch::{Watch, seconds};
use crate::laboratory::Laboratory;
use crate::pgbench_args::{Chosen, PgbenchArgs};
use crate::recorded_run::{self, CompatRun, Recording};
use std::cell::Cell;
use std::time::Duration;
use syncline_benchmark::Benchmark;
use syncline_console::{CannotRun, Outcome, Verdict, terminal};
use syncline_contract::{Capabilities, ClientModel, Protocol, Target};
use syncline_instrument::clock;
use syncline_runner::{Arrival, Event, Observer, RunPlan, StopReason, TransactionListener};
use syncline_stores::server::redacted_url;
use syncline_workloads::AnyWorkload;
use syncline_workloads::script::{BUILTINS, Builtin, Scripts, as_item};

/// Runs the command line.
pub(crate) fn pgbench<L: Laboratory>(args: &PgbenchArgs, laboratory: &L) -> Outcome {
    if let Some(name) = &args.show_script {
        let script = Builtin::named(name)?;
        let text = format!("-- {}: {}\n{}", script.name, script.title, script.text);
        terminal::print(&text)?;
        return Ok(Verdict::Holds);
    }
    if args.builtin.iter().any(|name| name == "list") {
        let lines = BUILTINS.iter();
        let lines = lines.map(|script| format!("  {:>13}: {}\n", script.name, script.title));
        terminal::print(&format!("Available builtin scripts:\n{}", lines.collect::<String>()))?;
        return Ok(Verdict::Holds);
    }
    refuse(args)?;
    let variable = |name: &str| std::env::var(name).ok();
    for warning in warnings(args, variable) {
        terminal::warn(&warning);
    }
    let by_flags = pgbench_server::by_flags(&args.server);
    if args.on.is_some() && by_flags {
        return Err(CannotRun::because(
            "--on and pgbench's flags of a server (-h, -p, -U, -d, a database's name) both name the store: \
             use only one of them",
        ));
    }
    // The program's own store is used if the command line names no other.
    let own = laboratory.own().filter(|_| !by_flags);
    if let Some(url) = args.on.as_deref().or(own) {
        for warning in unread(url, variable) {
            terminal::warn(&warning);
        }
        return perform(args, url, &laboratory.open_checked(url)?, laboratory);
    }
    let outside = LibpqEnvironment { variable, exists: std::path::Path::exists };
    let Some(Named { mut url, warnings }) = pgbench_server::server(&args.server, &outside)? else {
        return Err(CannotRun::because(
            "no target was named: give --on TARGET, such as --on sqlite, or -h HOST and a database's name, or \
             set PGHOST or PGDATABASE",
        ));
    };
    for warning in warnings {
        terminal::warn(&warning);
    }
    let mut target = laboratory.open_checked(&url)?;
    if pgbench_tables::view(&target, &[])?.waits_for_log == Some(false) {
        // pgbench measures with the session's settings, whether they come from its options, its role or the
        // server.
        terminal::note(
            "synchronous_commit is off for this session, so that commits are not durable (durability=none)",
        );
        url.push_str("&durability=none");
        target = laboratory.open_checked(&url)?;
    }
    perform(args, &url, &target, laboratory)
}

fn perform<L: Laboratory>(
    args: &PgbenchArgs,
    url: &str,
    target: &L::Target,
    laboratory: &L,
) -> Outcome {
    if args.initialize {
        initialize(args, url, target, laboratory)
    } else {
        measure(args, url, target, laboratory)
    }
}

/// Creates and fills the tables; a single select verifies that they exist.
fn initialize<L: Laboratory>(
    args: &PgbenchArgs,
    url: &str,
    target: &L::Target,
    laboratory: &L,
) -> Outcome {
    if !target.capabilities().reopens {
        return Err(CannotRun(format!(
            "-i: the tables of {} would be removed with the run; name a place that stays, such as --on sqlite:bench.db",
            redacted_url(url)
        )));
    }
    let select = [Chosen::BuiltIn("select-only".to_owned())];
    let scale = args.scale.unwrap_or(1);
    let options = options(args, &select, Protocol::Prepared, scale, MADE);
    let workload = AnyWorkload::parse("script", &options)?;
    pgbench_tables::refuse_if_present(&pgbench_tables::view(target, &TABLES)?, url)?;
    // Bad options have been refused by now, before any change.
    let began = clock::now();
    recorded_run::make_empty(target)?;
    let plan = RunPlan {
        transactions: Some(1),
        duration: None,
        warm_up: Duration::ZERO,
        reuse: true,
        ..RunPlan::default()
    };
    let progress = Filling::new(args.quiet);
    let result = target.run(&workload, &plan, laboratory.stop_flag(), &progress, None)?;
    let seconds = seconds(clock::now() - began);
    if let StopReason::Failure { what, .. } = result.stopped_by {
        return Err(CannotRun(what));
    }
    terminal::note(&format!("done in {seconds:.2} s."));
    Ok(Verdict::Holds)
}

fn measure<L: Laboratory>(
    args: &PgbenchArgs,
    url: &str,
    target: &L::Target,
    laboratory: &L,
) -> Outcome {
    let chosen = scripts(args);
    let can = target.capabilities();
    let protocol = protocol(args, &can);
    let parsed = |scale, tables| {
        let options = options(args, &chosen, protocol, scale, tables);
        AnyWorkload::parse("script", &options).map_err(CannotRun::from)
    };
    let mut workload = parsed(args.scale.unwrap_or(1), MADE)?;
    let reuse = can.reopens;
    let named = of_scripts(&workload).tables_named().to_vec();
    if !named.is_empty() {
        let view = pgbench_tables::view(target, &named)?;
        let managed_scale = scale_there(args, reuse, target, &workload);
        if !view.tables.is_empty() {
            if !matches!(managed_scale, Ok(None)) {
                return Err(pgbench_tables::refuse_both(&view, url));
            }
            workload = parsed(scale_of_users(args, &chosen, target)?, "user")?;
            if !args.no_vacuum {
                terminal::warn(
                    "pgbench would vacuum its tables and empty pgbench_history before the run; these are the \
                     user's own tables, so they stay as they are, as with -n",
                );
            }
        } else if let Some(scale) = managed_scale? {
            workload = parsed(scale, MADE)?;
        } else if reuse {
            return Err(pgbench_tables::missing(url));
        } else {
            terminal::note("pgbench's tables are created for this run and removed after it");
        }
    }
    let recording = Recording { url, runs: &args.runs, map: args.meter.read_map()? };
    let plan = plan(args, can.client_model, reuse)?;
    let watch = Watch::new(args, plan.seed)?;
    let counting = watch.listener();
    let listener = counting.as_ref().map(|one| -> &dyn TransactionListener { one });
    let CompatRun { result, record, kept } =
        recorded_run::run(recording, laboratory, target, &workload, &plan, &watch, listener)?;
    watch.finish()?;
    if args.json {
        terminal::print(&recorded_run::json(&record))?;
    } else {
        let weights = of_scripts(&workload).weights();
        let summary = report::summary(args, &result, protocol, &weights, &watch);
        terminal::print(&summary)?;
        recorded_run::print_cost(&record)?;
    }
    let verdict = laboratory.report_verdict(&record).and(kept);
    if let StopReason::Failure { .. } = result.stopped_by {
        terminal::error("the run was aborted; the results above are incomplete");
        return Ok(Verdict::Broken);
    }
    Ok(verdict)
}

/// The scale of pgbench's existing tables; none if there are none, or the scripts name none. A different
/// scale given by -s is refused, since the summary would be wrong.
fn scale_there<T: Benchmark>(
    args: &PgbenchArgs,
    reuse: bool,
    target: &T,
    workload: &AnyWorkload,
) -> Result<Option<u64>, CannotRun> {
    if !reuse {
        return Ok(None);
    }
    let loaded = target.loaded_as(workload)?;
    let there = loaded.as_deref().and_then(Scripts::scale_of);
    match (there, args.scale) {
        (Some(there), Some(asked)) if asked != there => Err(CannotRun(format!(
            "-s {asked}: the tables there are at scale {there}, not at scale {asked}; omit -s, or make \
             them anew with -i -s {asked}"
        ))),
        _ => Ok(there),
    }
}

/// How statements are sent: with the simple protocol unless -M says otherwise, as in pgbench; a store without
/// protocols prepares them.
fn protocol(args: &PgbenchArgs, can: &Capabilities) -> Protocol {
    let asked = Protocol::ALL.into_iter().find(|one| args.protocol.as_deref() == Some(one.word()));
    asked.unwrap_or(if can.protocols { Protocol::Simple } else { Protocol::Prepared })
}

fn of_scripts(workload: &AnyWorkload) -> &Scripts {
    match workload {
        AnyWorkload::Script(scripts) => scripts,
        _ => unreachable!("it was parsed as one"),
    }
}

/// The scale of the user's own tables: counted for built-in scripts, as in pgbench, otherwise the value of
/// -s.
fn scale_of_users<T: Target>(
    args: &PgbenchArgs,
    chosen: &[Chosen],
    target: &T,
) -> Result<u64, CannotRun> {
    if !chosen.iter().any(|one| matches!(one, Chosen::BuiltIn(_))) {
        return Ok(args.scale.unwrap_or(1));
    }
    let scale = pgbench_tables::scale(target)?;
    if args.scale.is_some_and(|asked| asked != scale) {
        terminal::warn(&format!(
            "scale option ignored, using count from pgbench_branches table ({scale})"
        ));
    }
    Ok(scale)
}

/// The requested scripts, in the order of the command line.
fn scripts(args: &PgbenchArgs) -> Vec<Chosen> {
    if args.scripts.is_empty() {
        return vec![Chosen::BuiltIn("tpcb-like".to_owned())];
    }
    args.scripts.clone()
}

/// The value for tables that the run creates, or that an earlier run of Syncline created.
const MADE: &str = "run";

/// The options of the workload.
fn options(
    args: &PgbenchArgs,
    chosen: &[Chosen],
    protocol: Protocol,
    scale: u64,
    tables: &str,
) -> Vec<(String, String)> {
    let list = |all: Vec<&String>| match &all[..] {
        [] => "none".to_owned(),
        all => {
            let items: Vec<_> = all.iter().map(|one| as_item(one)).collect();
            items.join(",")
        }
    };
    let files = chosen.iter().filter_map(|one| match one {
        Chosen::File(file) => Some(file),
        Chosen::BuiltIn(_) => None,
    });
    let builtins = chosen.iter().filter_map(|one| match one {
        Chosen::BuiltIn(name) => Some(name),
        Chosen::File(_) => None,
    });
    let letters = chosen.iter().map(|one| match one {
        Chosen::File(_) => 'f',
        Chosen::BuiltIn(_) => 'b',
    });
    let pair = |name: &str, value: String| (name.to_owned(), value);
    vec![
        pair("file", list(files.collect())),
        pair("builtin", list(builtins.collect())),
        pair("order", letters.collect()),
        pair("tables", tables.to_owned()),
        pair("scale", scale.to_string()),
        pair("define", list(args.define.iter().collect())),
        pair("protocol", protocol.word().to_owned()),
    ]
}

pub(super) fn plan(
    args: &PgbenchArgs,
    model: ClientModel,
    reuse: bool,
) -> Result<RunPlan, CannotRun> {
    if args.max_tries == 0 && args.time.is_none() && args.latency_limit.is_none() {
        return Err(CannotRun::because(
            "--max-tries=0 sets no limit: give -T to end the run, or -L to end the tries",
        ));
    }
    let limit = args.latency_limit.map(|ms| Duration::from_secs_f64((ms / 1e3).min(1e9)));
    let each = args.transactions.unwrap_or(10) as u64;
    let by_count = args.time.is_none();
    let seconds = |count: usize| Duration::from_secs(count as u64);
    Ok(RunPlan {
        clients: args.client,
        workers: args.jobs.filter(|_| model != ClientModel::Threads),
        duration: args.time.map(seconds),
        transactions: by_count.then(|| each.saturating_mul(args.client as u64)),
        transactions_each: by_count.then_some(each),
        warm_up: Duration::ZERO,
        arrival: match args.rate {
            Some(rate_per_s) => Arrival::Poisson { rate_per_s },
            None => Arrival::Closed,
        },
        skip_after: limit.filter(|_| args.rate.is_some()),
        retry_within: limit,
        retries: args.max_tries.checked_sub(1).unwrap_or(u32::MAX),
        seed: seed(args.random_seed.as_deref())?,
        reuse,
        connects_each: args.connect,
        goes_on_after_errors: args.continue_on_error,
        operations: args.report_per_command,
        meter: args.meter.options(),
        interval: seconds(args.progress.unwrap_or(1)),
        ..RunPlan::default()
    })
}

fn seed(typed: Option<&str>) -> Result<u64, CannotRun> {
    let from_outside = std::env::var("PGBENCH_RANDOM_SEED").ok();
    match typed.or(from_outside.as_deref()).unwrap_or("42") {
        "time" => Ok(clock::wall()),
        // The address differs between processes, and so does the time.
        "rand" => Ok(clock::wall() ^ (u64::from(std::process::id()) << 32)),
        number => number.parse().map_err(|_error| {
            CannotRun(format!("--random-seed: \"{number}\" is not an integer, time or rand"))
        }),
    }
}

/// Refuses options that are not supported, by name.
pub(super) fn refuse(args: &PgbenchArgs) -> Result<(), CannotRun> {
    clients("-c", args.client as u64)?;
    refuse_together(args)?;
    let no = &args.refused;
    let tables = "the target decides the layout of its tables";
    let steps = args.init_steps.as_deref().unwrap_or_default();
    let each = [
        (no.fillfactor.is_some(), "-F", tables),
        (no.foreign_keys, "--foreign-keys", tables),
        (steps.contains('f'), "-I f", tables),
        (no.index_tablespace.is_some(), "--index-tablespace", tables),
        (no.tablespace.is_some(), "--tablespace", tables),
        (no.partition_method.is_some(), "--partition-method", tables),
        (no.partitions.is_some(), "--partitions", tables),
        (no.unlogged_tables, "--unlogged-tables", tables),
    ];
    if let Some((_, flag, why)) = each.into_iter().find(|(is_given, ..)| *is_given) {
        return Err(CannotRun(format!("{flag} does not apply: {why}")));
    }
    if args.initialize && args.meter.meter {
        return Err(CannotRun::because(
            "--meter does not apply to -i: it profiles a run, and -i only creates tables",
        ));
    }
    if let Some(step) = steps.chars().find(|step| !"dtgGvp ".contains(*step)) {
        return Err(CannotRun(format!(
            "-I: \"{step}\" is not a step; the steps are d, t, g, G, v, p"
        )));
    }
    let makes = steps.contains('t') && steps.contains(['g', 'G']);
    if !steps.is_empty() && !makes {
        return Err(CannotRun::because(
            "-I: tables are created and filled in one step, so give both t and g",
        ));
    }
    Ok(())
}

/// Options of a run, which pgbench refuses with -i.
const OF_A_RUN: [&str; 23] = [
    "builtin",
    "file",
    "skip-some-updates",
    "select-only",
    "client",
    "connect",
    "define",
    "jobs",
    "log",
    "latency-limit",
    "protocol",
    "progress",
    "report-per-command",
    "rate",
    "transactions",
    "time",
    "vacuum-all",
    "aggregate-interval",
    "failures-detailed",
    "max-tries",
    "progress-timestamp",
    "random-seed",
    "sampling-rate",
];

/// Options of -i, which pgbench refuses without it.
const OF_FILLING: [&str; 2] = ["init-steps", "quiet"];

/// Refuses combinations of options that pgbench refuses.
fn refuse_together(args: &PgbenchArgs) -> Result<(), CannotRun> {
    let first_of = |names: &[&str]| {
        let found = args.option_names.iter().find(|one| names.contains(&one.as_str()));
        found.cloned()
    };
    if let Some(flag) = first_of(&OF_A_RUN).filter(|_| args.initialize) {
        return Err(CannotRun(format!(
            "--{flag} cannot be used with -i, which fills tables and runs nothing: omit one of them"
        )));
    }
    if let Some(flag) = first_of(&OF_FILLING).filter(|_| !args.initialize) {
        return Err(CannotRun(format!("--{flag} can be used only with -i")));
    }
    if args.progress_timestamp && args.progress.is_none() {
        return Err(CannotRun::because("--progress-timestamp is allowed only under --progress"));
    }
    match (args.aggregate_interval, args.time) {
        (Some(interval), Some(time)) if interval > time => Err(CannotRun(format!(
            "--aggregate-interval={interval} is more than the {time} s of -T"
        ))),
        (Some(interval), Some(time)) if time % interval != 0 => Err(CannotRun(format!(
            "-T {time} is not a multiple of --aggregate-interval={interval}"
        ))),
        _ => Ok(()),
    }
}

/// Warnings for options that have no effect here.
pub(super) fn warnings(
    args: &PgbenchArgs,
    variable: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let flags = [
        (args.vacuum_all, "--vacuum-all", "nothing is vacuumed here"),
        (
            args.debug,
            "--debug",
            "nothing more is printed; the record holds everything known about a run",
        ),
    ];
    let flags = flags.into_iter().filter(|(is_given, ..)| *is_given);
    let colours = ["PG_COLOR", "PG_COLORS"];
    let colours = colours.into_iter().filter(|name| variable(name).is_some());
    let why = "NO_COLOR decides whether messages have colours";
    flags
        .map(|(_, name, why)| (name, why))
        .chain(colours.map(|name| (name, why)))
        .map(|(name, why)| format!("{name} has no effect here: {why}"))
        .collect()
}

/// Prints a line for each tenth of the load.
struct Filling {
    quiet: bool,
    tenths: Cell<u64>,
}

impl Filling {
    fn new(quiet: bool) -> Filling {
        let tenths = Cell::new(0);
        Filling { quiet, tenths }
    }
}

impl Observer for Filling {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Creating => terminal::note("creating tables..."),
            Event::Loading { units, of } if !self.quiet && of > 0 => {
                let tenths = units * 10 / of;
                if tenths > self.tenths.replace(tenths) {
                    terminal::note(&format!("{units} of {of} rows ({} %) done", tenths * 10));
                }
            }
            _ => {}
        }
    }
}
