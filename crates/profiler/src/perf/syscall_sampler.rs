//! Samples system calls and switches at the tracepoints that all of them pass; used if the kernel refuses BPF
//! programs.
//!
//! Some events are sampled with their stacks, and all are counted; the weights are scaled to the count. Every
//! sync call is sampled, since there are few.

use super::event_source::{Kind, Source};
use super::events::Reach;
use super::refusal::refusal;
use super::sampler::{Fields, Sampler};
use super::sampler_output::SamplerOutput;
use super::stack_counts::Detail;
use crate::account::all_missing;
use crate::collector::{Collector, OpenResult};
use crate::profiler::ProfilerOptions;
use crate::subject::Subject;
use syncline_host::{sync_filter, tracepoint};
use syncline_profile::{Account, Metric, Precision, ProfileBuilder, Total};

const COLLECTOR: &str = "system calls and switches by sampled tracepoints";
const METRICS: [Metric; 4] = [
    Metric::SystemCalls,
    Metric::SyncCalls,
    Metric::VoluntarySwitches,
    Metric::InvoluntarySwitches,
];
const CALLS: &str = "raw_syscalls/sys_enter";
const SWITCHES: &str = "sched/sched_switch";
/// One of this many is sampled: primes, so that no pattern of calls keeps step. A sample takes some
/// microseconds, and a fast store makes some hundred thousand system calls per second.
const ONE_CALL_IN: u64 = 127;
const ONE_SWITCH_IN: u64 = 61;

fn sampler(subject: &Subject, sources: &[Source]) -> Result<Sampler, String> {
    let fields = Fields {
        call: tracepoint::offset(CALLS, "id")?,
        state: tracepoint::offset(SWITCHES, "prev_state")?,
    };
    // Only the store's threads, since the counts are theirs.
    Sampler::open(subject, sources, Reach::Tasks, true, fields)
        .map_err(|error| refusal("system calls and switches", &error))
}

#[derive(Debug)]
struct Calls {
    sampler: Sampler,
    /// The numbers of system calls, sync calls and switches at the end of sampling.
    counted: [u64; 3],
}

/// Opens the sampler that this user may use.
pub(crate) fn open(subject: &Subject, _: &ProfilerOptions) -> OpenResult {
    let sources = || -> Result<Vec<Source>, String> {
        let mut syncs = Source::tracepoint(Kind::Sync, CALLS, 1)?;
        syncs.filter = Some(sync_filter()?);
        Ok(vec![
            Source::tracepoint(Kind::Call, CALLS, ONE_CALL_IN)?,
            syncs,
            Source::tracepoint(Kind::Switch, SWITCHES, ONE_SWITCH_IN)?,
        ])
    };
    let sampler = sources().and_then(|sources| sampler(subject, &sources));
    match sampler {
        Ok(sampler) => Ok(Box::new(Calls { sampler, counted: [0; 3] })),
        Err(why) => Err(refused(&why)),
    }
}

fn refused(why: &str) -> Vec<Account> {
    all_missing(&METRICS, COLLECTOR, why)
}

impl Collector for Calls {
    fn prepare(&mut self) -> Result<(), String> {
        self.sampler.prepare()
    }

    fn start(&mut self) -> Result<(), String> {
        self.sampler.start()
    }

    fn stop(&mut self) -> Result<(), String> {
        self.sampler.stop()?;
        for (counted, kind) in self.counted.iter_mut().zip(KINDS) {
            let count = self.sampler.count(kind);
            *counted = count.ok_or("the kernel does not report the number of events")?;
        }
        Ok(())
    }

    fn hand_over(self: Box<Self>, profile: &mut ProfileBuilder) {
        match self.sampler.finish() {
            Ok(outcome) => put(outcome, self.counted, profile),
            Err(why) => {
                for account in refused(&why) {
                    profile.account(account);
                }
            }
        }
    }

    fn failed(&self, why: &str) -> Vec<Account> {
        refused(why)
    }
}

const KINDS: [Kind; 3] = [Kind::Call, Kind::Sync, Kind::Switch];

fn put(mut outcome: SamplerOutput, counted: [u64; 3], profile: &mut ProfileBuilder) {
    let worth = |kind: Kind| {
        let place = KINDS.iter().position(|other| *other == kind)?;
        let sampled = outcome.stacks.samples(kind);
        (sampled > 0).then(|| counted[place] as f64 / sampled as f64)
    };
    let worths = KINDS.map(worth);
    outcome.put(profile, |seen| {
        let metric = match (seen.kind, seen.detail) {
            (Kind::Call, _) => Metric::SystemCalls,
            (Kind::Sync, _) => Metric::SyncCalls,
            (_, Detail::Voluntary(true)) => Metric::VoluntarySwitches,
            (_, Detail::Voluntary(false)) => Metric::InvoluntarySwitches,
            _ => return None,
        };
        let place = KINDS.iter().position(|kind| *kind == seen.kind)?;
        Some((metric, worths[place]?))
    });
    for metric in METRICS {
        let (kind, one_in, total) = match metric {
            Metric::SystemCalls => (Kind::Call, ONE_CALL_IN, Some(counted[0])),
            Metric::SyncCalls => (Kind::Sync, 1, Some(counted[1])),
            // The count does not distinguish the two kinds of switches.
            _ => (Kind::Switch, ONE_SWITCH_IN, None),
        };
        let lost = outcome.lost(kind);
        let how = if one_in == 1 && lost == 0 {
            Precision::Exact
        } else {
            Precision::Sampled(format!("one of {one_in}"))
        };
        profile.account(Account {
            metric,
            collector: COLLECTOR.to_owned(),
            how,
            lost,
            total: total.map(|amount| Total {
                amount,
                source: "all of them, counted by the same events".to_owned(),
            }),
        });
    }
}
