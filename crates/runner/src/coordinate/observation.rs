//! Watching a store that others use: looks at its counters, and at its process from outside.
//!
//! No load and no change. Looks are taken at even times; the first and the last bound the span, and
//! every figure is of that span. What a look itself commits the store says, and it is taken off.

use crate::account::sampler::Sampler;
use crate::account::store_counters::{
    StoreCounter, commits_hold_reads, grown, shared_syncs, writing_commits,
};
use crate::drive::executor::ask;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use syncline_contract::{LogLocation, Meaning, StoreObservation, Target, TargetResult};
use syncline_host::{BlockDevice, Machine};
use syncline_instrument::{Nanos, clock};
use syncline_record::ObservedInterval;

/// How often it is looked whether somebody asks to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long is watched, and how often a look is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservePlan {
    /// The whole span.
    pub span: Duration,
    /// Between two looks.
    pub every: Duration,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The last look, with settings and replication.
    pub last: StoreObservation,
    /// From the first look to the last.
    pub span_ns: Nanos,
    /// Each counter over the span.
    pub counters: Vec<StoreCounter>,
    /// Commits of the looks themselves in the span.
    pub own_commits: u64,
    /// The span in intervals.
    pub intervals: Vec<ObservedInterval>,
    /// Sync system calls of the store's process in the span, or why they were not counted.
    pub sync_calls: Result<u64, String>,
    /// Flushes that the disk under the log completed in the span, whoever asked for them; none if they
    /// are not counted.
    pub flushes: Option<u64>,
    /// The disk under the log, or why none is known.
    pub device: Result<BlockDevice, String>,
    /// The machine that looked.
    pub machine: Machine,
}

impl Observation {
    fn grown(&self, meaning: Meaning) -> Option<u64> {
        crate::account::store_counters::grown_of(&self.counters, meaning)
    }

    /// Commits of others in the span, those that only read among them if [`Self::commits_hold_reads`].
    pub fn commits(&self) -> Option<u64> {
        self.grown(Meaning::Commits).map(|commits| commits.saturating_sub(self.own_commits))
    }

    /// True if the store's commits are also those of transactions that only read.
    pub fn commits_hold_reads(&self) -> bool {
        commits_hold_reads(&self.counters)
    }

    /// Commits of others that may have written; none if the store does not tell.
    pub fn writing_commits(&self) -> Option<u64> {
        writing_commits(&self.counters, self.commits())
    }

    /// Of those the ones that shared a sync of the log, by the store's own counters.
    pub fn commits_per_sync(&self) -> Option<f64> {
        shared_syncs(&self.counters, self.writing_commits())
    }

    /// The same by the sync calls of its process, which may be for other files than the log too.
    pub fn commits_per_sync_call(&self) -> Option<f64> {
        let calls = *self.sync_calls.as_ref().ok().filter(|calls| **calls > 0)?;
        let logged = self.grown(Meaning::LogBytes) != Some(0);
        let commits = self.writing_commits().filter(|commits| *commits > 0)?;
        logged.then_some(commits as f64 / calls as f64)
    }

    /// Bytes that a commit which may have written added to the log.
    pub fn log_bytes_per_commit(&self) -> Option<f64> {
        let commits = self.writing_commits().filter(|commits| *commits > 0)?;
        let bytes = self.grown(Meaning::LogBytes).filter(|bytes| *bytes > 0)?;
        Some(bytes as f64 / commits as f64)
    }

    /// How long a sync of the log took on average, by the store's own clock.
    pub fn sync_ns(&self) -> Option<f64> {
        let syncs = self.grown(Meaning::LogSyncs).filter(|syncs| *syncs > 0)?;
        let spent = self.grown(Meaning::SyncTime).filter(|spent| *spent > 0)?;
        Some(spent as f64 / syncs as f64)
    }
}

/// Watches a store. A set `stop` ends it with what was seen so far.
pub fn observe<T: Target>(
    target: &T,
    plan: &ObservePlan,
    stop: &AtomicBool,
    told: impl Fn(&ObservedInterval),
) -> TargetResult<Observation> {
    let opening = ask(target.observe())?;
    let sampler = Sampler::new(opening.process, place(&opening), opening.unseen_syncs);
    // The meters are there now, so that both bounds are read alike.
    let first = ask(target.observe())?;
    let before = sampler.read();
    let (mut last, mut now) = (first.clone(), before);
    let mut intervals = Vec::new();
    let end = before.at.saturating_add(clock::nanos(plan.span));
    let every = clock::nanos(plan.every).max(1);
    let mut due = before.at;
    while now.at < end && !stop.load(Ordering::Relaxed) {
        due = due.saturating_add(every).min(end);
        wait_until(due, stop);
        let look = ask(target.observe())?;
        let reading = sampler.read();
        let interval = between(&last, now.at, &look, reading.at, before.at);
        told(&interval);
        intervals.push(interval);
        (last, now) = (look, reading);
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
            (None, None) => Err("the kernel did not answer for its counters".to_owned()),
        },
        flushes: flushes.and_then(|(before, now)| now.flushes?.checked_sub(before.flushes?)),
        device: sampler.place().clone(),
        machine: Machine::read(Path::new("/")),
        last,
    })
}

fn place(seen: &StoreObservation) -> Result<BlockDevice, String> {
    match &seen.log_place {
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
