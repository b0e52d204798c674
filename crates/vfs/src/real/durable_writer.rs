//! One writer with one sync outstanding: the operation that the probe measures.
//!
//! Opening a writer detects what the file system or kernel refuses, by asking the kernel, never by its
//! version; [`Error::NotPossible`] holds the reason. Direct methods take bytes in an [`AlignedBuffer`], at
//! offsets and in lengths that are multiples of [`block_size`].

use super::file::RealFile;
use super::file_range::sync_file_range;
use super::uring::Ring;
use crate::aligned::AlignedBuffer;
use crate::{Access, Create, Error, File, OpenOptions, Result, SyncMethod, WriteSync};
use rustix::fs::{AtFlags, CWD, StatxFlags};
use rustix::io::{Errno, ReadWriteFlags, retry_on_intr};
use std::fmt;
use std::io::{ErrorKind, IoSliceMut};
use std::os::fd::AsFd;
use std::path::Path;

/// The possible block sizes of a device, in bytes, smallest first.
const BLOCK_BYTES: [usize; 4] = [512, 1024, 2048, 4096];

/// One writer with one sync outstanding: writes a block and makes it stable by one method.
pub struct DurableWriter {
    file: RealFile,
    method: SyncMethod,
    sync: Sync,
}

/// The sync that follows, or accompanies, each write.
enum Sync {
    /// `fsync`.
    All,
    /// `fdatasync`.
    Data,
    /// Nothing: the file was opened with `O_SYNC` or `O_DSYNC`.
    ByOpen,
    /// The write itself is a `pwritev2` with `RWF_DSYNC`.
    ByWrite,
    /// `sync_file_range`.
    Range,
    /// `fdatasync` in one chain with the write.
    Linked(Ring),
    /// `fdatasync` through the ring when the write has completed.
    Unlinked(Ring),
}

impl DurableWriter {
    /// Opens an existing file for one method. Fails with [`Error::NotPossible`] and the reason if the kernel
    /// or the file system does not offer it.
    pub fn open(path: &Path, method: SyncMethod) -> Result<DurableWriter> {
        let file = RealFile::open(path, open_options(method)).map_err(|error| {
            let refused = method.is_direct() && error.kind() == Some(ErrorKind::InvalidInput);
            let reason = "the file system refuses O_DIRECT";
            if refused { not_possible(method, path, reason) } else { error }
        })?;
        let ring = || Ring::new().map_err(|reason| not_possible(method, path, &reason));
        let sync = match method {
            SyncMethod::Fsync | SyncMethod::DirectFsync => Sync::All,
            SyncMethod::Fdatasync | SyncMethod::DirectFdatasync => Sync::Data,
            SyncMethod::OSync
            | SyncMethod::ODsync
            | SyncMethod::DirectOSync
            | SyncMethod::DirectODsync => Sync::ByOpen,
            SyncMethod::RwfDsync | SyncMethod::DirectRwfDsync => {
                try_rwf_dsync(&file, method)?;
                Sync::ByWrite
            }
            SyncMethod::SyncFileRange => Sync::Range,
            SyncMethod::UringLinked => Sync::Linked(ring()?),
            SyncMethod::UringUnlinked => Sync::Unlinked(ring()?),
        };
        Ok(DurableWriter { file, method, sync })
    }

    /// Writes all of `bytes` and returns when the method's promise holds for them.
    pub fn write(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        let file = &self.file;
        match &mut self.sync {
            Sync::All => file.write_at(bytes, offset).and_then(|()| file.sync_all()),
            Sync::Data => file.write_at(bytes, offset).and_then(|()| file.sync_data()),
            Sync::ByOpen => file.write_at(bytes, offset),
            Sync::ByWrite => file.write_at_dsync(bytes, offset),
            Sync::Range => {
                file.write_at(bytes, offset)?;
                let synced = sync_file_range(file.as_fd(), offset, bytes.len());
                synced.map_err(|error| file.failed("write back a range of", error))
            }
            Sync::Linked(ring) => ring
                .write_linked(file.as_fd(), bytes, offset)
                .map_err(|error| file.failed_write(bytes, offset, error)),
            Sync::Unlinked(ring) => ring
                .write_unlinked(file.as_fd(), bytes, offset)
                .map_err(|error| file.failed_write(bytes, offset, error)),
        }
    }

    /// The method that the writer was opened for.
    pub fn method(&self) -> SyncMethod {
        self.method
    }
}

