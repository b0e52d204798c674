//! Single-insert commits by store and directory, in the format of the mail of 2002.
//!
//! Syncline's matrix is the one that several surveys show; the mail's has the same form. A rate above the
//! revolutions of its disk cannot have waited for the disk, which was the mail's finding, and is marked.

use super::super::from_dual::is_single_insert;
use super::super::grid::{Grid, Side};
use super::super::matrix::{DirectoryRuns, matrix_of};
use super::super::prose;
use super::client_stacks;
use super::source::SourceRequirements;
use super::source_header::{self, note};
use crate::Result;
use crate::published::mail2002;
use syncline_record::units;
use syncline_record::units::plural;
use syncline_record::{Record, RunRecord};

pub(super) const REQUIREMENTS: SourceRequirements = SourceRequirements {
    view: "mail2002",
    shows: "runs of insert by one client that commits every insert, with or without the probes of \
            their directories",
    command: "syncline run insert --clients 1 --on engine --on sqlite (or: syncline survey --dir A \
              --dir B)",
};

/// The view.
pub(super) fn view(records: &[Record]) -> Result<String> {
    for record in records {
        let fits = record.as_run().is_none_or(|run| run.head.workload.name == "insert");
        if !fits {
            return Err(REQUIREMENTS.refuse(record));
        }
    }
    let runs: Vec<&RunRecord> = records.iter().filter_map(Record::as_run).collect();
    let (singles, others): (Vec<&RunRecord>, Vec<&RunRecord>) =
        runs.into_iter().partition(|run| is_single_insert(run));
    if singles.is_empty() {
        return Err(REQUIREMENTS.nothing());
    }
    let mut text = source_header::then(&mail2002().source);
    text += &prose::heading("Then: commits of single inserts a second, 10,000 by one client");
    text += &commits();
    text += "\n";
    text += &client_stacks::then(&mail2002().disks);
    text += &prose::heading("Then: the log writer alone, syncs a second");
    text += &writes();
    text += &prose::heading("Now");
    let directories = DirectoryRuns::all(records);
    text += &matrix_of(&directories);
    let stacks = client_stacks::now(&directories);
    if !stacks.is_empty() {
        text += &prose::heading("Now: the same store by two client stacks");
        text += &stacks;
    }
    text += &source_header::now(&singles);
    if !others.is_empty() {
        text += &note(&format!(
            "{} with several clients, several inserts a commit or an arrival at a rate: not in this \
             matrix, which the mail filled with one of each, as fast as it could",
            plural(others.len() as u64, "run")
        ));
    }
    Ok(text)
}

fn commits() -> String {
    let mut grid = Grid::new(&[
        ("store, disk", Side::Left),
        ("commits", Side::Right),
        ("turns", Side::Right),
        ("x turns", Side::Right),
        ("", Side::Left),
    ]);
    for disk in &mail2002().disks {
        grid.text(disk.name.as_str());
        for one in &disk.commits {
            grid.row(row(&one.target, Some(one.per_s), false, disk.ceiling_per_s));
        }
    }
    grid.render()
}

fn writes() -> String {
    let mut grid = Grid::new(&[
        ("disk, system, method", Side::Left),
        ("syncs", Side::Right),
        ("turns", Side::Right),
        ("x turns", Side::Right),
        ("", Side::Left),
    ]);
    for one in &mail2002().writetest {
        grid.row(row(&one.what, one.per_s, one.about, one.rpm / 60.0));
    }
    grid.render()
}

fn row(name: &str, per_s: Option<f64>, about: bool, turns: f64) -> Vec<String> {
    let sign = if about { "~" } else { "" };
    let (rate, ratio, word) = match per_s {
        // Within a few percent of the revolutions, the clock may be off as well as the disk.
        Some(rate) if rate > turns * 1.05 => (Some(rate), Some(rate / turns), EXCEEDS),
        Some(rate) => (Some(rate), Some(rate / turns), ""),
        None => (None, None, "no time passed"),
    };
    vec![
        format!("  {name}"),
        rate.map_or_else(|| "none".to_owned(), |rate| sign.to_owned() + &units::rate(rate)),
        units::rate(turns),
        ratio.map_or_else(String::new, |ratio| format!("{sign}{}", units::figure(ratio))),
        word.to_owned(),
    ]
}

const EXCEEDS: &str = "above the ceiling";
