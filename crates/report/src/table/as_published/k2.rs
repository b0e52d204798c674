//! Runs of tpcc and ycsb in the format of the K2 platform's results page: a block per metric with rates and
//! percentiles 50, 90, 99 and 99.9, one row per date, and then Syncline's.
//!
//! K2's latencies are those of a cluster's servers, Syncline's those of parts inside one process. The heading
//! of each block names the two compared metrics.

use super::super::grid::{Grid, Side};
use super::super::prose;
use super::k2_options::published_mix;
use super::source::SourceRequirements;
use super::source_header::{self, NOT_GIVEN, label, note};
use crate::Result;
use crate::published::{K2Column, K2Mix, k2};
use syncline_record::units;
use syncline_record::{InternalFigures, Latency, Record, RunRecord, TransactionFigures};

pub(super) const REQUIREMENTS: SourceRequirements = SourceRequirements {
    view: "k2",
    shows: "runs of tpcc or ycsb with a mix that K2 published (weights 43,4,4,45,4 or 50,0,0,50,0 in \
            its order; 95 or 50 of 100 reads, the rest updates, uniform or scrambled)",
    command: "syncline run tpcc --profile k2 --weights 43,4,4,45,4 --on engine (or: syncline run ycsb \
              --profile k2 --workload b --distribution uniform --on engine)",
};

/// A metric inside the store: its name in the published file, the heading of its block, and Syncline's parts.
const INSIDE: [(&str, &str, &[&str]); 6] = [
    (
        "reads",
        "reads: then on the server, from request to answer; now the part \"read\"",
        &["read"],
    ),
    (
        "query_pages",
        "query pages: then pages of up to 10 records, so a query is several; now whole scans, the \
         part \"scan\"",
        &["scan"],
    ),
    (
        "writes",
        "writes: then with the wait for the flush; now the part \"write\", in memory alone",
        &["write"],
    ),
    (
        "conflict_resolution",
        "conflict resolution: then a PUSH to the holder of the other transaction; now locking the \
         written rows and validating the read ones, of every commit",
        &["lock", "validate"],
    ),
    (
        "flush",
        "flush: then until the persistence service answered; now the log's write (which includes the \
         sync if the log is opened so), its sync call, and the wait for space",
        &["log write", "log sync call", "wait for log room"],
    ),
    (
        "timestamp",
        "timestamp: then a call over the network; now taking the commit sequence number",
        &["timestamp"],
    ),
];

/// The view.
pub(super) fn view(records: &[Record]) -> Result<String> {
    let fitting: Vec<(&K2Mix, &RunRecord)> =
        records.iter().map(published_mix).collect::<Result<_>>()?;
    if fitting.is_empty() {
        return Err(REQUIREMENTS.nothing());
    }
    let runs: Vec<&RunRecord> = fitting.iter().map(|(_, run)| *run).collect();
    let mut text = source_header::then(&k2().source);
    text += &source_header::now(&runs);
    for mix in &k2().mixes {
        let of_mix = fitting.iter().enumerate().filter(|(_, (own, _))| std::ptr::eq(*own, mix));
        let own: Vec<Now<'_>> =
            of_mix.map(|(index, (_, run))| Now { label: label(index, runs.len()), run }).collect();
        if !own.is_empty() {
            text += &prose::heading(&mix.mix);
            text += &table(mix, &own);
        }
    }
    text += "\n";
    text += &notes(&runs);
    Ok(text)
}

/// A run and its label.
struct Now<'a> {
    label: String,
    run: &'a RunRecord,
}

