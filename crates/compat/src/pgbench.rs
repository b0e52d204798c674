//! `syncline pgbench`: pgbench's flags as a run of the workload "script", and its summary of it.
//!
//! A target whose tables can stay is used as pgbench uses a database: `-i` makes the tables, later runs
//! take what they find, at the scale that it has, and leave it; what the balances of built-in scripts have
//! grown by is checked. Without `-i` no table is made there. Tables that are the user's own, such as those of
//! the real `pgbench -i`, are used as they are (`pgbench_tables.rs`). Scripts that name none of pgbench's
//! tables run in whatever is there. A bare target is made, filled, checked and removed with the run.
//!
//! Exit codes are the program's: 2 where pgbench has 1 (nothing was measured), 1 where pgbench has 2
//! (the run broke off; what was measured is printed).

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
use syncline_stores::server::shown;
use syncline_workloads::AnyWorkload;
use syncline_workloads::script::{BUILTINS, Builtin, Scripts, as_item};

/// Runs what pgbench would.
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
             say one of them",
        ));
    }
    // A program's own store is meant where nothing on the command line names another.
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
            "no target was named: say --on TARGET, such as --on sqlite, or -h HOST and a database's name, or \
             set PGHOST or PGDATABASE",
        ));
    };
    for warning in warnings {
        terminal::warn(&warning);
    }
    let mut target = laboratory.open_checked(&url)?;
    if pgbench_tables::view(&target, &[])?.waits_for_log == Some(false) {
        // What the session is told by its options, its role or the server is what pgbench measures.
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

/// Makes the tables anew and fills them; one select of a row tells that they are there.
fn initialize<L: Laboratory>(
    args: &PgbenchArgs,
    url: &str,
    target: &L::Target,
    laboratory: &L,
) -> Outcome {
    if !target.capabilities().reopens {
        return Err(CannotRun(format!(
            "-i: what {} holds goes with the run; name a place that stays, such as --on sqlite:bench.db",
            shown(url)
        )));
    }
    let select = [Chosen::BuiltIn("select-only".to_owned())];
    let scale = args.scale.unwrap_or(1);
    let options = options(args, &select, Protocol::Prepared, scale, MADE);
    let workload = AnyWorkload::parse("script", &options)?;
    pgbench_tables::refuse_beside(&pgbench_tables::view(target, &TABLES)?, url)?;
    // Bad options have been refused by now, and do no harm.
    let began = clock::now();
    recorded_run::make_empty(target)?;
    let plan = RunPlan {
        transactions: Some(1),
        duration: None,
        warm_up: Duration::ZERO,
        reuse: true,
        ..RunPlan::default()
    };
    let said = Filling::new(args.quiet);
    let result = target.run(&workload, &plan, laboratory.stop_flag(), &said, None)?;
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
        let ours = scale_there(args, reuse, target, &workload);
        if !view.tables.is_empty() {
            if !matches!(ours, Ok(None)) {
                return Err(pgbench_tables::refuse_both(&view, url));
            }
            workload = parsed(scale_of_users(args, &chosen, target)?, "user")?;
            if !args.no_vacuum {
                terminal::warn(
                    "pgbench would vacuum its tables and empty pgbench_history before the run; they are the \
                     user's own here and stay as they are, as with -n",
                );
            }
        } else if let Some(scale) = ours? {
            workload = parsed(scale, MADE)?;
        } else if reuse {
            return Err(pgbench_tables::missing(url));
        } else {
            terminal::note("pgbench's tables are made for this run and removed after it");
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
        terminal::error("the run was broken off; the results above are incomplete");
        return Ok(Verdict::Broken);
    }
    Ok(verdict)
}

/// The scale of pgbench's tables that stand there; none if none do, or the scripts name none. Another one
/// by -s is refused: it would be untrue.
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
            "-s {asked}: the tables there are at scale {there}, not at scale {asked}; leave -s out, or make \
             them anew with -i -s {asked}"
        ))),
        _ => Ok(there),
    }
}

