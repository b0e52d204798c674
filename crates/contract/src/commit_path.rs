//! A commit's way through a store, step by step, where the store times it.

use syncline_instrument::Nanos;

/// How long the steps of one commit took, from begin to acknowledgement, by the store's own word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPath {
    /// In the order of [`CommitPaths::steps`], in nanoseconds.
    pub step_ns: Vec<Nanos>,
}

impl CommitPath {
    /// From begin to acknowledgement.
    pub fn total_ns(&self) -> Nanos {
        self.step_ns.iter().sum()
    }
}

/// The ways of some commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitPaths {
    /// The steps' names, in their order.
    pub steps: Vec<&'static str>,
    /// One in so many commits was timed.
    pub one_in: u64,
    /// How many were timed.
    pub timed: u64,
    /// A fair sample of those.
    pub sample: Vec<CommitPath>,
    /// The slowest of all that were timed, the slowest first.
    pub slowest: Vec<CommitPath>,
}
