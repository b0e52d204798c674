//! The record of an observation: a store's work for its own users, without any load of Syncline's.

use super::configuration::Setting;
use super::environment::{Device, Machine, SyncLine};
use super::figures::{Counted, CounterFigures};
use super::identity::Identity;
use super::schema_macro::{Described, described, flat};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

described! {
    /// The observed store, as it describes itself.
    pub struct ObservedStore {
        /// The name in tables.
        pub name: String,
        /// The URL it was opened by, without a password; null if it is withheld.
        pub url: Option<String>,
        /// The product.
        pub product: String,
        /// Its version; null if it is withheld.
        pub version: Option<String>,
        /// The directory its log goes to; null if it is not on this machine.
        pub log_directory: Option<String>,
        /// Why there is no log directory; null if there is one.
        pub log_reason: Option<String>,
        /// Why its log is lost in a power loss whatever it syncs: what the kernel reports of the disk below
        /// the log; null if no layer is known to drop syncs, and in older records.
        pub disk_drops_syncs: Option<String>,
        /// The command that would change that, shown and never run; null if there is none.
        pub disk_remedy: Option<String>,
        /// Settings that affect the speed and safety of commits.
        pub settings: Vec<Setting>,
        /// Its replicas and how far behind they are; null if not known.
        pub replication: Option<Vec<Setting>>,
        /// Why the replication is not known; null if it is.
        pub replication_reason: Option<String>,
    }

    /// The store's work between two samples.
    #[derive(Copy)]
    pub struct ObservedInterval {
        /// Its start, nanoseconds from the first sample.
        pub start_ns: u64,
        /// Its end, likewise.
        pub end_ns: u64,
        /// Commits; null if not known.
        pub commits: Option<u64>,
        /// Syncs of the log; null if not known.
        pub log_syncs: Option<u64>,
        /// Bytes added to the log; null if not known.
        pub log_bytes: Option<u64>,
    }

    /// The results of an observation.
    pub struct ObservationBody {
        /// The store.
        pub target: ObservedStore,
        /// The machine that observed it.
        pub machine: Machine,
        /// The disk under the log.
        pub device: Device,
        /// From the first sample to the last.
        pub span_ns: u64,
        /// Commits per second, without those of the observation itself; null if not known.
        pub commits_per_s: Option<f64>,
        /// True if these commits include transactions that only read.
        #[serde(default)]
        pub commits_hold_reads: Option<bool>,
        /// Commits per second of transactions that may have written, without those of the observation itself.
        #[serde(default)]
        pub writing_commits_per_s: Option<Counted>,
        /// Commits that may have written per sync of the log, by the store's own counters.
        pub commits_per_sync: Counted,
        /// The same by the sync system calls of its process, which may be for other files too.
        pub commits_per_sync_call: Counted,
        /// Sync system calls of its process per second.
        pub sync_calls_per_s: Counted,
        /// Flushes of the whole disk under the log per second, by all processes.
        pub flushes_per_s: Counted,
        /// Bytes added to the log per commit that may have written.
        pub log_bytes_per_commit: Counted,
        /// The mean time of a sync of the log, by the store's own clock.
        pub sync_ns: Counted,
        /// Commits that the observation itself made, which are subtracted.
        pub own_commits: u64,
        /// Each of its counters over the span.
        pub counters: Vec<CounterFigures>,
        /// The span in intervals.
        pub intervals: Vec<ObservedInterval>,
        /// The disk's sync rate in the log directory.
        pub sync_line: SyncLine,
    }
}

/// An observation's record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservationRecord {
    /// The identity that every record starts with.
    #[serde(flatten)]
    pub identity: Identity,
    /// The results.
    #[serde(flatten)]
    pub body: ObservationBody,
}

impl Described for ObservationRecord {
    fn schema(parts: &mut Map<String, Value>) -> Value {
        flat(
            parts,
            "ObservationRecord",
            "The record of an observation: a store's work for its own users, without any load of Syncline's.",
            &[Identity::schema, ObservationBody::schema],
            &[],
        )
    }
}
