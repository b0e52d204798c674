//! Several directories and several stores: the matrix of the 2002 mail.
//!
//! For each store it lists the directories in which it ran, with their ceilings, and the commits per second
//! of one client that commits every insert. A store above the ceiling of its directory, as the mail found
//! one, cannot have waited for that disk.

use super::from_dual::is_single_insert;
use super::grid::{Grid, Side};
use super::prose;
use crate::survey::Survey;
use syncline_record::rate_finding;
use syncline_record::units;
use syncline_record::{Record, RunRecord, sync_line_ratio};

/// A directory, its ceilings, and its runs.
pub(super) struct DirectoryRuns<'a> {
    directory: String,
    line_1: Option<f64>,
    turns_per_s: Option<f64>,
    runs: Vec<&'a RunRecord>,
}

/// The matrix of several surveys.
pub fn matrix(surveys: &[Survey<'_>]) -> String {
    matrix_of(&surveys.iter().map(DirectoryRuns::of_survey).collect::<Vec<_>>())
}

impl<'a> DirectoryRuns<'a> {
    /// One entry for each probed directory, then one for each directory that has runs but no probe: its
    /// ceiling comes from a run's own sync line, and its revolutions are not known.
    pub(super) fn all(records: &'a [Record]) -> Vec<DirectoryRuns<'a>> {
        let surveys = Survey::all(records);
        let mut directories: Vec<DirectoryRuns<'a>> =
            surveys.iter().map(DirectoryRuns::of_survey).collect();
        for run in records.iter().filter_map(Record::as_run) {
            let held = directories
                .iter()
                .any(|one| one.runs.iter().any(|known| std::ptr::eq(*known, run)));
            if held {
                continue;
            }
            let line = &run.end.sync_line;
            let directory = line.directory.as_ref().or(run.head.target.log_directory.as_ref());
            let directory = directory.map_or("no directory on this machine", String::as_str);
            match directories.iter_mut().find(|one| one.directory == directory) {
                Some(known) => {
                    known.line_1 = known.line_1.or(line.line_1);
                    known.runs.push(run);
                }
                None => directories.push(DirectoryRuns {
                    directory: directory.to_owned(),
                    line_1: line.line_1,
                    turns_per_s: None,
                    runs: vec![run],
                }),
            }
        }
        directories
    }

    fn of_survey(survey: &Survey<'a>) -> DirectoryRuns<'a> {
        let body = &survey.probe.body;
        DirectoryRuns {
            directory: body.directory.clone(),
            line_1: survey.line().line_1,
            turns_per_s: body.device.rpm.map(|rpm| rpm as f64 / 60.0),
            runs: survey.runs.clone(),
        }
    }

    /// The directory, or a text that there is none.
    pub(super) fn directory(&self) -> &str {
        &self.directory
    }

    /// Its runs of one client that commits every insert.
    pub(super) fn singles(&self) -> impl Iterator<Item = &'a RunRecord> {
        self.runs.iter().copied().filter(|run| is_single_insert(run))
    }
}

/// The matrix of several directories.
pub(super) fn matrix_of(directories: &[DirectoryRuns<'_>]) -> String {
    let mut text = prose::wrap(
        "",
        "commits per second of one client that commits every insert, with the sync rate of each \
         directory",
    ) + "\n";
    let mut stores: Vec<(String, String)> = Vec::new();
    for run in directories.iter().flat_map(DirectoryRuns::singles) {
        if !stores.contains(&column(run)) {
            stores.push(column(run));
        }
    }
    let mut grid = Grid::new(&[
        ("store, directory", Side::Left),
        ("commits", Side::Right),
        ("disk syncs", Side::Right),
        ("turns", Side::Right),
        ("x disk", Side::Right),
    ]);
    for store in &stores {
        grid.text(prose::wrap("", &format!("{}: {}", store.0, store.1)).trim_end());
        for directory in directories {
            let runs = directory.singles().filter(|run| column(run) == *store);
            runs.for_each(|run| grid.row(cells(directory, run)));
        }
    }
    if grid.is_empty() {
        text += "no store was run with one client\n";
    } else {
        text += &grid.render();
        text += "\nx disk: commits/s divided by the disk's sync rate, one at a time\n";
        let turns = "turns: revolutions per second of a spinning disk that reports them, the ceiling of syncs \
                     to one block";
        text += &prose::wrap("", turns);
    }
    let runs = directories.iter().flat_map(|one| one.singles().map(move |run| (one, run)));
    for (directory, run) in runs {
        if let Some(finding) = rate_finding(run) {
            let (name, directory) = (&run.head.target.name, &directory.directory);
            let sentence =
                format!("{name} in {directory}: {}; {}", finding.sentence, finding.advice);
            text += &prose::wrap("warning: ", &sentence);
        }
    }
    text
}

/// The key of a group of rows: the store with its durability.
fn column(run: &RunRecord) -> (String, String) {
    let name = format!("{} ({})", run.head.target.name, run.client_model());
    (name, run.head.target.durability_with_evidence())
}

fn cells(directory: &DirectoryRuns<'_>, run: &RunRecord) -> Vec<String> {
    let line_1 = directory.line_1.filter(|line_1| *line_1 > 0.0);
    let rate = run.end.throughput_per_s;
    vec![
        format!("  {}", directory.directory),
        units::rate(rate),
        units::or_unknown(line_1, units::rate),
        directory.turns_per_s.map_or_else(String::new, units::rate),
        units::or_unknown(sync_line_ratio(run, &run.end.sync_line, line_1), units::figure),
    ]
}
