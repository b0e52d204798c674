//! The checker's synchronization primitives, with the interfaces of the plain ones.
//!
//! `parking_lot`'s locks return guards without a result, unlock a guard during a wait, and are not poisoned;
//! std's `OnceLock` is invisible to a checker. Both are rebuilt here from the checker's primitives.

use std::sync::PoisonError;

#[cfg(loom)]
use loom as checker;
#[cfg(shuttle)]
use shuttle as checker;

#[cfg(shuttle)]
pub(crate) use shuttle::thread_local;

pub(crate) use checker::sync::{Condvar, Mutex, MutexGuard};

/// loom's `thread_local`, which does not support constant values.
#[cfg(loom)]
macro_rules! of_each_thread {
    ($(static $name:ident: $kind:ty = const { $value:expr };)*) => {
        loom::thread_local! { $(static $name: $kind = $value;)* }
    };
}

#[cfg(loom)]
pub(crate) use of_each_thread as thread_local;

/// True if a checker schedules the threads: counts that only cost steps are then small.
pub(crate) const IS_MODEL: bool = true;

/// Atomic numbers.
pub(crate) mod atomic {
    #[cfg(loom)]
    pub(crate) use crate::sync::weak::{
        AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, fence,
    };
    #[cfg(shuttle)]
    pub(crate) use shuttle::sync::atomic::{
        AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, fence,
    };
    pub(crate) use std::sync::atomic::Ordering;
}

/// Threads, and waking them.
pub(crate) mod thread {
    pub(crate) use super::checker::thread::{Builder, JoinHandle, yield_now};
    #[cfg(shuttle)]
    pub(crate) use super::checker::thread::{Thread, current, park};
    #[cfg(loom)]
    pub(crate) use crate::sync::park::{Thread, current, park};
}

/// A value that is set once. The value is stored before the flag is set, as in std's.
#[derive(Debug)]
pub(crate) struct OnceLock<T> {
    is_set: atomic::AtomicBool,
    value: std::sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> OnceLock<T> {
        OnceLock { is_set: atomic::AtomicBool::new(false), value: std::sync::OnceLock::new() }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        if self.is_set.load(atomic::Ordering::Acquire) { self.value.get() } else { None }
    }

    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if self.get().is_none() {
            let made = make();
            self.value.get_or_init(|| made);
            self.is_set.store(true, atomic::Ordering::Release);
        }
        self.value.get().expect("it was set above")
    }
}

/// Locks with the interface of `parking_lot`'s.
pub(crate) mod parking {
    use super::{PoisonError, checker};
    use std::ops::{Deref, DerefMut};
    use std::time::Duration;

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(checker::sync::Mutex<T>);

    #[derive(Debug)]
    pub(crate) struct MutexGuard<'m, T> {
        mutex: &'m Mutex<T>,
        /// None while its thread sleeps.
        held: Option<checker::sync::MutexGuard<'m, T>>,
    }

    #[derive(Debug)]
    pub(crate) struct RwLock<T>(checker::sync::RwLock<T>);

    pub(crate) use checker::sync::{RwLockReadGuard, RwLockWriteGuard};

    #[derive(Debug)]
    pub(crate) struct Condvar(checker::sync::Condvar);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Mutex<T> {
            Mutex(checker::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            MutexGuard { mutex: self, held: Some(held) }
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            let held = self.0.try_lock().ok()?;
            Some(MutexGuard { mutex: self, held: Some(held) })
        }
    }

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> RwLock<T> {
            RwLock(checker::sync::RwLock::new(value))
        }

        pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
            self.0.read().unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
            self.0.try_read().ok()
        }

        pub(crate) fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
            self.0.try_write().ok()
        }

        pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
            self.0.write().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl<T> MutexGuard<'_, T> {
        pub(crate) fn unlocked<R>(guard: &mut Self, body: impl FnOnce() -> R) -> R {
            guard.held = None;
            let result = body();
            guard.held = guard.mutex.lock().held;
            result
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.held.as_ref().expect("its thread is awake")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.held.as_mut().expect("its thread is awake")
        }
    }

    impl Condvar {
        pub(crate) fn new() -> Condvar {
            Condvar(checker::sync::Condvar::new())
        }

        pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let held = guard.held.take().expect("its thread is awake");
            let held = self.0.wait(held).unwrap_or_else(PoisonError::into_inner);
            guard.held = Some(held);
        }

        /// No time passes in a model.
        pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _at_most: Duration) {
            self.wait(guard);
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
