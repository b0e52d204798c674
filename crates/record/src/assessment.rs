//! What a run says of itself: who was the bottleneck, who starved, what held, what may spoil it.

use super::schema_macro::described;
use std::collections::BTreeMap;

described! {
    /// What was at its limit.
    pub struct Saturation {
        /// "client-bound", "CPU-bound", "sync-bound", "read-bound", "network-bound", "lock-bound" or
        /// "nothing saturated".
        pub verdict: String,
        /// Why, in one sentence.
        pub reason: String,
        /// The figures it rests on, by name; null where one was not measured.
        pub figures: BTreeMap<String, Option<f64>>,
        /// The thresholds they were held against, by name.
        pub thresholds: BTreeMap<String, f64>,
    }

    /// How evenly commits were spread over clients.
    #[derive(Default)]
    pub struct Fairness {
        /// Commits of the client that had the fewest.
        pub least: u64,
        /// Commits of the middle client.
        pub median: u64,
        /// Commits of the client that had the most.
        pub most: u64,
        /// Clients that starved, by number.
        pub starved: Vec<u64>,
    }

    /// A promise that was tested after the run.
    pub struct Check {
        /// What was tested.
        pub name: String,
        /// "held", "violated" or "not applicable".
        pub outcome: String,
        /// What was found, or why it does not apply; null if there is nothing to add.
        pub detail: Option<String>,
    }

    /// Something that may spoil the result.
    pub struct Warning {
        /// Its stable name.
        pub name: String,
        /// What it is.
        pub what: String,
        /// What to do about it.
        pub advice: String,
    }
}

/// The verdict of a run in which no figure reached its threshold.
const NOTHING: &str = "nothing saturated";

impl Saturation {
    /// The verdict as people read it under "Bottleneck".
    pub fn bottleneck(&self) -> &str {
        if self.verdict == NOTHING { "not identified" } else { &self.verdict }
    }
}
