//! The state of an open handle, and the operations that it refuses.

use super::state::FileId;
use crate::{Access, OpenOptions};
use rustix::io::Errno;
use std::io;
use std::path::PathBuf;

/// The longest file, so that a wrong offset causes an error instead of exhausting the machine's memory.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The alignment of a direct file's addresses, offsets and lengths.
pub(super) const DIRECT_BYTES: u64 = 512;

/// The disk's state of an open handle, owned by the handle.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) file: FileId,
    pub(super) path: PathBuf,
    pub(super) options: OpenOptions,
    pub(super) id: u64,
    /// How many failed syncs of the file this handle has reported.
    pub(super) reported_failures: u64,
}

impl Handle {
    /// Refuses changes through a read-only handle.
    pub(super) fn check_writable(&self, refusal: Errno) -> io::Result<()> {
        match self.options.access {
            Access::ReadWrite => Ok(()),
            Access::Read => Err(refusal.into()),
        }
    }

    /// Refuses unaligned accesses through a direct handle.
    pub(super) fn check_aligned(&self, address: usize, bytes: u64, offset: u64) -> io::Result<()> {
        let values = [address as u64, bytes, offset];
        let is_aligned = values.iter().all(|value| value.is_multiple_of(DIRECT_BYTES));
        if self.options.direct && !is_aligned { Err(Errno::INVAL.into()) } else { Ok(()) }
    }
}

/// Refuses a file that would be too long.
pub(super) fn check_end(end: u64) -> io::Result<()> {
    if end > FILE_BYTES_MAX { Err(Errno::FBIG.into()) } else { Ok(()) }
}
