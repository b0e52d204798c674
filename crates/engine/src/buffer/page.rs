//! A page's header: the start of every page, in memory as on disk, where pages are packed
//! ([`super::page_packing`]).
//!
//! Header, 40 bytes, little endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | page number |
//! | 8 | 4 | tree number |
//! | 12 | 1 | kind: 1 = leaf, 2 = inner, 3 = overflow page of format 2, 4 = extent |
//! | 13 | 1 | level: 0 for leaves and extents, 1 above leaves, and so on |
//! | 14 | 2 | zero |
//! | 16 | 8 | number of the checkpoint that wrote this image; zero in memory before the first |
//! | 24 | 4 | CRC32C of the whole image with this field zero |
//! | 28 | 12 | used by the kind |

use super::extent::EXTENT_IMAGE_BYTES_MAX;
use crate::ids::{PageId, TreeId};

/// Bytes of the header of every page.
pub(crate) const HEADER_BYTES: usize = 40;

/// The smallest page in bytes.
pub(crate) const PAGE_BYTES_MIN: u32 = 512;

/// The largest page in bytes.
pub(crate) const PAGE_BYTES_MAX: u32 = 32768;

const NUMBER_AT: usize = 16;
const CRC_AT: usize = 24;

/// The kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rows of a tree.
    Leaf,
    /// Separators and children of a tree.
    Inner,
    /// A part of a value that is too long for a leaf, in a data file of format 2. Opening converts it.
    Overflow,
    /// A part of a value that is too long for a leaf.
    Extent,
}

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Kind::Leaf => 1,
            Kind::Inner => 2,
            Kind::Overflow => 3,
            Kind::Extent => 4,
        }
    }
}

/// Writes page number, tree, kind and level; the rest of the header stays unchanged.
pub(crate) fn label(page: &mut [u8], number: PageId, tree: TreeId, kind: Kind, level: u8) {
    put_u64(page, 0, number.0);
    put_u32(page, 8, tree.0);
    page[12] = kind.byte();
    page[13] = level;
}

/// The page's number.
pub(crate) fn number(page: &[u8]) -> PageId {
    PageId(u64_at(page, 0))
}

/// The tree that the page belongs to.
pub(crate) fn tree(page: &[u8]) -> TreeId {
    TreeId(u32_at(page, 8))
}

/// The page's kind; none if the byte is unknown.
pub(crate) fn kind(page: &[u8]) -> Option<Kind> {
    let kinds = [Kind::Leaf, Kind::Inner, Kind::Overflow, Kind::Extent];
    kinds.into_iter().find(|kind| kind.byte() == page[12])
}

/// The page's level above the leaves.
pub(crate) fn level(page: &[u8]) -> u8 {
    page[13]
}

/// Prepares an image for the disk: writes the checkpoint's number and the checksum, and returns the checksum.
pub(crate) fn seal(page: &mut [u8], checkpoint: u64) -> u32 {
    put_u64(page, NUMBER_AT, checkpoint);
    let crc = crc_of(page);
    put_u32(page, CRC_AT, crc);
    crc
}

/// Checks an image read from the disk: its length, its checksum, and its page number. Returns the checksum,
/// or what is wrong.
pub(crate) fn verify(page: &[u8], expected: PageId) -> Result<u32, &'static str> {
    if !(HEADER_BYTES..=EXTENT_IMAGE_BYTES_MAX as usize).contains(&page.len()) {
        return Err("its length is not that of a page");
    }
    let crc = u32_at(page, CRC_AT);
    if crc_of(page) != crc {
        return Err("its checksum does not match");
    }
    if number(page) != expected {
        return Err("it carries the number of another page");
    }
    if kind(page).is_none() {
        return Err("its kind is unknown");
    }
    Ok(crc)
}

fn crc_of(page: &[u8]) -> u32 {
    let crc = crc32c::crc32c(&page[..CRC_AT]);
    let crc = crc32c::crc32c_append(crc, &[0; 4]);
    crc32c::crc32c_append(crc, &page[CRC_AT + 4..])
}

/// The two bytes at that offset as a number.
#[inline]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}

/// The four bytes at that offset as a number.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

/// The eight bytes at that offset as a number.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

/// Writes two bytes at that offset.
#[inline]
pub(crate) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

/// Writes four bytes at that offset.
#[inline]
pub(crate) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Writes eight bytes at that offset.
#[inline]
pub(crate) fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// Eight bytes of a string padded with zeros, as a big-endian number.
#[inline]
pub(crate) fn eight_at(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    if let Some(whole) = rest.first_chunk() {
        return u64::from_be_bytes(*whole);
    }
    if rest.is_empty() {
        return 0;
    }
    // Load the last eight bytes and shift the earlier ones out: copying so few bytes would cost more.
    if let Some(last) = bytes.last_chunk() {
        return u64::from_be_bytes(*last) << (8 * (8 - rest.len()));
    }
    let mut padded = [0; 8];
    padded[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(padded)
}

#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

#[cfg(test)]
mod tests {
    use super::{Kind, kind, label, level, seal, tree, verify};
    use crate::ids::{PageId, TreeId};

    #[test]
    fn a_sealed_page_verifies_and_any_flipped_bit_does_not() {
        let mut page = vec![7_u8; 512];
        label(&mut page, PageId(9), TreeId(3), Kind::Inner, 2);
        let crc = seal(&mut page, 41);
        assert_eq!(verify(&page, PageId(9)), Ok(crc));
        assert_eq!((tree(&page), kind(&page), level(&page)), (TreeId(3), Some(Kind::Inner), 2));
        assert_ne!(seal(&mut page, 42), crc, "the checkpoint's number is covered");
        for bit in 0..512 * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&page, PageId(9)).is_err(), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(verify(&page, PageId(8)).is_err());
        assert!(verify(&page[..100], PageId(9)).is_err());
    }
}
