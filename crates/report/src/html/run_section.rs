//! A run that belongs to no survey: its charts, bottleneck, checks and warnings.

use super::charts;
use crate::steadiness;
use maud::{Markup, PreEscaped, html};
use syncline_record::RunRecord;
use syncline_record::units;

/// The part of one run under `title`.
pub(super) fn part(run: &RunRecord, title: &str) -> Markup {
    let charts = [charts::run_over_time(run), charts::run_percentiles(run)];
    html! {
        section.single {
            h2 { (title) " " code { (run.identity.id) } }
            @if let Some(why) = &run.end.cut_short { p.warning { "cut short: " (why) } }
            @for warning in &run.end.warnings {
                p.warning { (warning.what) "; " (warning.advice) }
            }
            p.note { b { "Throughput: " } (units::rate(run.end.throughput_per_s)) "; "
                (steadiness::throughput_interval(run)) }
            @for sentence in steadiness::unsteady_parts(run) { p.note { (sentence) } }
            p.note { b { "Bottleneck: " } @match &run.end.saturation {
                Some(limit) => { (limit.bottleneck()) ": " (limit.reason) }
                None => (units::UNKNOWN),
            } }
            div.multiples { @for (heading, chart) in ["Throughput over time", "Percentiles of service time"]
                .into_iter().zip(charts) {
                @if let Some(chart) = chart { figure { h3 { (heading) } (PreEscaped(chart)) } }
            } }
            @if run.end.checks.is_empty() { p { "Nothing was checked after the run." } } @else {
                div.scroll tabindex="0" { table.facts {
                    thead { tr { th.text { "checked after the run" } th.text { "outcome" } th.text { "" } } }
                    tbody { @for check in &run.end.checks { tr {
                        td.text { (check.name) }
                        td.text { b { (check.outcome) } }
                        td.text { (check.detail.as_deref().unwrap_or("")) }
                    } } }
                } }
            }
        }
    }
}
