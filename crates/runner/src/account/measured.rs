//! All measurements of a run, before `result_builder` makes a result of them.

use crate::account::measured_span::SpanEnd;
use crate::account::sampler::Reading;
use crate::account::worker_report::WorkerReport;
use syncline_contract::{CommitPaths, Failure, Internal, Workload};
use syncline_instrument::Nanos;
use syncline_profile::Profile;
use syncline_profiler::ProfilerCpuTime;
use syncline_record::{Arrivals, Interval, OverheadPair};

/// The measurements of one run.
pub(crate) struct RunMeasurements<W: Workload> {
    pub reports: Vec<WorkerReport<W>>,
    pub arrivals: Option<Arrivals>,
    pub span_ns: Nanos,
    /// The event that ended the measured span.
    pub span_end: SpanEnd,
    /// From the start of the measured span to the end of the last transaction that started in it.
    pub to_last_end_ns: Nanos,
    pub intervals: Vec<Interval>,
    /// Readings at the start and the end of the measured span.
    pub span: (Reading, Reading),
    /// Commits acknowledged between those two readings.
    pub commits_between: u64,
    /// The store's internal figures for the span.
    pub internals: Vec<Internal>,
    /// The commit paths of a sample of the commits that were acknowledged in the span.
    pub commit_paths: Option<CommitPaths>,
    /// The profile of the store's process over the span, if the plan has the profiler on.
    pub profile: Option<Profile>,
    /// The processor time that the profiler used meanwhile.
    pub profiler_cpu: Option<ProfilerCpuTime>,
    /// The slices of the profiler's overhead A/B test, if there was one.
    pub overhead_pairs: Vec<OverheadPair>,
    /// Readings when the clients started and when the last had left; the next two fields count what ended
    /// between them.
    pub whole: (Reading, Reading),
    pub commits_in_whole: u64,
    pub ended_in_whole: u64,
    /// Processor time of the coordinating thread in `whole`.
    pub coordinator_cpu_ns: Nanos,
    /// Flushes per nanosecond while the store was idle, if they were measured.
    pub idle_flushes_per_ns: Option<f64>,
    pub stopped_by: StopCause,
}

/// What ended a run.
pub(crate) enum StopCause {
    Duration,
    Transactions,
    Requested,
    /// The free space on a file system of the store fell below its reserve.
    DiskSpace(String),
    Failure(Failure),
}
