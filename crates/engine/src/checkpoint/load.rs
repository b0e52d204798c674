//! Reading pages: one, all, or all for a check. Each is verified against the map and its own checksum.

use crate::buffer::page;
use crate::checkpoint::damage::damaged;
use crate::checkpoint::data_file::DataFile;
use crate::checkpoint::page_map::{self, Entry};
use crate::checkpoint::root::SLOTS_FROM_BYTES;
use crate::checkpoint::slot_allocator::SlotAllocator;
use crate::error::{Error, Result};
use crate::ids::{PageId, SlotId, TreeId};
use crate::planted_bug::{PlantedBug, planted};
use syncline_vfs::{AlignedBuffer, Disk, File};

/// The most bytes in one read.
const READ_BYTES_MAX: usize = 1 << 20;

/// Gaps between two images up to this size are read rather than skipped, since another read costs more.
const GAP_BYTES_MAX: u64 = 64 << 10;

impl<D: Disk> DataFile<D> {
    /// Passes the image of every page to `sink`, in the order of their positions in the file.
    pub(crate) fn load(&self, sink: &mut dyn FnMut(PageId, &[u8]) -> Result<()>) -> Result<()> {
        let mut pages: Vec<(PageId, Entry)> = self.map.pages().collect();
        pages.sort_unstable_by_key(|(_, entry)| entry.offset);
        let mut rest = &pages[..];
        while !rest.is_empty() {
            let (run, later) = rest.split_at(run_of(rest));
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

    /// An error for a page whose image is intact but whose contents are wrong.
    pub(crate) fn refuse(&self, page: PageId, what: &str) -> Error {
        let entry = self.map.get(page);
        let slot = entry.slot(self.slot_bytes());
        let what = format!("{page} at {slot}: {what}");
        damaged(&self.path, entry.offset, what)
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
        for (index, &entry) in self.map.map_pages.iter().enumerate() {
            if !entry.is_absent() {
                let slot = entry.slot(self.slot_bytes());
                let bytes = self.read_slots(slot, 1)?;
                if let Err(what) = page_map::read(&bytes, self.root.format, index as u64, entry) {
                    found.push(format!("map page {index} at {slot}: {what}"));
                }
            }
        }
        for (page, entry) in self.map.pages() {
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
        let directory = self.root.directory;
        let of_directory = directory.slots(slot_bytes);
        let of_directory = (0..of_directory).map(|at| SlotId(directory.slot.0 + at));
        let map_pages = self.map.map_pages.iter().filter(|entry| !entry.is_absent());
        let of_map = map_pages.map(|entry| entry.slot(slot_bytes));
        let twice = of_directory.chain(of_map).filter(|slot| !named.take(*slot));
        let twice: Vec<SlotId> = twice.collect();
        let mut found: Vec<String> = twice
            .iter()
            .map(|slot| format!("{slot} is named twice or lies outside the file"))
            .collect();
        let of_pages = self.map.pages().map(|(_, entry)| entry).collect();
        if let Err(entry) = named.hold_named(of_pages, slot_bytes) {
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
        let bytes = slots * self.slot_bytes();
        let mut buffer = AlignedBuffer::zeroed(bytes as usize);
        let offset = self.offset(first);
        if slots > 0 && (self.io.read_at(&mut buffer, offset)? as u64) < bytes {
            return Err(damaged(&self.path, offset, "the file ends too early"));
        }
        Ok(buffer)
    }

    /// Reads the slots between two byte offsets in the file.
    fn read_between(&self, from: u64, to: u64) -> Result<FileRange> {
        let first = SlotId(from / self.slot_bytes());
        let slots = to.div_ceil(self.slot_bytes()) - first.0;
        Ok(FileRange { bytes: self.read_slots(first, slots)?, offset: self.offset(first) })
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
                    return Err(self.refuse(page, &what));
                }
                Ok(())
            }
            Ok(_) => Err(self.refuse(page, "the file holds another version of the page there")),
            Err(what) => Err(self.refuse(page, what)),
        }
    }
}

/// A part of the file that was read.
struct FileRange {
    bytes: AlignedBuffer,
    /// The offset of its first byte.
    offset: u64,
}

impl FileRange {
    /// The bytes of an image.
    fn image(&self, entry: Entry) -> &[u8] {
        let at = (entry.offset - self.offset) as usize;
        &self.bytes[at..at + entry.bytes as usize]
    }
}

/// How many of these pages one read takes, without a wide gap.
fn run_of(pages: &[(PageId, Entry)]) -> usize {
    let from = pages[0].1.offset;
    let fits = pages.windows(2).take_while(|pair| {
        let (one, next) = (pair[0].1, pair[1].1);
        next.offset - one.end() <= GAP_BYTES_MAX && next.end() - from <= READ_BYTES_MAX as u64
    });
    fits.count() + 1
}
