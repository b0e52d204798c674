//! Space for a checkpoint: the file grows by allocated blocks, synced, until there are enough slots.
//!
//! The file grows ahead of the snapshot by the need known then ([`DataFile::make_room`]): after the
//! snapshot every page that changes needs an extra image until it is captured. The checkpoint makes the
//! missing rest in its first state. The lengths of images show only as they are captured, except of those
//! that are longer than a page: if they are longer than earlier ones, or no run of free slots has room for a
//! long one, the checkpoint returns to this state for the difference.
//!
//! The goal is the checkpoint's need plus a reserve, rounded up to a step. A step is a small part of the
//! file, so that little of it lies idle, and at most an extent. If the disk has no space for that, only the
//! need counts; and if even that fails, the checkpoint stops with `Full` before any root names what it has
//! written, and its next step tries again. An unsuccessful growth is undone.

use crate::buffer::page_map::FILE_BYTES_MAX;
use crate::buffer::page_snapshot::ChangedPages;
use crate::checkpoint::data_file::DataFile;
use crate::checkpoint::map_page;
use crate::checkpoint::root::Directory;
use crate::error::{Error, Result};
use std::path::Path;
use syncline_vfs::{Disk, File};

/// Bytes allocated between two syncs; small, so that concurrent commits do not wait long where the file
/// system cannot allocate blocks without writing zeros.
const PIECE_BYTES: u64 = 4 << 20;

/// A growth step is the file divided by this, at least a piece and at most an extent; so is the reserve, up
/// to its own limit. The file already holds two images of all pages: whole extents in addition would be a
/// large part of a small file. For the same reason neither is more than half of a file that is smaller than
/// two pieces.
const PARTS_IN_FILE: u64 = 64;

/// Images may be longer than those of the checkpoint before, and the end of a run may stay empty: this
/// fraction of the expected space is added to it.
const PARTS_IN_IMAGES: u64 = 32;

/// The free slots that a checkpoint needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpaceNeeded {
    /// The number of images that are not longer than a page, each in one piece.
    pub(super) images: u64,
    /// Their expected average length.
    pub(super) image_bytes: u64,
    /// Their maximum length.
    pub(super) page_bytes: u64,
    /// The bytes of all longer images, each in one piece as well.
    pub(super) long_bytes: u64,
    /// The length of the longest image that is longer than a page, or of the one that waits for a run.
    pub(super) longest_bytes: u64,
    /// Slots that may lie anywhere.
    pub(super) single: u64,
    /// Additional slots that must be consecutive.
    pub(super) in_a_row: u64,
}

impl SpaceNeeded {
    /// The slots of all images, with some to spare.
    pub(super) fn stream_slots(&self, slot_bytes: u64) -> u64 {
        let slots = self.stream_slots_min(slot_bytes);
        slots + slots.div_ceil(PARTS_IN_IMAGES)
    }

    /// The same without any loss.
    fn stream_slots_min(&self, slot_bytes: u64) -> u64 {
        if self.images == 0 {
            return self.long_slots(slot_bytes);
        }
        let bytes = self.images * self.image_bytes;
        bytes.div_ceil(slot_bytes).max(self.at_least(slot_bytes)) + self.long_slots(slot_bytes)
    }

    /// The slots of the images that are longer than a page.
    fn long_slots(&self, slot_bytes: u64) -> u64 {
        self.long_bytes.div_ceil(slot_bytes)
    }

    /// How many consecutive slots are enough for any image that is not longer than a page.
    pub(super) fn at_least(&self, slot_bytes: u64) -> u64 {
        self.page_bytes.div_ceil(slot_bytes)
    }
}

/// The growth of a data file that is under way.
#[derive(Debug, Default)]
pub(super) struct FileGrowth {
    /// The number of slots that the file should have.
    goal: Option<u64>,
    /// The number it has once its new blocks are synced.
    unsynced: Option<u64>,
    /// The disk refused a whole step.
    is_short: bool,
}

impl<D: Disk> DataFile<D> {
    /// The slots that a file of that size keeps free in addition to what a checkpoint needs.
    pub(super) fn reserve_slots(&self, slots: u64) -> u64 {
        let slot = self.slot_bytes();
        self.options.reserve_bytes.min(part_bytes(slots * slot)) / slot
    }

    /// Performs the next I/O to make room for a later checkpoint of the changed pages; returns its bytes and
    /// the bytes left, or none once there is room. Asserts that no checkpoint is running. Fails with `Full`
    /// if the disk has no space; any other failure is final.
    pub(crate) fn make_room(&mut self, changed: &ChangedPages) -> Result<Option<(u64, u64)>> {
        assert!(!self.has_checkpoint, "the running checkpoint makes room");
        self.check_alive()?;
        let map_pages = map_page::map_pages_for(changed.next_page, self.slot_bytes());
        let directory = Directory {
            map_pages,
            meta_bytes: self.root.meta.len() as u64,
            ..Directory::default()
        };
        let needed = SpaceNeeded {
            images: changed.pages - changed.long,
            image_bytes: self.image_bytes_mean(),
            page_bytes: self.root.page_bytes.into(),
            long_bytes: changed.long_bytes,
            // The longest one is not known yet: the checkpoint makes what is missing for it.
            longest_bytes: 0,
            single: map_pages,
            in_a_row: directory.slots(self.slot_bytes()),
        };
        let mut room = std::mem::take(&mut self.ahead);
        let worked = room.step(needed, self);
        let left = room.remaining_bytes(self);
        self.ahead = room;
        Ok(worked?.map(|bytes| (bytes, left)))
    }
}

