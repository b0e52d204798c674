//! The lock on a file, held until it is dropped.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Unlocked explicitly when dropped: a child process has the file open between fork and exec, so
/// closing it alone would not release the lock.
#[derive(Debug)]
pub(crate) struct FileLock(File);

impl FileLock {
    /// Takes the file's exclusive lock, if it is free.
    pub(crate) fn take(file: File) -> Result<FileLock, TryLockError> {
        file.try_lock()?;
        Ok(FileLock(file))
    }

    /// Takes the lock on the file at that path, which is created if needed; `None` if another run has
    /// it. Another run may remove the file between opening and locking it; the lock is then on a
    /// deleted file, so this tries again.
    pub(crate) fn at(path: &Path) -> io::Result<Option<FileLock>> {
        loop {
            let mut options = OpenOptions::new();
            let file = options.create(true).truncate(false).write(true).open(path)?;
            let mut lock = match FileLock::take(file) {
                Ok(lock) => lock,
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            };
            let held = lock.file().metadata()?;
            if fs::metadata(path).is_ok_and(|there| there.ino() == held.ino()) {
                return Ok(Some(lock));
            }
        }
    }

    /// The locked file.
    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.0
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        let _closed_next = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::FileLock;
    use std::fs::File;

    /// Regression: a store that was closed and reopened was in use by another run while a process was
    /// being started.
    #[test]
    fn a_lock_is_released_while_a_starting_process_has_the_file_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let mut held = FileLock::take(File::create(&path).unwrap()).unwrap();
        // As a child has it between fork and exec.
        let _inherited = held.file().try_clone().unwrap();
        assert!(FileLock::take(File::open(&path).unwrap()).is_err());
        drop(held);
        FileLock::take(File::open(&path).unwrap()).unwrap();
    }
}
