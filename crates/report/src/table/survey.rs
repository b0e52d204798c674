//! The survey: its sync line, its table with ratios to the line, and its sentences.

use super::grid::{Grid, Side};
use super::run::run_with_costs;
use super::{Detail, probe, prose};
use crate::cost::{CostChoice, too_few};
use crate::survey::{Group, StepOutcome, Survey, survey_warnings};
use syncline_record::units::{self, plural};
use syncline_record::{Latency, Record, RunRecord, SyncLine, sync_line_ratio};

/// The survey of one directory: the line, one table of stores, three sentences, warnings.
pub fn survey(survey: &Survey<'_>) -> String {
    survey_with_costs(survey, &CostChoice::default())
}

/// The same, with a choice of what is shown of profiled stages.
fn survey_with_costs(survey: &Survey<'_>, choice: &CostChoice) -> String {
    let mut text = line_of(survey);
    text += "\n";
    text += &rows(survey);
    text += "\n";
    for (number, sentence) in survey.sentences().iter().enumerate() {
        text += &prose::wrap(&format!("{}. ", number + 1), sentence);
    }
    text += &warnings(survey);
    for run in &survey.runs {
        text += &cost_of(run, choice);
    }
    text
}

/// The cost of a profiled stage, or that it was too short for one; empty if it was not profiled.
fn cost_of(run: &RunRecord, choice: &CostChoice) -> String {
    if run.head.plan.looks_per_s.is_none() {
        return String::new();
    }
    let heading = prose::heading(&format!("{} {}", run.title(), run.identity.id));
    let few = run.end.cost.as_ref().and_then(|it| too_few(it, choice));
    heading
        + &few.map_or_else(
            || super::cost(run, choice),
            |few| {
                let longer = "--duration TIME measures each stage for longer";
                prose::wrap("  ", &format!("too short: {few}; {longer}"))
            },
        )
}

/// Any records: a probe with runs as a survey, several of those also as a matrix, all others one by one.
pub fn show(records: &[Record]) -> String {
    show_with_costs(records, &CostChoice::default())
}

/// The same, with a choice of what is shown of profiled runs.
pub fn show_with_costs(records: &[Record], choice: &CostChoice) -> String {
    let surveys = Survey::all(records);
    let whole: Vec<&Survey<'_>> = surveys.iter().filter(|survey| !survey.runs.is_empty()).collect();
    let mut parts: Vec<String> = whole.iter().map(|one| survey_with_costs(one, choice)).collect();
    if whole.len() > 1 {
        let several: Vec<Survey<'_>> = whole.iter().map(|one| (*one).clone()).collect();
        if super::stores::is_one_directory_per_store(&several) {
            parts.push(super::stores(&several));
        } else {
            parts.push(super::matrix(&several));
        }
    }
    let belongs = |id: &str| {
        let of = |survey: &&&Survey<'_>| survey.runs.iter().any(|run| run.identity.id == id);
        whole.iter().find(of).is_some()
    };
    let alone: Vec<&RunRecord> = records
        .iter()
        .filter_map(|record| match record {
            Record::Run(run) if !belongs(&run.identity.id) => Some(&**run),
            _ => None,
        })
        .collect();
    for record in records {
        let id = &record.identity().id;
        let shown = whole.iter().any(|survey| {
            survey.probe.identity.id == *id || survey.runs.iter().any(|run| run.identity.id == *id)
        });
        match record {
            _ if shown => {}
            Record::Run(record) => parts.push(run_with_costs(record, choice)),
            Record::Probe(record) => parts.push(probe(record, Detail::Short)),
            Record::Observation(record) => parts.push(super::observation(record)),
            Record::Verification(record) => parts.push(super::verification(record)),
        }
    }
    // Last, so that it is still on the screen after the views of all runs.
    let side_by_side = super::series(&alone);
    parts.extend((!side_by_side.is_empty()).then_some(side_by_side));
    parts.join("\n")
}

fn line_of(survey: &Survey<'_>) -> String {
    let line = survey.line();
    let body = &survey.probe.body;
    let mut text = prose::fact("directory", &body.directory);
    let device = line.device.as_deref().unwrap_or("unknown");
    text += &prose::fact("device", device);
    let line_1 = units::or_unknown(line.line_1, units::rate);
    let drift = drift(line).map_or_else(String::new, |drift| format!("; {drift}"));
    text += &prose::fact("disk syncs", &format!("{line_1} one at a time{drift}"));
    let most = units::or_unknown(line.line_max, units::rate);
    let outstanding = line
        .line_max_outstanding
        .map_or_else(String::new, |count| format!(" ({count} outstanding, the best of 2 to 16)"));
    text += &prose::fact("", &format!("{most} best in parallel{outstanding}"));
    text
}

