//! One observation of a running store, made without load and without changing anything.

use crate::counter::{Counter, Meaning};
use crate::target::{LogLocation, Setting, StoreProcess};

/// One observation. The difference of two shows the production load in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreObservation {
    /// The product: "PostgreSQL".
    pub product: String,
    /// Its version.
    pub version: String,
    /// Where its log goes.
    pub log_location: LogLocation,
    /// The store's process, if it is on this machine.
    pub process: StoreProcess,
    /// As [`Target::unseen_syncs`](crate::Target::unseen_syncs).
    pub unseen_syncs: Option<&'static str>,
    /// Its counters. Every [`Meaning`] of [`Meaning::ALL`] is listed, available or not.
    pub counters: Vec<Counter>,
    /// Commits in `counters` that the observing session itself has made.
    pub own_commits: u64,
    /// Settings that affect the speed and safety of commits.
    pub settings: Vec<Setting>,
    /// The store's replicas and their lag, one entry each. Empty if there are none; an error is the reason
    /// why they are unknown.
    pub replication: Result<Vec<Setting>, String>,
}

impl StoreObservation {
    /// The counter with this meaning.
    pub fn counter(&self, meaning: Meaning) -> Option<&Counter> {
        self.counters.iter().find(|counter| counter.meaning == meaning)
    }
}
