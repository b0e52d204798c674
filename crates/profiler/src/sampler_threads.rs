//! The collectors' own threads, which do not belong to a store in this process.

use parking_lot::Mutex;
use std::collections::BTreeSet;

static THREADS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// All such threads so far, since a query after the window must include threads that have ended. The kernel
/// reuses a thread number only after all others.
static ALL_TIME: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Marks the thread that created it as a thread of the profiler while it is held.
#[derive(Debug)]
pub(crate) struct SamplerThread {
    tid: u32,
}

impl SamplerThread {
    /// Call this on the profiler's thread.
    pub(crate) fn here() -> SamplerThread {
        let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        for threads in [&THREADS, &ALL_TIME] {
            let mut threads = threads.lock();
            threads.insert(tid);
        }
        SamplerThread { tid }
    }
}

impl Drop for SamplerThread {
    fn drop(&mut self) {
        let mut threads = THREADS.lock();
        threads.remove(&self.tid);
    }
}

/// True for a thread of the profiler.
pub(crate) fn is_sampler_thread(tid: u32) -> bool {
    let threads = THREADS.lock();
    threads.contains(&tid)
}

/// The threads of the profiler.
pub(crate) fn current_sampler_threads() -> Vec<u32> {
    let threads = THREADS.lock();
    threads.iter().copied().collect()
}

/// True for a current or former thread of the profiler.
pub(crate) fn was_sampler_thread(tid: u32) -> bool {
    let threads = ALL_TIME.lock();
    threads.contains(&tid)
}

#[cfg(test)]
mod tests {
    use super::{SamplerThread, is_sampler_thread, was_sampler_thread};

    #[test]
    fn a_thread_is_marked_while_the_mark_is_held() {
        let looking = SamplerThread::here();
        let tid = looking.tid;
        assert!(is_sampler_thread(tid) && !is_sampler_thread(u32::MAX));
        drop(looking);
        assert!(!is_sampler_thread(tid) && was_sampler_thread(tid));
    }
}
