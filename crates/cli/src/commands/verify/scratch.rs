//! A directory for a verification's stores and images, removed at its end.
//!
//! A killed verification leaves its directory behind, and the next one in the same place removes it: a
//! directory with our prefix, owned by the same user, whose process is gone and whose lock is free. Each
//! verification holds the lock of its own directory while it runs, so that no running one is removed, not
//! even that of a process in another container.

use crate::commands::environment;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use syncline_console::{CannotRun, terminal};
use syncline_verify::power;

const PREFIX: &str = "syncline-verify-";

/// A locked directory, removed when this is dropped.
#[derive(Debug)]
pub(super) struct ScratchDir {
    path: PathBuf,
    /// The directory itself, locked.
    _lock: File,
}

impl ScratchDir {
    /// Creates a new directory in `directory`, after removing those of killed verifications, with a note.
    pub(super) fn new(directory: &Path) -> Result<ScratchDir, CannotRun> {
        remove_abandoned(directory);
        let path = directory.join(format!("{PREFIX}{}", std::process::id()));
        let cannot = |what: &str, error: &dyn std::fmt::Display| {
            CannotRun(format!("cannot {what} {}: {error}", path.display()))
        };
        fs::create_dir(&path).map_err(|error| cannot("make", &error))?;
        let lock = File::open(&path).map_err(|error| cannot("open", &error))?;
        lock.try_lock().map_err(|error| cannot("lock", &error))?;
        Ok(ScratchDir { path: environment::real(&path)?, _lock: lock })
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            warn_not_removed(&self.path, &error);
        }
    }
}

fn warn_not_removed(path: &Path, error: &dyn std::fmt::Display) {
    let path = path.display();
    terminal::warn(&format!("{path} could not be removed ({error}); remove it manually"));
}

/// Removes the directories of killed verifications. An unreadable directory is skipped,
/// because this user did not make it.
fn remove_abandoned(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let Some(_lock) = lock_abandoned(&path) else {
            continue;
        };
        // Mounts outlive the process that serves them.
        let removed = path
            .canonicalize()
            .and_then(|path| power::unmount_below(&path))
            .and_then(|()| fs::remove_dir_all(&path));
        match removed {
            Ok(()) => terminal::note(&format!(
                "removed {}, left by a killed verification",
                path.display()
            )),
            Err(error) => warn_not_removed(&path, &error),
        }
    }
}

/// The lock of one of our directories whose process is gone.
fn lock_abandoned(path: &Path) -> Option<File> {
    let name = path.file_name()?.to_str()?;
    let process: u32 = name.strip_prefix(PREFIX)?.parse().ok()?;
    // A process number reused by this process does not belong to the owner any longer.
    let is_alive = Path::new(&format!("/proc/{process}")).exists();
    if is_alive && process != std::process::id() {
        return None;
    }
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let folder = File::open(path).ok()?;
    folder.try_lock().is_ok().then_some(folder)
}
