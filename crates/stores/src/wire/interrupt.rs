//! Whether this program was asked to stop, for waits that block their thread.
//!
//! 1. A wait that began before the request ends [`GRACE`] after it, like a lost connection: stopping a
//!    run does not wait for a silent server.
//! 2. The same holds for a wait that begins within [`GRACE`] after the request: between two waits the
//!    program cannot see the request, and the second may be for the same silent server.
//! 3. A later wait belongs to the end of a run and has [`AFTER_STOP`], so that the counters can be read
//!    once more.
//! 4. A wait of a removal ([`Cleanup`]) that begins after the request, however soon, has
//!    [`CLEANUP_WITHIN`].

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use syncline_instrument::{Nanos, clock};

static STOP: OnceLock<&'static AtomicBool> = OnceLock::new();

/// When the request was first noticed; zero until then.
static SEEN_AT: AtomicU64 = AtomicU64::new(0);

/// How long a wait continues after the request to stop: an answer may be in flight.
pub(super) const GRACE: Duration = Duration::from_millis(500);

/// How long a wait may take that begins more than [`GRACE`] after the request to stop.
pub(super) const AFTER_STOP: Duration = Duration::from_secs(5);

/// How long one answer of a cleanup may take: longer than a removal waits for locks.
pub(super) const CLEANUP_WITHIN: Duration = Duration::from_secs(75);

/// Sets the flag that requests a stop; only the first call has an effect.
pub fn interrupt_by(flag: &'static AtomicBool) {
    STOP.get_or_init(|| flag);
}

/// True once the program was asked to stop.
pub(crate) fn is_asked() -> bool {
    STOP.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

thread_local! {
    static CLEANUPS: Cell<u32> = const { Cell::new(0) };
}

/// While it exists, the waits of this thread belong to a removal of managed objects.
#[derive(Debug)]
pub(crate) struct Cleanup(());

impl Cleanup {
    pub(crate) fn begins() -> Cleanup {
        CLEANUPS.with(|count| count.set(count.get() + 1));
        Cleanup(())
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        CLEANUPS.with(|count| count.set(count.get().saturating_sub(1)));
    }
}

/// When a wait began, relative to the request to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Began {
    /// Before it.
    Before,
    /// Within [`GRACE`] after it.
    Soon,
    /// Later.
    Later,
}

impl Began {
    /// For a wait that begins now.
    pub(super) fn now() -> Began {
        if is_asked() { Began::at(clock::now(), &SEEN_AT) } else { Began::Before }
    }

    /// For a wait that begins at that time; it may be the first to notice the request.
    fn at(now: Nanos, seen_at: &AtomicU64) -> Began {
        let seen = seen_at.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        let since = now.saturating_sub(seen.err().unwrap_or(now));
        if since <= clock::nanos(GRACE) { Began::Soon } else { Began::Later }
    }

    /// How long it may continue after the request to stop.
    pub(super) fn time_limit(self) -> Duration {
        match (self, CLEANUPS.with(Cell::get)) {
            (Began::Before, _) | (Began::Soon, 0) => GRACE,
            (Began::Later, 0) => AFTER_STOP,
            (Began::Soon | Began::Later, 1..) => CLEANUP_WITHIN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AFTER_STOP, Began, CLEANUP_WITHIN, Cleanup, GRACE};
    use std::sync::atomic::AtomicU64;
    use syncline_instrument::clock;

    /// B.F7: a wait that begins just after the request does not belong to the end of a run.
    #[test]
    fn only_a_wait_that_begins_long_after_the_request_has_the_long_limit() {
        let (seen_at, grace) = (AtomicU64::new(0), clock::nanos(GRACE));
        let at = 9_000;
        for (now, began) in
            [(at, Began::Soon), (at + grace, Began::Soon), (at + grace + 1, Began::Later)]
        {
            assert_eq!(Began::at(now, &seen_at), began, "{now}");
        }
        let each = [Began::Before, Began::Soon, Began::Later];
        assert_eq!(each.map(Began::time_limit), [GRACE, GRACE, AFTER_STOP]);
        let _removal = Cleanup::begins();
        let long = [GRACE, CLEANUP_WITHIN, CLEANUP_WITHIN];
        assert_eq!(each.map(Began::time_limit), long);
    }
}
