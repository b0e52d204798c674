//! The counts and times of a run.
//!
//! 1. `attempted` is the sum of the other five outcomes; the reader refuses a record where it is not.
//! 2. Rates count committed transactions only.
//! 3. Service time runs from the start of the first attempt, response time from the moment at which the
//!    transaction was due; in a closed loop the two are the same moment.

use super::schema_macro::described;
use std::collections::BTreeMap;

described! {
    /// How the transactions of the measured phase ended.
    pub struct Outcomes {
        /// All that were started: the sum of the other five.
        pub attempted: u64,
        /// Acknowledged as committed; only these are throughput.
        pub committed: u64,
        /// Rolled back by the workload's own rule; expected, not an error.
        pub aborted: u64,
        /// Given up because of other transactions, after the retries of the plan.
        pub conflicted: u64,
        /// Failed.
        pub failed: u64,
        /// Of unknown outcome: the run was over first, or the store could not report it.
        pub unfinished: u64,
        /// Conflicts by cause: `locked`, `deadlock`, `serialization`.
        pub conflict_causes: BTreeMap<String, u64>,
        /// Failures by cause: `connection`, `disk_full`, `storage`, `statement`, `limit`.
        pub failure_causes: BTreeMap<String, u64>,
        /// Attempts after the first of a transaction, however they ended; not in `attempted`.
        pub retries: u64,
        /// These retries by the cause of the conflict before them, as in `conflict_causes`.
        #[serde(default)]
        pub retry_causes: BTreeMap<String, u64>,
        /// Committed transactions that needed more than one attempt.
        pub committed_after_retry: u64,
    }

    /// The arrivals of an open loop's schedule and what became of them.
    #[derive(Copy, Default)]
    pub struct Arrivals {
        /// Transactions due in the measured phase.
        pub offered: u64,
        /// Of these, started.
        pub started: u64,
        /// Of these, started later than due because every client was busy.
        pub late: u64,
        /// Not started, since they would have been later than the plan allows.
        #[serde(default)]
        pub skipped: u64,
        /// Due, but never started: the run was over first.
        pub abandoned: u64,
    }

    /// A distribution of times in nanoseconds.
    #[derive(Copy)]
    pub struct Latency {
        /// Half were no longer.
        pub p50: u64,
        /// 90 % were no longer.
        pub p90: u64,
        /// 99 % were no longer.
        pub p99: u64,
        /// 99.9 % were no longer.
        pub p999: u64,
        /// The longest.
        pub max: u64,
        /// The arithmetic mean.
        pub mean: f64,
    }

    /// The figures of one kind of transaction.
    pub struct TransactionFigures {
        /// The workload's name for it.
        pub name: String,
        /// True if every committed one has written, so that none can be acknowledged before a sync if the
        /// store promises one; null in records without this field, where it is taken as true.
        pub always_writes: Option<bool>,
        /// Committed ones.
        pub count: u64,
        /// How its transactions ended.
        pub outcomes: Outcomes,
        /// From the start of the first attempt to the acknowledgement; null if none committed.
        pub service_ns: Option<Latency>,
        /// From the moment it was due to the acknowledgement; null if none committed.
        pub response_ns: Option<Latency>,
        /// Every service time in nanoseconds to three digits, as HdrHistogram's V2 encoding, compressed, in
        /// base64; null if none committed, and in older records.
        pub service_histogram: Option<String>,
        /// Every response time, likewise; null also in a closed loop, where they are the service times.
        pub response_histogram: Option<String>,
    }

    /// The figures of one prepared operation.
    pub struct OperationFigures {
        /// The workload's name for it.
        pub name: String,
        /// Answered ones.
        pub count: u64,
        /// From sending to the answer; null if none was answered.
        pub service_ns: Option<Latency>,
        /// True if it was sent with others before their answers, so that times overlap.
        pub pipelined: bool,
    }

    /// A figure that is specific to the workload.
    pub struct OwnFigure {
        /// Its name, as it reads after value and unit.
        pub name: String,
        /// Its unit; empty if the name is what is counted.
        #[serde(default)]
        pub unit: String,
        /// Its value; the median of the repetitions.
        pub value: f64,
    }

    /// A part of a store's work that it counts and times itself.
    pub struct InternalFigures {
        /// The store's name for it.
        pub name: String,
        /// How often it was done in the measured phase.
        pub count: u64,
        /// The same per second.
        pub rate_per_s: f64,
        /// One in this many was timed; above one, count and rate are estimates.
        pub timed_one_in: u64,
        /// Half of the timed ones took no longer, in nanoseconds, known to a factor of two; null if none was
        /// timed.
        pub p50_ns: Option<f64>,
        /// The same for 90 %.
        pub p90_ns: Option<f64>,
        /// The same for 99 %.
        pub p99_ns: Option<f64>,
        /// The same for 99.9 %.
        pub p999_ns: Option<f64>,
        /// The arithmetic mean, exact.
        pub mean_ns: Option<f64>,
    }

    /// The path of commits through the store, from begin to acknowledgement, as the store times it.
    pub struct CommitPathFigures {
        /// The steps, in their order.
        pub steps: Vec<String>,
        /// How many commits of the measured phase were timed.
        pub timed: u64,
        /// One in this many was timed.
        pub timed_one_in: u64,
        /// The mean of a fair sample, the mean around percentiles of the total time, and each of the slowest
        /// timed commits.
        pub rows: Vec<PathFigures>,
    }

    /// The path of one commit, or the mean of several.
    pub struct PathFigures {
        /// "mean", "p50" to "p99.9", "slowest 1" and on.
        pub name: String,
        /// From begin to acknowledgement, in nanoseconds.
        pub total_ns: f64,
        /// Each step, in nanoseconds; their sum is `total_ns`.
        pub step_ns: Vec<f64>,
        /// The number of commits that it is the mean of.
        pub mean_of: u64,
    }

    /// One of the store's own counters, before the first client connected and after the last one
    /// disconnected.
    pub struct CounterFigures {
        /// What it counts: `commits`, `aborts`, `log_syncs`, `log_writes`, `log_bytes`, `sync_time`,
        /// `write_time`, `lock_wait_time`, `data_commits`, `data_commit_time`, `delayed_syncs`,
        /// `transaction_ids` or `other`.
        pub meaning: String,
        /// The store's own name for it.
        pub name: String,
        /// "count", "bytes" or "ns".
        pub unit: String,
        /// Its value before; null if it was not available.
        pub before: Option<u64>,
        /// Its value after; null if it was not available.
        pub after: Option<u64>,
        /// Its growth, the work of other clients of the store included; null if not known.
        pub grown: Option<u64>,
        /// Why the growth is not known; null if it is.
        pub reason: Option<String>,
        /// How it was read.
        pub said_by: String,
    }

    /// The least and the most.
    #[derive(Copy)]
    pub struct Range {
        /// The least.
        pub least: f64,
        /// The most.
        pub most: f64,
    }

    /// One measured phase of the same setting.
    pub struct Repetition {
        /// When its measured phase began, nanoseconds since 1970.
        pub started_wall_ns: u64,
        /// How long its measured phase took.
        pub measured_ns: u64,
        /// From its start to the end of the last transaction that started in it; null in older records.
        pub to_last_end_ns: Option<u64>,
        /// Commits that make up the throughput: those acknowledged in the measured phase, whenever they
        /// started; if a count ended the phase, all of that count. Null in older records.
        pub commits_in_span: Option<u64>,
        /// Committed transactions of `outcomes` that were acknowledged after the measured phase, so that they
        /// are in no rate; null in older records.
        pub commits_late: Option<u64>,
        /// How its clients spent their time; null in older records.
        pub client_time: Option<ClientTime>,
        /// The span and counts behind its figures per commit; null in older records.
        pub counted: Option<CountBase>,
        /// How its transactions ended.
        pub outcomes: Outcomes,
        /// `commits_in_span` per second of `measured_ns`.
        pub throughput_per_s: f64,
        /// Figures by kind of transaction.
        pub transactions: Vec<TransactionFigures>,
        /// Commits per sync; null if syncs were not counted.
        pub commits_per_sync: Option<f64>,
    }

    /// How the clients spent their time within the measured phase, as parts of it, 0 to 1.
    #[derive(Copy, Default)]
    pub struct ClientTime {
        /// In transactions, however they ended.
        pub in_transactions: f64,
        /// Between transactions: until their worker ran, waiting for a turn on it, thinking, connecting; time
        /// without an arrival in an open loop is not included.
        pub between: f64,
    }

    /// The base of counts per commit: two readings, at the ends of the measured phase.
    #[derive(Copy, Default)]
    pub struct CountBase {
        /// The time between them.
        pub span_ns: u64,
        /// Commits acknowledged between them.
        pub commits: u64,
        /// Sync system calls and synchronous writes between them; null if the calls were not counted.
        pub syncs: Option<u64>,
    }

    /// A figure per commit, and its source.
    pub struct Counted {
        /// The figure; null if it was not measured.
        pub value: Option<f64>,
        /// How it was counted, or why it was not.
        pub source: String,
    }

    /// The cost of one commit, averaged over the measured phase.
    pub struct PerCommit {
        /// Sync system calls (fsync, fdatasync, msync, syncfs).
        pub syncs: Counted,
        /// Writes that are synchronous by themselves (`O_DSYNC`, `RWF_DSYNC`).
        pub synced_writes: Counted,
        /// Writes that reached the disk below.
        pub device_writes: Counted,
        /// Bytes that reached the disk below.
        pub device_bytes: Counted,
        /// Cache flushes that reached the disk below.
        pub flushes: Counted,
        /// System calls of the process under test.
        pub system_calls: Counted,
        /// Processor time of the load generator, nanoseconds.
        pub client_cpu_ns: Counted,
        /// Processor time of the store, nanoseconds.
        pub target_cpu_ns: Counted,
        /// Page faults of the process under test.
        pub page_faults: Counted,
    }
}

