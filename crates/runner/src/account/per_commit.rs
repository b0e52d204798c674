//! The cost of a commit: each figure with its source, or with the reason why it is unknown.
//!
//! Counts of the kernel and the disk are divided by the commits acknowledged between the same two
//! readings, at the ends of the measured span. Processor time is divided by all commits from the start
//! of the clients to the end of the drain, warm-up included, because threads report it when they end.

use crate::account::measured::RunMeasurements;
use crate::account::sampler::Sampler;
use crate::account::store_counters::{StoreCounter, grown_of};
use syncline_contract::{Meaning, StoreProcess, Workload};
use syncline_host::{
    BlockCounts, BlockDevice, SYNCS_SOURCE, SYSTEM_CALLS_REFUSAL, SYSTEM_CALLS_SOURCE, SyncCounts,
};
use syncline_profile::Metric;
use syncline_record::{CountBase, Counted, PerCommit};

/// Where flushes stand in for syncs: the share of them that other processes may have caused.
const OTHERS: f64 = 0.1;

pub(crate) fn per_commit<W: Workload>(
    measured: &RunMeasurements<W>,
    sampler: &Sampler,
    counters: &[StoreCounter],
) -> PerCommit {
    let commits = measured.commits_between as f64;
    let (before, now) = &measured.span;
    let (syncs, system_calls) = match (sampler.calls_refusal(), now.calls_since(before)) {
        (Some(why), _) => (Counted::unknown(why), Counted::unknown(why)),
        (None, Some(SyncCounts { syncs, system_calls })) => (
            by_commits(syncs as f64, commits, SYNCS_SOURCE.to_owned()),
            match system_calls {
                Some(all) => by_commits(all as f64, commits, SYSTEM_CALLS_SOURCE.to_owned()),
                None => {
                    by_profiler(measured).unwrap_or_else(|| Counted::unknown(SYSTEM_CALLS_REFUSAL))
                }
            },
        ),
        (None, None) => {
            let why = "the kernel's counters could not be read, or it dropped some of them";
            (Counted::unknown(why), Counted::unknown(why))
        }
    };
    let syncs = match sampler.syncs_refusal() {
        Some(why) => Counted::unknown(why),
        None => syncs,
    };
    PerCommit {
        syncs: if syncs.value.is_some() {
            syncs
        } else {
            by_store_counter(measured, counters, &syncs.source)
                .unwrap_or_else(|| flushes_for_syncs(measured, sampler, &syncs.source))
        },
        synced_writes: match now.synced_writes.zip(before.synced_writes) {
            Some((now, before)) => {
                let source = "synchronous writes, counted by the store";
                by_commits(now.saturating_sub(before) as f64, commits, source.to_owned())
            }
            None => Counted::unknown(
                "system calls do not show whether a file was opened with O_SYNC or O_DSYNC, and \
                 the store does not count them either",
            ),
        },
        device_writes: disk(measured, sampler, "writes", |counts| Some(counts.writes)),
        device_bytes: disk(measured, sampler, "bytes written", |counts| Some(counts.written_bytes)),
        flushes: flushes(measured, sampler),
        system_calls,
        client_cpu_ns: client_cpu(measured, sampler),
        target_cpu_ns: target_cpu(measured, sampler),
        page_faults: match now.page_faults_since(before) {
            Some(faults) => by_commits(
                faults as f64,
                commits,
                "minor and major page faults of the store's process, from /proc".to_owned(),
            ),
            None => Counted::unknown("the store's process is not visible in /proc"),
        },
    }
}

/// The span between the readings at the ends of the measured span, with its commits and syncs.
pub(crate) fn count_base<W: Workload>(measured: &RunMeasurements<W>) -> CountBase {
    let (before, now) = &measured.span;
    let written = now.synced_writes.zip(before.synced_writes);
    let written = written.map_or(0, |(now, before)| now.saturating_sub(before));
    let calls = now.calls_since(before);
    CountBase {
        span_ns: now.at.saturating_sub(before.at),
        commits: measured.commits_between,
        syncs: calls.map(|calls| calls.syncs + written),
    }
}

