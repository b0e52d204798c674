//! The page map in memory: where the image of each page lies in the data file, and to which tree it belongs.
//!
//! It is the map of the root in force. Buffer and data file share it: the data file fills it when it is
//! opened and changes it when a checkpoint comes into force; the buffer reads the images of pages that are
//! not in memory.
//!
//! Invariants:
//! 1. Only the thread that drives the data file changes entries.
//! 2. The entry of a page that is on disk or loading ([`super::translation`]) changes only if its image is
//!    moved: otherwise a page changes its place only in a checkpoint that captured it from memory, and the
//!    page can leave memory only once that checkpoint is in force.
//! 3. A moved image is the same page, and its old place is not overwritten before the entry has changed. So
//!    who read an entry and then finds something else in its place reads again, if entries have changed since
//!    ([`PageMap::changes`]). What it found by an older entry is right.

use super::page::{u32_at, u64_at};
use super::page_table::PageTable;
use crate::ids::{PageId, SlotId, TreeId};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Bytes of an entry.
pub(crate) const ENTRY_BYTES: usize = 16;

/// All bytes of a data file lie below this offset.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << OFFSET_BITS;

const OFFSET_BITS: u32 = 43;

/// The location, the length, the checksum and the tree of an image or a map page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Where it begins in the file, in bytes; 0 if there is nothing.
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) crc: u32,
    /// The tree that the page belongs to. 0 for a map page, and until the image has been read for an entry of
    /// format 2.
    pub(crate) tree: TreeId,
}

impl Entry {
    /// An entry for nothing.
    pub(crate) const ABSENT: Entry = Entry { offset: 0, bytes: 0, crc: 0, tree: TreeId(0) };

    pub(crate) fn is_absent(self) -> bool {
        self.offset == 0
    }

    /// Where it ends.
    pub(crate) fn end(self) -> u64 {
        self.offset.saturating_add(self.bytes.into())
    }

    /// The slots in which it lies, entirely or in part.
    pub(crate) fn slots(self, slot_bytes: u64) -> Range<u64> {
        self.offset / slot_bytes..self.end().div_ceil(slot_bytes)
    }

    /// The first of these slots.
    pub(crate) fn slot(self, slot_bytes: u64) -> SlotId {
        SlotId(self.offset / slot_bytes)
    }

    fn to_words(self) -> [u64; 2] {
        let fits = self.offset < FILE_BYTES_MAX && u64::from(self.bytes) < 1 << (64 - OFFSET_BITS);
        assert!(fits, "an image of {} bytes at {} has no entry", self.bytes, self.offset);
        let location = self.offset | u64::from(self.bytes) << OFFSET_BITS;
        [location, u64::from(self.crc) | u64::from(self.tree.0) << 32]
    }

    fn from_words([location, content]: [u64; 2]) -> Entry {
        Entry {
            offset: location & (FILE_BYTES_MAX - 1),
            bytes: (location >> OFFSET_BITS) as u32,
            crc: content as u32,
            tree: TreeId((content >> 32) as u32),
        }
    }

    /// The entry as bytes, see `checkpoint::map_page`.
    pub(crate) fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let [location, content] = self.to_words();
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&location.to_le_bytes());
        bytes[8..].copy_from_slice(&content.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Entry {
        Entry::from_words([u64_at(bytes, 0), u64_at(bytes, 8)])
    }

    /// The entry in a file of that format.
    pub(crate) fn of_format(format: u32, bytes: &[u8]) -> Entry {
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

#[derive(Debug, Default)]
struct AtomicEntry([AtomicU64; 2]);

/// The entries of all pages.
#[derive(Debug)]
pub(crate) struct PageMap {
    entries: PageTable<AtomicEntry>,
    /// Counts the beginnings and the ends of changes: odd while a thread changes entries.
    changes: AtomicU64,
}

/// Entries change until it is dropped.
pub(crate) struct ChangingEntries<'m>(&'m PageMap);

impl Drop for ChangingEntries<'_> {
    fn drop(&mut self) {
        self.0.changes.fetch_add(1, Ordering::SeqCst);
    }
}

impl PageMap {
    /// A map without pages.
    pub(crate) fn new() -> PageMap {
        PageMap { entries: PageTable::new(), changes: AtomicU64::new(0) }
    }

    /// Call it before the entries of pages change that are on disk.
    pub(crate) fn begin_changes(&self) -> ChangingEntries<'_> {
        self.changes.fetch_add(1, Ordering::SeqCst);
        ChangingEntries(self)
    }

    /// Identifies the entries that are read after this call, if a later call returns the same. None while
    /// they are being changed.
    pub(crate) fn changes(&self) -> Option<u64> {
        fence(Ordering::SeqCst);
        let changes = self.changes.load(Ordering::SeqCst);
        changes.is_multiple_of(2).then_some(changes)
    }

    /// Memory of the map, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.entries.bytes()
    }

    /// The page's entry, which may be absent.
    pub(crate) fn get(&self, page: PageId) -> Entry {
        let entry = self.entries.get(page);
        entry.map_or(Entry::ABSENT, |AtomicEntry([location, content])| {
            // By invariants 2 and 3 both belong together where it matters.
            Entry::from_words([location.load(Ordering::Acquire), content.load(Ordering::Acquire)])
        })
    }

    /// Sets the page's entry.
    pub(crate) fn set(&self, page: PageId, entry: Entry) {
        if entry.is_absent() && self.entries.get(page).is_none() {
            return;
        }
        let [location, content] = entry.to_words();
        let AtomicEntry(words) = self.entries.entry(page);
        words[1].store(content, Ordering::Release);
        words[0].store(location, Ordering::Release);
    }

    /// Every existing page below `end`, with its entry, ascending.
    pub(crate) fn pages(&self, end: PageId) -> impl Iterator<Item = (PageId, Entry)> {
        let entries = (1..end.0).map(|page| (PageId(page), self.get(PageId(page))));
        entries.filter(|(_, entry)| !entry.is_absent())
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, FILE_BYTES_MAX, PageMap};
    use crate::ids::{PageId, SlotId, TreeId};

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
    fn pages_are_counted_from_one() {
        let map = PageMap::new();
        assert!(map.get(PageId(1)).is_absent());
        map.set(PageId(2), Entry::ABSENT);
        assert_eq!(map.bytes(), 0, "nothing is stored for absent pages");
        let entry = |number| Entry { offset: number * 700, bytes: 9, ..Entry::ABSENT };
        for number in [1, 3, 7] {
            map.set(PageId(number), entry(number));
        }
        let pages = |end| -> Vec<u64> { map.pages(PageId(end)).map(|(page, _)| page.0).collect() };
        assert_eq!((pages(7), pages(8)), (vec![1, 3], vec![1, 3, 7]));
        assert_eq!(map.get(PageId(3)), entry(3));
        map.set(PageId(3), Entry::ABSENT);
        assert_eq!(pages(8), [1, 7]);
        assert!(map.get(PageId(0)).is_absent() && map.get(PageId(1 << 30)).is_absent());
    }
}
