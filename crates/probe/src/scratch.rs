//! The probe's temporary files: created under the program's own names, locked, and removed in every case.
//!
//! 1. A file is named `.syncline-probe-<pid>-<n>.tmp`, did not exist before, and is locked while in
//!    use, so that another process, even in another container, does not take it for left over.
//! 2. It is removed when dropped. [`remove_all`] removes the files of this process from a signal's
//!    thread, because Ctrl-C need not wait for a drop.
//! 3. Left-overs are removed only if the name matches, the process is gone and the lock is free.

use crate::Result;
use parking_lot::{Mutex, MutexGuard};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use syncline_vfs::{Access, Create, Disk, File, OpenOptions, RealDisk, RealFile, WriteSync};

const PREFIX: &str = ".syncline-probe-";
const SUFFIX: &str = ".tmp";

/// The existing files of this process.
static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A temporary file, removed on drop.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    file: RealFile,
}

impl Scratch {
    /// A new empty file in that directory.
    pub(crate) fn create(directory: &Path) -> Result<Scratch> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}{SUFFIX}", std::process::id());
        Scratch::create_named(directory.join(name))
    }

    /// A new empty file at that path, which must not exist.
    pub(crate) fn create_named(path: PathBuf) -> Result<Scratch> {
        let options = OpenOptions { create: Create::New, ..OpenOptions::READ_WRITE };
        // Registered first: a signal between the two would leave the file behind.
        let mut files = registry();
        let file = RealDisk.open(&path, options)?;
        files.push(path.clone());
        drop(files);
        let scratch = Scratch { path, file };
        scratch.file.try_lock()?;
        Ok(scratch)
    }

    /// Its path, for opening it elsewhere.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A buffered handle.
    pub(crate) fn file(&self) -> &RealFile {
        &self.file
    }

    /// A second handle that bypasses the page cache.
    pub(crate) fn open_direct(&self) -> Result<RealFile> {
        let access = Access::ReadWrite;
        let (create, write_sync) = (Create::Never, WriteSync::No);
        let options = OpenOptions { access, create, direct: true, write_sync };
        Ok(RealDisk.open(&self.path, options)?)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut files = registry();
        files.retain(|path| *path != self.path);
        // An error cannot be reported here; the next probe removes the file.
        drop(fs::remove_file(&self.path));
    }
}

/// Ends the commands that run beside a measurement, and removes every temporary file of this process, before
/// it exits after Ctrl-C. Returns the number of files.
pub fn remove_all() -> usize {
    crate::load::end_all();
    let mut files = registry();
    let count = files.len();
    for path in files.drain(..) {
        drop(fs::remove_file(path));
    }
    count
}

/// Removes the files that dead processes left in that directory; returns their names.
pub(crate) fn remove_left_overs(directory: &Path) -> Vec<PathBuf> {
    let names = RealDisk.list(directory).unwrap_or_default();
    let left = names.into_iter().filter(|name| is_of_a_dead_process(name));
    left.filter(|name| remove_if_unlocked(&directory.join(name))).collect()
}

fn registry() -> MutexGuard<'static, Vec<PathBuf>> {
    // The list is consistent after every operation, so a panic elsewhere does not damage it.
    FILES.lock()
}

fn is_of_a_dead_process(name: &Path) -> bool {
    let process = name.to_str().and_then(|name| {
        let numbers = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
        numbers.split_once('-')?.0.parse::<u32>().ok()
    });
    process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists())
}

fn remove_if_unlocked(path: &Path) -> bool {
    let options = OpenOptions { create: Create::Never, ..OpenOptions::READ_WRITE };
    let free = RealDisk.open(path, options).and_then(|file| file.try_lock().map(|()| file));
    free.is_ok_and(|_locked| fs::remove_file(path).is_ok())
}

#[cfg(test)]
mod tests {
    use super::{Scratch, remove_left_overs};
    use std::fs;
    use syncline_vfs::{Create, Disk, File, OpenOptions, RealDisk};

    #[test]
    fn files_are_distinct_and_removed_when_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let one = Scratch::create(folder.path()).unwrap();
        let two = Scratch::create(folder.path()).unwrap();
        assert_ne!(one.path(), two.path());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        drop((one, two));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_existing_file_is_neither_used_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("precious");
        fs::write(&path, "data").unwrap();
        assert!(Scratch::create_named(path.clone()).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"data");
    }

    #[test]
    fn only_unlocked_files_of_dead_processes_are_left_over() {
        let folder = tempfile::tempdir().unwrap();
        // Process ids end at 4,194,304 on Linux, so this one never exists.
        let names = [
            ".syncline-probe-4194999-0.tmp",
            ".syncline-probe-4194999-1.tmp",
            ".syncline-probe-1-0.tmp",
            ".syncline-probe-x.tmp",
            "precious",
        ];
        for name in names {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let options = OpenOptions { create: Create::Never, ..OpenOptions::READ_WRITE };
        let held = RealDisk.open(&folder.path().join(names[1]), options).unwrap();
        held.try_lock().unwrap();
        let removed = remove_left_overs(folder.path());
        assert_eq!(removed, [std::path::Path::new(names[0])]);
        for name in &names[1..] {
            assert!(folder.path().join(name).exists(), "{name}");
        }
    }
}
