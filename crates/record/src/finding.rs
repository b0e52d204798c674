//! What a record's own figures say against its promise of durability.
//!
//! Two rules, both from counted figures, never from a rate alone:
//!
//! 1. The rate rule: one client with one outstanding commit whose every 1 s window for 5 s lies above
//!    1.2 times the best window of `line_1` before and after.
//! 2. The count rule: at most as many commits can share a sync as there are clients, since each has
//!    one under way. More commits per counted sync than that were acknowledged without one.
//!
//! Reads commit without a sync, so both rules are about transactions that write: the count rule about
//! those of which every one does, the rate rule only where all of a run's are such.
//!
//! A store that never promised to sync is not accused: the finding is then a warning.

use crate::rate_rule::faster_than_line;
use crate::sync_line_ratio::line_warnings;
use crate::units::{self, plural};
use crate::{Interval, RunRecord, Warning};

/// How far above the number of clients the commits per sync must lie: counters are read a moment
/// apart from the outcomes.
const COUNT_MARGIN: f64 = 1.1;

/// A window may be this much shorter than a second and still count as one.
const WINDOW_S: f64 = 0.95;

/// Something a record's figures say against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The sentence.
    pub sentence: String,
    /// What to do.
    pub advice: String,
    /// True if the store promised `data` or `full`, so that a promise failed.
    pub fails: bool,
}

/// Everything the figures of a run say against it.
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
    // Some stores sync by synchronous writes or io_uring, which are no sync calls; then the disk's
    // flushes speak, and where nobody counted those nothing can be said.
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

/// A store that counts syncs of its log of which the kernel has seen next to none: one of the two is wrong. A
/// library that leaves out syncs, such as libeatmydata, looks like this. It says nothing of whether a commit
/// was lost, so it is a warning.
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
    (by_the_kernel * UNSEEN < by_the_store as f64).then(|| {
        format!(
            "the store counts {by_the_store} syncs of its log ({}), and by the kernel's count its process made \
             {by_the_kernel:.0}",
            syncs.name
        )
    })
}

/// How the source of a figure begins that was counted from the process's own sync calls.
const SYNC_CALLS: &str = "fsync, fdatasync";

/// Fewer syncs than these contradict nobody.
const FEWEST_SYNCS: u64 = 20;

/// How many times as many syncs as the kernel a store must count: the two are read a moment apart.
const UNSEEN: f64 = 10.0;

/// The share of the committed transactions of which it is known that they wrote.
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

/// Puts what was found into the record: the verdict of the sync line, and warnings, also of a line that
/// moved.
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
                "look for what is between the server and the kernel, such as libeatmydata in its \
                     LD_PRELOAD"
                    .to_owned(),
        });
    }
}

/// Rates of consecutive windows of about a second. Shorter intervals are put together; what is left
/// of a repetition shorter than a window is no window. Repetitions follow one another: slices of an
/// interleaved series are all of the same load.
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