impl FileGrowth {
    /// Performs one I/O to make room and returns its bytes; none once there is enough.
    pub(super) fn step<D: Disk>(
        &mut self,
        needed: SpaceNeeded,
        file: &mut DataFile<D>,
    ) -> Result<Option<u64>> {
        if let Some(slots) = self.unsynced {
            file.io.sync_all().map_err(|error| file.fail(error))?;
            self.unsynced = None;
            file.slots.grow(slots);
            return Ok(Some(0));
        }
        self.goal = self.goal(needed, file);
        if self.goal.is_some() && file.compacts_to().is_some() {
            // What a compaction keeps free is used first.
            file.end_compaction();
            self.goal = None;
            self.goal = self.goal(needed, file);
        }
        let Some(goal) = self.goal else {
            return Ok(None);
        };
        let slot = file.slot_bytes();
        let from = file.slots.count() * slot;
        if file.has_loose_end {
            // Blocks of a growth that was never synced may be missing: they are allocated again.
            file.io.set_len(from).map_err(|error| file.fail(error))?;
            file.has_loose_end = false;
            return Ok(Some(0));
        }
        let to = (goal * slot).min(from + PIECE_BYTES.next_multiple_of(slot));
        if to > FILE_BYTES_MAX {
            // As on a disk that ends there.
            return self.full(file, from, goal * slot - from);
        }
        match file.io.allocate(to) {
            Ok(()) => {
                self.unsynced = Some(to / slot);
                Ok(Some(to - from))
            }
            Err(error) if error.is_full() => self.full(file, from, goal * slot - from),
            Err(error) => Err(file.fail(error)),
        }
    }

    /// True if the file is growing.
    pub(super) fn is_under_way(&self) -> bool {
        self.goal.is_some() || self.unsynced.is_some()
    }

    /// Bytes by which the file must still grow, as now known.
    pub(super) fn remaining_bytes<D: Disk>(&self, file: &DataFile<D>) -> u64 {
        let has = self.unsynced.unwrap_or(file.slots.count());
        self.goal.map_or(0, |goal| goal.saturating_sub(has)) * file.slot_bytes()
    }

    /// The disk is full: aim lower next time, or report it to the caller.
    fn full<D: Disk>(
        &mut self,
        file: &mut DataFile<D>,
        from: u64,
        missing: u64,
    ) -> Result<Option<u64>> {
        file.io.set_len(from).map_err(|error| file.fail(error))?;
        let was_short = self.is_short;
        *self = FileGrowth { is_short: !was_short, ..FileGrowth::default() };
        if !was_short {
            return Ok(Some(0));
        }
        Err(Error::Full {
            directory: file.path.parent().unwrap_or(Path::new("")).to_owned(),
            segment_bytes: missing,
        })
    }

    /// How many slots the file must have; none if it has them.
    fn goal<D: Disk>(&self, needed: SpaceNeeded, file: &DataFile<D>) -> Option<u64> {
        let has = file.slots.count();
        if let Some(goal) = self.goal.filter(|goal| *goal > has) {
            return Some(goal);
        }
        let slot = file.slot_bytes();
        if self.is_short {
            let missing = missing(needed, needed.stream_slots_min(slot), file);
            return (missing > 0).then_some(has + missing);
        }
        let part = part_bytes(file.slots.limit() * slot);
        let reserve = file.reserve_slots(file.slots.limit());
        let missing = missing(needed, needed.stream_slots(slot) + reserve, file);
        let step = file.options.extent_bytes.min(part).div_ceil(slot);
        (missing > 0).then(|| has + missing.next_multiple_of(step))
    }
}

/// The step and the reserve for a file of this size, before other limits apply.
fn part_bytes(file_bytes: u64) -> u64 {
    (file_bytes / PARTS_IN_FILE).max(PIECE_BYTES.min(file_bytes / 2))
}

/// How many slots are missing if images need `stream` slots.
fn missing<D: Disk>(needed: SpaceNeeded, stream: u64, file: &DataFile<D>) -> u64 {
    let slot_bytes = file.slot_bytes();
    let usable = file.slots.free_in_runs(needed.at_least(slot_bytes));
    let SpaceNeeded { single, in_a_row, .. } = needed;
    let missing = (stream + single + in_a_row).saturating_sub(usable);
    let longest = in_a_row.max(needed.longest_bytes.div_ceil(slot_bytes));
    if longest == 0 || file.slots.find_run(longest).is_some() {
        return missing;
    }
    // Behind the limit of a compaction there may be such a run.
    missing.max(longest.saturating_sub(file.slots.free_at_end())).max(1)
}

#[cfg(test)]
mod tests {
    use super::part_bytes;

    #[test]
    fn a_file_grows_by_a_small_part_of_itself() {
        let mib = 1 << 20;
        assert_eq!(part_bytes(mib), mib / 2);
        assert_eq!(part_bytes(64 * mib), 4 * mib);
        assert_eq!(part_bytes(640 * mib), 10 * mib);
        assert_eq!(part_bytes(100 << 30), 1600 * mib);
    }
}
