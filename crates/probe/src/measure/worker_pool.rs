//! Workers that repeat an operation, each with one outstanding, while one thread watches the windows.
//!
//! 1. Each operation is timed separately. A worker reads the end flag only after its first operation, so
//!    that every worker has a latency, even if it was scheduled late. A stop is read before the first.
//! 2. The elapsed time runs from the first worker's start to the last worker's last completion, and at
//!    least until the watcher, which counts from the same start, finds the time over: nothing outside it
//!    is counted, and it is never shorter than requested.
//! 3. The watcher sleeps until a window's edge and divides by the actual time.

use super::latency::histogram;
use super::windows::Windows;
use crate::plan::Span;
use crossbeam_utils::CachePadded;
use hdrhistogram::Histogram;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;
use syncline_instrument::{Nanos, clock};
use syncline_vfs::Result;

/// The operation that a worker repeats.
pub(crate) trait Operation: Send {
    /// Does it once; false if there was nothing left to do.
    fn once(&mut self) -> Result<bool>;
}

/// The totals of a worker pool so far; several laps add up.
#[derive(Debug)]
pub(crate) struct Totals {
    /// Operations completed.
    pub(crate) operations: u64,
    /// The time they took.
    pub(crate) elapsed_ns: Nanos,
    /// Their latencies.
    pub(crate) histogram: Histogram<u64>,
    /// Their rates over time.
    pub(crate) windows: Windows,
    span: Span,
}

/// The longest sleep between two checks of the stop flag.
const LONGEST_SLEEP_NS: Nanos = 100_000_000;

/// A counter on its own cache line, so that workers do not slow each other down.
type Counter = CachePadded<AtomicU64>;

struct Shared<'a> {
    start: Barrier,
    end: AtomicBool,
    stop: &'a AtomicBool,
    counters: Vec<Counter>,
    working: AtomicUsize,
    /// The start of the first worker; [`NOT_YET`] before it.
    first_ns: AtomicU64,
    watcher: Thread,
}

/// No worker has begun.
const NOT_YET: Nanos = Nanos::MAX;

struct WorkerResult {
    histogram: Histogram<u64>,
    last_ns: Nanos,
    outcome: Result<()>,
}

impl Totals {
    /// Empty totals for that span.
    pub(crate) fn new(span: Span) -> Totals {
        let windows = Windows::new(span.window_ns);
        Totals { operations: 0, elapsed_ns: 0, histogram: histogram(), windows, span }
    }

