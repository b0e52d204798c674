//! The survey's table in HTML.

use crate::survey::{Group, StepOutcome, Survey};
use maud::{Markup, html};
use syncline_record::units::{self, plural};
use syncline_record::{Latency, RunRecord, sync_line_ratio};

const COLUMNS: usize = 9;

/// One group of rows per store, with its durability and evidence.
pub(super) fn table(survey: &Survey<'_>) -> Markup {
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                @for heading in ["clients", "commits/s", "from to", "×\u{a0}disk (1)", "×\u{a0}disk (max)",
                    "commits per sync", "p50", "p99", "bottleneck"] {
                    th.text[heading == "bottleneck"] { (heading) }
                }
            } }
            @for group in survey.groups() { (body(&group, survey)) }
        } }
    }
}

fn body(group: &Group<'_>, survey: &Survey<'_>) -> Markup {
    html! {
        tbody {
            tr.group { th colspan=(COLUMNS) { (heading(group)) } }
            @for step in &group.steps {
                @match step.outcome {
                    StepOutcome::Run(run) => (row(run, survey)),
                    StepOutcome::NotRun(reason) => tr.notrun {
                        td { (step.clients) }
                        td.text colspan=(COLUMNS - 1) { "not run: " (reason) }
                    },
                }
            }
        }
    }
}

fn heading(group: &Group<'_>) -> Markup {
    let Some(run) = group.example else {
        return html! { (group.target) ", " (group.durability) " (not run, nothing read back)" };
    };
    let target = &run.head.target;
    html! {
        b { (target.name) } " " (target.version.as_deref().unwrap_or("")) ", " (group.model)
        ", isolation " (target.isolation.as_deref().unwrap_or(units::UNKNOWN))
        span.evidence { "durability " (target.durability_with_evidence()) }
        @if let Some(notice) = &run.head.workload.notice { span.evidence { (notice) } }
    }
}

fn row(run: &RunRecord, survey: &Survey<'_>) -> Markup {
    let rate = run.end.throughput_per_s;
    let line = survey.line();
    let part =
        |rate: Option<f64>| units::or_unknown(sync_line_ratio(run, line, rate), units::figure);
    let time =
        |pick: fn(&Latency) -> u64| units::or_unknown(run.service_ns().map(pick), units::span_ns);
    let limit = run.end.saturation.as_ref();
    html! {
        tr {
            td { (run.head.plan.clients) }
            td { b { (units::count(rate)) } }
            td { (range(run)) }
            td { (part(line.line_1)) }
            td { (part(line.line_max)) }
            td title=(run.end.per_commit.syncs.source) {
                (units::or_unknown(run.end.per_commit.commits_per_sync(), units::figure))
            }
            td { (time(|times| times.p50)) }
            td { (time(|times| times.p99)) }
            td.text title=(limit.map_or("", |found| found.reason.as_str())) {
                (limit.map_or(units::UNKNOWN, |found| found.bottleneck()))
                @if run.end.cut_short.is_some() { ", cut short" }
                @if let Some(fair) = run.end.fairness.as_ref().filter(|fair| !fair.starved.is_empty()) {
                    ", " (plural(fair.starved.len() as u64, "client")) " starved"
                }
            }
        }
    }
}

/// The least and the most of the repetitions.
pub(super) fn range(run: &RunRecord) -> String {
    run.end.throughput_range.as_ref().map_or_else(
        || "one run".to_owned(),
        |range| format!("{} to {}", units::count(range.least), units::count(range.most)),
    )
}
