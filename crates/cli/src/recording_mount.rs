//! Refuses to measure on the file system on which `verify durability` records a store's writes: it syncs
//! nothing, and it adds its own latency.

use std::path::Path;
use syncline_console::CannotRun;
use syncline_verify::power::is_mounted;

/// Refuses a directory on a recording mount.
pub(crate) fn refuse_recording_mount(path: &Path) -> Result<(), CannotRun> {
    if !is_mounted(path) {
        return Ok(());
    }
    Err(CannotRun(format!(
        "{} is on the file system on which verify durability records a store's writes, so a speed measured \
         there means nothing; name a directory on a real disk",
        path.display()
    )))
}
