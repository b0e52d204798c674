//! A worker's counters, which the coordinating thread may read at any time.
//!
//! Each counter has one writer, the worker. It loads, adds and stores without a locked instruction, so
//! counting costs as much as in plain memory. A reader sees the exact value of each counter, but the values
//! of several counters are not of one instant. The counters include everything that ended since the clients
//! started, warm-up included. Transactions that ended after the measured span have separate counters, so
//! that an interval never includes work from outside its own time.
//!
//! Times are counted in 64 buckets per power of two, which is exact to 1.6 %. In a closed loop a transaction
//! is due when it starts, so its response time equals its service time and is counted once; in an open loop
//! response times have their own buckets.

use crate::account::worker_stats::encoded;
use hdrhistogram::Histogram;
use std::sync::atomic::{AtomicU64, Ordering};
use syncline_instrument::Nanos;

/// Binary logarithm of the number of buckets per power of two.
const DIGITS: u32 = 6;
const LINEAR: u64 = 1 << DIGITS;
/// Times of 2^42 ns (73 minutes) and more share the last bucket.
const POWERS: u32 = 42;
const BUCKETS: usize = ((POWERS - DIGITS + 1) as usize) << DIGITS;

/// How a transaction ended, in the detail that intervals report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutcomeKind {
    Committed,
    Aborted,
    Conflicted,
    Failed,
    Unknown,
}

const KINDS: usize = 5;

/// One worker's counters. Aligned so that no two workers share a cache line.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct LiveCounters {
    ended: [AtomicU64; KINDS],
    late: [AtomicU64; KINDS],
    service: Box<[AtomicU64]>,
    /// `None` in a closed loop.
    response: Option<Box<[AtomicU64]>>,
}

impl LiveCounters {
    /// `open` for an open loop, where transactions have due times.
    pub(crate) fn new(open: bool) -> LiveCounters {
        let buckets = || (0..BUCKETS).map(|_| AtomicU64::new(0)).collect();
        LiveCounters {
            ended: Default::default(),
            late: Default::default(),
            service: buckets(),
            response: open.then(buckets),
        }
    }

    /// Counts a commit with its service time and its response time. Only the worker may call this.
    #[inline]
    pub(crate) fn committed(&self, service_ns: Nanos, response_ns: Nanos) {
        add(&self.ended[OutcomeKind::Committed as usize]);
        add(&self.service[bucket(service_ns)]);
        if let Some(response) = &self.response {
            add(&response[bucket(response_ns)]);
        }
    }

    /// Counts any other outcome. Only the worker may call this.
    pub(crate) fn ended(&self, how: OutcomeKind) {
        add(&self.ended[how as usize]);
    }

    /// Counts an outcome after the measured span. Only the worker may call this.
    pub(crate) fn ended_late(&self, how: OutcomeKind) {
        add(&self.late[how as usize]);
    }
}