fn by_commits(count: f64, commits: f64, source: String) -> Counted {
    if commits > 0.0 {
        Counted::by(Some(count / commits), source)
    } else {
        Counted::unknown("nothing was committed")
    }
}

fn disk<W: Workload>(
    measured: &RunMeasurements<W>,
    sampler: &Sampler,
    what: &str,
    pick: fn(&BlockCounts) -> Option<u64>,
) -> Counted {
    let place = match sampler.log_device() {
        Ok(place) => place,
        Err(why) => return Counted::unknown(why.clone()),
    };
    let (before, now) = &measured.span;
    let device = &place.device;
    let (Some(before), Some(now)) = (before.block, now.block) else {
        return Counted::unknown(format!("the counters of {device} cannot be read"));
    };
    let Some((before, now)) = pick(&before).zip(pick(&now)) else {
        return Counted::unknown(format!("the kernel does not count {what} of {device}"));
    };
    let source = format!("{what} of the whole disk {device}, by all processes");
    let count = now.saturating_sub(before) as f64;
    by_commits(count, measured.commits_between as f64, source)
}

/// Flushes of the disk; unknown for a disk to which the kernel never sends a flush.
fn flushes<W: Workload>(measured: &RunMeasurements<W>, sampler: &Sampler) -> Counted {
    match sampler.log_device() {
        Ok(place) if place.takes_flushes == Some(false) => Counted::unknown(no_flushes(place)),
        _ => disk(measured, sampler, "flushes", |counts| counts.flushes),
    }
}

/// Why a disk's flushes do not show syncs.
fn no_flushes(place: &BlockDevice) -> String {
    format!(
        "the kernel sends no flushes to {} because it treats the disk's cache as write-through",
        place.device
    )
}

/// System calls from the profile: a profiler that samples system calls counts all of them.
fn by_profiler<W: Workload>(measured: &RunMeasurements<W>) -> Option<Counted> {
    let samples = measured.profile.as_ref()?.samples().iter();
    let calls = samples.filter(|sample| sample.metric == Metric::SystemCalls);
    let calls = calls.map(|sample| sample.weight).reduce(|sum, one| sum + one)?;
    let source = "system calls of the store's process, counted by the profiler".to_owned();
    Some(by_commits(calls as f64, measured.commits_between as f64, source))
}

/// Syncs by the store's own counter, for use where the kernel does not count them.
fn by_store_counter<W: Workload>(
    measured: &RunMeasurements<W>,
    counters: &[StoreCounter],
    refusal: &str,
) -> Option<Counted> {
    let syncs = grown_of(counters, Meaning::LogSyncs)? as f64;
    // Without the counter's name: it would reveal a product whose name is withheld, and the list of
    // counters has it.
    let source = format!(
        "syncs of the log by the store's own counter, warm-up and drain included; not counted from \
         outside: {refusal}"
    );
    let commits = measured.commits_in_whole as f64;
    Some(by_commits(syncs, commits, source))
}

/// Flushes as a substitute where syncs cannot be counted. They equal syncs only while no two flushes merge,
/// which holds for one client; `idle_flushes_per_ns` is measured only then.
fn flushes_for_syncs<W: Workload>(
    measured: &RunMeasurements<W>,
    sampler: &Sampler,
    refusal: &str,
) -> Counted {
    let (before, now) = &measured.span;
    let flushes = before
        .block
        .zip(now.block)
        .and_then(|(before, now)| now.flushes?.checked_sub(before.flushes?));
    let (Ok(place), Some(flushes), Some(idle_per_ns)) =
        (sampler.log_device(), flushes, measured.idle_flushes_per_ns)
    else {
        return Counted::unknown(refusal);
    };
    if place.takes_flushes == Some(false) {
        return Counted::unknown(format!(
            "syncs were not counted: {refusal}; and {}",
            no_flushes(place)
        ));
    }
    let device = &place.device;
    let idle = idle_per_ns * now.at.saturating_sub(before.at) as f64;
    match own_flushes(flushes as f64, idle) {
        Some(own) => {
            let source = format!(
                "flushes of the whole disk {device} less its idle rate, one commit outstanding; \
                 syncs were not counted: {refusal}"
            );
            by_commits(own, measured.commits_between as f64, source)
        }
        None => Counted::unknown(format!(
            "syncs were not counted: {refusal}; and flushes of {device} do not show them, because other \
             processes flush that disk too"
        )),
    }
}

