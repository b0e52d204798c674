//! The result of a run: plain data, the source of records, tables and charts.
//!
//! 1. A transaction belongs to the run if it started in the measured span (in an open loop: if it was
//!    due in it); for those, `attempted = committed + aborted + conflicted + failed + unfinished`.
//! 2. `throughput_per_s` is `commits_in_span` over the measured span (`measured_span`). A run by time counts
//!    the commits acknowledged in the span, whenever they started; a run by count counts the commits of its
//!    budget. The drain adds neither commits nor time.
//! 3. Intervals also count transactions by when they *ended*, so their sum differs from the outcomes by
//!    the transactions under way at the two ends of the span.
//! 4. Unknown is `None`, never zero.

use crate::account::disk_reserve::DiskReserve;
use crate::account::saturation::BottleneckAnalysis;
use crate::account::store_counters::StoreCounter;
use crate::account::warning::RunWarning;
use crate::plan::RunPlan;
use syncline_contract::{
    Check, ClientModel, CommitPaths, DryRunPlan, FailureKind, Internal, LogLocation, OwnFigure,
    ReportedSettings, StoreProcess, Unit,
};
use syncline_host::{BlockDevice, Machine};
use syncline_instrument::Nanos;
use syncline_profile::Profile;
use syncline_profiler::ProfilerCpuTime;
use syncline_record::{
    Arrivals, ClientTime, CountBase, Fairness, Interval, OverheadPair, PerCommit, WorkerTrial,
};

/// The facts that were fixed before the first transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct RunHead {
    /// Wall clock when the run began, nanoseconds since 1970.
    pub began_wall_ns: Nanos,
    /// The plan as requested; `pipeline` holds what was in effect.
    pub plan: RunPlan,
    /// The store.
    pub target: TargetFacts,
    /// The load.
    pub workload: WorkloadFacts,
    /// How the clients run.
    pub client: ClientFacts,
    /// The worker trials; `None` if the number of workers was not autotuned.
    pub worker_trials: Option<WorkerTrials>,
    /// The machine.
    pub machine: Machine,
    /// The disk under the log directory, or why it is unknown.
    pub device: Result<BlockDevice, String>,
}

/// The trials from which the number of workers was chosen, if the user did not set it.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerTrials {
    /// Each number that was tried, with the slices that decided.
    pub tried: Vec<WorkerTrial>,
    /// False if the choice is within the noise of the slices.
    pub clear: bool,
}

/// The store as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetFacts {
    /// The name in tables and records.
    pub name: String,
    /// The settings that it reported after its tables were created.
    pub reported_settings: ReportedSettings,
    /// The location of its log.
    pub log_location: LogLocation,
    /// The process whose system calls count as the store's.
    pub process: StoreProcess,
    /// The reserve that the run leaves free on each of its file systems, or why they are unknown.
    pub disk_space: Result<Vec<DiskReserve>, String>,
    /// The statements that it sends for the workload's plan, in its own language.
    pub dry_run: DryRunPlan,
}

/// The workload as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadFacts {
    /// Its name.
    pub name: String,
    /// A notice for every row of a table.
    pub notice: Option<String>,
    /// Its options, as set by the user or by default.
    pub options: Vec<(String, String)>,
    /// The unit that committed transactions are counted in.
    pub unit: Unit,
    /// True if the run started from rows that an earlier run had kept.
    pub rows_kept: bool,
}

/// The clients and the worker threads that drove them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientFacts {
    /// The client model.
    pub model: ClientModel,
    /// The number of clients.
    pub clients: usize,
    /// The number of worker threads.
    pub workers: usize,
}

