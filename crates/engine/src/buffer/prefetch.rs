//! Prefetching memory that will be read soon, so that several cache misses overlap.
//!
//! The memory at the address is not read: it may have been freed, or may never have been mapped.

#![allow(unsafe_code, reason = "the instruction accepts any address and has no visible effect")]

/// A line of the processor's caches.
pub(super) const LINE_BYTES: usize = 64;

/// Prefetches the lines of `bytes` bytes from that address on.
#[inline]
pub(crate) fn prefetch(address: usize, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..bytes).step_by(LINE_BYTES) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = std::ptr::without_provenance(address.wrapping_add(offset));
        // SAFETY: a prefetch reads nothing and never faults, at any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box((address, bytes, LINE_BYTES));
}

/// Prefetches the lines for writing: a line that another core has written is then transferred once, not once
/// for reading and once more for writing.
#[inline]
pub(super) fn prefetch_to_write(address: usize, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..bytes).step_by(LINE_BYTES) {
        let line = address.wrapping_add(offset);
        // SAFETY: it has no visible effect and never faults, at any address; processors without this
        // instruction ignore it.
        unsafe {
            std::arch::asm!(
                "prefetchw [{line}]",
                line = in(reg) line,
                options(nomem, nostack, preserves_flags)
            );
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    prefetch(address, bytes);
}
