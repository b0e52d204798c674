//! The rules that raise warnings on a result.

use crate::account::range::Range;
use crate::account::result::RunResult;
use crate::account::warning::RunWarning;
use std::time::Duration;
use syncline_contract::ClientModel;
use syncline_instrument::clock;
use syncline_record::{DISTURBING_CPUS, DISTURBING_STEAL, Interval};

/// This many transactions leave ten beyond the 99.9th percentile.
const SAMPLES: u64 = 10_000;
/// The time that caches, logs and processors need to reach a steady state.
const WARM_UP: Duration = Duration::from_secs(1);
/// The largest difference between the rates at the two ends of a run that is not drift.
const DRIFT: f64 = 0.15;
/// With fewer intervals drift cannot be distinguished from chance.
const DRIFT_INTERVALS: usize = 6;
/// The share of commits after the end of the span above which the rate is noticeably too low.
const LATE: f64 = 0.01;
/// The number of median transactions that each client should run in the span.
const TRANSACTIONS_A_CLIENT: f64 = 10.0;

/// All warnings that follow from the result itself.
pub(crate) fn warnings(result: &RunResult) -> Vec<RunWarning> {
    let mut warnings = Vec::new();
    warnings.extend(cfg!(debug_assertions).then_some(RunWarning::DebugBuild));
    warnings.extend(governor(result));
    warnings.extend(workers_unclear(result));
    warnings.extend(too_many_workers(result));
    warnings.extend(steal(&result.intervals));
    warnings.extend(other_load(&result.intervals));
    warnings.extend(warm_up(result));
    warnings.extend(drift(&result.intervals));
    warnings.extend(long_transactions(result));
    warnings.extend(ended_late(result));
    warnings.extend(few_samples(result));
    warnings.extend(starved(result));
    let nothing = result.outcomes.attempted == 0;
    warnings.extend(nothing.then_some(RunWarning::NothingAttempted));
    let unfinished = result.outcomes.unfinished;
    warnings.extend((unfinished > 0).then_some(RunWarning::Unfinished { count: unfinished }));
    warnings.extend(overload(result));
    let lost = result.reconnects;
    warnings.extend(
        (lost > 0).then(|| RunWarning::Reconnected { count: lost, why: result.first_lost.clone() }),
    );
    warnings
}

fn governor(result: &RunResult) -> Option<RunWarning> {
    let governor = result.head.machine.governor.as_ref()?;
    (governor != "performance").then(|| RunWarning::FrequencyScaling { governor: governor.clone() })
}

fn workers_unclear(result: &RunResult) -> Option<RunWarning> {
    let trials = result.head.worker_trials.as_ref()?;
    let tried = trials.tried.iter().filter_map(|one| {
        let range = Range::of(one.commits_per_s.iter().copied())?;
        Some((one.workers as usize, range.least, range.most))
    });
    (!trials.clear).then(|| RunWarning::WorkersUnclear {
        workers: result.head.client.workers,
        tried: tried.collect(),
    })
}

fn too_many_workers(result: &RunResult) -> Option<RunWarning> {
    let (client, cores) = (result.head.client, result.head.machine.cores);
    let by_choice = client.model != ClientModel::Threads;
    (by_choice && client.workers > cores)
        .then_some(RunWarning::TooManyWorkers { workers: client.workers, cores })
}

/// The mean over the intervals, weighted by their lengths.
fn mean(intervals: &[Interval], pick: impl Fn(&Interval) -> Option<f64>) -> Option<f64> {
    let length = |interval: &Interval| interval.end_ns.saturating_sub(interval.start_ns) as f64;
    let known = intervals.iter().filter_map(|interval| {
        let value = pick(interval)?;
        Some((value * length(interval), length(interval)))
    });
    let (sum, span) = known.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (span > 0.0).then(|| sum / span)
}

fn steal(intervals: &[Interval]) -> Option<RunWarning> {
    let share = mean(intervals, |interval| interval.steal)?;
    (share >= DISTURBING_STEAL).then_some(RunWarning::Steal { share })
}

fn other_load(intervals: &[Interval]) -> Option<RunWarning> {
    let cpus = mean(intervals, |interval| interval.foreign_cpus)?;
    (cpus >= DISTURBING_CPUS).then_some(RunWarning::OtherLoad { cpus })
}

fn warm_up(result: &RunResult) -> Option<RunWarning> {
    let warm_up = result.head.plan.warm_up;
    (warm_up < WARM_UP).then_some(RunWarning::ShortWarmUp { seconds: warm_up.as_secs_f64() })
}

fn drift(intervals: &[Interval]) -> Option<RunWarning> {
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
    drifted.then_some(RunWarning::Drift { ratio })
}

fn long_transactions(result: &RunResult) -> Option<RunWarning> {
    let seconds = |ns: u64| ns as f64 / clock::SECOND as f64;
    let medians = result.transactions.iter().filter_map(|row| row.service_ns);
    let p50_s = seconds(medians.map(|service| service.p50).max()?);
    let measured_s = seconds(result.measured_ns);
    let by_count = result.head.plan.duration.is_none();
    (!by_count && p50_s * TRANSACTIONS_A_CLIENT > measured_s)
        .then_some(RunWarning::LongTransactions { p50_s, measured_s })
}

fn ended_late(result: &RunResult) -> Option<RunWarning> {
    let (late, of) = (result.commits_late, result.outcomes.committed);
    (late as f64 > of as f64 * LATE).then_some(RunWarning::EndedLate { late, of })
}

fn few_samples(result: &RunResult) -> Vec<RunWarning> {
    let few = |count: u64| (1..SAMPLES).contains(&count);
    let rows = result.transactions.iter();
    rows.filter(|row| few(row.outcomes.committed))
        .map(|row| RunWarning::FewSamples {
            transaction: row.name.clone(),
            count: row.outcomes.committed,
        })
        .collect()
}

fn starved(result: &RunResult) -> Option<RunWarning> {
    let clients = result.fairness.starved.clone();
    (!clients.is_empty())
        .then_some(RunWarning::StarvedClients { clients, of: result.head.client.clients })
}

fn overload(result: &RunResult) -> Option<RunWarning> {
    let arrivals = result.arrivals?;
    (arrivals.abandoned > 0).then_some(RunWarning::Overload {
        abandoned: arrivals.abandoned,
        offered: arrivals.offered,
    })
}

#[cfg(test)]
mod tests {
    use super::{drift, other_load, steal};
    use crate::account::warning::RunWarning;
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
            response_histogram: None,
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
    fn a_rate_that_trends_is_drift_and_one_that_fluctuates_is_not() {
        assert_eq!(drift(&intervals(&[100, 103, 97, 101, 99, 102])), None);
        assert_eq!(drift(&intervals(&[100, 50])), None);
        assert_eq!(
            drift(&intervals(&[100, 100, 80, 70, 50, 50])),
            Some(RunWarning::Drift { ratio: 0.5 })
        );
        assert_eq!(drift(&intervals(&[0, 0, 0, 0, 0, 0])), None);
    }

    #[test]
    fn load_of_other_processes_raises_a_warning_only_if_it_was_measured() {
        let mut some = intervals(&[1, 1]);
        assert_eq!((steal(&some), other_load(&some)), (None, None));
        some[0].steal = Some(0.1);
        some[1].foreign_cpus = Some(0.5);
        assert_eq!(steal(&some), Some(RunWarning::Steal { share: 0.1 }));
        assert_eq!(other_load(&some), Some(RunWarning::OtherLoad { cpus: 0.5 }));
    }
}
