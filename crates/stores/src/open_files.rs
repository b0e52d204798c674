//! The files that a process of this machine holds open, by its own descriptors.

use std::fs;
use std::path::PathBuf;

/// Descriptors and paths; none if they are not ours to see.
pub(crate) fn open_files(process: u32) -> Vec<(String, PathBuf)> {
    let folder = fs::read_dir(format!("/proc/{process}/fd"));
    let entries = folder.into_iter().flatten().flatten();
    let held = entries.filter_map(|entry| {
        let path = fs::read_link(entry.path()).ok()?;
        Some((entry.file_name().into_string().ok()?, path))
    });
    held.collect()
}
