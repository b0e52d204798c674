//! An observation's part of the page: figures with their sources, the store's counters, settings and
//! replicas.
//!
//! 1. Every value passes through `maud`, which escapes it: names and settings come from a server that others
//!    run.
//! 2. A value that is not known is shown as unknown, with the reason in the next column.

use crate::bucket_quantile::quantiles;
use crate::table::with_units;
use maud::{Markup, html};
use syncline_record::units;
use syncline_record::{Counted, ObservationBody, ObservationRecord, Setting};

/// The part of one observation.
pub(super) fn part(record: &ObservationRecord) -> Markup {
    let body = &record.body;
    let log = body.target.log_directory.as_deref();
    let log_reason = body.target.log_reason.as_deref().unwrap_or("not known");
    html! {
        section.observation {
            (figures(body))
            h2 { "The store" }
            div.scroll tabindex="0" { table.facts { tbody {
                (fact("product", &body.target.product, ""))
                (fact("version", body.target.version.as_deref().unwrap_or(units::UNKNOWN), ""))
                (fact("log directory", log.unwrap_or(units::UNKNOWN),
                    if log.is_some() { "" } else { log_reason }))
                (fact("disk under the log", body.device.name.as_deref().unwrap_or(units::UNKNOWN),
                    body.device.reason.as_deref().unwrap_or("")))
                @if let Some(why) = &body.target.disk_drops_syncs {
                    (fact("disk keeps synced data", "no", why))
                }
                (fact("disk sync rate, one at a time", &units::or_unknown(body.sync_line.line_1, units::rate),
                    body.sync_line.reason.as_deref().unwrap_or("")))
            } } }
            (counters(body))
            (settings("Settings", &body.target.settings, "none was reported"))
            h2 { "Replication" }
            @match &body.target.replication {
                Some(replicas) if replicas.is_empty() => p { "no replicas" },
                Some(replicas) => (table(replicas)),
                None => p { (units::UNKNOWN) ": "
                    (body.target.replication_reason.as_deref().unwrap_or("not reported")) },
            }
        }
    }
}

fn figures(body: &ObservationBody) -> Markup {
    type Show = fn(f64) -> String;
    let counted = |name: &'static str, counted: &Counted, show: Show| {
        fact(name, &units::or_unknown(counted.value, show), &counted.source)
    };
    let reads = match body.commits_hold_reads {
        Some(true) => "includes transactions that only read",
        _ => "",
    };
    html! {
        h2 { "Observed for " (units::span_ns(body.span_ns)) ", without a load of this program" }
        div.scroll tabindex="0" { table.facts {
            thead { tr { th.text { "figure" } th.text { "value" } th.text { "source, or why unknown" } } }
            tbody {
                (fact("commits", &units::or_unknown(body.commits_per_s, units::rate), reads))
                @if let Some(writing) = &body.writing_commits_per_s {
                    (counted("commits that wrote", writing, units::rate))
                }
                (counted("commits per sync", &body.commits_per_sync, units::figure))
                (counted("commits per sync call", &body.commits_per_sync_call, units::figure))
                (counted("sync calls", &body.sync_calls_per_s, units::rate))
                (counted("device flushes", &body.flushes_per_s, units::rate))
                (counted("log bytes per commit", &body.log_bytes_per_commit, units::size))
                (counted("time of a sync", &body.sync_ns, units::span))
            }
        } }
    }
}

fn fact(name: &str, value: &str, source: &str) -> Markup {
    html! { tr { td.text { (name) } td.text { b { (value) } } td.text { (source) } } }
}

fn counters(body: &ObservationBody) -> Markup {
    let seconds = (body.span_ns as f64 / 1e9).max(f64::MIN_POSITIVE);
    html! {
        @if !body.counters.is_empty() {
            h2 { "The store's own counters" }
            div.scroll tabindex="0" { table {
                thead { tr { th.text { "counter" } th { "increase" } th { "per second" } th.text { "" } } }
                tbody { @for counter in &body.counters {
                    @let grown = counter.grown.map(|grown| grown as f64);
                    @let show = crate::table::counter_unit(&counter.unit);
                    tr {
                        td.text { (counter.meaning.replace('_', " ")) " (" (counter.name) ")" }
                        td { (units::or_unknown(grown, show)) }
                        td { (units::or_unknown(grown.map(|grown| grown / seconds), show)) }
                        td.text { (counter.reason.as_deref().unwrap_or("")) }
                    }
                }
                @for one in quantiles(&body.counters) {
                    tr {
                        td.text { "99 % within (" (one.name) ")" }
                        td { (units::or_unknown(one.at_most_ns, units::span)) }
                        td {}
                        td.text { (one.note) }
                    }
                } }
            } }
        }
    }
}

fn settings(heading: &str, settings: &[Setting], none: &str) -> Markup {
    html! {
        h2 { (heading) }
        @if settings.is_empty() { p { (none) } } @else { (table(settings)) }
    }
}

fn table(settings: &[Setting]) -> Markup {
    html! {
        div.scroll tabindex="0" { table.facts {
            thead { tr { th.text { "name" } th.text { "value" } th.text { "source" } } }
            tbody { @for setting in settings {
                (fact(&setting.name, &with_units(&setting.value), &setting.said_by))
            } }
        } }
    }
}
