//! Reading pages: one, all, or all for a check. Each is verified against the map and its own checksum.

use crate::buffer::page;
use crate::checkpoint::data_file::DataFile;
use crate::checkpoint::finding::damaged;
use crate::checkpoint::map::{self, Entry};
use crate::checkpoint::slots::Slots;
use crate::error::{Error, Result};
use crate::ids::{PageId, SlotId};
use crate::plant::{Plant, planted};
use syncline_disk::{AlignedBuffer, Disk, File};

/// What one read carries at most, in bytes.
const READ_BYTES_MAX: usize = 1 << 20;

/// Free slots between two pages that are read along rather than skipped, since a read costs more.
const GAP_SLOTS_MAX: u64 = 8;

impl<D: Disk> DataFile<D> {
    /// Hands every page to `sink`, in the order of their slots.
    pub(crate) fn load(&self, sink: &mut dyn FnMut(PageId, Box<[u8]>) -> Result<()>) -> Result<()> {
        let mut pages: Vec<(PageId, Entry)> = self.map.pages().collect();
        pages.sort_unstable_by_key(|(_, entry)| entry.slot());
        let page_bytes = self.page_bytes();
        let mut rest = &pages[..];
        while !rest.is_empty() {
            let (run, later) = rest.split_at(run_of(rest, READ_BYTES_MAX / page_bytes));
            rest = later;
            let first = run[0].1.slot();
            let slots = run[run.len() - 1].1.slot().0 - first.0 + 1;
            let bytes = self.read_slots(first, slots)?;
            for &(page, entry) in run {
                let at = (entry.slot().0 - first.0) as usize * page_bytes;
                let bytes = &bytes[at..at + page_bytes];
                self.verify(bytes, page, entry)?;
                sink(page, bytes.into())?;
            }
        }
        Ok(())
    }

    /// Reads one page of the root in force. The page must be in it.
    #[cfg(test)]
    pub(crate) fn read(&self, page: PageId, out: &mut [u8]) -> Result<()> {
        let entry = self.map.get(page);
        assert!(!entry.is_absent(), "{page} is not in the data file");
        let bytes = self.read_slots(entry.slot(), 1)?;
        self.verify(&bytes, page, entry)?;
        out.copy_from_slice(&bytes);
        Ok(())
    }

    /// True if the root in force has the page.
    pub(crate) fn contains(&self, page: PageId) -> bool {
        !self.map.get(page).is_absent()
    }

    /// Walks everything that the root in force names and tells what is wrong, a sentence each. Fails
    /// only if the disk does not answer. Not while a checkpoint runs.
    pub(crate) fn check(&self) -> Result<Vec<String>> {
        assert!(!self.has_checkpoint, "a check wants a quiet data file");
        let mut found = self.check_slots();
        for (index, &entry) in self.map.map_pages.iter().enumerate() {
            if !entry.is_absent() {
                let bytes = self.read_slots(entry.slot(), 1)?;
                if let Err(what) = map::read(&bytes, index as u64, entry) {
                    found.push(format!("map page {index} at {}: {what}", entry.slot()));
                }
            }
        }
        for (page, entry) in self.map.pages() {
            let bytes = self.read_slots(entry.slot(), 1)?;
            match self.verify(&bytes, page, entry) {
                Ok(()) => {}
                Err(Error::Damaged { what, .. }) => found.push(what),
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Slots named are unique, in the file and taken; all others are free.
    fn check_slots(&self) -> Vec<String> {
        let mut found = Vec::new();
        let directory = self.root.directory;
        let of_directory = directory.slots(self.root.page_bytes);
        let of_directory = (0..of_directory).map(|at| SlotId(directory.slot.0 + at));
        let map_pages = self.map.map_pages.iter().filter(|entry| !entry.is_absent());
        let of_map = map_pages.map(|entry| entry.slot());
        let of_pages = self.map.pages().map(|(_, entry)| entry.slot());
        let mut unnamed = Slots::new(self.slots_before(), self.slots.count());
        for slot in of_directory.chain(of_map).chain(of_pages) {
            if !unnamed.take(slot) {
                found.push(format!("{slot} is named twice or lies outside the file"));
            }
            if self.slots.is_free(slot) {
                found.push(format!("{slot} is both named and free"));
            }
        }
        if found.is_empty() && unnamed.free() != self.slots.free() {
            found.push(format!(
                "{} slots are not named, but {} are free",
                unnamed.free(),
                self.slots.free()
            ));
        }
        found
    }

    /// Reads slots in a row.
    pub(super) fn read_slots(&self, first: SlotId, slots: u64) -> Result<AlignedBuffer> {
        let bytes = slots * u64::from(self.root.page_bytes);
        let mut buffer = AlignedBuffer::zeroed(bytes as usize);
        let offset = self.offset(first);
        if slots > 0 && (self.io.read_at(&mut buffer, offset)? as u64) < bytes {
            return Err(damaged(&self.path, offset, "the file ends too early"));
        }
        Ok(buffer)
    }

    fn verify(&self, bytes: &[u8], page: PageId, entry: Entry) -> Result<()> {
        if planted(Plant::SkipPageChecksum) {
            return Ok(());
        }
        let what = match page::verify(bytes, page) {
            Ok(crc) if entry.fits(crc) => return Ok(()),
            Ok(_) => "another version of the page stands in its place",
            Err(what) => what,
        };
        let offset = self.offset(entry.slot());
        Err(damaged(
            &self.path,
            offset,
            format!("{page} at {}: {what}", entry.slot()),
        ))
    }

    /// Slots that lie before byte 32768 and never hold a page.
    fn slots_before(&self) -> u64 {
        crate::checkpoint::root::SLOTS_FROM_BYTES / u64::from(self.root.page_bytes)
    }
}

/// How many of these pages one read takes: of at most `slots_max` slots, without a wide gap.
fn run_of(pages: &[(PageId, Entry)], slots_max: usize) -> usize {
    let first = pages[0].1.slot().0;
    let fits = pages.windows(2).take_while(|pair| {
        let (one, next) = (pair[0].1.slot().0, pair[1].1.slot().0);
        next - one <= GAP_SLOTS_MAX + 1 && next - first < slots_max as u64
    });
    fits.count() + 1
}
