//! Panics of the engine's own threads, of wakers, and in the middle of a change.
//!
//! A panic is a bug, here or in a waker that a caller passed in. A half-done change must not be acknowledged
//! or written, and no thread may wait forever for it. So
//! 1. a thread of the engine that panics fails the log with the panic's text: the next call of any thread
//!    returns [`Error::Poisoned`](crate::Error::Poisoned) with it, and all waiting threads are woken;
//! 2. a panic on a caller's thread in the middle of a commit section, a definition, a step of a checkpoint or
//!    an I/O request of the log fails the log, and then unwinds into the caller;
//! 3. a waker that panics does not harm others: they are woken, and the log continues.

use std::any::Any;
use std::panic::resume_unwind;
use std::task::Waker;

/// The result of `body`, or its panic.
#[cfg(not(any(loom, shuttle)))]
#[inline]
fn caught<R>(body: impl FnOnce() -> R) -> std::thread::Result<R> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(body))
}

/// The same in models, whose checkers report failures by panicking: the panic passes through.
#[cfg(any(loom, shuttle))]
#[expect(clippy::unnecessary_wraps, reason = "without a model checker a panic is a result")]
fn caught<R>(body: impl FnOnce() -> R) -> std::thread::Result<R> {
    Ok(body())
}

/// The message of a panic.
pub(crate) fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it has no message")
}

/// Runs the body of an engine thread; if it panics, passes the reason to `fail`.
pub(crate) fn guarded(thread: &str, body: impl FnOnce(), fail: impl FnOnce(&str)) {
    if let Err(panic) = caught(body) {
        fail(&format!("the thread \"{thread}\" panicked: {}", text(&*panic)));
    }
}

/// Runs `body`; if it panics, passes the reason to `fail` and unwinds into the caller.
pub(crate) fn failing<R>(what: &str, fail: impl FnOnce(&str), body: impl FnOnce() -> R) -> R {
    caught(body).unwrap_or_else(|panic| {
        fail(&format!("{what} panicked: {}", text(&*panic)));
        resume_unwind(panic)
    })
}

/// Wakes a waiter. A panic of the waker ends here, after the panic hook has reported it.
#[inline]
pub(crate) fn wake(waker: Waker) {
    let _reported = caught(|| waker.wake());
}

/// Calls `fail` when a panic that began after this value was made unwinds through it.
pub(crate) struct OnPanic<F: FnMut()> {
    was_panicking: bool,
    fail: F,
}

impl<F: FnMut()> OnPanic<F> {
    #[inline]
    pub(crate) fn new(fail: F) -> OnPanic<F> {
        OnPanic { was_panicking: std::thread::panicking(), fail }
    }
}

impl<F: FnMut()> Drop for OnPanic<F> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() && !self.was_panicking {
            (self.fail)();
        }
    }
}
