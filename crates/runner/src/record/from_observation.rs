//! Builds the record of an observation.

use super::from_run::{counter_figures, finite, machine_from};
use crate::Observation;
use syncline_contract::{self as contract, LogLocation, Meaning, StoreObservation};
use syncline_host::BlockDevice;
use syncline_record::{
    Counted, Device, DroppedSyncs, Identity, Machine, ObservationBody, ObservationRecord,
    ObservedStore, REMOVED, Setting, SyncLine,
};

/// The inputs for an observation's record that the runner does not know.
#[derive(Clone, Debug)]
pub struct ObservationInputs {
    /// The record's identity.
    pub identity: Identity,
    /// The store's name in tables.
    pub name: String,
    /// Its URL, without a password.
    pub url: Option<String>,
    /// The name to use instead of its name and version.
    pub alias: Option<String>,
    /// The layer below the log that drops syncs, as the kernel reports it.
    pub dropped_syncs: Option<DroppedSyncs>,
    /// The host's name.
    pub host: Option<String>,
    /// The sync line of the log directory.
    pub sync_line: SyncLine,
}

/// Builds the record.
pub fn from_observation(observation: &Observation, given: &ObservationInputs) -> ObservationRecord {
    let seconds = observation.span_ns as f64 / 1e9;
    let a_second = |count: u64| Some(count as f64 / seconds);
    let by_counters = |value: Option<f64>, of: &str| match value {
        Some(value) => Counted::by(Some(value), format!("the store's own {of}")),
        None => Counted::unknown(format!(
            "the store's {of} do not show it: see the counters, or nothing was written"
        )),
    };
    let by_calls = |value: Option<f64>| match &observation.sync_calls {
        Ok(_) if value.is_none() => {
            Counted::unknown("no commit that wrote was counted, or no sync call")
        }
        Ok(_) => Counted::by(value, "sync system calls of its process, by perf event"),
        Err(why) => Counted::unknown(why.clone()),
    };
    ObservationRecord {
        identity: given.identity.clone(),
        body: ObservationBody {
            target: store(&observation.last, given),
            machine: Machine { host: given.host.clone(), ..machine_from(&observation.machine) },
            device: device(&observation.device, given),
            span_ns: observation.span_ns,
            commits_per_s: finite(observation.commits().and_then(a_second)),
            commits_hold_reads: Some(observation.commits_hold_reads()),
            writing_commits_per_s: Some(writing(observation)),
            commits_per_sync: by_counters(
                observation.commits_per_sync(),
                "counters of commits and syncs",
            ),
            commits_per_sync_call: by_calls(observation.commits_per_sync_call()),
            sync_calls_per_s: by_calls(
                observation.sync_calls.as_ref().ok().copied().and_then(a_second),
            ),
            flushes_per_s: match observation.flushes {
                Some(flushes) => Counted::by(a_second(flushes), "the kernel, of the whole disk"),
                None => Counted::unknown(no_flushes(observation)),
            },
            log_bytes_per_commit: by_counters(
                observation.log_bytes_per_commit(),
                "counters of commits and log bytes",
            ),
            sync_ns: match (observation.sync_ns(), untimed(observation)) {
                (None, Some(why)) => Counted::unknown(why),
                (value, _) => by_counters(value, "counters of syncs and their time"),
            },
            own_commits: observation.own_commits,
            counters: match given.alias {
                None => counter_figures(&observation.counters),
                Some(_) => Vec::new(),
            },
            intervals: observation.intervals.clone(),
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

/// Why no flushes were counted.
fn no_flushes(observation: &Observation) -> &'static str {
    match (&observation.last.log_location, &observation.device) {
        (LogLocation::Nowhere(_), _) => {
            "the directory of the log is unknown, so no disk was observed"
        }
        (_, Err(_)) => "the disk under the log is unknown, so no disk was observed",
        (_, Ok(_)) => "the kernel does not count flushes of that disk",
    }
}

/// Why the store does not time its syncs; `None` if it does.
fn untimed(observation: &Observation) -> Option<String> {
    let mut counters = observation.counters.iter();
    let times = counters.find(|counter| counter.meaning == Meaning::SyncTime)?;
    times.grown.as_ref().err().cloned()
}

/// Commits a second that may have written.
fn writing(observation: &Observation) -> Counted {
    let seconds = observation.span_ns as f64 / 1e9;
    let source = match (observation.writing_commits(), observation.commits_hold_reads()) {
        (Some(_), true) => {
            "the smaller of its commits and of the transaction ids it assigned: read-only transactions take \
             none, but subtransactions and rolled-back transactions take one too"
        }
        (Some(_), false) => "its commits, all of which write",
        (None, true) => "the store does not report which of its commits wrote: see the counters",
        (None, false) => "the store does not count commits: see the counters",
    };
    let commits = observation.writing_commits();
    Counted::by(commits.map(|commits| commits as f64 / seconds), source)
}

/// A reason in the store's own words, which may name it.
fn withheld(reason: Option<String>, given: &ObservationInputs) -> Option<String> {
    reason.map(|reason| match &given.alias {
        None => reason,
        Some(_) => "withheld with the product's name".to_owned(),
    })
}

fn store(last: &StoreObservation, given: &ObservationInputs) -> ObservedStore {
    let (log_directory, log_reason) = match &last.log_location {
        LogLocation::Directory(path) => (Some(path.display().to_string()), None),
        LogLocation::Nowhere(why) => (None, Some(why.clone())),
    };
    let settings = |settings: &[contract::Setting]| -> Vec<Setting> {
        let all = settings.iter().map(|setting| Setting {
            name: setting.name.clone(),
            value: setting.value.clone(),
            said_by: setting.source.clone(),
        });
        all.collect()
    };
    let dropped = given.dropped_syncs.as_ref();
    let full = ObservedStore {
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
        None => full,
        Some(alias) => ObservedStore {
            name: alias.clone(),
            url: None,
            product: alias.clone(),
            version: None,
            settings: Vec::new(),
            replication: None,
            log_directory: full.log_directory.as_ref().map(|_| REMOVED.to_owned()),
            log_reason: withheld(full.log_reason, given),
            disk_drops_syncs: full.disk_drops_syncs.map(|_| REMOVED.to_owned()),
            disk_remedy: None,
            replication_reason: withheld(Some(String::new()), given),
        },
    }
}

fn device(place: &Result<BlockDevice, String>, given: &ObservationInputs) -> Device {
    Device {
        name: place.as_ref().ok().map(|place| place.device.clone()),
        model: place.as_ref().ok().and_then(|place| place.model.clone()),
        queue_length: None,
        reason: withheld(place.as_ref().err().cloned(), given),
    }
}
