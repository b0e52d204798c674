//! A device that acknowledges syncs and forgets them: a disk whose syncs do nothing.

use std::path::{Path, PathBuf};
use syncline_vfs::{Disk, File, OpenOptions, Result, SimulatedDisk, SimulatedFile, WriteSync};

/// A disk with volatile contents. Names are kept, so only blocks are lost.
#[derive(Clone, Debug)]
pub(super) struct VolatileDisk(pub(super) SimulatedDisk);

#[derive(Debug)]
pub(super) struct ForgetfulFile(SimulatedFile);

impl Disk for VolatileDisk {
    type File = ForgetfulFile;

    fn open(&self, path: &Path, options: OpenOptions) -> Result<ForgetfulFile> {
        let options = OpenOptions { write_sync: WriteSync::No, ..options };
        self.0.open(path, options).map(ForgetfulFile)
    }

    fn create_directory(&self, path: &Path) -> Result<()> {
        self.0.create_directory(path)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.0.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.0.rename(from, to)
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        self.0.list(directory)
    }

    fn sync_directory(&self, directory: &Path) -> Result<()> {
        self.0.sync_directory(directory)
    }
}

impl File for ForgetfulFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.0.write_at(bytes, offset)
    }

    fn sync_data(&self) -> Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> Result<()> {
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> Result<()> {
        self.0.set_len(bytes)
    }

    fn preallocate(&self, bytes: u64) -> Result<()> {
        self.0.preallocate(bytes)
    }

    fn try_lock(&self) -> Result<()> {
        self.0.try_lock()
    }

    fn try_lock_shared(&self) -> Result<()> {
        self.0.try_lock_shared()
    }
}
