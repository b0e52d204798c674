//! Sleeping and waking threads for loom: a wake-up that comes before the sleep is kept.
//!
//! loom's own implementation loses it if the thread waits for a mutex in between; then a thread sleeps
//! forever in the model that would not in reality.

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

/// The calling thread.
pub(crate) fn current() -> Thread {
    Thread(SEAT.with(Arc::clone))
}

/// Sleeps until this thread is woken, or returns at once if it was woken since its last sleep.
pub(crate) fn park() {
    let seat = SEAT.with(Arc::clone);
    let mut is_woken = seat.is_woken.lock().expect("a model ends with a panic");
    while !*is_woken {
        is_woken = seat.bell.wait(is_woken).expect("a model ends with a panic");
    }
    *is_woken = false;
}

impl Thread {
    /// Wakes the thread, now or at its next sleep.
    pub(crate) fn unpark(&self) {
        *self.0.is_woken.lock().expect("a model ends with a panic") = true;
        self.0.bell.notify_one();
    }
}