impl Outcomes {
    /// Nothing attempted.
    pub fn none() -> Outcomes {
        Outcomes {
            attempted: 0,
            committed: 0,
            aborted: 0,
            conflicted: 0,
            failed: 0,
            unfinished: 0,
            conflict_causes: BTreeMap::new(),
            failure_causes: BTreeMap::new(),
            retries: 0,
            retry_causes: BTreeMap::new(),
            committed_after_retry: 0,
        }
    }

    /// True if the five outcomes add up to the attempted transactions.
    pub fn adds_up(&self) -> bool {
        let ends = [self.committed, self.aborted, self.conflicted, self.failed, self.unfinished];
        ends.iter().try_fold(0_u64, |sum, end| sum.checked_add(*end)) == Some(self.attempted)
    }

    /// Adds the outcomes of another measured phase.
    pub fn add(&mut self, other: &Outcomes) {
        self.attempted += other.attempted;
        self.committed += other.committed;
        self.aborted += other.aborted;
        self.conflicted += other.conflicted;
        self.failed += other.failed;
        self.unfinished += other.unfinished;
        self.retries += other.retries;
        self.committed_after_retry += other.committed_after_retry;
        let causes = [
            (&mut self.conflict_causes, &other.conflict_causes),
            (&mut self.retry_causes, &other.retry_causes),
            (&mut self.failure_causes, &other.failure_causes),
        ];
        for (mine, theirs) in causes {
            for (cause, count) in theirs {
                *mine.entry(cause.clone()).or_default() += count;
            }
        }
    }
}