impl fmt::Debug for DurableWriter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut form = formatter.debug_struct("DurableWriter");
        form.field("file", &self.file).field("method", &self.method).finish_non_exhaustive()
    }
}

/// The smallest direct write that an existing file accepts, in bytes: the kernel's value, or without one
/// (before Linux 6.1) the smallest direct read that succeeds; for that trial the file must hold 8 KiB. Fails
/// with [`Error::NotPossible`] if the file system refuses direct writes.
pub fn block_size(path: &Path) -> Result<u64> {
    match rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::DIOALIGN) {
        Ok(answer) if answer.stx_mask & StatxFlags::DIOALIGN.bits() != 0 => {
            match answer.stx_dio_offset_align {
                0 => Err(no_direct_writes(path, "the file system states that it offers none")),
                bytes => Ok(u64::from(bytes)),
            }
        }
        Ok(_) | Err(Errno::NOSYS) => smallest_direct_read(path),
        Err(error) => Err(Error::io("get the block size of", path, error.into())),
    }
}

fn smallest_direct_read(path: &Path) -> Result<u64> {
    let options = OpenOptions { direct: true, ..OpenOptions::READ };
    let file = RealFile::open(path, options).map_err(|error| match error.kind() {
        Some(ErrorKind::InvalidInput) => no_direct_writes(path, "the file system refuses O_DIRECT"),
        _ => error,
    })?;
    let mut buffer = AlignedBuffer::zeroed(4096);
    for bytes in BLOCK_BYTES {
        // Offset and length are both aligned to no more than this size.
        if let Ok(read) = file.read_at(&mut buffer[..bytes], bytes as u64)
            && read == bytes
        {
            return Ok(bytes as u64);
        }
    }
    Err(no_direct_writes(path, "no block of 512 bytes to 4 KiB could be read (is the file 8 KiB?)"))
}

fn open_options(method: SyncMethod) -> OpenOptions {
    let write_sync = match method {
        SyncMethod::OSync | SyncMethod::DirectOSync => WriteSync::Full,
        SyncMethod::ODsync | SyncMethod::DirectODsync => WriteSync::Data,
        _ => WriteSync::No,
    };
    let direct = method.is_direct();
    OpenOptions { access: Access::ReadWrite, create: Create::Never, direct, write_sync }
}

/// Checks whether `RWF_DSYNC` exists, with a read: the kernel checks the flag in the same way for reads and
/// writes, and a read changes nothing.
fn try_rwf_dsync(file: &RealFile, method: SyncMethod) -> Result<()> {
    let mut buffer = AlignedBuffer::zeroed(4096);
    let call = || {
        let mut slices = [IoSliceMut::new(&mut buffer)];
        rustix::io::preadv2(file, &mut slices, 0, ReadWriteFlags::DSYNC)
    };
    match retry_on_intr(call) {
        Ok(_) => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
            Err(not_possible(method, file.path(), "the kernel or file system refuses RWF_DSYNC"))
        }
        Err(error) => Err(file.failed("try RWF_DSYNC on", error)),
    }
}

fn not_possible(method: SyncMethod, path: &Path, reason: &str) -> Error {
    let (path, reason) = (path.to_owned(), reason.to_owned());
    Error::NotPossible { method: method.name(), path, reason }
}

