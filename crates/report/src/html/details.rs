//! The lower part of the page: device facts, warnings, every record in full.

use crate::finding::findings;
use crate::record::{Fact, ProbeRecord, Record, Warning};
use crate::survey::Survey;
use crate::table::{self, Detail};
use crate::units;
use maud::{Markup, html};

/// What lies under the directory, each fact with who says it.
pub(super) fn device(probe: &ProbeRecord) -> Markup {
    let device = &probe.body.device;
    html! {
        @for sentence in &device.sentences { p.note { (sentence) } }
        div.scroll { table.facts {
            thead { tr { th { "fact" } th { "value" } th { "said by" } } }
            tbody {
                @if device.layers.iter().all(|layer| layer.facts != device.mount) {
                    @for fact in &device.mount { (fact_row(fact)) }
                }
                @for layer in &device.layers {
                    tr.group { th colspan="3" {
                        (layer.name) " (" (layer.kind) ") "
                        span.evidence { "syncs: " (layer.standing)
                            @if let Some(reason) = &layer.standing_reason { ", " (reason) }
                        }
                    } }
                    @for fact in &layer.facts { (fact_row(fact)) }
                }
                @for fact in &device.environment { (fact_row(fact)) }
            }
        } }
        @let remedies = device.layers.iter().filter_map(|layer| layer.remedy.as_ref());
        @let commands: Vec<&String> = remedies.chain(&device.cache_off_command).collect();
        @if !commands.is_empty() {
            p { "Commands that would change this; none was run:" }
            @for command in commands { pre { (command) } }
        }
    }
}

fn fact_row(fact: &Fact) -> Markup {
    html! {
        tr {
            td.text { (fact.name) }
            td.text { (units::or_unknown(fact.value.as_deref(), str::to_owned)) }
            td.text { code { (table::short_source(&fact.said_by)) } }
        }
    }
}

/// What the figures say against the stores, and what may spoil them; nothing if there is nothing.
pub(super) fn warnings(survey: &Survey<'_>) -> Markup {
    let found: Vec<(String, String)> = survey
        .runs
        .iter()
        .flat_map(|run| findings(run).into_iter().map(|one| (run.title(), one)))
        .map(|(title, one)| (title, format!("{}; {}", one.sentence, one.advice)))
        .collect();
    let mut others: Vec<(&Warning, Vec<String>)> = Vec::new();
    for run in &survey.runs {
        for warning in run
            .end
            .warnings
            .iter()
            .filter(|warning| warning.name != "durability")
        {
            match others
                .iter_mut()
                .find(|(known, _)| known.advice == warning.advice)
            {
                Some((_, titles)) => titles.push(run.title()),
                None => others.push((warning, vec![run.title()])),
            }
        }
    }
    let violated = survey.runs.iter().flat_map(|run| {
        let checks = run
            .end
            .checks
            .iter()
            .filter(|check| check.outcome == "violated");
        checks.map(|check| (run.title(), check))
    });
    html! {
        @for (title, check) in violated {
            p.warning.fails { b { (title) } ": check violated: " (check.name)
                @if let Some(detail) = &check.detail { " (" (detail) ")" } }
        }
        @for (title, sentence) in &found { p.warning.fails { b { (title) } ": " (sentence) } }
        @for (warning, titles) in &others {
            p.warning title=(titles.join("\n")) {
                b { (titles[0]) } @if titles.len() > 1 { " and " (titles.len() - 1) " more" }
                ": " (warning.what) "; " (warning.advice)
            }
        }
    }
}

/// Every record as the terminal shows it, folded in.
pub(super) fn records(records: &[Record]) -> Markup {
    html! {
        @for record in records {
            details {
                summary {
                    (match record {
                        Record::Run(run) => run.title(),
                        Record::Probe(probe) => format!("probe of {}", probe.body.directory),
                    })
                    " " code { (record.identity().id) }
                }
                pre {
                    (match record {
                        Record::Run(run) => table::run(run),
                        Record::Probe(probe) => table::probe(probe, Detail::Wide),
                    })
                }
            }
        }
    }
}
