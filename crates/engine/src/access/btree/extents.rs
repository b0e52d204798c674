//! Extents of long values: values too long for a leaf, in immutable pages of up to 1 MiB each.
//!
//! The leaf's value is an extent pointer of 16 bytes, and the row's word has the overflow bit:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | length of the value |
//! | 8 | 5 | number of the first extent |
//! | 13 | 2 | zero |
//! | 15 | 1 | k: each extent but the last holds 2^k bytes of the value; 9 to 20 |
//!
//! The extents of a value have consecutive numbers, so the pointer names all of them: to attach, free or
//! charge them needs arithmetic and reads none of them. [`crate::buffer::extent`] has the format of one.
//!
//! States of a value's extents: *detached* after prepare has written them, so that no checkpoint contains a
//! value that may never be committed; *attached* in the section that writes the pointer; *freed* in the
//! section that replaces or removes the pointer, or while still detached if the transaction ends without it.
//!
//! An extent pointer may be followed under the latch of its leaf: a thread that frees the extents must change
//! the row first. A reader that follows it later may find an extent freed, or of another value, and reads the
//! row again.

use crate::buffer::extent::{self, EXTENT_BYTES_MAX, EXTENT_BYTES_MIN};
use crate::buffer::page::{put_u64, u64_at};
use crate::buffer::{Buffer, Leaf, MemoryNeed, Miss};
use crate::error::Result;
use crate::ids::{PageId, TreeId};
use crate::planted_bug::{PlantedBug, planted};

/// Bytes of an extent pointer in a leaf.
pub(crate) const EXTENT_POINTER_BYTES: usize = 16;

const PAGE_BITS: u32 = 40;
const SHIFT_AT: usize = 15;

/// A value in extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExtentPointer {
    /// The value's length in bytes, at least 1.
    bytes: u64,
    /// Its first extent.
    first: PageId,
    /// Each extent but the last holds two to the power of this bytes.
    shift: u8,
}

impl ExtentPointer {
    /// A pointer to any value.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn of(bytes: u64, first: PageId) -> ExtentPointer {
        ExtentPointer { bytes, first, shift: EXTENT_BYTES_MAX.ilog2() as u8 }
    }

    /// The pointer as a leaf's value.
    pub(crate) fn to_value(self) -> [u8; EXTENT_POINTER_BYTES] {
        let mut value = [0; EXTENT_POINTER_BYTES];
        put_u64(&mut value, 0, self.bytes);
        put_u64(&mut value, 8, self.first.0);
        value[SHIFT_AT] = self.shift;
        value
    }

    /// The pointer in a leaf's value; none if the value holds none.
    #[inline]
    pub(crate) fn from_value(value: &[u8]) -> Option<ExtentPointer> {
        if value.len() != EXTENT_POINTER_BYTES {
            return None;
        }
        let (bytes, first, shift) = (u64_at(value, 0), u64_at(value, 8), value[SHIFT_AT]);
        let first = first & !(0xff << 56);
        let shifts = EXTENT_BYTES_MIN.ilog2()..=EXTENT_BYTES_MAX.ilog2();
        if bytes == 0 || first == 0 || !shifts.contains(&shift.into()) {
            return None;
        }
        let pointer = ExtentPointer { bytes, first: PageId(first), shift };
        let end = first.checked_add(pointer.count())?;
        (end <= 1 << PAGE_BITS).then_some(pointer)
    }

    /// How many extents it has.
    pub(crate) fn count(self) -> u64 {
        self.bytes.div_ceil(1 << self.shift)
    }

    /// Its extents.
    pub(crate) fn pages(self) -> impl Iterator<Item = PageId> {
        (self.first.0..self.first.0 + self.count()).map(PageId)
    }

    /// The memory of its extents.
    pub(crate) fn memory(self) -> MemoryNeed {
        MemoryNeed::Extents { count: self.count(), value_bytes: self.bytes }
    }

    /// The value's bytes in an extent, if it is this value's extent with that number.
    fn part(self, image: &[u8], page: PageId) -> Option<&[u8]> {
        let (part, first) = extent::part(image);
        let from = (page.0 - self.first.0) << self.shift;
        let expected = (self.bytes - from).min(1 << self.shift);
        (first == self.first && part.len() as u64 == expected).then_some(part)
    }

    /// What is wrong with an extent that this pointer leads to; none if it holds what the pointer says.
    pub(super) fn problem(self, image: Option<&[u8]>, page: PageId) -> Option<&'static str> {
        match image {
            None => Some("it is not an extent, but an extent pointer leads to it"),
            Some(image) if self.part(image, page).is_none() => {
                Some("it is not the part of a value that its extent pointer says")
            }
            Some(_) => None,
        }
    }
}

/// True if a value of that length goes to extents.
pub(crate) fn is_needed(buffer: &Buffer, value_bytes: usize) -> bool {
    value_bytes > Leaf::value_bytes_max(buffer.page_bytes())
}

/// The bytes that a value of that length takes in its leaf.
pub(crate) fn leaf_bytes(buffer: &Buffer, value_bytes: usize) -> usize {
    if is_needed(buffer, value_bytes) { EXTENT_POINTER_BYTES } else { value_bytes }
}

/// The memory of the extents of a new value.
pub(crate) fn memory(buffer: &Buffer, value_bytes: usize) -> MemoryNeed {
    let value_bytes = value_bytes as u64;
    MemoryNeed::Extents { count: count(buffer, value_bytes), value_bytes }
}

