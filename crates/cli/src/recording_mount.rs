//! Where `verify durability` records what a store does, nothing is measured: that file system syncs nothing,
//! and takes a time of its own for it.

use std::path::Path;
use syncline_console::CannotRun;
use syncline_verify::power::is_mounted;

/// Refuses a place of which a figure of speed would mean nothing.
pub(crate) fn refuse_recording_mount(path: &Path) -> Result<(), CannotRun> {
    if !is_mounted(path) {
        return Ok(());
    }
    Err(CannotRun(format!(
        "{} lies on a file system on which verify durability records what a store does: a figure of speed \
         from there means nothing; name a directory on a real disk",
        path.display()
    )))
}
