//! The interface of a collector.

use super::bpf;
use super::jvm::{AsyncProfiler, FlightRecorder, open_named};
use super::perf;
use super::proc_totals;
use super::profiler::ProfilerOptions;
use super::profiler_cpu_time::BpfCpuTime;
use super::subject::Subject;
use super::tag::TagSampler;
use std::fmt::Debug;
use syncline_profile::{Account, Metric, ProfileBuilder};

/// Observes a process and collects weights on stacks. The crate's documentation describes the phases.
pub(crate) trait Collector: Debug {
    /// Does the slow preparations. The error is a sentence that says how to permit it.
    fn prepare(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// The metrics that it owns: collectors opened after it find them in `Subject::covered` and leave out
    /// those metrics, or themselves.
    fn takes(&self) -> &[Metric] {
        &[]
    }

    /// Begins collecting.
    fn start(&mut self) -> Result<(), String>;

    /// Continues collecting: called when every collector has started, and then about 50 times per second.
    fn tick(&mut self, _commits: Commits<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Ends the work of [`Collector::tick`], before the collectors stop.
    fn end(&mut self, _commits: Commits<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Ends collecting.
    fn stop(&mut self) -> Result<(), String>;

    /// The processor time of its programs in the kernel, if it has any. Called after it has stopped.
    fn programs(&self) -> Option<BpfCpuTime> {
        None
    }

    /// Names the stacks and puts them into the profile, with an account for each of its metrics.
    fn hand_over(self: Box<Self>, profile: &mut ProfileBuilder);

    /// The accounts of its metrics after a failure.
    fn failed(&self, why: &str) -> Vec<Account>;
}

/// Returns the number of commits acknowledged so far.
pub(crate) type Commits<'a> = &'a dyn Fn() -> u64;

/// An open collector, or an account for each metric that is missing without it.
pub(crate) type OpenResult = Result<Box<dyn Collector>, Vec<Account>>;

/// Opens a collector.
pub(crate) type Open = fn(&Subject, &ProfilerOptions) -> OpenResult;

/// All collectors, in the order in which they are opened. The collectors of one row own the same metrics, and
/// only the first that works is opened: for a JVM, its own profiler measures processor time, because it names
/// Java's frames. The JVM's own recorder is the last of those with stacks: it takes the metrics that are
/// left.
pub(crate) const ALL: &[&[Open]] = &[
    &[AsyncProfiler::open, open_named],
    &[bpf::open, perf::open_calls],
    &[FlightRecorder::open],
    &[proc_totals::open],
    &[TagSampler::open],
];
