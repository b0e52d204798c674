//! The record of an observation: what a store did for others, without any load of ours.

use super::configuration::Setting;
use super::environment::{Device, Machine, SyncLine};
use super::figures::{Counted, CounterFigures};
use super::from_run::{counter_figures, finite, machine_from};
use super::identity::Identity;
use super::redaction::REMOVED;
use super::schema_macro::{Described, described, flat};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use syncline_probe::DroppedSyncs;
use syncline_runner::{self as runner, LogLocation};

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

/// What the record of an observation needs and the runner does not know.
#[derive(Clone, Debug)]
pub struct ObservationInputs {
    /// The record's identity.
    pub identity: Identity,
    /// The store's name in tables.
    pub name: String,
    /// Its URL, without a password.
    pub url: Option<String>,
    /// What to call it in place of its name and version.
    pub alias: Option<String>,
    /// What the kernel reports below the log that drops syncs.
    pub dropped_syncs: Option<DroppedSyncs>,
    /// The host's name.
    pub host: Option<String>,
    /// What the log directory can durably complete.
    pub sync_line: SyncLine,
}

/// The record of what was seen.
pub fn from_observation(
    seen: &runner::Observation,
    given: &ObservationInputs,
) -> ObservationRecord {
    let seconds = seen.span_ns as f64 / 1e9;
    let a_second = |count: u64| Some(count as f64 / seconds);
    let by_counters = |value: Option<f64>, of: &str| match value {
        Some(value) => Counted::by(Some(value), format!("the store's own {of}")),
        None => Counted::unknown(format!(
            "the store's {of} do not show it: see the counters, or nothing was written"
        )),
    };
    let by_calls = |value: Option<f64>| match &seen.sync_calls {
        Ok(_) if value.is_none() => {
            Counted::unknown("no commit that wrote was counted, or no sync call")
        }
        Ok(_) => Counted::by(value, "sync system calls of its process, by perf event"),
        Err(why) => Counted::unknown(why.clone()),
    };
    ObservationRecord {
        identity: given.identity.clone(),
        body: ObservationBody {
            target: store(&seen.last, given),
            machine: Machine { host: given.host.clone(), ..machine_from(&seen.machine) },
            device: device(&seen.device, given),
            span_ns: seen.span_ns,
            commits_per_s: finite(seen.commits().and_then(a_second)),
            commits_hold_reads: Some(seen.commits_hold_reads()),
            writing_commits_per_s: Some(writing(seen)),
            commits_per_sync: by_counters(seen.commits_per_sync(), "counters of commits and syncs"),
            commits_per_sync_call: by_calls(seen.commits_per_sync_call()),
            sync_calls_per_s: by_calls(seen.sync_calls.as_ref().ok().copied().and_then(a_second)),
            flushes_per_s: match seen.flushes {
                Some(flushes) => Counted::by(a_second(flushes), "the kernel, of the whole disk"),
                None => Counted::unknown(no_flushes(seen)),
            },
            log_bytes_per_commit: by_counters(
                seen.log_bytes_per_commit(),
                "counters of commits and log bytes",
            ),
            sync_ns: match (seen.sync_ns(), untimed(seen)) {
                (None, Some(why)) => Counted::unknown(why),
                (value, _) => by_counters(value, "counters of syncs and their time"),
            },
            own_commits: seen.own_commits,
            counters: match given.alias {
                None => counter_figures(&seen.counters),
                Some(_) => Vec::new(),
            },
            intervals: seen.intervals.iter().map(interval).collect(),
            sync_line: SyncLine {
                directory: match &given.alias {
                    None => given.sync_line.directory.clone(),
                    Some(_) => None,
                },
                reason: withheld(given.sync_line.reason.clone(), given),
                ..given.sync_line.clone()
            },
        },
    }
}

