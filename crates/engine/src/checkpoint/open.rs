//! Opening a data file: choosing a root, checking it, and reading what it names.
//!
//! 1. The newest sound root is chosen. A block that is neither sound nor blank is read once more; if it stays
//!    bad, either a crash has torn the root that was being written there, or the newest root is damaged, and
//!    the previous root is chosen. Its slots are intact in the first case and may have been reused in the
//!    second, so every page is then read and checked at once.
//! 2. A sound root whose directory, map or length is wrong means damage, never a reason to choose an older
//!    one: everything that a root names was stable before the root was written.
//! 3. The root is secured before anything else is written (invariant 4 of the parent module).

use crate::buffer::extent::EXTENT_IMAGE_BYTES_MAX;
use crate::buffer::page::{self, HEADER_BYTES};
use crate::buffer::page_map::{ENTRY_BYTES, Entry, PageMap};
use crate::buffer::{GAP_BYTES_MAX, near};
use crate::checkpoint::compaction::Compaction;
use crate::checkpoint::damage::damaged;
use crate::checkpoint::data_file::{DataFile, open_io, open_options};
use crate::checkpoint::file_growth::FileGrowth;
use crate::checkpoint::map_page;
use crate::checkpoint::map_page::LongImages;
use crate::checkpoint::options::FileOptions;
use crate::checkpoint::root::{
    BLOCK_BYTES, BLOCKS, BlockRead, COPY_BLOCK, FORMAT, Features, ROOT_BYTES, Root,
    SLOTS_FROM_BYTES, block_offset, read_block, slot_bytes,
};
use crate::checkpoint::slot_allocator::SlotAllocator;
use crate::error::{Error, Result};
use crate::ids::{PageId, SlotId};
use crate::planted_bug::{PlantedBug, planted};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use syncline_vfs::{Disk, File};

impl<D: Disk> DataFile<D> {
    /// Opens the data file at `path` with its newest usable root and locks it. Refuses a file that is
    /// damaged, newer, not a data file, never finished, or locked by another handle. A file that is read only
    /// is shared with other readers.
    pub(crate) fn open(disk: &D, path: &Path, options: &FileOptions) -> Result<DataFile<D>> {
        options.check()?;
        let lock = open_lock(disk, path, options)?;
        let blocks = read_blocks(&lock)?;
        let chosen = choose(path, &blocks)?;
        check_features(path, chosen.root.features, options)?;
        let file_bytes = lock.len()?;
        check_length(path, &chosen.root, file_bytes)?;
        let slot = slot_bytes(chosen.root.page_bytes);
        let (io, is_direct) = open_io(disk, path, chosen.root.page_bytes, options)?;
        let mut file = DataFile {
            path: path.to_owned(),
            io,
            lock,
            is_direct,
            options: options.clone(),
            map: Arc::new(PageMap::new()),
            map_pages: Vec::new(),
            long: LongImages::default(),
            slots: SlotAllocator::new(SLOTS_FROM_BYTES / slot, chosen.root.file_slots),
            has_loose_end: file_bytes > chosen.root.file_slots * slot,
            ahead: FileGrowth::default(),
            compaction: Compaction::default(),
            has_checkpoint: false,
            held: None,
            failure: None,
            root: chosen.root,
        };
        file.read_directory()?;
        file.read_map()?;
        if chosen.is_fallback {
            file.load(&mut |_, _| Ok(()))?;
        }
        if !options.read_only && !planted(PlantedBug::SkipRestatement) {
            file.restate(!chosen.only_copy)?;
        }
        Ok(file)
    }

    /// Reads the directory: its entries into the map, the metadata into the root.
    fn read_directory(&mut self) -> Result<()> {
        let directory = self.root.directory;
        let slots = directory.slots(self.slot_bytes());
        for slot in directory.slot.0..directory.slot.0 + slots {
            self.take_named(SlotId(slot), "the directory")?;
        }
        let bytes = self.read_slots(directory.slot, slots)?;
        let bytes = &bytes[..directory.bytes() as usize];
        if crc32c::crc32c(bytes) != directory.crc {
            let what = "the directory's checksum does not match its bytes";
            return Err(damaged(&self.path, self.offset(directory.slot), what));
        }
        let (entries, meta) = bytes.split_at(directory.map_pages as usize * ENTRY_BYTES);
        let entries = entries.chunks_exact(ENTRY_BYTES);
        let format = self.root.format;
        self.map_pages = entries.map(|entry| Entry::of_format(format, entry)).collect();
        self.root.meta = meta.to_vec();
        Ok(())
    }

