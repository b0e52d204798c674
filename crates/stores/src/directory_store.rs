//! A store and its directory: opened when the tables are created, closed before the directory is removed.
//! Shared by the stores that are one handle over a directory of files.

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
    /// A store that is not open yet. Changes nothing.
    pub(crate) fn new(directory: Directory) -> DirectoryStore<T> {
        let open = RwLock::new(None);
        DirectoryStore { open, directory }
    }

    /// The directory.
    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Passes the handle to `call`; an error if the store is not open.
    #[inline]
    pub(crate) fn with<R>(&self, call: impl FnOnce(&T) -> io::Result<R>) -> io::Result<R> {
        match &*self.opened() {
            Some(open) => call(open),
            None => Err(not_created()),
        }
    }

    /// The handle, if the store is open.
    pub(crate) fn opened(&self) -> RwLockReadGuard<'_, Option<T>> {
        self.open.read()
    }

    /// Claims the directory and opens the store that `make` creates in it; leaves nothing behind if
    /// that fails.
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

    /// Claims the directory unchanged and opens the store that `open` finds in it; `false` if there is
    /// none.
    #[cfg(feature = "rocksdb")]
    pub(crate) fn reopen(&self, open: impl FnOnce() -> io::Result<Option<T>>) -> io::Result<bool> {
        let mut opened = self.opening();
        *opened = None;
        if self.directory.adopt()? {
            *opened = open().inspect_err(|_| self.directory.release())?;
        }
        if opened.is_none() {
            self.directory.release();
        }
        Ok(opened.is_some())
    }

    /// Closes the store and keeps its directory.
    #[cfg(feature = "rocksdb")]
    pub(crate) fn keep(&self) {
        *self.opening() = None;
        self.directory.release();
    }

    /// Closes the store and removes its files.
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

#[cold]
fn not_created() -> io::Error {
    io::Error::other("the store has not been created yet")
}
