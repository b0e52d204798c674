//! Memory for direct I/O: a byte buffer aligned to 4 KiB.
//!
//! The aligned start lies inside a slightly longer allocation that never moves, so no unsafe code is needed.
//! 4 KiB satisfies every device with logical blocks of 512 bytes to 4 KiB.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// The alignment of the buffer's first byte, in bytes.
pub const ALIGNMENT: usize = 4096;

/// A byte buffer of fixed length whose first byte is aligned to 4 KiB.
pub struct AlignedBuffer {
    allocation: Box<[u8]>,
    start: usize,
    len: usize,
}

impl AlignedBuffer {
    /// `len` zero bytes. The length need not be a multiple of 4 KiB, but direct I/O requires one.
    pub fn zeroed(len: usize) -> AlignedBuffer {
        let allocation = vec![0; len + ALIGNMENT - 1].into_boxed_slice();
        let address = allocation.as_ptr().addr();
        let start = address.next_multiple_of(ALIGNMENT) - address;
        AlignedBuffer { allocation, start, len }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.allocation[self.start..self.start + self.len]
    }
}

impl DerefMut for AlignedBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.allocation[self.start..self.start + self.len]
    }
}

/// A copy is aligned too; deriving it would copy the offset but not the address.
impl Clone for AlignedBuffer {
    fn clone(&self) -> AlignedBuffer {
        let mut copy = AlignedBuffer::zeroed(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl fmt::Debug for AlignedBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AlignedBuffer").field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{ALIGNMENT, AlignedBuffer};

    #[test]
    fn buffers_of_any_length_are_aligned_and_zero() {
        for len in [0, 1, 511, 512, 4095, 4096, 4097, 1 << 20] {
            let buffer = AlignedBuffer::zeroed(len);
            assert_eq!(buffer.len(), len);
            assert_eq!(buffer.as_ptr().addr() % ALIGNMENT, 0);
            assert!(buffer.iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn a_moved_or_copied_buffer_stays_aligned_and_keeps_its_bytes() {
        let mut buffers: Vec<AlignedBuffer> = Vec::new();
        for index in 0..20_u8 {
            let mut buffer = AlignedBuffer::zeroed(700);
            buffer.fill(index);
            buffers.push(buffer);
        }
        let copies = buffers.clone();
        for (index, buffer) in buffers.iter().chain(&copies).enumerate() {
            assert_eq!(buffer.as_ptr().addr() % ALIGNMENT, 0);
            assert!(buffer.iter().all(|&byte| usize::from(byte) == index % 20));
        }
    }
}
