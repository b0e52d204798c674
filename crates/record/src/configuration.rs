//! The configuration of a run: plan, target and workload.

use super::schema_macro::described;
use std::collections::BTreeMap;

described! {
    /// The plan of the load; enough to repeat it.
    pub struct Plan {
        /// Clients, each with at most one transaction under way.
        pub clients: u64,
        /// Requested worker threads; null if left to the target.
        pub workers: Option<u64>,
        /// Length of the measured phase; null if only the count ends it.
        pub duration_ns: Option<u64>,
        /// Transactions after which the measured phase ends; null if only the time ends it.
        pub transactions: Option<u64>,
        /// Length of the load before the measured phase, which is not counted.
        pub warm_up_ns: u64,
        /// How long transactions under way may take to end after the measured phase.
        pub drain_ns: u64,
        /// "closed", "fixed" or "poisson".
        pub arrival: String,
        /// Arrivals per second; null in a closed loop.
        pub rate_per_s: Option<f64>,
        /// Attempts after the first, with the same input.
        pub retries: u64,
        /// The seed of every random choice.
        pub seed: u64,
        /// The processors that workers are pinned to; empty if none.
        pub pin: Vec<u64>,
        /// True if operations were timed one by one.
        pub operations: bool,
        /// Samples per second of the store's processors, for the cost by module; null if not profiled.
        pub looks_per_s: Option<u64>,
        /// True if the profiler's overhead was measured by an A/B test; null in older records.
        pub unmetered_beside: Option<bool>,
        /// True if statements that do not need each other's answers were sent together; false if each was a
        /// call or a round trip of its own; null in older records.
        pub pipeline: Option<bool>,
        /// True if each transaction had its own connection; null in older records.
        pub connects_each: Option<bool>,
        /// The most transactions that each client attempted; null if clients shared one number, and in older
        /// records.
        pub transactions_each: Option<u64>,
        /// How long after its arrival a transaction could still start; later ones were skipped; null if none
        /// were skipped, and in older records.
        pub skip_after_ns: Option<u64>,
        /// How long after its arrival a transaction was retried; null without such a limit, and in older
        /// records.
        pub retry_within_ns: Option<u64>,
        /// True if a refused statement failed its transaction and not the run; null in older records.
        pub goes_on_after_errors: Option<bool>,
        /// True if loaded rows were to be shared with other runs; null in older records.
        pub reuse: Option<bool>,
        /// Length of an interval.
        pub interval_ns: u64,
        /// The planned number of measured phases.
        pub repeat: u64,
        /// True if repetitions of several settings took turns.
        pub interleave: bool,
    }

    /// One setting in force, and how it was read.
    pub struct Setting {
        /// The store's own name for it.
        pub name: String,
        /// Its value as the store prints it.
        pub value: String,
        /// How it was read back.
        pub said_by: String,
    }

    /// The statements that a target sends for a plan, in the store's own language.
    pub struct Statements {
        /// Those that create the tables.
        pub makes: Vec<String>,
        /// Those that begin and end a transaction.
        pub transactions: Vec<String>,
        /// Those that set options of the target's own sessions.
        pub settings: Vec<String>,
        /// Those of each operation.
        pub operations: Vec<OperationStatements>,
        /// Those that remove everything again.
        pub removes: Vec<String>,
    }

    /// The statements of one operation.
    pub struct OperationStatements {
        /// Its name in the plan.
        pub name: String,
        /// Its statements, in order.
        pub statements: Vec<String>,
    }

    /// A file system below a store, and the space that a run leaves free on it.
    pub struct DiskSpace {
        /// A directory of the store on it.
        pub directory: String,
        /// The size of the file system in bytes.
        pub bytes: u64,
        /// Free bytes before the run.
        pub free_bytes: u64,
        /// Bytes that the run left free: with fewer it ends.
        pub reserve_bytes: u64,
        /// Bytes that loading was expected to write there; null if nothing was loaded.
        pub load_bytes: Option<u64>,
    }

    /// The store under test, as it describes itself.
    pub struct Target {
        /// The name in tables.
        pub name: String,
        /// The URL it was opened by, without a password; null for a target of another program.
        pub url: Option<String>,
        /// The product; null if it was never reached.
        pub product: Option<String>,
        /// Its version; null if it was never reached.
        pub version: Option<String>,
        /// "none", "os", "data" or "full", read back from the store; null if it was never reached.
        pub durability: Option<String>,
        /// How the durability was read.
        pub evidence: Option<String>,
        /// The isolation in force; null if it was never reached.
        pub isolation: Option<String>,
        /// Settings that affect speed or safety.
        pub settings: Vec<Setting>,
        /// The directory its log goes to; null if it keeps none on this machine, or was never reached.
        pub log_directory: Option<String>,
        /// Why there is no log directory; null if there is one.
        pub log_reason: Option<String>,
        /// Why its log is lost in a power loss whatever it syncs: what the kernel reports of the disk below
        /// the log; null if no layer is known to drop syncs, and in older records.
        pub disk_drops_syncs: Option<String>,
        /// The file systems below its log and its data that were watched; empty if none is known.
        #[serde(default)]
        pub disk_space: Vec<DiskSpace>,
        /// Why no file system below it was watched; null if one was, and in older records.
        pub disk_space_reason: Option<String>,
        /// The statements sent to it; null if it takes no statements, and in older records.
        pub statements: Option<Statements>,
        /// Why there are none; null if there are some, and in older records.
        #[serde(default)]
        pub statements_reason: Option<String>,
    }

    /// The workload.
    pub struct Workload {
        /// Its name.
        pub name: String,
        /// Its options, by name.
        pub options: BTreeMap<String, String>,
        /// The seed of its random choices.
        pub seed: u64,
        /// The units that a committed transaction holds: "inserts", "transactions".
        pub unit: String,
        /// The number of units in a committed transaction.
        pub unit_per_transaction: u64,
        /// A notice to print wherever its figures are shown; null if there is none.
        pub notice: Option<String>,
        /// True if the run started from rows that an earlier one had left; null in older records.
        pub rows_kept: Option<bool>,
    }

    /// A number of worker threads that was tried before the run.
    pub struct WorkerTrial = "WorkersTried" {
        /// The number.
        pub workers: u64,
        /// Commits a second of each slice of the trial.
        pub commits_per_s: Vec<f64>,
    }

    /// The load generator.
    pub struct Client {
        /// "threads", "futures" or "queue".
        pub model: String,
        /// Worker threads that ran.
        pub workers: u64,
        /// Processor time of the load generator per committed transaction; null if it cannot be separated
        /// from the store's, or was not measured.
        pub cpu_ns_per_transaction: Option<f64>,
        /// The numbers of workers that were tried; null if there was no choice to make, and in older records.
        pub workers_tried: Option<Vec<WorkerTrial>>,
        /// False if the choice is within the noise of the trial; null if none was made.
        pub workers_clear: Option<bool>,
    }
}

