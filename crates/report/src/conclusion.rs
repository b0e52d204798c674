//! Conclusions about the server's commits from an observation: at most three sentences, from figures alone.
//!
//! 1. An unknown figure gives no sentence.
//! 2. Fewer than [`COMMITS_LEAST`] commits may show chance, and give no sentence at all.
//! 3. No sentence claims more than the figures show: if there is one sync per commit, each commit waits for
//!    its own sync; if several commits share one, nothing is claimed about what a commit waits for.

use syncline_record::units;
use syncline_record::{Counted, ObservationRecord};

/// With fewer commits that wrote, there is no conclusion.
const COMMITS_LEAST: f64 = 20.0;
/// With more commits per sync than this, commits share syncs.
const ALONE_MOST: f64 = 1.2;
/// With fewer commits per sync than this, a commit makes several syncs.
const ALONE_LEAST: f64 = 0.8;

/// The sentences, each with a final period.
pub(crate) fn conclusions(record: &ObservationRecord) -> Vec<String> {
    let body = &record.body;
    let writes_per_s = match &body.writing_commits_per_s {
        Some(counted) => counted.value,
        None => body.commits_per_s,
    };
    let seconds = body.span_ns as f64 / 1e9;
    let Some(writes_per_s) = writes_per_s.filter(|per_s| per_s * seconds >= COMMITS_LEAST) else {
        return Vec::new();
    };
    let per_sync =
        known_value(&body.commits_per_sync).or_else(|| known_value(&body.commits_per_sync_call));
    let sync_ns = known_value(&body.sync_ns);
    let all = [
        per_sync.map(sync_sharing),
        sync_ns.map(ceiling),
        per_sync
            .zip(sync_ns)
            .map(|(per_sync, sync_ns)| share_of_time(writes_per_s / per_sync, sync_ns)),
    ];
    all.into_iter().flatten().collect()
}

fn known_value(counted: &Counted) -> Option<f64> {
    counted.value.filter(|value| *value > 0.0 && value.is_finite())
}

fn sync_sharing(per_sync: f64) -> String {
    let figure = units::figure(per_sync);
    if per_sync > ALONE_MOST {
        format!("Commits share syncs ({figure} commits per sync): group commit is at work.")
    } else if per_sync >= ALONE_LEAST {
        format!(
            "Each commit has its own sync ({figure} commits per sync): group commit is not at work."
        )
    } else {
        let syncs = units::figure(1.0 / per_sync);
        format!(
            "There are {syncs} syncs per commit: some are not those of commits, or a commit makes several."
        )
    }
}

fn ceiling(sync_ns: f64) -> String {
    format!(
        "At {} per sync, one client that waits for each commit cannot exceed {} commits/s.",
        units::span(sync_ns),
        units::count(1e9 / sync_ns)
    )
}

fn share_of_time(syncs_per_s: f64, sync_ns: f64) -> String {
    let share = syncs_per_s * sync_ns / 1e9;
    let syncs = units::rate(syncs_per_s);
    if share > 1.0 {
        format!("At {syncs}, syncs of the log overlap.")
    } else {
        format!("At {syncs}, syncs of the log take {} of the time.", units::percent(share))
    }
}

#[cfg(test)]
mod tests {
    use super::{ceiling, share_of_time, sync_sharing};

    // 2.2 of the users' page: an observation without a conclusion
    #[test]
    fn sentences_claim_what_the_figures_show_and_no_more() {
        assert!(
            sync_sharing(0.993).ends_with("(0.993 commits per sync): group commit is not at work.")
        );
        assert!(sync_sharing(12.0).ends_with("group commit is at work."));
        assert!(sync_sharing(0.5).starts_with("There are 2.00 syncs per commit"));
        let limit = ceiling(656_000.0);
        assert!(limit.contains("656 us per sync"), "{limit}");
        assert!(limit.contains("cannot exceed 1.52k commits/s"), "{limit}");
        assert!(share_of_time(794.0, 656_000.0).contains("52.1 % of the time"));
        assert!(share_of_time(3_000.0, 656_000.0).contains("overlap"));
    }
}
