//! What looking itself uses up of the processors.

use super::sampler_threads;
use super::tag::thread_cpu_ns;
use std::collections::BTreeMap;
use syncline_instrument::Nanos;

/// Processor time that a meter has used in its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProfilerCpuTime {
    /// Of the threads that look, all together.
    pub threads_ns: Nanos,
    /// Of the programs that run in the kernel; none without such programs, or where the kernel does not
    /// time them.
    pub programs: Option<BpfCpuTime>,
}

/// What was timed for a part of the window only: timing costs something too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BpfCpuTime {
    /// Processor time, of all processors together.
    pub ns: Nanos,
    /// How long was timed.
    pub of_ns: Nanos,
    /// How long they were attached in the window, all spells together.
    pub attached_ns: Nanos,
}

/// The processor time so far of every thread that looks, by its number.
#[derive(Debug, Default)]
pub(crate) struct ThreadCpuTimes(BTreeMap<u32, Nanos>);

impl ThreadCpuTimes {
    pub(crate) fn read() -> ThreadCpuTimes {
        let threads = sampler_threads::current_sampler_threads().into_iter();
        ThreadCpuTimes(
            threads.filter_map(|thread| Some((thread, thread_cpu_ns(thread)?))).collect(),
        )
    }

    /// What they have used since; one that came meanwhile brings all it has.
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
    fn only_threads_that_look_are_added_up() {
        let burn = || {
            let until = clock::thread_cpu() + 5_000_000;
            while clock::thread_cpu() < until {}
        };
        let first = ThreadCpuTimes::read();
        burn();
        std::thread::scope(|scope| {
            let looks = scope.spawn(|| {
                let looking = SamplerThread::here();
                burn();
                let used = ThreadCpuTimes::read().since(&first);
                drop(looking);
                used
            });
            let used = looks.join().unwrap();
            // Other tests may look meanwhile.
            assert!(used >= 5_000_000, "{used}");
        });
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        assert!(!ThreadCpuTimes::read().0.contains_key(&own.unsigned_abs()));
    }
}
