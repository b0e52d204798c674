//! The collectors' own threads, which are no part of a store in this process.

use parking_lot::Mutex;
use std::collections::BTreeSet;

static THREADS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Those of all time: who asks when the window is over asks for threads that have ended. The kernel gives
/// a number again only after all others.
static LOOKED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Says of the thread that made it that it looks, as long as it is held.
#[derive(Debug)]
pub(super) struct Looking {
    tid: u32,
}

impl Looking {
    /// To be called on the thread that looks.
    pub(super) fn here() -> Looking {
        let tid = rustix::thread::gettid()
            .as_raw_nonzero()
            .get()
            .unsigned_abs();
        for threads in [&THREADS, &LOOKED] {
            let mut threads = threads.lock();
            threads.insert(tid);
        }
        Looking { tid }
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        let mut threads = THREADS.lock();
        threads.remove(&self.tid);
    }
}

/// True of a thread that looks.
pub(super) fn is_looking(tid: u32) -> bool {
    let threads = THREADS.lock();
    threads.contains(&tid)
}

/// The threads that look.
pub(super) fn now_looking() -> Vec<u32> {
    let threads = THREADS.lock();
    threads.iter().copied().collect()
}

/// True of a thread that looks, or has looked.
pub(super) fn has_looked(tid: u32) -> bool {
    let threads = LOOKED.lock();
    threads.contains(&tid)
}

#[cfg(test)]
mod tests {
    use super::{Looking, has_looked, is_looking};

    #[test]
    fn a_thread_looks_as_long_as_it_says_so() {
        let looking = Looking::here();
        let tid = looking.tid;
        assert!(is_looking(tid) && !is_looking(u32::MAX));
        drop(looking);
        assert!(!is_looking(tid) && has_looked(tid));
    }
}
