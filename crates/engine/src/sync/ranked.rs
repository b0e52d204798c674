//! Locks with a rank in the lock order ([`super::rank`]).
//!
//! [`Mutex`], [`RwLock`] and [`Condvar`] wrap `parking_lot`'s, [`StdMutex`] wraps std's and ignores
//! poisoning; under a model checker all of them wrap the checker's. The rank is a constant of the type. In
//! builds without debug assertions a lock is as large as the wrapped one, and so is its guard.
//!
//! In the crate's own tests a thread under a test scheduler (`step`) does not block in the operating
//! system: it reports what it waits for, and tries again at its next turn.

use super::rank::{Held, assert_may_sleep, assert_may_wait};
use super::{PoisonError, parking};
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// Waits for a lock of that rank: by `block`, or, on a thread under a test scheduler, by `take` until it
/// succeeds.
#[inline]
fn acquire<G>(rank: u8, take: impl FnMut() -> Option<G>, block: impl FnOnce() -> G) -> G {
    assert_may_wait(rank);
    #[cfg(test)]
    if crate::step::stepped() {
        return crate::step::wait_for(super::rank::name(rank), take);
    }
    drop(take);
    block()
}

/// A guard that also holds the rank of its lock.
macro_rules! guard {
    ($name:ident of $below:ty, $what:literal) => {
        #[doc = $what]
        #[derive(Debug)]
        #[must_use = "the lock is held until this is dropped"]
        pub(crate) struct $name<'l, T, const RANK: u8> {
            guard: $below,
            _held: Held<RANK>,
        }

        impl<'l, T, const RANK: u8> $name<'l, T, RANK> {
            #[inline]
            fn new(guard: $below) -> $name<'l, T, RANK> {
                $name {
                    guard,
                    _held: Held::taken(),
                }
            }
        }

        impl<T, const RANK: u8> Deref for $name<'_, T, RANK> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                &self.guard
            }
        }
    };
    ($name:ident of mutable $below:ty, $what:literal) => {
        guard!($name of $below, $what);

        impl<T, const RANK: u8> DerefMut for $name<'_, T, RANK> {
            #[inline]
            fn deref_mut(&mut self) -> &mut T {
                &mut self.guard
            }
        }
    };
}

guard!(MutexGuard of mutable parking::MutexGuard<'l, T>, "A locked [`Mutex`].");
guard!(StdMutexGuard of mutable super::MutexGuard<'l, T>, "A locked [`StdMutex`].");
guard!(RwLockReadGuard of parking::RwLockReadGuard<'l, T>, "An [`RwLock`], locked for reading.");
guard!(RwLockWriteGuard of mutable parking::RwLockWriteGuard<'l, T>, "An [`RwLock`], locked for writing.");

/// `parking_lot`'s mutex with a rank.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Mutex<T, const RANK: u8>(parking::Mutex<T>);

impl<T, const RANK: u8> Mutex<T, RANK> {
    pub(crate) fn new(value: T) -> Mutex<T, RANK> {
        Mutex(parking::Mutex::new(value))
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T, RANK> {
        MutexGuard::new(acquire(RANK, || self.0.try_lock(), || self.0.lock()))
    }

    /// None if another thread holds it.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T, RANK>> {
        self.0.try_lock().map(MutexGuard::new)
    }
}

impl<T, const RANK: u8> MutexGuard<'_, T, RANK> {
    /// Unlocks it while `body` runs.
    #[cfg(test)]
    pub(crate) fn unlocked<R>(guard: &mut Self, body: impl FnOnce() -> R) -> R {
        parking::MutexGuard::unlocked(&mut guard.guard, body)
    }
}

/// std's mutex with a rank, without poisoning: users change the value by single moves, so it is consistent
/// after a panic.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct StdMutex<T, const RANK: u8>(super::Mutex<T>);

impl<T, const RANK: u8> StdMutex<T, RANK> {
    pub(crate) fn new(value: T) -> StdMutex<T, RANK> {
        StdMutex(super::Mutex::new(value))
    }

    #[inline]
    pub(crate) fn lock(&self) -> StdMutexGuard<'_, T, RANK> {
        StdMutexGuard::new(acquire(
            RANK,
            || match self.0.try_lock() {
                Ok(guard) => Some(guard),
                Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(std::sync::TryLockError::WouldBlock) => None,
            },
            || self.0.lock().unwrap_or_else(PoisonError::into_inner),
        ))
    }
}

impl<'m, T, const RANK: u8> StdMutexGuard<'m, T, RANK> {
    /// Sleeps until `bell` is notified, with the mutex unlocked.
    pub(crate) fn sleep(self, bell: &super::Condvar) -> StdMutexGuard<'m, T, RANK> {
        assert_may_sleep(RANK, 0);
        let guard = bell.wait(self.guard);
        StdMutexGuard::new(guard.unwrap_or_else(PoisonError::into_inner))
    }

    /// The same, but no longer than `span`.
    pub(crate) fn sleep_for(
        self,
        bell: &super::Condvar,
        span: Duration,
    ) -> StdMutexGuard<'m, T, RANK> {
        assert_may_sleep(RANK, 0);
        let slept = bell.wait_timeout(self.guard, span);
        StdMutexGuard::new(slept.unwrap_or_else(PoisonError::into_inner).0)
    }
}

