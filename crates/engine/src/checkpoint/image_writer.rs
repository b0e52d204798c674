//! Writes page images back to back into runs of free slots, up to 256 KiB per write.
//!
//! An image lies in one piece. A write fills whole slots, so that no slot is written twice: the rest of its
//! last slot stays empty, and so does the end of a run in which the next image has no room. Unused slots of a
//! run are returned.

use crate::checkpoint::data_file::DataFile;
use crate::checkpoint::page_map::Entry;
use crate::error::Result;
use crate::ids::{SlotId, TreeId};
use std::ops::Range;
use syncline_vfs::{AlignedBuffer, Disk};

/// The most bytes in one write: few enough not to delay a commit's sync for long.
pub(super) const WRITE_BYTES_MAX: usize = 256 << 10;

/// A captured image that is to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct SealedImage {
    /// The caller's index of the image.
    pub(super) index: usize,
    pub(super) bytes: usize,
    pub(super) crc: u32,
    pub(super) tree: TreeId,
}

/// The state of writing the images of one checkpoint.
#[derive(Debug)]
pub(super) struct ImageWriter {
    /// The contents of the next write.
    buffer: AlignedBuffer,
    /// The next image, before it is known to fit behind the last one.
    next: Vec<u8>,
    /// The image in `next`, if it did not fit.
    carried: Option<SealedImage>,
    /// Taken slots without contents, in runs; the last run is filled next.
    runs: Vec<Range<u64>>,
}

impl ImageWriter {
    /// For at most `images` images of at most a page each.
    pub(super) fn new(page_bytes: usize, images: usize) -> ImageWriter {
        let most = images.saturating_mul(page_bytes);
        ImageWriter {
            buffer: AlignedBuffer::zeroed(most.clamp(page_bytes, WRITE_BYTES_MAX)),
            next: vec![0; page_bytes],
            carried: None,
            runs: Vec::new(),
        }
    }

    /// True if there is no run to fill.
    pub(super) fn wants_runs(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds runs to be filled, in ascending order, each long enough for a whole page.
    pub(super) fn give_runs(&mut self, mut runs: Vec<Range<u64>>) {
        assert!(self.runs.is_empty(), "runs are left");
        runs.reverse();
        self.runs = runs;
    }

    /// Writes as many images as fit into one write. `capture` puts the next image into the given page, or
    /// returns none at the end; `written` receives the location of each. Returns the bytes written: 0 if the
    /// next image waits for another run.
    pub(super) fn write<D: Disk>(
        &mut self,
        file: &mut DataFile<D>,
        capture: &mut dyn FnMut(&mut [u8]) -> Option<SealedImage>,
        written: &mut dyn FnMut(SealedImage, Entry),
    ) -> Result<usize> {
        let slot_bytes = file.slot_bytes();
        while let Some(run) = self.runs.pop() {
            let offset = run.start * slot_bytes;
            let room = (run.end - run.start) * slot_bytes;
            let used = self.fill(offset, room, capture, &mut |sealed, entry| {
                file.slots.hold(entry.slots(slot_bytes));
                written(sealed, entry);
            });
            let slots = (used as u64).div_ceil(slot_bytes);
            let bytes = (slots * slot_bytes) as usize;
            let rest = run.start + slots..run.end;
            if self.has_room_in(&rest, slot_bytes) {
                self.runs.push(rest);
            } else {
                give_back(file, rest);
            }
            if bytes > 0 {
                self.buffer[used..bytes].fill(0);
                file.write(&self.buffer[..bytes], offset)?;
                return Ok(bytes);
            }
        }
        Ok(0)
    }

    /// Ends the writing and frees the unused slots.
    pub(super) fn end<D: Disk>(&mut self, file: &mut DataFile<D>) {
        assert!(self.carried.is_none(), "an image was captured and not written");
        for run in self.runs.drain(..) {
            give_back(file, run);
        }
    }

    /// The same for an abandoned checkpoint: a waiting image is dropped.
    pub(super) fn abandon<D: Disk>(&mut self, file: &mut DataFile<D>) {
        self.carried = None;
        self.end(file);
    }

    /// Copies images into the buffer until the next one does not fit there or in the run; returns their
    /// bytes.
    fn fill(
        &mut self,
        offset: u64,
        room: u64,
        capture: &mut dyn FnMut(&mut [u8]) -> Option<SealedImage>,
        written: &mut dyn FnMut(SealedImage, Entry),
    ) -> usize {
        let room = self.buffer.len().min(room as usize);
        let mut used = 0;
        while let Some(sealed) = self.carried.take().or_else(|| capture(&mut self.next)) {
            if used + sealed.bytes > room {
                self.carried = Some(sealed);
                break;
            }
            self.buffer[used..used + sealed.bytes].copy_from_slice(&self.next[..sealed.bytes]);
            let entry = Entry {
                offset: offset + used as u64,
                bytes: sealed.bytes as u32,
                crc: sealed.crc,
                tree: sealed.tree,
            };
            written(sealed, entry);
            used += sealed.bytes;
        }
        used
    }

    /// True if the run has room for the waiting image.
    fn has_room_in(&self, run: &Range<u64>, slot_bytes: u64) -> bool {
        let bytes = self.carried.map_or(1, |sealed| sealed.bytes as u64);
        (run.end - run.start) * slot_bytes >= bytes
    }
}

fn give_back<D: Disk>(file: &mut DataFile<D>, run: Range<u64>) {
    for slot in run {
        file.slots.give(SlotId(slot));
    }
}