/// Adds one without a locked instruction; correct because there is only one writer.
#[inline]
fn add(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

#[inline]
fn bucket(time_ns: Nanos) -> usize {
    if time_ns < LINEAR {
        return time_ns as usize;
    }
    let power = time_ns.ilog2();
    let within = (time_ns >> (power - DIGITS)) & (LINEAR - 1);
    let bucket = (u64::from(power - DIGITS + 1) << DIGITS) + within;
    (bucket as usize).min(BUCKETS - 1)
}

/// The longest time that falls into a bucket.
fn longest_in(bucket: usize) -> Nanos {
    let bucket = bucket as u64;
    if bucket < LINEAR {
        return bucket;
    }
    let shift = (bucket >> DIGITS) - 1;
    let within = bucket & (LINEAR - 1);
    ((LINEAR + within + 1) << shift) - 1
}

/// Acknowledged commits of all workers since they started, without those after the measured span.
pub(crate) fn committed(workers: &[LiveCounters]) -> u64 {
    let each = workers.iter();
    each.map(|worker| worker.ended[OutcomeKind::Committed as usize].load(Ordering::Relaxed)).sum()
}

/// The sum of all workers' counters at one time.
#[derive(Clone, Debug)]
pub(crate) struct LiveTotals {
    ended: [u64; KINDS],
    late: [u64; KINDS],
    service: Box<[u64]>,
    /// `None` in a closed loop, and before the first reading.
    response: Option<Box<[u64]>>,
}

impl LiveTotals {
    pub(crate) fn new() -> LiveTotals {
        LiveTotals {
            ended: [0; KINDS],
            late: [0; KINDS],
            service: vec![0; BUCKETS].into_boxed_slice(),
            response: None,
        }
    }

    /// Replaces the sums with a new reading of all counters.
    pub(crate) fn read(&mut self, workers: &[LiveCounters]) {
        self.ended = [0; KINDS];
        self.late = [0; KINDS];
        self.service.fill(0);
        if let Some(sums) = &mut self.response {
            sums.fill(0);
        }
        for worker in workers {
            // Outcomes before times, so that every commit read here has its time counted too.
            for (sum, counter) in self.ended.iter_mut().zip(&worker.ended) {
                *sum += counter.load(Ordering::Relaxed);
            }
            for (sum, counter) in self.late.iter_mut().zip(&worker.late) {
                *sum += counter.load(Ordering::Relaxed);
            }
            for (sum, counter) in self.service.iter_mut().zip(&worker.service) {
                *sum += counter.load(Ordering::Relaxed);
            }
            if let Some(response) = &worker.response {
                let none = || vec![0; BUCKETS].into_boxed_slice();
                let sums = self.response.get_or_insert_with(none);
                for (sum, counter) in sums.iter_mut().zip(response) {
                    *sum += counter.load(Ordering::Relaxed);
                }
            }
        }
    }

    /// Transactions with this outcome up to the end of the measured span.
    pub(crate) fn count(&self, how: OutcomeKind) -> u64 {
        self.ended[how as usize]
    }

    /// Transactions with this outcome, those after the measured span included.
    pub(crate) fn count_whole(&self, how: OutcomeKind) -> u64 {
        self.ended[how as usize] + self.late[how as usize]
    }

    /// Transactions of every outcome, those after the measured span included.
    pub(crate) fn all(&self) -> u64 {
        self.ended.iter().chain(&self.late).sum()
    }

    /// The service time that a share of the commits since `before` did not exceed, within 1.6 %; `None`
    /// without commits.
    pub(crate) fn service_ns(&self, before: &LiveTotals, share: f64) -> Option<Nanos> {
        quantile(&self.service, &before.service, share)
    }

    /// The same for response times; in a closed loop they equal the service times.
    pub(crate) fn response_ns(&self, before: &LiveTotals, share: f64) -> Option<Nanos> {
        match (&self.response, &before.response) {
            (None, _) => self.service_ns(before, share),
            (Some(now), None) => quantile(now, &vec![0; BUCKETS], share),
            (Some(now), Some(before)) => quantile(now, before, share),
        }
    }

    /// The response times of the commits since `before`, encoded; `None` without commits.
    pub(crate) fn response_histogram(&self, before: &LiveTotals) -> Option<String> {
        encoded(&match (&self.response, &before.response) {
            (None, _) => histogram(&self.service, &before.service),
            (Some(now), None) => histogram(now, &vec![0; BUCKETS]),
            (Some(now), Some(before)) => histogram(now, before),
        })
    }
}

/// The times counted since `before`, each as the longest of its bucket.
fn histogram(now: &[u64], before: &[u64]) -> Histogram<u64> {
    let mut times =
        Histogram::new_with_bounds(1, longest_in(BUCKETS - 1), 2).expect("the bounds are valid");
    for (bucket, (now, then)) in now.iter().zip(before).enumerate() {
        // A count of zero would raise the histogram's longest time.
        if now > then {
            let recorded = times.record_n(longest_in(bucket), now - then);
            recorded.expect("no bucket is beyond the bounds");
        }
    }
    times
}

/// The time that a share of the counts since `before` did not exceed; `None` without counts.
fn quantile(now: &[u64], before: &[u64], share: f64) -> Option<Nanos> {
    let between = || {
        let pairs = now.iter().zip(before);
        pairs.map(|(now, then)| now.saturating_sub(*then))
    };
    let total: u64 = between().sum();
    let rank = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
    let mut cumulative = 0;
    let bucket = between().position(|count| {
        cumulative += count;
        count > 0 && cumulative >= rank
    });
    bucket.map(longest_in)
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, LiveCounters, LiveTotals, OutcomeKind, bucket, committed, longest_in};

    #[test]
    fn buckets_are_contiguous_and_narrow() {
        let mut before = None;
        for number in 0..BUCKETS {
            let longest = longest_in(number);
            assert_eq!(bucket(longest), number);
            if let Some(before) = before {
                assert_eq!(bucket(before + 1), number);
                assert!(longest - before <= 1 + before / 64);
            }
            before = Some(longest);
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn the_sum_of_workers_between_two_readings_gives_the_quantiles() {
        let workers = [LiveCounters::new(false), LiveCounters::new(false)];
        let (mut before, mut now) = (LiveTotals::new(), LiveTotals::new());
        workers[0].committed(1_000_000, 1_000_000);
        before.read(&workers);
        assert_eq!(before.service_ns(&before, 0.5), None);
        for time_ns in 1..=50 {
            workers[0].committed(time_ns, time_ns);
            workers[1].committed(1_000 + time_ns, 1_000 + time_ns);
        }
        workers[1].ended(OutcomeKind::Aborted);
        workers[1].ended_late(OutcomeKind::Committed);
        now.read(&workers);
        assert_eq!(now.count(OutcomeKind::Committed) - before.count(OutcomeKind::Committed), 100);
        assert_eq!((now.count(OutcomeKind::Aborted), now.all()), (1, 103));
        assert_eq!(now.count_whole(OutcomeKind::Committed), 102);
        assert_eq!(committed(&workers), now.count(OutcomeKind::Committed));
        assert_eq!(now.service_ns(&before, 0.5), Some(50));
        assert_eq!(now.service_ns(&before, 0.25), Some(25));
        let longest = now.service_ns(&before, 1.0).unwrap();
        assert!((1_050..=1_067).contains(&longest), "{longest}");
        let all = |of: fn(&LiveTotals, &LiveTotals, f64) -> Option<u64>| {
            [0.25, 0.5, 1.0].map(|share| of(&now, &before, share))
        };
        assert_eq!(all(LiveTotals::response_ns), all(LiveTotals::service_ns));
    }

    // D7
    #[test]
    fn an_open_loop_counts_response_times_in_addition_to_service_times() {
        let workers = [LiveCounters::new(true), LiveCounters::new(true)];
        let (mut before, mut now) = (LiveTotals::new(), LiveTotals::new());
        workers[0].committed(10, 20);
        now.read(&workers);
        assert_eq!(now.response_ns(&before, 1.0), Some(20), "since the start");
        before.read(&workers);
        for time_ns in 1..=50 {
            workers[1].committed(1, time_ns);
        }
        now.read(&workers);
        assert_eq!(now.response_ns(&before, 0.5), Some(25));
        assert_eq!(now.response_ns(&before, 1.0), Some(50));
        assert_eq!(now.service_ns(&before, 1.0), Some(1));
    }
}
