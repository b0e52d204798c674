//! Compaction: the end of the file is emptied and cut off.
//!
//! It sets a *limit* in the file. Slots behind the limit are not taken any more, and each checkpoint writes
//! some of the images that lie there to slots before it, in addition to its dirty pages. When the last root
//! names nothing behind the limit, the next root has that many slots, and once it is stable the file is cut.
//!
//! Moved pages need not be in memory: their images are read from the file, verified, and written again as
//! they are, with the number of the new checkpoint. A thread that reads such a page meanwhile may find its
//! entry changed, and reads again ([`crate::buffer::page_map`]).
//!
//! States:
//!
//! | state | does | left by |
//! |---|---|---|
//! | none | | a call of [`DataFile::compact`]; a checkpoint that finds three quarters of a file free |
//! | moving | each checkpoint moves up to [`MOVE_BYTES_MAX`] | nothing is named behind the limit |
//! | cut | the next root has fewer slots; when it is stable, the file is cut | always |
//! | given up | the limit is lifted: the file must grow, or several checkpoints have moved nothing | always |
//!
//! Invariants:
//! 1. The file is cut only when a root is stable that has no slot there. A crash in between leaves a file
//!    that is longer than its root says, as after an interrupted growth.
//! 2. A page is moved only if the snapshot of the checkpoint found it neither changed nor freed: its image is
//!    then the page as of the snapshot.
//! 3. An image that cannot be read is not moved, and is no failure of the checkpoint.
//! 4. A checkpoint needs no more space because of its moves: the limit leaves room for them, and where that
//!    does not suffice, compaction is given up.

use crate::buffer::page_map::Entry;
use crate::checkpoint::data_file::DataFile;
use crate::checkpoint::plan::Work;
use crate::ids::PageId;
use crate::planted_bug::{PlantedBug, planted};
use std::collections::BTreeMap;
use syncline_vfs::{Disk, File};

/// The most bytes of images that one checkpoint moves; they are in memory meanwhile.
const MOVE_BYTES_MAX: u64 = 4 << 20;

/// A checkpoint moves at most this part of the named slots, but not less than [`MOVE_BYTES_MIN`].
const PARTS_MOVED: u64 = 16;

const MOVE_BYTES_MIN: u64 = 64 << 10;

/// After this many checkpoints that have moved nothing, compaction is given up.
const IDLE_MAX: u32 = 4;

/// Besides what is named, a compacted file has this part of it free: images need runs of slots.
const PART_FREE: u64 = 8;

/// The compaction of a data file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Compaction {
    /// Named slots behind the limit after the last checkpoint.
    left: u64,
    /// Checkpoints since the last one that left fewer.
    idle: u32,
}

/// The images that a checkpoint moves.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// Those that are not written yet.
    images: BTreeMap<PageId, Vec<u8>>,
    /// All of their pages, ascending.
    pages: Vec<PageId>,
}

impl Moves {
    /// Adds them to the dirty pages of a checkpoint.
    pub(crate) fn add_to(&self, work: &mut Work, page_bytes: u32) {
        work.dirty.extend(&self.pages);
        let lengths = self.images.iter().map(|(page, image)| (*page, image.len() as u32));
        work.long.extend(lengths.filter(|(_, bytes)| *bytes > page_bytes));
    }

    /// Removes them from the work of a checkpoint that was abandoned.
    pub(crate) fn remove_from(&self, work: &mut Work) {
        let is_moved = |page: &PageId| self.pages.binary_search(page).is_ok();
        work.dirty.retain(|page| !is_moved(page));
        work.long.retain(|(page, _)| !is_moved(page));
    }

    /// The image of a moved page; none if the page is dirty. Once for each page.
    pub(crate) fn take(&mut self, page: PageId) -> Option<Vec<u8>> {
        self.images.remove(&page)
    }
}

impl<D: Disk> DataFile<D> {
    /// Begins to make the file as small as it can be, unless that would gain less than a sixteenth.
    pub(crate) fn compact(&mut self) {
        let named = self.slots.count() - self.slots.free_everywhere();
        self.limit_to(self.with_reserve(named + named / PART_FREE + self.slots_for_moves()));
    }

    /// The size that the file will have if compaction succeeds; none if none is under way.
    pub(crate) fn compacts_to(&self) -> Option<u64> {
        let limit = self.slots.limit();
        (limit < self.slots.count()).then(|| limit * self.slot_bytes())
    }

    /// Gives compaction up, if one is under way.
    pub(super) fn end_compaction(&mut self) {
        self.compaction = Compaction::default();
        self.slots.lift_limit();
    }

