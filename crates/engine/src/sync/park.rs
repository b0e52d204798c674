//! Threads that sleep and are woken, for loom: a wake-up that comes before the sleep is kept.
//!
//! loom's own loses it if the thread waits for a mutex in between; then a thread sleeps for ever in the
//! model that would not in life.

use loom::sync::{Condvar, Mutex};
use std::sync::Arc;

#[derive(Debug)]
struct Seat {
    is_woken: Mutex<bool>,
    bell: Condvar,
}

/// A thread of a model, to be woken.
#[derive(Clone, Debug)]
pub(crate) struct Thread(Arc<Seat>);

loom::thread_local! {
    static SEAT: Arc<Seat> = Arc::new(Seat {
        is_woken: Mutex::new(false),
        bell: Condvar::new(),
    });
}

/// The thread that asks.
pub(crate) fn current() -> Thread {
    Thread(SEAT.with(Arc::clone))
}

/// Sleeps until somebody wakes this thread, or has since it last slept.
pub(crate) fn park() {
    let seat = SEAT.with(Arc::clone);
    let mut is_woken = seat.is_woken.lock().expect("a model ends with a panic");
    while !*is_woken {
        is_woken = seat.bell.wait(is_woken).expect("a model ends with a panic");
    }
    *is_woken = false;
}

impl Thread {
    /// Wakes it, now or when it sleeps next.
    pub(crate) fn unpark(&self) {
        *self.0.is_woken.lock().expect("a model ends with a panic") = true;
        self.0.bell.notify_one();
    }
}
