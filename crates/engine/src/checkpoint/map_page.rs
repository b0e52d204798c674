//! Map pages: the page map in the file, which says where the image of each page lies, and to which tree it
//! belongs.
//!
//! An entry has 16 bytes, two little-endian numbers:
//!
//! | number | bits | field |
//! |---|---|---|
//! | 0 | 0 to 42 | where the image begins in the file, in bytes; 0: there is no such page |
//! | 0 | 43 to 63 | its length in bytes |
//! | 1 | 0 to 31 | its checksum, the same that the image carries |
//! | 1 | 32 to 63 | the number of the tree that the page belongs to; 0 for a map page |
//!
//! So the pages of a tree are known without reading them. In the directory, the same kind of entry names a
//! map page; a map page without any page is left out.
//!
//! In format 2 an entry named no tree: offset (8 bytes), length (4), checksum (4). Opening a file of that
//! format reads every page for its tree, and the next checkpoint writes the whole map anew.
//!
//! A map page fills one slot:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | index of this map page, from 0 |
//! | 8 | 8 | number of the checkpoint that wrote it |
//! | 16 | 4 | CRC32C of the map page with this field zero |
//! | 20 | 12 | zero |
//! | 32 | 16 each | entries of the pages from index * n + 1 on, where n fill the map page |

use crate::buffer::page::{u32_at, u64_at};
use crate::buffer::page_map::{ENTRY_BYTES, Entry};
use crate::ids::PageId;

const HEADER_BYTES: usize = 32;

/// Images that are longer than a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LongImages {
    /// Their number.
    pub(super) count: u64,
    /// The sum of their lengths.
    pub(super) bytes: u64,
}

impl LongImages {
    /// Those among the entries.
    pub(super) fn of(entries: impl Iterator<Item = Entry>, page_bytes: u32) -> LongImages {
        let mut long = LongImages::default();
        for entry in entries.filter(|entry| entry.bytes > page_bytes) {
            long.count += 1;
            long.bytes += u64::from(entry.bytes);
        }
        long
    }
}

/// How many entries a map page in a slot of this size holds.
pub(super) fn entries_in(slot_bytes: u64) -> u64 {
    (slot_bytes - HEADER_BYTES as u64) / ENTRY_BYTES as u64
}

/// How many map pages cover all page ids below `next_page`.
pub(super) fn map_pages_for(next_page: PageId, slot_bytes: u64) -> u64 {
    (next_page.0 - 1).div_ceil(entries_in(slot_bytes))
}

/// Writes a map page; returns its checksum. The entries must fit.
pub(super) fn write(
    out: &mut [u8],
    index: u64,
    number: u64,
    entries: impl Iterator<Item = Entry>,
) -> u32 {
    out.fill(0);
    out[..8].copy_from_slice(&index.to_le_bytes());
    out[8..16].copy_from_slice(&number.to_le_bytes());
    let mut targets = out[HEADER_BYTES..].chunks_exact_mut(ENTRY_BYTES);
    for entry in entries {
        let target = targets.next().expect("a map page has room for all its entries");
        target.copy_from_slice(&entry.to_bytes());
    }
    let crc = crc32c::crc32c(out);
    out[16..20].copy_from_slice(&crc.to_le_bytes());
    crc
}

/// All entries of a map page in a file of that format, or why it is not the page that `entry` names.
pub(super) fn read(
    bytes: &[u8],
    format: u32,
    index: u64,
    entry: Entry,
) -> Result<impl Iterator<Item = Entry>, &'static str> {
    let head = crc32c::crc32c(&bytes[..16]);
    let crc = crc32c::crc32c_append(crc32c::crc32c_append(head, &[0; 4]), &bytes[20..]);
    if crc != u32_at(bytes, 16) {
        return Err("the map page's checksum does not match its bytes");
    }
    if u64_at(bytes, 0) != index {
        return Err("the file holds another map page there");
    }
    if entry.crc != crc || entry.bytes as usize != bytes.len() {
        return Err("the file holds another version of the map page there");
    }
    let entries = bytes[HEADER_BYTES..].chunks_exact(ENTRY_BYTES);
    Ok(entries.map(move |entry| Entry::of_format(format, entry)))
}

#[cfg(test)]
mod tests {
    use super::{Entry, entries_in, map_pages_for, write};
    use crate::checkpoint::root::FORMAT;
    use crate::ids::{PageId, TreeId};

    fn read(
        bytes: &[u8],
        index: u64,
        entry: Entry,
    ) -> Result<impl Iterator<Item = Entry>, &'static str> {
        super::read(bytes, FORMAT, index, entry)
    }

    fn entries(count: u64) -> Vec<Entry> {
        let entry = |number: u64| Entry {
            offset: number * 700,
            bytes: number as u32 * 3,
            crc: number as u32 * 77,
            tree: TreeId(number as u32 % 5),
        };
        (1..=count).map(entry).collect()
    }

    fn named(bytes: &[u8], crc: u32) -> Entry {
        Entry { offset: 4096, bytes: bytes.len() as u32, crc, tree: TreeId(0) }
    }

    #[test]
    fn a_map_page_reads_back_at_every_slot_size() {
        for slot_bytes in [512, 1024, 4096_u64] {
            let mut page = vec![0xff; slot_bytes as usize];
            let full = entries(entries_in(slot_bytes));
            let crc = write(&mut page, 3, 8, full.iter().copied());
            let found: Vec<_> = read(&page, 3, named(&page, crc)).unwrap().collect();
            assert_eq!(found, full);
        }
    }

    #[test]
    fn a_misplaced_or_outdated_map_page_is_detected() {
        let mut page = vec![0; 512];
        let crc = write(&mut page, 3, 8, entries(9).into_iter());
        let entry = named(&page, crc);
        assert!(read(&page, 4, entry).is_err_and(|why| why.contains("another map page")));
        let mut older = page.clone();
        write(&mut older, 3, 7, entries(9).into_iter());
        assert!(read(&older, 3, entry).is_err_and(|why| why.contains("version")));
        for bit in 0..512 * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&page, 3, entry).is_err(), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn map_pages_cover_all_pages_below_the_next() {
        let full = entries_in(512);
        assert_eq!(full, 30);
        assert_eq!(map_pages_for(PageId(1), 512), 0);
        assert_eq!(map_pages_for(PageId(full + 1), 512), 1);
        assert_eq!(map_pages_for(PageId(full + 2), 512), 2);
    }
}
