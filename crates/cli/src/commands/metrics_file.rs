//! `--metrics FILE`: the metrics of a measurement while it runs, for the text collector of Prometheus'
//! `node_exporter`.
//!
//! 1. The file is replaced whole, so that a collector never reads a part of it.
//! 2. It is not synced: that would be work for the disk that is being measured, and after a crash its values
//!    are old anyway.
//! 3. A file that cannot be written is warned of once; the measurement goes on.

use super::atomic_file;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_console::terminal;

/// The file, if the option was typed.
static FILE: OnceLock<PathBuf> = OnceLock::new();

/// True once a failure was warned of.
static WARNED: AtomicBool = AtomicBool::new(false);

/// Sets the file that the metrics go to.
pub(crate) fn set(path: &Path) {
    // The command line is parsed once.
    drop(FILE.set(path.to_owned()));
}

/// Replaces the file with the metrics, if one is set.
pub(crate) fn write(metrics: impl FnOnce() -> String) {
    let Some(path) = FILE.get() else {
        return;
    };
    if let Err(error) = atomic_file::write_unsynced(path, metrics().as_bytes())
        && !WARNED.swap(true, Ordering::Relaxed)
    {
        terminal::warn(&format!("cannot write the metrics {}: {error}", path.display()));
    }
}