impl Arrivals {
    /// The sum with those of another group of clients or another measured phase.
    #[must_use]
    pub fn plus(self, other: Arrivals) -> Arrivals {
        Arrivals {
            offered: self.offered + other.offered,
            started: self.started + other.started,
            late: self.late + other.late,
            skipped: self.skipped + other.skipped,
            abandoned: self.abandoned + other.abandoned,
        }
    }
}

impl Range {
    /// True if the two have a point in common.
    pub fn overlaps(self, other: Range) -> bool {
        self.least <= other.most && other.least <= self.most
    }
}

impl Counted {
    /// A figure that is not known, with the reason.
    pub fn unknown(reason: impl Into<String>) -> Counted {
        Counted { value: None, source: reason.into() }
    }

    /// A figure and its source; a value that is not finite counts as unknown.
    pub fn by(value: Option<f64>, source: impl Into<String>) -> Counted {
        Counted { value: value.filter(|value| value.is_finite()), source: source.into() }
    }
}

impl PerCommit {
    /// No figure is known, for one reason.
    pub fn unknown(reason: &str) -> PerCommit {
        let none = || Counted::unknown(reason);
        PerCommit {
            syncs: none(),
            synced_writes: none(),
            device_writes: none(),
            device_bytes: none(),
            flushes: none(),
            system_calls: none(),
            client_cpu_ns: none(),
            target_cpu_ns: none(),
            page_faults: none(),
        }
    }

