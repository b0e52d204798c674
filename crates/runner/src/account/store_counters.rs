//! Growth of the store's own counters, from before the first client connects to after the last has left.
//!
//! Both readings are taken while no session of the run is open, because the sessions of some stores report
//! their work up to a second late, or when they end. So the counters cover the whole time of the clients,
//! warm-up and drain included, and they include the work of other users of the store in that time.

use crate::account::measured::RunMeasurements;
use syncline_contract::{Counter, CounterUnit, Meaning, Workload};

/// One counter of the store around a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreCounter {
    /// Its meaning in our words.
    pub meaning: Meaning,
    /// The store's own name for it.
    pub name: String,
    /// The unit of its values.
    pub unit: CounterUnit,
    /// How it was read.
    pub said_by: String,
    /// Its value before, if there was one.
    pub before: Option<u64>,
    /// Its value after, if there was one.
    pub after: Option<u64>,
    /// Its growth, or why that is unknown.
    pub grown: Result<u64, String>,
}

pub(crate) fn grown(before: &[Counter], after: &[Counter]) -> Vec<StoreCounter> {
    let pairs = before.iter().map(|before| {
        let same = |after: &&Counter| after.name == before.name && after.meaning == before.meaning;
        let after = after.iter().find(same);
        StoreCounter {
            meaning: before.meaning,
            name: before.name.clone(),
            unit: before.unit,
            said_by: before.source.clone(),
            before: before.value.as_ref().ok().copied(),
            after: after.and_then(|after| after.value.as_ref().ok().copied()),
            grown: after.map_or_else(
                || Err("the store did not report it again after the run".to_owned()),
                |after| after.grown_since(before),
            ),
        }
    });
    pairs.collect()
}

/// The growth of the counter with this meaning.
pub(crate) fn grown_of(counters: &[StoreCounter], meaning: Meaning) -> Option<u64> {
    let counter = counters.iter().find(|counter| counter.meaning == meaning);
    counter?.grown.as_ref().ok().copied()
}

/// The part of `commits` that may have written. If the store's commits include read-only transactions, it is
/// at most the number of transaction ids assigned. `None` if the store does not report that number.
pub(crate) fn writing_commits(counters: &[StoreCounter], commits: Option<u64>) -> Option<u64> {
    if !commits_hold_reads(counters) {
        return commits;
    }
    Some(grown_of(counters, Meaning::TransactionIds)?.min(commits?))
}

/// True if the store's commits include read-only transactions.
pub(crate) fn commits_hold_reads(counters: &[StoreCounter]) -> bool {
    counters.iter().any(|counter| counter.meaning == Meaning::TransactionIds)
}

/// Writing commits per sync of the log; `None` without a commit, without a sync, or if the log is known not
/// to have grown.
pub(crate) fn shared_syncs(counters: &[StoreCounter], writing: Option<u64>) -> Option<f64> {
    let commits = writing.filter(|commits| *commits > 0)?;
    let syncs = grown_of(counters, Meaning::LogSyncs).filter(|syncs| *syncs > 0)?;
    let logged = grown_of(counters, Meaning::LogBytes) != Some(0);
    logged.then_some(commits as f64 / syncs as f64)
}

/// Commits that may have written per sync of the log, by the store's own counters; `None` if the counters do
/// not show it.
pub fn commits_per_sync(counters: &[StoreCounter]) -> Option<f64> {
    let commits = grown_of(counters, Meaning::Commits);
    shared_syncs(counters, writing_commits(counters, commits))
}

/// The share of the clients' time that they waited for each other's locks, by the store's own counter.
pub(crate) fn lock_wait_share<W: Workload>(
    counters: &[StoreCounter],
    measured: &RunMeasurements<W>,
    clients: usize,
) -> Option<f64> {
    let waited_ns = grown_of(counters, Meaning::LockWaitTime)? as f64;
    let (first, last) = &measured.whole;
    let clients_ns = last.at.saturating_sub(first.at) as f64 * clients as f64;
    (clients_ns > 0.0).then(|| (waited_ns / clients_ns).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::{commits_per_sync, grown};
    use syncline_contract::{Counter, Meaning};

    fn readings(commits: u64, syncs: u64) -> Vec<Counter> {
        vec![
            Counter::read(Meaning::Commits, "xact_commit", commits, "SELECT"),
            Counter::read(Meaning::LogSyncs, "wal_sync", syncs, "SELECT"),
        ]
    }

    #[test]
    fn commits_per_sync_come_from_the_growth_of_counters() {
        let counters = grown(&readings(100, 50), &readings(900, 250));
        assert_eq!(commits_per_sync(&counters), Some(4.0));
        assert_eq!((counters[0].before, counters[0].after), (Some(100), Some(900)));
    }

    /// A store whose commits include read-only transactions: 1,000 commits, 10 syncs.
    fn reading(ids: Option<u64>, bytes: u64) -> Option<f64> {
        let at = |commits, syncs, ids: Option<u64>, bytes| {
            let mut all = readings(commits, syncs);
            all.push(Counter::read(Meaning::LogBytes, "wal_bytes", bytes, "SELECT"));
            all.push(match ids {
                Some(ids) => Counter::read(Meaning::TransactionIds, "xmax", ids, "SELECT"),
                None => {
                    Counter::unavailable(Meaning::TransactionIds, "xmax", "a follower", "SELECT")
                }
            });
            all
        };
        let before = at(0, 0, ids.map(|_| 0), 0);
        commits_per_sync(&grown(&before, &at(1_000, 10, ids, bytes)))
    }

    #[test]
    fn transactions_that_only_read_share_no_sync() {
        assert_eq!(reading(Some(40), 9_000), Some(4.0));
        // Subtransactions take ids too.
        assert_eq!(reading(Some(7_000), 9_000), Some(100.0));
        assert_eq!(reading(Some(0), 9_000), None, "no transaction wrote");
        assert_eq!(reading(Some(40), 0), None, "the log did not grow");
        assert_eq!(reading(None, 9_000), None, "the number of writing commits is unknown");
    }

    #[test]
    fn commits_per_sync_are_unknown_without_a_sync_or_an_answer() {
        assert_eq!(commits_per_sync(&grown(&readings(1, 5), &readings(9, 5))), None);
        let gone = grown(&readings(1, 5), &[]);
        assert_eq!(commits_per_sync(&gone), None);
        assert!(gone[0].grown.as_ref().is_err_and(|why| why.contains("after the run")));
    }
}
