//! Prefetches the memory of the next client while the current one runs.
//!
//! The state of a thousand clients does not fit into a core's cache. A client would wait for its cache lines
//! one after another, but all their addresses are known before it runs.

#![allow(
    unsafe_code,
    reason = "a prefetch takes any address and has no effect that the program can observe"
)]

const LINE_BYTES: usize = 64;

/// At most this many bytes of a value are prefetched.
const BYTES_MAX: usize = 4096;

/// The array of client states that the futures use: its address, the size of an element, and the bytes of
/// each element to prefetch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PrefetchRange {
    start: usize,
    stride: usize,
    bytes: usize,
}

impl PrefetchRange {
    /// Prefetches the first `bytes` of each element. The elements are in the order of the futures.
    pub(crate) fn of<T>(all: &[T], bytes: usize) -> PrefetchRange {
        PrefetchRange {
            start: all.as_ptr().addr(),
            stride: size_of::<T>(),
            bytes: bytes.min(size_of::<T>()),
        }
    }

    #[inline]
    pub(super) fn prefetch(self, index: usize) {
        prefetch_lines(self.start.wrapping_add(index * self.stride), self.bytes);
    }
}

/// Prefetches the cache lines of a value.
#[inline]
pub(super) fn prefetch_value<T>(value: &T) {
    prefetch_lines(std::ptr::from_ref(value).addr(), size_of::<T>());
}

#[inline]
fn prefetch_lines(address: usize, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..bytes.min(BYTES_MAX)).step_by(LINE_BYTES) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = std::ptr::without_provenance(address.wrapping_add(offset));
        // SAFETY: a prefetch has no observable effect and never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box((address, bytes, LINE_BYTES, BYTES_MAX));
}