/// `parking_lot`'s reader-writer lock with a rank.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct RwLock<T, const RANK: u8>(parking::RwLock<T>);

impl<T, const RANK: u8> RwLock<T, RANK> {
    pub(crate) fn new(value: T) -> RwLock<T, RANK> {
        RwLock(parking::RwLock::new(value))
    }

    #[inline]
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T, RANK> {
        RwLockReadGuard::new(acquire(RANK, || self.0.try_read(), || self.0.read()))
    }

    /// None if another thread writes.
    #[inline]
    pub(crate) fn try_read(&self) -> Option<RwLockReadGuard<'_, T, RANK>> {
        self.0.try_read().map(RwLockReadGuard::new)
    }

    /// None if another thread reads or writes.
    pub(crate) fn try_write(&self) -> Option<RwLockWriteGuard<'_, T, RANK>> {
        self.0.try_write().map(RwLockWriteGuard::new)
    }

    #[inline]
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T, RANK> {
        RwLockWriteGuard::new(acquire(RANK, || self.0.try_write(), || self.0.write()))
    }
}

impl<T: Default, const RANK: u8> Default for RwLock<T, RANK> {
    fn default() -> RwLock<T, RANK> {
        RwLock::new(T::default())
    }
}

/// `parking_lot`'s condition variable, which also checks the lock order.
#[derive(Debug)]
pub(crate) struct Condvar {
    below: parking::Condvar,
    /// How often it was notified: a thread under a test scheduler sleeps until this changes, so that a lost
    /// wake-up is lost there, too.
    #[cfg(test)]
    notified: std::sync::atomic::AtomicU64,
}

impl Condvar {
    pub(crate) fn new() -> Condvar {
        Condvar {
            below: parking::Condvar::new(),
            #[cfg(test)]
            notified: std::sync::atomic::AtomicU64::new(0),
        }
    }

    /// Sleeps until it is notified, with the mutex unlocked. Other locks that the thread holds must be above
    /// `below` in the table: those that the waking thread does not need.
    pub(crate) fn wait<T, const RANK: u8>(&self, guard: &mut MutexGuard<'_, T, RANK>, below: u8) {
        assert_may_sleep(RANK, below);
        #[cfg(test)]
        if crate::step::stepped() {
            self.step_until_notified(guard);
            return;
        }
        self.below.wait(&mut guard.guard);
    }

    /// The same with a time limit; a thread under a test scheduler ignores the limit.
    pub(crate) fn wait_for<T, const RANK: u8>(
        &self,
        guard: &mut MutexGuard<'_, T, RANK>,
        below: u8,
        at_most: Duration,
    ) {
        assert_may_sleep(RANK, below);
        #[cfg(test)]
        if crate::step::stepped() {
            self.step_until_notified(guard);
            return;
        }
        self.below.wait_for(&mut guard.guard, at_most);
    }

    /// The same while a condition holds.
    pub(crate) fn wait_while<T, const RANK: u8>(
        &self,
        guard: &mut MutexGuard<'_, T, RANK>,
        below: u8,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(guard) {
            self.wait(guard, below);
        }
    }

    #[cfg(test)]
    fn step_until_notified<T, const RANK: u8>(&self, guard: &mut MutexGuard<'_, T, RANK>) {
        use std::sync::atomic::Ordering;
        let before = self.notified.load(Ordering::SeqCst);
        let is_notified = || self.notified.load(Ordering::SeqCst) != before;
        let what = super::rank::name(RANK);
        MutexGuard::unlocked(guard, || {
            crate::step::wait_for(what, || is_notified().then_some(()));
        });
    }

    pub(crate) fn notify_all(&self) {
        #[cfg(test)]
        self.notified.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        self.below.notify_all();
    }
}

/// Locks are no larger than the wrapped ones if nothing is checked.
#[cfg(not(debug_assertions))]
const _: () = {
    use super::rank::LATCH;
    assert!(size_of::<Mutex<u64, LATCH>>() == size_of::<parking::Mutex<u64>>());
    assert!(size_of::<RwLock<u64, LATCH>>() == size_of::<parking::RwLock<u64>>());
    assert!(size_of::<MutexGuard<'_, u64, LATCH>>() == size_of::<parking::MutexGuard<'_, u64>>());
    assert!(size_of::<StdMutexGuard<'_, u64, LATCH>>() == size_of::<super::MutexGuard<'_, u64>>());
};
