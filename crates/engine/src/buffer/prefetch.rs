//! Asking the processor for memory that will be read soon, so that several waits become one.
//!
//! What stands at the address is not looked at: it may have been freed, or never have been memory.

#![allow(
    unsafe_code,
    reason = "the instruction takes any address and reads nothing that the program could see"
)]

/// A line of the processor's caches.
pub(super) const LINE_BYTES: usize = 64;

/// Asks for the lines of so many bytes from that address on.
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

/// Asks for the lines of so many bytes as one who will write there: a line that another core has written goes
/// over once, and not once to be read and once more to be written.
#[inline]
pub(super) fn prefetch_to_write(address: usize, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..bytes).step_by(LINE_BYTES) {
        let line = address.wrapping_add(offset);
        // SAFETY: it changes nothing that the program could see and never faults, at any address; processors
        // that do not know it do nothing.
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
