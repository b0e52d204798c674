//! Room for a checkpoint: the file grows by zeros, written and synced, until slots suffice.
//!
//! It is made ahead of the cut as far as the need is known there ([`DataFile::make_room`]): behind the cut
//! every page that changes has an image beside it until it is captured. What is still missing then the
//! checkpoint makes as its first state. How long images are shows only as they are captured: where they are
//! longer than those before, it comes back to this state for the rest.
//!
//! Asked for is what the checkpoint needs, and a reserve, in steps. A step is a small part of the file, so
//! that little of it lies idle, and an extent at most. If the disk has no space for that, just what is
//! needed; and if not even that, the checkpoint stops with `Full` before any root names what it has written,
//! and its next step tries again. What was grown in vain is given back.

use crate::checkpoint::data_file::DataFile;
use crate::checkpoint::page_map;
use crate::checkpoint::root::Directory;
use crate::error::{Error, Result};
use crate::ids::PageId;
use std::path::Path;
use syncline_vfs::{Disk, File};

/// How much is written with zeros between two syncs, so that commits beside it do not wait long.
const PIECE_BYTES: u64 = 4 << 20;

/// A step of growth is one part in so many of the file, but a piece at least and an extent at most; so
/// is the reserve, up to its own limit. Two images of all pages are the file already: whole extents beside
/// them would be a large part of a small file.
const PARTS_IN_FILE: u64 = 64;

/// Images may be longer than those of the checkpoint before, and a run's end may stay empty: one part in so
/// many is asked for beside what they would need.
const PARTS_IN_IMAGES: u64 = 32;

/// Free slots that a checkpoint needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpaceNeeded {
    /// So many images of pages, each in one piece.
    pub(super) images: u64,
    /// How long those are on the average, as far as is known.
    pub(super) image_bytes: u64,
    /// How long they are at most.
    pub(super) page_bytes: u64,
    /// Slots that may lie anywhere.
    pub(super) single: u64,
    /// Slots that must lie in a row, beside those.
    pub(super) in_a_row: u64,
}

impl SpaceNeeded {
    /// The slots of all images, with some to spare.
    pub(super) fn stream_slots(&self, slot_bytes: u64) -> u64 {
        let slots = self.stream_slots_min(slot_bytes);
        slots + slots.div_ceil(PARTS_IN_IMAGES)
    }

    /// The same, if nothing is lost.
    fn stream_slots_min(&self, slot_bytes: u64) -> u64 {
        if self.images == 0 {
            return 0;
        }
        let bytes = self.images * self.image_bytes;
        bytes.div_ceil(slot_bytes).max(self.at_least(slot_bytes))
    }

