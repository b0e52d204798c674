//! The plain primitives: std's and `parking_lot`'s own.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
pub(crate) use std::thread_local;

/// True if a checker schedules the threads: counts that only cost steps are then small.
pub(crate) const IS_MODEL: bool = false;

/// Atomic numbers.
pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering, fence,
    };
}

/// Threads, and waking them.
pub(crate) mod thread {
    pub(crate) use std::thread::{Builder, JoinHandle, Thread, current, park};

    #[cfg(not(test))]
    pub(crate) use std::thread::yield_now;

    /// Yields to other threads; a thread under a test scheduler takes a step instead.
    #[cfg(test)]
    pub(crate) fn yield_now() {
        if crate::step::stepped() {
            crate::step::step(crate::step::Step::Spin);
        } else {
            std::thread::yield_now();
        }
    }
}

/// Locks with the interface of `parking_lot`'s.
pub(crate) mod parking {
    pub(crate) use parking_lot::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    };
}
