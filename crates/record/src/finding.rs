//! Checks a record's own figures against its promise of durability.
//!
//! There are two rules; both need counted figures, never a rate alone:
//!
//! 1. The rate rule: one client with one outstanding commit whose every 1 s window for 5 s lies above
//!    1.2 times the best window of `line_1` before and after.
//! 2. The count rule: at most as many commits can share a sync as there are clients, since each has one under
//!    way. With more commits per counted sync, some were acknowledged before any sync.
//!
//! Reads commit without a sync, so both rules are about transactions that write: the count rule counts only
//! transaction types that always write, and the rate rule applies only if all types of a run do.
//!
//! For a store that never promised to sync, the finding is only a warning.

use crate::rate_rule::faster_than_line;
use crate::sync_line_ratio::line_warnings;
use crate::units::{self, plural};
use crate::{Interval, RunRecord, Warning};

/// How far above the number of clients the commits per sync must lie: counters are read a moment
/// apart from the outcomes.
const COUNT_MARGIN: f64 = 1.1;

/// A window may be this much shorter than a second and still count as one.
const WINDOW_S: f64 = 0.95;

/// A contradiction between a record's figures and its promise.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The sentence.
    pub sentence: String,
    /// What to do.
    pub advice: String,
    /// True if the store promised `data` or `full`, so that a promise failed.
    pub fails: bool,
}

/// All findings of a run.
pub fn findings(run: &RunRecord) -> Vec<Finding> {
    rate_finding(run).into_iter().chain(count_finding(run)).collect()
}

/// The rate rule, applied to a record.
pub fn rate_finding(run: &RunRecord) -> Option<Finding> {
    if writing_share(run) < 1.0 {
        return None;
    }
    let line = &run.end.sync_line;
    let outstanding = usize::try_from(run.head.plan.clients).unwrap_or(usize::MAX);
    let windows = windows_1s(&run.intervals);
    let found = faster_than_line(outstanding, &windows, &line.before, &line.after)?;
    let per_s = |rate| units::rate(rate);
    Some(Finding {
        sentence: format!(
            "faster than any sync this tool could make here: one client committed at {} or more \
             for 5 s, and the disk's best second, one sync at a time, is {}",
            per_s(found.slowest_window_per_s),
            per_s(found.best_line_window_per_s)
        ),
        advice: "check its settings".to_owned(),
        fails: run.head.target.syncs(),
    })
}

/// The count rule, applied to a record.
pub fn count_finding(run: &RunRecord) -> Option<Finding> {
    let syncs = run.end.per_commit.syncs.value?;
    let clients = run.head.plan.clients as f64;
    let share = writing_share(run);
    let too_few = |per_commit: f64| per_commit * clients * COUNT_MARGIN < share;
    // Some stores sync by synchronous writes or io_uring, without sync calls; then only the disk's flushes
    // can show too few syncs, and if those were not counted there is no finding.
    let flushes_too_few = run.end.per_commit.flushes.value.is_some_and(too_few);
    let synced_writes = run.end.per_commit.synced_writes.value.unwrap_or(0.0);
    if run.end.outcomes.committed == 0 || !too_few(syncs + synced_writes) || !flushes_too_few {
        return None;
    }
    let counted = if syncs > 0.0 {
        format!("{} commits share one sync", units::figure(share / syncs))
    } else {
        "no sync was counted".to_owned()
    };
    Some(Finding {
        sentence: format!(
            "{counted}, and with {} at most {} can: commits were acknowledged before any sync",
            plural(run.head.plan.clients, "client"),
            run.head.plan.clients
        ),
        advice: "check its settings".to_owned(),
        fails: run.head.target.syncs(),
    })
}

/// A sentence if the store counts syncs of its log but the kernel counted almost none: one of the two counts
/// is wrong. A library that drops syncs, such as libeatmydata, has this effect. It does not show that a
/// commit was lost, so it is a warning.
pub fn contradicted_syncs(run: &RunRecord) -> Option<String> {
    let calls = &run.end.per_commit.syncs;
    if run.end.per_commit.synced_writes.value.is_some() || !calls.source.starts_with(SYNC_CALLS) {
        return None;
    }
    let counters = run.end.counters.as_ref()?;
    let of = |meaning: &str| counters.iter().find(|counter| counter.meaning == meaning);
    let (syncs, commits) = (of("log_syncs")?, of("commits")?.grown?);
    let by_the_store = syncs.grown.filter(|grown| *grown >= FEWEST_SYNCS)?;
    let by_the_kernel = calls.value? * commits as f64;
    (by_the_kernel * CONTRADICTION_FACTOR < by_the_store as f64).then(|| {
        format!(
            "the store counts {by_the_store} syncs of its log ({}), but the kernel counted \
             {by_the_kernel:.0} of its process",
            syncs.name
        )
    })
}

/// The start of the source of a figure that was counted from the process's own sync calls.
const SYNC_CALLS: &str = "fsync, fdatasync";

/// With fewer syncs than this, the counts are not compared.
const FEWEST_SYNCS: u64 = 20;

/// How many times the kernel's count a store's count must be, since the two are read a moment apart.
const CONTRADICTION_FACTOR: f64 = 10.0;

/// The share of the committed transactions that are of types that always write.
fn writing_share(run: &RunRecord) -> f64 {
    let committed = |writing: bool| -> u64 {
        let kinds = run.end.transactions.iter();
        let kinds = kinds.filter(|kind| !writing || kind.always_writes != Some(false));
        kinds.map(|kind| kind.count).sum()
    };
    match committed(false) {
        0 => 1.0,
        all => committed(true) as f64 / all as f64,
    }
}

/// Stores the findings in the record: the verdict of the sync line, and warnings, including one about a line
/// that moved.
pub fn note_findings(run: &mut RunRecord) {
    run.end.sync_line.verdict = rate_finding(run).map(|finding| finding.sentence);
    let of_line = line_warnings(run);
    run.end.warnings.extend(of_line);
    for finding in findings(run) {
        run.end.warnings.push(Warning {
            name: "durability".to_owned(),
            what: finding.sentence,
            advice: finding.advice,
        });
    }
    if let Some(what) = contradicted_syncs(run) {
        run.end.warnings.push(Warning {
            name: "syncs".to_owned(),
            what,
            advice:
                "check for a library between the server and the kernel, such as libeatmydata in its \
                         LD_PRELOAD"
                    .to_owned(),
        });
    }
}

/// Rates of consecutive windows of about a second. Shorter intervals are combined; the rest of a repetition
/// that is shorter than a window is dropped. Windows of successive repetitions count as consecutive: slices
/// of an interleaved series are all of the same load.
fn windows_1s(intervals: &[Interval]) -> Vec<f64> {
    let mut windows = Vec::new();
    let (mut repetition, mut committed, mut seconds) = (0, 0, 0.0);
    for interval in intervals {
        if interval.repetition != repetition {
            (repetition, committed, seconds) = (interval.repetition, 0, 0.0);
        }
        committed += interval.committed;
        seconds += interval.seconds();
        if seconds >= WINDOW_S {
            windows.push(committed as f64 / seconds);
            (committed, seconds) = (0, 0.0);
        }
    }
    windows
}