/// How the best windows before and after differ.
fn drift(line: &SyncLine) -> Option<String> {
    let best = |windows: &[f64]| windows.iter().copied().reduce(f64::max);
    let (before, after) = (best(&line.before)?, best(&line.after)?);
    Some(format!("best second before {}, after {}", units::rate(before), units::rate(after)))
}

fn rows(survey: &Survey<'_>) -> String {
    let mut grid = Grid::new(&[
        ("clients", Side::Right),
        ("commits/s", Side::Right),
        ("from-to", Side::Right),
        ("x disk (1)", Side::Right),
        ("x disk (max)", Side::Right),
        ("per sync", Side::Right),
        ("p50", Side::Right),
        ("p99", Side::Right),
        ("bottleneck", Side::Left),
    ])
    .optional_columns(&["from-to", "p50", "x disk (max)"]);
    let groups = survey.groups();
    for group in &groups {
        grid.text(heading(group));
        for step in &group.steps {
            match step.outcome {
                StepOutcome::Run(run) => {
                    grid.row(cells(run, survey.line()));
                    if let Some(starved) = starvation(run) {
                        grid.text(format!("{:>7}  {starved}", ""));
                    }
                }
                StepOutcome::NotRun(reason) => {
                    grid.text(format!("{:>7}  not run: {reason}", step.clients));
                }
            }
        }
    }
    if groups.is_empty() {
        return "no store was run\n".to_owned();
    }
    grid.render()
        + &prose::wrap(
            "",
            "commits/s: median of the repetitions, from-to between them; x disk: commits/s divided by the \
             disk's sync rate, one at a time (1) and best in parallel (max); per sync: commits that shared \
             one counted sync; p50, p99: service time",
        )
}

/// "sqlite 3.50.4, threads: data (read back ...; power loss not tested)".
fn heading(group: &Group<'_>) -> String {
    let Some(run) = group.example else {
        return format!("{}, {} (not run, nothing read back)", group.target, group.durability);
    };
    let target = &run.head.target;
    let version = target.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
    let isolation = units::or_unknown(target.isolation.as_deref(), str::to_owned);
    let mut text = prose::wrap(
        "",
        &format!(
            "{}{version}, {}, isolation {isolation}, durability {}",
            target.name,
            group.model,
            target.durability_with_evidence()
        ),
    );
    if let Some(notice) = &run.head.workload.notice {
        text += &prose::wrap("", notice);
    }
    text.trim_end().to_owned()
}

/// The number of starved clients, if there are any: percentiles do not show them.
fn starvation(run: &RunRecord) -> Option<String> {
    let starved = run.end.fairness.as_ref()?.starved.len();
    let clients = run.head.plan.clients;
    (starved > 0).then(|| {
        format!(
            "{starved} of {} starved: their waits are not in p50 and p99",
            plural(clients, "client")
        )
    })
}

/// A run's row: clients, rate, range, ratios to the line, commits per sync, times, bottleneck.
pub(super) fn cells(run: &RunRecord, line: &SyncLine) -> Vec<String> {
    let rate = run.end.throughput_per_s;
    let part =
        |rate: Option<f64>| units::or_unknown(sync_line_ratio(run, line, rate), units::figure);
    let time =
        |pick: fn(&Latency) -> u64| units::or_unknown(run.service_ns().map(pick), units::span_ns);
    let range = run.end.throughput_range.as_ref().map_or_else(
        || "one run".to_owned(),
        |range| format!("{}-{}", units::count(range.least), units::count(range.most)),
    );
    let mut bottleneck =
        run.end.saturation.as_ref().map_or("unknown", |found| found.bottleneck()).to_owned();
    if run.end.cut_short.is_some() {
        bottleneck += ", cut short";
    }
    vec![
        run.head.plan.clients.to_string(),
        units::rate(rate),
        range,
        part(line.line_1),
        part(line.line_max),
        units::or_unknown(run.end.per_commit.commits_per_sync(), units::figure),
        time(|times| times.p50),
        time(|times| times.p99),
        bottleneck,
    ]
}

fn warnings(survey: &Survey<'_>) -> String {
    let mut text = String::new();
    for warning in survey_warnings(survey) {
        let sentence = format!("{}: {}", warning.about(), warning.sentence);
        text += &prose::wrap("warning: ", &sentence);
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}
