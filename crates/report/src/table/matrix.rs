//! Several directories and several stores: the matrix of the 2002 mail.
//!
//! A row a directory with its ceilings, a column a store, in each cell the commits per second of one
//! client that commits every insert. A store that beats the ceiling of its own row is the mail's
//! finding: it cannot have waited for that disk.

use super::from_dual::is_single_insert;
use super::grid::{Grid, Side};
use super::prose;
use crate::finding::rate_finding;
use crate::record::RunRecord;
use crate::survey::Survey;
use crate::units;

/// The matrix of several surveys.
pub fn matrix(surveys: &[Survey<'_>]) -> String {
    let mut text = prose::wrapped(
        "",
        "commits per second of one client that commits every insert, beside what each directory \
         can sync",
    ) + "\n";
    let singles: Vec<Vec<&RunRecord>> = surveys
        .iter()
        .map(|survey| {
            survey
                .runs
                .iter()
                .copied()
                .filter(|run| is_single_insert(run))
                .collect()
        })
        .collect();
    let mut stores: Vec<(String, String)> = Vec::new();
    for run in singles.iter().flatten() {
        if !stores.contains(&column(run)) {
            stores.push(column(run));
        }
    }
    let mut grid = Grid::new(&[
        ("store, directory", Side::Left),
        ("commits", Side::Right),
        ("line_1", Side::Right),
        ("turns", Side::Right),
        ("x line_1", Side::Right),
    ]);
    for store in &stores {
        grid.text(prose::wrapped("", &format!("{}: {}", store.0, store.1)).trim_end());
        for (survey, runs) in surveys.iter().zip(&singles) {
            let run = runs.iter().find(|run| column(run) == *store);
            grid.row(cells(survey, run.copied()));
        }
    }
    if grid.is_empty() {
        text += "no store was run with one client\n";
    } else {
        text += &grid.render();
        text += "\nx line_1: commits for each sync that line_1 allows\nturns: revolutions per second of a spinning disk that says them, the ceiling of \
                 syncs to one block\n";
    }
    for (survey, run) in surveys
        .iter()
        .zip(&singles)
        .flat_map(|(survey, runs)| runs.iter().map(move |run| (survey, *run)))
    {
        if let Some(finding) = rate_finding(run) {
            let (name, directory) = (&run.head.target.name, &survey.probe.body.directory);
            let sentence = format!(
                "{name} in {directory}: {}; {}",
                finding.sentence, finding.advice
            );
            text += &prose::wrapped("warning: ", &sentence);
        }
    }
    text
}

/// What tells one column from another: the store with its durability.
fn column(run: &RunRecord) -> (String, String) {
    let name = format!("{} ({})", run.head.target.name, run.client_model());
    (name, run.head.target.durability_with_evidence())
}

fn cells(survey: &Survey<'_>, run: Option<&RunRecord>) -> Vec<String> {
    let line_1 = survey.line().line_1;
    let rate = run.map(|run| run.end.throughput_per_s);
    let turns = survey.probe.body.device.rpm.map(|rpm| rpm as f64 / 60.0);
    vec![
        format!("  {}", survey.probe.body.directory),
        rate.map_or_else(|| "not run".to_owned(), units::rate),
        units::or_unknown(line_1, units::rate),
        turns.map_or_else(String::new, units::rate),
        units::or_unknown(rate.zip(line_1), |(rate, line_1)| {
            units::figure(rate / line_1)
        }),
    ]
}
