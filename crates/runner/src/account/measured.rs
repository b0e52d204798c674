//! What a run measured, before a result is made of it.

use crate::account::measured_span::SpanEnd;
use crate::account::sampler::Reading;
use crate::account::worker_report::WorkerReport;
use syncline_contract::{CommitPaths, Failure, Internal, Workload};
use syncline_instrument::Nanos;
use syncline_profile::Profile;
use syncline_profiler::ProfilerCpuTime;
use syncline_record::{Arrivals, Interval, LookingPair};

/// What the measured span left behind.
pub(crate) struct Measured<W: Workload> {
    pub reports: Vec<WorkerReport<W>>,
    pub arrivals: Option<Arrivals>,
    pub span_ns: Nanos,
    /// What ended the measured span.
    pub span_end: SpanEnd,
    /// From the begin of the measured span to the end of the last transaction that started in it.
    pub to_last_end_ns: Nanos,
    pub intervals: Vec<Interval>,
    /// Readings at the start and the end of the measured span, and what ended between them.
    pub span: (Reading, Reading),
    pub commits_between: u64,
    /// What the store counted inside itself in the span.
    pub internals: Vec<Internal>,
    /// The ways of commits that were acknowledged in the span, of a sample.
    pub commit_paths: Option<CommitPaths>,
    /// What was seen of the store's process in the span, if it was metered.
    pub profile: Option<Profile>,
    /// What looking used up of the processors meanwhile.
    pub spent: Option<ProfilerCpuTime>,
    /// What looking costs, if it was weighed.
    pub weighed: Vec<LookingPair>,
    /// Readings at the start of the clients and when the last had left, and what ended between.
    pub whole: (Reading, Reading),
    pub commits_in_whole: u64,
    pub ended_in_whole: u64,
    /// Processor time of the coordinating thread in `whole`.
    pub coordinator_cpu_ns: Nanos,
    /// Flushes a nanosecond of the idle store, if they were watched.
    pub idle_flushes_per_ns: Option<f64>,
    pub stopped_by: StopCause,
}

/// What ended a run.
pub(crate) enum StopCause {
    Duration,
    Transactions,
    Requested,
    /// A file system of the store came to its reserve.
    DiskSpace(String),
    Failure(Failure),
}
