//! The records of a folder, one line each.

use super::grid::{Grid, Side};
use super::prose;
use crate::sweep_title;
use std::collections::BTreeSet;
use syncline_record::Summary;
use syncline_record::units::{self, plural};

/// The columns if no record has a tag, which is the last one.
const COLUMNS_WITHOUT_TAG: usize = 7;

/// The table of `list runs`: the summaries, and why the other files of the folder could not be read.
pub fn list(records: &[Summary], refused: &[String]) -> String {
    if records.is_empty() && refused.is_empty() {
        return "no records here yet: syncline survey, probe and run write them\n".to_owned();
    }
    let has_tags = records.iter().any(|record| record.tag.is_some());
    let columns = [
        ("started, UTC", Side::Left),
        ("what", Side::Left),
        ("per second", Side::Right),
        ("p50", Side::Right),
        ("p99", Side::Right),
        ("durability", Side::Left),
        ("id", Side::Left),
        ("tag", Side::Left),
    ];
    let columns = if has_tags { &columns } else { &columns[..COLUMNS_WITHOUT_TAG] };
    let mut grid = Grid::new(columns).optional_columns(&["p50", "p99", "durability", "tag"]);
    let runs: Vec<&Summary> = records.iter().filter(|one| one.kind == "run").collect();
    let mut surveys = BTreeSet::new();
    for record in records {
        let first_of = record.survey.as_deref().filter(|id| surveys.insert(*id));
        let survey = first_of.and_then(|id| survey_row(id, records));
        for mut row in survey.into_iter().chain([cells(record, &runs)]) {
            row.truncate(columns.len());
            grid.row(row);
        }
    }
    let table = if grid.is_empty() { String::new() } else { grid.render() };
    let note = "per second: commits of a run, syncs one at a time of a probe\ndurability: as it was set; \
                syncline show RECORD gives the evidence\n";
    let refused = refused.iter().map(|why| prose::wrap("left out: ", why));
    format!("{table}\n{note}{}", refused.collect::<String>())
}

/// The row of a survey, before its first record; `None` for a survey of an older version, whose id is that of
/// its probe.
fn survey_row(id: &str, all: &[Summary]) -> Option<Vec<String>> {
    if all.iter().any(|record| record.id == id) {
        return None;
    }
    let members = || all.iter().filter(|record| record.survey.as_deref() == Some(id));
    let started = members().map(|record| &record.started).min()?;
    let what = format!("survey: {}", plural(members().count() as u64, "record"));
    let mut row = vec![minute(started), what];
    row.resize(COLUMNS_WITHOUT_TAG - 1, String::new());
    row.extend([id.to_owned(), String::new()]);
    Some(row)
}

/// The time of a record as "2026-11-20 09:15".
pub(super) fn minute(started: &str) -> String {
    started.replace('T', " ").chars().take(16).collect()
}

fn cells(record: &Summary, runs: &[&Summary]) -> Vec<String> {
    let what = match &record.outcome {
        // It measures no rate: its outcome follows its title.
        Some(outcome) => format!("{}: {outcome}", record.title),
        None if record.kind == "run" => {
            sweep_title::title(record, runs).replace(" clients", "c").replace(" client", "c")
                + if record.cut_short.is_some() { ", cut short" } else { "" }
        }
        None => record.title.clone(),
    };
    let measured = |text: String| if record.outcome.is_some() { String::new() } else { text };
    let durability = match record.kind.as_str() {
        "run" => units::or_unknown(record.durability.clone(), |word| word),
        _ => String::new(),
    };
    vec![
        minute(&record.started),
        what,
        measured(units::or_unknown(record.per_second, units::rate)),
        measured(units::or_unknown(record.p50_ns, units::span_ns)),
        measured(units::or_unknown(record.p99_ns, units::span_ns)),
        durability,
        record.id.clone(),
        record.tag.clone().unwrap_or_default(),
    ]
}
