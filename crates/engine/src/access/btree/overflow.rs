//! Overflow pages: values too long for a leaf, in immutable pages that form a chain.
//!
//! After the header of every page, little endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 28 | 4 | bytes of the value in this page |
//! | 32 | 8 | number of the next page; 0 = this is the last |
//! | 40 | | those bytes, zeros behind them |
//!
//! The leaf's value is an overflow pointer of 16 bytes, length (8) and first page (8), and the row's word has
//! the overflow bit.
//!
//! States of a chain: *detached* after prepare has written it, so that no checkpoint contains a value that
//! may never be committed; *attached* in the section that writes the overflow pointer; *freed* in the section
//! that replaces or removes the overflow pointer, or while still detached if the transaction ends without it.
//!
//! An overflow pointer may be followed under the latch of its leaf: a thread that frees the chain must change
//! the row first. A reader that follows it later may find the chain freed, and reads the row again.

use crate::buffer::page::{self, HEADER_BYTES, Kind, put_u32, put_u64, u32_at, u64_at};
use crate::buffer::{Buffer, Content, Leaf, Miss};
use crate::error::Result;
use crate::ids::{PageId, TreeId};

const PIECE_AT: usize = 28;
const NEXT_AT: usize = 32;

/// Bytes of an overflow pointer in a leaf.
pub(crate) const OVERFLOW_POINTER_BYTES: usize = 16;

/// A value in overflow pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OverflowPointer {
    /// The value's length in bytes.
    pub(crate) bytes: u64,
    /// Its first page.
    pub(crate) first: PageId,
}

impl OverflowPointer {
    /// The overflow pointer as a leaf's value.
    pub(crate) fn to_value(self) -> [u8; OVERFLOW_POINTER_BYTES] {
        let mut value = [0; OVERFLOW_POINTER_BYTES];
        put_u64(&mut value, 0, self.bytes);
        put_u64(&mut value, 8, self.first.0);
        value
    }

    /// The overflow pointer in a leaf's value; none if it is of another length.
    #[inline]
    pub(crate) fn from_value(value: &[u8]) -> Option<OverflowPointer> {
        (value.len() == OVERFLOW_POINTER_BYTES)
            .then(|| OverflowPointer { bytes: u64_at(value, 0), first: PageId(u64_at(value, 8)) })
    }
}

/// The memory of chains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChainSize {
    /// Bytes of a value in a page.
    piece_bytes: u64,
    /// Bytes of memory for a page and its frame.
    frame_bytes: u64,
}

impl ChainSize {
    /// For the pages of a buffer.
    pub(crate) fn of(buffer: &Buffer) -> ChainSize {
        ChainSize {
            piece_bytes: (buffer.page_bytes() - HEADER_BYTES) as u64,
            frame_bytes: buffer.frame_bytes(),
        }
    }

    /// The number of pages of a value of that length.
    pub(crate) fn pages(self, value_bytes: u64) -> u64 {
        value_bytes.div_ceil(self.piece_bytes).max(1)
    }

    /// The memory of the pages of a value of that length, in bytes.
    pub(crate) fn bytes(self, value_bytes: u64) -> u64 {
        self.pages(value_bytes) * self.frame_bytes
    }
}

/// For pages of 8 KiB, whose frames take slightly more.
#[cfg(test)]
impl Default for ChainSize {
    fn default() -> ChainSize {
        ChainSize { piece_bytes: 8192 - HEADER_BYTES as u64, frame_bytes: 8192 + 128 }
    }
}

/// True if a value of that length goes to overflow pages.
pub(crate) fn is_needed(buffer: &Buffer, value_bytes: usize) -> bool {
    value_bytes > Leaf::value_bytes_max(buffer.page_bytes())
}

/// The bytes that a value of that length takes in its leaf.
pub(crate) fn leaf_bytes(buffer: &Buffer, value_bytes: usize) -> usize {
    if is_needed(buffer, value_bytes) { OVERFLOW_POINTER_BYTES } else { value_bytes }
}