/// Everything that a run measured.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The facts that were fixed before the first transaction.
    pub head: RunHead,
    /// The length of the measured span.
    pub measured_ns: Nanos,
    /// From the start of the span to the end of the last transaction that started in it, drain included.
    /// Tools that count every transaction they started divide by this time.
    pub to_last_end_ns: Nanos,
    /// The outcomes of the transactions of all types.
    pub outcomes: OutcomeCounts,
    /// `commits_in_span` a second of the measured span.
    pub throughput_per_s: f64,
    /// The arrivals of an open loop.
    pub arrivals: Option<Arrivals>,
    /// A row per transaction type, in the workload's order.
    pub transactions: Vec<TransactionResult>,
    /// A row per operation of the plan, if operations were timed.
    pub operations: Vec<OperationResult>,
    /// The span and the counts that the counts per commit are based on.
    pub count_base: CountBase,
    /// The cost of a commit.
    pub per_commit: PerCommit,
    /// The workload's own figures.
    pub figures: Vec<OwnFigure>,
    /// The store's internal counts and times in the measured span, if it keeps any.
    pub internals: Vec<Internal>,
    /// The commit paths of a sample of the commits acknowledged in the measured span, if the store times
    /// them.
    pub commit_paths: Option<CommitPaths>,
    /// The store's own counters around the run; empty if it keeps none.
    pub counters: Vec<StoreCounter>,
    /// The round trip of an empty request to the store; `None` for a store in this process.
    pub round_trip_ns: Option<Nanos>,
    /// Processor time of the workers per transaction, warm-up and drain included; if the store is a
    /// library, its work is included too. Without the time that an open loop spends spinning.
    pub client_cpu_ns_per_transaction: Option<f64>,
    /// The profile of the store's process over the measured span; `None` without the profiler.
    pub profile: Option<Profile>,
    /// The processor time that the profiler used in that span; `None` without the profiler.
    pub profiler_cpu: Option<ProfilerCpuTime>,
    /// The slices of the profiler's overhead A/B test before that span; empty unless the plan requests it.
    pub overhead_pairs: Vec<OverheadPair>,
    /// The commits of the rate: acknowledged in the measured span, whenever their transactions started; in
    /// a run by count, those of its budget. Without aborts.
    pub commits_in_span: u64,
    /// The clients' time in and between transactions.
    pub client_time: ClientTime,
    /// Commits among the outcomes that were acknowledged after the measured span, so that no rate has them.
    pub commits_late: u64,
    /// Acknowledged commits from the start of the clients to their end, warm-up and drain included. The
    /// store's own counters around the run are compared with this.
    pub commits_in_whole: u64,
    /// The bottleneck verdict.
    pub saturation: BottleneckAnalysis,
    /// The measured span in intervals, all of the plan's length but the last.
    pub intervals: Vec<Interval>,
    /// How evenly clients were served.
    pub fairness: Fairness,
    /// The workload's checks.
    pub checks: Vec<Check>,
    /// Conditions that may invalidate the figures.
    pub warnings: Vec<RunWarning>,
    /// The event that ended the run.
    pub stopped_by: StopReason,
    /// Connections that were lost and reopened.
    pub reconnects: u64,
    /// Why the first connection was lost, as the store reported it; `None` if no connection was lost.
    pub first_lost: Option<String>,
}

impl RunResult {
    /// The time from the start of the measured span to the end of the last transaction that started in it:
    /// the span itself, or longer if some ended after it. The divisor of tools that count those too.
    pub fn elapsed_ns(&self) -> Nanos {
        self.measured_ns.max(self.to_last_end_ns)
    }
}

/// What ended a run; the record has its name alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The duration was over.
    Duration,
    /// The number of transactions was reached.
    Transactions,
    /// The user requested a stop (Ctrl-C).
    Requested,
    /// The free space on a file system of the store fell below its reserve.
    DiskSpace {
        /// The free space and the reserve.
        why: String,
    },
    /// The store failed for good.
    Failure {
        /// The kind of failure.
        kind: FailureKind,
        /// The operation under way, by its name in the plan.
        operation: Option<String>,
        /// The store's message.
        what: String,
    },
}

/// Counts of transactions by outcome. `attempted` is the sum of the five outcomes (see the module's rule 1).
/// Indexed by the contract's causes and without allocations, for worker threads; the record's `Outcomes` has
/// their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// Transactions started.
    pub attempted: u64,
    /// Acknowledged as committed.
    pub committed: u64,
    /// Rolled back by the workload's own rule.
    pub aborted: u64,
    /// Rolled back because of another transaction, after the last retry; by
    /// [`syncline_contract::Cause::ALL`].
    pub conflicted: [u64; 3],
    /// Rolled back by an error, by [`FailureKind::ALL`].
    pub failed: [u64; 5],
    /// Under way when the run ended, or of unknown outcome.
    pub unfinished: u64,
    /// Tries that conflicted and were retried, by [`syncline_contract::Cause::ALL`]; these are not attempts.
    pub retried: [u64; 3],
    /// Committed transactions that needed more than one try.
    pub committed_after_retry: u64,
}

/// A distribution of times in nanoseconds, to three digits. Unlike the record's `Latency` it has the count
/// and the deviation that published reports print.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution {
    /// The number of times.
    pub count: u64,
    /// The median.
    pub p50: Nanos,
    /// The 90th percentile.
    pub p90: Nanos,
    /// The 99th percentile.
    pub p99: Nanos,
    /// The 99.9th percentile; unreliable below 10,000 times.
    pub p999: Nanos,
    /// The longest.
    pub max: Nanos,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

/// One transaction type, with the typed counts that the record's `TransactionFigures` names.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactionResult {
    /// Its name.
    pub name: String,
    /// True if every committed transaction of the type wrote.
    pub always_writes: bool,
    /// The outcomes of its transactions.
    pub outcomes: OutcomeCounts,
    /// From the start of the first try to the acknowledgement, committed transactions only; `None`
    /// without any.
    pub service_ns: Option<Distribution>,
    /// From the due time to the acknowledgement; in a closed loop this is the service time.
    pub response_ns: Option<Distribution>,
    /// All service times in HdrHistogram's encoding; `None` without any.
    pub service_histogram: Option<String>,
    /// All response times, likewise; `None` if they are the service times.
    pub response_histogram: Option<String>,
}

/// One operation of the plan, with the distribution that the record's `OperationFigures` shortens.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationResult {
    /// Its name.
    pub name: String,
    /// True if several may share a round trip, so that their times overlap.
    pub pipelined: bool,
    /// From the request to the answer, whatever the outcome of the transaction; `None` if it never ran.
    pub service_ns: Option<Distribution>,
}
