//! What one look at a running store saw, without any load and without changing anything.

use crate::counter::{Counter, Meaning};
use crate::target::{LogLocation, Setting, StoreProcess};

/// One look. Two of them, subtracted, are what production did in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreObservation {
    /// The product: "PostgreSQL".
    pub product: String,
    /// Its version.
    pub version: String,
    /// Where its log goes.
    pub log_place: LogLocation,
    /// Its process, if it is on this machine.
    pub process: StoreProcess,
    /// As [`Target::unseen_syncs`](crate::Target::unseen_syncs).
    pub unseen_syncs: Option<&'static str>,
    /// Its counters. Each [`Meaning`] of [`Meaning::ALL`] stands here, available or not.
    pub counters: Vec<Counter>,
    /// Commits in `counters` that this observing session made itself by looking, since it began.
    pub own_commits: u64,
    /// Settings that bear on the speed and safety of commits.
    pub settings: Vec<Setting>,
    /// Who follows this store and how far behind: a line a follower. Empty if none does; the error is
    /// the reason why that is not known.
    pub replication: Result<Vec<Setting>, String>,
}

impl StoreObservation {
    /// The counter of that meaning.
    pub fn counter(&self, meaning: Meaning) -> Option<&Counter> {
        self.counters.iter().find(|counter| counter.meaning == meaning)
    }
}
