//! Stores whose logs are in different directories, in one table, each with the sync line of its own log.
//!
//! If the same stores ran in several directories, the matrix shows more. If each ran in its own, as servers
//! do, only the ratios to their own sync lines can be compared.

use super::grid::{Grid, Side};
use super::prose::{self, fact};
use super::survey::cells;
use crate::survey::{Group, StepOutcome, Survey};
use syncline_record::units;

/// True if no store ran in more than one of the directories.
pub(super) fn is_one_directory_per_store(surveys: &[Survey<'_>]) -> bool {
    let named = |group: Group<'_>| (group.target, group.durability, group.model);
    let mut seen = Vec::new();
    for survey in surveys {
        let ran = survey.groups().into_iter();
        for store in ran.filter(|group| group.example.is_some()).map(named) {
            if seen.contains(&store) {
                return false;
            }
            seen.push(store);
        }
    }
    true
}

/// The durability of all stores; `None` if they differ.
fn one_durability(surveys: &[Survey<'_>]) -> Option<String> {
    let groups = surveys.iter().flat_map(Survey::groups);
    let mut words = groups.filter(|group| group.example.is_some()).map(|group| group.durability);
    let first = words.next()?;
    words.all(|word| word == first).then_some(first)
}

/// Every store of several surveys, each with the sync line of its own log directory.
pub fn stores(surveys: &[Survey<'_>]) -> String {
    let same = one_durability(surveys);
    let at = same.as_ref().map_or_else(String::new, |word| format!(", all with durability {word}"));
    let mut text = format!("every store with the sync rate of its log's disk{at}\n\n");
    let letters = 'A'..='Z';
    for (letter, survey) in letters.clone().zip(surveys) {
        text += &fact(&format!("log {letter}"), &survey.probe.body.directory);
        let line = survey.line();
        let ceilings = format!(
            "disk syncs: {} one at a time, {} best in parallel",
            units::or_unknown(line.line_1, units::rate),
            units::or_unknown(line.line_max, units::rate)
        );
        text += &fact("", &ceilings);
    }
    text.push('\n');
    let mut grid = Grid::new(&[
        ("store", Side::Left),
        ("log", Side::Left),
        ("clients", Side::Right),
        ("commits/s", Side::Right),
        ("x disk (1)", Side::Right),
        ("x disk (max)", Side::Right),
        ("per sync", Side::Right),
        ("p50", Side::Right),
        ("p99", Side::Right),
        ("bottleneck", Side::Left),
    ])
    .optional_columns(&["p50", "x disk (max)"]);
    for (letter, survey) in letters.zip(surveys) {
        for group in survey.groups() {
            for step in &group.steps {
                let StepOutcome::Run(run) = step.outcome else {
                    continue;
                };
                let store = match &same {
                    Some(_) => format!("{} ({})", group.target, group.model),
                    None => format!("{} ({}, {})", group.target, group.model, group.durability),
                };
                let mut row = vec![store, letter.to_string()];
                let all = cells(run, survey.line()).into_iter().enumerate();
                // The range is in the table of its own directory.
                row.extend(all.filter(|(column, _)| *column != 2).map(|(_, cell)| cell));
                grid.row(row);
            }
        }
    }
    let legend = "x disk: commits/s divided by the sync rate of the disk that has the log, one at a time (1) \
                  and best in parallel (max); per sync: commits that shared one counted sync; the \
                  durability was read back, power loss not tested";
    text + &grid.render() + &prose::wrap("", legend)
}
