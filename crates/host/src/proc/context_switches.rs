//! How often the threads of this process have been switched away from, those that ended among them.
//!
//! `/proc` has such counts of living threads only; the kernel keeps those of ended ones for `getrusage`.
//! `unsafe` stands here because rustix lacks that call: the kernel fills a structure of ours.

#![allow(unsafe_code, reason = "the kernel's sum for a whole process has no safe interface")]

use std::mem::MaybeUninit;

/// Voluntary and involuntary switches since this process began; none if the kernel does not say.
pub fn own_context_switches() -> Option<(u64, u64)> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a structure of the type that the call writes.
    let answer = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    if answer != 0 {
        return None;
    }
    // SAFETY: all its bytes were zero before the call, which is a value of it.
    let usage = unsafe { usage.assume_init() };
    let voluntary = u64::try_from(usage.ru_nvcsw).ok()?;
    Some((voluntary, u64::try_from(usage.ru_nivcsw).ok()?))
}
