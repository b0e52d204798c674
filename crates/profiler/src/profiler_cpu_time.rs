//! The processor time that profiling itself uses.

use super::sampler_threads;
use super::tag::thread_cpu_ns;
use std::collections::BTreeMap;
use syncline_instrument::Nanos;

/// The processor time of a profiler in its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProfilerCpuTime {
    /// The sum over the profiler's own threads.
    pub threads_ns: Nanos,
    /// The time of its programs in the kernel; none without such programs, or if the kernel does not time
    /// them.
    pub programs: Option<BpfCpuTime>,
}

/// Processor time of BPF programs, timed during a part of the window only, since timing has a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BpfCpuTime {
    /// Processor time, summed over all processors.
    pub ns: Nanos,
    /// The length of the timed part.
    pub of_ns: Nanos,
    /// How long the programs were attached in the window, over all sampling windows.
    pub attached_ns: Nanos,
}

/// The processor time so far of every thread of the profiler, by thread number.
#[derive(Debug, Default)]
pub(crate) struct ThreadCpuTimes(BTreeMap<u32, Nanos>);

impl ThreadCpuTimes {
    pub(crate) fn read() -> ThreadCpuTimes {
        let threads = sampler_threads::current_sampler_threads().into_iter();
        ThreadCpuTimes(
            threads.filter_map(|thread| Some((thread, thread_cpu_ns(thread)?))).collect(),
        )
    }

    /// The processor time since `first`; a thread that started in between counts in full.
    pub(crate) fn since(&self, first: &ThreadCpuTimes) -> Nanos {
        let used = self.0.iter().map(|(thread, now)| {
            let before = first.0.get(thread).copied().unwrap_or(0);
            now.saturating_sub(before)
        });
        used.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadCpuTimes;
    use crate::sampler_threads::SamplerThread;
    use syncline_instrument::clock;

    #[test]
    fn only_threads_of_the_profiler_are_summed() {
        let burn = || {
            let until = clock::thread_cpu() + 5_000_000;
            while clock::thread_cpu() < until {}
        };
        let first = ThreadCpuTimes::read();
        burn();
        std::thread::scope(|scope| {
            let sampler = scope.spawn(|| {
                let mark = SamplerThread::here();
                burn();
                let used = ThreadCpuTimes::read().since(&first);
                drop(mark);
                used
            });
            let used = sampler.join().unwrap();
            // Other tests may profile at the same time.
            assert!(used >= 5_000_000, "{used}");
        });
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        assert!(!ThreadCpuTimes::read().0.contains_key(&own.unsigned_abs()));
    }
}
