//! Whether this program was asked to stop, for waits that block their thread.
//!
//! 1. A wait that began before the request ends soon after it, as a lost connection: whoever stops a run
//!    does not wait for a server that is silent.
//! 2. A wait that begins after the request has [`AFTER_STOP`], for a last look at counters, or that of
//!    a removal ([`Cleanup`]) [`CLEANUP_WITHIN`].

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static STOP: OnceLock<&'static AtomicBool> = OnceLock::new();

/// How long a wait goes on once the program was asked to stop: an answer that is under way may still come.
pub(super) const GRACE: Duration = Duration::from_millis(500);

/// How long a wait may take that begins once the program was asked to stop.
pub(super) const AFTER_STOP: Duration = Duration::from_secs(5);

/// How long one answer of a cleanup may take: longer than a removal waits for locks.
pub(super) const CLEANUP_WITHIN: Duration = Duration::from_secs(75);

/// Names the flag that is set when the program shall stop; the first call counts.
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

/// While it lives, the waits of this thread are those of a removal of what is ours.
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

/// How long a wait may go on once the program was asked to stop; `began_after` says that it was asked before.
pub(super) fn goes_on_for(began_after: bool) -> Duration {
    match (began_after, CLEANUPS.with(Cell::get)) {
        (true, 1..) => CLEANUP_WITHIN,
        (true, 0) => AFTER_STOP,
        (false, _) => GRACE,
    }
}
