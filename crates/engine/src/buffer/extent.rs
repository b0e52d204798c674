//! An extent: a part of a value that is too long for its leaf, in one immutable page of up to 1 MiB.
//!
//! After the header of every page ([`super::page`]), little endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 28 | 4 | bytes of the value in this extent, n |
//! | 32 | 8 | number of the value's first extent, which may be this one |
//! | 40 | n | those bytes, up to the end of the page |
//!
//! An extent is as long as its content, in memory and on the disk.

use super::page::{self, HEADER_BYTES, Kind, put_u32, put_u64, u32_at, u64_at};
use crate::ids::{PageId, TreeId};
use std::sync::Arc;

/// The most bytes of a value in an extent. A value is read with one read for each of them.
pub(crate) const EXTENT_BYTES_MAX: u64 = 1 << 20;

/// The fewest bytes of a value in an extent that is not its last one.
pub(crate) const EXTENT_BYTES_MIN: u64 = 512;

/// The longest image of an extent.
pub(crate) const EXTENT_IMAGE_BYTES_MAX: u64 = EXTENT_BYTES_MAX + HEADER_BYTES as u64;

const PART_AT: usize = 28;
const FIRST_AT: usize = 32;

/// An extent's page.
pub(crate) fn image(page: PageId, tree: TreeId, first: PageId, part: &[u8]) -> Arc<[u8]> {
    // The length of this iterator is known, so that the memory is allocated once and not copied.
    let mut image: Arc<[u8]> = std::iter::repeat_n(0, HEADER_BYTES + part.len()).collect();
    let bytes = Arc::get_mut(&mut image).expect("nobody else has it yet");
    page::label(bytes, page, tree, Kind::Extent, 0);
    put_u32(bytes, PART_AT, part.len() as u32);
    put_u64(bytes, FIRST_AT, first.0);
    bytes[HEADER_BYTES..].copy_from_slice(part);
    image
}

/// The value's bytes in an extent, and the number of the value's first extent.
pub(crate) fn part(image: &[u8]) -> (&[u8], PageId) {
    (&image[HEADER_BYTES..], PageId(u64_at(image, FIRST_AT)))
}

/// Checks the length of an image from the disk.
pub(super) fn check(image: &[u8]) -> Result<(), &'static str> {
    if !(HEADER_BYTES..=EXTENT_IMAGE_BYTES_MAX as usize).contains(&image.len()) {
        return Err("its length is not that of an extent");
    }
    if u32_at(image, PART_AT) as usize != image.len() - HEADER_BYTES {
        return Err("its length is not the one in its header");
    }
    Ok(())
}