    /// How many slots must lie in a row for any image.
    pub(super) fn at_least(&self, slot_bytes: u64) -> u64 {
        self.page_bytes.div_ceil(slot_bytes)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct FileGrowth {
    /// How many slots the file shall have.
    goal: Option<u64>,
    /// How many it has once they are synced.
    unsynced: Option<u64>,
    /// The disk refused a whole extent.
    is_short: bool,
}

impl<D: Disk> DataFile<D> {
    /// Does the next I/O towards room for a checkpoint to come, of so many dirty pages with ids below
    /// `next_page`; tells its bytes and how many are left, and nothing once there is room. Asserts that no
    /// checkpoint is running. Fails with `Full` where the disk has no space; any other failure is final.
    pub(crate) fn make_room(
        &mut self,
        dirty: u64,
        next_page: PageId,
    ) -> Result<Option<(u64, u64)>> {
        assert!(!self.has_checkpoint, "the running checkpoint makes room");
        self.check_alive()?;
        let map_pages = page_map::map_pages_for(next_page, self.slot_bytes());
        let directory = Directory {
            map_pages,
            meta_bytes: self.root.meta.len() as u64,
            ..Directory::default()
        };
        let wanted = SpaceNeeded {
            images: dirty,
            image_bytes: self.root.image_bytes_mean(),
            page_bytes: self.root.page_bytes.into(),
            single: map_pages,
            in_a_row: directory.slots(self.slot_bytes()),
        };
        let mut room = std::mem::take(&mut self.ahead);
        let worked = room.step(wanted, self);
        let left = room.remaining_bytes(self);
        self.ahead = room;
        Ok(worked?.map(|bytes| (bytes, left)))
    }
}

impl FileGrowth {
    /// Does one I/O towards room enough and tells its bytes; nothing once there is.
    pub(super) fn step<D: Disk>(
        &mut self,
        wanted: SpaceNeeded,
        file: &mut DataFile<D>,
    ) -> Result<Option<u64>> {
        if let Some(slots) = self.unsynced {
            file.io.sync_all().map_err(|error| file.fail(error))?;
            self.unsynced = None;
            file.slots.grow(slots);
            return Ok(Some(0));
        }
        self.goal = self.goal(wanted, file);
        let Some(goal) = self.goal else {
            return Ok(None);
        };
        let slot = file.slot_bytes();
        let from = file.slots.count() * slot;
        if file.has_loose_end {
            // Zeros of a growth that was never synced may be missing: they are written again.
            file.io.set_len(from).map_err(|error| file.fail(error))?;
            file.has_loose_end = false;
            return Ok(Some(0));
        }
        let to = (goal * slot).min(from + PIECE_BYTES.next_multiple_of(slot));
        match file.io.preallocate(to) {
            Ok(()) => {
                self.unsynced = Some(to / slot);
                Ok(Some(to - from))
            }
            Err(error) if error.is_full() => self.full(file, from, goal * slot - from),
            Err(error) => Err(file.fail(error)),
        }
    }

    /// Bytes by which the file is still to grow, as far as known.
    pub(super) fn remaining_bytes<D: Disk>(&self, file: &DataFile<D>) -> u64 {
        let has = self.unsynced.unwrap_or(file.slots.count());
        self.goal.map_or(0, |goal| goal.saturating_sub(has)) * file.slot_bytes()
    }

    /// The disk is full: more modest next time, or the caller's turn.
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
    fn goal<D: Disk>(&self, wanted: SpaceNeeded, file: &DataFile<D>) -> Option<u64> {
        let has = file.slots.count();
        if let Some(goal) = self.goal.filter(|goal| *goal > has) {
            return Some(goal);
        }
        let slot = file.slot_bytes();
        if self.is_short {
            let missing = missing(wanted, wanted.stream_slots_min(slot), file);
            return (missing > 0).then_some(has + missing);
        }
        let part = part_bytes(has * slot);
        let reserve = file.options.reserve_bytes.min(part) / slot;
        let missing = missing(wanted, wanted.stream_slots(slot) + reserve, file);
        let step = file.options.extent_bytes.min(part).div_ceil(slot);
        (missing > 0).then(|| has + missing.next_multiple_of(step))
    }
}

/// The part of a file of so many bytes by which it grows, and which it keeps free, if limits allow it.
fn part_bytes(file_bytes: u64) -> u64 {
    (file_bytes / PARTS_IN_FILE).max(PIECE_BYTES)
}

/// How many slots there are too few at the file's end, if images want so many.
fn missing<D: Disk>(wanted: SpaceNeeded, stream: u64, file: &DataFile<D>) -> u64 {
    let at_least = wanted.at_least(file.slot_bytes());
    let usable = file.slots.free_in_runs(at_least);
    let SpaceNeeded { single, in_a_row, .. } = wanted;
    let missing = (stream + single + in_a_row).saturating_sub(usable);
    if in_a_row == 0 || file.slots.find_run(in_a_row).is_some() {
        return missing;
    }
    missing.max(in_a_row - file.slots.free_at_end())
}

#[cfg(test)]
mod tests {
    use super::part_bytes;

    #[test]
    fn a_file_grows_by_a_small_part_of_itself() {
        let mib = 1 << 20;
        assert_eq!(part_bytes(64 * mib), 4 * mib);
        assert_eq!(part_bytes(640 * mib), 10 * mib);
        assert_eq!(part_bytes(100 << 30), 1600 * mib);
    }
}