    /// At the beginning of a checkpoint: begins to shrink a file that is mostly free. It keeps room for a
    /// checkpoint of all pages.
    fn compact_if_empty(&mut self) {
        let (count, free) = (self.slots.count(), self.slots.free_everywhere());
        if self.slots.limit() == count && free > count / 4 * 3 {
            let named = count - free;
            let needed = 2 * named + named / PART_FREE + self.slots_for_moves();
            self.limit_to(self.with_reserve(needed));
        }
    }

    /// Sets the limit if that gains enough, and the file is not growing.
    fn limit_to(&mut self, slots: u64) {
        let count = self.slots.count();
        if !self.ahead.is_under_way() && slots < count - count / 16 {
            self.slots.set_limit(slots);
            self.compaction = Compaction { left: self.slots.taken_behind_limit(), idle: 0 };
        }
    }

    /// The size of a file in which these slots are left beside its reserve, which grows with the size.
    fn with_reserve(&self, needed: u64) -> u64 {
        let mut slots = needed;
        loop {
            let larger = needed + self.reserve_slots(slots);
            if larger <= slots {
                return slots;
            }
            slots = larger;
        }
    }

    /// The slots that a checkpoint which moves images needs in addition: for these, for the map and for the
    /// directory.
    fn slots_for_moves(&self) -> u64 {
        let slot = self.slot_bytes();
        let images = self.move_bytes_max() + u64::from(self.root.page_bytes);
        let map = 2 * self.map_pages.len() as u64 + self.root.directory.slots(slot);
        images.div_ceil(slot) + map
    }

    /// A small file is to have little room for moves.
    fn move_bytes_max(&self) -> u64 {
        let named = self.slots.count() - self.slots.free_everywhere();
        let part = (named * self.slot_bytes() / PARTS_MOVED).max(MOVE_BYTES_MIN);
        part.min(self.options.extent_bytes / 4).min(MOVE_BYTES_MAX)
    }

    /// The images that a checkpoint with this work is to move. At least one, if any can be read.
    pub(crate) fn moves(&mut self, work: &Work) -> Moves {
        self.compact_if_empty();
        if self.compacts_to().is_none() || self.slots.taken_behind_limit() == 0 {
            return Moves::default();
        }
        let limit = self.slots.limit() * self.slot_bytes();
        let mut changed: Vec<PageId> = work.freed.clone();
        if !planted(PlantedBug::MoveDirtyPages) {
            changed.extend(&work.dirty);
        }
        changed.sort_unstable();
        let is_moved = |(page, entry): &(PageId, Entry)| {
            entry.end() > limit && changed.binary_search(page).is_err()
        };
        let mut behind: Vec<_> = self.map.pages(self.root.next_page).filter(is_moved).collect();
        behind.sort_unstable_by_key(|(_, entry)| entry.offset);
        let mut images = BTreeMap::new();
        while images.is_empty() && !behind.is_empty() {
            let mut bytes = 0;
            let fits = |(_, entry): &&(PageId, Entry)| {
                bytes += u64::from(entry.bytes);
                bytes <= self.move_bytes_max()
            };
            let count = behind.iter().rev().take_while(fits).count().max(1);
            self.read_for_move(&behind.split_off(behind.len() - count), &mut images);
        }
        Moves { pages: images.keys().copied().collect(), images }
    }

    /// Reads images in the order of the file. What cannot be read is left out: it stays where it is, and a
    /// verification reports it.
    fn read_for_move(&self, pages: &[(PageId, Entry)], images: &mut BTreeMap<PageId, Vec<u8>>) {
        let reader = self.reader();
        let mut read = |pages: &[(PageId, Entry)]| {
            reader.read_images(pages, &mut |page, image| {
                images.insert(page, image.to_vec());
                Ok(())
            })
        };
        if read(pages).is_err() {
            for page in pages {
                let _unreadable = read(&[*page]).is_err();
            }
        }
    }

    /// The slots of the next root: fewer than the file has, if nothing is named behind the limit.
    pub(super) fn slots_of_next_root(&self) -> u64 {
        if self.slots.taken_behind_limit() == 0 { self.slots.limit() } else { self.slots.count() }
    }

    /// A root is in force: cuts the file if it has fewer slots, or gives compaction up if nothing moves.
    pub(super) fn cut(&mut self) {
        if self.root.file_slots < self.slots.count() {
            assert!(
                self.root.file_slots == self.slots.limit(),
                "a root has all slots, or the limit"
            );
            self.slots.cut();
            // If the file stays longer, the next growth or opening cuts it.
            self.has_loose_end = self.io.set_len(self.bytes()).is_err();
            self.compaction = Compaction::default();
            return;
        }
        if self.compacts_to().is_none() {
            return;
        }
        let left = self.slots.taken_behind_limit();
        let is_idle = left > 0 && left >= self.compaction.left;
        let idle = if is_idle { self.compaction.idle + 1 } else { 0 };
        self.compaction = Compaction { left, idle };
        if idle == IDLE_MAX {
            self.end_compaction();
        }
    }
}
