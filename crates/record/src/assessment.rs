//! The assessment of a run: bottleneck, starved clients, checks and warnings.

use super::schema_macro::described;
use std::collections::BTreeMap;

described! {
    /// The bottleneck: what was at its limit.
    pub struct Saturation {
        /// "client-bound", "CPU-bound", "sync-bound", "read-bound", "network-bound", "lock-bound" or
        /// "nothing saturated".
        pub verdict: String,
        /// Why, in one sentence.
        pub reason: String,
        /// The figures behind the verdict, by name; null if one was not measured.
        pub figures: BTreeMap<String, Option<f64>>,
        /// The thresholds that they were compared with, by name.
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
        /// The promise's name.
        pub name: String,
        /// "held", "violated" or "not applicable".
        pub outcome: String,
        /// The result in detail, or why the check does not apply; null if there is nothing to add.
        pub detail: Option<String>,
    }

    /// A condition that may distort the result.
    pub struct Warning {
        /// Its stable name.
        pub name: String,
        /// The condition.
        pub what: String,
        /// What to do about it.
        pub advice: String,
    }
}

/// The verdict of a run in which no figure reached its threshold.
const NOTHING: &str = "nothing saturated";

impl Saturation {
    /// The verdict as printed under "Bottleneck".
    pub fn bottleneck(&self) -> &str {
        if self.verdict == NOTHING { "not identified" } else { &self.verdict }
    }
}
