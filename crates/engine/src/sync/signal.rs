//! A signal: notifies a thread of work, without losing a notification and without a system call while the
//! thread is awake.
//!
//! States: quiet, raised, stopped. `raise` moves quiet to raised; `wait` takes raised back to quiet;
//! stopped is final.

use crate::sync::Condvar;
use crate::sync::atomic::{AtomicU8, Ordering};
use crate::sync::rank::SIGNAL;
use crate::sync::ranked::StdMutex;
use std::time::Duration;

const QUIET: u8 = 0;
const RAISED: u8 = 1;
const STOPPED: u8 = 2;

/// Why a sleep of limited length ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// There is work.
    Raised,
    /// There will be no more work.
    Stopped,
    /// The time is over.
    Elapsed,
}

/// A signal for one sleeping thread.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    state: AtomicU8,
    sleeper: StdMutex<(), SIGNAL>,
    bell: Condvar,
}

impl Signal {
    /// Announces work.
    pub(crate) fn raise(&self) {
        let raised = self.state.compare_exchange(QUIET, RAISED, Ordering::SeqCst, Ordering::SeqCst);
        if raised.is_ok() {
            self.ring();
        }
    }

    /// Announces that there will be no more work.
    pub(crate) fn stop(&self) {
        self.state.store(STOPPED, Ordering::SeqCst);
        self.ring();
    }

    /// Sleeps until there is work; false once stopped.
    pub(crate) fn wait(&self) -> bool {
        let mut sleeper = self.sleeper.lock();
        loop {
            match self.state.compare_exchange(RAISED, QUIET, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => return true,
                Err(STOPPED) => return false,
                Err(_) => {}
            }
            sleeper = sleeper.sleep(&self.bell);
        }
    }

    /// Sleeps until there is work, but no longer than this.
    pub(crate) fn wait_for(&self, span: Duration) -> Wake {
        let mut sleeper = self.sleeper.lock();
        let mut is_over = span.is_zero();
        loop {
            match self.state.compare_exchange(RAISED, QUIET, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => return Wake::Raised,
                Err(STOPPED) => return Wake::Stopped,
                Err(_) if is_over => return Wake::Elapsed,
                Err(_) => {}
            }
            // A spurious wake-up only shortens the sleep.
            sleeper = sleeper.sleep_for(&self.bell, span);
            is_over = true;
        }
    }

    /// True if there is announced work that no thread has taken up.
    #[cfg(test)]
    pub(crate) fn is_raised(&self) -> bool {
        self.state.load(Ordering::SeqCst) == RAISED
    }

    fn ring(&self) {
        // The mutex closes the gap between a sleeper's check of the state and its sleep.
        drop(self.sleeper.lock());
        self.bell.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::Signal;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn work_announced_before_or_during_sleep_is_seen_and_stop_ends_it() {
        let (signal, seen, given) = (Signal::default(), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while signal.wait() {
                    seen.store(given.load(Ordering::SeqCst), Ordering::SeqCst);
                }
            });
            for number in 1..=2_000 {
                given.store(number, Ordering::SeqCst);
                signal.raise();
                while seen.load(Ordering::SeqCst) != number {
                    std::hint::spin_loop();
                }
            }
            signal.stop();
        });
        assert_eq!(seen.load(Ordering::SeqCst), 2_000);
    }
}
