//! `syncline pgbench`: pgbench's flags as a run of the workload "script", and its summary of it.
//!
//! A target whose tables can stay is used as pgbench uses a database: `-i` makes the tables, later runs
//! take what they find, at the scale that it has, and leave it; what the balances of built-in scripts have
//! grown by is checked. Scripts that name none of pgbench's tables run in whatever stands there. A bare
//! target is made, filled, checked and removed with the run.
//!
//! Exit codes are the program's: 2 where pgbench has 1 (nothing was measured), 1 where pgbench has 2
//! (the run broke off; what was measured is printed).

use super::clients::clients;
use super::pgbench_report as report;
use super::pgbench_watch::{Watch, seconds};
use super::server_url::Server;
use crate::args::{PgbenchArgs, ServerFlags};
use crate::commands::front::{self, Front, Recording};
use crate::commands::meter;
use crate::exit::{CannotRun, Outcome, Verdict};
use crate::shelf::Shelf;
use crate::terminal;
use std::cell::Cell;
use std::time::Duration;
use syncline_contract::{Capabilities, ClientModel, Protocol, Target};
use syncline_metering::clock;
use syncline_runner::{self as runner, Arrival, Event, Follower, Observer, RunPlan, StopReason};
use syncline_targets::server::shown;
use syncline_workloads::AnyWorkload;
use syncline_workloads::script::{BUILTINS, Builtin, Scripts, as_item};

/// Runs what pgbench would.
pub(crate) fn pgbench<S: Shelf>(args: &PgbenchArgs, shelf: &S) -> Outcome {
    if let Some(name) = &args.show_script {
        let script = Builtin::named(name)?;
        let text = format!("-- {}: {}\n{}", script.name, script.title, script.text);
        terminal::print(&text)?;
        return Ok(Verdict::Holds);
    }
    if args.builtin.iter().any(|name| name == "list") {
        let lines = BUILTINS.iter();
        let lines = lines.map(|script| format!("  {:>13}: {}\n", script.name, script.title));
        terminal::print(&format!(
            "Available builtin scripts:\n{}",
            lines.collect::<String>()
        ))?;
        return Ok(Verdict::Holds);
    }
    refuse(args)?;
    warn(args);
    let by_flags = server(&args.server, |name| std::env::var(name).ok());
    let url = match (args.on.as_deref(), by_flags.as_deref()) {
        (Some(_), Some(_)) => {
            return Err(CannotRun::because(
                "--on and pgbench's flags of a server (-h, -p, -U, -d, a database's name) both name the \
                 store: say one of them",
            ));
        }
        (on, by_flags) => on.or(by_flags).or(shelf.own()),
    };
    let url = url.ok_or_else(|| {
        CannotRun::because(
            "no target was named: say --on TARGET, such as --on sqlite, or -h HOST and a database's name",
        )
    })?;
    let target = shelf.meet(url)?;
    if args.initialize {
        initialize(args, url, &target)
    } else {
        measure(args, url, &target)
    }
}

/// The URL of the server that pgbench's own flags name, or else the variables that pgbench reads; none
/// without such flags. Tables stay there in a schema of ours, as pgbench's stay in its database.
fn server(flags: &ServerFlags, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let database = flags.database.as_ref().or(flags.dbname.as_ref());
    let said = [&flags.host, &flags.port, &flags.username];
    if database.is_none() && said.iter().all(|one| one.is_none()) {
        return None;
    }
    let or = |said: Option<&String>, name: &str| said.cloned().or_else(|| variable(name));
    let (host, port) = (
        or(flags.host.as_ref(), "PGHOST"),
        or(flags.port.as_ref(), "PGPORT"),
    );
    let user = or(flags.username.as_ref(), "PGUSER");
    let database = or(database, "PGDATABASE").or_else(|| user.clone());
    let server = Server {
        scheme: "postgres",
        host: host.as_deref(),
        port: port.as_deref(),
        database: database.as_deref(),
        user: user.as_deref(),
        options: vec![("schema", "pgbench")],
        ..Server::default()
    };
    Some(server.url())
}