impl Target {
    /// A target that has not been reached yet.
    pub fn unasked(name: &str, url: Option<&str>) -> Target {
        Target {
            name: name.to_owned(),
            url: url.map(str::to_owned),
            product: None,
            version: None,
            durability: None,
            evidence: None,
            isolation: None,
            settings: Vec::new(),
            log_directory: None,
            log_reason: Some("the store was not reached".to_owned()),
            disk_drops_syncs: None,
            disk_space: Vec::new(),
            disk_space_reason: Some("the store was not reached".to_owned()),
            statements: None,
            statements_reason: None,
        }
    }

    /// The durability level together with the level of its evidence.
    pub fn durability_with_evidence(&self) -> String {
        let tested = match &self.disk_drops_syncs {
            Some(why) => format!("but the disk below keeps nothing over a power cut: {why}"),
            None => "power loss not tested".to_owned(),
        };
        match (self.durability.as_deref(), self.evidence.as_deref()) {
            (None, _) => "unknown (the store was not reached)".to_owned(),
            (Some(word @ ("none" | "os")), Some(evidence)) => format!("{word} ({evidence})"),
            (Some(word @ ("none" | "os")), None) => format!("{word} (not read back)"),
            (Some(word), Some(evidence)) => format!("{word} ({evidence}; {tested})"),
            (Some(word), None) => format!("{word} (not read back; {tested})"),
        }
    }

    /// Whether the disk below the log is known to drop syncs, as text for comparisons.
    pub fn disk_durability(&self) -> &'static str {
        match self.disk_drops_syncs {
            Some(_) => "keeps nothing over a power cut",
            None => "not known to drop syncs",
        }
    }

    /// True if a commit is configured to wait for a sync.
    pub fn syncs(&self) -> bool {
        matches!(self.durability.as_deref(), Some("data" | "full"))
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn durability_is_never_printed_without_its_evidence() {
        let mut target = Target::unasked("sqlite", None);
        assert_eq!(target.durability_with_evidence(), "unknown (the store was not reached)");
        target.durability = Some("data".to_owned());
        assert_eq!(
            target.durability_with_evidence(),
            "data (not read back; power loss not tested)"
        );
        target.evidence = Some("synchronous=FULL read back".to_owned());
        assert_eq!(
            target.durability_with_evidence(),
            "data (synchronous=FULL read back; power loss not tested)"
        );
        target.durability = Some("os".to_owned());
        assert_eq!(target.durability_with_evidence(), "os (synchronous=FULL read back)");
        // B.F5
        target.durability = Some("data".to_owned());
        target.disk_drops_syncs = Some("tmpfs at /t keeps its files in memory".to_owned());
        assert_eq!(
            target.durability_with_evidence(),
            "data (synchronous=FULL read back; but the disk below keeps nothing over a power cut: tmpfs at /t \
             keeps its files in memory)"
        );
    }
}
