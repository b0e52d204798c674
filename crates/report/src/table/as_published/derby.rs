//! Runs of select, update and join next to Derby's resource usage of 2006: a row per module, with its figures
//! per transaction of 2006 and then Syncline's.
//!
//! Syncline's figures by module come from a record's `cost`, which only a profiled run has; without it the
//! cells are "not metered". The figures of a run as a whole are below, profiled or not.

use super::super::grid::{Grid, Side};
use super::super::prose;
use super::source::SourceRequirements;
use super::source_header::{self, NOT_GIVEN, label, note};
use crate::Result;
use crate::cost::{CostChoice, CostThreads, Figure, Heading, Sheet, SheetRow, garbage_share};
use crate::published::{DerbyLoad, DerbyModule, derby};
use syncline_profile::Module;
use syncline_record::units;
use syncline_record::{Counted, Record, RunRecord};

pub(super) const REQUIREMENTS: SourceRequirements = SourceRequirements {
    view: "derby",
    shows: "runs of select, update and join",
    command: "syncline run select --on engine --clients 10 (or update with 20 clients, join with 4)",
};

const NOT_METERED: &str = "not metered";

/// The most runs without a profile in one table.
const ABREAST: usize = 2;

/// The view.
pub(super) fn view(records: &[Record]) -> Result<String> {
    let mut runs = Vec::new();
    for record in records {
        let run = record.as_run();
        let known = |name: &str| derby().loads.iter().any(|load| load.load == name);
        let fits = run.filter(|run| known(&run.head.workload.name));
        runs.push(fits.ok_or_else(|| REQUIREMENTS.refuse(record))?);
    }
    if runs.is_empty() {
        return Err(REQUIREMENTS.nothing());
    }
    let mut text = source_header::then(&derby().source);
    text += &source_header::now(&runs);
    let numbered: Vec<(String, &RunRecord)> =
        runs.iter().enumerate().map(|(index, run)| (label(index, runs.len()), *run)).collect();
    for load in &derby().loads {
        let own = numbered.iter().filter(|(_, run)| run.head.workload.name == load.load);
        let (metered, other): (Vec<_>, Vec<_>) = own.partition(|(_, run)| run.end.cost.is_some());
        let groups = other.chunks(ABREAST).chain(metered.chunks(1));
        for abreast in groups {
            text += &prose::heading(&format!("{}, then with {} clients", load.load, load.clients));
            text += &match abreast {
                [(label, run)] if run.end.cost.is_some() => then_and_now(load, label, run),
                _ => modules(load, abreast),
            };
            text += "\n";
            text += &whole_transaction(load, abreast);
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
    let mut waits = Grid::new(&[
        ("module", Side::Left),
        ("contended", Side::Right),
        ("slept", Side::Right),
        ("synced", Side::Right),
        ("unsynced", Side::Right),
    ]);
    for module in rows_of_the_page() {
        let theirs = of_the_page(load, module);
        let then = theirs.map_or_else(|| [NO_ROW; 10].map(str::to_owned), published_cells);
        let (first, rest) = then.split_at(6);
        let mut cells = [&[module_name(module, theirs)], first].concat();
        cells.extend(own.iter().map(|_| NOT_METERED.to_owned()));
        grid.row(cells);
        if rest.iter().any(|cell| *cell != dash() && *cell != NO_ROW) {
            waits.row([&[module_name(module, theirs)], rest].concat());
        }
    }
    format!("{}\n{}", grid.render(), waits.render())
}

/// Syncline's columns next to the page's, in the order of the tables.
const NOW: [Heading; 13] = [
    Heading::Share("cpu_user"),
    Heading::Share("cpu_kernel"),
    Heading::CpuShare,
    Heading::WallShare,
    Heading::Metric("allocated_bytes"),
    Heading::Metric("allocated_objects"),
    Heading::Metric("system_calls"),
    Heading::Metric("voluntary_switches"),
    Heading::Metric("involuntary_switches"),
    Heading::Metric("contentions"),
    Heading::Metric("sleeps"),
    Heading::Metric("sync_writes"),
    Heading::Metric("async_writes"),
];

/// The tables of a profiled run: each module's figures from the page, and Syncline's.
fn then_and_now(load: &DerbyLoad, label: &str, run: &RunRecord) -> String {
    let Some(cost) = &run.end.cost else {
        return String::new();
    };
    let sheet = Sheet::with(cost, &CostChoice::default(), &NOW);
    let left = |name| (name, Side::Left);
    let right = |name| (name, Side::Right);
    let mut shares = Grid::new(&[
        left("module"),
        right("CPU %"),
        right("user"),
        right("kernel"),
        right("total"),
        right("wall %"),
        right("now"),
        right("bytes"),
        right("now"),
    ]);
    let mut events = Grid::new(&[
        left("module"),
        right("objects"),
        right("now"),
        right("calls"),
        right("now"),
        right("switches"),
        right("now"),
    ]);
    let mut waits = Grid::new(&[
        left("module"),
        right("contended"),
        right("now"),
        right("slept"),
        right("now"),
        right("synced"),
        right("now"),
        right("unsynced"),
        right("now"),
    ]);
    let mut each = |name: String, then: [String; 10], now: Option<&SheetRow>| {
        let [cpu, wall, bytes, objects, calls, switches, then @ ..] = then;
        let cell = |column: usize| now.map_or_else(String::new, |row| now_cell(&row.cells[column]));
        let switches_now = match now.map(|row| (&row.cells[7], &row.cells[8])) {
            None => String::new(),
            Some((Figure::Count(own), Figure::Count(forced))) => {
                format!("{}+{}", units::figure(*own), units::figure(*forced))
            }
            Some(_) => units::UNKNOWN.to_owned(),
        };
        shares.row(vec![
            name.clone(),
            cpu,
            cell(0),
            cell(1),
            cell(2),
            wall,
            cell(3),
            bytes,
            cell(4),
        ]);
        events.row(vec![name.clone(), objects, cell(5), calls, cell(6), switches, switches_now]);
        let pairs = then.into_iter().zip(9..);
        let cells = pairs.flat_map(|(then, column)| [then, cell(column)]);
        waits.row([name].into_iter().chain(cells).collect());
    };
    for module in rows_of_the_page() {
        let theirs = of_the_page(load, module);
        let now = sheet.modules.iter().find(|row| row.module == module);
        let has_any = module.is_none() || now.is_some_and(SheetRow::holds_anything);
        if theirs.is_some() || has_any {
            let then = theirs.map_or_else(|| [NO_ROW; 10].map(str::to_owned), published_cells);
            each(module_name(module, theirs), then, now);
        }
    }
    each("all".to_owned(), published_cells(&sum(load)), Some(&sheet.sum));
    format!(
        "{label}: {}\n{}\n{}\n{}",
        sheet.threads,
        shares.render(),
        events.render(),
        waits.render()
    )
}

/// Syncline's figure, with as few digits as the page's.
fn now_cell(figure: &Figure) -> String {
    match figure {
        Figure::Share(share) => format!("{:.1}", share * 100.0),
        Figure::Bytes(bytes) => format!("{bytes:.0}"),
        Figure::Count(count) => units::figure(*count),
        Figure::LeftOut => "left out".to_owned(),
        _ => units::UNKNOWN.to_owned(),
    }
}

/// The page's figures of all modules together.
fn sum(load: &DerbyLoad) -> DerbyModule {
    DerbyModule {
        name: "all".to_owned(),
        module: String::new(),
        cpu_percent: load.sum(|module| module.cpu_percent),
        wall_percent: load.sum(|module| module.wall_percent),
        bytes: load.sum(|module| module.bytes),
        objects: load.sum(|module| module.objects),
        system_calls: load.sum(|module| module.system_calls),
        voluntary_switches: load.sum(|module| module.voluntary_switches),
        involuntary_switches: load.sum(|module| module.involuntary_switches),
        contentions: load.sum(|module| module.contentions),
        sleeps: load.sum(|module| module.sleeps),
        sync_writes: load.sum(|module| module.sync_writes),
        async_writes: load.sum(|module| module.async_writes),
    }
}

/// Every module, and last unknown code, for which the page has a row too.
fn rows_of_the_page() -> impl Iterator<Item = Option<Module>> {
    Module::ALL.into_iter().map(Some).chain([None])
}

/// The page's row for one of Syncline's modules.
fn of_the_page(load: &DerbyLoad, module: Option<Module>) -> Option<&DerbyModule> {
    let is = |one: &&DerbyModule| match module {
        Some(module) => one.module == module.name() && one.name != UNKNOWN_ROW,
        None => one.name == UNKNOWN_ROW,
    };
    load.modules.iter().find(is)
}

/// The page's name for unknown code.
const UNKNOWN_ROW: &str = "unknown";

/// The cell for a module without a row on the page.
const NO_ROW: &str = "";

/// The module's heading, with the page's name if that differs.
fn module_name(module: Option<Module>, theirs: Option<&DerbyModule>) -> String {
    let Some(module) = module else {
        return UNKNOWN_ROW.to_owned();
    };
    let other = theirs.filter(|one| one.name != module.heading());
    other.map_or_else(
        || module.heading().to_owned(),
        |one| format!("{} (then: {})", module.heading(), one.name),
    )
}

fn published_cells(module: &DerbyModule) -> [String; 10] {
    let switches = module.voluntary_switches.zip(module.involuntary_switches);
    let small = |writes: Option<f64>| writes.map_or_else(dash, units::figure);
    [
        published_figure(module.cpu_percent, 1),
        published_figure(module.wall_percent, 1),
        published_figure(module.bytes, 0),
        published_figure(module.objects, 0),
        published_figure(module.system_calls, 1),
        switches.map_or_else(dash, |(own, forced)| format!("{own:.1}+{forced:.1}")),
        published_figure(module.contentions, 1),
        published_figure(module.sleeps, 1),
        small(module.sync_writes),
        small(module.async_writes),
    ]
}

/// A figure with as many decimals as on the page.
fn published_figure(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or_else(dash, |figure| format!("{figure:.decimals$}"))
}

fn dash() -> String {
    "-".to_owned()
}

/// Figures of a transaction as a whole.
fn whole_transaction(load: &DerbyLoad, own: &[&(String, &RunRecord)]) -> String {
    let mut columns = vec![("a transaction as a whole", Side::Left), ("then", Side::Right)];
    columns.extend(own.iter().map(|(label, _)| (label.as_str(), Side::Right)));
    let mut grid = Grid::new(&columns);
    let of = |pick: fn(&RunRecord) -> &Counted, show: fn(f64) -> String| -> Vec<String> {
        own.iter().map(|(_, run)| units::or_unknown(pick(run).value, show)).collect()
    };
    let figure = units::figure;
    let mut row = |name: &str, then: Option<f64>, now: Vec<String>| {
        let then = then.map_or_else(|| NOT_GIVEN.to_owned(), units::figure);
        grid.row([vec![name.to_owned(), then], now].concat());
    };
    let calls = of(|run| &run.end.per_commit.system_calls, figure);
    row("system calls", load.sum(|module| module.system_calls), calls);
    let writes = load.sum(|module| module.sync_writes);
    row(
        &format!("synchronous writes{}", by_modules(load)),
        writes,
        of(|run| &run.end.per_commit.synced_writes, figure),
    );
    row("sync calls", None, of(|run| &run.end.per_commit.syncs, figure));
    for (name, metric, then) in [
        ("voluntary switches", "voluntary_switches", load.sum(|module| module.voluntary_switches)),
        (
            "involuntary switches",
            "involuntary_switches",
            load.sum(|module| module.involuntary_switches),
        ),
        ("bytes allocated", "allocated_bytes", load.sum(|module| module.bytes)),
    ] {
        let now = own.iter().map(|(_, run)| by_meter(run, metric));
        row(name, then, now.collect());
    }
    for (name, metric, then) in [
        ("contended locks", "contentions", load.sum(|module| module.contentions)),
        ("sleeps", "sleeps", load.sum(|module| module.sleeps)),
        ("asynchronous writes", "async_writes", load.sum(|module| module.async_writes)),
    ] {
        let now = own.iter().map(|(_, run)| by_meter(run, metric));
        row(name, then, now.collect());
    }
    for garbage in &load.garbage {
        let name = format!("garbage, % of CPU (then: {})", garbage.machine);
        let now = own.iter().map(|(_, run)| garbage_of(run)).collect();
        row(&name, Some(garbage.cpu_percent), now);
    }
    row("client CPU", None, of(|run| &run.end.per_commit.client_cpu_ns, units::span));
    row("store CPU", None, of(|run| &run.end.per_commit.target_cpu_ns, units::span));
    row("page faults", None, of(|run| &run.end.per_commit.page_faults, figure));
    grid.render()
}

/// A metric of a profiled run, over all threads.
fn by_meter(run: &RunRecord, metric: &'static str) -> String {
    let Some(cost) = &run.end.cost else {
        return NOT_METERED.to_owned();
    };
    let all = CostChoice { threads: CostThreads::All, ..CostChoice::default() };
    let sheet = Sheet::with(cost, &all, &[Heading::Metric(metric)]);
    let whole = sheet.whole.map(|row| row.cells);
    let cell = match sheet.sum.cells.as_slice() {
        [Figure::None] => whole.and_then(|cells| cells.into_iter().next()),
        [cell] => Some(cell.clone()),
        _ => None,
    };
    cell.map_or_else(|| units::UNKNOWN.to_owned(), |cell| now_cell(&cell))
}

/// The part of a profiled run's processor time that was spent on garbage collection.
fn garbage_of(run: &RunRecord) -> String {
    match &run.end.cost {
        None => NOT_METERED.to_owned(),
        Some(cost) => units::or_unknown(garbage_share(cost), |share| units::figure(share * 100.0)),
    }
}

/// The modules of the page's synchronous writes: " (then: logging, data store)".
fn by_modules(load: &DerbyLoad) -> String {
    let of_module = |name: &str| Module::ALL.into_iter().find(|module| module.name() == name);
    let writing = load.modules.iter().filter(|one| one.sync_writes.is_some());
    let words: Vec<&str> =
        writing.filter_map(|one| of_module(&one.module)).map(Module::heading).collect();
    if words.is_empty() { String::new() } else { format!(" (then: {})", words.join(", ")) }
}

fn notes(runs: &[&RunRecord]) -> String {
    let mut text = note(
        "CPU %, wall %: parts of all CPU time and of all wall clock time; bytes, objects: allocated; \
         calls: system calls; switches: voluntary + involuntary; contended: waits for monitors; \
         slept: times a thread left its processor to wait; synced, unsynced: writes to disks that were \
         waited for, and others; all per transaction, all of 2006. -: not given. Then of a transaction as \
         a whole: sums of the modules that have a figure",
    );
    if runs.iter().any(|run| run.end.cost.is_some()) {
        text += &note(
            "now: user, kernel and total are parts of all user CPU, of all kernel CPU and of both; what \
             the page calls CPU may hold little kernel time, since it was measured from within the JVM. \
             Sleeps are now those of a thread's own will; what the page counts as such is now a voluntary \
             switch. Wall clock without waiting for a request, which the page counts to the network server. \
             unknown: not measured; the view of the run itself says why, and what would make it available",
        );
    }
    text += &note("Client CPU holds the store's where the store is a library in the workers");
    if runs.iter().any(|run| run.end.cost.is_none()) {
        text += &note(
            "not metered: the run was not profiled; a profiled run records the cost by module and fills \
             these cells",
        );
    }
    text
}
