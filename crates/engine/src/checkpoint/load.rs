//! Reading pages: one, all, or all for a check. Each is verified against the map and its own checksum.

use crate::buffer::page;
use crate::buffer::page_map::Entry;
use crate::buffer::{GAP_BYTES_MAX, PageQueue, PageSource, near, page_packing};
use crate::checkpoint::damage::damaged;
use crate::checkpoint::data_file::DataFile;
use crate::checkpoint::held_root::HeldRoot;
use crate::checkpoint::map_page;
use crate::checkpoint::root::{SLOTS_FROM_BYTES, slot_bytes};
use crate::checkpoint::slot_allocator::SlotAllocator;
use crate::error::{Error, Result};
use crate::ids::{PageId, SlotId, TreeId};
use crate::planted_bug::{PlantedBug, planted};
use std::path::PathBuf;
use std::sync::Arc;
use syncline_vfs::{AlignedBuffer, BatchRead, Disk, File, QueuedRead, ReadQueue};

impl<D: Disk> DataFile<D> {
    /// Passes the image of every page to `sink`, in the order of their positions in the file.
    pub(crate) fn load(&self, sink: &mut dyn FnMut(PageId, &[u8]) -> Result<()>) -> Result<()> {
        let mut pages: Vec<(PageId, Entry)> = self.map.pages(self.root.next_page).collect();
        pages.sort_unstable_by_key(|(_, entry)| entry.offset);
        self.reader().read_images(&pages, sink)
    }

    /// An error for a page whose image is intact but whose contents are wrong.
    pub(crate) fn refuse(&self, page: PageId, what: &str) -> Error {
        self.reader().refuse(page, self.map.get(page), what)
    }

    /// What reads single pages, also while a checkpoint runs.
    pub(crate) fn reader(&self) -> ImageReader<D> {
        ImageReader {
            path: self.path.clone(),
            io: Arc::clone(&self.io),
            page_bytes: self.root.page_bytes,
        }
    }

    /// Reads the image of one page of the root in force. The page must be in it.
    #[cfg(test)]
    pub(crate) fn read(&self, page: PageId) -> Result<Vec<u8>> {
        let entry = self.map.get(page);
        assert!(!entry.is_absent(), "{page} is not in the data file");
        let read = self.read_between(entry.offset, entry.end())?;
        self.verify(read.image(entry), page, entry)?;
        Ok(read.image(entry).to_vec())
    }

    /// True if the root in force has the page.
    pub(crate) fn contains(&self, page: PageId) -> bool {
        !self.map.get(page).is_absent()
    }

