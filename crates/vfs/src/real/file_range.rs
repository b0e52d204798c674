//! `sync_file_range`, for which no safe interface exists: measured as not durable.

#![allow(unsafe_code, reason = "the system call has no safe interface")]

use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Writes the range's pages back and waits for them: neither metadata nor the device's cache.
pub(super) fn sync_file_range(file: BorrowedFd<'_>, offset: u64, bytes: usize) -> io::Result<()> {
    let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let (from, length) = (offset.cast_signed(), (bytes as u64).cast_signed());
    loop {
        // SAFETY: the call takes no pointers, and the borrowed descriptor is open.
        let answer = unsafe { libc::sync_file_range(file.as_raw_fd(), from, length, all) };
        if answer == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
