//! One run: headline, outcomes, percentiles, cost of a commit, bottleneck, checks, warnings.

use super::commit_path::commit_path;
use super::prose::{self, fact};
use super::run_parts::{
    counters, counts, internals, operations, outcomes, percentiles, repetitions,
};
use crate::cost::CostChoice;
use crate::steadiness;
use syncline_record::units::{self, plural};
use syncline_record::{Latency, RunRecord};
use syncline_record::{no_sync_line_ratio, sync_line_ratio};

/// The view of a run.
pub fn run(run: &RunRecord) -> String {
    run_with_costs(run, &CostChoice::default())
}

/// The same, with a choice of what is shown of its cost by module, if it was profiled.
pub(super) fn run_with_costs(run: &RunRecord, choice: &CostChoice) -> String {
    let mut text = headline(run);
    text += "\n";
    text += &setting(run);
    text += &outcomes(run);
    text += &percentiles(run);
    text += &operations(run);
    text += &internals(run);
    text += &commit_path(run);
    text += &repetitions(run);
    text += &counts(run);
    text += &counters(run);
    if run.head.plan.looks_per_s.is_some() {
        text += &super::cost(run, choice);
    }
    text += &conclusions(run);
    text
}

fn headline(run: &RunRecord) -> String {
    let end = &run.end;
    let mut text = format!("{}   {}   {}\n", run.title(), run.identity.started, run.identity.id);
    let range = end.throughput_range.as_ref().map_or_else(String::new, |range| {
        let phases = plural(end.repetitions.len() as u64, "repetition");
        format!(" ({} over {phases})", units::rate_range(range.least, range.most))
    });
    text += &format!("\n  {} commits{range}", units::rate(end.throughput_per_s));
    text += "\n";
    text += &prose::wrap("  ", &steadiness::throughput_interval(run));
    for sentence in steadiness::unsteady_parts(run) {
        text += &prose::wrap("  ", &sentence);
    }
    if let Some(times) = run.service_ns() {
        text += &format!("  service time {}\n", three(times));
    }
    if run.head.workload.unit_per_transaction != 1 {
        let per_s = end.throughput_per_s * run.head.workload.unit_per_transaction as f64;
        text += &format!("  {} {}\n", units::rate(per_s), run.head.workload.unit);
    }
    for figure in run.end.figures.iter().flatten() {
        let space = if figure.unit.is_empty() { "" } else { " " };
        let (value, unit) = (units::figure(figure.value), &figure.unit);
        let figure = format!("{value}{space}{unit} {}", figure.name);
        text += &prose::wrap("  ", &figure);
    }
    text += &prose::wrap("  ", &sync_line_ratios(run));
    if let Some(reason) = &end.cut_short {
        text += &prose::wrap("  cut short: ", reason);
    }
    if let Some(notice) = &run.head.workload.notice {
        text += &prose::wrap("  ", notice);
    }
    text
}

fn three(times: &Latency) -> String {
    let mut text = format!(
        "p50 {}, p99 {}, max {}",
        units::span_ns(times.p50),
        units::span_ns(times.p99),
        units::span_ns(times.max)
    );
    // A few that waited long took most of the time, which the percentiles do not show.
    if times.mean > times.p99 as f64 {
        text += &format!(", mean {}", units::span(times.mean));
    }
    text
}

/// The name of `line_1` after a ratio such as "0.75 x".
pub(super) const ONE_AT_A_TIME: &str = "the disk's sync rate one at a time";
/// The name of `line_max` after the ratio to `line_1`.
pub(super) const BEST_IN_PARALLEL: &str = "its best in parallel";

/// The ratios of commits per second to the disk's sync rates.
fn sync_line_ratios(run: &RunRecord) -> String {
    let line = &run.end.sync_line;
    if let Some(why) = no_sync_line_ratio(run, line) {
        return format!("cannot be compared with the disk's sync rate: {why}");
    }
    let part = |name: &str, rate: Option<f64>| {
        let ratio = units::times(sync_line_ratio(run, line, rate)?);
        Some(format!("{ratio} {name} ({})", units::rate(rate?)))
    };
    let parts: Vec<String> =
        [part(ONE_AT_A_TIME, line.line_1), part(BEST_IN_PARALLEL, line.line_max)]
            .into_iter()
            .flatten()
            .collect();
    if parts.is_empty() {
        let reason = line.reason.as_deref().unwrap_or("the log directory was not probed");
        format!("cannot be compared with the disk's sync rate: {reason}")
    } else {
        parts.join(", ")
    }
}

