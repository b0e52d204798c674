//! The records of a folder, one line each.

use super::grid::{Grid, Side};
use super::prose;
use crate::sweep_title;
use std::collections::BTreeSet;
use syncline_record::units::{self, plural};
use syncline_record::{Record, RecordFile, RunRecord};

/// The table of `list runs`.
pub fn list(records: &[RecordFile]) -> String {
    if records.is_empty() {
        return "no records here yet: syncline survey, probe and run write them\n".to_owned();
    }
    let mut grid = Grid::new(&[
        ("started, UTC", Side::Left),
        ("what", Side::Left),
        ("per second", Side::Right),
        ("p50", Side::Right),
        ("p99", Side::Right),
        ("durability", Side::Left),
        ("id", Side::Left),
    ])
    .optional_columns(&["p50", "p99", "durability"]);
    let mut refused = String::new();
    let runs: Vec<&RunRecord> =
        records.iter().filter_map(|listed| listed.record.as_ref().ok()?.as_run()).collect();
    let all: Vec<&Record> =
        records.iter().filter_map(|listed| listed.record.as_ref().ok()).collect();
    let mut surveys = BTreeSet::new();
    for listed in records {
        match &listed.record {
            Ok(record) => {
                let survey = record.identity().survey.as_deref();
                let first_of = survey.filter(|id| surveys.insert(*id));
                if let Some(row) = first_of.and_then(|id| survey_row(id, &all)) {
                    grid.row(row);
                }
                grid.row(cells(record, &runs));
            }
            Err(error) => refused += &prose::wrap("left out: ", &error.to_string()),
        }
    }
    let table = if grid.is_empty() { String::new() } else { grid.render() };
    let note = "per second: commits of a run, syncs one at a time of a probe\ndurability: as it was set; \
                syncline show RECORD gives the evidence\n";
    if refused.is_empty() {
        format!("{table}\n{note}")
    } else {
        format!("{table}\n{note}{refused}")
    }
}

/// The row of a survey, before its first record; `None` for a survey of an older version, whose id is that of
/// its probe.
fn survey_row(id: &str, all: &[&Record]) -> Option<Vec<String>> {
    if all.iter().any(|record| record.identity().id == id) {
        return None;
    }
    let of_it = |record: &&&Record| record.identity().survey.as_deref() == Some(id);
    let members: Vec<&&Record> = all.iter().filter(of_it).collect();
    let started = members.iter().map(|record| &record.identity().started).min()?;
    let nothing = String::new;
    let what = format!("survey: {}", plural(members.len() as u64, "record"));
    Some(vec![minute(started), what, nothing(), nothing(), nothing(), nothing(), id.to_owned()])
}

/// The time of a record as "2026-11-20 09:15".
fn minute(started: &str) -> String {
    started.replace('T', " ").chars().take(16).collect()
}

fn cells(record: &Record, runs: &[&RunRecord]) -> Vec<String> {
    let identity = record.identity();
    let started = minute(&identity.started);
    let (what, rate, times, durability) = match record {
        Record::Run(run) => (
            sweep_title::title(run, runs).replace(" clients", "c").replace(" client", "c")
                + if run.end.cut_short.is_some() { ", cut short" } else { "" },
            Some(run.end.throughput_per_s),
            run.service_ns(),
            units::or_unknown(run.head.target.durability.clone(), |word| word),
        ),
        Record::Probe(probe) => (
            format!("probe of {}", probe.body.directory),
            probe.body.sync_line.line_1,
            probe.body.sync_line.latency_ns.as_ref(),
            String::new(),
        ),
        Record::Observation(observation) => (
            format!("observed {}", observation.body.target.name),
            observation.body.commits_per_s,
            None,
            String::new(),
        ),
        // It measures no rate: its outcome follows its title.
        Record::Verification(verification) => {
            let what = format!("{}: {}", verification.title(), verification.body.outcome);
            return vec![
                started,
                what,
                String::new(),
                String::new(),
                String::new(),
                String::new(),
                identity.id.clone(),
            ];
        }
    };
    let time = |pick: fn(&syncline_record::Latency) -> u64| {
        units::or_unknown(times.map(pick), units::span_ns)
    };
    vec![
        started,
        what,
        units::or_unknown(rate, units::rate),
        time(|times| times.p50),
        time(|times| times.p99),
        durability,
        identity.id.clone(),
    ]
}
