//! Writes page images back to back into runs of free slots, up to 256 KiB at a time.
//!
//! Free runs are short where rows change all over a store, so one step fills several runs, and writes to all
//! of them at the same time. The images that go into a run are a stream of bytes: one may continue in the
//! next step, but lies in one piece, in one run. A write fills whole slots, so that no slot is written twice:
//! where no further image has room, the rest of the last slot stays empty, and unused slots of the run are
//! returned. An image that is longer than a page, an extent's, may not fit into the runs at hand; then it
//! waits for a longer one.

use crate::buffer::page_map::Entry;
use crate::checkpoint::data_file::DataFile;
use crate::error::Result;
use crate::ids::{SlotId, TreeId};
use crate::planted_bug::{PlantedBug, planted};
use std::ops::Range;
use syncline_vfs::{AlignedBuffer, BatchWrite, Disk};

/// The most bytes in one step by default: few enough not to delay a commit's sync for long.
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

/// An image that was captured and is not written completely.
#[derive(Clone, Copy, Debug)]
struct PartialImage {
    sealed: SealedImage,
    /// How many of its bytes earlier writes hold; 0 if it has no location yet.
    written: usize,
}

/// The state of writing the images of one checkpoint.
#[derive(Debug)]
pub(super) struct ImageWriter {
    /// The contents of the next step's writes.
    buffer: AlignedBuffer,
    /// The image that was captured last.
    next: Vec<u8>,
    /// The image in `next`, if the last write does not hold all of it.
    carried: Option<PartialImage>,
    /// Taken slots without contents, in runs of at least a page. The last one is filled next; if an image
    /// was written in part, the rest goes to the start of that run.
    runs: Vec<Range<u64>>,
    page_bytes: u64,
}

impl ImageWriter {
    /// For at most `images` images of at most a page each, and others with `long_bytes` together, in writes
    /// of at most about `write_bytes_max`.
    pub(super) fn new(
        page_bytes: usize,
        (images, long_bytes): (usize, u64),
        write_bytes_max: usize,
    ) -> ImageWriter {
        let write_bytes_max = write_bytes_max.next_multiple_of(page_bytes);
        let long_bytes = (long_bytes as usize).next_multiple_of(page_bytes);
        let most = images.saturating_mul(page_bytes).saturating_add(long_bytes);
        ImageWriter {
            buffer: AlignedBuffer::zeroed(most.clamp(page_bytes, write_bytes_max)),
            next: Vec::with_capacity(page_bytes),
            carried: None,
            runs: Vec::new(),
            page_bytes: page_bytes as u64,
        }
    }

    /// How many consecutive slots it needs before it can write anything; none if it has them.
    pub(super) fn wants_run(&self, slot_bytes: u64) -> Option<u64> {
        let needed = self.next_slots(slot_bytes);
        let has_one = self.runs.iter().any(|run| run.end - run.start >= needed);
        (!has_one).then_some(needed)
    }

    /// The consecutive slots for the next image if it is captured, otherwise for a page.
    fn next_slots(&self, slot_bytes: u64) -> u64 {
        let missing = |image: PartialImage| (image.sealed.bytes - image.written) as u64;
        self.carried.map_or(self.page_bytes, missing).div_ceil(slot_bytes)
    }

    /// The length of an image that waits for a run; 0 if none does.
    pub(super) fn waiting_bytes(&self) -> u64 {
        let waiting = self.carried.filter(|image| image.written == 0);
        waiting.map_or(0, |image| image.sealed.bytes as u64)
    }

    /// True if the last write ended within an image.
    pub(super) fn is_partial(&self) -> bool {
        self.carried.is_some_and(|image| image.written > 0)
    }

    /// Sets the runs to be filled, in ascending order, each long enough for a page.
    pub(super) fn set_runs(&mut self, mut runs: Vec<Range<u64>>) {
        assert!(self.runs.is_empty(), "runs are left");
        runs.reverse();
        self.runs = runs;
    }

    /// Returns all runs: they do not suffice.
    pub(super) fn give_back_runs<D: Disk>(&mut self, file: &mut DataFile<D>) {
        assert!(!self.is_partial(), "an image has its slots before its first byte is written");
        for run in self.runs.drain(..) {
            give_back(file, run);
        }
    }

