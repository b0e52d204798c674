//! The data file in memory: the root in force, the map, the free slots, and the open file.
//!
//! Two handles: one holds the lock and reads the roots before the page size is known, the other does
//! everything else, bypassing the page cache if possible. After a failed write or sync the file refuses all
//! further work: it must be opened again.

use crate::buffer::page_map::{Entry, PageMap};
use crate::checkpoint::compaction::Compaction;
use crate::checkpoint::file_growth::FileGrowth;
use crate::checkpoint::held_root::HeldRoot;
use crate::checkpoint::map_page::LongImages;
use crate::checkpoint::options::FileOptions;
use crate::checkpoint::root::{BLOCK_BYTES, COPY_BLOCK, Root, block_offset, slot_bytes};
use crate::checkpoint::slot_allocator::SlotAllocator;
use crate::error::{Error, Result};
use crate::ids::SlotId;
use crate::planted_bug::{PlantedBug, planted};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syncline_vfs::{Access, AlignedBuffer, BatchWrite, Create, Disk, File, OpenOptions, WriteSync};

/// Direct reads and writes need whole blocks of any device.
const DIRECT_PAGE_BYTES_MIN: u32 = 4096;

/// An open data file.
#[derive(Debug)]
pub(crate) struct DataFile<D: Disk> {
    pub(super) path: PathBuf,
    pub(super) io: Arc<D::File>,
    /// Held for its lock.
    pub(super) lock: D::File,
    pub(super) is_direct: bool,
    pub(super) options: FileOptions,
    pub(super) root: Root,
    /// The map of the root in force, shared with the buffer.
    pub(super) map: Arc<PageMap>,
    /// The directory's entries, one for each map page, by index.
    pub(super) map_pages: Vec<Entry>,
    /// The images that are longer than a page.
    pub(super) long: LongImages,
    pub(super) slots: SlotAllocator,
    /// Bytes may lie behind the last slot: a growth that was never synced.
    pub(super) has_loose_end: bool,
    /// The growth of the file for the next checkpoint.
    pub(super) ahead: FileGrowth,
    pub(super) compaction: Compaction,
    /// A checkpoint is running; only one may run at a time.
    pub(super) has_checkpoint: bool,
    /// The root that a backup reads.
    pub(super) held: Option<HeldRoot>,
    pub(super) failure: Option<Arc<str>>,
}

impl<D: Disk> DataFile<D> {
    /// The root in force: that of the last checkpoint known to be stable.
    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// The page map, for the buffer.
    pub(crate) fn page_map(&self) -> Arc<PageMap> {
        Arc::clone(&self.map)
    }

    /// The size of the file, without a growth that is not synced yet.
    pub(crate) fn bytes(&self) -> u64 {
        self.slots.count() * self.slot_bytes()
    }

    /// True if reads and writes bypass the page cache.
    #[cfg(test)]
    pub(crate) fn is_direct(&self) -> bool {
        self.is_direct
    }

    pub(super) fn page_bytes(&self) -> usize {
        self.root.page_bytes as usize
    }

    pub(super) fn slot_bytes(&self) -> u64 {
        slot_bytes(self.root.page_bytes)
    }

    /// The average length in bytes of the images that are not longer than a page; without any, that of leaves
    /// filled in key order.
    pub(super) fn image_bytes_mean(&self) -> u64 {
        let LongImages { count, bytes } = self.long;
        match self.root.pages - count {
            0 => u64::from(self.root.page_bytes) * 3 / 4,
            pages => (self.root.image_bytes - bytes).div_ceil(pages),
        }
    }

    /// Where a slot begins, in bytes.
    pub(super) fn offset(&self, slot: SlotId) -> u64 {
        slot.0 * self.slot_bytes()
    }

    /// Refuses work after a failure.
    pub(super) fn check_alive(&self) -> Result<()> {
        match &self.failure {
            None => Ok(()),
            Some(because) => Err(Error::Poisoned { because: Arc::clone(because) }),
        }
    }

    /// Writes; a failure is final.
    pub(super) fn write(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        self.check_alive()?;
        let written = self.io.write_at(bytes, offset);
        written.map_err(|error| self.fail(error))
    }

    /// Makes several writes, in any order.
    pub(super) fn write_batch(&mut self, writes: &[BatchWrite<'_>]) -> Result<()> {
        self.check_alive()?;
        let written = self.io.write_batch(writes);
        written.map_err(|error| self.fail(error))
    }

    /// Makes earlier writes stable; a failure is final.
    pub(super) fn sync(&mut self) -> Result<()> {
        self.check_alive()?;
        match self.io.sync_data() {
            Err(_) if planted(PlantedBug::SwallowDataSyncError) => Ok(()),
            Err(error) => Err(self.fail(error)),
            Ok(()) => Ok(()),
        }
    }

    /// Records a failure, so that all further work is refused.
    pub(super) fn fail(&mut self, error: syncline_vfs::Error) -> Error {
        self.failure = Some(error.to_string().into());
        error.into()
    }

    /// Writes a root into a block.
    pub(super) fn write_root(&mut self, root: &Root, block: u8) -> Result<()> {
        self.write(&root_block(root), block_offset(block))
    }

    /// Makes sure that the root in force is on the disk (invariant 4 of the parent module). `copy` is false
    /// if only the copy was found, which must then not be overwritten.
    pub(super) fn restate(&mut self, copy: bool) -> Result<()> {
        let root = self.root.clone();
        if copy {
            self.write_root(&root, COPY_BLOCK)?;
            self.sync()?;
        }
        self.write_root(&root, root.home)?;
        self.sync()
    }
}

/// A block with a root.
pub(super) fn root_block(root: &Root) -> AlignedBuffer {
    let mut bytes = AlignedBuffer::zeroed(BLOCK_BYTES);
    let root = root.to_bytes();
    bytes[..root.len()].copy_from_slice(&root);
    bytes
}

/// Opens the handle for pages: direct if requested, allowed by the page size, and offered by the file system.
pub(super) fn open_io<D: Disk>(
    disk: &D,
    path: &Path,
    page_bytes: u32,
    options: &FileOptions,
) -> Result<(Arc<D::File>, bool)> {
    let direct = options.direct && page_bytes >= DIRECT_PAGE_BYTES_MIN;
    match disk.open(path, open_options(options.read_only, direct)) {
        Ok(file) => Ok((Arc::new(file), direct)),
        Err(error) if direct && is_not_offered(error.kind()) => {
            let file = disk.open(path, open_options(options.read_only, false))?;
            Ok((Arc::new(file), false))
        }
        Err(error) => Err(error.into()),
    }
}

/// How an existing file is opened.
pub(super) fn open_options(read_only: bool, direct: bool) -> OpenOptions {
    OpenOptions {
        access: if read_only { Access::Read } else { Access::ReadWrite },
        create: Create::Never,
        direct,
        write_sync: WriteSync::No,
    }
}

fn is_not_offered(kind: Option<ErrorKind>) -> bool {
    matches!(kind, Some(ErrorKind::InvalidInput | ErrorKind::Unsupported))
}