/// Makes the tables anew and fills them; one select of a row tells that they are there.
fn initialize<T: Target>(args: &PgbenchArgs, url: &str, target: &T) -> Outcome {
    if !target.capabilities().reopens {
        return Err(CannotRun(format!(
            "-i: what {} holds goes with the run; name a place that stays, such as --on sqlite:bench.db",
            shown(url)
        )));
    }
    let select = ["select-only".to_owned()];
    let options = options(
        args,
        &[],
        &select,
        Protocol::Prepared,
        args.scale.unwrap_or(1),
    );
    let workload = AnyWorkload::parse("script", &options)?;
    // Bad options have been refused by now, and do no harm.
    let began = clock::now();
    front::make_empty(target)?;
    let plan = RunPlan {
        transactions: Some(1),
        duration: None,
        warm_up: Duration::ZERO,
        reuse: true,
        ..RunPlan::default()
    };
    let said = Filling::new(args.quiet);
    let result = front::only_run(target, &workload, &plan, &said)?;
    let seconds = seconds(clock::now() - began);
    if let StopReason::Failure { what, .. } = result.stopped_by {
        return Err(CannotRun(what));
    }
    terminal::note(&format!("done in {seconds:.2} s."));
    Ok(Verdict::Holds)
}

fn measure<T: Target>(args: &PgbenchArgs, url: &str, target: &T) -> Outcome {
    let (files, builtins) = scripts(args);
    let can = target.capabilities();
    let protocol = protocol(args, &can);
    let parsed = |scale| {
        let options = options(args, &files, &builtins, protocol, scale);
        AnyWorkload::parse("script", &options).map_err(CannotRun::from)
    };
    let mut workload = parsed(args.scale.unwrap_or(1))?;
    let reuse = can.reopens;
    if let Some(scale) = scale_there(args, reuse, target, &workload)? {
        workload = parsed(scale)?;
    }
    let recording = Recording {
        url,
        runs: &args.runs,
        map: meter::map(&args.meter)?,
    };
    let plan = plan(args, can.client_model, reuse)?;
    let watch = Watch::new(args, plan.seed)?;
    let counting = watch.follower();
    let follower = counting.as_ref().map(|one| -> &dyn Follower { one });
    let Front {
        result,
        record,
        kept,
    } = front::run(recording, target, &workload, &plan, &watch, follower)?;
    watch.finish()?;
    let AnyWorkload::Script(scripts) = &workload else {
        unreachable!("it was parsed as one")
    };
    if args.json {
        terminal::print(&front::json(&record))?;
    } else {
        let weights = scripts.weights();
        let summary = report::summary(args, &result, protocol, &weights, &watch);
        terminal::print(&summary)?;
        front::print_cost(&record)?;
    }
    let verdict = front::judge(&record).and(kept);
    if let StopReason::Failure { .. } = result.stopped_by {
        terminal::error("the run was broken off; the results above are incomplete");
        return Ok(Verdict::Broken);
    }
    Ok(verdict)
}

/// The scale of pgbench's tables that stand there; none if none do, or the scripts name none. Another one
/// by -s is refused: it would be untrue.
fn scale_there<T: Target>(
    args: &PgbenchArgs,
    reuse: bool,
    target: &T,
    workload: &AnyWorkload,
) -> Result<Option<u64>, CannotRun> {
    if !reuse {
        return Ok(None);
    }
    let loaded = runner::loaded_as(target, workload)?;
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
    let asked = Protocol::ALL
        .into_iter()
        .find(|one| args.protocol.as_deref() == Some(one.word()));
    asked.unwrap_or(if can.protocols {
        Protocol::Simple
    } else {
        Protocol::Prepared
    })
}