fn no_direct_writes(path: &Path, reason: &str) -> Error {
    Error::NotPossible { method: "O_DIRECT", path: path.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{DurableWriter, block_size};
    use crate::{AlignedBuffer, Disk, Error, File, OpenOptions, RealDisk, SyncMethod};
    use std::path::{Path, PathBuf};

    const FILE_BYTES: usize = 64 << 10;

    fn written_file(folder: &Path) -> PathBuf {
        let path = folder.join("written");
        let file = RealDisk.open(&path, OpenOptions::READ_WRITE).unwrap();
        file.write_at(&vec![0xAA; FILE_BYTES], 0).unwrap();
        file.sync_all().unwrap();
        path
    }

    #[test]
    fn every_method_writes_exactly_its_bytes_or_says_why_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = written_file(folder.path());
        let mut possible = 0;
        for (index, method) in SyncMethod::ALL.into_iter().enumerate() {
            let mut writer = match DurableWriter::open(&path, method) {
                Ok(writer) => writer,
                Err(Error::NotPossible { method: name, reason, .. }) => {
                    assert_eq!(name, method.name());
                    assert!(!reason.is_empty());
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            assert_eq!(writer.method(), method);
            let mut block = AlignedBuffer::zeroed(8192);
            block.fill(index as u8 + 1);
            writer.write(&block, 4096).unwrap();
            possible += 1;

            let mut expected = vec![0xAA; FILE_BYTES];
            expected[4096..4096 + 8192].fill(index as u8 + 1);
            assert!(std::fs::read(&path).unwrap() == expected, "{}", method.name());
        }
        // These need only a POSIX file system.
        assert!(possible >= 4, "only {possible} methods were possible");
    }

    #[test]
    fn every_method_opens_its_file_with_its_own_flags() {
        let folder = tempfile::tempdir().unwrap();
        let path = written_file(folder.path());
        for method in SyncMethod::ALL {
            let Ok(writer) = DurableWriter::open(&path, method) else {
                continue;
            };
            let flags = rustix::fs::fcntl_getfl(&writer.file).unwrap().bits().cast_signed();
            let expected = match method {
                SyncMethod::OSync | SyncMethod::DirectOSync => libc::O_SYNC,
                SyncMethod::ODsync | SyncMethod::DirectODsync => libc::O_DSYNC,
                _ => 0,
            };
            assert_eq!(flags & libc::O_SYNC, expected, "{}", method.name());
            assert_eq!(flags & libc::O_DIRECT != 0, method.is_direct(), "{}", method.name());
        }
    }

    #[test]
    fn the_sync_call_follows_the_write() {
        // The null device accepts every write and refuses every sync call.
        let outcome = |method| {
            let mut writer = DurableWriter::open(Path::new("/dev/null"), method).unwrap();
            writer.write(b"abc", 0).map_err(|error| error.to_string())
        };
        for (method, refused) in [
            (SyncMethod::Fsync, "sync /dev/null"),
            (SyncMethod::Fdatasync, "sync the data of /dev/null"),
            (SyncMethod::SyncFileRange, "write back a range of /dev/null"),
        ] {
            let error = outcome(method).unwrap_err();
            assert!(error.starts_with(refused), "{error}");
        }
        outcome(SyncMethod::OSync).unwrap();
        outcome(SyncMethod::ODsync).unwrap();
    }

    #[test]
    fn a_file_that_refuses_rwf_dsync_is_named_with_the_reason() {
        let path = Path::new("/proc/self/oom_score_adj");
        let error = DurableWriter::open(path, SyncMethod::RwfDsync).unwrap_err();
        let Error::NotPossible { method, reason, .. } = error else { panic!("{error}") };
        assert_eq!(method, "RWF_DSYNC");
        assert!(reason.contains("refuses RWF_DSYNC"), "{reason}");
        let error = DurableWriter::open(path, SyncMethod::DirectFsync).unwrap_err();
        assert!(error.to_string().contains("refuses O_DIRECT"), "{error}");
    }

    #[test]
    fn every_method_can_grow_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = written_file(folder.path());
        let mut len = FILE_BYTES as u64;
        for method in SyncMethod::ALL {
            let Ok(mut writer) = DurableWriter::open(&path, method) else {
                continue;
            };
            writer.write(&AlignedBuffer::zeroed(4096), len).unwrap();
            len += 4096;
            assert_eq!(std::fs::metadata(&path).unwrap().len(), len, "{}", method.name());
        }
    }

    #[test]
    fn a_missing_file_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("absent");
        for method in SyncMethod::ALL {
            let error = DurableWriter::open(&path, method).unwrap_err();
            assert_eq!(error.kind(), Some(std::io::ErrorKind::NotFound), "{error}");
        }
        assert!(!path.exists());
    }

    #[test]
    fn a_direct_write_below_the_block_size_fails_and_a_whole_block_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = written_file(folder.path());
        let bytes = match block_size(&path) {
            Ok(bytes) => bytes as usize,
            Err(Error::NotPossible { reason, .. }) => return println!("skipped: {reason}"),
            Err(error) => panic!("{error}"),
        };
        assert!(bytes.is_power_of_two() && (1..=65536).contains(&bytes), "{bytes}");
        let mut writer = match DurableWriter::open(&path, SyncMethod::DirectFdatasync) {
            Ok(writer) => writer,
            Err(Error::NotPossible { reason, .. }) => return println!("skipped: {reason}"),
            Err(error) => panic!("{error}"),
        };
        let block = AlignedBuffer::zeroed(bytes);
        writer.write(&block, bytes as u64).unwrap();
        // A memory file system accepts direct writes of any size: its block is one byte or a page.
        if bytes >= 512 && rustix::fs::statfs(&path).unwrap().f_type != 0x0102_1994 {
            writer.write(&block[..bytes / 2], 0).unwrap_err();
        }
    }
}
