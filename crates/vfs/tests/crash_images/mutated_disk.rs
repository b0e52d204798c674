//! A disk that breaks one promise, to test whether the check of crash images detects it.

use std::path::{Path, PathBuf};
use syncline_vfs::{Disk, File, OpenOptions, Result, SimulatedDisk, SimulatedFile, WriteSync};

/// A broken promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutation {
    /// None: the disk unchanged.
    Nothing,
    /// Syncs of files do nothing.
    NoSync,
    /// A third of the syncs of files do nothing.
    SyncSometimes,
    /// Synced writes are plain writes.
    NoSyncedWrite,
    /// Closing a file syncs it, which hides missing syncs.
    SyncOnClose,
    /// Directory syncs do nothing.
    NoDirectorySync,
}

/// A simulated disk with a mutation.
#[derive(Clone, Debug)]
pub(crate) struct MutatedDisk {
    pub(crate) disk: SimulatedDisk,
    pub(crate) mutation: Mutation,
}

#[derive(Debug)]
pub(crate) struct MutatedFile {
    file: SimulatedFile,
    disk: SimulatedDisk,
    mutation: Mutation,
}

impl MutatedFile {
    fn skips_sync(&self) -> bool {
        match self.mutation {
            Mutation::NoSync => true,
            Mutation::SyncSometimes => self.disk.operations().is_multiple_of(3),
            _ => false,
        }
    }
}

impl Disk for MutatedDisk {
    type File = MutatedFile;

    fn open(&self, path: &Path, mut options: OpenOptions) -> Result<MutatedFile> {
        if self.mutation == Mutation::NoSyncedWrite {
            options.write_sync = WriteSync::No;
        }
        let file = self.disk.open(path, options)?;
        Ok(MutatedFile { file, disk: self.disk.clone(), mutation: self.mutation })
    }

    fn create_directory(&self, path: &Path) -> Result<()> {
        self.disk.create_directory(path)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.disk.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.disk.rename(from, to)
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        self.disk.list(directory)
    }

    fn sync_directory(&self, directory: &Path) -> Result<()> {
        match self.mutation {
            Mutation::NoDirectorySync => Ok(()),
            _ => self.disk.sync_directory(directory),
        }
    }
}

impl File for MutatedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.file.write_at(bytes, offset)
    }

    fn sync_data(&self) -> Result<()> {
        if self.skips_sync() { Ok(()) } else { self.file.sync_data() }
    }

    fn sync_all(&self) -> Result<()> {
        if self.skips_sync() { Ok(()) } else { self.file.sync_all() }
    }

    fn len(&self) -> Result<u64> {
        self.file.len()
    }

    fn set_len(&self, bytes: u64) -> Result<()> {
        self.file.set_len(bytes)
    }

    fn preallocate(&self, bytes: u64) -> Result<()> {
        self.file.preallocate(bytes)
    }

    fn try_lock(&self) -> Result<()> {
        self.file.try_lock()
    }

    fn try_lock_shared(&self) -> Result<()> {
        self.file.try_lock_shared()
    }
}

impl Drop for MutatedFile {
    fn drop(&mut self) {
        if self.mutation == Mutation::SyncOnClose {
            self.file.sync_all().unwrap();
        }
    }
}
