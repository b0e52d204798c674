//! The page as a whole.

use super::chart::mark;
use super::charts::{self, DISTRIBUTION_STYLES};
use super::stores::Stores;
use super::{
    by_clients, commit_every, cost, details, observation, run_section, side_by_side, survey_table,
    verification,
};
use crate::survey::Survey;
use crate::sweep_title;
use crate::table;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use syncline_record::units::{self, plural};
use syncline_record::{
    ObservationRecord, ProbeRecord, Record, RunRecord, Stacks, VerificationRecord, json,
};

const STYLE: &str = include_str!("style.css");

/// The report of any records: a part for each probed directory, then the other runs. Profiled runs have a
/// flame graph if their stacks are in `stacks`.
pub fn report(records: &[Record], stacks: &[Stacks]) -> String {
    let surveys = Survey::all(records);
    let loose: Vec<&RunRecord> = records
        .iter()
        .filter_map(Record::as_run)
        .filter(|run| !is_in_survey(&surveys, run))
        .collect();
    let observations: Vec<&ObservationRecord> =
        records.iter().filter_map(Record::as_observation).collect();
    let verifications: Vec<&VerificationRecord> =
        records.iter().filter_map(Record::as_verification).collect();
    let title = match (title(&surveys, &loose, &observations), &*verifications) {
        (Some(title), _) => title,
        (None, []) => "Syncline: no records".to_owned(),
        (None, [one]) => format!("Syncline verification: {}", one.title()),
        (None, several) => format!("Syncline: {} verifications", several.len()),
    };
    let body = html! {
        @for survey in &surveys {
            @if surveys.len() > 1 {
                h2.part { (survey.probe.body.directory) " "
                    code { (survey.probe.identity.id) } }
            }
            (part(survey))
        }
        @if surveys.iter().filter(|survey| !survey.runs.is_empty()).count() > 1 {
            h2.part { "Directories side by side" }
            pre { (table::matrix(&surveys)) }
        }
        @if !loose.is_empty() {
            (other_runs(&loose)) (by_clients::figure(&loose)) (side_by_side::figures(&loose)) (commit_every::figure(&loose))
            @for run in &loose { (run_section::part(run, &sweep_title::title(*run, &loose))) }
        }
        @for record in &observations {
            @if records.len() > 1 {
                h2.part { "Observed " (record.body.target.name) " " code { (record.identity.id) } }
            }
            (observation::part(record))
        }
        @for one in &verifications { (verification::part(one)) }
        @for run in records.iter().filter_map(Record::as_run) {
            (cost::part(run, stacks.iter().find(|one| one.id == run.identity.id)))
        }
    };
    document(
        &title,
        records,
        &body,
        "Times are service times unless named otherwise; a rate counts committed transactions only.",
    )
}

/// A page with that title: its body, then every record that is given, collapsed and embedded. `note` ends it.
pub(super) fn document(title: &str, records: &[Record], body: &Markup, note: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // Nothing is fetched and no script runs, whatever a record holds.
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main {
                header {
                    h1 { (title) }
                    @if let Some(first) = records.first() { p.when { (origin(first)) } }
                }
                (body)
                @if !records.is_empty() {
                    h2.screen { "Every record" }
                    (details::records(records))
                    script #records type="application/json" { (PreEscaped(embedded_json(records))) }
                }
                footer { p {
                    @if !records.is_empty() {
                        "The records are embedded in this page as JSON (the element “records”). "
                    }
                    (note)
                } }
            } }
        }
    };
    page.into_string()
}

