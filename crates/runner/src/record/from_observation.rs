//! From what was observed of a store to the record of an observation.

use super::from_run::{counter_figures, finite, machine_from};
use crate::Observation;
use syncline_contract::{self as contract, LogLocation, Meaning, StoreObservation};
use syncline_host::BlockDevice;
use syncline_record::{
    Counted, Device, DroppedSyncs, Identity, Machine, ObservationBody, ObservationRecord,
    ObservedStore, REMOVED, Setting, SyncLine,
};

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
pub fn from_observation(seen: &Observation, given: &ObservationInputs) -> ObservationRecord {
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
            intervals: seen.intervals.clone(),
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
fn no_flushes(seen: &Observation) -> &'static str {
    match (&seen.last.log_place, &seen.device) {
        (LogLocation::Nowhere(_), _) => {
            "the directory of the log is not known, so no disk was watched"
        }
        (_, Err(_)) => "the disk under the log is not known, so none was watched",
        (_, Ok(_)) => "the kernel counts no flushes of that disk",
    }
}

/// Why the store does not time its syncs; none if it does.
fn untimed(seen: &Observation) -> Option<String> {
    let mut counters = seen.counters.iter();
    let times = counters.find(|counter| counter.meaning == Meaning::SyncTime)?;
    times.grown.as_ref().err().cloned()
}

/// Those of its commits that may have written, a second.
fn writing(seen: &Observation) -> Counted {
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

fn store(last: &StoreObservation, given: &ObservationInputs) -> ObservedStore {
    let (log_directory, log_reason) = match &last.log_place {
        LogLocation::Directory(path) => (Some(path.display().to_string()), None),
        LogLocation::Nowhere(why) => (None, Some(why.clone())),
    };
    let settings = |settings: &[contract::Setting]| -> Vec<Setting> {
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

fn device(place: &Result<BlockDevice, String>, given: &ObservationInputs) -> Device {
    Device {
        name: place.as_ref().ok().map(|place| place.device.clone()),
        model: place.as_ref().ok().and_then(|place| place.model.clone()),
        queue_length: None,
        reason: withheld(place.as_ref().err().cloned(), given),
    }
}
