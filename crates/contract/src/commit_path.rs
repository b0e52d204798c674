//! The steps of a commit through a store, where the store times them.

use syncline_instrument::Nanos;

/// The durations of one commit's steps, from begin to acknowledgement, as timed by the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPath {
    /// One duration per step, in nanoseconds, in the order of [`CommitPaths::steps`].
    pub step_ns: Vec<Nanos>,
}

impl CommitPath {
    /// The time from begin to acknowledgement.
    pub fn total_ns(&self) -> Nanos {
        self.step_ns.iter().sum()
    }
}

/// The paths of a sample of commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitPaths {
    /// The names of the steps, in order.
    pub steps: Vec<&'static str>,
    /// One in this many commits was timed.
    pub one_in: u64,
    /// Number of timed commits.
    pub timed: u64,
    /// A random sample of the timed commits.
    pub sample: Vec<CommitPath>,
    /// The slowest timed commits, slowest first.
    pub slowest: Vec<CommitPath>,
}
