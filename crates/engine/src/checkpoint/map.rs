//! The map: which slot holds which page.
//!
//! An entry has 8 bytes: the slot in the lower 40 bits, the lower 24 bits of the checksum of what lies
//! there in the upper 24. Slot 0 means that there is no such page. The same entry, in the directory,
//! names a map page; a map page without any page is left out.
//!
//! A map page, little endian; it fills a slot:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | index of this map page, from 0 |
//! | 8 | 8 | number of the checkpoint that wrote it |
//! | 16 | 4 | CRC32C of the map page with this field zero |
//! | 20 | 4 | zero |
//! | 24 | 8 each | entries of the pages from index * n + 1 on, where n fill the map page |

use crate::buffer::page::{u32_at, u64_at};
use crate::ids::{PageId, SlotId};

const HEADER_BYTES: usize = 24;
const ENTRY_BYTES: usize = 8;
const SLOT_BITS: u32 = 40;

/// Where a page or a map page lies, and a part of its checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry(u64);

impl Entry {
    /// Nothing.
    pub(super) const ABSENT: Entry = Entry(0);

    pub(super) fn new(slot: SlotId, crc: u32) -> Entry {
        assert!(slot.0 > 0 && slot.0 < 1 << SLOT_BITS, "{slot} has no entry");
        Entry(slot.0 | u64::from(crc) << SLOT_BITS)
    }

    pub(super) fn slot(self) -> SlotId {
        SlotId(self.0 & ((1 << SLOT_BITS) - 1))
    }

    pub(super) fn is_absent(self) -> bool {
        self.slot().0 == 0
    }

    /// True if what lies there may have this checksum.
    pub(super) fn fits(self, crc: u32) -> bool {
        let tail_bits = 64 - SLOT_BITS;
        (self.0 >> SLOT_BITS) == u64::from(crc) & ((1 << tail_bits) - 1)
    }

    pub(super) fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        self.0.to_le_bytes()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Entry {
        Entry(u64_at(bytes, 0))
    }
}

/// The map in memory, as the last stable root has it.
#[derive(Clone, Debug, Default)]
pub(super) struct Map {
    /// By page id, less 1.
    pub(super) entries: Vec<Entry>,
    /// By index: the directory's entries.
    pub(super) map_pages: Vec<Entry>,
}

impl Map {
    /// The page's entry, which may be absent.
    pub(super) fn get(&self, page: PageId) -> Entry {
        let index = usize::try_from(page.0.wrapping_sub(1)).unwrap_or(usize::MAX);
        self.entries.get(index).copied().unwrap_or_default()
    }

    /// Every page that is there, with its entry.
    pub(super) fn pages(&self) -> impl Iterator<Item = (PageId, Entry)> {
        let numbered = self.entries.iter().enumerate();
        numbered
            .filter(|(_, entry)| !entry.is_absent())
            .map(|(index, entry)| (PageId(index as u64 + 1), *entry))
    }
}

/// How many entries a map page of that size holds.
pub(super) fn entries_in(page_bytes: u32) -> usize {
    (page_bytes as usize - HEADER_BYTES) / ENTRY_BYTES
}

/// How many map pages it takes for all page ids below `next_page`.
pub(super) fn map_pages_for(next_page: PageId, page_bytes: u32) -> u64 {
    (next_page.0 - 1).div_ceil(entries_in(page_bytes) as u64)
}

/// Writes a map page; returns its checksum. At most as many entries as fit.
pub(super) fn write(
    out: &mut [u8],
    index: u64,
    number: u64,
    entries: impl Iterator<Item = Entry>,
) -> u32 {
    out.fill(0);
    out[..8].copy_from_slice(&index.to_le_bytes());
    out[8..16].copy_from_slice(&number.to_le_bytes());
    let mut places = out[HEADER_BYTES..].chunks_exact_mut(ENTRY_BYTES);
    for entry in entries {
        let place = places
            .next()
            .expect("a map page has room for all its entries");
        place.copy_from_slice(&entry.to_bytes());
    }
    let crc = crc32c::crc32c(out);
    out[16..20].copy_from_slice(&crc.to_le_bytes());
    crc
}

/// The entries of a map page, all that it has room for, or why it is not the one that `entry` names.
pub(super) fn read(
    bytes: &[u8],
    index: u64,
    entry: Entry,
) -> Result<impl Iterator<Item = Entry>, &'static str> {
    let head = crc32c::crc32c(&bytes[..16]);
    let crc = crc32c::crc32c_append(crc32c::crc32c_append(head, &[0; 4]), &bytes[20..]);
    if crc != u32_at(bytes, 16) {
        return Err("the map page's checksum does not fit its bytes");
    }
    if u64_at(bytes, 0) != index {
        return Err("another map page stands in its place");
    }
    if !entry.fits(crc) {
        return Err("another version of the map page stands in its place");
    }
    let entries = bytes[HEADER_BYTES..].chunks_exact(ENTRY_BYTES);
    Ok(entries.map(Entry::from_bytes))
}

#[cfg(test)]
mod tests {
    use super::{Entry, Map, entries_in, map_pages_for, read, write};
    use crate::ids::{PageId, SlotId};

    fn entries(count: u64) -> Vec<Entry> {
        let entry = |slot: u64| Entry::new(SlotId(slot), slot as u32 * 77);
        (1..=count).map(entry).collect()
    }

    #[test]
    fn an_entry_holds_forty_bits_of_slot_and_the_tail_of_a_checksum() {
        let entry = Entry::new(SlotId((1 << 40) - 1), 0x12ab_cdef);
        assert_eq!(Entry::from_bytes(&entry.to_bytes()), entry);
        assert_eq!(entry.slot(), SlotId((1 << 40) - 1));
        assert!(entry.fits(0x12ab_cdef) && entry.fits(0x99ab_cdef));
        assert!(!entry.fits(0x12ab_cdee) && !entry.is_absent() && Entry::ABSENT.is_absent());
    }

    #[test]
    fn a_map_page_reads_back_at_every_page_size() {
        for page_bytes in [512, 1024, 4096, 8192, 32_768_u32] {
            let mut page = vec![0xff; page_bytes as usize];
            let full = entries(entries_in(page_bytes) as u64);
            let crc = write(&mut page, 3, 8, full.iter().copied());
            let entry = Entry::new(SlotId(5), crc);
            let found: Vec<_> = read(&page, 3, entry).unwrap().collect();
            assert_eq!(found, full);
        }
    }

    #[test]
    fn a_map_page_in_the_wrong_place_or_of_another_time_is_noticed() {
        let mut page = vec![0; 512];
        let crc = write(&mut page, 3, 8, entries(9).into_iter());
        let entry = Entry::new(SlotId(5), crc);
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
        let mut map = Map::default();
        assert!(map.get(PageId(1)).is_absent());
        map.entries = entries(3);
        map.entries[1] = Entry::ABSENT;
        let pages: Vec<u64> = map.pages().map(|(page, _)| page.0).collect();
        assert_eq!(pages, [1, 3]);
        assert_eq!(map.get(PageId(3)).slot(), SlotId(3));
        assert!(map.get(PageId(0)).is_absent() && map.get(PageId(4)).is_absent());
        let (full, page) = (entries_in(512) as u64, 512);
        assert_eq!(map_pages_for(PageId(1), page), 0);
        assert_eq!(map_pages_for(PageId(full + 1), page), 1);
        assert_eq!(map_pages_for(PageId(full + 2), page), 2);
    }
}
