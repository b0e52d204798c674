//! When a result deserves a warning.

use crate::account::range::Range;
use crate::account::result::RunResult;
use crate::account::warning::Warning;
use std::time::Duration;
use syncline_contract::ClientModel;
use syncline_instrument::clock;
use syncline_record::Interval;

/// Stolen time that is felt in percentiles.
const STEAL: f64 = 0.01;
/// Processors' worth of foreign load that is felt on any machine.
const FOREIGN_CPUS: f64 = 0.2;
/// Ten transactions beyond the 99.9th percentile.
const SAMPLES: u64 = 10_000;
/// What caches, logs and processors need to settle.
const WARM_UP: Duration = Duration::from_secs(1);
/// How far the ends of a run may differ.
const DRIFT: f64 = 0.15;
/// Intervals below which no drift can be told from chance.
const DRIFT_INTERVALS: usize = 6;
/// The share of the commits behind the end of a run that makes a rate look low.
const LATE: f64 = 0.01;
/// How many times over a client should run the median transaction.
const TRANSACTIONS_A_CLIENT: f64 = 10.0;

/// Everything that may spoil a result, judged by the result itself.
pub(crate) fn warnings(result: &RunResult) -> Vec<Warning> {
    let mut found = Vec::new();
    found.extend(cfg!(debug_assertions).then_some(Warning::DebugBuild));
    found.extend(governor(result));
    found.extend(workers_unclear(result));
    found.extend(too_many_workers(result));
    found.extend(steal(&result.intervals));
    found.extend(foreign_load(&result.intervals));
    found.extend(warm_up(result));
    found.extend(drift(&result.intervals));
    found.extend(long_transactions(result));
    found.extend(ended_late(result));
    found.extend(few_samples(result));
    found.extend(starved(result));
    let nothing = result.outcomes.attempted == 0;
    found.extend(nothing.then_some(Warning::NothingAttempted));
    let unfinished = result.outcomes.unfinished;
    found.extend((unfinished > 0).then_some(Warning::Unfinished { count: unfinished }));
    found.extend(overload(result));
    let lost = result.reconnects;
    found.extend(
        (lost > 0).then(|| Warning::Reconnected { count: lost, why: result.first_lost.clone() }),
    );
    found
}

fn governor(result: &RunResult) -> Option<Warning> {
    let governor = result.head.machine.governor.as_ref()?;
    (governor != "performance").then(|| Warning::FrequencyScaling { governor: governor.clone() })
}

fn workers_unclear(result: &RunResult) -> Option<Warning> {
    let trials = result.head.worker_trials.as_ref()?;
    let tried = trials.tried.iter().filter_map(|one| {
        let range = Range::of(one.commits_per_s.iter().copied())?;
        Some((one.workers, range.least, range.most))
    });
    (!trials.clear).then(|| Warning::WorkersUnclear {
        workers: result.head.client.workers,
        tried: tried.collect(),
    })
}

fn too_many_workers(result: &RunResult) -> Option<Warning> {
    let (client, cores) = (result.head.client, result.head.machine.cores);
    let by_choice = client.model != ClientModel::Threads;
    (by_choice && client.workers > cores)
        .then_some(Warning::TooManyWorkers { workers: client.workers, cores })
}

/// The mean over the intervals, by their lengths.
fn mean(intervals: &[Interval], pick: impl Fn(&Interval) -> Option<f64>) -> Option<f64> {
    let length = |interval: &Interval| interval.end_ns.saturating_sub(interval.start_ns) as f64;
    let known = intervals.iter().filter_map(|interval| {
        let value = pick(interval)?;
        Some((value * length(interval), length(interval)))
    });
    let (sum, span) = known.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (span > 0.0).then(|| sum / span)
}

fn steal(intervals: &[Interval]) -> Option<Warning> {
    let share = mean(intervals, |interval| interval.steal)?;
    (share >= STEAL).then_some(Warning::Steal { share })
}

fn foreign_load(intervals: &[Interval]) -> Option<Warning> {
    let cpus = mean(intervals, |interval| interval.foreign_cpus)?;
    (cpus >= FOREIGN_CPUS).then_some(Warning::ForeignLoad { cpus })
}

fn warm_up(result: &RunResult) -> Option<Warning> {
    let warm_up = result.head.plan.warm_up;
    (warm_up < WARM_UP).then_some(Warning::ShortWarmUp { seconds: warm_up.as_secs_f64() })
}

