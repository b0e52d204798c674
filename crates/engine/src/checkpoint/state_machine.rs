//! A checkpoint: a state machine that performs one I/O per step, a sync or a batch of writes. The parent
//! module lists its states.
//!
//! Until its last step a checkpoint changes nothing visible in the data file except free slots: `root`,
//! `read` and `load` return the last checkpoint until then. A step that fails with anything but `Full` closes
//! the data file for good; after `Full` the same step may be repeated.

use crate::buffer::page;
use crate::buffer::page_map::{ENTRY_BYTES, Entry};
use crate::checkpoint::data_file::DataFile;
use crate::checkpoint::file_growth::{FileGrowth, SpaceNeeded};
use crate::checkpoint::image_writer::{ImageWriter, SealedImage, WRITE_BYTES_MAX};
use crate::checkpoint::map_page::{self, LongImages};
use crate::checkpoint::plan::{Plan, Work};
use crate::checkpoint::root::{BLOCK_BYTES, Directory, FORMAT, Root};
use crate::error::Result;
use crate::ids::{Csn, PageId, SlotId, TreeId};
use crate::planted_bug::{PlantedBug, planted};
use syncline_instrument::clock;
use syncline_vfs::{AlignedBuffer, BatchWrite, Disk, File};

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// One I/O, which wrote `bytes` bytes; 0 for a sync.
    Worked {
        /// Bytes written.
        bytes: u64,
    },
    /// Nothing: the log must first be stable up to this commit.
    AwaitDurable(Csn),
    /// The checkpoint is stable and in force.
    Done,
}

/// The state of a checkpoint: what its next step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    FileGrowth,
    Pages,
    MapPages,
    Directory { written: usize },
    Sync,
    WaitForLog,
    Root,
    RootSync,
    Done,
}

/// The source of a checkpoint's pages.
pub(crate) trait DirtyPages {
    /// Replaces the content of `out`, which is a page long, by the image of a dirty page as of the snapshot.
    /// Called once for each page. A failure ends the checkpoint for good.
    fn capture(&mut self, page: PageId, out: &mut Vec<u8>) -> Result<()>;

    /// A dirty page, not captured yet, that should be captured before others.
    fn first(&mut self) -> Option<PageId>;
}

/// A running checkpoint.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    plan: Plan,
    state: State,
    growth: FileGrowth,
    image_writer: ImageWriter,
    taken: Option<MapSlots>,
    /// Which of the dirty pages are captured, in their order.
    captured: Captured,
    /// Entries of the dirty pages, in their order: absent until they are written.
    written: Vec<Entry>,
    /// How many images of at most a page have no location yet.
    pages_left: usize,
    /// The bytes of the longer ones without a location.
    long_bytes_left: u64,
    /// Entries of the changed map pages written so far, in the order of the used ones.
    map_written: Vec<Entry>,
    /// The new directory, with its checksum once it is built.
    directory: Directory,
    /// Its bytes, padded to whole slots.
    directory_image: AlignedBuffer,
    root: Option<Root>,
    remaining_bytes: u64,
}

/// The slots that a checkpoint has taken for map pages.
#[derive(Debug)]
struct MapSlots {
    map_pages: Vec<SlotId>,
    /// The map pages that go there.
    map_indices: Vec<u64>,
}

/// The dirty pages that have been captured.
#[derive(Debug)]
struct Captured {
    pages: Vec<bool>,
    /// All pages before this index are captured.
    all_before: usize,
}

