//! How much a directory still takes.

use std::path::Path;

/// The bytes free for us in the file system of that directory; `None` if it does not say.
pub(crate) fn free_bytes(directory: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(directory).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}
