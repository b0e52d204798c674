//! A held root: the images that one root names stay in the data file for as long as a backup reads them.
//!
//! It is the root that was in force when it was held. Later checkpoints come into force as always, but the
//! slots of an image that the held root names are not free when the image is superseded. The hold keeps the
//! entry of every page that a checkpoint has changed since; all others are those of the map. So it takes
//! memory only for pages that change meanwhile. Map pages and the directory are not held: a backup has its
//! own.
//!
//! Invariants:
//! 1. At most one root is held, and only in memory: after a crash its slots are free.
//! 2. A superseded image of the held root counts in its slots until the hold ends, so that nothing is written
//!    over it, or over a slot that it shares.
//! 3. What was not named by the held root is free as without it.

use crate::buffer::page_map::Entry;
use crate::checkpoint::data_file::DataFile;
use crate::checkpoint::load::ImageReader;
use crate::checkpoint::root::Root;
use crate::checkpoint::state_machine::DirtyPages;
use crate::error::Result;
use crate::ids::PageId;
use crate::planted_bug::{PlantedBug, planted};
use std::collections::{BTreeMap, VecDeque};
use syncline_vfs::Disk;

/// Images that are read at once.
const READ_BYTES: u64 = 1 << 20;

/// The held root of a data file.
#[derive(Debug)]
pub(super) struct HeldRoot {
    root: Root,
    /// The entry in the held root of each page that a later checkpoint has changed; absent for a page that it
    /// does not have.
    replaced: BTreeMap<PageId, Entry>,
}

impl HeldRoot {
    /// A checkpoint replaces or frees a page's image with that entry.
    pub(super) fn replace(&mut self, page: PageId, entry: Entry) {
        if page < self.root.next_page && !planted(PlantedBug::FreeHeldImages) {
            self.replaced.entry(page).or_insert(entry);
        }
    }

    /// True if that image of the page must stay, although the root in force does not name it.
    pub(super) fn holds(&self, page: PageId, entry: Entry) -> bool {
        self.replaced.get(&page) == Some(&entry)
    }

    /// The images that only the held root names.
    pub(super) fn images(&self) -> impl Iterator<Item = Entry> {
        self.replaced.values().copied().filter(|entry| !entry.is_absent())
    }
}

impl<D: Disk> DataFile<D> {
    /// Holds the root in force and returns it; none if another hold has not ended.
    pub(crate) fn hold_root(&mut self) -> Option<Root> {
        if self.held.is_some() {
            return None;
        }
        let root = self.root.clone();
        self.held = Some(HeldRoot { root: root.clone(), replaced: BTreeMap::new() });
        Some(root)
    }

    /// Up to `most` pages of the held root from `from` on, ascending, and where the next ones begin; none at
    /// the end.
    pub(crate) fn held_pages(
        &self,
        from: PageId,
        most: usize,
    ) -> (Vec<(PageId, Entry)>, Option<PageId>) {
        let held = self.held.as_ref().expect("a root is held");
        let mut found = Vec::new();
        for page in (from.0..held.root.next_page.0).map(PageId) {
            if found.len() == most {
                return (found, Some(page));
            }
            let entry = held.replaced.get(&page).copied();
            let entry = entry.filter(|_| !planted(PlantedBug::BackupReadsNewest));
            let entry = entry.unwrap_or_else(|| self.map.get(page));
            if !entry.is_absent() {
                found.push((page, entry));
            }
        }
        (found, None)
    }

    /// Ends the hold: images that only the held root names are free.
    pub(crate) fn release_root(&mut self) {
        let slot_bytes = self.slot_bytes();
        let held = self.held.take().expect("a root is held");
        for entry in held.images() {
            self.slots.leave(entry.slots(slot_bytes));
        }
    }
}

/// The images of a held root's pages, for a checkpoint of another data file.
#[derive(Debug)]
pub(crate) struct HeldPages<D: Disk> {
    reader: ImageReader<D>,
    /// The pages that are not read yet, ascending, and those that are.
    left: VecDeque<(PageId, Entry)>,
    read: VecDeque<(PageId, Vec<u8>)>,
}

impl<D: Disk> HeldPages<D> {
    /// `pages` ascend.
    pub(crate) fn new(reader: ImageReader<D>, pages: Vec<(PageId, Entry)>) -> HeldPages<D> {
        HeldPages { reader, left: pages.into(), read: VecDeque::new() }
    }

    /// Reads the next pages.
    fn read(&mut self) -> Result<()> {
        let mut bytes = 0;
        let mut batch = Vec::new();
        while bytes < READ_BYTES
            && let Some((page, entry)) = self.left.pop_front()
        {
            bytes += u64::from(entry.bytes);
            batch.push((page, entry));
        }
        batch.sort_unstable_by_key(|(_, entry)| entry.offset);
        let mut read = Vec::with_capacity(batch.len());
        self.reader.read_images(&batch, &mut |page, image| {
            read.push((page, image.to_vec()));
            Ok(())
        })?;
        read.sort_unstable_by_key(|(page, _)| *page);
        self.read.extend(read);
        Ok(())
    }
}

impl<D: Disk> DirtyPages for HeldPages<D> {
    fn capture(&mut self, page: PageId, out: &mut Vec<u8>) -> Result<()> {
        if self.read.is_empty() {
            self.read()?;
        }
        let (found, image) = self.read.pop_front().expect("each page is captured once");
        assert!(found == page, "{found} was read for {page}: pages are captured in order");
        *out = image;
        Ok(())
    }

    fn first(&mut self) -> Option<PageId> {
        None
    }
}
