//! Why a transaction must be run again, and how often each thing happened.

use crate::thread_slot;
use crossbeam_utils::CachePadded;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a transaction must be run again. Nothing is wrong with it: another one was in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Conflict {
    /// A row to be written was being committed by another transaction, for longer than it is waited.
    Locked,
    /// A row that was read has been changed by another transaction.
    ReadChanged,
    /// Under snapshot isolation: a row to be written was changed after the transaction began.
    WriteChanged,
    /// A row has appeared in or gone from a range that was read, or a key that was absent.
    Phantom,
    /// A row was read that belongs to a commit which others before it hold up.
    ReadPoint,
    /// A table that was used is gone or has been replaced.
    Dropped,
    /// The memory for old versions was full, and this was the oldest transaction that needed them.
    SnapshotTooOld,
    /// A table or an index that was used is younger than the moment which the transaction reads: at
    /// that moment it was not there, and what would be seen of it now, nothing, is not true.
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

    fn place(self) -> usize {
        Conflict::ALL.iter().position(|&cause| cause == self).expect("the list holds every cause")
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Conflict::Locked => "a row to be written was locked by another commit",
            Conflict::ReadChanged => "a row that was read has changed",
            Conflict::WriteChanged => "a row to be written has changed since the begin",
            Conflict::Phantom => "rows have come into or gone from what was read",
            Conflict::ReadPoint => "an earlier commit held up one whose row was read",
            Conflict::Dropped => "a table that was used has been dropped or replaced",
            Conflict::SnapshotTooOld => {
                "the memory for old versions was full; shorten the transaction or raise the cap"
            }
            Conflict::MadeLater => {
                "a table or an index that was used was made after the moment that is read"
            }
        })
    }
}

/// How often transactions ended in which way, since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Commits that wrote something.
    pub commits: u64,
    /// Commits that wrote nothing.
    pub commits_without_writes: u64,
    /// Transactions that their user ended without a commit.
    pub aborts: u64,
    /// Commits refused because of the data: a duplicate, a row that is not there, a bound.
    pub refused: u64,
    /// Transactions that had to be run again, by [`Conflict::ALL`].
    pub conflicts: [u64; Conflict::ALL.len()],
    /// Runs of a closure after its first.
    pub retries: u64,
    /// Runs with the gate closed, because the closure kept losing or its user asked for it.
    pub exclusive_runs: u64,
}

impl Counts {
    /// How often that was the cause.
    pub fn conflicts_by(&self, cause: Conflict) -> u64 {
        self.conflicts[cause.place()]
    }
}

const STRIPES: usize = 16;

/// Counters on several cache lines, one a session's seat, so that committers do not meet here.
#[derive(Debug, Default)]
pub(super) struct Counters {
    stripes: [CachePadded<Stripe>; STRIPES],
}

#[derive(Debug, Default)]
pub(super) struct Stripe {
    pub(super) commits: AtomicU64,
    pub(super) commits_without_writes: AtomicU64,
    pub(super) aborts: AtomicU64,
    pub(super) refused: AtomicU64,
    conflicts: [AtomicU64; Conflict::ALL.len()],
    pub(super) retries: AtomicU64,
    pub(super) exclusive_runs: AtomicU64,
}

impl Counters {
    /// The counters to be used by the calling thread for the session of that seat.
    #[inline]
    pub(super) fn of(&self, seat: u32) -> &Stripe {
        &self.stripes[thread_slot::of(seat) as usize % STRIPES]
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

impl Stripe {
    #[inline]
    pub(super) fn conflict(&self, cause: Conflict) {
        self.conflicts[cause.place()].fetch_add(1, Ordering::Relaxed);
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