    fn read_map(&mut self) -> Result<()> {
        let slot_bytes = self.slot_bytes();
        let in_map_page = map_page::entries_in(slot_bytes);
        let expected = map_page::map_pages_for(self.root.next_page, slot_bytes);
        if self.map_pages.len() as u64 != expected {
            return Err(damaged(
                &self.path,
                block_offset(self.root.home),
                format!("the root names {} map pages, not {expected}", self.map_pages.len()),
            ));
        }
        let mut named: Vec<(PageId, Entry)> = Vec::new();
        for (index, entry) in self.map_pages.clone().into_iter().enumerate() {
            if !entry.is_absent() {
                self.take_named(entry.slot(slot_bytes), "a map page")?;
                named.push((PageId(index as u64), entry));
            }
        }
        named.sort_unstable_by_key(|(_, entry)| entry.offset);
        let mut rest = &named[..];
        while !rest.is_empty() {
            let (run, later) = rest.split_at(near(rest, GAP_BYTES_MAX));
            rest = later;
            let read = self.read_between(run[0].1.offset, run[run.len() - 1].1.end())?;
            for &(PageId(index), entry) in run {
                let found = map_page::read(read.image(entry), self.root.format, index, entry);
                let found = found.map_err(|what| damaged(&self.path, entry.offset, what))?;
                let first = index * in_map_page + 1;
                let pages = (first..self.root.next_page.0).map(PageId);
                for (page, entry) in pages.zip(found) {
                    self.map.set(page, entry);
                }
            }
        }
        self.take_images()?;
        if self.root.format < FORMAT {
            self.label_entries()?;
        }
        Ok(())
    }

    /// Reads the tree of every page from its image, for a file whose map does not name it.
    fn label_entries(&mut self) -> Result<()> {
        let mut trees = Vec::new();
        self.load(&mut |page, image| {
            trees.push((page, page::tree(image)));
            Ok(())
        })?;
        for (page, tree) in trees {
            self.map.set(page, Entry { tree, ..self.map.get(page) });
        }
        Ok(())
    }

    /// Takes the slots of all images that the map names.
    fn take_images(&mut self) -> Result<()> {
        let root_at = block_offset(self.root.home);
        let pages = self.map.pages(self.root.next_page);
        let named: Vec<Entry> = pages.map(|(_, entry)| entry).collect();
        let bytes: u64 = named.iter().map(|entry| u64::from(entry.bytes)).sum();
        let (pages, expected) = (named.len() as u64, self.root.pages);
        if pages != expected || bytes != self.root.image_bytes {
            let what = format!(
                "the map holds {pages} pages with {bytes} bytes of images, not {expected} with {}",
                self.root.image_bytes
            );
            return Err(damaged(&self.path, root_at, what));
        }
        let lengths = HEADER_BYTES as u32..=EXTENT_IMAGE_BYTES_MAX as u32;
        let is_odd = |entry: &&Entry| !lengths.contains(&entry.bytes);
        if let Some(odd) = named.iter().find(is_odd) {
            let what = format!("an image has {} bytes, which no page has", odd.bytes);
            return Err(damaged(&self.path, odd.offset, what));
        }
        self.long = LongImages::of(named.iter().copied(), self.root.page_bytes);
        let held = self.slots.hold_named(named, self.slot_bytes());
        held.map_err(|entry| {
            let what = "an image overlaps another named area, or lies outside the file";
            damaged(&self.path, entry.offset, what)
        })
    }

    fn take_named(&mut self, slot: SlotId, what: &str) -> Result<()> {
        if self.slots.take(slot) {
            return Ok(());
        }
        let what = format!("{slot} of {what} is named twice or not in the file");
        Err(damaged(&self.path, self.offset(slot), what))
    }
}

/// The root that opening chose.
struct ChosenRoot {
    root: Root,
    /// Only the copy block holds it, not its own block.
    only_copy: bool,
    /// Some block is bad: there may have been a newer root.
    is_fallback: bool,
}

