//! What a run found: plain data, from which record, tables and charts are made.
//!
//! 1. A transaction belongs to the run if it started in the measured span (in an open loop: if it was
//!    due in it); of those, `attempted = committed + aborted + conflicted + failed + unfinished`.
//! 2. `throughput_per_s` is `commits_in_span` over the measured span (`measured_span`): of a run by time
//!    what was acknowledged in it, whenever it started; of a run by count the commits of its budget. The
//!    drain adds neither commits nor time.
//! 3. Intervals count transactions by when they *ended* too, so their sum differs from the outcomes by what
//!    was under way at the two ends of the span.
//! 4. Unknown is `None`, never zero.

use crate::account::disk_reserve::DiskReserve;
use crate::account::saturation::Saturation;
use crate::account::store_counters::StoreCounter;
use crate::account::warning::Warning;
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
    Arrivals, ClientTime, CountBase, Fairness, Interval, LookingPair, PerCommit,
};

/// What was fixed before the first transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct RunHead {
    /// Wall clock when the run began, nanoseconds since 1970.
    pub began_wall_ns: Nanos,
    /// The plan as asked for.
    pub plan: RunPlan,
    /// The store.
    pub target: TargetFacts,
    /// The load.
    pub workload: WorkloadFacts,
    /// How the clients run.
    pub client: ClientFacts,
    /// How the number of workers was chosen; none if nothing was tried.
    pub worker_trials: Option<WorkerTrials>,
    /// The machine.
    pub machine: Machine,
    /// The disk under the log directory, or why none is known.
    pub device: Result<BlockDevice, String>,
}

/// How the number of workers was chosen, where nobody had said it.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerTrials {
    /// Each number that was tried; the slices that the choice was made from.
    pub tried: Vec<WorkerTrial>,
    /// False if the choice is within the noise of the slices.
    pub clear: bool,
}

/// A number of workers that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerTrial {
    /// How many.
    pub workers: usize,
    /// Commits a second of each slice.
    pub commits_per_s: Vec<f64>,
}

/// The store as it described itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetFacts {
    /// The name in tables and records.
    pub name: String,
    /// What it said of itself after its tables were made.
    pub evidence: ReportedSettings,
    /// Where its log goes.
    pub log_place: LogLocation,
    /// Whose system calls are counted as the store's.
    pub process: StoreProcess,
    /// What the run leaves free on the file systems below it, or why they are not known.
    pub disk_space: Result<Vec<DiskReserve>, String>,
    /// What it does for the workload's plan, in its own language.
    pub intent: DryRunPlan,
}

/// The workload as it described itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadFacts {
    /// Its name.
    pub name: String,
    /// A notice that stands in every row.
    pub notice: Option<String>,
    /// Its options, given or defaulted.
    pub options: Vec<(String, String)>,
    /// What a committed transaction is worth.
    pub unit: Unit,
    /// True if the run started from rows that an earlier one had left.
    pub rows_kept: bool,
}

/// How the clients ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientFacts {
    /// The client model.
    pub model: ClientModel,
    /// How many clients.
    pub clients: usize,
    /// How many worker threads drove them.
    pub workers: usize,
}

