//! An open file of the operating system.
//!
//! Syncs are the plain system calls. A sync interrupted by a signal is repeated; any other failure is
//! returned unchanged, because a retry could report a false success.

use super::batch;
use crate::aligned::AlignedBuffer;
use crate::{
    Access, BatchRead, BatchWrite, Create, Error, File, OpenOptions, QueuedRead, ReadQueue, Result,
    WriteSync,
};
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, ReadWriteFlags, retry_on_intr};
use std::fs::{self, TryLockError};
use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of zeros per write of [`File::preallocate`].
const ZEROS_BYTES: usize = 1 << 20;

/// The smallest block of any device, in bytes; a direct read that ends elsewhere has reached the end of the
/// file.
const SECTOR_BYTES: usize = 512;

/// An open file of the operating system.
#[derive(Debug)]
pub struct RealFile {
    file: fs::File,
    path: PathBuf,
    direct: bool,
    is_locked: AtomicBool,
}

/// Unlocks explicitly: a child process that is being started has the file, and with it the lock, open until
/// it runs its program.
impl Drop for RealFile {
    fn drop(&mut self) {
        if self.is_locked.load(Ordering::Relaxed) {
            let _closed_soon = self.file.unlock();
        }
    }
}

impl RealFile {
    pub(super) fn open(path: &Path, options: OpenOptions) -> Result<RealFile> {
        let failed = |error| Error::io("open", path, error);
        let file = std_options(options).open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_dir() {
            return Err(failed(ErrorKind::IsADirectory.into()));
        }
        Ok(RealFile {
            file,
            path: path.to_owned(),
            direct: options.direct,
            is_locked: AtomicBool::new(false),
        })
    }

    /// The path that the file was opened with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Allocates the blocks of the first `bytes` bytes without writing them, and grows the file to that
    /// length: the first write of each block then also changes metadata ("unwritten extents"). Fails if the
    /// file system does not support it.
    pub fn allocate_unwritten(&self, bytes: u64) -> Result<()> {
        let failed = |error: Errno| self.failed(format!("allocate {bytes} bytes of"), error);
        retry_on_intr(|| rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, bytes))
            .map_err(failed)
    }

    /// Writes all of `bytes` with `RWF_DSYNC`: data are stable when it returns.
    pub(super) fn write_at_dsync(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let failed = |error: io::Error| self.failed_write(bytes, offset, error);
        let mut done = 0;
        while done < bytes.len() {
            let rest = [IoSlice::new(&bytes[done..])];
            let at = offset + done as u64;
            let call = || rustix::io::pwritev2(&self.file, &rest, at, ReadWriteFlags::DSYNC);
            match retry_on_intr(call).map_err(|error| failed(error.into()))? {
                0 => return Err(failed(ErrorKind::WriteZero.into())),
                written => done += written,
            }
        }
        Ok(())
    }

    fn locked(&self, locked: std::result::Result<(), TryLockError>) -> Result<()> {
        match locked {
            Ok(()) => {
                self.is_locked.store(true, Ordering::Relaxed);
                Ok(())
            }
            Err(TryLockError::WouldBlock) => Err(Error::Locked { path: self.path.clone() }),
            Err(TryLockError::Error(error)) => Err(self.failed("lock", error)),
        }
    }

    pub(super) fn failed(&self, action: impl Into<String>, error: impl Into<io::Error>) -> Error {
        Error::io(action, &self.path, error.into())
    }

    pub(super) fn failed_write(&self, bytes: &[u8], offset: u64, error: io::Error) -> Error {
        self.failed(format!("write {} bytes at {offset} of", bytes.len()), error)
    }

    /// Reserves blocks past the end without growing the file; if that is not supported, the zeros written
    /// afterwards allocate them one by one.
    fn reserve(&self, from: u64, bytes: u64) -> io::Result<()> {
        let keep_size = FallocateFlags::KEEP_SIZE;
        match retry_on_intr(|| rustix::fs::fallocate(&self.file, keep_size, from, bytes)) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn write_zeros(&self, from: u64, to: u64) -> io::Result<()> {
        let zeros = AlignedBuffer::zeroed(ZEROS_BYTES.min((to - from) as usize));
        let mut at = from;
        while at < to {
            let piece = &zeros[..zeros.len().min((to - at) as usize)];
            self.file.write_all_at(piece, at)?;
            at += piece.len() as u64;
        }
        Ok(())
    }
}

