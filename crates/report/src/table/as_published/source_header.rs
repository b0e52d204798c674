//! The header of every view of a published source: the source, and the runs compared with it.

use super::super::prose::{fact, wrap};
use crate::published::Source;
use std::collections::BTreeSet;
use syncline_record::RunRecord;
use syncline_record::units;
use syncline_record::units::plural;

/// The cell for a figure that a source does not give.
pub(super) const NOT_GIVEN: &str = "not given";

/// The header that must accompany a source's figures.
pub(super) fn then(source: &Source) -> String {
    let mut text = fact("then", &source.title);
    text += &fact("date", &source.date);
    text += &fact("machine", &source.machine);
    text += &fact("counted", &source.counts);
    for (number, error) in source.known_errors.iter().enumerate() {
        text += &fact(if number == 0 { "known errors" } else { "" }, error);
    }
    text
}

/// The header that must accompany Syncline's figures: a paragraph per run, then each notice once.
pub(super) fn now(runs: &[&RunRecord]) -> String {
    let mut text = String::from("\n");
    for (index, run) in runs.iter().enumerate() {
        text += &fact(&label(index, runs.len()), &run_description(run));
    }
    let notices = runs.iter().filter_map(|run| run.head.workload.notice.as_deref());
    for notice in notices.collect::<BTreeSet<_>>() {
        text += &fact("notice", notice);
    }
    if runs.iter().any(|run| run.head.plan.rate_per_s.is_some()) {
        text += &fact(
            "open loop",
            "its rate is the offered rate, not the most that the store does: it cannot be compared with \
             a rate then",
        );
    }
    text
}

/// The label of a run in the table: "now", or "now 2" if there are several.
pub(super) fn label(index: usize, count: usize) -> String {
    if count == 1 { "now".to_owned() } else { format!("now {}", index + 1) }
}

/// "engine, data": the store and its durability level, whose evidence [`now`] prints.
pub(super) fn mode(run: &RunRecord) -> String {
    let target = &run.head.target;
    let word = target.durability.as_deref().unwrap_or(units::UNKNOWN);
    format!("{}, {word}", target.name)
}

/// A note under a table.
pub(super) fn note(text: &str) -> String {
    wrap("", text)
}

/// The seconds of all measured phases, up to the end of the last transaction that counts among the outcomes;
/// `None` if the record measured nothing.
pub(super) fn seconds(run: &RunRecord) -> Option<f64> {
    let elapsed_ns = run.end.elapsed_ns();
    (elapsed_ns > 0).then(|| elapsed_ns as f64 / 1e9)
}

/// The offered rate of an open loop; empty for a closed one.
fn offered_rate(run: &RunRecord) -> String {
    let plan = &run.head.plan;
    plan.rate_per_s.map_or_else(String::new, |rate| {
        let rate = units::rate(rate);
        format!(", an open loop of {rate} ({})", plan.arrival)
    })
}

fn run_description(run: &RunRecord) -> String {
    let (head, end) = (&run.head, &run.end);
    let version = head.target.version.as_deref().unwrap_or("of unknown version");
    let mut text = format!(
        "{} on {} {version}, {}, {}{}; durability {}; isolation {}; {}; {}; {}",
        head.workload.name,
        head.target.name,
        plural(head.plan.clients, "client"),
        run.client_model(),
        offered_rate(run),
        head.target.durability_with_evidence(),
        head.target.isolation.as_deref().unwrap_or(units::UNKNOWN),
        head.machine.in_words(),
        run.identity.started,
        run.identity.id
    );
    for check in end.checks.iter().filter(|check| check.outcome == "violated") {
        text += &format!("; violated: {}", check.name);
    }
    if let Some(reason) = &end.cut_short {
        text += &format!("; cut short: {reason}");
    }
    text
}
