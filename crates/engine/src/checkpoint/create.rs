//! Creating a data file: complete and stable under another name, then renamed to its own.
//!
//! An interrupted creation leaves at most a file `NAME.new`, which the next one overwrites. So under its own
//! name a data file is either complete or does not exist.

use crate::buffer::page_map::PageMap;
use crate::checkpoint::compaction::Compaction;
use crate::checkpoint::data_file::{DataFile, open_io, open_options, root_block};
use crate::checkpoint::file_growth::FileGrowth;
use crate::checkpoint::map_page::LongImages;
use crate::checkpoint::options::{FileOptions, check_page_bytes};
use crate::checkpoint::root::{
    COPY_BLOCK, Directory, FORMAT, Features, Root, SLOTS_FROM_BYTES, block_offset, slot_bytes,
};
use crate::checkpoint::slot_allocator::SlotAllocator;
use crate::error::{Error, Result};
use crate::ids::{Csn, DatabaseId, PageId};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syncline_instrument::clock;
use syncline_vfs::{Disk, File, OpenOptions};

/// Bytes for pages in a new file, if an extent is not smaller. An empty database should be small, and the
/// file grows by larger steps the larger it is (see `file_growth`).
const FIRST_BYTES: u64 = 256 << 10;

impl<D: Disk> DataFile<D> {
    /// Creates a data file without pages: root 1, at csn 0. It is stable when this returns, but its name
    /// becomes stable only when the caller syncs the directory. Refuses a path that exists; fails with `Full`
    /// if there is no space.
    pub(crate) fn create(
        disk: &D,
        path: &Path,
        database: DatabaseId,
        page_bytes: u32,
        options: &FileOptions,
    ) -> Result<DataFile<D>> {
        options.check()?;
        check_page_bytes(page_bytes)?;
        let making = making_path(path);
        let lock = disk.open(&making, OpenOptions::READ_WRITE)?;
        lock.try_lock()?;
        if exists(disk, path)? {
            disk.remove(&making)?;
            let path = path.to_owned();
            return Err(Error::DataFileExists { path });
        }
        lock.set_len(0)?;
        let (io, is_direct) = open_io(disk, &making, page_bytes, options)?;
        let slot = slot_bytes(page_bytes);
        let first_bytes = options.extent_bytes.min(FIRST_BYTES);
        let file_bytes = SLOTS_FROM_BYTES + first_bytes.next_multiple_of(slot);
        let root = first_root(database, page_bytes, file_bytes / slot);
        fill(disk, &io, (&making, file_bytes), &root)?;
        let reserved = SLOTS_FROM_BYTES / slot;
        let file = DataFile {
            path: path.to_owned(),
            io,
            lock,
            is_direct,
            options: options.clone(),
            root,
            map: Arc::new(PageMap::new()),
            map_pages: Vec::new(),
            long: LongImages::default(),
            slots: SlotAllocator::new(reserved, file_bytes / slot),
            has_loose_end: false,
            ahead: FileGrowth::default(),
            compaction: Compaction::default(),
            has_checkpoint: false,
            held: None,
            failure: None,
        };
        disk.rename(&making, path)?;
        Ok(file)
    }
}

/// The name under which a data file is created.
pub(super) fn making_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

fn first_root(database: DatabaseId, page_bytes: u32, file_slots: u64) -> Root {
    Root {
        format: FORMAT,
        features: Features::default(),
        database,
        number: 1,
        csn: Csn::ZERO,
        next_page: PageId(1),
        page_bytes,
        meta: Vec::new(),
        pages: 0,
        image_bytes: 0,
        wall_ns: clock::wall(),
        directory: Directory::default(),
        file_slots,
        home: 0,
    }
}

/// Fills the file with zeros, writes the first root and its copy, and syncs all of it at once: the file does
/// not have its own name yet. On a full disk it is removed.
fn fill<D: Disk>(disk: &D, io: &D::File, (making, bytes): (&Path, u64), root: &Root) -> Result<()> {
    let write = || {
        io.preallocate(bytes)?;
        for block in [COPY_BLOCK, root.home] {
            io.write_at(&root_block(root), block_offset(block))?;
        }
        io.sync_all()
    };
    match write() {
        Ok(()) => Ok(()),
        Err(error) if error.is_full() => {
            disk.remove(making)?;
            Err(Error::Full {
                directory: making.parent().unwrap_or(Path::new("")).to_owned(),
                segment_bytes: bytes,
            })
        }
        Err(error) => Err(error.into()),
    }
}

fn exists<D: Disk>(disk: &D, path: &Path) -> Result<bool> {
    match disk.open(path, open_options(true, false)) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == Some(ErrorKind::NotFound) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