impl AsFd for RealFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl File for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.file.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    let action = format!("read {} bytes at {offset} of", buffer.len());
                    return Err(self.failed(action, error));
                }
            }
            // A further read would be refused as unaligned, and there are no more bytes.
            if self.direct && !done.is_multiple_of(SECTOR_BYTES) {
                break;
            }
        }
        Ok(done)
    }

    fn read_batch(
        &self,
        reads: &mut [BatchRead<'_>],
        completed: &mut dyn FnMut(usize, Result<&[u8]>),
    ) {
        batch::read(self.file.as_fd(), reads, &mut |position, read, is_filled| {
            let bytes = if is_filled {
                Ok(read.buffer.len())
            } else {
                self.read_at(read.buffer, read.offset)
            };
            completed(position, bytes.map(|bytes| &read.buffer[..bytes]));
        });
    }

    fn begin_read(&self, queue: &mut ReadQueue, read: QueuedRead) {
        if let Some(mut read) = queue.push(self.file.as_fd(), read) {
            let bytes = self.read_at(&mut read.buffer, read.offset);
            let is_filled = bytes.is_ok_and(|bytes| bytes == read.buffer.len());
            queue.push_completed(read, is_filled);
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let written = self.file.write_all_at(bytes, offset);
        written.map_err(|error| self.failed_write(bytes, offset, error))
    }

    fn write_batch(&self, writes: &[BatchWrite<'_>]) -> Result<()> {
        let mut result = Ok(());
        batch::write(self.file.as_fd(), writes, &mut |write| {
            if result.is_ok() {
                result = self.write_at(write.bytes, write.offset);
            }
        });
        result
    }

    fn sync_data(&self) -> Result<()> {
        let synced = retry_on_intr(|| rustix::fs::fdatasync(&self.file));
        synced.map_err(|error| self.failed("sync the data of", error))
    }

    fn sync_all(&self) -> Result<()> {
        let synced = retry_on_intr(|| rustix::fs::fsync(&self.file));
        synced.map_err(|error| self.failed("sync", error))
    }

    fn len(&self) -> Result<u64> {
        let metadata = self.file.metadata();
        Ok(metadata.map_err(|error| self.failed("get the length of", error))?.len())
    }

    fn set_len(&self, bytes: u64) -> Result<()> {
        let set = self.file.set_len(bytes);
        set.map_err(|error| self.failed(format!("set the length to {bytes} bytes of"), error))
    }

    fn preallocate(&self, bytes: u64) -> Result<()> {
        let from = self.len()?;
        if from >= bytes {
            return Ok(());
        }
        let filled = self.reserve(from, bytes - from).and_then(|()| self.write_zeros(from, bytes));
        filled.map_err(|error| self.failed(format!("preallocate {bytes} bytes of"), error))
    }

    fn allocate(&self, bytes: u64) -> Result<()> {
        let from = self.len()?;
        if from >= bytes {
            return Ok(());
        }
        let mode = FallocateFlags::empty();
        match retry_on_intr(|| rustix::fs::fallocate(&self.file, mode, from, bytes - from)) {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.preallocate(bytes),
            Err(error) => Err(self.failed(format!("allocate {bytes} bytes of"), error)),
        }
    }

    fn try_lock(&self) -> Result<()> {
        self.locked(self.file.try_lock())
    }

    fn try_lock_shared(&self) -> Result<()> {
        self.locked(self.file.try_lock_shared())
    }
}

fn std_options(options: OpenOptions) -> fs::OpenOptions {
    // Not rustix's OFlags: there DSYNC has the value of O_SYNC, which promises and costs more.
    let direct = if options.direct { libc::O_DIRECT } else { 0 };
    let write_sync = match options.write_sync {
        WriteSync::No => 0,
        WriteSync::Data => libc::O_DSYNC,
        WriteSync::Full => libc::O_SYNC,
    };
    let mut std_options = fs::OpenOptions::new();
    std_options
        .read(true)
        .write(options.access == Access::ReadWrite)
        .create(options.create == Create::IfMissing)
        .create_new(options.create == Create::New)
        .custom_flags(direct | write_sync);
    std_options
}

#[cfg(test)]
mod tests {
    use super::RealFile;
    use crate::{Access, Create, Disk, File, OpenOptions, RealDisk, WriteSync};
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn each_write_sync_sets_its_own_flag() {
        let folder = tempfile::tempdir().unwrap();
        for (write_sync, expected) in
            [(WriteSync::No, 0), (WriteSync::Data, libc::O_DSYNC), (WriteSync::Full, libc::O_SYNC)]
        {
            let options = OpenOptions { write_sync, ..OpenOptions::READ_WRITE };
            let file = RealDisk.open(&folder.path().join("flags"), options).unwrap();
            let flags = rustix::fs::fcntl_getfl(&file).unwrap().bits().cast_signed();
            assert_eq!(flags & libc::O_SYNC, expected, "{write_sync:?}");
        }
    }

    #[test]
    fn the_dsync_flag_reaches_the_kernel() {
        // This file accepts plain writes and refuses flags; its value does not change.
        let path = std::path::Path::new("/proc/self/oom_score_adj");
        let value = std::fs::read(path).unwrap();
        let file = RealFile::open(path, OpenOptions::READ_WRITE).unwrap();
        file.write_at(&value, 0).unwrap();
        let error = file.write_at_dsync(&value, 0).unwrap_err();
        assert_eq!(error.kind(), Some(std::io::ErrorKind::Unsupported), "{error}");
    }

    #[test]
    fn preallocated_blocks_are_allocated_and_unwritten_ones_too() {
        let folder = tempfile::tempdir().unwrap();
        let new = OpenOptions { create: Create::New, ..OpenOptions::READ_WRITE };
        let allocated = |file: &RealFile| file.file.metadata().unwrap().blocks() * 512;

        let written = RealDisk.open(&folder.path().join("written"), new).unwrap();
        written.preallocate(3 << 20).unwrap();
        written.sync_all().unwrap();
        assert_eq!(written.len().unwrap(), 3 << 20);
        assert!(allocated(&written) >= 3 << 20);

        let reserved = RealDisk.open(&folder.path().join("reserved"), new).unwrap();
        reserved.write_at(b"kept", 0).unwrap();
        for bytes in [3 << 20, 1 << 20] {
            reserved.allocate(bytes).unwrap();
            assert_eq!(reserved.len().unwrap(), 3 << 20, "it grows only");
        }
        assert!(allocated(&reserved) >= 3 << 20);
        let mut bytes = [1; 8];
        reserved.read_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"kept\0\0\0\0");

        let unwritten = RealDisk.open(&folder.path().join("unwritten"), new).unwrap();
        unwritten.allocate_unwritten(3 << 20).unwrap();
        assert_eq!(unwritten.len().unwrap(), 3 << 20);
        assert!(allocated(&unwritten) >= 3 << 20);
    }

    #[test]
    fn a_directory_is_not_opened_as_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let error = RealDisk.open(folder.path(), OpenOptions::READ).unwrap_err();
        assert_eq!(error.kind(), Some(std::io::ErrorKind::IsADirectory));
        let read_only = OpenOptions { access: Access::Read, ..OpenOptions::READ_WRITE };
        let error = RealDisk.open(&folder.path().join("new"), read_only).unwrap_err();
        assert_eq!(error.kind(), Some(std::io::ErrorKind::InvalidInput));
    }

    #[test]
    fn a_lock_is_released_although_a_starting_process_has_the_file_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let options = OpenOptions { create: Create::IfMissing, ..OpenOptions::READ_WRITE };
        let open = || RealFile::open(&path, options).unwrap();
        let (held, other) = (open(), open());
        held.try_lock().unwrap();
        assert!(other.try_lock().is_err());
        // As a child has it between fork and exec.
        let _inherited = held.file.try_clone().unwrap();
        drop(other);
        assert!(open().try_lock().is_err(), "a refused handle holds nothing");
        drop(held);
        open().try_lock().unwrap();
    }
}
