//! The operations of handles on the bytes of their files: reads, writes, lengths, syncs, locks.
//!
//! Each operation takes the same steps: refuse what the handle does not allow, begin (the power may fail
//! here), inject a fault, change, and sync if the handle's writes are syncs.

use super::content::Change;
use super::fault::{Fault, Kind, SyncFailure};
use super::handle::{DIRECT_BYTES, Handle, check_end};
use super::power::PowerState;
use super::state::State;
use crate::WriteSync;
use rustix::io::Errno;
use std::io;

/// The changes that a sync covers.
#[derive(Clone, Copy)]
enum Covered {
    /// All changes of the file.
    All,
    /// The newest change, with this sequence.
    Newest(u64),
}

impl State {
    pub(super) fn read(
        &mut self,
        handle: &Handle,
        buffer: &mut [u8],
        offset: u64,
    ) -> io::Result<usize> {
        self.power.check()?;
        handle.check_aligned(buffer.as_ptr().addr(), buffer.len() as u64, offset)?;
        let fault = self.faults.inject(Kind::Read, &handle.path);
        if fault == Some(Fault::ReadError) {
            return Err(Errno::IO.into());
        }
        let visible = self.file(handle.file).content.visible();
        let from = visible.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
        let bytes = buffer.len().min(visible.len() - from);
        buffer[..bytes].copy_from_slice(&visible[from..from + bytes]);
        if fault == Some(Fault::FlippedBit) && bytes > 0 {
            buffer[self.random.usize(..bytes)] ^= 1 << self.random.u32(..8);
        }
        Ok(bytes)
    }

    pub(super) fn write(
        &mut self,
        handle: &mut Handle,
        bytes: &[u8],
        offset: u64,
    ) -> io::Result<()> {
        handle.check_writable(Errno::BADF)?;
        handle.check_aligned(bytes.as_ptr().addr(), bytes.len() as u64, offset)?;
        check_end(offset.saturating_add(bytes.len() as u64))?;
        let begun = self.power.begin()?;
        let fault = self.inject_unless_interrupted(begun, Kind::Write, handle);
        let len = self.part(bytes.len(), fault, handle);
        let change = Change::Write { offset: offset as usize, bytes: bytes[..len].into() };
        self.change(handle, change, len > 0, fault, begun)
    }

    pub(super) fn preallocate(&mut self, handle: &mut Handle, bytes: u64) -> io::Result<()> {
        self.power.check()?;
        let from = self.file(handle.file).content.visible().len();
        if from as u64 >= bytes {
            return Ok(());
        }
        handle.check_writable(Errno::BADF)?;
        handle.check_aligned(0, bytes, from as u64)?;
        check_end(bytes)?;
        let begun = self.power.begin()?;
        let fault = self.inject_unless_interrupted(begun, Kind::Preallocate, handle);
        let len = self.part(bytes as usize - from, fault, handle);
        self.change(handle, Change::Zeros(from..from + len), len > 0, fault, begun)
    }

    pub(super) fn set_len(&mut self, handle: &Handle, bytes: u64) -> io::Result<()> {
        handle.check_writable(Errno::INVAL)?;
        check_end(bytes)?;
        let begun = self.power.begin()?;
        if self.inject_unless_interrupted(begun, Kind::SetLen, handle).is_some() {
            return Err(Errno::IO.into());
        }
        let sequence = self.take();
        let content = &mut self.file(handle.file).content;
        if content.visible().len() as u64 != bytes {
            content.change(sequence, Change::SetLen(bytes as usize));
        }
        begun.finish()
    }

    pub(super) fn sync(&mut self, handle: &mut Handle) -> io::Result<()> {
        self.power.begin()?.finish()?;
        self.sync_covered(handle, Covered::All)
    }

    pub(super) fn len(&mut self, handle: &Handle) -> io::Result<u64> {
        self.power.check()?;
        Ok(self.file(handle.file).content.visible().len() as u64)
    }

    /// Takes the file's lock; false if another handle holds it.
    pub(super) fn try_lock(&mut self, handle: &Handle) -> io::Result<bool> {
        self.power.check()?;
        Ok(self.file(handle.file).lock.take(handle.id))
    }

    pub(super) fn try_lock_shared(&mut self, handle: &Handle) -> io::Result<bool> {
        self.power.check()?;
        Ok(self.file(handle.file).lock.share(handle.id))
    }

    /// Makes a change, possibly the partial one of an injected fault; the power may fail during it, and it is
    /// synced at once if the handle's writes are syncs.
    fn change(
        &mut self,
        handle: &mut Handle,
        change: Change,
        is_change: bool,
        fault: Option<Fault>,
        begun: PowerState,
    ) -> io::Result<()> {
        let sequence = self.take();
        if is_change {
            self.file(handle.file).content.change(sequence, change);
        }
        begun.finish()?;
        match fault {
            Some(Fault::WriteFull | Fault::PreallocateFull) => return Err(Errno::NOSPC.into()),
            Some(_) => return Err(Errno::IO.into()),
            None => {}
        }
        if handle.options.write_sync == WriteSync::No || !is_change {
            return Ok(());
        }
        self.sync_covered(handle, Covered::Newest(sequence))
    }

    /// How many of `bytes` are written: all, or with a fault any first part.
    fn part(&mut self, bytes: usize, fault: Option<Fault>, handle: &Handle) -> usize {
        match fault {
            None => bytes,
            Some(_) if handle.options.direct => {
                let sector = DIRECT_BYTES as usize;
                self.random.usize(..=bytes / sector) * sector
            }
            Some(_) => self.random.usize(..=bytes),
        }
    }

    /// Syncs the covered changes, or fails. Names become stable as the model defines. The handle also reports
    /// an earlier failure that it has not reported yet.
    fn sync_covered(&mut self, handle: &mut Handle, covered: Covered) -> io::Result<()> {
        if let Some(fault) = self.faults.inject(Kind::Sync, &handle.path) {
            return Err(self.fail_sync(handle, fault, covered));
        }
        let content = &mut self.file(handle.file).content;
        match covered {
            Covered::All => content.sync(),
            Covered::Newest(_) => content.sync_newest(),
        }
        self.names.sync_file(handle.file);
        self.forget_unreachable();
        let failed_syncs = self.file(handle.file).failed_syncs;
        if handle.reported_failures < failed_syncs {
            handle.reported_failures = failed_syncs;
            return Err(Errno::IO.into());
        }
        Ok(())
    }

    fn fail_sync(&mut self, handle: &mut Handle, fault: Fault, covered: Covered) -> io::Error {
        let sequence = self.take();
        let file = self.file(handle.file);
        let first = match covered {
            Covered::All => 0,
            Covered::Newest(newest) => newest,
        };
        let keeps_pages = matches!(
            fault,
            Fault::SyncError(SyncFailure::PagesKeptUntilEviction | SyncFailure::OneHandleOnly)
        );
        file.content.fail_sync(first, !keeps_pages, sequence);
        if fault != Fault::SyncError(SyncFailure::OneHandleOnly) {
            file.failed_syncs += 1;
            handle.reported_failures = file.failed_syncs;
        }
        if fault == Fault::SyncFull { Errno::NOSPC.into() } else { Errno::IO.into() }
    }

    fn inject_unless_interrupted(
        &mut self,
        begun: PowerState,
        kind: Kind,
        handle: &Handle,
    ) -> Option<Fault> {
        if begun == PowerState::Interrupted { None } else { self.faults.inject(kind, &handle.path) }
    }
}