impl<D: Disk> DataFile<D> {
    /// Begins the next checkpoint. Asserts that none is running and that the work is valid. Dropping a
    /// checkpoint before it is done harms nothing on the disk, but the file must then be opened again.
    pub(crate) fn begin(&mut self, work: Work) -> Checkpoint {
        assert!(!self.has_checkpoint, "one checkpoint at a time");
        assert!(!self.options.read_only, "the data file is open for reading");
        self.has_checkpoint = true;
        let plan = Plan::new(self, work);
        let pages = plan.work.dirty.len();
        let directory_bytes = plan.directory_slots() * self.slot_bytes();
        Checkpoint {
            state: State::FileGrowth,
            growth: std::mem::take(&mut self.ahead),
            image_writer: ImageWriter::new(
                self.page_bytes(),
                (pages - plan.work.long.len(), plan.long_bytes()),
                self.options.write_bytes_max,
            ),
            pages_left: pages - plan.work.long.len(),
            long_bytes_left: plan.long_bytes(),
            taken: None,
            captured: Captured { pages: vec![false; pages], all_before: 0 },
            written: vec![Entry::ABSENT; pages],
            map_written: Vec::new(),
            directory: plan.directory(),
            directory_image: AlignedBuffer::zeroed(directory_bytes as usize),
            root: None,
            remaining_bytes: plan.bytes(),
            plan,
        }
    }
}

impl Checkpoint {
    /// The last commit in its pages.
    pub(crate) fn csn(&self) -> Csn {
        self.plan.work.csn
    }

    /// Bytes still to be written, for pacing: images, as if each of a page filled it, map, directory and
    /// root, and the known growth of the file.
    pub(crate) fn remaining_bytes<D: Disk>(&self, file: &DataFile<D>) -> u64 {
        self.remaining_bytes + self.growth.remaining_bytes(file)
    }

    /// Performs the next I/O. `durable_lsn` is the last commit that the log holds for certain. Fails with
    /// `Full` before the root is written: step again when there is space, or abandon it. Any other failure is
    /// final, and the store must be opened again.
    pub(crate) fn step<D: Disk>(
        &mut self,
        file: &mut DataFile<D>,
        pages: &mut dyn DirtyPages,
        durable_lsn: Csn,
    ) -> Result<Progress> {
        file.check_alive()?;
        if self.state == State::FileGrowth {
            if let Some(bytes) = self.growth.step(self.space_needed(), file)? {
                return Ok(Progress::Worked { bytes });
            }
            self.take_slots(file);
            self.state = State::Pages;
        }
        if self.state == State::Pages {
            if self.pages_left > 0 || self.long_bytes_left > 0 || self.image_writer.is_partial() {
                return self.write_images(file, pages, durable_lsn);
            }
            self.image_writer.end(file);
            self.state = State::MapPages;
        }
        if self.state == State::MapPages {
            if self.map_written.len() < self.taken().map_pages.len() {
                return self.write_map_pages(file);
            }
            self.build_directory(file);
            self.state = State::Directory { written: 0 };
        }
        if let State::Directory { written } = self.state {
            if written < self.directory_image.len() {
                return self.write_directory(file, written);
            }
            self.state = State::Sync;
        }
        self.finish(file, durable_lsn)
    }

    /// Abandons the checkpoint before its root is written: the slots that it has taken are free again.
    /// Returns its work. For a checkpoint that found no space: a later one may need less.
    pub(crate) fn abandon<D: Disk>(mut self, file: &mut DataFile<D>) -> Work {
        assert!(self.root.is_none(), "a root that is written may be in force");
        self.image_writer.abandon(file);
        let slot_bytes = file.slot_bytes();
        for entry in self.written.iter().filter(|entry| !entry.is_absent()) {
            file.slots.leave(entry.slots(slot_bytes));
        }
        if let Some(taken) = self.taken {
            let first = self.directory.slot.0;
            let directory = (first..first + self.plan.directory_slots()).map(SlotId);
            for slot in directory.chain(taken.map_pages) {
                file.slots.give(slot);
            }
        }
        file.has_checkpoint = false;
        self.plan.work
    }

