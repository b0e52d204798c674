//! The plan of a checkpoint, made before its first I/O: which map pages it writes, and how many slots it
//! needs, as estimated before images are captured.

use crate::buffer::page_map::{Entry, PageMap};
use crate::checkpoint::data_file::DataFile;
use crate::checkpoint::file_growth::SpaceNeeded;
use crate::checkpoint::map_page;
use crate::checkpoint::root::{BLOCK_BYTES, Directory, FORMAT};
use crate::ids::{Csn, PageId, SlotId};
use crate::planted_bug::{PlantedBug, planted};
use syncline_vfs::Disk;

/// The changes since the last checkpoint, as of the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// The last commit in the pages; not before that of the root in force.
    pub(crate) csn: Csn,
    /// Pages to capture and write, in any order, without duplicates.
    pub(crate) dirty: Vec<PageId>,
    /// The dirty pages with an image longer than a page, and the lengths of these images.
    pub(crate) long: Vec<(PageId, u32)>,
    /// Freed pages, in any order, without duplicates, none of them dirty. Some may never have been written by
    /// a checkpoint.
    pub(crate) freed: Vec<PageId>,
    /// All page ids are below this one; it is not below that of the root in force.
    pub(crate) next_page: PageId,
    /// Stored with the root unchanged.
    pub(crate) meta: Vec<u8>,
}

/// A map page with at least one dirty or freed page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChangedMapPage {
    pub(super) index: u64,
    /// True if it still holds a page; otherwise the directory omits it.
    pub(super) is_used: bool,
}

/// The plan of one checkpoint.
#[derive(Debug)]
pub(super) struct Plan {
    /// With its lists in ascending order.
    pub(super) work: Work,
    pub(super) number: u64,
    pub(super) map_pages: Vec<ChangedMapPage>,
    slot_bytes: u64,
    page_bytes: u64,
    /// The expected average length of images.
    image_bytes: u64,
}

/// The space that only the root in force names: free once the new root is stable.
#[derive(Debug)]
pub(super) struct Superseded {
    /// Each page's image.
    images: Vec<(PageId, Entry)>,
    /// Slots of map pages and of the directory.
    slots: Vec<SlotId>,
}

impl Superseded {
    /// Frees all of it, except what a held root names.
    pub(super) fn give_back<D: Disk>(self, file: &mut DataFile<D>) {
        let slot_bytes = file.slot_bytes();
        for (page, entry) in self.images {
            if file.held.as_ref().is_none_or(|held| !held.holds(page, entry)) {
                file.slots.leave(entry.slots(slot_bytes));
            }
        }
        for slot in self.slots {
            file.slots.give(slot);
        }
    }
}

impl Plan {
    pub(super) fn new<D: Disk>(file: &DataFile<D>, mut work: Work) -> Plan {
        work.dirty.sort_unstable();
        work.long.sort_unstable();
        work.freed.sort_unstable();
        check(file, &work);
        let slot_bytes = file.slot_bytes();
        Plan {
            map_pages: changed_map_pages(file, &work),
            number: file.root.number + 1,
            slot_bytes,
            page_bytes: file.root.page_bytes.into(),
            image_bytes: file.image_bytes_mean(),
            work,
        }
    }

    /// The slots for the whole checkpoint.
    pub(super) fn space_needed(&self) -> SpaceNeeded {
        let pages = self.work.dirty.len() - self.work.long.len();
        let longest = self.work.long.iter().map(|(_, bytes)| u64::from(*bytes)).max();
        SpaceNeeded {
            single: self.used_map_pages().count() as u64,
            in_a_row: self.directory_slots(),
            ..self.space_for_images(pages, self.long_bytes(), longest.unwrap_or(0))
        }
    }

    /// The slots for images of which none is longer than a page, and for others with `long_bytes` together;
    /// at least one run has room for `longest_bytes`.
    pub(super) fn space_for_images(
        &self,
        images: usize,
        long_bytes: u64,
        longest_bytes: u64,
    ) -> SpaceNeeded {
        SpaceNeeded {
            images: images as u64,
            image_bytes: self.image_bytes,
            page_bytes: self.page_bytes,
            long_bytes,
            longest_bytes,
            single: 0,
            in_a_row: 0,
        }
    }

    /// The slots of the directory, which must be consecutive.
    pub(super) fn directory_slots(&self) -> u64 {
        self.directory().slots(self.slot_bytes)
    }

    /// The new directory; its location and checksum are not known yet.
    pub(super) fn directory(&self) -> Directory {
        Directory {
            map_pages: map_page::map_pages_for(self.work.next_page, self.slot_bytes),
            meta_bytes: self.work.meta.len() as u64,
            ..Directory::default()
        }
    }

    pub(super) fn used_map_pages(&self) -> impl Iterator<Item = u64> {
        let used = self.map_pages.iter().filter(|changed| changed.is_used);
        used.map(|changed| changed.index)
    }

    /// The bytes that the checkpoint writes, excluding file growth, if each image of a page fills it.
    pub(super) fn bytes(&self) -> u64 {
        let pages = self.work.dirty.len() - self.work.long.len();
        pages as u64 * self.page_bytes + self.long_bytes() + self.bytes_behind_pages()
    }

    /// The bytes of all images that are longer than a page.
    pub(super) fn long_bytes(&self) -> u64 {
        self.work.long.iter().map(|(_, bytes)| u64::from(*bytes)).sum()
    }