    /// Commits that share a sync; `None` if syncs were not counted or there were none. Also `None` if
    /// synchronous writes were not counted and the disk was flushed far more often than syncs were called:
    /// those writes were likely the syncs, and the calls alone would give a wrong number.
    pub fn commits_per_sync(&self) -> Option<f64> {
        let calls = self.syncs.value?;
        let flushes = self.flushes.value.unwrap_or(0.0);
        if self.synced_writes.value.is_none() && flushes > MOST_FLUSHES_PER_CALL * calls {
            return None;
        }
        let ratio = 1.0 / (calls + self.synced_writes.value.unwrap_or(0.0));
        ratio.is_finite().then_some(ratio)
    }
}

/// With more flushes of the disk per sync call than this, by the store's files and by others, the calls are
/// not taken for all of the syncs.
const MOST_FLUSHES_PER_CALL: f64 = 5.0;

#[cfg(test)]
mod tests {
    use super::{Counted, Outcomes, PerCommit};

    #[test]
    fn outcomes_add_up_or_do_not() {
        let mut outcomes = Outcomes::none();
        assert!(outcomes.adds_up());
        outcomes.committed = 3;
        assert!(!outcomes.adds_up());
        outcomes.attempted = 3;
        assert!(outcomes.adds_up());
        outcomes.failed = u64::MAX;
        assert!(!outcomes.adds_up());
    }

    #[test]
    fn phases_are_summed_with_their_causes() {
        let mut sum = Outcomes::none();
        let mut phase = Outcomes { attempted: 5, committed: 3, conflicted: 2, ..Outcomes::none() };
        phase.conflict_causes.insert("locked".to_owned(), 2);
        sum.add(&phase);
        sum.add(&phase);
        assert_eq!((sum.attempted, sum.committed, sum.conflict_causes["locked"]), (10, 6, 4));
        assert!(sum.adds_up());
    }

    #[test]
    fn commits_per_sync_is_unknown_without_syncs() {
        let mut per_commit = PerCommit::unknown("tracing is not allowed");
        assert_eq!(per_commit.commits_per_sync(), None);
        per_commit.syncs = Counted::by(Some(0.0), "perf event");
        assert_eq!(per_commit.commits_per_sync(), None);
        per_commit.syncs = Counted::by(Some(0.25), "perf event");
        assert_eq!(per_commit.commits_per_sync(), Some(4.0));
        per_commit.synced_writes = Counted::by(Some(0.25), "the store's own count");
        assert_eq!(per_commit.commits_per_sync(), Some(2.0));
        assert_eq!(Counted::by(Some(f64::NAN), "perf event").value, None);
    }

    #[test]
    fn commits_per_sync_is_unknown_if_flushes_show_uncounted_syncs() {
        let mut per_commit = PerCommit::unknown("tracing is not allowed");
        per_commit.syncs = Counted::by(Some(0.001), "perf event");
        per_commit.flushes = Counted::by(Some(1.0), "the whole disk");
        assert_eq!(per_commit.commits_per_sync(), None);
        per_commit.synced_writes = Counted::by(Some(0.999), "the store's own count");
        assert_eq!(per_commit.commits_per_sync(), Some(1.0));
    }
}
