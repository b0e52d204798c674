//! A timer on a thread's processor time that sends a signal to that thread.
//!
//! It uses `timer_create` on the thread's clock, with `SIGPROF` to that thread. The kernel's number of such a
//! clock is derived from the thread's number: its complement, shifted by three, with the bits "of a thread"
//! (4) and "time scheduled" (2). The C library's own function requires a handle that only the creator of the
//! thread has. The timer fires at ticks of the kernel, a few hundred per second.

#![allow(
    unsafe_code,
    reason = "timers of other threads and signal handlers have no safe interface"
)]

use super::tick_counts::count_tick;
use std::io::{Error, Result};
use std::mem::zeroed;
use std::ptr::null_mut;
use syncline_instrument::{Nanos, clock};

const OF_A_THREAD: i32 = 4;
const SCHEDULED: i32 = 2;

/// A running timer; it is deleted when this drops.
#[derive(Debug)]
pub(super) struct Timer(libc::timer_t);

// SAFETY: a timer's number is valid on every thread.
unsafe impl Send for Timer {}

/// Installs the handler that counts each signal. Call it before the first timer; it may be called again.
pub(super) fn install_signal_handler() -> Result<()> {
    // SAFETY: a `sigaction` of zeros is valid: no handler, no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = count_signal as *const () as usize;
    // An interrupted wait is restarted.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: the handler has the signature that SA_SIGINFO requires and does only what a handler may.
    let answer = unsafe { libc::sigaction(libc::SIGPROF, &raw const action, null_mut()) };
    succeeded(answer)
}

extern "C" fn count_signal(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a handler of SA_SIGINFO its information, which is valid during the call.
    let signal = unsafe { &*info };
    if signal.si_code != libc::SI_TIMER {
        return;
    }
    // SAFETY: a timer's signal carries the value given to the timer.
    let value = unsafe { signal.si_value() };
    count_tick(value.sival_ptr.addr());
}

impl Timer {
    /// Sends a signal to a thread of this process each time that it has used `period` of processor time.
    pub(super) fn start(thread: u32, place: usize, period: Nanos) -> Result<Timer> {
        let number = i32::try_from(thread).map_err(Error::other)?;
        let clock_id = (!number << 3) | OF_A_THREAD | SCHEDULED;
        // SAFETY: a `sigevent` of zeros is valid.
        let mut event: libc::sigevent = unsafe { zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGPROF;
        event.sigev_notify_thread_id = number;
        event.sigev_value.sival_ptr = std::ptr::without_provenance_mut(place);
        let mut timer: libc::timer_t = null_mut();
        // SAFETY: both pointers are valid for the call, which does not keep them.
        let answer = unsafe { libc::timer_create(clock_id, &raw mut event, &raw mut timer) };
        succeeded(answer)?;
        let timer = Timer(timer);
        let period = libc::timespec {
            tv_sec: (period / clock::SECOND).cast_signed(),
            tv_nsec: (period % clock::SECOND) as libc::c_long,
        };
        let times = libc::itimerspec { it_interval: period, it_value: period };
        // SAFETY: the timer was just created, and the times are valid during the call.
        let answer = unsafe { libc::timer_settime(timer.0, 0, &raw const times, null_mut()) };
        succeeded(answer)?;
        Ok(timer)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: this value alone owns the timer. The timer of an ended thread is deleted like any other.
        let answer = unsafe { libc::timer_delete(self.0) };
        debug_assert_eq!(answer, 0, "an existing timer can be deleted");
    }
}

/// The processor time that a thread has used so far, user and kernel; none if it has ended.
pub(crate) fn thread_cpu_ns(thread: u32) -> Option<Nanos> {
    let number = i32::try_from(thread).ok()?;
    let clock_id = (!number << 3) | OF_A_THREAD | SCHEDULED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one time through the pointer, which is valid, and does not keep it.
    let answer = unsafe { libc::clock_gettime(clock_id, &raw mut time) };
    (answer == 0).then_some(time.tv_sec as Nanos * clock::SECOND + time.tv_nsec as Nanos)
}

fn succeeded(answer: i32) -> Result<()> {
    if answer == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::thread_cpu_ns;
    use syncline_instrument::clock;

    #[test]
    fn the_clock_of_this_thread_is_its_processor_time() {
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        let before = clock::thread_cpu();
        let read = thread_cpu_ns(own.unsigned_abs()).unwrap();
        assert!((before..=clock::thread_cpu()).contains(&read));
    }

    #[test]
    fn a_missing_thread_has_no_clock() {
        // The kernel assigns no numbers beyond 2^22.
        assert_eq!(thread_cpu_ns((1 << 22) + 1), None);
    }
}