    /// Walks everything that the root in force names and returns the problems found, one sentence each. Fails
    /// only if the disk does. Must not run during a checkpoint.
    pub(crate) fn check(&self) -> Result<Vec<String>> {
        assert!(!self.has_checkpoint, "no check while a checkpoint runs");
        let mut found = self.check_slots();
        for (index, &entry) in self.map_pages.iter().enumerate() {
            if !entry.is_absent() {
                let slot = entry.slot(self.slot_bytes());
                let bytes = self.read_slots(slot, 1)?;
                if let Err(what) = map_page::read(&bytes, self.root.format, index as u64, entry) {
                    found.push(format!("map page {index} at {slot}: {what}"));
                }
            }
        }
        for (page, entry) in self.map.pages(self.root.next_page) {
            let read = self.read_between(entry.offset, entry.end())?;
            match self.verify(read.image(entry), page, entry) {
                Ok(()) => {}
                Err(Error::Damaged { what, .. }) => found.push(what),
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Checks that every named slot is named once, inside the file and taken, with the right number of
    /// images; all others must be free.
    fn check_slots(&self) -> Vec<String> {
        let slot_bytes = self.slot_bytes();
        let mut named = SlotAllocator::new(SLOTS_FROM_BYTES / slot_bytes, self.slots.count());
        named.set_limit(self.slots.limit());
        let directory = self.root.directory;
        let of_directory = directory.slots(slot_bytes);
        let of_directory = (0..of_directory).map(|at| SlotId(directory.slot.0 + at));
        let map_pages = self.map_pages.iter().filter(|entry| !entry.is_absent());
        let of_map = map_pages.map(|entry| entry.slot(slot_bytes));
        let twice = of_directory.chain(of_map).filter(|slot| !named.take(*slot));
        let twice: Vec<SlotId> = twice.collect();
        let mut found: Vec<String> = twice
            .iter()
            .map(|slot| format!("{slot} is named twice or lies outside the file"))
            .collect();
        let of_pages = self.map.pages(self.root.next_page).map(|(_, entry)| entry);
        let held = self.held.iter().flat_map(HeldRoot::images);
        if let Err(entry) = named.hold_named(of_pages.chain(held).collect(), slot_bytes) {
            let slot = entry.slot(slot_bytes);
            found.push(format!(
                "an image at {slot} overlaps another named area, or lies outside the file"
            ));
        }
        if found.is_empty() && named != self.slots {
            found.push(format!(
                "{} slots are not named, but {} are free, or their images are miscounted",
                named.free(),
                self.slots.free()
            ));
        }
        found
    }

    /// Reads consecutive slots.
    pub(super) fn read_slots(&self, first: SlotId, slots: u64) -> Result<AlignedBuffer> {
        self.reader().read_slots(first, slots)
    }

    /// Reads the slots between two byte offsets in the file.
    pub(super) fn read_between(&self, from: u64, to: u64) -> Result<FileRange> {
        self.reader().read_between(from, to)
    }

    fn verify(&self, image: &[u8], page: PageId, entry: Entry) -> Result<()> {
        self.reader().verify(image, page, entry)
    }
}

/// Reads images by their entries, from any thread.
#[derive(Debug)]
pub(crate) struct ImageReader<D: Disk> {
    path: PathBuf,
    io: Arc<D::File>,
    page_bytes: u32,
}

impl<D: Disk> Clone for ImageReader<D> {
    fn clone(&self) -> ImageReader<D> {
        ImageReader {
            path: self.path.clone(),
            io: Arc::clone(&self.io),
            page_bytes: self.page_bytes,
        }
    }
}

impl<D: Disk> ImageReader<D> {
    fn read_slots(&self, first: SlotId, slots: u64) -> Result<AlignedBuffer> {
        let slot_bytes = slot_bytes(self.page_bytes);
        let (bytes, offset) = (slots * slot_bytes, first.0 * slot_bytes);
        let mut buffer = AlignedBuffer::zeroed(bytes as usize);
        if slots > 0 && (self.io.read_at(&mut buffer, offset)? as u64) < bytes {
            return Err(damaged(&self.path, offset, "the file ends too early"));
        }
        Ok(buffer)
    }

    fn read_between(&self, from: u64, to: u64) -> Result<FileRange> {
        let slot_bytes = slot_bytes(self.page_bytes);
        let first = SlotId(from / slot_bytes);
        let slots = to.div_ceil(slot_bytes) - first.0;
        Ok(FileRange { bytes: self.read_slots(first, slots)?, offset: first.0 * slot_bytes })
    }

    /// Memory for the slots between two byte offsets in the file.
    fn room_between(&self, from: u64, to: u64) -> FileRange {
        let (offset, bytes) = self.slots_between(from, to);
        FileRange { bytes: AlignedBuffer::zeroed(bytes), offset }
    }

    /// Where the slots between two byte offsets in the file begin, and how many bytes they are.
    fn slots_between(&self, from: u64, to: u64) -> (u64, usize) {
        let offset = self.slot_start(from);
        (offset, (to.next_multiple_of(slot_bytes(self.page_bytes)) - offset) as usize)
    }

    /// Where the slot of a byte in the file begins.
    fn slot_start(&self, from: u64) -> u64 {
        let slot_bytes = slot_bytes(self.page_bytes);
        from / slot_bytes * slot_bytes
    }

    /// Passes the images of these pages, which are in the order of the file, to `sink`.
    pub(super) fn read_images(
        &self,
        pages: &[(PageId, Entry)],
        sink: &mut dyn FnMut(PageId, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut rest = pages;
        while !rest.is_empty() {
            let (run, later) = rest.split_at(near(rest, GAP_BYTES_MAX));
            rest = later;
            let (first, last) = (run[0].1, run[run.len() - 1].1);
            let read = self.read_between(first.offset, last.end())?;
            for &(page, entry) in run {
                let image = read.image(entry);
                self.verify(image, page, entry)?;
                sink(page, image)?;
            }
        }
        Ok(())
    }

    /// A page as in memory, out of its image.
    fn unpacked(&self, image: &[u8], page: PageId, entry: Entry) -> Result<Box<[u8]>> {
        self.verify(image, page, entry)?;
        let unpacked = page_packing::unpack(image, self.page_bytes as usize);
        unpacked.map_err(|what| self.refuse(page, entry, what))
    }

    fn verify(&self, image: &[u8], page: PageId, entry: Entry) -> Result<()> {
        if planted(PlantedBug::SkipPageChecksum) {
            return Ok(());
        }
        match page::verify(image, page) {
            Ok(crc) if entry.crc == crc => {
                let tree = page::tree(image);
                // Tree 0: an entry of format 2 that is being read for its tree.
                if entry.tree != tree && entry.tree != TreeId(0) {
                    let what = format!("it belongs to {tree}, but the map says {}", entry.tree);
                    return Err(self.refuse(page, entry, &what));
                }
                Ok(())
            }
            Ok(_) => {
                Err(self.refuse(page, entry, "the file holds another version of the page there"))
            }
            Err(what) => Err(self.refuse(page, entry, what)),
        }
    }

    fn refuse(&self, page: PageId, entry: Entry, what: &str) -> Error {
        let slot = entry.slot(slot_bytes(self.page_bytes));
        damaged(&self.path, entry.offset, format!("{page} at {slot}: {what}"))
    }
}

impl<D: Disk> PageSource for ImageReader<D> {
    fn read(&self, page: PageId, entry: Entry) -> Result<Box<[u8]>> {
        self.unpacked(self.read_between(entry.offset, entry.end())?.image(entry), page, entry)
    }

    fn read_run(&self, pages: &[(PageId, Entry)], each: &mut dyn FnMut(PageId, Result<Box<[u8]>>)) {
        let (first, last) = (pages[0].1, pages[pages.len() - 1].1);
        match self.read_between(first.offset, last.end()) {
            Ok(read) => {
                for &(page, entry) in pages {
                    each(page, self.unpacked(read.image(entry), page, entry));
                }
            }
            // Read one by one, so that each page gets its own answer.
            Err(_) => pages.iter().for_each(|&(page, entry)| each(page, self.read(page, entry))),
        }
    }

    fn read_batch(
        &self,
        pages: &[(PageId, Entry)],
        each: &mut dyn FnMut(PageId, Result<Box<[u8]>>),
    ) {
        let gap_bytes_max = slot_bytes(self.page_bytes);
        let (mut runs, mut rooms, mut rest) = (Vec::new(), Vec::new(), pages);
        while !rest.is_empty() {
            let (run, later) = rest.split_at(near(rest, gap_bytes_max));
            rest = later;
            runs.push(run);
            rooms.push(self.room_between(run[0].1.offset, run[run.len() - 1].1.end()));
        }
        let mut reads: Vec<BatchRead<'_>> =
            rooms.iter_mut().map(|room| BatchRead::new(&mut room.bytes, room.offset)).collect();
        self.io.read_batch(&mut reads, &mut |position, bytes| {
            let run = runs[position];
            let offset = self.slot_start(run[0].1.offset);
            for &(page, entry) in run {
                let from = (entry.offset - offset) as usize;
                let image = bytes.as_ref().ok();
                match image.and_then(|bytes| bytes.get(from..from + entry.bytes as usize)) {
                    Some(image) => each(page, self.unpacked(image, page, entry)),
                    // Read alone, so that each page gets its own answer.
                    None => each(page, self.read(page, entry)),
                }
            }
        });
    }

    fn queue(&self) -> Box<dyn PageQueue> {
        Box::new(ImageQueue {
            queue: ReadQueue::new(QUEUE_DEPTH),
            reader: self.clone(),
            under_way: Vec::new(),
            spare: Vec::new(),
        })
    }
}

/// Images that a thread may read at the same time.
const QUEUE_DEPTH: u32 = 256;

/// Images that are being read.
struct ImageQueue<D: Disk> {
    queue: ReadQueue,
    reader: ImageReader<D>,
    /// The pages that are being read, by the tokens of their reads.
    under_way: Vec<Option<(PageId, Entry)>>,
    /// Buffers of reads that have ended.
    spare: Vec<AlignedBuffer>,
}

/// Longer buffers are freed after their reads: those of pages are short.
const SPARE_BYTES_MAX: usize = 64 << 10;

/// Buffers that are kept; pages of a store need few different lengths.
const SPARES_MAX: usize = 64;

impl<D: Disk> PageQueue for ImageQueue<D> {
    fn begin(&mut self, page: PageId, entry: Entry) {
        let token = self.under_way.iter().position(Option::is_none).unwrap_or_else(|| {
            self.under_way.push(None);
            self.under_way.len() - 1
        });
        self.under_way[token] = Some((page, entry));
        let (offset, bytes) = self.reader.slots_between(entry.offset, entry.end());
        let spare = self.spare.iter().position(|buffer| buffer.len() == bytes);
        let buffer = match spare {
            Some(position) => self.spare.swap_remove(position),
            None => AlignedBuffer::zeroed(bytes),
        };
        let read = QueuedRead { token: token as u64, buffer, offset };
        self.reader.io.begin_read(&mut self.queue, read);
    }

    fn submit(&mut self) {
        self.queue.submit();
    }

    fn has_room(&self) -> bool {
        self.queue.has_room()
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn wait(&mut self, at_least: usize, each: &mut dyn FnMut(PageId, Result<Box<[u8]>>)) {
        let ImageQueue { queue, reader, under_way, spare } = self;
        queue.wait(at_least, &mut |read, is_filled| {
            let QueuedRead { token, buffer: bytes, offset } = read;
            let begun = under_way[token as usize].take();
            let (page, entry) = begun.expect("a token names a read that has begun");
            let read = FileRange { bytes, offset };
            let image = if is_filled {
                reader.unpacked(read.image(entry), page, entry)
            } else {
                reader.read(page, entry)
            };
            if spare.len() < SPARES_MAX && read.bytes.len() <= SPARE_BYTES_MAX {
                spare.push(read.bytes);
            }
            each(page, image);
        });
    }
}

/// A part of the file that was read.
pub(super) struct FileRange {
    bytes: AlignedBuffer,
    /// The offset of its first byte.
    offset: u64,
}

impl FileRange {
    /// The bytes of an image.
    pub(super) fn image(&self, entry: Entry) -> &[u8] {
        let at = (entry.offset - self.offset) as usize;
        &self.bytes[at..at + entry.bytes as usize]
    }
}