/// The files and the built-in scripts that were asked for.
fn scripts(args: &PgbenchArgs) -> (Vec<String>, Vec<String>) {
    let mut builtins = args.builtin.clone();
    builtins.extend(args.skip_some_updates.then(|| "simple-update".to_owned()));
    builtins.extend(args.select_only.then(|| "select-only".to_owned()));
    if builtins.is_empty() && args.file.is_empty() {
        builtins.push("tpcb-like".to_owned());
    }
    (args.file.clone(), builtins)
}

/// As options of the workload.
fn options(
    args: &PgbenchArgs,
    files: &[String],
    builtins: &[String],
    protocol: Protocol,
    scale: u64,
) -> Vec<(String, String)> {
    let list = |all: &[String]| match all {
        [] => "none".to_owned(),
        all => {
            let items: Vec<_> = all.iter().map(|one| as_item(one)).collect();
            items.join(",")
        }
    };
    let pair = |name: &str, value: String| (name.to_owned(), value);
    vec![
        pair("file", list(files)),
        pair("builtin", list(builtins)),
        pair("scale", scale.to_string()),
        pair("define", list(&args.define)),
        pair("protocol", protocol.word().to_owned()),
    ]
}

fn plan(args: &PgbenchArgs, model: ClientModel, reuse: bool) -> Result<RunPlan, CannotRun> {
    if args.max_tries == 0 && args.time.is_none() && args.latency_limit.is_none() {
        return Err(CannotRun::because(
            "--max-tries=0 tries without end, so -T must end the run, or -L the tries",
        ));
    }
    let limit = args
        .latency_limit
        .map(|ms| Duration::from_secs_f64((ms / 1e3).min(1e9)));
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
        meter: meter::options(&args.meter),
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
            CannotRun(format!(
                "--random-seed: \"{number}\" is no integer, time or rand"
            ))
        }),
    }
}

/// Refuses, by its name, what cannot be done here.
fn refuse(args: &PgbenchArgs) -> Result<(), CannotRun> {
    clients("-c", args.client as u64)?;
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
            "--meter does not apply to -i: it looks into a run, and -i only makes tables",
        ));
    }
    if let Some(step) = steps.chars().find(|step| !"dtgGvp ".contains(*step)) {
        return Err(CannotRun(format!(
            "-I: \"{step}\" is no step; there are d, t, g, G, v, p"
        )));
    }
    let makes = steps.contains('t') && steps.contains(['g', 'G']);
    if !steps.is_empty() && !makes {
        return Err(CannotRun::because(
            "-I: tables are made and filled in one, so that t and g belong together",
        ));
    }
    Ok(())
}

/// Warns of what is taken and means nothing here.
fn warn(args: &PgbenchArgs) {
    if args.vacuum_all {
        terminal::warn("-v: there is nothing to vacuum here");
    }
    if args.init_steps.is_some() && !args.initialize {
        terminal::warn("-I means nothing without -i");
    }
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

#[cfg(test)]
mod tests {
    use super::server;
    use crate::args::ServerFlags;

    #[test]
    fn flags_of_a_server_become_its_url_and_variables_fill_them_up() {
        let none = |_: &str| None;
        assert_eq!(server(&ServerFlags::default(), none), None);
        let variables = |name: &str| {
            let found = [("PGHOST", "/run/pg"), ("PGUSER", "me"), ("PGPORT", "7")];
            let found = found.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(
            server(&ServerFlags::default(), variables),
            None,
            "a bare line names none"
        );
        let named = ServerFlags {
            database: Some("bench".to_owned()),
            ..ServerFlags::default()
        };
        assert_eq!(
            server(&named, none).as_deref(),
            Some("postgres:///bench?schema=pgbench")
        );
        assert_eq!(
            server(&named, variables).as_deref(),
            Some("postgres://me@:7/bench?socket=/run/pg&schema=pgbench")
        );
        let whole = ServerFlags {
            host: Some("db.example".to_owned()),
            port: Some("5433".to_owned()),
            username: Some("you".to_owned()),
            ..ServerFlags::default()
        };
        assert_eq!(
            server(&whole, none).as_deref(),
            Some("postgres://you@db.example:5433/you?schema=pgbench")
        );
    }
}
