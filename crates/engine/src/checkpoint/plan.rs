//! What a checkpoint is about to write, known before its first I/O: how many slots, which map pages.

use crate::checkpoint::data_file::DataFile;
use crate::checkpoint::map::{self, Entry, Map};
use crate::checkpoint::room::Wanted;
use crate::checkpoint::root::{BLOCK_BYTES, Directory};
use crate::ids::{Csn, PageId, SlotId};
use syncline_disk::Disk;

/// What changed since the last checkpoint: the cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// The last commit in the pages; not before that of the root in force.
    pub(crate) csn: Csn,
    /// Pages to be captured and written, in any order, each once.
    pub(crate) dirty: Vec<PageId>,
    /// Pages that are gone, in any order, each once and none of them dirty. A page that no checkpoint
    /// has written may be among them.
    pub(crate) freed: Vec<PageId>,
    /// All page ids are below; not below that of the root in force.
    pub(crate) next_page: PageId,
    /// Kept with the root as it is given.
    pub(crate) meta: Vec<u8>,
}

/// A map page that some dirty or freed page changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChangedMapPage {
    pub(super) index: u64,
    /// Some page is left in it; else it is left out of the directory.
    pub(super) is_used: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Plan {
    /// With dirty and freed in ascending order.
    pub(super) work: Work,
    pub(super) number: u64,
    pub(super) map_pages: Vec<ChangedMapPage>,
    page_bytes: u32,
}

impl Plan {
    pub(super) fn new<D: Disk>(file: &DataFile<D>, mut work: Work) -> Plan {
        work.dirty.sort_unstable();
        work.freed.sort_unstable();
        check(file, &work);
        Plan {
            map_pages: changed_map_pages(&file.map, &work, file.root.page_bytes),
            number: file.root.number + 1,
            page_bytes: file.root.page_bytes,
            work,
        }
    }

    /// Slots that may lie anywhere: of pages and of map pages.
    pub(super) fn single_slots(&self) -> u64 {
        self.work.dirty.len() as u64 + self.used_map_pages().count() as u64
    }

    /// The slots of all of it.
    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            single: self.single_slots(),
            in_a_row: self.directory_slots(),
        }
    }

    /// Slots that must lie in a row.
    pub(super) fn directory_slots(&self) -> u64 {
        self.directory().slots(self.page_bytes)
    }

    /// The directory to come; where it lies and its checksum are not known yet.
    pub(super) fn directory(&self) -> Directory {
        Directory {
            map_pages: map::map_pages_for(self.work.next_page, self.page_bytes),
            meta_bytes: self.work.meta.len() as u64,
            ..Directory::default()
        }
    }

    pub(super) fn used_map_pages(&self) -> impl Iterator<Item = u64> {
        let used = self.map_pages.iter().filter(|changed| changed.is_used);
        used.map(|changed| changed.index)
    }

    /// Bytes that the checkpoint writes, the growth of the file apart.
    pub(super) fn bytes(&self) -> u64 {
        let slots = self.single_slots() + self.directory_slots();
        slots * u64::from(self.page_bytes) + BLOCK_BYTES as u64
    }

    /// The entries of a map page to come; `written` are those of the dirty pages, in their order.
    pub(super) fn entries(&self, map: &Map, index: u64, written: &[Entry]) -> Vec<Entry> {
        let (first, end) = ids_in(index, self.work.next_page, self.page_bytes);
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

    /// The slots that only the root in force names: free once the new root is stable.
    pub(super) fn superseded<D: Disk>(&self, file: &DataFile<D>) -> Vec<SlotId> {
        let pages = self.work.dirty.iter().chain(&self.work.freed);
        let of_pages = pages.map(|page| file.map.get(*page));
        let of_map = self.map_pages.iter().map(|changed| {
            let entry = file.map.map_pages.get(changed.index as usize);
            entry.copied().unwrap_or_default()
        });
        let entries = of_pages.chain(of_map).filter(|entry| !entry.is_absent());
        let directory = file.root.directory;
        let of_directory = 0..directory.slots(self.page_bytes);
        entries
            .map(Entry::slot)
            .chain(of_directory.map(|at| SlotId(directory.slot.0 + at)))
            .collect()
    }
}

/// Refuses what is no cut: a bug of the caller.
fn check<D: Disk>(file: &DataFile<D>, work: &Work) {
    let next = work.next_page;
    assert!(
        work.csn >= file.root.csn,
        "a checkpoint goes back in commits"
    );
    assert!(next >= file.root.next_page, "page ids went back");
    assert!(next.0 < 1 << 40, "page ids have 40 bits");
    for pages in [&work.dirty, &work.freed] {
        let is_rising = pages.windows(2).all(|pair| pair[0] < pair[1]);
        assert!(is_rising, "a page is in one of the lists twice");
        let is_within = |page: &PageId| page.0 > 0 && *page < next;
        assert!(pages.iter().all(is_within), "a page id is out of range");
    }
    let is_dirty = |page: &PageId| work.dirty.binary_search(page).is_ok();
    assert!(!work.freed.iter().any(is_dirty), "a freed page is dirty");
}

fn changed_map_pages(map: &Map, work: &Work, page_bytes: u32) -> Vec<ChangedMapPage> {
    let in_map_page = map::entries_in(page_bytes) as u64;
    let index_of = |page: &PageId| (page.0 - 1) / in_map_page;
    let gone = work
        .freed
        .iter()
        .filter(|page| !map.get(**page).is_absent());
    let mut indices: Vec<u64> = work.dirty.iter().chain(gone).map(index_of).collect();
    indices.sort_unstable();
    indices.dedup();
    let changed = indices.into_iter().map(|index| {
        let (first, end) = ids_in(index, work.next_page, page_bytes);
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

/// The page ids that a map page is about: from the first to before the second.
fn ids_in(index: u64, next_page: PageId, page_bytes: u32) -> (PageId, PageId) {
    let in_map_page = map::entries_in(page_bytes) as u64;
    let first = index * in_map_page + 1;
    (
        PageId(first),
        PageId((first + in_map_page).min(next_page.0)),
    )
}

/// The part of an ascending list that lies from `first` to before `end`.
fn within(pages: &[PageId], first: PageId, end: PageId) -> &[PageId] {
    let from = pages.partition_point(|page| *page < first);
    let to = pages.partition_point(|page| *page < end);
    &pages[from..to]
}