    /// True if the minimum time has passed and either the windows agree or the longest time is over.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete_at(self.elapsed_ns)
    }

    /// Runs the workers until the span is complete, a worker has nothing left to do or fails, or `stop` is
    /// set. Returns the first failure, after adding the completed operations.
    pub(crate) fn work<W: Operation>(&mut self, workers: Vec<W>, stop: &AtomicBool) -> Result<()> {
        let shared = Shared::new(workers.len(), stop);
        let (end_ns, worked) = thread::scope(|scope| {
            let threads: Vec<_> = workers
                .into_iter()
                .zip(&shared.counters)
                .map(|(worker, counter)| scope.spawn(|| shared.worker(worker, counter)))
                .collect();
            shared.start.wait();
            let end_ns = self.watch(&shared);
            let worked = threads.into_iter().map(|thread| match thread.join() {
                Ok(worked) => worked,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            (end_ns, worked.collect::<Vec<_>>())
        });
        let start_ns = shared.first_ns.load(Ordering::Relaxed);
        self.add(worked, start_ns, end_ns)
    }

    fn add(
        &mut self,
        worked: Vec<WorkerResult>,
        start_ns: Nanos,
        watched_end_ns: Option<Nanos>,
    ) -> Result<()> {
        let mut outcome = Ok(());
        let mut end_ns = watched_end_ns.unwrap_or(start_ns);
        for worker in worked {
            self.operations += worker.histogram.len();
            self.histogram.add(&worker.histogram).expect("both have the same bounds");
            end_ns = end_ns.max(worker.last_ns);
            outcome = outcome.and(worker.outcome);
        }
        self.elapsed_ns += end_ns - start_ns;
        outcome
    }

    /// Returns the time at which the span was found complete, if that ended it.
    fn watch(&mut self, shared: &Shared<'_>) -> Option<Nanos> {
        let (mut counted, mut counted_ns) = (0, clock::now());
        let end_ns = loop {
            let now = clock::now();
            let start_ns = shared.first_ns.load(Ordering::Relaxed);
            let elapsed_ns = self.elapsed_ns + now.saturating_sub(start_ns);
            let count = shared.count();
            let since_ns = counted_ns.max(start_ns).min(now);
            self.windows.add(count - counted, now - since_ns);
            (counted, counted_ns) = (count, now);
            let idle = shared.working.load(Ordering::Acquire) == 0;
            if idle || shared.stop.load(Ordering::Relaxed) {
                break None;
            }
            if self.is_complete_at(elapsed_ns) {
                break Some(now);
            }
            let until_edge = self.windows.remaining_ns();
            let until_min = self.span.min_ns.saturating_sub(elapsed_ns);
            let rest_ns = if until_min > 0 { until_edge.min(until_min) } else { until_edge };
            thread::park_timeout(Duration::from_nanos(rest_ns.clamp(1, LONGEST_SLEEP_NS)));
        };
        shared.end.store(true, Ordering::Relaxed);
        end_ns
    }

    fn is_complete_at(&self, elapsed_ns: Nanos) -> bool {
        let long_enough = elapsed_ns >= self.span.min_ns;
        let fixed = self.span.min_ns == self.span.max_ns;
        long_enough && (fixed || elapsed_ns >= self.span.max_ns || self.windows.steady())
    }
}

impl Shared<'_> {
    /// The state of that many workers, watched by this thread.
    fn new(workers: usize, stop: &AtomicBool) -> Shared<'_> {
        Shared {
            start: Barrier::new(workers + 1),
            end: AtomicBool::new(false),
            stop,
            counters: (0..workers).map(|_| Counter::default()).collect(),
            working: AtomicUsize::new(workers),
            first_ns: AtomicU64::new(NOT_YET),
            watcher: thread::current(),
        }
    }

    /// The number of operations that all workers have completed.
    fn count(&self) -> u64 {
        self.counters.iter().map(|counter| counter.load(Ordering::Relaxed)).sum()
    }

    fn worker<W: Operation>(&self, worker: W, counter: &Counter) -> WorkerResult {
        self.start.wait();
        self.work_from_now(worker, counter)
    }

    fn work_from_now<W: Operation>(&self, mut worker: W, counter: &Counter) -> WorkerResult {
        let mut histogram = histogram();
        let mut last_ns = clock::now();
        self.first_ns.fetch_min(last_ns, Ordering::Relaxed);
        let outcome = self.repeat(&mut worker, counter, &mut histogram, &mut last_ns);
        if outcome.is_err() {
            self.end.store(true, Ordering::Relaxed);
        }
        if self.working.fetch_sub(1, Ordering::Release) == 1 {
            self.watcher.unpark();
        }
        WorkerResult { histogram, last_ns, outcome }
    }

    /// True if a worker that has done `count` operations must end.
    fn is_over(&self, count: u64) -> bool {
        (count > 0 && self.end.load(Ordering::Relaxed)) || self.stop.load(Ordering::Relaxed)
    }

    fn repeat<W: Operation>(
        &self,
        worker: &mut W,
        counter: &Counter,
        histogram: &mut Histogram<u64>,
        last_ns: &mut Nanos,
    ) -> Result<()> {
        let mut count = 0;
        while !self.is_over(count) {
            let begin_ns = clock::now();
            if !worker.once()? {
                break;
            }
            *last_ns = clock::now();
            histogram.saturating_record((*last_ns - begin_ns).max(1));
            count += 1;
            counter.store(count, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Operation, Shared, Totals};
    use crate::plan::Span;
    use std::io;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;
    use syncline_vfs::{Error, Result};

    /// Sleeps a little, `left` times, then has nothing left or fails.
    struct Sleeper {
        left: u64,
        fails: bool,
    }

    impl Operation for Sleeper {
        fn once(&mut self) -> Result<bool> {
            if self.left == 0 && self.fails {
                return Err(Error::io("sync", Path::new("x"), io::ErrorKind::StorageFull.into()));
            }
            if self.left == 0 {
                return Ok(false);
            }
            self.left -= 1;
            std::thread::sleep(Duration::from_micros(500));
            Ok(true)
        }
    }

    fn sleeper() -> Sleeper {
        Sleeper { left: u64::MAX, fails: false }
    }

    fn sleepers(count: usize, left: u64) -> Vec<Sleeper> {
        (0..count).map(|_| Sleeper { left, fails: false }).collect()
    }

    fn span(min_ms: u64, max_ms: u64) -> Span {
        Span { min_ns: min_ms * 1_000_000, max_ns: max_ms * 1_000_000, window_ns: 10_000_000 }
    }

    #[test]
    fn it_runs_its_time_and_counts_everything() {
        let mut tally = Totals::new(span(50, 50));
        tally.work(sleepers(3, u64::MAX), &AtomicBool::new(false)).unwrap();
        assert!(tally.is_complete() && tally.elapsed_ns >= 50_000_000);
        assert_eq!(tally.operations, tally.histogram.len());
        assert!(tally.operations >= 3);
        let windows = tally.windows.into_rates();
        assert!((1..=6).contains(&windows.len()), "{windows:?}");
    }

    #[test]
    fn a_worker_that_is_scheduled_late_works_its_whole_time() {
        let stop = AtomicBool::new(false);
        let shared = Shared::new(1, &stop);
        let mut tally = Totals::new(span(50, 50));
        let (worked, end_ns) = std::thread::scope(|scope| {
            let late = scope.spawn(|| {
                shared.start.wait();
                std::thread::sleep(Duration::from_millis(70));
                shared.work_from_now(sleeper(), &shared.counters[0])
            });
            shared.start.wait();
            let end_ns = tally.watch(&shared);
            (late.join().unwrap(), end_ns)
        });
        let start_ns = shared.first_ns.load(Ordering::Relaxed);
        tally.add(vec![worked], start_ns, end_ns).unwrap();
        assert!(tally.is_complete(), "{} ns", tally.elapsed_ns);
        assert!(tally.operations > 1);
    }

    #[test]
    fn a_worker_that_begins_after_the_end_does_one_operation() {
        let stop = AtomicBool::new(false);
        let shared = Shared::new(1, &stop);
        shared.end.store(true, Ordering::Relaxed);
        let worked = shared.work_from_now(sleeper(), &shared.counters[0]);
        assert_eq!(worked.histogram.len(), 1);
        stop.store(true, Ordering::Relaxed);
        let worked = shared.work_from_now(sleeper(), &shared.counters[0]);
        assert_eq!(worked.histogram.len(), 0);
    }

    #[test]
    fn laps_add_up() {
        let mut tally = Totals::new(span(40, 40));
        let mut laps = 0;
        while !tally.is_complete() {
            tally.work(sleepers(2, 5), &AtomicBool::new(false)).unwrap();
            laps += 1;
        }
        assert!(laps > 1);
        let full_laps = laps - 1;
        assert!(
            (full_laps * 10..=laps * 10).contains(&tally.operations),
            "the last may be incomplete"
        );
    }

    #[test]
    fn a_stop_ends_it_early_and_an_unsteady_rate_at_its_longest() {
        let mut tally = Totals::new(span(10_000, 10_000));
        tally.work(sleepers(1, u64::MAX), &AtomicBool::new(true)).unwrap();
        assert!(!tally.is_complete() && tally.elapsed_ns < 1_000_000_000);
        let mut tally = Totals::new(Span { window_ns: 40_000_000, ..span(20, 60) });
        tally.work(sleepers(1, u64::MAX), &AtomicBool::new(false)).unwrap();
        assert!(tally.elapsed_ns >= 60_000_000, "two windows are never steady");
    }

    #[test]
    fn a_failure_ends_it_and_completed_operations_count() {
        let mut tally = Totals::new(span(10_000, 10_000));
        let sleepers =
            vec![Sleeper { left: 3, fails: true }, Sleeper { left: u64::MAX, fails: false }];
        let error = tally.work(sleepers, &AtomicBool::new(false)).unwrap_err();
        assert!(error.is_full());
        assert!(tally.operations >= 3);
    }
}
