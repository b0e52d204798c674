//! A store and the directory it stands in: opened when the tables are made, closed before the
//! directory goes. Shared by the stores that are one handle over a directory of files.

use crate::directory::Directory;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::{fmt, io};

/// The handle of a store, while it is open, and its directory.
pub(crate) struct DirectoryStore<T> {
    open: RwLock<Option<T>>,
    // After the handle, so that the store is closed before a private directory is removed.
    directory: Directory,
}

impl<T> DirectoryStore<T> {
    /// Of a store that is not open yet. Touches nothing.
    pub(crate) fn new(directory: Directory) -> DirectoryStore<T> {
        let open = RwLock::new(None);
        DirectoryStore { open, directory }
    }

    /// The directory.
    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The handle, if the store is open.
    pub(crate) fn opened(&self) -> RwLockReadGuard<'_, Option<T>> {
        self.open.read()
    }

    /// Claims the directory and opens what `make` makes in it; leaves nothing behind if that fails.
    pub(crate) fn create(&self, make: impl FnOnce() -> io::Result<T>) -> io::Result<()> {
        let mut open = self.opening();
        *open = None;
        match self.directory.claim().and_then(|()| make()) {
            Ok(made) => {
                *open = Some(made);
                Ok(())
            }
            Err(error) => self.directory.remove().and(Err(error)),
        }
    }

    /// Takes the directory as it is and opens what `open` finds in it; `false` if there is nothing.
    #[cfg(feature = "rocksdb")]
    pub(crate) fn reopen(&self, open: impl FnOnce() -> io::Result<Option<T>>) -> io::Result<bool> {
        let mut opened = self.opening();
        *opened = None;
        if self.directory.adopt()? {
            *opened = open().inspect_err(|_| self.directory.let_go())?;
        }
        if opened.is_none() {
            self.directory.let_go();
        }
        Ok(opened.is_some())
    }

    /// Closes the store and leaves its directory as it is.
    #[cfg(feature = "rocksdb")]
    pub(crate) fn keep(&self) {
        *self.opening() = None;
        self.directory.let_go();
    }

    /// Closes the store and removes what stands in its directory.
    pub(crate) fn remove(&self) -> io::Result<()> {
        *self.opening() = None;
        self.directory.remove()
    }

    fn opening(&self) -> RwLockWriteGuard<'_, Option<T>> {
        self.open.write()
    }
}

impl<T> fmt::Debug for DirectoryStore<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.directory.fmt(formatter)
    }
}

/// Why nothing can be done with a store that is not open.
pub(crate) fn not_created() -> io::Error {
    io::Error::other("the store was not created yet")
}
