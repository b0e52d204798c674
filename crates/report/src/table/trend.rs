//! How each setting changed from record to record, or from tag to tag: `list runs --trend`.
//!
//! 1. A setting is everything that a rate depends on besides the program: workload and options, store,
//!    durability, clients, arrivals and machine; the version of the store is a column. Runs of different
//!    settings are never in one table.
//! 2. Runs of one tag are one row, its figures their medians; a run without a tag is a row of its own.
//! 3. Rows are in the order of their first run. A change is the ratio to the row before, without a verdict:
//!    `compare` judges.

use super::grid::{Grid, Side};
use super::list::minute;
use super::prose;
use std::collections::{BTreeMap, BTreeSet};
use syncline_record::units::{self, plural};
use syncline_record::{Summary, stats};

/// Cells of the longest bar.
const BAR: f64 = 16.0;

/// The trend of each setting that has at least two rows; the others are counted.
pub fn trend(records: &[Summary]) -> String {
    let mut settings: BTreeMap<Setting, Vec<&Summary>> = BTreeMap::new();
    for run in records.iter().filter(|record| record.kind == "run" && record.cut_short.is_none()) {
        settings.entry(Setting::of(run)).or_default().push(run);
    }
    let mut text = String::new();
    let mut single = 0;
    for (setting, runs) in &settings {
        let rows = rows(runs);
        if rows.len() < 2 {
            single += 1;
            continue;
        }
        let differing = differing_options(runs[0], &settings);
        text += &prose::wrap("", &setting.title(runs[0], &differing));
        text += &table(&rows);
        text.push('\n');
    }
    if text.is_empty() {
        text += "no setting was measured twice: a trend compares runs of one workload, store, number of clients \
                 and machine\n";
    } else {
        text += "change: ratio to the row before, of medians; syncline compare says whether it is more than noise\n";
    }
    if single > 0 {
        text += &format!("left out: {} measured once\n", plural(single, "setting"));
    }
    text
}

/// What runs of one trend have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Setting {
    workload: Option<String>,
    target: Option<String>,
    durability: Option<String>,
    clients: Option<u64>,
    arrival: Option<String>,
    options: Option<String>,
    machine: String,
}

impl Setting {
    fn of(run: &Summary) -> Setting {
        Setting {
            workload: run.workload.clone(),
            target: run.target.clone(),
            durability: run.durability.clone(),
            clients: run.clients,
            arrival: run.arrival.clone(),
            options: run.options.clone(),
            machine: run.machine.clone(),
        }
    }

    fn title(&self, run: &Summary, differing: &str) -> String {
        let durability = units::or_unknown(self.durability.clone(), |word| word);
        let loop_of = match (self.arrival.as_deref(), run.offered_per_s) {
            (Some("closed") | None, _) => "closed loop".to_owned(),
            (Some(arrival), rate) => {
                format!("{arrival} arrivals, {} per second", units::or_unknown(rate, units::rate))
            }
        };
        format!("{}{differing}, durability {durability}, {loop_of}; {}", run.title, self.machine)
    }
}

/// The options in which settings of the run's workload differ, such as `, commit_every=10`.
fn differing_options(run: &Summary, settings: &BTreeMap<Setting, Vec<&Summary>>) -> String {
    let own = run.options();
    let alike = settings.keys().zip(settings.values().map(|runs| runs[0].options()));
    let others: Vec<_> =
        alike.filter(|(setting, _)| setting.workload == run.workload).map(|(_, of)| of).collect();
    let names: BTreeSet<&String> = others.iter().flat_map(|of| of.keys()).collect();
    let differs = |name: &&&String| others.iter().any(|of| of.get(**name) != own.get(**name));
    let parts = names.iter().filter(differs).map(|name| {
        let value = own.get(*name).and_then(|value| value.as_str()).unwrap_or("none");
        format!(", {name}={value}")
    });
    parts.collect()
}

/// The runs of one tag, or one run without a tag.
struct Row<'r> {
    tag: &'r str,
    runs: Vec<&'r Summary>,
}

impl Row<'_> {
    /// The median of the runs that have the value.
    fn median(&self, of: impl Fn(&Summary) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.runs.iter().filter_map(|run| of(run)).collect();
        stats::median(&values)
    }
}

fn rows<'r>(runs: &[&'r Summary]) -> Vec<Row<'r>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for run in runs {
        let tag = run.tag.as_deref().unwrap_or("");
        match rows.iter_mut().find(|row| !tag.is_empty() && row.tag == tag) {
            Some(row) => row.runs.push(run),
            None => rows.push(Row { tag, runs: vec![run] }),
        }
    }
    rows
}

fn table(rows: &[Row<'_>]) -> String {
    let mut grid = Grid::new(&[
        ("started, UTC", Side::Left),
        ("tag", Side::Left),
        ("runs", Side::Right),
        ("per second", Side::Right),
        ("change", Side::Right),
        ("", Side::Left),
        ("p99", Side::Right),
        ("syncs per commit", Side::Right),
        ("store CPU per commit", Side::Right),
        ("version", Side::Left),
        ("id", Side::Left),
    ])
    .optional_columns(&[
        "version",
        "",
        "store CPU per commit",
        "syncs per commit",
        "p99",
        "tag",
    ]);
    let rate = |row: &Row<'_>| row.median(|run| run.per_second);
    let most = rows.iter().filter_map(rate).fold(0.0, f64::max);
    let mut before: Option<f64> = None;
    for row in rows {
        let now = rate(row);
        let change = before.zip(now).filter(|(before, _)| *before > 0.0);
        let change = change.map(|(before, now)| format!("{:+.1} %", (now / before - 1.0) * 100.0));
        let bar =
            "█".repeat((now.unwrap_or(0.0) / most.max(f64::MIN_POSITIVE) * BAR).round() as usize);
        let first = row.runs[0];
        grid.row(vec![
            minute(&first.started),
            row.tag.to_owned(),
            row.runs.len().to_string(),
            units::or_unknown(now, units::rate),
            change.unwrap_or_default(),
            bar,
            units::or_unknown(row.median(|run| run.p99_ns.map(|ns| ns as f64)), units::span),
            units::or_unknown(row.median(|run| run.syncs_per_commit), units::figure),
            units::or_unknown(row.median(|run| run.target_cpu_ns_per_commit), units::span),
            first.version.clone().unwrap_or_default(),
            first.id.clone(),
        ]);
        before = now.or(before);
    }
    grid.render()
}