    /// The steps after everything but the root was written.
    fn finish<D: Disk>(&mut self, file: &mut DataFile<D>, durable_lsn: Csn) -> Result<Progress> {
        if self.state == State::Sync && planted(PlantedBug::RootBeforePages) {
            self.state = State::WaitForLog;
        }
        if self.state == State::Sync {
            file.sync()?;
            self.state = State::WaitForLog;
            return Ok(Progress::Worked { bytes: 0 });
        }
        if self.state == State::WaitForLog {
            if durable_lsn < self.csn() && !planted(PlantedBug::RootBeforeDurable) {
                return Ok(Progress::AwaitDurable(self.csn()));
            }
            self.state = State::Root;
        }
        if self.state == State::Root {
            let root = self.next_root(file);
            if planted(PlantedBug::CutBeforeRoot) && root.file_slots < file.slots.count() {
                let _cut = file.io.set_len(root.file_slots * file.slot_bytes());
            }
            file.write_root(&root, root.home)?;
            self.root = Some(root);
            self.state = State::RootSync;
            return Ok(self.worked(BLOCK_BYTES));
        }
        if self.state == State::RootSync {
            file.sync()?;
            self.install(file);
            self.state = State::Done;
        }
        Ok(Progress::Done)
    }

    /// The space needed: for the whole checkpoint at first, later for its remaining pages.
    fn space_needed(&self) -> SpaceNeeded {
        if self.taken.is_none() {
            return self.plan.space_needed();
        }
        let waiting_bytes = self.image_writer.waiting_bytes();
        self.plan.space_for_images(self.pages_left, self.long_bytes_left, waiting_bytes)
    }

    fn taken(&self) -> &MapSlots {
        self.taken.as_ref().expect("there was room before")
    }

    /// Takes the slots for directory and map, once.
    fn take_slots<D: Disk>(&mut self, file: &mut DataFile<D>) {
        if self.taken.is_some() {
            return;
        }
        if planted(PlantedBug::FreeBeforeRootStable) {
            self.plan.superseded(file).give_back(file);
        }
        let in_a_row = self.plan.directory_slots();
        if in_a_row > 0 {
            let first = file.slots.find_run(in_a_row).expect("room was made");
            for slot in first.0..first.0 + in_a_row {
                let was_free = file.slots.take(SlotId(slot));
                assert!(was_free, "a run is of free slots");
            }
            self.directory.slot = first;
        }
        let map_indices: Vec<u64> = self.plan.used_map_pages().collect();
        let map_pages = file.slots.take_any(map_indices.len() as u64);
        if planted(PlantedBug::ReusePendingSlot) {
            for slot in &map_pages {
                file.slots.give(*slot);
            }
        }
        self.taken = Some(MapSlots { map_pages, map_indices });
    }

    /// Writes images once. If they are longer than expected, and the runs taken for them do not suffice,
    /// other runs are taken, or made if there are none.
    fn write_images<D: Disk>(
        &mut self,
        file: &mut DataFile<D>,
        pages: &mut dyn DirtyPages,
        durable_lsn: Csn,
    ) -> Result<Progress> {
        if let Some(at_least) = self.image_writer.wants_run(file.slot_bytes()) {
            self.image_writer.give_back_runs(file);
            let slots = self.space_needed().stream_slots(file.slot_bytes());
            let runs = file.slots.take_runs(slots, at_least);
            if runs.is_empty() {
                self.state = State::FileGrowth;
                return self.step(file, pages, durable_lsn);
            }
            self.image_writer.set_runs(runs);
        }
        let (plan, captured, written) = (&self.plan, &mut self.captured, &mut self.written);
        let (pages_left, long_bytes_left) = (&mut self.pages_left, &mut self.long_bytes_left);
        let remaining_bytes = &mut self.remaining_bytes;
        let page_bytes = u64::from(file.root.page_bytes);
        let mut capture = |image: &mut Vec<u8>| {
            let Some(index) = captured.next(&plan.work.dirty, pages) else {
                return Ok(None);
            };
            let page = plan.work.dirty[index];
            pages.capture(page, image)?;
            let expected = plan.long_image_bytes(page);
            let is_as_planned = match expected {
                Some(bytes) => image.len() as u64 == bytes,
                None => image.len() as u64 <= page_bytes,
            };
            assert!(
                is_as_planned,
                "{page} has an image of {} bytes, not {expected:?}",
                image.len()
            );
            let crc = page::seal(image, plan.number);
            let verified = page::verify(image, page);
            assert!(verified == Ok(crc), "{page} was captured incorrectly");
            Ok(Some(SealedImage { index, bytes: image.len(), crc, tree: page::tree(image) }))
        };
        let mut note = |sealed: SealedImage, entry| {
            written[sealed.index] = entry;
            if let Some(bytes) = plan.long_image_bytes(plan.work.dirty[sealed.index]) {
                *long_bytes_left -= bytes;
                *remaining_bytes -= bytes;
            } else {
                *pages_left -= 1;
                *remaining_bytes -= page_bytes;
            }
        };
        let bytes = self.image_writer.write(file, &mut capture, &mut note)?;
        if bytes == 0 {
            // The waiting image has no room in the rest of the runs.
            return self.step(file, pages, durable_lsn);
        }
        Ok(Progress::Worked { bytes: bytes as u64 })
    }