/// Writes a value into new detached pages. Leaves nothing behind if memory is at its cap.
pub(crate) fn write(buffer: &Buffer, tree: TreeId, value: &[u8]) -> Result<OverflowPointer> {
    let piece_bytes = buffer.page_bytes() - HEADER_BYTES;
    let mut pages = Vec::new();
    for _ in 0..ChainSize::of(buffer).pages(value.len() as u64) {
        match buffer.allocate(Kind::Overflow) {
            Ok(page) => pages.push(page),
            Err(error) => {
                for page in pages {
                    buffer.release(page);
                }
                return Err(error);
            }
        }
    }
    let mut rest = value;
    for (index, page) in pages.iter().enumerate() {
        let (piece, behind) = rest.split_at(rest.len().min(piece_bytes));
        let mut image = vec![0; buffer.page_bytes()].into_boxed_slice();
        page::label(&mut image, *page, tree, Kind::Overflow, 0);
        put_u32(&mut image, PIECE_AT, piece.len() as u32);
        put_u64(&mut image, NEXT_AT, pages.get(index + 1).map_or(0, |next| next.0));
        image[HEADER_BYTES..HEADER_BYTES + piece.len()].copy_from_slice(piece);
        buffer.add_detached_page(Content::Overflow(image));
        rest = behind;
    }
    Ok(OverflowPointer { bytes: value.len() as u64, first: pages[0] })
}

/// Ends the detached state of a chain, in the section that writes its overflow pointer.
pub(crate) fn attach(buffer: &Buffer, pointer: OverflowPointer) {
    for page in pages(buffer, pointer) {
        buffer.attach(page);
    }
}

/// Appends the value to `out`. False, with `out` unchanged, if the chain is freed.
pub(crate) fn read(
    buffer: &Buffer,
    pointer: OverflowPointer,
    out: &mut Vec<u8>,
) -> std::result::Result<bool, Miss> {
    let start = out.len();
    let guard = crossbeam_epoch::pin();
    let (mut next, mut left) = (pointer.first, pointer.bytes);
    loop {
        let frame = buffer.find(next, &guard).inspect_err(|_| out.truncate(start))?;
        let piece = frame.and_then(|frame| frame.overflow()).and_then(piece_of);
        let fits = piece.filter(|(bytes, next)| {
            let bytes = bytes.len() as u64;
            if next.0 == 0 { bytes == left } else { bytes > 0 && bytes < left }
        });
        let Some((bytes, behind)) = fits else {
            out.truncate(start);
            return Ok(false);
        };
        out.extend_from_slice(bytes);
        left -= bytes.len() as u64;
        if behind.0 == 0 {
            return Ok(true);
        }
        next = behind;
    }
}

/// Frees a chain, detached or not. In a section, if it was attached.
pub(crate) fn free(buffer: &Buffer, pointer: OverflowPointer) {
    for page in pages(buffer, pointer) {
        buffer.free(page);
    }
}

/// The pages of a chain that must be complete.
pub(crate) fn pages(buffer: &Buffer, pointer: OverflowPointer) -> Vec<PageId> {
    let guard = crossbeam_epoch::pin();
    let mut pages = vec![pointer.first];
    loop {
        let last = pages[pages.len() - 1];
        let bytes = buffer.frame(last, &guard).and_then(|frame| frame.overflow());
        let (_, next) = bytes.and_then(piece_of).expect("a chain with an owner is complete");
        if next.0 == 0 {
            return pages;
        }
        pages.push(next);
    }
}

/// The value's bytes in an overflow page, and the next page.
pub(super) fn piece_of(image: &[u8]) -> Option<(&[u8], PageId)> {
    let end = HEADER_BYTES + u32_at(image, PIECE_AT) as usize;
    Some((image.get(HEADER_BYTES..end)?, PageId(u64_at(image, NEXT_AT))))
}
