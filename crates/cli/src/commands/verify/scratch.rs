//! A folder for a verification's stores and images, removed in the end.
//!
//! Who is killed leaves it behind. The next verification in that place removes it: a folder of that name, of
//! the same user, whose process is gone and whose lock nobody holds. Each holds the lock of its own folder as
//! long as it lives, so that another's is never taken, not even that of a process of another container.

use crate::commands::environment;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use syncline_console::{CannotRun, terminal};
use syncline_verify::power;

const PREFIX: &str = "syncline-verify-";

/// See the module.
#[derive(Debug)]
pub(super) struct ScratchDir {
    path: PathBuf,
    /// The folder itself, locked.
    _lock: File,
}

impl ScratchDir {
    /// A new folder in `directory`; what killed ones have left there is removed, and that is said.
    pub(super) fn new(directory: &Path) -> Result<ScratchDir, CannotRun> {
        sweep(directory);
        let path = directory.join(format!("{PREFIX}{}", std::process::id()));
        let cannot = |what: &str, error: &dyn std::fmt::Display| {
            CannotRun(format!("cannot {what} {}: {error}", path.display()))
        };
        fs::create_dir(&path).map_err(|error| cannot("make", &error))?;
        let lock = File::open(&path).map_err(|error| cannot("open", &error))?;
        lock.try_lock().map_err(|error| cannot("lock", &error))?;
        Ok(ScratchDir { path: environment::real(&path)?, _lock: lock })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            could_not(&self.path, &error);
        }
    }
}

fn could_not(path: &Path, error: &dyn std::fmt::Display) {
    let path = path.display();
    terminal::warn(&format!("{path} could not be removed ({error}); remove it yourself"));
}

/// Removes what killed verifications have left in a directory. One that cannot be read has nothing of ours.
fn sweep(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let Some(_lock) = of_the_dead(&path) else {
            continue;
        };
        // Mounts outlive who served them.
        let removed = path
            .canonicalize()
            .and_then(|path| power::unmount_below(&path))
            .and_then(|()| fs::remove_dir_all(&path));
        match removed {
            Ok(()) => terminal::note(&format!(
                "removed {}, which a verification that was killed had left",
                path.display()
            )),
            Err(error) => could_not(&path, &error),
        }
    }
}

/// The lock of a folder that is ours and whose process is gone.
fn of_the_dead(path: &Path) -> Option<File> {
    let name = path.file_name()?.to_str()?;
    let process: u32 = name.strip_prefix(PREFIX)?.parse().ok()?;
    // A number that is our own by now is not that process any more.
    let lives = Path::new(&format!("/proc/{process}")).exists();
    if lives && process != std::process::id() {
        return None;
    }
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let folder = File::open(path).ok()?;
    folder.try_lock().is_ok().then_some(folder)
}
