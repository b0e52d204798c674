//! What pgbench tells of single transactions: those above the latency limit, the schedule's lag, the
//! progress lines, and the log of `pgbench_log.rs`.
//!
//! Times are counted from when a transaction was due, as pgbench counts them under `-R`.

use super::pgbench_log::{Log, LogEntry};
use crate::pgbench_args::PgbenchArgs;
use parking_lot::Mutex;
use std::cell::Cell;
use syncline_console::{CannotRun, terminal};
use syncline_instrument::clock;
use syncline_record::Interval;
use syncline_runner::{Event, Observer, TransactionEvent, TransactionListener, TransactionOutcome};

/// Sums over times in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) count: u64,
    sum: f64,
    squares: f64,
    pub(super) most: f64,
}

impl Sums {
    fn add(&mut self, one: f64) {
        self.count += 1;
        self.sum += one;
        self.squares += one * one;
        self.most = self.most.max(one);
    }

    /// The mean; zero over nothing, as pgbench prints it.
    pub(super) fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }

    fn deviation(&self) -> f64 {
        let count = self.count.max(1) as f64;
        (self.squares / count - self.mean().powi(2)).max(0.0).sqrt()
    }
}

/// What was counted in some time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) latency_ms: Sums,
    pub(super) lag_ms: Sums,
    /// Committed above the limit.
    pub(super) late: u64,
    pub(super) skipped: u64,
    failed: u64,
    retried: u64,
    retries: u64,
}

#[derive(Debug, Default)]
struct State {
    whole: Counts,
    interval: Counts,
}

/// Follows a run.
pub(super) struct Watch<'a> {
    args: &'a PgbenchArgs,
    state: Mutex<State>,
    log: Option<Log>,
    connecting: Cell<Option<u64>>,
    connected_ns: Cell<Option<u64>>,
}

/// The part of a watch that workers call; the cells beside belong to the thread that coordinates.
pub(super) struct Counting<'w> {
    limit_ms: Option<f64>,
    state: &'w Mutex<State>,
    log: Option<&'w Log>,
}

impl<'a> Watch<'a> {
    /// Opens the log, if there is to be one.
    pub(super) fn new(args: &'a PgbenchArgs, seed: u64) -> Result<Watch<'a>, CannotRun> {
        Ok(Watch {
            args,
            state: Mutex::default(),
            log: args.log.then(|| Log::open(args, seed)).transpose()?,
            connecting: Cell::new(None),
            connected_ns: Cell::new(None),
        })
    }

    /// Who is to be told of every transaction; none where nothing asks for it, which costs nothing.
    pub(super) fn listener(&self) -> Option<Counting<'_>> {
        let args = self.args;
        let wanted = args.log
            || args.latency_limit.is_some()
            || args.progress.is_some()
            || args.rate.is_some();
        let counting =
            Counting { limit_ms: args.latency_limit, state: &self.state, log: self.log.as_ref() };
        wanted.then_some(counting)
    }

    /// What was counted, where a listener was wanted.
    pub(super) fn counts(&self) -> Counts {
        self.state.lock().whole
    }

    pub(super) fn connected_ns(&self) -> Option<u64> {
        self.connected_ns.get()
    }

    /// Writes what the log still holds back, and says whether all of it was written.
    pub(super) fn finish(&self) -> Result<(), CannotRun> {
        self.log.as_ref().map_or(Ok(()), Log::finish)
    }

    fn progress(&self, interval: &Interval) {
        let args = self.args;
        let Counts { latency_ms, lag_ms, skipped, failed, retried, retries, .. } =
            std::mem::take(&mut self.state.lock().interval);
        let at =
            if args.progress_timestamp { seconds(clock::wall()) } else { seconds(interval.end_ns) };
        let rate = latency_ms.count as f64 / seconds(interval.end_ns - interval.start_ns);
        let mut line = format!(
            "progress: {at:.1} s, {rate:.1} tps, lat {:.3} ms stddev {:.3}, {failed} failed",
            latency_ms.mean(),
            latency_ms.deviation()
        );
        if args.rate.is_some() {
            line += &format!(", lag {:.3} ms", lag_ms.mean());
        }
        if args.latency_limit.is_some() {
            line += &format!(", {skipped} skipped");
        }
        if args.max_tries != 1 {
            line += &format!(", {retried} retried, {retries} retries");
        }
        terminal::note(&line);
    }
}

impl Observer for Watch<'_> {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Connecting { .. } => self.connecting.set(Some(clock::now())),
            Event::WarmingUp | Event::Measuring => {
                if let (Some(began), None) = (self.connecting.get(), self.connected_ns.get()) {
                    self.connected_ns.set(Some(clock::now() - began));
                }
            }
            Event::Interval(interval) if self.args.progress.is_some() => self.progress(interval),
            _ => {}
        }
    }
}

impl TransactionListener for Counting<'_> {
    fn ended(&self, one: &TransactionEvent) {
        let told = LogEntry::of(one);
        {
            let mut state = self.state.lock();
            let State { whole, interval } = &mut *state;
            // What ended after the time is over is of no interval; the last one ends there.
            let interval = (!one.late).then_some(interval);
            for counts in std::iter::once(whole).chain(interval) {
                counts.take(one, &told, self.limit_ms);
            }
        }
        if let Some(log) = self.log {
            log.tell(one, &told);
        }
    }
}

impl Counts {
    fn take(&mut self, one: &TransactionEvent, told: &LogEntry, limit_ms: Option<f64>) {
        match one.outcome {
            TransactionOutcome::Skipped => self.skipped += 1,
            TransactionOutcome::Committed => {
                let latency_ms = told.latency_us as f64 / 1e3;
                self.latency_ms.add(latency_ms);
                self.late += u64::from(limit_ms.is_some_and(|limit| latency_ms > limit));
            }
            TransactionOutcome::Conflicted(_) | TransactionOutcome::Failed(_) => self.failed += 1,
            TransactionOutcome::Aborted | TransactionOutcome::Unknown => {}
        }
        if one.outcome != TransactionOutcome::Skipped {
            self.lag_ms.add(told.lag_us as f64 / 1e3);
            self.retried += u64::from(told.retries > 0);
            self.retries += told.retries;
        }
    }
}

pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / clock::SECOND as f64
}
