//! Runs of select, update and join beside Derby's resource usage of 2006: a row a module, its figures
//! per transaction, and then ours.
//!
//! Ours by module come from a record's `cost`, which only a metered run has; without it every cell of
//! ours says so. What is known of a run as a whole stands below, whether it was metered or not.

use super::super::grid::{Grid, Side};
use super::super::prose;
use super::parts::{self, NOT_GIVEN, label, note};
use super::source::Wants;
use crate::Result;
use crate::published::{DerbyLoad, DerbyModule, derby};
use crate::record::{Counted, Record, RunRecord};
use crate::units;
use syncline_metering::Module;

pub(super) const WANTS: Wants = Wants {
    view: "derby",
    shows: "runs of select, update and join",
    command: "syncline run select --on engine --clients 10 (or update with 20 clients, join with 4)",
};

const NOT_METERED: &str = "not metered";

/// How many runs stand beside one another in a table; cells of a metered run are wide.
const ABREAST: usize = 2;
const ABREAST_METERED: usize = 1;

/// The view.
pub(super) fn view(records: &[Record]) -> Result<String> {
    let mut runs = Vec::new();
    for record in records {
        let run = record.as_run();
        let known = |name: &str| derby().loads.iter().any(|load| load.load == name);
        let fits = run.filter(|run| known(&run.head.workload.name));
        runs.push(fits.ok_or_else(|| WANTS.refuse(record))?);
    }
    if runs.is_empty() {
        return Err(WANTS.nothing());
    }
    let mut text = parts::then(&derby().source);
    text += &parts::now(&runs);
    let numbered: Vec<(String, &RunRecord)> = runs
        .iter()
        .enumerate()
        .map(|(index, run)| (label(index, runs.len()), *run))
        .collect();
    for load in &derby().loads {
        let own = numbered
            .iter()
            .filter(|(_, run)| run.head.workload.name == load.load);
        let own: Vec<&(String, &RunRecord)> = own.collect();
        let any_metered = own.iter().any(|(_, run)| run.end.cost.is_some());
        let most = if any_metered {
            ABREAST_METERED
        } else {
            ABREAST
        };
        for abreast in own.chunks(most) {
            text += &prose::heading(&format!(
                "{}, then with {} clients",
                load.load, load.clients
            ));
            text += &modules(load, abreast);
            text += "\n";
            text += &whole(load, abreast);
        }
    }
    text += "\n";
    text += &notes(&runs);
    Ok(text)
}

fn modules(load: &DerbyLoad, own: &[&(String, &RunRecord)]) -> String {
    let mut columns = vec![
        ("module", Side::Left),
        ("CPU %", Side::Right),
        ("wall %", Side::Right),
        ("bytes", Side::Right),
        ("objects", Side::Right),
        ("calls", Side::Right),
        ("switches", Side::Right),
    ];
    columns.extend(own.iter().map(|(label, _)| (label.as_str(), Side::Right)));
    let mut grid = Grid::new(&columns);
    for module in Module::ALL {
        let theirs = load.modules.iter().find(|one| one.module == module.name());
        let mut cells = vec![named(module, theirs)];
        cells.extend(theirs.map_or_else(|| [NO_ROW; 6].map(str::to_owned), published));
        cells.extend(own.iter().map(|(_, run)| metered(run, module)));
        grid.row(cells);
    }
    grid.render()
}

/// What stands where the page has no row for a module.
const NO_ROW: &str = "";

/// Our heading, with the page's word where it is another.
fn named(module: Module, theirs: Option<&DerbyModule>) -> String {
    let other = theirs.filter(|one| one.name != module.heading());
    other.map_or_else(
        || module.heading().to_owned(),
        |one| format!("{} (then: {})", module.heading(), one.name),
    )
}

fn published(module: &DerbyModule) -> [String; 6] {
    let switches = module.voluntary_switches.zip(module.involuntary_switches);
    [
        given(module.cpu_percent, 1),
        given(module.wall_percent, 1),
        given(module.bytes, 0),
        given(module.objects, 0),
        given(module.system_calls, 1),
        switches.map_or_else(dash, |(own, forced)| format!("{own:.1}+{forced:.1}")),
    ]
}

