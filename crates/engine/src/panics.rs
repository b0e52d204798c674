//! Panics of the engine's own threads, of wakers, and in the middle of a change.
//!
//! A panic is a bug, here or in a waker that a caller handed in. Whatever it leaves half done must not be
//! acknowledged or written on, and nobody may wait for it for ever. So
//! 1. a thread of the engine that panics fails the log with the panic's text: the next call of anybody
//!    returns [`Error::Poisoned`](crate::Error::Poisoned) with it, and all who wait are woken;
//! 2. a panic on a caller's thread in the middle of a commit section, a definition, a step of a checkpoint
//!    or a job of the log fails the log, and goes on to the caller;
//! 3. a waker that panics does no harm to others: they are woken, and the log goes on.

use std::any::Any;
use std::panic::resume_unwind;
use std::task::Waker;

/// What `body` answers, or its panic.
#[cfg(not(any(loom, shuttle)))]
#[inline]
fn caught<R>(body: impl FnOnce() -> R) -> std::thread::Result<R> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(body))
}

/// The same in models, whose checkers say by a panic what they have found: it goes through.
#[cfg(any(loom, shuttle))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere a panic is an answer")]
fn caught<R>(body: impl FnOnce() -> R) -> std::thread::Result<R> {
    Ok(body())
}

/// What a panic says.
pub(crate) fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it says nothing")
}

/// Runs the body of a thread of the engine; if it panics, hands the reason to `fail`.
pub(crate) fn guarded(thread: &str, body: impl FnOnce(), fail: impl FnOnce(&str)) {
    if let Err(panic) = caught(body) {
        fail(&format!("the thread \"{thread}\" has panicked: {}", text(&*panic)));
    }
}

/// Runs `body`; if it panics, hands the reason to `fail`, and the panic to the caller.
pub(crate) fn failing<R>(what: &str, fail: impl FnOnce(&str), body: impl FnOnce() -> R) -> R {
    caught(body).unwrap_or_else(|panic| {
        fail(&format!("{what} has panicked: {}", text(&*panic)));
        resume_unwind(panic)
    })
}

/// Wakes; a panic of the waker, which the panic hook has reported, ends here.
#[inline]
pub(crate) fn wake(waker: Waker) {
    let _reported = caught(|| waker.wake());
}

/// Calls `fail` if a panic that began after this was made unwinds through it.
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