fn drift(intervals: &[Interval]) -> Option<Warning> {
    if intervals.len() < DRIFT_INTERVALS {
        return None;
    }
    let third = intervals.len() / 3;
    let rate = |some: &[Interval]| {
        mean(some, |interval| {
            let length = interval.end_ns.saturating_sub(interval.start_ns) as f64;
            (length > 0.0).then(|| interval.committed as f64 / length)
        })
    };
    let first = rate(&intervals[..third])?;
    let last = rate(&intervals[intervals.len() - third..])?;
    let ratio = last / first;
    let drifted = ratio.is_finite() && (ratio - 1.0).abs() > DRIFT;
    drifted.then_some(Warning::Drift { ratio })
}

fn long_transactions(result: &RunResult) -> Option<Warning> {
    let seconds = |ns: u64| ns as f64 / clock::SECOND as f64;
    let medians = result.transactions.iter().filter_map(|row| row.service_ns);
    let p50_s = seconds(medians.map(|service| service.p50).max()?);
    let measured_s = seconds(result.measured_ns);
    let by_count = result.head.plan.duration.is_none();
    (!by_count && p50_s * TRANSACTIONS_A_CLIENT > measured_s)
        .then_some(Warning::LongTransactions { p50_s, measured_s })
}

fn ended_late(result: &RunResult) -> Option<Warning> {
    let (late, of) = (result.commits_late, result.outcomes.committed);
    (late as f64 > of as f64 * LATE).then_some(Warning::EndedLate { late, of })
}

fn few_samples(result: &RunResult) -> Vec<Warning> {
    let few = |count: u64| (1..SAMPLES).contains(&count);
    let rows = result.transactions.iter();
    rows.filter(|row| few(row.outcomes.committed))
        .map(|row| Warning::FewSamples {
            transaction: row.name.clone(),
            count: row.outcomes.committed,
        })
        .collect()
}

fn starved(result: &RunResult) -> Option<Warning> {
    let clients = result.fairness.starved.clone();
    (!clients.is_empty())
        .then_some(Warning::StarvedClients { clients, of: result.head.client.clients })
}

fn overload(result: &RunResult) -> Option<Warning> {
    let arrivals = result.arrivals?;
    (arrivals.abandoned > 0)
        .then_some(Warning::Overload { abandoned: arrivals.abandoned, offered: arrivals.offered })
}

#[cfg(test)]
mod tests {
    use super::{drift, foreign_load, steal};
    use crate::account::warning::Warning;
    use syncline_record::Interval;

    fn intervals(commits: &[u64]) -> Vec<Interval> {
        let interval = |(number, committed): (usize, &u64)| Interval {
            repetition: 1,
            start_ns: number as u64 * 1_000_000_000,
            end_ns: (number as u64 + 1) * 1_000_000_000,
            committed: *committed,
            aborted: 0,
            conflicted: 0,
            failed: 0,
            unfinished: 0,
            service_p50_ns: None,
            service_p99_ns: None,
            service_max_ns: None,
            response_p50_ns: None,
            response_p99_ns: None,
            response_max_ns: None,
            steal: None,
            foreign_cpus: None,
            busy: None,
            pressure_cpu: None,
            pressure_io: None,
            queue_length: None,
            device_busy: None,
            page_faults: None,
        };
        commits.iter().enumerate().map(interval).collect()
    }

    #[test]
    fn a_rate_that_changes_is_drift_and_one_that_shakes_is_not() {
        assert_eq!(drift(&intervals(&[100, 103, 97, 101, 99, 102])), None);
        assert_eq!(drift(&intervals(&[100, 50])), None);
        assert_eq!(
            drift(&intervals(&[100, 100, 80, 70, 50, 50])),
            Some(Warning::Drift { ratio: 0.5 })
        );
        assert_eq!(drift(&intervals(&[0, 0, 0, 0, 0, 0])), None);
    }

    #[test]
    fn load_of_others_is_warned_of_only_where_it_was_measured() {
        let mut some = intervals(&[1, 1]);
        assert_eq!((steal(&some), foreign_load(&some)), (None, None));
        some[0].steal = Some(0.1);
        some[1].foreign_cpus = Some(0.5);
        assert_eq!(steal(&some), Some(Warning::Steal { share: 0.1 }));
        assert_eq!(foreign_load(&some), Some(Warning::ForeignLoad { cpus: 0.5 }));
    }
}
