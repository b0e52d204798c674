//! Loads in the background of a thread: it begins to read pages, does other things, and takes what has
//! arrived.
//!
//! A read that is under way claims nothing: its page stays *on disk*, and a thread that needs it at once
//! loads it by itself ([`super::page_load`]). So no thread waits for one that does other things meanwhile.
//! When the image arrives, the page is claimed, and gets the image if that is still the page's.
//!
//! Invariants:
//! 1. An image is placed only if its page is on disk and no entry of the page map has changed since the read
//!    began; otherwise it is dropped. A page changes only in memory, and is on disk again only when a
//!    checkpoint has changed its entry. So the image is the page.
//! 2. Reads under way take at most an eighth of the cache.

use super::page_load::{BATCH_PART, PageQueue};
use super::pages::Buffer;
use crate::ids::PageId;
use crate::planted_bug::{PlantedBug, planted};
use crate::step::{Step, step};
use std::fmt;

/// The reads that one thread has under way.
pub(crate) struct LoadQueue {
    queue: Box<dyn PageQueue>,
    under_way: Vec<LoadUnderWay>,
    bytes: u64,
}

/// Whether a load has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BeginLoad {
    /// The page is being read.
    Begun,
    /// Others must end first.
    NoRoom,
    /// The page is not on disk, or a checkpoint is changing the page map.
    NotNow,
}

/// A page that is being read.
struct LoadUnderWay {
    page: PageId,
    /// The state of the page map when its entry was read.
    changes: Option<u64>,
    /// The memory that it takes once it is placed.
    bytes: u64,
}

impl Buffer {
    /// For loads in the background; none if no page can be on disk.
    pub(crate) fn load_queue(&self) -> Option<LoadQueue> {
        let queue = self.on_disk.as_ref()?.source.queue();
        Some(LoadQueue { queue, under_way: Vec::new(), bytes: 0 })
    }

    /// Begins to load a page, unless it is being read already.
    pub(crate) fn begin_load(&self, loads: &mut LoadQueue, page: PageId) -> BeginLoad {
        if loads.contains(page) {
            return BeginLoad::Begun;
        }
        let Some(on_disk) = &self.on_disk else {
            return BeginLoad::NotNow;
        };
        let changes = on_disk.map.changes();
        let entry = on_disk.map.get(page);
        if changes.is_none() || entry.is_absent() || !self.is_on_disk(page) {
            return BeginLoad::NotNow;
        }
        let bytes = self.loaded_bytes(entry);
        if !loads.queue.has_room() || loads.bytes + bytes > self.resident_bytes_max / BATCH_PART {
            return BeginLoad::NoRoom;
        }
        step(Step::Read);
        loads.bytes += bytes;
        loads.under_way.push(LoadUnderWay { page, changes, bytes });
        loads.queue.begin(page, entry);
        BeginLoad::Begun
    }

    /// Waits until `at_least` pages have arrived, or all if there are fewer, and passes on each that has: now
    /// it is in memory, or nothing is known about it. The caller holds no latch, no section and no
    /// [`pin`](super::pin).
    pub(crate) fn wait_for_loads(
        &self,
        loads: &mut LoadQueue,
        at_least: usize,
        arrived: &mut dyn FnMut(PageId),
    ) {
        let LoadQueue { queue, under_way, bytes } = loads;
        let Some(on_disk) = &self.on_disk else {
            return;
        };
        queue.wait(at_least, &mut |page, image| {
            let position = under_way.iter().position(|load| load.page == page);
            let load = under_way.swap_remove(position.expect("a read has begun for the page"));
            *bytes -= load.bytes;
            step(Step::Read);
            if let Ok(image) = image
                && self.claim(page)
            {
                let is_current =
                    on_disk.is_unchanged(load.changes) || planted(PlantedBug::PlaceOldImage);
                if is_current {
                    self.place(page, image, on_disk.ghosts_until);
                } else {
                    self.end_failed(page);
                }
            }
            arrived(page);
        });
    }
}

impl LoadQueue {
    /// Pages that are being read.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Hands the reads that have begun to the system.
    pub(crate) fn submit(&mut self) {
        self.queue.submit();
    }

    fn contains(&self, page: PageId) -> bool {
        self.under_way.iter().any(|load| load.page == page)
    }
}

impl fmt::Debug for LoadQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LoadQueue").field("len", &self.len()).finish_non_exhaustive()
    }
}