fn open_lock<D: Disk>(disk: &D, path: &Path, options: &FileOptions) -> Result<D::File> {
    let nothing = |what| Error::NoDataFile { path: path.to_owned(), what };
    let lock = match disk.open(path, open_options(options.read_only, false)) {
        Err(error) if error.kind() == Some(ErrorKind::NotFound) => {
            return Err(nothing(
                "there is no such file; create a new database, or name the right directory",
            ));
        }
        opened => opened?,
    };
    if options.read_only {
        lock.try_lock_shared()?;
    } else {
        lock.try_lock()?;
    }
    if lock.is_empty()? {
        return Err(nothing(
            "the file is empty, which this engine never leaves; restore it from a backup",
        ));
    }
    Ok(lock)
}

/// The contents of the three blocks; blank where the file ends earlier. A block that the disk cannot read
/// counts as bad, since an interrupted write may leave it so, unless no other block is usable.
pub(super) fn read_blocks<F: File>(file: &F) -> Result<[BlockRead; BLOCKS]> {
    let mut blocks = [const { BlockRead::Blank }; BLOCKS];
    let mut failure = None;
    for (block, found) in blocks.iter_mut().enumerate() {
        let offset = block_offset(block as u8);
        *found = match try_block(file, offset) {
            // A bit flipped during the read, or a passing failure, must not select an older root.
            Ok(BlockRead::Bad { .. }) | Err(_) => match try_block(file, offset) {
                Ok(found) => found,
                Err(error) => {
                    failure = Some(error);
                    BlockRead::Bad { has_magic: true }
                }
            },
            Ok(found) => found,
        };
    }
    let is_root = |block: &BlockRead| {
        matches!(block, BlockRead::Sound(_) | BlockRead::Newer(_) | BlockRead::Older(_))
    };
    match failure {
        Some(error) if !blocks.iter().any(is_root) => Err(error.into()),
        _ => Ok(blocks),
    }
}

fn try_block<F: File>(file: &F, offset: u64) -> syncline_vfs::Result<BlockRead> {
    let mut bytes = [0; BLOCK_BYTES];
    file.read_at(&mut bytes, offset)?;
    Ok(read_block(&bytes[..ROOT_BYTES]))
}

fn choose(path: &Path, blocks: &[BlockRead; BLOCKS]) -> Result<ChosenRoot> {
    let of_another_format = blocks.iter().find_map(|block| match *block {
        BlockRead::Newer(found) => {
            Some(Error::Newer { path: path.to_owned(), found, known: FORMAT })
        }
        BlockRead::Older(found) => {
            Some(Error::Older { path: path.to_owned(), found, known: FORMAT })
        }
        _ => None,
    });
    if let Some(refusal) = of_another_format {
        return Err(refusal);
    }
    let sound = blocks.iter().enumerate().filter_map(|(block, read)| match read {
        BlockRead::Sound(root) => Some((root, block as u8)),
        _ => None,
    });
    // Prefer a root over its copy.
    let newest = sound.max_by_key(|(root, block)| (root.number, *block != COPY_BLOCK));
    match newest {
        Some((root, block)) => Ok(ChosenRoot {
            root: root.clone(),
            only_copy: block == COPY_BLOCK,
            is_fallback: blocks.iter().any(|block| matches!(block, BlockRead::Bad { .. })),
        }),
        None => Err(refuse(path, blocks)),
    }
}

fn refuse(path: &Path, blocks: &[BlockRead; BLOCKS]) -> Error {
    if blocks.contains(&BlockRead::Bad { has_magic: true }) {
        return damaged(path, 0, "no root can be read");
    }
    if blocks.iter().all(|block| *block == BlockRead::Blank) {
        return Error::NoDataFile {
            path: path.to_owned(),
            what: "the file holds no root, which this engine never leaves; restore it from a backup",
        };
    }
    Error::NotADataFile { path: path.to_owned() }
}

fn check_features(path: &Path, features: Features, options: &FileOptions) -> Result<()> {
    let refused = |bits, advice| Err(Error::Feature { path: path.to_owned(), bits, advice });
    let unknown = features.incompatible & !Features::KNOWN.incompatible;
    if unknown != 0 {
        return refused(unknown, "use a newer program");
    }
    let unknown = features.read_only & !Features::KNOWN.read_only;
    if unknown != 0 && !options.read_only {
        return refused(unknown, "use a newer program");
    }
    Ok(())
}

fn check_length(path: &Path, root: &Root, file_bytes: u64) -> Result<()> {
    let expected = root.file_slots * slot_bytes(root.page_bytes);
    if expected < SLOTS_FROM_BYTES || file_bytes < expected {
        let what = format!("the file ends at {file_bytes}, but its root requires {expected} bytes");
        return Err(damaged(path, file_bytes, what));
    }
    Ok(())
}