/// How statements are sent: by the simple protocol unless -M says otherwise, as pgbench does; a store
/// without protocols prepares them.
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

/// The scale of the user's own tables: counted for built-in scripts, as pgbench does, else what -s says.
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

/// The scripts that were asked for, in the order of the command line.
fn scripts(args: &PgbenchArgs) -> Vec<Chosen> {
    if args.scripts.is_empty() {
        return vec![Chosen::BuiltIn("tpcb-like".to_owned())];
    }
    args.scripts.clone()
}

/// Tables that the run makes, or finds as an earlier run of ours has left them.
const MADE: &str = "run";

/// As options of the workload.
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
            "--max-tries=0 tries without end, so -T must end the run, or -L the tries",
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
        // The addresses of a process differ from one to the next, and so does the time.
        "rand" => Ok(clock::wall() ^ (u64::from(std::process::id()) << 32)),
        number => number.parse().map_err(|_error| {
            CannotRun(format!("--random-seed: \"{number}\" is no integer, time or rand"))
        }),
    }
}

/// Refuses, by its name, what cannot be done here.
pub(super) fn refuse(args: &PgbenchArgs) -> Result<(), CannotRun> {
    clients("-c", args.client as u64)?;
    refuse_together(args)?;
    let no = &args.refused;
    let tables = "how tables are laid out is the target's affair";
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
    if let Some((_, flag, why)) = each.into_iter().find(|(given, ..)| *given) {
        return Err(CannotRun(format!("{flag} does not apply: {why}")));
    }
    if args.initialize && args.meter.meter {
        return Err(CannotRun::because(
            "--meter does not apply to -i: it profiles a run, and -i only makes tables",
        ));
    }
    if let Some(step) = steps.chars().find(|step| !"dtgGvp ".contains(*step)) {
        return Err(CannotRun(format!("-I: \"{step}\" is no step; there are d, t, g, G, v, p")));
    }
    let makes = steps.contains('t') && steps.contains(['g', 'G']);
    if !steps.is_empty() && !makes {
        return Err(CannotRun::because(
            "-I: tables are made and filled in one, so that t and g belong together",
        ));
    }
    Ok(())
}

/// Flags of a run, which pgbench refuses beside -i.
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

/// Flags of -i, which pgbench refuses without it.
const OF_FILLING: [&str; 2] = ["init-steps", "quiet"];

/// Refuses flags that pgbench does not take together.
fn refuse_together(args: &PgbenchArgs) -> Result<(), CannotRun> {
    let given = |names: &[&str]| {
        let found = args.given.iter().find(|one| names.contains(&one.as_str()));
        found.cloned()
    };
    if let Some(flag) = given(&OF_A_RUN).filter(|_| args.initialize) {
        return Err(CannotRun(format!(
            "--{flag} cannot be used with -i, which fills tables and runs nothing: leave one of them out"
        )));
    }
    if let Some(flag) = given(&OF_FILLING).filter(|_| !args.initialize) {
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

/// What is taken and means nothing here, in sentences.
pub(super) fn warnings(
    args: &PgbenchArgs,
    variable: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let flags = [
        (args.vacuum_all, "--vacuum-all", "nothing is vacuumed here"),
        (
            args.debug,
            "--debug",
            "nothing more is printed; the record holds all that is known of a run",
        ),
    ];
    let flags = flags.into_iter().filter(|(given, ..)| *given);
    let colours = ["PG_COLOR", "PG_COLORS"];
    let colours = colours.into_iter().filter(|name| variable(name).is_some());
    let why = "NO_COLOR decides whether messages have colours";
    flags
        .map(|(_, name, why)| (name, why))
        .chain(colours.map(|name| (name, why)))
        .map(|(name, why)| format!("{name} means nothing here: {why}"))
        .collect()
}

/// Follows a filling of the tables, a line each tenth of it.
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