    fn write_map_pages<D: Disk>(&mut self, file: &mut DataFile<D>) -> Result<Progress> {
        let slot_bytes = file.slot_bytes() as usize;
        let from = self.map_written.len();
        let taken = self.taken.as_ref().expect("there was room before");
        let (slots, indices) = (&taken.map_pages[from..], &taken.map_indices[from..]);
        let count = slots.len().min(WRITE_BYTES_MAX / slot_bytes);
        let mut image = AlignedBuffer::zeroed(count * slot_bytes);
        for (at, target) in image.chunks_exact_mut(slot_bytes).enumerate() {
            let entries = self.plan.entries(&file.map, indices[at], &self.written);
            let crc = map_page::write(target, indices[at], self.plan.number, entries.into_iter());
            self.map_written.push(Entry {
                offset: file.offset(slots[at]),
                bytes: slot_bytes as u32,
                crc,
                tree: TreeId(0),
            });
        }
        let mut writes = Vec::new();
        let mut slots = &slots[..count];
        let mut rest = &image[..];
        while !slots.is_empty() {
            let (first, in_a_row) = (slots[0], adjacent(slots));
            let (bytes, behind) = rest.split_at(in_a_row * slot_bytes);
            writes.push(BatchWrite { bytes, offset: file.offset(first) });
            (slots, rest) = (&slots[in_a_row..], behind);
        }
        file.write_batch(&writes)?;
        Ok(self.worked(image.len()))
    }

    fn build_directory<D: Disk>(&mut self, file: &DataFile<D>) {
        let entries = self.next_map_pages(file);
        let bytes = self.directory.bytes() as usize;
        let image = &mut self.directory_image[..bytes];
        let (targets, meta) = image.split_at_mut(entries.len() * ENTRY_BYTES);
        for (target, entry) in targets.chunks_exact_mut(ENTRY_BYTES).zip(&entries) {
            target.copy_from_slice(&entry.to_bytes());
        }
        meta.copy_from_slice(&self.plan.work.meta);
        self.directory.crc = crc32c::crc32c(image);
    }

    fn write_directory<D: Disk>(
        &mut self,
        file: &mut DataFile<D>,
        written: usize,
    ) -> Result<Progress> {
        let end = self.directory_image.len().min(written + WRITE_BYTES_MAX);
        let offset = file.offset(self.directory.slot) + written as u64;
        file.write(&self.directory_image[written..end], offset)?;
        self.state = State::Directory { written: end };
        Ok(self.worked(end - written))
    }

    fn next_root<D: Disk>(&self, file: &DataFile<D>) -> Root {
        let work = &self.plan.work;
        let is_there = |page: &&PageId| file.contains(**page);
        let added = work.dirty.iter().filter(|page| !file.contains(**page));
        let gone = work.freed.iter().filter(is_there).count() as u64;
        let bytes = |entries: &mut dyn Iterator<Item = Entry>| -> u64 {
            entries.map(|entry| u64::from(entry.bytes)).sum()
        };
        let changed = work.dirty.iter().chain(&work.freed);
        let bytes_before = bytes(&mut changed.map(|page| file.map.get(*page)));
        let bytes_now = bytes(&mut self.written.iter().copied());
        let home =
            if planted(PlantedBug::RootsInOneBlock) { file.root.home } else { 1 - file.root.home };
        Root {
            format: FORMAT,
            features: file.root.features,
            database: file.root.database,
            number: self.plan.number,
            csn: work.csn,
            next_page: work.next_page,
            page_bytes: file.root.page_bytes,
            meta: work.meta.clone(),
            pages: file.root.pages + added.count() as u64 - gone,
            image_bytes: file.root.image_bytes + bytes_now - bytes_before,
            wall_ns: clock::wall(),
            directory: self.directory,
            file_slots: file.slots_of_next_root(),
            home,
        }
    }

