//! The lock of a file, held until it is dropped.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Unlocked by name when dropped: a process that is being started has the file open until it runs its
/// program, and a lock that only closing gave up with it.
#[derive(Debug)]
pub(crate) struct FileLock(File);

impl FileLock {
    /// Takes the file's exclusive lock, if nobody else has it.
    pub(crate) fn take(file: File) -> Result<FileLock, TryLockError> {
        file.try_lock()?;
        Ok(FileLock(file))
    }

    /// Takes the lock of the file at that path, which is made if it is not there; none if another run has it.
    /// Another run may remove the file between our opening and our locking it; what we hold then is a lock on
    /// nothing, and we try again.
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

    /// A store that was closed and opened again was in use by another run: a process was being started.
    #[test]
    fn a_lock_is_given_up_although_a_process_that_starts_has_the_file_open() {
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
