//! The interface to storage that every disk, real, counting or simulated, implements.
//!
//! Rules for callers:
//! 1. Offsets are explicit; a file has no position, so handles may be shared between threads.
//! 2. `write_at` writes all bytes or fails; after a failure the contents of the range are unknown.
//! 3. A write is stable only after a sync that *began* after the write returned, or at once if the file was
//!    opened with [`WriteSync::Data`] or [`WriteSync::Full`].
//! 4. A file's name is stable only after [`Disk::sync_directory`] of its directory.
//! 5. A failed sync is final for the writes it covered: the caller must not retry it and trust the second
//!    result (pages may have been marked clean). Close and recover.
//! 6. With [`OpenOptions::direct`], buffers, offsets and lengths must be multiples of the device's block
//!    size, at least 512 bytes: use an aligned buffer of 4 KiB multiples.

use crate::{QueuedRead, ReadQueue, Result};
use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// The access that a handle allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Read and write.
    ReadWrite,
}

/// What to do if the file exists, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// The file must exist.
    Never,
    /// Make it if it does not exist.
    IfMissing,
    /// It must not exist.
    New,
}

/// Whether each write is itself a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteSync {
    /// No: the caller syncs.
    No,
    /// `O_DSYNC`: data, and the metadata needed to read it back, are stable when the write returns.
    Data,
    /// `O_SYNC`: data and all metadata are stable when the write returns.
    Full,
}

/// How to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// Read, or read and write.
    pub access: Access,
    /// Whether to create the file.
    pub create: Create,
    /// Bypass the kernel's page cache (`O_DIRECT`); see rule 6.
    pub direct: bool,
    /// Whether each write is itself a sync.
    pub write_sync: WriteSync,
}

impl OpenOptions {
    /// An existing file, for reading.
    pub const READ: OpenOptions = OpenOptions {
        access: Access::Read,
        create: Create::Never,
        direct: false,
        write_sync: WriteSync::No,
    };

    /// A file for reading and writing, made if missing, buffered, without synced writes.
    pub const READ_WRITE: OpenOptions = OpenOptions {
        access: Access::ReadWrite,
        create: Create::IfMissing,
        direct: false,
        write_sync: WriteSync::No,
    };
}

/// A file system: files and directories by path.
pub trait Disk: Clone + Debug + Send + Sync + 'static {
    /// An open file of this disk.
    type File: File;

    /// Opens a file.
    fn open(&self, path: &Path, options: OpenOptions) -> Result<Self::File>;

    /// Makes a directory; its parents must exist. Not stable until the parent is synced.
    fn create_directory(&self, path: &Path) -> Result<()>;

    /// Removes a file's name. Not stable until the directory is synced.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Renames a file within a file system, replacing the file of that name.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// The names in a directory, sorted.
    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>>;

    /// Makes the names in a directory stable.
    fn sync_directory(&self, directory: &Path) -> Result<()>;
}

/// A read among others.
#[derive(Debug)]
pub struct BatchRead<'b> {
    /// Where the bytes go.
    pub buffer: &'b mut [u8],
    /// Where they begin in the file.
    pub offset: u64,
}

impl<'b> BatchRead<'b> {
    /// A read of `buffer.len()` bytes from `offset` on.
    pub fn new(buffer: &'b mut [u8], offset: u64) -> BatchRead<'b> {
        BatchRead { buffer, offset }
    }
}

/// A write among others.
#[derive(Clone, Copy, Debug)]
pub struct BatchWrite<'b> {
    /// What is written.
    pub bytes: &'b [u8],
    /// Where it begins in the file.
    pub offset: u64,
}

/// An open file.
pub trait File: Debug + Send + Sync + 'static {
    /// Reads up to `buffer.len()` bytes; fewer only at the end of the file. Returns how many.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize>;

    /// Makes several reads, each as [`File::read_at`], in any order and at the same time where the system
    /// can. `completed` is called once for each read, as soon as it has ended and while others are under
    /// way, with its position in `reads` and the bytes read. It may read from files; batches that it reads
    /// are read one by one.
    fn read_batch(
        &self,
        reads: &mut [BatchRead<'_>],
        completed: &mut dyn FnMut(usize, Result<&[u8]>),
    ) {
        for (position, read) in reads.iter_mut().enumerate() {
            let bytes = self.read_at(read.buffer, read.offset);
            completed(position, bytes.map(|bytes| &read.buffer[..bytes]));
        }
    }

    /// Begins a read that the queue passes on when it has completed; at once if the disk cannot do better.
    /// The file must stay open until the queue's next call of [`ReadQueue::submit`] or [`ReadQueue::wait`].
    fn begin_read(&self, queue: &mut ReadQueue, mut read: QueuedRead) {
        let bytes = self.read_at(&mut read.buffer, read.offset);
        let is_filled = bytes.is_ok_and(|bytes| bytes == read.buffer.len());
        queue.push_completed(read, is_filled);
    }

    /// Writes all of `bytes`, growing the file if needed.
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()>;

    /// Makes several writes to parts of the file that do not overlap, each as [`File::write_at`], in any
    /// order and at the same time where the system can. After an error any of them may have been made.
    fn write_batch(&self, writes: &[BatchWrite<'_>]) -> Result<()> {
        writes.iter().try_for_each(|write| self.write_at(write.bytes, write.offset))
    }

    /// Makes earlier writes stable, with the metadata needed to read them back (`fdatasync`).
    fn sync_data(&self) -> Result<()>;

    /// Makes earlier writes and all metadata stable (`fsync`).
    fn sync_all(&self) -> Result<()>;

    /// The length in bytes.
    fn len(&self) -> Result<u64>;

    /// True if the file holds no bytes.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Truncates or grows the file to `bytes`; new bytes read as zero and may need metadata at first write.
    fn set_len(&self, bytes: u64) -> Result<()>;

    /// Grows the file to at least `bytes` with blocks that are allocated *and written with zeros*, so that
    /// later overwrites change no metadata. Not stable until synced. Only here and in [`File::allocate`] may
    /// a full disk show and be retried.
    fn preallocate(&self, bytes: u64) -> Result<()>;

    /// Grows the file to at least `bytes` with allocated blocks that read as zero; unlike after
    /// [`File::preallocate`] the first write of each may change metadata, so nothing need be written here.
    /// Not stable until synced. A full disk may show and be retried as there.
    fn allocate(&self, bytes: u64) -> Result<()> {
        self.preallocate(bytes)
    }

    /// Takes the file's exclusive lock until the handle drops, or fails with
    /// [`Error::Locked`](crate::Error::Locked) at once; a second handle of one process is refused too.
    fn try_lock(&self) -> Result<()>;

    /// Takes a shared lock until the handle drops, which other handles may hold, too, or fails with
    /// [`Error::Locked`](crate::Error::Locked) at once if another handle holds the exclusive one.
    fn try_lock_shared(&self) -> Result<()>;
}
