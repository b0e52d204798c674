//! Why a transaction must be run again, and how often each reason occurred.

use crate::thread_slot;
use crossbeam_utils::CachePadded;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a transaction must be run again. The transaction itself is correct: another one was in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Conflict {
    /// A row to be written was locked by the commit of another transaction for longer than this one waits.
    Locked,
    /// A row that was read has been changed by another transaction.
    ReadChanged,
    /// Under snapshot isolation: a row to be written was changed after the transaction began.
    WriteChanged,
    /// A row appeared in or disappeared from a range that was read, or appeared under a key that was absent.
    Phantom,
    /// A row was read whose commit waits to be published until earlier ones are.
    ReadPoint,
    /// A table that was used has been dropped or replaced.
    Dropped,
    /// The memory for old versions was full, and this was the oldest transaction that needed them.
    SnapshotTooOld,
    /// A table or an index that was used was made after the transaction's read point, so it did not exist
    /// there; reading it as empty would be wrong.
    MadeLater,
}

impl Conflict {
    /// Every cause, in the order in which statistics name them.
    pub const ALL: [Conflict; 8] = [
        Conflict::Locked,
        Conflict::ReadChanged,
        Conflict::WriteChanged,
        Conflict::Phantom,
        Conflict::ReadPoint,
        Conflict::Dropped,
        Conflict::SnapshotTooOld,
        Conflict::MadeLater,
    ];

    /// The word in records and tables.
    pub fn word(self) -> &'static str {
        match self {
            Conflict::Locked => "locked",
            Conflict::ReadChanged => "read-changed",
            Conflict::WriteChanged => "write-changed",
            Conflict::Phantom => "phantom",
            Conflict::ReadPoint => "read-point",
            Conflict::Dropped => "dropped",
            Conflict::SnapshotTooOld => "snapshot-too-old",
            Conflict::MadeLater => "made-later",
        }
    }

    fn index(self) -> usize {
        Conflict::ALL.iter().position(|&cause| cause == self).expect("the list holds every cause")
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Conflict::Locked => "a row to be written was locked by another commit",
            Conflict::ReadChanged => "a row that was read has changed",
            Conflict::WriteChanged => "a row to be written has changed since the begin",
            Conflict::Phantom => "rows have appeared in or disappeared from a range that was read",
            Conflict::ReadPoint => "a row was read whose commit waits for an earlier one",
            Conflict::Dropped => "a table that was used has been dropped or replaced",
            Conflict::SnapshotTooOld => {
                "the memory for old versions was full; shorten the transaction or raise the cap"
            }
            Conflict::MadeLater => {
                "a table or an index that was used was made after the transaction's read point"
            }
        })
    }
}

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
    use super::{Conflict, Counters};
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
