//! The plain means: std's and `parking_lot`'s own.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
pub(crate) use std::thread_local;

/// True if a checker decides when threads go on: then counts that only cost steps are small.
pub(crate) const IS_MODEL: bool = false;

/// Numbers that threads share.
pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering, fence,
    };
}

/// Threads and their sleep.
pub(crate) mod thread {
    pub(crate) use std::thread::{Builder, JoinHandle, Thread, current, park};

    #[cfg(not(test))]
    pub(crate) use std::thread::yield_now;

    /// Lets others go on; a thread that a scheduler steps by a step.
    #[cfg(test)]
    pub(crate) fn yield_now() {
        if crate::step::stepped() {
            crate::step::step(crate::step::Step::Spin);
        } else {
            std::thread::yield_now();
        }
    }
}

/// Locks in the shape of `parking_lot`'s.
pub(crate) mod parking {
    pub(crate) use parking_lot::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    };
}