/// The store's own part of all flushes. `None` if the idle rate accounts for more than a tenth of them: a
/// rate of that size does not stay constant.
fn own_flushes(all: f64, idle: f64) -> Option<f64> {
    (idle <= all * OTHERS).then_some(all - idle)
}

fn client_cpu<W: Workload>(measured: &RunMeasurements<W>, sampler: &Sampler) -> Counted {
    let source = match sampler.process() {
        StoreProcess::InProcess => {
            "processor time of the worker threads, which run the store's code too; warm-up included"
        }
        StoreProcess::Other(_) | StoreProcess::Unknown(_) => {
            "processor time of the worker threads; warm-up included"
        }
    };
    let cpu_ns = workers_cpu_ns(measured);
    by_commits(cpu_ns, measured.commits_in_whole as f64, source.to_owned())
}

fn target_cpu<W: Workload>(measured: &RunMeasurements<W>, sampler: &Sampler) -> Counted {
    let (before, now) = &measured.whole;
    let commits = measured.commits_in_whole as f64;
    match sampler.process() {
        StoreProcess::Unknown(why) => Counted::unknown(why),
        StoreProcess::Other(_) => match sampler.store_cpu_ns(before, now) {
            Some(cpu_ns) => {
                let source = "processor time of the store's process and its children, from /proc; \
                     warm-up included";
                by_commits(cpu_ns as f64, commits, source.to_owned())
            }
            None => Counted::unknown("the store's process is not visible in /proc"),
        },
        StoreProcess::InProcess => match now.own_cpu_ns_since(before) {
            Some(all_ns) => {
                let spun_ns: u64 = measured.reports.iter().map(|report| report.spun_ns).sum();
                let others = workers_cpu_ns(measured) + spun_ns as f64;
                let others = others + measured.coordinator_cpu_ns as f64;
                let source = "background CPU of the embedded store; its work in client threads is counted \
                     under client CPU; warm-up included";
                let own = (all_ns as f64 - others).max(0.0);
                by_commits(own, commits, source.to_owned())
            }
            None => Counted::unknown("this process is not visible in /proc"),
        },
    }
}

/// Processor time of all workers, without spinning.
pub(crate) fn workers_cpu_ns<W: Workload>(measured: &RunMeasurements<W>) -> f64 {
    let all: u64 = measured.reports.iter().map(|report| report.cpu_ns).sum();
    all as f64
}

#[cfg(test)]
mod tests {
    use super::{by_commits, own_flushes};

    #[test]
    fn flushes_replace_syncs_only_on_a_disk_that_others_barely_flush() {
        assert_eq!(own_flushes(1_000.0, 0.0), Some(1_000.0));
        assert_eq!(own_flushes(1_000.0, 50.0), Some(950.0));
        assert_eq!(own_flushes(1_000.0, 900.0), None);
        assert_eq!(own_flushes(0.0, 0.0), Some(0.0));
    }

    #[test]
    fn without_commits_the_cost_of_one_is_unknown() {
        let counted = by_commits(3.0, 0.0, "anything".to_owned());
        assert_eq!((counted.value, counted.source.as_str()), (None, "nothing was committed"));
        assert_eq!(by_commits(3.0, 2.0, String::new()).value, Some(1.5));
    }
}
