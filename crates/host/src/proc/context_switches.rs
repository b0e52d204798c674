//! Context switches of this process, including those of threads that have ended.
//!
//! `/proc` counts only living threads; the kernel adds ended threads to the counts of `getrusage`. `unsafe`
//! is needed because rustix lacks that call: the kernel fills a structure that we pass.

#![allow(unsafe_code, reason = "the kernel's sum for a whole process has no safe interface")]

use std::mem::MaybeUninit;

/// Voluntary and involuntary switches since this process began; none if the call fails.
pub fn own_context_switches() -> Option<(u64, u64)> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a structure of the type that the call writes.
    let answer = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    if answer != 0 {
        return None;
    }
    // SAFETY: all bytes were zero before the call, and zero is a valid value.
    let usage = unsafe { usage.assume_init() };
    let voluntary = u64::try_from(usage.ru_nvcsw).ok()?;
    Some((voluntary, u64::try_from(usage.ru_nivcsw).ok()?))
}
