//! The lower part of the page: device facts, warnings, every record in full.

use crate::survey::{Survey, survey_warnings};
use crate::sweep_title;
use crate::table::{self, Detail};
use maud::{Markup, html};
use syncline_record::units;
use syncline_record::{Fact, ProbeRecord, Record, RunRecord};

/// The layers under the directory, each fact with its source.
pub(super) fn device(probe: &ProbeRecord) -> Markup {
    let device = &probe.body.device;
    html! {
        @for sentence in &device.sentences { p.note { (sentence) } }
        div.scroll tabindex="0" { table.facts {
            thead { tr { th.text { "fact" } th.text { "value" } th.text { "source" } } }
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

/// The warnings of a survey; empty if there are none.
pub(super) fn warnings(survey: &Survey<'_>) -> Markup {
    html! {
        @for warning in survey_warnings(survey) {
            p.warning.fails[warning.fails] title=(warning.runs.join("\n")) {
                b { (warning.about()) } ": " (warning.sentence)
            }
        }
    }
}

/// Every record as the terminal shows it, collapsed.
pub(super) fn records(records: &[Record]) -> Markup {
    let runs: Vec<&RunRecord> = records.iter().filter_map(Record::as_run).collect();
    html! {
        @for record in records {
            details {
                summary {
                    (match record {
                        Record::Run(run) => sweep_title::title(run.as_ref(), &runs),
                        other => other.title(),
                    })
                    " " code { (record.identity().id) }
                }
                pre {
                    (match record {
                        Record::Run(run) => table::run(run),
                        Record::Probe(probe) => table::probe(probe, Detail::Wide),
                        Record::Observation(observation) => table::observation(observation),
                        Record::Verification(verification) => table::verification(verification),
                    })
                }
            }
        }
    }
}
