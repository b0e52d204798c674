//! The lock of a file, held until it is dropped.

use std::fs::{File, TryLockError};

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