fn setting(run: &RunRecord) -> String {
    let (target, plan) = (&run.head.target, &run.head.plan);
    let version = target.version.as_deref().unwrap_or("of unknown version");
    let mut text = fact("target", &format!("{} {version}", target.name));
    text += &fact("durability", &target.durability_with_evidence());
    text += &fact("isolation", target.isolation.as_deref().unwrap_or(units::UNKNOWN));
    let client = run.end.client.as_ref().map_or_else(
        || plural(plan.clients, "client"),
        |client| {
            let workers = plural(client.workers, "worker");
            format!("{}, {}, {workers}", plural(plan.clients, "client"), client.model)
        },
    );
    let arrival = plan.rate_per_s.map_or_else(
        || "closed loop".to_owned(),
        |rate| format!("open loop, {} at {}", plan.arrival, units::rate(rate)),
    );
    let together = match plan.pipeline {
        Some(true) => "; statements pipelined",
        Some(false) | None => "",
    };
    text += &fact("clients", &format!("{client}; {arrival}{together}"));
    let options = &run.head.workload.options;
    let options: Vec<_> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !options.is_empty() {
        text += &fact("options", &options.join(" "));
    }
    text += &fact("measured", &measured_span(run));
    text += &fact("machine", &run.head.machine.in_words());
    if let Some(directory) = &target.log_directory {
        let device = run.end.device.name.as_deref().unwrap_or("no single disk");
        let model =
            run.end.device.model.as_ref().map_or_else(String::new, |model| format!(" ({model})"));
        text += &fact("log directory", &format!("{directory} on {device}{model}"));
    } else if let Some(reason) = &target.log_reason {
        text += &fact("log directory", &format!("none: {reason}"));
    }
    for space in &target.disk_space {
        let [free, all, reserve] = [space.free_bytes, space.bytes, space.reserve_bytes]
            .map(|bytes| units::size(bytes as f64));
        let what = format!(
            "{free} free of {all} in {} before the run; {reserve} of it is kept free",
            space.directory
        );
        text += &fact("free space", &what);
    }
    match &target.disk_space_reason {
        Some(reason) if target.log_reason.as_ref() == Some(reason) => {
            text += &fact("free space", "unknown, so not watched: see the log directory");
        }
        Some(reason) => {
            text += &fact("free space", &format!("unknown, so not watched: {reason}"));
        }
        None => {}
    }
    text
}

fn measured_span(run: &RunRecord) -> String {
    let warm_up = match run.head.plan.warm_up_ns {
        0 => "without warm-up".to_owned(),
        ns => format!("after {} of warm-up", units::span_ns(ns)),
    };
    let ended = run.end.stopped_by.as_ref().map_or_else(String::new, |by| match by.as_str() {
        "asked to stop" => ", interrupted".to_owned(),
        by => format!(", ended by {by}"),
    });
    format!("{} {warm_up}{ended}", units::span_ns(run.end.measured_ns))
}

fn conclusions(run: &RunRecord) -> String {
    let mut text = String::new();
    if let Some(found) = &run.end.saturation {
        text += &prose::heading("Bottleneck");
        text += &prose::wrap("  ", &format!("{}: {}", found.bottleneck(), found.reason));
    }
    if let Some(fair) = run.end.fairness.as_ref().filter(|_| run.head.plan.clients > 1) {
        text += &prose::heading("Commits per client");
        text += &format!("  min {}, median {}, max {}\n", fair.least, fair.median, fair.most);
    }
    if !run.end.checks.is_empty() {
        text += &prose::heading("Checks");
        for check in &run.end.checks {
            let detail =
                check.detail.as_ref().map_or_else(String::new, |detail| format!(" ({detail})"));
            text += &prose::wrap("  ", &format!("{}: {}{detail}", check.outcome, check.name));
        }
    }
    if !run.end.warnings.is_empty() {
        text += "\n";
    }
    for alike in run.end.warnings.chunk_by(|one, next| one.advice == next.advice) {
        let what: Vec<&str> = alike.iter().map(|warning| warning.what.as_str()).collect();
        let sentence = format!("{}; {}", what.join("; "), alike[0].advice);
        text += &prose::wrap("warning: ", &sentence);
    }
    text
}
