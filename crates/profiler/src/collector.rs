//! What every collector offers.

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

/// Looks at a process and leaves weights on stacks. The steps are those of the room's head.
pub(crate) trait Collector: Debug {
    /// Does what is slow. The error is a sentence that says what opens the way.
    fn prepare(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// The metrics that it takes so that no other shall: what is opened after it finds them in
    /// `Subject::taken` and leaves them out, or itself.
    fn takes(&self) -> &[Metric] {
        &[]
    }

    /// Begins to look.
    fn start(&mut self) -> Result<(), String>;

    /// Goes on looking: when every collector has started, and some 50 times a second from then on.
    fn go_on(&mut self, _commits: Commits<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Ends what [`Collector::go_on`] did, before the collectors stop.
    fn end(&mut self, _commits: Commits<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Ends looking.
    fn stop(&mut self) -> Result<(), String>;

    /// What its programs in the kernel have used, if it has any. Asked for when it has stopped.
    fn programs(&self) -> Option<BpfCpuTime> {
        None
    }

    /// Names what was seen and puts it into the profile, with an account for each of its metrics.
    fn hand_over(self: Box<Self>, profile: &mut ProfileBuilder);

    /// The accounts of its metrics if it failed on the way, for that reason.
    fn failed(&self, why: &str) -> Vec<Account>;
}

/// How many commits were acknowledged so far.
pub(crate) type Commits<'a> = &'a dyn Fn() -> u64;

/// A collector that could be opened, or an account of each metric that is missing for want of it.
pub(crate) type Opened = Result<Box<dyn Collector>, Vec<Account>>;

/// How a collector is opened.
pub(crate) type Open = fn(&Subject, &ProfilerOptions) -> Opened;

/// Every collector, in the order in which they are opened. Of those in one row, which take the same
/// metrics, only the first that can is opened: a JVM's processor time is the profiler's in it, which names
/// its frames. The JVM's own recorder comes last of those that split by stack: it takes what is left.
pub(crate) const ALL: &[&[Open]] = &[
    &[AsyncProfiler::open, open_named],
    &[bpf::open, perf::open_calls],
    &[FlightRecorder::open],
    &[proc_totals::open],
    &[TagSampler::open],
];