/// Everything a run found.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// What was fixed before.
    pub head: RunHead,
    /// The length of the measured span.
    pub measured_ns: Nanos,
    /// From its begin to the end of the last transaction that started in it, the drain included: what tools
    /// divide by that count every transaction they started.
    pub to_last_end_ns: Nanos,
    /// How the transactions of all types ended.
    pub outcomes: Outcomes,
    /// `commits_in_span` a second of the measured span.
    pub throughput_per_s: f64,
    /// The arrivals of an open loop.
    pub arrivals: Option<Arrivals>,
    /// A row per transaction type, in the workload's order.
    pub transactions: Vec<TransactionResult>,
    /// A row per operation of the plan, if operations were timed.
    pub operations: Vec<OperationResult>,
    /// What counts per commit were taken over.
    pub count_base: CountBase,
    /// What a commit cost.
    pub per_commit: PerCommit,
    /// The figures that the workload is known by.
    pub figures: Vec<OwnFigure>,
    /// What the store counted and timed inside itself in the measured span, if it does.
    pub internals: Vec<Internal>,
    /// The ways of commits that were acknowledged in the measured span, of a sample, if the store times
    /// them.
    pub commit_paths: Option<CommitPaths>,
    /// The store's own counters around the run; empty if it keeps none.
    pub counters: Vec<StoreCounter>,
    /// How long an empty request takes to the store and back; none for a store in this process.
    pub round_trip_ns: Option<Nanos>,
    /// The processor time a transaction cost its workers (the store's part included where the store is
    /// a library), warm-up and drain included. The waiting loop of an open loop is taken off.
    pub client_cpu_ns_per_transaction: Option<f64>,
    /// What was seen of the store's process in the measured span; none unless it was metered.
    pub profile: Option<Profile>,
    /// What looking used up of the processors in that span; none unless it was metered.
    pub spent: Option<ProfilerCpuTime>,
    /// Slices of time with the meter and without it, before that span; empty unless the plan asks for it.
    pub weighed: Vec<LookingPair>,
    /// Commits that the rate is made of: acknowledged in the measured span, whenever their transactions
    /// started; of a run by count, those of its budget. Aborts apart.
    pub commits_in_span: u64,
    /// What the clients did with their time.
    pub client_time: ClientTime,
    /// Commits among the outcomes that were acknowledged after the measured span: in no rate.
    pub commits_late: u64,
    /// Acknowledged commits of the clients' whole life, warm-up and drain included: what the store's
    /// own counters around the run can be held to.
    pub commits_in_whole: u64,
    /// What held the run back.
    pub saturation: Saturation,
    /// The measured span in intervals, all of the plan's length but the last.
    pub intervals: Vec<Interval>,
    /// How evenly clients were served.
    pub fairness: Fairness,
    /// The workload's checks.
    pub checks: Vec<Check>,
    /// What may spoil the figures.
    pub warnings: Vec<Warning>,
    /// What ended the run.
    pub stopped_by: StopReason,
    /// Connections that were lost and made again.
    pub reconnects: u64,
    /// Why the first connection was lost, by the store's word; none if none was.
    pub first_lost: Option<String>,
}

impl RunResult {
    /// The time that all transactions which started in the measured span took together: the span itself, or
    /// longer if some ended after it. The divisor of tools that count those too.
    pub fn elapsed_ns(&self) -> Nanos {
        self.measured_ns.max(self.to_last_end_ns)
    }
}

/// What ended a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The duration was over.
    Duration,
    /// The number of transactions was reached.
    Transactions,
    /// It was asked to stop (Ctrl-C).
    Requested,
    /// A file system of the store came to its reserve of free space.
    DiskSpace {
        /// What was free, and what the reserve is.
        why: String,
    },
    /// The store failed in a way after which going on means nothing.
    Failure {
        /// What failed.
        kind: FailureKind,
        /// The operation under way, by its name in the plan.
        operation: Option<String>,
        /// The store's sentence.
        what: String,
    },
}

/// How transactions ended. The sum holds: see [`Outcomes::attempted`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Transactions started.
    pub attempted: u64,
    /// Acknowledged as committed.
    pub committed: u64,
    /// Undone by the workload's own rule.
    pub aborted: u64,
    /// Undone since others were in the way, after the last retry, by [`syncline_contract::Cause::ALL`].
    pub conflicted: [u64; 3],
    /// Failed, by [`FailureKind::ALL`].
    pub failed: [u64; 5],
    /// Under way when the run ended, or of unknown outcome.
    pub unfinished: u64,
    /// Tries that conflicted and were tried again, by [`syncline_contract::Cause::ALL`]; not attempts.
    pub retried: [u64; 3],
    /// Committed transactions that needed more than one try.
    pub committed_after_retry: u64,
}

/// A distribution of times in nanoseconds, to three digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution {
    /// How many times.
    pub count: u64,
    /// Half were at most this.
    pub p50: Nanos,
    /// Nine of ten.
    pub p90: Nanos,
    /// 99 of 100.
    pub p99: Nanos,
    /// 999 of 1,000; means little under 10,000 times.
    pub p999: Nanos,
    /// The longest.
    pub max: Nanos,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

/// One transaction type.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactionResult {
    /// Its name.
    pub name: String,
    /// True if every committed one has written.
    pub always_writes: bool,
    /// How its transactions ended.
    pub outcomes: Outcomes,
    /// From the start of the first try to the acknowledgement, committed transactions only; none
    /// without any.
    pub service_ns: Option<Distribution>,
    /// From when it was due to the acknowledgement; in a closed loop that is the service time.
    pub response_ns: Option<Distribution>,
}

/// One operation of the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationResult {
    /// Its name.
    pub name: String,
    /// True if several may share a round trip, so that their times overlap.
    pub pipelined: bool,
    /// From sending to the answer, whatever became of the transaction; none if never asked.
    pub service_ns: Option<Distribution>,
}
