//! Asking the processor for memory that will be read soon, so that several waits become one.
//!
//! What stands at the address is not looked at: it may have been freed, or never have been memory.

#![allow(
    unsafe_code,
    reason = "the instruction takes any address and reads nothing that the program could see"
)]

const LINE_BYTES: usize = 64;

/// Some lines of memory in a word: where the first one begins, and in the bits below how many they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lines(pub(super) usize);

impl Lines {
    /// None of them.
    pub(super) const NONE: Lines = Lines(0);

    /// The lines in which so many bytes from that address on lie; the first ones, if they are very many.
    #[inline]
    pub(super) fn of(address: usize, bytes: usize) -> Lines {
        let first = address & !(LINE_BYTES - 1);
        let count = (address + bytes - first).div_ceil(LINE_BYTES);
        Lines(first | count.min(LINE_BYTES - 1))
    }

    /// Asks for them.
    #[inline]
    pub(super) fn ask(self) {
        let count = self.0 & (LINE_BYTES - 1);
        prefetch(self.0 - count, count * LINE_BYTES);
    }
}

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

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_are_those_in_which_the_bytes_lie() {
        for (address, bytes, first, count) in [
            (640, 64, 640, 1),
            (640, 65, 640, 2),
            (703, 1, 640, 1),
            (703, 2, 640, 2),
            (704, 0, 704, 0),
            (650, 1 << 20, 640, 63),
        ] {
            assert_eq!(
                Lines::of(address, bytes),
                Lines(first + count),
                "{address}, {bytes}"
            );
        }
        Lines::NONE.ask();
        Lines::of(usize::MAX - 70, 60).ask();
    }
}