/// Why no flushes were counted: without a directory of the log no disk was looked at.
fn no_flushes(seen: &runner::Observation) -> &'static str {
    match (&seen.last.log_place, &seen.device) {
        (LogLocation::Nowhere(_), _) => {
            "the directory of the log is not known, so no disk was watched"
        }
        (_, Err(_)) => "the disk under the log is not known, so none was watched",
        (_, Ok(_)) => "the kernel counts no flushes of that disk",
    }
}

/// Why the store does not time its syncs; none if it does.
fn untimed(seen: &runner::Observation) -> Option<String> {
    let mut counters = seen.counters.iter();
    let times = counters.find(|counter| counter.meaning == runner::Meaning::SyncTime)?;
    times.grown.as_ref().err().cloned()
}

/// Those of its commits that may have written, a second.
fn writing(seen: &runner::Observation) -> Counted {
    let seconds = seen.span_ns as f64 / 1e9;
    let source = match (seen.writing_commits(), seen.commits_hold_reads()) {
        (Some(_), true) => {
            "the smaller of its commits and of the transaction ids it gave out: what only reads takes none, a \
             subtransaction and what is rolled back take one too"
        }
        (Some(_), false) => "its commits, all of which write",
        (None, true) => "the store does not report which of its commits wrote: see the counters",
        (None, false) => "the store counts no commits: see the counters",
    };
    let commits = seen.writing_commits();
    Counted::by(commits.map(|commits| commits as f64 / seconds), source)
}

/// A reason in the store's own words, which may name it.
fn withheld(reason: Option<String>, given: &ObservationInputs) -> Option<String> {
    reason.map(|reason| match &given.alias {
        None => reason,
        Some(_) => "withheld with the product's name".to_owned(),
    })
}

fn store(last: &runner::StoreObservation, given: &ObservationInputs) -> ObservedStore {
    let (log_directory, log_reason) = match &last.log_place {
        LogLocation::Directory(path) => (Some(path.display().to_string()), None),
        LogLocation::Nowhere(why) => (None, Some(why.clone())),
    };
    let settings = |settings: &[runner::Setting]| -> Vec<Setting> {
        let all = settings.iter().map(|setting| Setting {
            name: setting.name.clone(),
            value: setting.value.clone(),
            said_by: setting.said_by.clone(),
        });
        all.collect()
    };
    let dropped = given.dropped_syncs.as_ref();
    let told = ObservedStore {
        name: given.name.clone(),
        url: given.url.clone(),
        product: last.product.clone(),
        version: Some(last.version.clone()),
        log_directory,
        log_reason,
        disk_drops_syncs: dropped.map(|dropped| dropped.evidence.clone()),
        disk_remedy: dropped.and_then(|dropped| dropped.remedy.clone()),
        settings: settings(&last.settings),
        replication: last.replication.as_deref().ok().map(settings),
        replication_reason: last.replication.as_ref().err().cloned(),
    };
    match &given.alias {
        None => told,
        Some(alias) => ObservedStore {
            name: alias.clone(),
            url: None,
            product: alias.clone(),
            version: None,
            settings: Vec::new(),
            replication: None,
            log_directory: told.log_directory.as_ref().map(|_| REMOVED.to_owned()),
            log_reason: withheld(told.log_reason, given),
            disk_drops_syncs: told.disk_drops_syncs.map(|_| REMOVED.to_owned()),
            disk_remedy: None,
            replication_reason: withheld(Some(String::new()), given),
        },
    }
}

fn device(place: &Result<runner::BlockDevice, String>, given: &ObservationInputs) -> Device {
    Device {
        name: place.as_ref().ok().map(|place| place.device.clone()),
        model: place.as_ref().ok().and_then(|place| place.model.clone()),
        queue_length: None,
        reason: withheld(place.as_ref().err().cloned(), given),
    }
}

fn interval(one: &runner::ObservedInterval) -> ObservedInterval {
    ObservedInterval {
        start_ns: one.start_ns,
        end_ns: one.end_ns,
        commits: one.commits,
        log_syncs: one.log_syncs,
        log_bytes: one.log_bytes,
    }
}