    /// Writes as many images as fit into the buffer, into as many runs as they need. `capture` puts the next
    /// image into the given buffer, a page long, or returns none at the end; `placed` receives the location
    /// of each. Returns the bytes written: 0 if the next image waits for another run.
    pub(super) fn write<D: Disk>(
        &mut self,
        file: &mut DataFile<D>,
        capture: &mut dyn FnMut(&mut Vec<u8>) -> Result<Option<SealedImage>>,
        placed: &mut dyn FnMut(SealedImage, Entry),
    ) -> Result<usize> {
        let slot_bytes = file.slot_bytes();
        let mut parts: Vec<(Range<usize>, u64)> = Vec::new();
        let mut filled = 0;
        while filled < self.buffer.len()
            && let Some(run) = self.take_run(slot_bytes)
        {
            let offset = run.start * slot_bytes;
            let room = (run.end - run.start) * slot_bytes;
            let used = self.fill(filled, (offset, room), capture, &mut |sealed, entry| {
                file.slots.hold(entry.slots(slot_bytes));
                placed(sealed, entry);
            })?;
            let slots = (used as u64).div_ceil(slot_bytes);
            let end = filled + (slots * slot_bytes) as usize;
            let rest = run.start + slots..run.end;
            if self.is_partial() || (rest.end - rest.start) * slot_bytes >= self.page_bytes {
                self.runs.push(rest);
            } else {
                give_back(file, rest);
            }
            if used > 0 {
                self.buffer[filled + used..end].fill(0);
                parts.push((filled..end, offset));
                filled = end;
            }
            if self.carried.is_none() {
                // There is no other image.
                break;
            }
        }
        let writes = parts.into_iter().map(|(part, offset)| {
            let bytes = &self.buffer[part];
            BatchWrite { bytes, offset }
        });
        let writes: Vec<_> = writes.collect();
        if !writes.is_empty() {
            file.write_batch(&writes)?;
        }
        Ok(filled)
    }

    /// Takes the last run that has room for the next image out of the list.
    fn take_run(&mut self, slot_bytes: u64) -> Option<Range<u64>> {
        let needed = self.next_slots(slot_bytes);
        let at = self.runs.iter().rposition(|run| run.end - run.start >= needed)?;
        Some(self.runs.remove(at))
    }

    /// Ends the writing and frees the unused slots.
    pub(super) fn end<D: Disk>(&mut self, file: &mut DataFile<D>) {
        assert!(self.carried.is_none(), "an image was captured and not written");
        self.give_back_runs(file);
    }

    /// The same for an abandoned checkpoint: a waiting image is dropped.
    pub(super) fn abandon<D: Disk>(&mut self, file: &mut DataFile<D>) {
        self.give_back_runs(file);
        self.carried = None;
    }

    /// Copies images into the buffer, from `from` on, until it is full or the next one does not fit into the
    /// run, which begins at `offset`; returns their bytes. The last image may be copied in part.
    fn fill(
        &mut self,
        from: usize,
        (offset, room): (u64, u64),
        capture: &mut dyn FnMut(&mut Vec<u8>) -> Result<Option<SealedImage>>,
        placed: &mut dyn FnMut(SealedImage, Entry),
    ) -> Result<usize> {
        let mut used = 0;
        let buffer_bytes = self.buffer.len() - from;
        while used < buffer_bytes {
            let mut image = self.carried.take();
            if image.is_none() {
                self.next.resize(self.page_bytes as usize, 0);
                let captured = capture(&mut self.next)?;
                image = captured.map(|sealed| PartialImage { sealed, written: 0 });
            }
            let Some(image) = image else {
                break;
            };
            let PartialImage { sealed, written } = image;
            let left = sealed.bytes - written;
            if written == 0 {
                if (used + left) as u64 > room {
                    self.carried = Some(image);
                    break;
                }
                let entry = Entry {
                    offset: offset + used as u64,
                    bytes: sealed.bytes as u32,
                    crc: sealed.crc,
                    tree: sealed.tree,
                };
                placed(sealed, entry);
            }
            let part = left.min(buffer_bytes - used);
            let done = if planted(PlantedBug::RestartImageInNextWrite) { 0 } else { written };
            let target = &mut self.buffer[from + used..from + used + part];
            target.copy_from_slice(&self.next[done..done + part]);
            used += part;
            if part < left {
                self.carried = Some(PartialImage { sealed, written: written + part });
            }
        }
        Ok(used)
    }
}

fn give_back<D: Disk>(file: &mut DataFile<D>, run: Range<u64>) {
    for slot in run {
        file.slots.give(SlotId(slot));
    }
}
