//! The record of an observation: what a store did for others, without any load of ours.

use super::configuration::Setting;
use super::environment::{Device, Machine, SyncLine};
use super::figures::{Counted, CounterFigures};
use super::identity::Identity;
use super::schema_macro::{Described, described, flat};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

described! {
    /// A store that was watched, in its own words.
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
        /// Why its log is lost in a power cut whatever it syncs: what the kernel reports of the disk below
        /// the log; null if no layer is known to drop syncs, and in records of old.
        pub disk_drops_syncs: Option<String>,
        /// The command that would change that, shown and never run; null if there is none.
        pub disk_remedy: Option<String>,
        /// Settings that bear on the speed and safety of commits.
        pub settings: Vec<Setting>,
        /// Who follows it and how far behind; null if that is not known.
        pub replication: Option<Vec<Setting>>,
        /// Why that is not known; null if it is.
        pub replication_reason: Option<String>,
    }

    /// What happened between two looks.
    #[derive(Copy)]
    pub struct ObservedInterval {
        /// Its start, nanoseconds from the first look.
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

    /// What was seen of it.
    pub struct ObservationBody {
        /// The store.
        pub target: ObservedStore,
        /// The machine that looked.
        pub machine: Machine,
        /// The disk under the log.
        pub device: Device,
        /// From the first look to the last.
        pub span_ns: u64,
        /// Commits a second, those of the looks taken off; null if not known.
        pub commits_per_s: Option<f64>,
        /// True if these commits are also those of transactions that only read.
        #[serde(default)]
        pub commits_hold_reads: Option<bool>,
        /// Commits a second of transactions that may have written, those of the looks taken off.
        #[serde(default)]
        pub writing_commits_per_s: Option<Counted>,
        /// Of the commits that may have written those that shared a sync of the log, by the store's own
        /// counters.
        pub commits_per_sync: Counted,
        /// The same by the sync system calls of its process, which may be for other files too.
        pub commits_per_sync_call: Counted,
        /// Sync system calls of its process, a second.
        pub sync_calls_per_s: Counted,
        /// Flushes of the whole disk under the log, whoever asked for them, a second.
        pub flushes_per_s: Counted,
        /// Bytes that a commit which may have written added to the log.
        pub log_bytes_per_commit: Counted,
        /// How long a sync of the log took on average, by the store's own clock.
        pub sync_ns: Counted,
        /// Commits that the looks themselves made, which are taken off.
        pub own_commits: u64,
        /// Each of its counters over the span.
        pub counters: Vec<CounterFigures>,
        /// The span in intervals.
        pub intervals: Vec<ObservedInterval>,
        /// What the log directory can durably complete.
        pub sync_line: SyncLine,
    }
}

/// An observation's record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservationRecord {
    /// What every record opens with.
    #[serde(flatten)]
    pub identity: Identity,
    /// What was seen.
    #[serde(flatten)]
    pub body: ObservationBody,
}

impl Described for ObservationRecord {
    fn schema(parts: &mut Map<String, Value>) -> Value {
        flat(
            parts,
            "ObservationRecord",
            "The record of an observation: what a store did for others, without any load of ours.",
            &[Identity::schema, ObservationBody::schema],
            &[],
        )
    }
}