fn title(
    surveys: &[Survey<'_>],
    loose: &[&RunRecord],
    observations: &[&ObservationRecord],
) -> Option<String> {
    Some(match (surveys, loose, observations) {
        ([], [], [one]) => format!("Syncline: observed {}", one.body.target.name),
        ([], [], [_, ..]) => format!("Syncline: {} observations", observations.len()),
        ([], [], []) => return None,
        ([], [one], _) => format!("Syncline: {}", one.title()),
        ([], several, _) => format!("Syncline: {} runs", several.len()),
        ([one], _, _) if one.runs.is_empty() => {
            format!("Syncline probe: {}", one.probe.body.directory)
        }
        ([one], _, _) => format!("Syncline survey: {}", one.probe.body.directory),
        (several, _, _) => format!("Syncline: {} probes with their runs", several.len()),
    })
}

fn is_in_survey(surveys: &[Survey<'_>], run: &RunRecord) -> bool {
    surveys.iter().any(|survey| survey.runs.iter().any(|known| std::ptr::eq(*known, run)))
}

/// The time, program version and machine of a record.
fn origin(record: &Record) -> String {
    let machine = match record {
        Record::Run(run) => &run.head.machine,
        Record::Probe(probe) => &probe.body.machine,
        Record::Observation(observation) => &observation.body.machine,
        Record::Verification(verification) => &verification.body.machine,
    };
    let identity = record.identity();
    let when = identity.started.replace('T', " ").replace('Z', " UTC");
    format!("{when}, syncline {}, {}", identity.syncline, machine.in_words())
}

fn part(survey: &Survey<'_>) -> Markup {
    let stores = Stores::of(survey);
    html! {
        section {
            (cards(survey))
            ol.sentences { @for sentence in survey.sentences() { li { (sentence) } } }
            (details::warnings(survey))
            @if let Some(chart) = charts::throughput(survey, &stores) {
                h2 { "Throughput by clients, against the disk's sync rate" }
                figure { (stores.legend(true)) (wide(&chart)) figcaption {
                    "Both axes are logarithmic. Above the disk's best sync rate, several commits must share a sync."
                } }
                h2 { "Every store and number of clients" }
                (survey_table::table(survey))
                (multiples("Percentiles of service time", &stores,
                    &charts::percentiles(survey, &stores)))
                (multiples("Throughput over time", &stores, &charts::over_time(survey, &stores)))
            }
            (probe(survey.probe))
        }
    }
}

fn cards(survey: &Survey<'_>) -> Markup {
    let line = survey.line();
    let best = survey.best();
    html! {
        div.cards {
            (card("disk syncs, 1 at a time", &units::or_unknown(line.line_1, units::rate), "one sync outstanding"))
            (card("disk syncs, best in parallel", &units::or_unknown(line.line_max, units::rate),
                &line.line_max_outstanding.map_or_else(
                    || "several syncs outstanding".to_owned(),
                    |count| format!("{} outstanding", plural(count, "sync")))))
            @for run in best.iter().take(2) {
                (card(&run.head.target.name, &units::rate(run.end.throughput_per_s),
                    &format!("commits, {}; durability {}", plural(run.head.plan.clients, "client"),
                        run.head.target.durability_with_evidence())))
            }
        }
    }
}

fn card(name: &str, figure: &str, about: &str) -> Markup {
    html! { div.card { div.name { (name) } div.figure { (figure) } div.about { (about) } } }
}

/// A drawing as wide as the page; it scrolls where its text would become too small to read.
fn wide(chart: &str) -> Markup {
    html! { div.scroll tabindex="0" { (PreEscaped(chart)) } }
}

fn multiples(heading: &str, stores: &Stores, charts: &[(u64, String)]) -> Markup {
    html! {
        h2 { (heading) }
        (stores.legend(false))
        div.multiples {
            @for (clients, chart) in charts {
                figure {
                    h3 { (plural(*clients, "client")) }
                    (PreEscaped(chart))
                }
            }
        }
    }
}

fn probe(probe: &ProbeRecord) -> Markup {
    html! {
        @if let Some(chart) = charts::distributions(probe) {
            h2 { "Time of one sync" }
            figure {
                ul.legend {
                    @for (style, name) in DISTRIBUTION_STYLES.into_iter().zip(["p50", "p99", "max"]) {
                        li { (PreEscaped(mark(style))) (name) }
                    }
                    li { span.bar {} "from p50 to p99.9" }
                }
                (wide(&chart))
                figcaption { "One sync outstanding unless noted otherwise; " (probe.body.label) "." }
            }
        }
        @if let Some(chart) = charts::line_over_time(probe) {
            h2 { "The disk's sync rate over time" }
            figure { (wide(&chart)) figcaption {
                "The lower curve has one sync outstanding, the upper as many as were fastest."
            } }
        }
        h2 { "The disk under the directory" }
        @for verdict in &probe.body.verdicts {
            p.verdict { b { (verdict.word) } ": " (verdict.subject) ": " (verdict.reason)
                @if let Some(remedy) = &verdict.remedy { pre { (remedy) } } }
        }
        @let printed = &probe.body.device.sentences;
        @for note in probe.body.notes.iter().filter(|note| !printed.contains(note)) {
            p.note { (note) }
        }
        @if let Some(reason) = &probe.body.cut_short { p.warning { "cut short: " (reason) } }
        (details::device(probe))
    }
}

fn other_runs(runs: &[&RunRecord]) -> Markup {
    html! {
        h2 { "Runs" }
        div.scroll tabindex="0" { table {
            thead { tr { th.text { "run" } th { "commits/s" } th { "from to" } th { "p50" }
                th { "p99" } th.text { "durability" } } }
            tbody { @for run in runs { tr {
                td.text { (sweep_title::title(*run, runs))
                    @if let Some(notice) = &run.head.workload.notice { " " span.evidence { (notice) } } }
                td { b { (units::count(run.end.throughput_per_s)) } }
                td { (survey_table::range(run)) }
                td { (units::or_unknown(run.service_ns(), |times| units::span_ns(times.p50))) }
                td { (units::or_unknown(run.service_ns(), |times| units::span_ns(times.p99))) }
                td.text { (run.head.target.durability_with_evidence()) }
            } } }
        } }
    }
}

/// The records as JSON that cannot end the element around it.
fn embedded_json(records: &[Record]) -> String {
    json(records).replace('<', "\\u003c")
}
