//! How often transactions ended in each way.

use crate::conflict::Conflict;
use crate::thread_slot;
use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ends of transactions by outcome, since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Commits that wrote something.
    pub commits: u64,
    /// Commits that wrote nothing.
    pub commits_without_writes: u64,
    /// Transactions that their caller ended without a commit.
    pub aborts: u64,
    /// Commits refused by the rows: a duplicate key, a missing row, a bound.
    pub refused: u64,
    /// Transactions that had to be run again, in the order of [`Conflict::ALL`].
    pub conflicts: [u64; Conflict::ALL.len()],
    /// Runs of a closure after its first.
    pub retries: u64,
    /// Runs with the gate closed, because the closure kept losing or the caller requested it.
    pub exclusive_runs: u64,
}

impl Counts {
    /// The count of one cause.
    pub fn conflicts_by(&self, cause: Conflict) -> u64 {
        self.conflicts[cause.index()]
    }
}

const SHARDS: usize = 16;

/// Counters on several cache lines, chosen by a session's seat, so that committers do not contend.
#[derive(Debug, Default)]
pub(super) struct Counters {
    stripes: [CachePadded<CounterShard>; SHARDS],
}

#[derive(Debug, Default)]
pub(super) struct CounterShard {
    pub(super) commits: AtomicU64,
    pub(super) commits_without_writes: AtomicU64,
    pub(super) aborts: AtomicU64,
    pub(super) refused: AtomicU64,
    conflicts: [AtomicU64; Conflict::ALL.len()],
    pub(super) retries: AtomicU64,
    pub(super) exclusive_runs: AtomicU64,
}

impl Counters {
    /// The counters of the session with that seat.
    #[inline]
    pub(super) fn of(&self, seat: u32) -> &CounterShard {
        &self.stripes[thread_slot::of(seat) as usize % SHARDS]
    }

    /// The sums.
    pub(super) fn get(&self) -> Counts {
        let mut sums = Counts::default();
        for stripe in &self.stripes {
            let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            sums.commits += value(&stripe.commits);
            sums.commits_without_writes += value(&stripe.commits_without_writes);
            sums.aborts += value(&stripe.aborts);
            sums.refused += value(&stripe.refused);
            for (sum, counter) in sums.conflicts.iter_mut().zip(&stripe.conflicts) {
                *sum += value(counter);
            }
            sums.retries += value(&stripe.retries);
            sums.exclusive_runs += value(&stripe.exclusive_runs);
        }
        sums
    }
}

impl CounterShard {
    #[inline]
    pub(super) fn conflict(&self, cause: Conflict) {
        self.conflicts[cause.index()].fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::Counters;
    use crate::conflict::Conflict;
    use std::sync::atomic::Ordering;

    #[test]
    fn counts_of_all_seats_are_summed_by_cause() {
        let counters = Counters::default();
        for seat in 0..40 {
            counters.of(seat).commits.fetch_add(1, Ordering::Relaxed);
            counters.of(seat).conflict(Conflict::Phantom);
        }
        counters.of(3).conflict(Conflict::SnapshotTooOld);
        let counts = counters.get();
        assert_eq!(counts.commits, 40);
        assert_eq!(counts.conflicts_by(Conflict::Phantom), 40);
        assert_eq!(counts.conflicts_by(Conflict::SnapshotTooOld), 1);
        assert_eq!(counts.conflicts.iter().sum::<u64>(), 41);
    }
}
