//! A checkpoint: a state machine that does one I/O a step. The states stand in the module's head.
//!
//! Nothing of it is visible in the data file before its last step but free slots taken: `root`, `read`
//! and `load` answer from the last checkpoint until then. A step that fails with anything but `Full`
//! closes the data file for good; after `Full` the same step may be done again.

use crate::buffer::page;
use crate::checkpoint::data_file::DataFile;
use crate::checkpoint::map::{self, Entry};
use crate::checkpoint::plan::{Plan, Work};
use crate::checkpoint::room::Room;
use crate::checkpoint::root::{BLOCK_BYTES, Directory, Root};
use crate::checkpoint::run::{RUN_BYTES_MAX, Run};
use crate::error::Result;
use crate::ids::{Csn, PageId, SlotId};
use crate::plant::{Plant, planted};
use syncline_disk::{AlignedBuffer, Disk};
use syncline_metering::clock;

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// One I/O, which wrote so many bytes; 0 for a sync.
    Worked {
        /// Bytes written.
        bytes: u64,
    },
    /// Nothing: the log must first be stable up to this commit.
    AwaitHorizon(Csn),
    /// The checkpoint is stable and in force.
    Done,
}

/// Where a checkpoint stands: what its next step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Room,
    Pages,
    MapPages,
    Directory { written: usize },
    Sync,
    Horizon,
    Root,
    RootSync,
    Done,
}

/// Where a checkpoint gets its pages.
pub(crate) trait DirtyPages {
    /// Writes a dirty page, as it was at the cut, into the buffer given. Called once for each.
    fn capture(&mut self, page: PageId, out: &mut [u8]);

    /// Dirty pages not captured yet that shall be captured before others, each once, at most so many.
    fn first(&mut self, at_most: usize) -> Vec<PageId>;
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    plan: Plan,
    state: State,
    room: Room,
    run: Run,
    taken: Taken,
    /// Entries of the dirty pages, in their order: absent before they are written.
    written: Vec<Entry>,
    /// How many of them are.
    pages_written: usize,
    /// All dirty pages before the one of this index are written.
    unwritten_from: usize,
    /// Entries of the changed map pages written so far, in the order of the used ones.
    map_written: Vec<Entry>,
    /// The directory to come, with its checksum once it is built.
    directory: Directory,
    /// Its bytes, filled up to whole slots.
    directory_image: AlignedBuffer,
    root: Option<Root>,
    remaining_bytes: u64,
}

/// The slots that a checkpoint has taken.
#[derive(Debug, Default)]
struct Taken {
    pages: Vec<SlotId>,
    map_pages: Vec<SlotId>,
    /// The map pages that go there.
    map_indices: Vec<u64>,
}