fn count(buffer: &Buffer, value_bytes: u64) -> u64 {
    value_bytes.div_ceil(buffer.value_extent_bytes().into())
}

/// Writes a value, which is not empty, into new detached extents. Leaves nothing behind if memory is at its
/// cap.
pub(crate) fn write(buffer: &Buffer, tree: TreeId, value: &[u8]) -> Result<ExtentPointer> {
    let bytes = value.len() as u64;
    let first = buffer.allocate_extents(count(buffer, bytes), bytes)?;
    let extent_bytes = buffer.value_extent_bytes();
    let pointer = ExtentPointer { bytes, first, shift: extent_bytes.ilog2() as u8 };
    for (page, part) in pointer.pages().zip(value.chunks(extent_bytes as usize)) {
        buffer.add_detached_page(extent::image(page, tree, first, part));
        if planted(PlantedBug::CaptureDetachedExtents) {
            buffer.attach(page);
        }
    }
    Ok(pointer)
}

/// Ends the detached state of a value's extents, in the section that writes its pointer.
pub(crate) fn attach(buffer: &Buffer, pointer: ExtentPointer) {
    if planted(PlantedBug::CaptureDetachedExtents) {
        return;
    }
    for page in pointer.pages() {
        buffer.attach(page);
    }
}

/// Appends the value to `out`. False, with `out` unchanged, if its extents are freed.
pub(crate) fn read(
    buffer: &Buffer,
    pointer: ExtentPointer,
    out: &mut Vec<u8>,
) -> std::result::Result<bool, Miss> {
    let start = out.len();
    let guard = crossbeam_epoch::pin();
    for page in pointer.pages() {
        let frame = buffer.find(page, &guard).inspect_err(|_| out.truncate(start))?;
        let image = frame.and_then(|frame| frame.extent());
        let Some(part) = image.and_then(|image| pointer.part(image, page)) else {
            out.truncate(start);
            return Ok(false);
        };
        if page == pointer.first {
            // Not before an extent has confirmed the length.
            out.reserve(pointer.bytes as usize);
        }
        out.extend_from_slice(part);
    }
    Ok(true)
}

/// Frees a value's extents, detached or not. In a section, if they were attached.
pub(crate) fn free(buffer: &Buffer, pointer: ExtentPointer) {
    let kept = u64::from(planted(PlantedBug::KeepLastExtent));
    for page in pointer.pages().take((pointer.count() - kept) as usize) {
        buffer.free(page);
    }
    // Do not let memory of this size wait for a full bag of garbage.
    crossbeam_epoch::pin().flush();
}

#[cfg(test)]
mod tests {
    use super::{ExtentPointer, attach, free, memory, read, write};
    use crate::buffer::{Buffer, BufferOptions};
    use crate::ids::{PageId, TreeId};

    fn buffer() -> Buffer {
        let options =
            BufferOptions { page_bytes: 512, value_extent_bytes: 1024, ..Default::default() };
        Buffer::new(&options)
    }

    #[test]
    fn a_pointer_reads_back_and_damaged_ones_are_refused() {
        let pointer = ExtentPointer { bytes: 5_000, first: PageId(77), shift: 10 };
        let value = pointer.to_value();
        assert_eq!(ExtentPointer::from_value(&value), Some(pointer));
        assert_eq!(pointer.pages().map(|page| page.0).collect::<Vec<_>>(), [77, 78, 79, 80, 81]);
        for (at, byte) in [(15, 0), (15, 8), (15, 21), (13, 1), (14, 1), (7, 1)] {
            let mut damaged = value;
            damaged[at] = byte;
            assert_eq!(ExtentPointer::from_value(&damaged), None, "{at}");
        }
        assert_eq!(ExtentPointer::from_value(&value[..15]), None);
    }

    #[test]
    fn values_of_every_length_read_back_and_leave_nothing() {
        let buffer = buffer();
        let empty = buffer.resident_bytes();
        for bytes in [1, 40, 1_023, 1_024, 1_025, 2_048, 9_000] {
            let value: Vec<u8> = (0..bytes).map(|at| (at * 7 / 3) as u8).collect();
            let pointer = write(&buffer, TreeId(5), &value).unwrap();
            assert_eq!(pointer.count(), (bytes as u64).div_ceil(1024));
            assert_eq!(pointer.memory(), memory(&buffer, value.len()));
            let used = buffer.resident_bytes() - empty;
            assert!((bytes as u64..bytes as u64 + 40_000).contains(&used), "{bytes}: {used}");
            attach(&buffer, pointer);
            let mut out = b"before".to_vec();
            assert_eq!(read(&buffer, pointer, &mut out), Ok(true));
            assert_eq!(out, [b"before", &value[..]].concat());
            free(&buffer, pointer);
            assert_eq!(read(&buffer, pointer, &mut out), Ok(false));
            assert_eq!(out.len(), 6 + value.len(), "it is unchanged");
            buffer.free_all_retired();
            assert!(buffer.resident_bytes() - empty < 40_000, "the table of pages alone");
        }
    }

    #[test]
    fn a_pointer_to_another_value_reads_nothing() {
        let buffer = buffer();
        let old = write(&buffer, TreeId(5), &[1; 3_000]).unwrap();
        free(&buffer, old);
        let new = write(&buffer, TreeId(5), &[2; 2_000]).unwrap();
        assert_eq!(new.first, old.first, "the numbers are used again");
        let mut out = Vec::new();
        assert_eq!(read(&buffer, old, &mut out), Ok(false));
        assert_eq!(read(&buffer, new, &mut out), Ok(true));
    }
}
