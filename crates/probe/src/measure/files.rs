//! The temporary files of one directory, each in the state that a cell needs.
//!
//! 1. The written file holds blocks that were allocated and written, 64 MiB where there is room, and is
//!    stable.
//! 2. Cells continue the unwritten and the appended file where the last cell ended; a file is only renewed
//!    when a worker finds no more room: removing a file may make a disk discard blocks during the next
//!    cell, so it happens rarely.
//! 3. A new lap's allocation and length are stable before it is measured.
//! 4. All files together use at most the space of the plan, and at most half of the free space
//!    (`file_sizes.rs`).

use super::file_sizes::Sizes;
use crate::scratch::Scratch;
use crate::{FileState, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use syncline_vfs::{Disk, File, RealDisk, block_size};

/// The temporary files of one directory.
#[derive(Debug)]
pub(crate) struct Files {
    directory: PathBuf,
    written: Scratch,
    unwritten: Option<Lap>,
    append: Option<Lap>,
    sizes: Sizes,
    block_bytes: std::result::Result<u64, String>,
    /// The file of the sequential write, and its length.
    pub(crate) transferred: Option<(Scratch, u64)>,
}

/// The position of the next write of a lap.
#[derive(Debug)]
pub(crate) struct LapCursor {
    /// The next free offset in bytes.
    pub(crate) next: AtomicU64,
    /// The end of the lap.
    pub(crate) end: u64,
}

#[derive(Debug)]
struct Lap {
    scratch: Scratch,
    claim: LapCursor,
}

impl Files {
    /// Writes the file of written blocks.
    pub(crate) fn prepare(directory: &Path, sizes: Sizes) -> Result<Files> {
        let written = Scratch::create(directory)?;
        written.file().preallocate(sizes.overwrite)?;
        written.file().sync_all()?;
        RealDisk.sync_directory(directory)?;
        let block_bytes = block_size(written.path()).map_err(|error| error.to_string());
        Ok(Files {
            directory: directory.to_owned(),
            written,
            unwritten: None,
            append: None,
            sizes,
            block_bytes,
            transferred: None,
        })
    }

    /// The directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The sizes of the files.
    pub(crate) fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Makes a file system that never overwrites in place release the overwritten space, which it does when
    /// it commits its transaction.
    pub(crate) fn give_back_overwritten(&self) {
        if let Ok(directory) = std::fs::File::open(&self.directory)
            && rustix::fs::syncfs(&directory).is_err()
        {
            // An error here will recur in the next step's own syncs, which report it.
        }
    }

    /// Pretends that the file system offers no direct I/O, as ext4 with data=journal does.
    #[cfg(test)]
    pub(crate) fn offer_no_direct_io(&mut self) {
        self.block_bytes = Err("the file system states that it offers none".to_owned());
    }

    /// The file of written blocks.
    pub(crate) fn written(&self) -> &Scratch {
        &self.written
    }

    /// The smallest direct write in bytes, or the reason why there is none.
    pub(crate) fn block_bytes(&self) -> std::result::Result<u64, &str> {
        self.block_bytes.as_ref().copied().map_err(String::as_str)
    }

    /// A lap of unwritten blocks, or past the end of a file, with room for writes of that size.
    pub(crate) fn lap(
        &mut self,
        state: FileState,
        write_bytes: usize,
    ) -> Result<(&Path, &LapCursor)> {
        let Files { directory, unwritten, append, sizes, .. } = self;
        let (slot, grows) = match state {
            FileState::Append => (append, true),
            FileState::Unwritten => (unwritten, false),
            FileState::Overwrite => unreachable!("written blocks do not run out"),
        };
        let used_up = slot.as_ref().is_some_and(|lap| !lap.has_room(write_bytes));
        if used_up {
            // Dropped before the next is created, so that only one uses space.
            *slot = None;
        }
        let lap = match slot {
            Some(lap) => lap,
            empty => empty.insert(Lap::new(directory, sizes.lap, grows)?),
        };
        lap.align(write_bytes, grows)?;
        Ok((lap.scratch.path(), &lap.claim))
    }
}

impl Lap {
    fn new(directory: &Path, lap_bytes: u64, grows: bool) -> Result<Lap> {
        let scratch = Scratch::create(directory)?;
        if !grows {
            scratch.file().allocate_unwritten(lap_bytes)?;
        }
        scratch.file().sync_all()?;
        RealDisk.sync_directory(directory)?;
        let claim = LapCursor { next: AtomicU64::new(0), end: lap_bytes };
        Ok(Lap { scratch, claim })
    }

    /// True if sixteen writers could each write once more.
    fn has_room(&self, write_bytes: usize) -> bool {
        let next = self.next_aligned(write_bytes);
        next + 16 * write_bytes as u64 <= self.claim.end
    }

    /// The next multiple of both the write size and 4 KiB after the used part, which direct writes need.
    /// Workers that found no room have claimed offsets past the end.
    fn next_aligned(&self, write_bytes: usize) -> u64 {
        use std::sync::atomic::Ordering::Relaxed;
        self.claim.next.load(Relaxed).next_multiple_of(write_bytes.max(4096) as u64)
    }

    fn align(&mut self, write_bytes: usize, grows: bool) -> Result<()> {
        let next = self.next_aligned(write_bytes);
        self.claim.next = AtomicU64::new(next);
        if grows && self.scratch.file().len()? < next {
            self.scratch.file().set_len(next)?;
            self.scratch.file().sync_all()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Files, Sizes};
    use crate::FileState;
    use std::os::unix::fs::MetadataExt;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn written_blocks_are_allocated_and_laps_are_renewed_when_used_up() {
        let folder = tempfile::tempdir_in(crate::test_folder()).unwrap();
        let mut files = Files::prepare(folder.path(), Sizes::most(1 << 30)).unwrap();
        let metadata = std::fs::metadata(files.written().path()).unwrap();
        assert_eq!((metadata.len(), metadata.blocks() * 512 >= 64 << 20), (64 << 20, true));

        let (first, claim) = files.lap(FileState::Unwritten, 256).unwrap();
        let first = first.to_owned();
        assert_eq!(claim.next.load(Relaxed), 0);
        claim.next.store(100, Relaxed);
        let (same, claim) = files.lap(FileState::Unwritten, 8192).unwrap();
        assert_eq!((same, claim.next.load(Relaxed)), (first.as_path(), 8192));
        claim.next.store(claim.end - 8192, Relaxed);
        let (other, claim) = files.lap(FileState::Unwritten, 8192).unwrap();
        assert_ne!(other, first);
        assert_eq!(claim.next.load(Relaxed), 0);
        assert!(!first.exists());
    }

    #[test]
    fn an_appended_file_ends_where_the_next_write_begins() {
        let folder = tempfile::tempdir_in(crate::test_folder()).unwrap();
        let mut files = Files::prepare(folder.path(), Sizes::most(1 << 30)).unwrap();
        let (path, claim) = files.lap(FileState::Append, 256).unwrap();
        let path = path.to_owned();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
        claim.next.store(256, Relaxed);
        files.lap(FileState::Append, 4096).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 4096);
    }
}
