//! The three sentences under a survey.

use super::grouping::Survey;
use super::warnings::OF_SHORT_SLICES;
use syncline_record::sync_line_ratio;
use syncline_record::units::{self, plural};
use syncline_record::{RunRecord, SyncLine};

/// The directory's sync rates.
pub(super) fn directory(survey: &Survey<'_>) -> String {
    let body = &survey.probe.body;
    let line = survey.line();
    let Some(line_1) = line.line_1 else {
        let reason = line.reason.as_deref().unwrap_or("no sync was measured");
        return format!("How many syncs/s {} can do is unknown: {reason}.", body.directory);
    };
    let method = line.method.as_deref().unwrap_or("an unnamed method");
    let size = units::size(line.write_bytes.unwrap_or(4_096) as f64);
    let verdict = survey.probe.verdict().map_or_else(
        || "durability of the disk: not judged".to_owned(),
        |verdict| {
            let why = without_period(&verdict.reason);
            format!("durability of the disk: {} ({why})", verdict.word)
        },
    );
    let most = match (line.line_max, line.line_max_outstanding) {
        (Some(rate), Some(outstanding)) => {
            format!(" and {} syncs/s with {outstanding} outstanding", units::count(rate))
        }
        (Some(rate), None) => {
            format!(" and {} syncs/s with several outstanding", units::count(rate))
        }
        (None, _) => String::new(),
    };
    let lost = survey.probe.verdict().is_some_and(|verdict| verdict.word == "not durable");
    let does = if lost { "acknowledges, but does not keep," } else { "can do" };
    format!(
        "{} {does} {} syncs/s one at a time{most} ({size}, {method}, {}); {verdict}.",
        body.directory,
        units::count(line_1),
        body.label,
    )
}

/// The throughput of the stores relative to the sync rates.
pub(super) fn stores(survey: &Survey<'_>) -> String {
    let best = survey.best();
    if best.is_empty() {
        return "No store that waits for a sync was run here, so nothing is compared with the disk."
            .to_owned();
    }
    let line = survey.line();
    let parts: Vec<String> = best.iter().map(|run| throughput_of(run, line)).collect();
    format!("With durability as set and power loss not tested, {}.", parts.join("; "))
}

/// A durability level and its meaning.
fn at_durability(word: Option<&str>) -> String {
    match word {
        Some("none") => "without any sync (durability none)".to_owned(),
        Some("os") => "with data handed to the operating system (durability os)".to_owned(),
        Some("data") => "with data synced (durability data)".to_owned(),
        Some("full") => "with data and metadata synced (durability full)".to_owned(),
        Some(other) => format!("with durability {other}"),
        None => "with unknown durability".to_owned(),
    }
}

/// The name of `line_1` after a ratio.
const ONE_AT_A_TIME: &str = "the disk's sync rate one at a time";
/// The name of `line_max` after a ratio.
const BEST_IN_PARALLEL: &str = "the disk's best parallel sync rate";

fn throughput_of(run: &RunRecord, line: &SyncLine) -> String {
    let target = &run.head.target;
    let rate = run.end.throughput_per_s;
    let on = match (line.line_1, line.line_max) {
        (Some(line_1), _) if run.head.plan.clients == 1 => Some((ONE_AT_A_TIME, line_1)),
        (Some(_), Some(line_max)) => Some((BEST_IN_PARALLEL, line_max)),
        (Some(line_1), None) => Some((ONE_AT_A_TIME, line_1)),
        (None, _) => None,
    };
    let place =
        on.map_or_else(String::new, |(name, on)| match sync_line_ratio(run, line, Some(on)) {
            Some(ratio) => format!(", {} {name}", units::times(ratio)),
            None => ", faster than the disk's sync rate as it was measured".to_owned(),
        });
    let shared = run.end.per_commit.commits_per_sync().map_or_else(
        || " (syncs not counted)".to_owned(),
        |commits| format!(" with {} commits per sync", units::figure(commits)),
    );
    format!(
        "{} {} reaches {} with {} ({}){place}{shared}",
        target.name,
        at_durability(target.durability.as_deref()),
        units::rate(rate),
        plural(run.head.plan.clients, "client"),
        run.client_model(),
    )
}

/// The gaps in this survey.
pub(super) fn gaps(survey: &Survey<'_>) -> String {
    let mut gaps = vec![
        "whether an acknowledged commit survives a power loss, which was not tested".to_owned(),
    ];
    let body = &survey.probe.body;
    if survey.probe.verdict().is_none_or(|verdict| verdict.word == "unknown") {
        gaps.push("whether a flush reaches the medium below".to_owned());
    }
    if body.label == "burst" {
        gaps.push("whether the device keeps this rate beyond a burst".to_owned());
    }
    let uncounted: Vec<_> = survey
        .runs
        .iter()
        .filter(|run| run.head.target.syncs() && run.end.per_commit.syncs.value.is_none())
        .collect();
    if let Some(run) = uncounted.first() {
        let source = &run.end.per_commit.syncs.source;
        gaps.push(format!("how many commits share a sync ({})", without_period(source)));
    }
    let short = |run: &&RunRecord| {
        run.end.warnings.iter().any(|warning| OF_SHORT_SLICES.contains(&warning.name.as_str()))
    };
    if survey.runs.iter().any(short) {
        gaps.push("what repetitions longer than these few seconds would show".to_owned());
    }
    let mut skipped = String::new();
    if !body.not_run.is_empty() {
        let count = body.not_run.len() as u64;
        let were = if count == 1 { "was" } else { "were" };
        skipped = format!(" {} {were} skipped.", plural(count, "configuration"));
    }
    format!("Not known here: {}.{skipped}", gaps.join("; "))
}

/// The text without a final period.
fn without_period(text: &str) -> &str {
    text.trim_end_matches('.')
}