/// With as many decimals as the page gives.
fn given(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or_else(dash, |figure| format!("{figure:.decimals$}"))
}

fn dash() -> String {
    "-".to_owned()
}

/// "12.3 %, 1.20 us": the part of all CPU time, and the time of a transaction.
fn metered(run: &RunRecord, module: Module) -> String {
    let Some(cost) = &run.end.cost else {
        return NOT_METERED.to_owned();
    };
    let all: f64 = cost.values().sum();
    match cost.get(module.name()) {
        Some(ns) if all > 0.0 => format!("{}, {}", units::percent(ns / all), units::span(*ns)),
        Some(_) | None => units::UNKNOWN.to_owned(),
    }
}

/// Figures of a transaction as a whole.
fn whole(load: &DerbyLoad, own: &[&(String, &RunRecord)]) -> String {
    let mut columns = vec![
        ("a transaction as a whole", Side::Left),
        ("then", Side::Right),
    ];
    columns.extend(own.iter().map(|(label, _)| (label.as_str(), Side::Right)));
    let mut grid = Grid::new(&columns);
    let of = |pick: fn(&RunRecord) -> &Counted, show: fn(f64) -> String| -> Vec<String> {
        own.iter()
            .map(|(_, run)| units::or_unknown(pick(run).value, show))
            .collect()
    };
    let figure = units::figure;
    let mut row = |name: &str, then: Option<f64>, now: Vec<String>| {
        let then = then.map_or_else(|| NOT_GIVEN.to_owned(), units::figure);
        grid.row([vec![name.to_owned(), then], now].concat());
    };
    let calls = of(|run| &run.end.per_commit.system_calls, figure);
    row(
        "system calls",
        load.sum(|module| module.system_calls),
        calls,
    );
    let writes = load.sync_writes.iter().map(|one| one.per_transaction);
    let writes = writes.reduce(|one, other| one + other);
    row(
        &format!("synchronous writes{}", by_modules(load)),
        writes,
        of(|run| &run.end.per_commit.synced_writes, figure),
    );
    row(
        "sync calls",
        None,
        of(|run| &run.end.per_commit.syncs, figure),
    );
    let switches = vec!["not recorded".to_owned(); own.len()];
    row(
        "voluntary switches",
        load.sum(|module| module.voluntary_switches),
        switches,
    );
    row(
        "client CPU",
        None,
        of(|run| &run.end.per_commit.client_cpu_ns, units::span),
    );
    row(
        "store CPU",
        None,
        of(|run| &run.end.per_commit.target_cpu_ns, units::span),
    );
    row(
        "page faults",
        None,
        of(|run| &run.end.per_commit.page_faults, figure),
    );
    grid.render()
}

/// Whose synchronous writes they were: " (then: logging, data store)".
fn by_modules(load: &DerbyLoad) -> String {
    let of_module = |name: &str| Module::ALL.into_iter().find(|module| module.name() == name);
    let modules = load.sync_writes.iter();
    let modules = modules.filter_map(|one| of_module(&one.module));
    let words: Vec<&str> = modules.map(Module::heading).collect();
    if words.is_empty() {
        String::new()
    } else {
        format!(" (then: {})", words.join(", "))
    }
}

fn notes(runs: &[&RunRecord]) -> String {
    let mut text = note(
        "CPU %, wall %: parts of all CPU time and of all wall clock time; bytes, objects: allocated; \
         calls: system calls; switches: voluntary + involuntary; all per transaction, all of 2006. \
         -: not given. Then of a transaction as a whole: sums of the modules that have a figure",
    );
    text += &note(
        "now: the part of all CPU time, and CPU time a transaction. Client CPU holds the store's where \
         the store is a library in the workers",
    );
    if runs.iter().any(|run| run.end.cost.is_none()) {
        text += &note(
            "not metered: the run was not asked what its store's modules cost; a metered run records \
             it as cost, and fills these cells",
        );
    }
    text
}
