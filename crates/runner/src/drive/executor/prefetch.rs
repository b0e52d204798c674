//! Going ahead of clients: asking the processor for the memory of one while the one before it runs.
//!
//! A thousand clients are more than a core keeps near. What a client needs first says where no other of its
//! lines lies, so it would wait for one after the other; but where all of them lie is known before it runs.

#![allow(
    unsafe_code,
    reason = "the instruction takes any address and reads nothing that the program could see"
)]

const LINE_BYTES: usize = 64;

/// Of what is longer only so much is asked for.
const BYTES_MAX: usize = 4096;

/// What clients work with besides their futures: where the first one's lies, how far the next is behind it,
/// and how many bytes of each are worth asking for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PrefetchRange {
    start: usize,
    stride: usize,
    bytes: usize,
}

impl PrefetchRange {
    /// The first `bytes` of each of them, in the order of the futures.
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

/// Asks for the lines of a value.
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
        // SAFETY: a prefetch reads nothing that the program could see and never faults, at any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box((address, bytes, LINE_BYTES, BYTES_MAX));
}
