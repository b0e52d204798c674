//! The collectors' own threads, which are no part of a store in this process.

use parking_lot::Mutex;
use std::collections::BTreeSet;

static THREADS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Those of all time: who asks when the window is over asks for threads that have ended. The kernel gives
/// a number again only after all others.
static LOOKED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Says of the thread that made it that it looks, as long as it is held.
#[derive(Debug)]
pub(crate) struct SamplerThread {
    tid: u32,
}

impl SamplerThread {
    /// To be called on the thread that looks.
    pub(crate) fn here() -> SamplerThread {
        let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        for threads in [&THREADS, &LOOKED] {
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

/// True of a thread that looks.
pub(crate) fn is_sampler_thread(tid: u32) -> bool {
    let threads = THREADS.lock();
    threads.contains(&tid)
}

/// The threads that look.
pub(crate) fn current_sampler_threads() -> Vec<u32> {
    let threads = THREADS.lock();
    threads.iter().copied().collect()
}

/// True of a thread that looks, or has looked.
pub(crate) fn was_sampler_thread(tid: u32) -> bool {
    let threads = LOOKED.lock();
    threads.contains(&tid)
}

#[cfg(test)]
mod tests {
    use super::{SamplerThread, is_sampler_thread, was_sampler_thread};

    #[test]
    fn a_thread_looks_as_long_as_it_says_so() {
        let looking = SamplerThread::here();
        let tid = looking.tid;
        assert!(is_sampler_thread(tid) && !is_sampler_thread(u32::MAX));
        drop(looking);
        assert!(!is_sampler_thread(tid) && was_sampler_thread(tid));
    }
}
