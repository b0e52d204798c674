//! Observation of a store that others use: samples of its counters, and of its process from outside.
//!
//! It puts no load on the store and changes nothing. Samples are taken at equal intervals; the first and the
//! last bound the span, and every figure is of that span. The store reports what a sample itself commits, and
//! that is subtracted.

use crate::account::sampler::Sampler;
use crate::account::store_counters::{
    StoreCounter, commits_hold_reads, grown, shared_syncs, writing_commits,
};
use crate::drive::executor::block_on;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use syncline_contract::{LogLocation, Meaning, StoreObservation, Target, TargetResult};
use syncline_host::{BlockDevice, Machine};
use syncline_instrument::{Nanos, clock};
use syncline_record::ObservedInterval;

/// The interval between two checks for a stop request.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The span of an observation and the interval of its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservePlan {
    /// The whole span.
    pub span: Duration,
    /// The time between two samples.
    pub every: Duration,
}

/// The result of an observation.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The last sample, with settings and replication.
    pub last: StoreObservation,
    /// From the first sample to the last.
    pub span_ns: Nanos,
    /// Each counter over the span.
    pub counters: Vec<StoreCounter>,
    /// Commits of the samples themselves in the span.
    pub own_commits: u64,
    /// The span in intervals.
    pub intervals: Vec<ObservedInterval>,
    /// Sync system calls of the store's process in the span, or why they were not counted.
    pub sync_calls: Result<u64, String>,
    /// Flushes that the disk under the log completed in the span, for all processes; `None` if they are not
    /// counted.
    pub flushes: Option<u64>,
    /// The disk under the log, or why it is unknown.
    pub device: Result<BlockDevice, String>,
    /// The observing machine.
    pub machine: Machine,
}

impl Observation {
    fn grown(&self, meaning: Meaning) -> Option<u64> {
        crate::account::store_counters::grown_of(&self.counters, meaning)
    }

    /// Commits of others in the span; they include read-only ones if [`Self::commits_hold_reads`].
    pub fn commits(&self) -> Option<u64> {
        self.grown(Meaning::Commits).map(|commits| commits.saturating_sub(self.own_commits))
    }

    /// True if the store's commits include read-only transactions.
    pub fn commits_hold_reads(&self) -> bool {
        commits_hold_reads(&self.counters)
    }

    /// Commits of others that may have written; `None` if the store does not report it.
    pub fn writing_commits(&self) -> Option<u64> {
        writing_commits(&self.counters, self.commits())
    }

    /// Writing commits per sync of the log, by the store's own counters.
    pub fn commits_per_sync(&self) -> Option<f64> {
        shared_syncs(&self.counters, self.writing_commits())
    }

    /// Writing commits per sync call of the store's process. The calls may include other files than the log.
    pub fn commits_per_sync_call(&self) -> Option<f64> {
        let calls = *self.sync_calls.as_ref().ok().filter(|calls| **calls > 0)?;
        let logged = self.grown(Meaning::LogBytes) != Some(0);
        let commits = self.writing_commits().filter(|commits| *commits > 0)?;
        logged.then_some(commits as f64 / calls as f64)
    }

    /// Bytes of log per commit that may have written.
    pub fn log_bytes_per_commit(&self) -> Option<f64> {
        let commits = self.writing_commits().filter(|commits| *commits > 0)?;
        let bytes = self.grown(Meaning::LogBytes).filter(|bytes| *bytes > 0)?;
        Some(bytes as f64 / commits as f64)
    }

    /// The average duration of a sync of the log, as the store measured it.
    pub fn sync_ns(&self) -> Option<f64> {
        let syncs = self.grown(Meaning::LogSyncs).filter(|syncs| *syncs > 0)?;
        let spent = self.grown(Meaning::SyncTime).filter(|spent| *spent > 0)?;
        Some(spent as f64 / syncs as f64)
    }
}

/// Observes a store. Setting `stop` ends the observation with the samples so far. `interval_ended` receives
/// each interval as it ends.
pub fn observe<T: Target>(
    target: &T,
    plan: &ObservePlan,
    stop: &AtomicBool,
    interval_ended: impl Fn(&ObservedInterval),
) -> TargetResult<Observation> {
    let opening = block_on(target.observe())?;
    let sampler = Sampler::new(opening.process, log_device(&opening), opening.unseen_syncs);
    // Sample again now that the counters are open, so that both bounds are read in the same way.
    let first = block_on(target.observe())?;
    let before = sampler.read();
    let (mut last, mut now) = (first.clone(), before);
    let mut intervals = Vec::new();
    let end = before.at.saturating_add(clock::nanos(plan.span));
    let every = clock::nanos(plan.every).max(1);
    let mut due = before.at;
    while now.at < end && !stop.load(Ordering::Relaxed) {
        due = due.saturating_add(every).min(end);
        wait_until(due, stop);
        let sample = block_on(target.observe())?;
        let reading = sampler.read();
        let interval = between(&last, now.at, &sample, reading.at, before.at);
        interval_ended(&interval);
        intervals.push(interval);
        (last, now) = (sample, reading);
    }
    let flushes = before.block.zip(now.block);
    Ok(Observation {
        span_ns: now.at.saturating_sub(before.at),
        counters: grown(&first.counters, &last.counters),
        own_commits: last.own_commits.saturating_sub(first.own_commits),
        intervals,
        sync_calls: match (sampler.syncs_refusal(), now.calls_since(&before)) {
            (Some(why), _) => Err(why.to_owned()),
            (None, Some(calls)) => Ok(calls.syncs),
            (None, None) => Err("the kernel's counters could not be read".to_owned()),
        },
        flushes: flushes.and_then(|(before, now)| now.flushes?.checked_sub(before.flushes?)),
        device: sampler.log_device().clone(),
        machine: Machine::read(Path::new("/")),
        last,
    })
}

fn log_device(sample: &StoreObservation) -> Result<BlockDevice, String> {
    match &sample.log_location {
        LogLocation::Directory(directory) => BlockDevice::of(directory, Path::new("/")),
        LogLocation::Nowhere(why) => Err(why.clone()),
    }
}

fn wait_until(due: Nanos, stop: &AtomicBool) {
    loop {
        let left = due.saturating_sub(clock::now());
        if left == 0 || stop.load(Ordering::Relaxed) {
            return;
        }
        std::thread::park_timeout(POLL_INTERVAL.min(Duration::from_nanos(left)));
    }
}

fn between(
    before: &StoreObservation,
    before_at: Nanos,
    now: &StoreObservation,
    now_at: Nanos,
    first_at: Nanos,
) -> ObservedInterval {
    let grown = |meaning| {
        let (before, now) = (before.counter(meaning)?, now.counter(meaning)?);
        now.grown_since(before).ok()
    };
    let own = now.own_commits.saturating_sub(before.own_commits);
    ObservedInterval {
        start_ns: before_at.saturating_sub(first_at),
        end_ns: now_at.saturating_sub(first_at),
        commits: grown(Meaning::Commits).map(|commits| commits.saturating_sub(own)),
        log_syncs: grown(Meaning::LogSyncs),
        log_bytes: grown(Meaning::LogBytes),
    }
}