    /// The new root is stable: puts it in force and frees what only the last one named.
    fn install<D: Disk>(&mut self, file: &mut DataFile<D>) {
        let superseded = self.plan.superseded(file);
        let changed = self.plan.work.dirty.iter().chain(&self.plan.work.freed);
        let page_bytes = file.root.page_bytes;
        let gone = LongImages::of(changed.map(|page| file.map.get(*page)), page_bytes);
        let new = LongImages::of(self.written.iter().copied(), page_bytes);
        file.long.count = file.long.count + new.count - gone.count;
        file.long.bytes = file.long.bytes + new.bytes - gone.bytes;
        file.map_pages = self.next_map_pages(file);
        if let Some(held) = &mut file.held {
            for page in self.plan.work.dirty.iter().chain(&self.plan.work.freed) {
                held.replace(*page, file.map.get(*page));
            }
        }
        let changing = file.map.begin_changes();
        for page in &self.plan.work.freed {
            file.map.set(*page, Entry::ABSENT);
        }
        for (page, entry) in self.plan.work.dirty.iter().zip(&self.written) {
            file.map.set(*page, *entry);
        }
        drop(changing);
        file.root = self.root.take().expect("it was written in the state before");
        file.has_checkpoint = false;
        if !planted(PlantedBug::FreeBeforeRootStable) {
            superseded.give_back(file);
        }
        file.cut();
    }

    /// The entries of the new directory.
    fn next_map_pages<D: Disk>(&self, file: &DataFile<D>) -> Vec<Entry> {
        let mut entries = file.map_pages.clone();
        entries.resize(self.directory.map_pages as usize, Entry::ABSENT);
        let mut written = self.map_written.iter();
        for changed in &self.plan.map_pages {
            entries[changed.index as usize] = if changed.is_used {
                *written.next().expect("each used map page was written")
            } else {
                Entry::ABSENT
            };
        }
        entries
    }

    fn worked(&mut self, bytes: usize) -> Progress {
        self.remaining_bytes -= bytes as u64;
        Progress::Worked { bytes: bytes as u64 }
    }
}

impl Captured {
    /// The index of the dirty page to capture next: an urgent one, or the lowest; none if all are captured.
    fn next(&mut self, dirty: &[PageId], pages: &mut dyn DirtyPages) -> Option<usize> {
        let index_of =
            |page: PageId| dirty.binary_search(&page).expect("it belongs to the snapshot");
        let asking = pages.first().map(index_of);
        let index = asking.unwrap_or_else(|| self.lowest());
        let captured = self.pages.get_mut(index)?;
        assert!(!*captured, "a page asks to be captured twice");
        *captured = true;
        Some(index)
    }

    fn lowest(&mut self) -> usize {
        let rest = self.pages[self.all_before..].iter();
        self.all_before += rest.take_while(|captured| **captured).count();
        self.all_before
    }
}

/// How many slots at the start of the list are consecutive.
fn adjacent(slots: &[SlotId]) -> usize {
    let pairs = slots.windows(2);
    pairs.take_while(|pair| pair[1].0 == pair[0].0 + 1).count() + 1
}

#[cfg(test)]
mod tests {
    use super::adjacent;
    use crate::ids::SlotId;

    #[test]
    fn adjacent_slots_are_counted_up_to_the_first_gap() {
        let slots = |numbers: &[u64]| numbers.iter().copied().map(SlotId).collect::<Vec<_>>();
        assert_eq!(adjacent(&slots(&[5])), 1);
        assert_eq!(adjacent(&slots(&[5, 6, 7])), 3);
        assert_eq!(adjacent(&slots(&[5, 6, 8, 9])), 2);
        assert_eq!(adjacent(&slots(&[5, 4])), 1);
    }
}