impl<D: Disk> DataFile<D> {
    /// Begins the next checkpoint. Asserts that none is running and that the work is a cut. One that is
    /// dropped before it is done harms nothing on the disk, but the file must then be opened again.
    pub(crate) fn begin(&mut self, work: Work) -> Checkpoint {
        assert!(!self.has_checkpoint, "one checkpoint at a time");
        assert!(!self.options.read_only, "the data file is open for reading");
        self.has_checkpoint = true;
        let plan = Plan::new(self, work);
        let page_bytes = self.page_bytes();
        Checkpoint {
            state: State::Room,
            room: std::mem::take(&mut self.ahead),
            run: Run::new(page_bytes, plan.single_slots()),
            taken: Taken::default(),
            written: vec![Entry::ABSENT; plan.work.dirty.len()],
            pages_written: 0,
            unwritten_from: 0,
            map_written: Vec::new(),
            directory: plan.directory(),
            directory_image: AlignedBuffer::zeroed(plan.directory_slots() as usize * page_bytes),
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

    /// Bytes still to be written, for a driver that paces: pages, map, directory and root, and by how
    /// much the file is to grow as far as that is known.
    pub(crate) fn remaining_bytes<D: Disk>(&self, file: &DataFile<D>) -> u64 {
        self.remaining_bytes + self.room.remaining_bytes(file)
    }

    /// Does the next I/O. `horizon` is the last commit that the log holds for certain. Fails with `Full`
    /// before anything is written: step again when there is space. Any other failure is final, and the
    /// store must be opened again.
    pub(crate) fn step<D: Disk>(
        &mut self,
        file: &mut DataFile<D>,
        pages: &mut dyn DirtyPages,
        horizon: Csn,
    ) -> Result<Progress> {
        file.check_alive()?;
        if self.state == State::Room {
            if let Some(bytes) = self.room.step(self.plan.wanted(), file)? {
                return Ok(Progress::Worked { bytes });
            }
            self.take_slots(file);
            self.state = State::Pages;
        }
        if self.state == State::Pages {
            if self.pages_written < self.taken.pages.len() {
                return self.write_pages(file, pages);
            }
            self.state = State::MapPages;
        }
        if self.state == State::MapPages {
            if self.map_written.len() < self.taken.map_pages.len() {
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
        self.finish(file, horizon)
    }

    /// The steps after everything but the root was written.
    fn finish<D: Disk>(&mut self, file: &mut DataFile<D>, horizon: Csn) -> Result<Progress> {
        if self.state == State::Sync && planted(Plant::RootBeforePages) {
            self.state = State::Horizon;
        }
        if self.state == State::Sync {
            file.sync()?;
            self.state = State::Horizon;
            return Ok(Progress::Worked { bytes: 0 });
        }
        if self.state == State::Horizon {
            if horizon < self.csn() && !planted(Plant::RootBeforeHorizon) {
                return Ok(Progress::AwaitHorizon(self.csn()));
            }
            self.state = State::Root;
        }
        if self.state == State::Root {
            let root = self.next_root(file);
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

    fn take_slots<D: Disk>(&mut self, file: &mut DataFile<D>) {
        if planted(Plant::FreeBeforeRootStable) {
            for slot in self.plan.superseded(file) {
                file.slots.give(slot);
            }
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
        let pages = self.plan.work.dirty.len() as u64;
        self.taken.pages = file.slots.take_any(pages);
        if planted(Plant::ReusePendingSlot) {
            for slot in &self.taken.pages {
                file.slots.give(*slot);
            }
        }
        self.taken.map_indices = self.plan.used_map_pages().collect();
        let map_pages = self.taken.map_indices.len() as u64;
        self.taken.map_pages = file.slots.take_any(map_pages);
    }

    fn write_pages<D: Disk>(
        &mut self,
        file: &mut DataFile<D>,
        pages: &mut dyn DirtyPages,
    ) -> Result<Progress> {
        let count = self.run.fit(&self.taken.pages[self.pages_written..]);
        let chosen = self.choose(count, pages);
        let slots = &self.taken.pages[self.pages_written..][..count];
        let (dirty, written) = (&self.plan.work.dirty, &mut self.written);
        let number = self.plan.number;
        self.run.write(file, slots, &mut |index, place| {
            let page = dirty[chosen[index]];
            pages.capture(page, place);
            let crc = page::seal(place, number);
            let verified = page::verify(place, page);
            assert!(verified == Ok(crc), "{page} was captured wrong");
            written[chosen[index]] = Entry::new(slots[index], crc);
        })?;
        self.pages_written += count;
        Ok(self.worked(count * file.page_bytes()))
    }

    /// Which dirty pages are written next: those that ask for it, then the lowest.
    fn choose(&mut self, count: usize, pages: &mut dyn DirtyPages) -> Vec<usize> {
        let dirty = &self.plan.work.dirty;
        let index_of = |page: &PageId| dirty.binary_search(page).expect("it is of the cut");
        let mut chosen: Vec<usize> = pages.first(count).iter().map(index_of).collect();
        let asked = chosen.len();
        while chosen.len() < count {
            let lowest = self.unwritten_from;
            if self.written[lowest].is_absent() && !chosen[..asked].contains(&lowest) {
                chosen.push(lowest);
            }
            self.unwritten_from += 1;
        }
        chosen
    }

    fn write_map_pages<D: Disk>(&mut self, file: &mut DataFile<D>) -> Result<Progress> {
        let from = self.map_written.len();
        let slots = &self.taken.map_pages[from..];
        let indices = &self.taken.map_indices[from..];
        let (plan, written, map_written) = (&self.plan, &self.written, &mut self.map_written);
        let map = std::mem::take(&mut file.map);
        let wrote = self.run.write(file, slots, &mut |at, place| {
            let entries = plan.entries(&map, indices[at], written);
            let crc = map::write(place, indices[at], plan.number, entries.into_iter());
            map_written.push(Entry::new(slots[at], crc));
        });
        file.map = map;
        let count = wrote?;
        Ok(self.worked(count * file.page_bytes()))
    }

    fn build_directory<D: Disk>(&mut self, file: &DataFile<D>) {
        let entries = self.next_map_pages(file);
        let bytes = self.directory.bytes() as usize;
        let image = &mut self.directory_image[..bytes];
        let (places, meta) = image.split_at_mut(entries.len() * 8);
        for (place, entry) in places.chunks_exact_mut(8).zip(&entries) {
            place.copy_from_slice(&entry.to_bytes());
        }
        meta.copy_from_slice(&self.plan.work.meta);
        self.directory.crc = crc32c::crc32c(image);
    }

    fn write_directory<D: Disk>(
        &mut self,
        file: &mut DataFile<D>,
        written: usize,
    ) -> Result<Progress> {
        let end = self.directory_image.len().min(written + RUN_BYTES_MAX);
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
        let home = if planted(Plant::RootsInOneBlock) {
            file.root.home
        } else {
            1 - file.root.home
        };
        Root {
            features: file.root.features,
            database: file.root.database,
            number: self.plan.number,
            csn: work.csn,
            next_page: work.next_page,
            page_bytes: file.root.page_bytes,
            meta: work.meta.clone(),
            pages: file.root.pages + added.count() as u64 - gone,
            wall_ns: clock::wall(),
            directory: self.directory,
            file_slots: file.slots.count(),
            home,
        }
    }

    /// The new root is stable: it is in force, and what only the last one named is free.
    fn install<D: Disk>(&mut self, file: &mut DataFile<D>) {
        let superseded = self.plan.superseded(file);
        file.map.map_pages = self.next_map_pages(file);
        let entries = &mut file.map.entries;
        entries.resize(self.plan.work.next_page.0 as usize - 1, Entry::ABSENT);
        for page in &self.plan.work.freed {
            entries[page.0 as usize - 1] = Entry::ABSENT;
        }
        for (page, entry) in self.plan.work.dirty.iter().zip(&self.written) {
            entries[page.0 as usize - 1] = *entry;
        }
        file.root = self
            .root
            .take()
            .expect("it was written in the state before");
        file.has_checkpoint = false;
        for slot in superseded {
            if !planted(Plant::FreeBeforeRootStable) {
                file.slots.give(slot);
            }
        }
    }

    /// The directory's entries to come.
    fn next_map_pages<D: Disk>(&self, file: &DataFile<D>) -> Vec<Entry> {
        let mut entries = file.map.map_pages.clone();
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
        Progress::Worked {
            bytes: bytes as u64,
        }
    }
}
