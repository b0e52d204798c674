//! The files that a process on this machine holds open, from its descriptors.

use std::fs;
use std::path::PathBuf;

/// Descriptors and paths; empty if they are not visible to this user.
pub(crate) fn open_files(process: u32) -> Vec<(String, PathBuf)> {
    let folder = fs::read_dir(format!("/proc/{process}/fd"));
    let entries = folder.into_iter().flatten().flatten();
    let held = entries.filter_map(|entry| {
        let path = fs::read_link(entry.path()).ok()?;
        Some((entry.file_name().into_string().ok()?, path))
    });
    held.collect()
}