    /// The length of a page's image, if it is longer than a page.
    pub(super) fn long_image_bytes(&self, page: PageId) -> Option<u64> {
        let at = self.work.long.binary_search_by_key(&page, |(page, _)| *page).ok()?;
        Some(self.work.long[at].1.into())
    }

    /// The bytes that it writes after its pages.
    pub(super) fn bytes_behind_pages(&self) -> u64 {
        let slots = self.used_map_pages().count() as u64 + self.directory_slots();
        slots * self.slot_bytes + BLOCK_BYTES as u64
    }

    /// The entries of a new map page; `written` are those of the dirty pages, in their order.
    pub(super) fn entries(&self, map: &PageMap, index: u64, written: &[Entry]) -> Vec<Entry> {
        let (first, end) = ids_in(index, self.work.next_page, self.slot_bytes);
        let mut entries: Vec<Entry> = (first.0..end.0).map(|page| map.get(PageId(page))).collect();
        for page in within(&self.work.freed, first, end) {
            entries[(page.0 - first.0) as usize] = Entry::ABSENT;
        }
        let before = self.work.dirty.partition_point(|page| *page < first);
        let dirty = within(&self.work.dirty, first, end);
        for (page, entry) in dirty.iter().zip(&written[before..]) {
            entries[(page.0 - first.0) as usize] = *entry;
        }
        entries
    }

    /// See [`Superseded`].
    pub(super) fn superseded<D: Disk>(&self, file: &DataFile<D>) -> Superseded {
        let pages = self.work.dirty.iter().chain(&self.work.freed);
        let of_pages = pages.map(|page| (*page, file.map.get(*page)));
        let of_map = self.map_pages.iter().map(|changed| {
            let entry = file.map_pages.get(changed.index as usize);
            entry.copied().unwrap_or_default()
        });
        let of_map =
            of_map.filter(|entry| !entry.is_absent()).map(|entry| entry.slot(self.slot_bytes));
        let directory = file.root.directory;
        let of_directory = 0..directory.slots(self.slot_bytes);
        let of_directory = of_directory.map(|at| SlotId(directory.slot.0 + at));
        Superseded {
            images: of_pages.filter(|(_, entry)| !entry.is_absent()).collect(),
            slots: of_map.chain(of_directory).collect(),
        }
    }
}

/// Asserts that the work is valid: a violation is a bug of the caller.
fn check<D: Disk>(file: &DataFile<D>, work: &Work) {
    let next = work.next_page;
    assert!(work.csn >= file.root.csn, "a checkpoint must not go back in commits");
    assert!(next >= file.root.next_page, "page ids must not decrease");
    assert!(next.0 < 1 << 40, "page ids have 40 bits");
    for pages in [&work.dirty, &work.freed] {
        let is_rising = pages.windows(2).all(|pair| pair[0] < pair[1]);
        assert!(is_rising, "a page is in one of the lists twice");
        let is_within = |page: &PageId| page.0 > 0 && *page < next;
        assert!(pages.iter().all(is_within), "a page id is out of range");
    }
    let is_dirty = |page: &PageId| work.dirty.binary_search(page).is_ok();
    assert!(!work.freed.iter().any(is_dirty), "a freed page is dirty");
    let is_long = |(page, bytes): &(PageId, u32)| is_dirty(page) && *bytes > file.root.page_bytes;
    assert!(work.long.iter().all(is_long), "a long image is not of a dirty page, or not long");
}

fn changed_map_pages<D: Disk>(file: &DataFile<D>, work: &Work) -> Vec<ChangedMapPage> {
    let (map, slot_bytes) = (&file.map, file.slot_bytes());
    let in_map_page = map_page::entries_in(slot_bytes);
    let index_of = |page: &PageId| (page.0 - 1) / in_map_page;
    let gone = work.freed.iter().filter(|page| !map.get(**page).is_absent());
    let mut indices: Vec<u64> = work.dirty.iter().chain(gone).map(index_of).collect();
    let limit = file.slots.limit() * slot_bytes;
    let behind = file.map_pages.iter().enumerate().filter(|(_, entry)| entry.end() > limit);
    indices.extend(behind.map(|(index, _)| index as u64));
    if file.root.format < FORMAT && !planted(PlantedBug::KeepOldMapPages) {
        indices = (0..map_page::map_pages_for(work.next_page, slot_bytes)).collect();
    }
    indices.sort_unstable();
    indices.dedup();
    let changed = indices.into_iter().map(|index| {
        let (first, end) = ids_in(index, work.next_page, slot_bytes);
        let freed = within(&work.freed, first, end);
        let stays = |page: u64| {
            let page = PageId(page);
            !map.get(page).is_absent() && freed.binary_search(&page).is_err()
        };
        ChangedMapPage {
            index,
            is_used: !within(&work.dirty, first, end).is_empty() || (first.0..end.0).any(stays),
        }
    });
    changed.collect()
}

/// The page ids that a map page covers: from the first to before the second.
fn ids_in(index: u64, next_page: PageId, slot_bytes: u64) -> (PageId, PageId) {
    let in_map_page = map_page::entries_in(slot_bytes);
    let first = index * in_map_page + 1;
    (PageId(first), PageId((first + in_map_page).min(next_page.0)))
}

/// The part of an ascending list from `first` to before `end`.
fn within(pages: &[PageId], first: PageId, end: PageId) -> &[PageId] {
    let from = pages.partition_point(|page| *page < first);
    let to = pages.partition_point(|page| *page < end);
    &pages[from..to]
}