fn table(mix: &K2Mix, own: &[Now<'_>]) -> String {
    let mut grid = Grid::new(&[
        ("", Side::Left),
        ("a second", Side::Right),
        ("50", Side::Right),
        ("90", Side::Right),
        ("99", Side::Right),
        ("99.9", Side::Right),
    ]);
    let open = |grid: &mut Grid, heading: &str, metric: &str| {
        grid.text(prose::wrap("", heading).trim_end());
        for column in mix.columns(metric) {
            grid.row(column_row(column, metric == "aborts"));
        }
    };
    open(&mut grid, "transactions", "transactions");
    transactions(&mut grid, own);
    if !mix.columns("new_order").is_empty() {
        open(&mut grid, "New-Order, from the first attempt to the last", "new_order");
        kinds(&mut grid, own, is_new_order);
        grid.text("the other kinds: then not given; now");
        kinds(&mut grid, own, |kind| !is_new_order(kind));
    }
    let aborts = "aborts: then attempts that conflicted; now conflicts and retries";
    open(&mut grid, aborts, "aborts");
    for now in own {
        grid.row(aborts_row(now));
    }
    for (metric, heading, names) in INSIDE {
        open(&mut grid, heading, metric);
        if mix.columns(metric).is_empty() {
            grid.text(format!("  then: {NOT_GIVEN}"));
        }
        for now in own {
            inside(&mut grid, now, names);
        }
    }
    grid.render()
}

fn is_new_order(kind: &TransactionFigures) -> bool {
    kind.name.replace('_', "-") == "new-order"
}

fn column_row(column: &K2Column, rate_only: bool) -> Vec<String> {
    let rate = match (column.per_s, column.below_per_s) {
        (Some(rate), _) => units::rate(rate),
        (None, Some(bound)) => format!("below {}", units::rate(bound)),
        (None, None) => NOT_GIVEN.to_owned(),
    };
    let mut cells = vec![format!("  {}", column.when), rate];
    match column.us {
        Some(us) => cells.extend(us.map(|us| units::span(us * 1e3))),
        None if rate_only => cells.extend(in_every_column("")),
        None => cells.extend(in_every_column(NOT_GIVEN)),
    }
    cells
}

/// The rows of all kinds together, and of each kind if New-Order has no block.
fn transactions(grid: &mut Grid, own: &[Now<'_>]) {
    for now in own {
        let kinds = &now.run.end.transactions;
        let mut cells = vec![format!("  {}", now.label), units::rate(now.run.end.throughput_per_s)];
        match &kinds[..] {
            [one] => cells.extend(percentiles(one.service_ns.as_ref())),
            [] => cells.extend(in_every_column(units::UNKNOWN)),
            _ => cells.extend(in_every_column("by kind")),
        }
        grid.row(cells);
    }
    let by_name = |now: &Now<'_>| now.run.head.workload.name == "ycsb";
    let several = |now: &Now<'_>| now.run.end.transactions.len() > 1;
    for now in own.iter().filter(|now| by_name(now) && several(now)) {
        kind_rows(grid, now, |_| true);
    }
}

fn kinds(grid: &mut Grid, own: &[Now<'_>], wanted: fn(&TransactionFigures) -> bool) {
    for now in own {
        kind_rows(grid, now, wanted);
    }
}

/// Rows of the kinds that committed; the rate is the kind's share of all commits of its repetition.
fn kind_rows(grid: &mut Grid, now: &Now<'_>, wanted: fn(&TransactionFigures) -> bool) {
    let end = &now.run.end;
    let all: u64 = end.transactions.iter().map(|kind| kind.count).sum();
    let mut shown = 0;
    for kind in end.transactions.iter().filter(|kind| kind.count > 0 && wanted(kind)) {
        let rate = end.throughput_per_s * kind.count as f64 / all as f64;
        let name = format!("  {}: {}", now.label, kind.name.replace('_', "-"));
        let mut cells = vec![name, units::rate(rate)];
        cells.extend(percentiles(kind.service_ns.as_ref()));
        grid.row(cells);
        shown += 1;
    }
    if shown == 0 {
        let why = if end.transactions.is_empty() { units::UNKNOWN } else { "none committed" };
        grid.text(format!("  {}: {why}", now.label));
    }
}

fn aborts_row(now: &Now<'_>) -> Vec<String> {
    let outcomes = &now.run.end.outcomes;
    let tries = outcomes.conflicted.saturating_add(outcomes.retries);
    let rate = source_header::seconds(now.run).map(|seconds| tries as f64 / seconds);
    // A record that was cut short has no count of retries.
    let rate = rate.filter(|_| now.run.end.cut_short.is_none());
    let mut cells = vec![format!("  {}", now.label), units::or_unknown(rate, units::rate)];
    cells.extend(in_every_column(""));
    cells
}

/// The rows of the store's parts with a count above zero.
fn inside(grid: &mut Grid, now: &Now<'_>, names: &[&str]) {
    let Some(known) = &now.run.end.internals else {
        grid.text(format!("  {}: unknown, the store counts nothing inside", now.label));
        return;
    };
    let part = |name: &&str| known.iter().find(|part| part.name == *name);
    let parts: Vec<&InternalFigures> = names.iter().filter_map(part).collect();
    if parts.is_empty() {
        grid.text(format!("  {}: unknown, the store has no such part", now.label));
        return;
    }
    let done: Vec<_> = parts.into_iter().filter(|part| part.count > 0).collect();
    if done.is_empty() {
        grid.text(format!("  {}: none in this run", now.label));
    }
    for part in done {
        let name = if names.len() > 1 {
            format!("  {}: {}", now.label, part.name)
        } else {
            format!("  {}", now.label)
        };
        let about = if part.timed_one_in > 1 { "~" } else { "" };
        let mut cells = vec![name, format!("{about}{}", units::rate(part.rate_per_s))];
        let times = [part.p50_ns, part.p90_ns, part.p99_ns, part.p999_ns];
        let shown = |time| units::or_unknown(time, |ns| format!("~{}", units::span(ns)));
        cells.extend(times.map(shown));
        grid.row(cells);
    }
}

fn percentiles(times: Option<&Latency>) -> [String; 4] {
    times.map_or_else(
        || in_every_column(units::UNKNOWN),
        |times| [times.p50, times.p90, times.p99, times.p999].map(units::span_ns),
    )
}

fn in_every_column(text: &str) -> [String; 4] {
    [text; 4].map(str::to_owned)
}

fn notes(runs: &[&RunRecord]) -> String {
    let mut text = note(
        "a second: of all clients together; 50 to 99.9: percentiles, then of a cluster's servers or \
         clients, now of one process",
    );
    let parts = runs.iter().flat_map(|run| run.end.internals.iter().flatten());
    if let Some(most) = parts.map(|part| part.timed_one_in).max() {
        text += &note(&format!(
            "~: times inside the store are kept in classes and known to a factor of two; some parts \
             are timed in one transaction of {most}, and their rates are estimates from those"
        ));
    }
    let option = |run: &RunRecord, name: &str| run.head.workload.options.get(name).cloned();
    let thinks = |run: &&RunRecord| option(run, "think").is_some_and(|word| word != "none");
    if runs.iter().any(thinks) {
        text += &note(
            "a run with think times commits as often as its terminals ask; K2's clients did not think",
        );
    }
    let rows = |run: &&RunRecord| {
        let [records, fields, bytes] =
            ["records", "fields", "field_bytes"].map(|name| option(run, name));
        Some(format!("{} of {} fields of {} B", records?, fields?, bytes?))
    };
    if let Some(own) = runs.iter().find_map(rows) {
        text += &note(&format!(
            "rows: then not given (by default K2's client makes 5000 of 10 fields of 10 B, one of them \
             the key), now {own}"
        ));
    }
    let mut warehouses = runs.iter().filter_map(|run| option(run, "warehouses"));
    if let Some(count) = warehouses.find(|count| count != "100") {
        text += &note(&format!(
            "warehouses: then 100, now {count}; fewer warehouses mean more conflicts"
        ));
    }
    text
}
