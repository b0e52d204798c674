//! The page map: where the image of each page lies, and to which tree it belongs.
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
use crate::ids::{PageId, SlotId, TreeId};
use std::ops::Range;

/// Bytes of an entry.
pub(super) const ENTRY_BYTES: usize = 16;

/// All bytes of a data file lie below this offset.
pub(super) const FILE_BYTES_MAX: u64 = 1 << OFFSET_BITS;

const OFFSET_BITS: u32 = 43;

const HEADER_BYTES: usize = 32;

/// The location, the length and the checksum of an image or a map page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Where it begins in the file, in bytes; 0 if there is nothing.
    pub(super) offset: u64,
    pub(super) bytes: u32,
    pub(super) crc: u32,
    /// The tree that the page belongs to. 0 for a map page, and until the image has been read for an entry of
    /// format 2.
    pub(super) tree: TreeId,
}

impl Entry {
    /// An entry for nothing.
    pub(super) const ABSENT: Entry = Entry { offset: 0, bytes: 0, crc: 0, tree: TreeId(0) };

    pub(super) fn is_absent(self) -> bool {
        self.offset == 0
    }

    /// Where it ends.
    pub(super) fn end(self) -> u64 {
        self.offset.saturating_add(self.bytes.into())
    }

    /// The slots in which it lies, entirely or in part.
    pub(super) fn slots(self, slot_bytes: u64) -> Range<u64> {
        self.offset / slot_bytes..self.end().div_ceil(slot_bytes)
    }

    /// The first of these slots.
    pub(super) fn slot(self, slot_bytes: u64) -> SlotId {
        SlotId(self.offset / slot_bytes)
    }

    pub(super) fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let fits = self.offset < FILE_BYTES_MAX && u64::from(self.bytes) < 1 << (64 - OFFSET_BITS);
        assert!(fits, "an image of {} bytes at {} has no entry", self.bytes, self.offset);
        let place = self.offset | u64::from(self.bytes) << OFFSET_BITS;
        let content = u64::from(self.crc) | u64::from(self.tree.0) << 32;
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&place.to_le_bytes());
        bytes[8..].copy_from_slice(&content.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Entry {
        let place = u64_at(bytes, 0);
        Entry {
            offset: place & (FILE_BYTES_MAX - 1),
            bytes: (place >> OFFSET_BITS) as u32,
            crc: u32_at(bytes, 8),
            tree: TreeId(u32_at(bytes, 12)),
        }
    }

    /// The entry in a file of that format.
    pub(super) fn of_format(format: u32, bytes: &[u8]) -> Entry {
        match format {
            2 => Entry {
                offset: u64_at(bytes, 0),
                bytes: u32_at(bytes, 8),
                crc: u32_at(bytes, 12),
                tree: TreeId(0),
            },
            _ => Entry::from_bytes(bytes),
        }
    }
}

/// The map in memory, as the last stable root names it.
#[derive(Clone, Debug, Default)]
pub(super) struct PageMap {
    /// By page id, minus 1.
    pub(super) entries: Vec<Entry>,
    /// By index: the directory's entries.
    pub(super) map_pages: Vec<Entry>,
    /// The images that are longer than a page.
    pub(super) long: LongImages,
}

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

impl PageMap {
    /// The page's entry, which may be absent.
    pub(super) fn get(&self, page: PageId) -> Entry {
        let index = usize::try_from(page.0.wrapping_sub(1)).unwrap_or(usize::MAX);
        self.entries.get(index).copied().unwrap_or_default()
    }

    /// Every existing page, with its entry.
    pub(super) fn pages(&self) -> impl Iterator<Item = (PageId, Entry)> {
        let numbered = self.entries.iter().enumerate();
        numbered
            .filter(|(_, entry)| !entry.is_absent())
            .map(|(index, entry)| (PageId(index as u64 + 1), *entry))
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
    use super::{Entry, FILE_BYTES_MAX, PageMap, entries_in, map_pages_for, write};
    use crate::checkpoint::root::FORMAT;
    use crate::ids::{PageId, SlotId, TreeId};

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
    fn an_entry_reads_back_and_knows_its_slots() {
        let entry = Entry { offset: 1_300, bytes: 800, crc: 0x12ab_cdef, tree: TreeId(7) };
        assert_eq!(Entry::from_bytes(&entry.to_bytes()), entry);
        let greatest = Entry {
            offset: FILE_BYTES_MAX - 1,
            bytes: (1 << 21) - 1,
            crc: u32::MAX,
            tree: TreeId(u32::MAX),
        };
        assert_eq!(Entry::from_bytes(&greatest.to_bytes()), greatest);
        assert!(!entry.is_absent() && Entry::ABSENT.is_absent());
        assert_eq!((entry.end(), entry.slot(512)), (2_100, SlotId(2)));
        assert_eq!(entry.slots(512), 2..5);
        let whole = Entry { offset: 1_024, bytes: 512, ..Entry::ABSENT };
        assert_eq!(whole.slots(512), 2..3);
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
    fn pages_are_counted_from_one() {
        let mut map = PageMap::default();
        assert!(map.get(PageId(1)).is_absent());
        map.entries = entries(3);
        map.entries[1] = Entry::ABSENT;
        let pages: Vec<u64> = map.pages().map(|(page, _)| page.0).collect();
        assert_eq!(pages, [1, 3]);
        assert_eq!(map.get(PageId(3)).offset, 2_100);
        assert!(map.get(PageId(0)).is_absent() && map.get(PageId(4)).is_absent());
        let full = entries_in(512);
        assert_eq!(full, 30);
        assert_eq!(map_pages_for(PageId(1), 512), 0);
        assert_eq!(map_pages_for(PageId(full + 1), 512), 1);
        assert_eq!(map_pages_for(PageId(full + 2), 512), 2);
    }
}
