//! Processor samples from outside the JVM, if it names its code.

use crate::account::missing;
use crate::collector::OpenResult;
use crate::perf;
use crate::profiler::ProfilerOptions;
use crate::subject::{Runtime, Subject};
use crate::symbols::PerfMap;
use syncline_profile::Metric;

/// Opens the processor sampler; for a JVM only if its code can be named.
pub(crate) fn open(subject: &Subject, options: &ProfilerOptions) -> OpenResult {
    if subject.runtime == Runtime::Jvm
        && let Err(why) = PerfMap::of(subject.pid())
    {
        let why = format!("Java's code would have no names: {why}");
        let metrics = [Metric::CpuUser, Metric::CpuKernel];
        let missing = |metric| missing(metric, "cpu by perf events", &why);
        return Err(metrics.map(missing).to_vec());
    }
    perf::open_cpu(subject, options)
}
