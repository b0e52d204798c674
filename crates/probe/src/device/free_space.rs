//! Free space of a directory's file system.

use std::path::Path;

/// The bytes that this user can write in the directory's file system; `None` if it does not report them.
pub(crate) fn free_bytes(directory: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(directory).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}
