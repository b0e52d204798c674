//! An open file of a simulated disk.

use super::disk::SimulatedDisk;
use super::handle::Handle;
use crate::{BatchRead, Error, File, Result};
use parking_lot::{Mutex, MutexGuard};
use std::io;
use std::path::{Path, PathBuf};

/// An open file of a [`SimulatedDisk`]. Dropping it releases its lock and makes nothing stable.
#[derive(Debug)]
pub struct SimulatedFile {
    disk: SimulatedDisk,
    /// Locked only while the disk's state is locked, so there is one lock order.
    handle: Mutex<Handle>,
    /// The path as the caller wrote it, for messages.
    path: PathBuf,
}

impl SimulatedFile {
    pub(super) fn new(disk: SimulatedDisk, handle: Handle, path: &Path) -> SimulatedFile {
        SimulatedFile { disk, handle: Mutex::new(handle), path: path.to_owned() }
    }

    fn handle(&self) -> MutexGuard<'_, Handle> {
        self.handle.lock()
    }

    fn failed(&self, action: impl Into<String>, error: io::Error) -> Error {
        Error::io(action, &self.path, error)
    }

    fn locked(&self, locked: io::Result<bool>) -> Result<()> {
        if locked.map_err(|error| self.failed("lock", error))? {
            Ok(())
        } else {
            Err(Error::Locked { path: self.path.clone() })
        }
    }
}

impl File for SimulatedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let bytes = buffer.len();
        let read = self.disk.state().read(&self.handle(), buffer, offset);
        read.map_err(|error| self.failed(format!("read {bytes} bytes at {offset} of"), error))
    }

    /// In another order than that of the batch, as a device may.
    fn read_batch(
        &self,
        reads: &mut [BatchRead<'_>],
        completed: &mut dyn FnMut(usize, Result<&[u8]>),
    ) {
        for (position, read) in reads.iter_mut().enumerate().rev() {
            let bytes = self.read_at(read.buffer, read.offset);
            completed(position, bytes.map(|bytes| &read.buffer[..bytes]));
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let written = self.disk.state().write(&mut self.handle(), bytes, offset);
        let action = || format!("write {} bytes at {offset} of", bytes.len());
        written.map_err(|error| self.failed(action(), error))
    }

    fn sync_data(&self) -> Result<()> {
        let synced = self.disk.state().sync(&mut self.handle());
        synced.map_err(|error| self.failed("sync the data of", error))
    }

    fn sync_all(&self) -> Result<()> {
        let synced = self.disk.state().sync(&mut self.handle());
        synced.map_err(|error| self.failed("sync", error))
    }

    fn len(&self) -> Result<u64> {
        let len = self.disk.state().len(&self.handle());
        len.map_err(|error| self.failed("get the length of", error))
    }

    fn set_len(&self, bytes: u64) -> Result<()> {
        let set = self.disk.state().set_len(&self.handle(), bytes);
        set.map_err(|error| self.failed(format!("set the length to {bytes} bytes of"), error))
    }

    fn preallocate(&self, bytes: u64) -> Result<()> {
        let grown = self.disk.state().preallocate(&mut self.handle(), bytes);
        grown.map_err(|error| self.failed(format!("preallocate {bytes} bytes of"), error))
    }

    fn try_lock(&self) -> Result<()> {
        let locked = self.disk.state().try_lock(&self.handle());
        self.locked(locked)
    }

    fn try_lock_shared(&self) -> Result<()> {
        let locked = self.disk.state().try_lock_shared(&self.handle());
        self.locked(locked)
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        self.disk.state().close(&self.handle());
    }
}
