//! The arena of a transaction: its keys and values, one after another, freed together.

use crate::txn::transaction_pool::clear;
use std::ops::Range;

/// Maximum bytes of an arena: offsets are 32-bit numbers.
const BYTES_MAX: usize = u32::MAX as usize;

/// A range of bytes in an arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    bytes: u32,
}

impl Span {
    #[inline]
    pub(super) fn len(self) -> usize {
        self.bytes as usize
    }

    /// Its range in [`Arena::bytes`].
    #[inline]
    pub(super) fn range(self) -> Range<usize> {
        let start = self.start as usize;
        start..start + self.len()
    }
}

/// Append-only bytes, addressed by spans.
#[derive(Debug, Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
}

impl Arena {
    #[inline]
    pub(super) fn get(&self, span: Span) -> &[u8] {
        &self.bytes[span.start as usize..][..span.bytes as usize]
    }

    /// All its bytes.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a copy. The caller has checked [`Arena::has_room`].
    #[inline]
    pub(super) fn add(&mut self, bytes: &[u8]) -> Span {
        let start = self.bytes.len();
        assert!(bytes.len() <= BYTES_MAX - start, "the caller checks for room in the arena first");
        self.bytes.extend_from_slice(bytes);
        Span { start: start as u32, bytes: bytes.len() as u32 }
    }

    /// The span of the next `bytes` bytes. The caller has checked [`Arena::has_room`].
    #[inline]
    pub(super) fn next(&self, bytes: usize) -> Span {
        Span { start: self.bytes.len() as u32, bytes: bytes as u32 }
    }

    /// True if this many bytes can be added.
    #[inline]
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        bytes <= BYTES_MAX - self.bytes.len()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets everything. Returns the memory that it keeps, in bytes.
    #[inline]
    pub(super) fn clear(&mut self) -> usize {
        clear(&mut self.bytes)
    }
}
