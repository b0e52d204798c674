//! The ratio of a run's throughput to its sync line, and whether the line moved during the run.
//!
//! 1. The ratio is commits per second divided by a rate of syncs. A store that syncs once for `n` commits
//!    cannot exceed `n` times the fastest measured rate of its disk: `line_1` if one client waits for each
//!    commit, else the better of `line_1` and `line_max`.
//! 2. An excess of up to a twentieth is the noise of two measurements, and the ratio is capped at what
//!    counted syncs allow. With a larger excess there is no ratio: the line does not describe the disk during
//!    the run.
//! 3. A line has moved if its median or its best window after the run differs by more than a fifth from that
//!    before.

use crate::stats;
use crate::units;
use crate::{RunRecord, SyncLine, Warning};

/// The excess over what counted syncs allow that counts as noise.
const NOISE: f64 = 0.05;
/// How far a line may move without a warning.
const MOVED: f64 = 0.2;

/// Commits per second divided by that rate of the line; `None` if the line is not known, or if the counted
/// syncs do not allow the ratio.
pub fn sync_line_ratio(run: &RunRecord, line: &SyncLine, rate_per_s: Option<f64>) -> Option<f64> {
    let rate_per_s = rate_per_s.filter(|rate| *rate > 0.0)?;
    let ratio = run.end.throughput_per_s / rate_per_s;
    let Some(most) = most_commits_per_s(run, line) else {
        return Some(ratio);
    };
    let most = most / rate_per_s;
    (ratio <= most * (1.0 + NOISE)).then(|| ratio.min(most))
}

/// Commits per second that the line allows at the counted commits per sync; `None` if either is not known.
pub(crate) fn most_commits_per_s(run: &RunRecord, line: &SyncLine) -> Option<f64> {
    let shared = run.end.per_commit.commits_per_sync()?;
    let fastest = match (line.line_1, line.line_max) {
        (line_1, _) if run.head.plan.clients == 1 => line_1?,
        (Some(line_1), Some(line_max)) => line_1.max(line_max),
        (line_1, line_max) => line_1.or(line_max)?,
    };
    Some(shared * fastest)
}

/// Why a run has no ratio to a line that is known; `None` if it has one.
pub fn no_sync_line_ratio(run: &RunRecord, line: &SyncLine) -> Option<String> {
    let most = most_commits_per_s(run, line)?;
    let shared = run.end.per_commit.commits_per_sync()?;
    let rate = run.end.throughput_per_s;
    (rate > most * (1.0 + NOISE)).then(|| {
        format!(
            "{} syncs were counted, and the disk's measured sync rate allows {}: it was measured while the \
             disk was slower, or syncs of this store are cheaper than the measured ones",
            units::rate(rate / shared),
            units::rate(most / shared)
        )
    })
}

/// The warnings about a run's sync line.
pub(crate) fn line_warnings(run: &RunRecord) -> Vec<Warning> {
    let line = &run.end.sync_line;
    let moved = moved(line).map(|(before, after)| Warning {
        name: "line_moved".to_owned(),
        what: format!(
            "the disk's sync rate changed during the measurement, from {} before the run to {} after it",
            units::rate(before),
            units::rate(after)
        ),
        advice:
            "ratios to it are as uncertain as that; repeat when nothing else uses the disk"
                .to_owned(),
    });
    let above = no_sync_line_ratio(run, line).map(|why| Warning {
        name: "above_line".to_owned(),
        what: why,
        advice: "no ratio to the sync rate is given; measure it longer: syncline probe DIR"
            .to_owned(),
    });
    moved.into_iter().chain(above).collect()
}

/// The line before and after the run, if it moved, by the measure that shows the larger move.
fn moved(line: &SyncLine) -> Option<(f64, f64)> {
    let best = |windows: &[f64]| stats::range(windows).map(|range| range.most);
    let pairs = [
        stats::median(&line.before).zip(stats::median(&line.after)),
        best(&line.before).zip(best(&line.after)),
    ];
    let by = |(before, after): &(f64, f64)| before.max(*after) / before.min(*after);
    let farthest = pairs
        .into_iter()
        .flatten()
        .filter(|(before, after)| *before > 0.0 && *after > 0.0)
        .max_by(|one, other| by(one).total_cmp(&by(other)))?;
    (by(&farthest) > 1.0 + MOVED).then_some(farthest)
}
