//! The directory of a store with several files: claimed before anything is written, refused if it is
//! unmanaged, removed.
//!
//! A directory is managed if its file [`MARK`] names the store, or if it is empty. Invariants:
//! 1. Only the holder of the mark's lock creates or removes the other files.
//! 2. Only the store's own names are removed; any other file in the directory makes the claim fail.
//! 3. Unclaimed files are not removed, and a directory that existed before is kept.
//! 4. Claiming a private directory removes those next to it that ended processes have left.

use crate::error::Error;
use crate::file_lock::FileLock;
use crate::path;
use crate::url::{Listing, Url};
use parking_lot::{Mutex, MutexGuard};
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use syncline_contract::LogLocation;
use syncline_vfs::{Disk, RealDisk};

/// The file that marks a directory as managed, and whose lock shows that it is in use.
const MARK: &str = "syncline-store";

/// The directory of a store.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    /// The store's name in the mark.
    store: &'static str,
    /// The names of the store's files and directories.
    names: &'static [&'static str],
    is_private: bool,
    claimed: Mutex<Option<Claim>>,
}

#[derive(Debug)]
struct Claim {
    /// Keeps the mark locked while it is open.
    _mark: FileLock,
    /// True if the directory did not exist before.
    made: bool,
}

impl Directory {
    /// From a URL: at its path, or private in the current directory. Changes nothing.
    pub(crate) fn of(
        url: &Url,
        listing: &Listing,
        names: &'static [&'static str],
        store: &'static str,
    ) -> Result<Directory, Error> {
        let (path, is_private) = match &url.path {
            None => (path::private(store)?, true),
            Some(path) => (at(url, path, listing)?, false),
        };
        Ok(Directory { path, store, names, is_private, claimed: Mutex::new(None) })
    }

    /// The directory itself.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that exists before and after the run, on the same disk.
    pub(crate) fn log_location(&self) -> LogLocation {
        LogLocation::Directory(self.parent().to_owned())
    }

    /// Refuses a directory that [`Directory::claim`] would refuse; changes nothing.
    pub(crate) fn check(&self) -> io::Result<()> {
        match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            _ => self.refuse_unmanaged(),
        }
    }

    /// Claims the directory and removes the store's files, or returns why not.
    pub(crate) fn claim(&self) -> io::Result<()> {
        let mut claimed = self.claimed();
        if claimed.is_none() {
            if self.is_private {
                self.sweep();
            }
            *claimed = Some(self.take()?);
        }
        self.delete_store()
    }

    /// Claims the directory with its files; `false` if it does not exist.
    #[cfg(any(feature = "rocksdb", feature = "jdbc"))]
    pub(crate) fn adopt(&self) -> io::Result<bool> {
        let mut claimed = self.claimed();
        if claimed.is_none() && self.path.exists() {
            *claimed = Some(self.take()?);
        }
        Ok(claimed.is_some())
    }

    /// Keeps the directory, with its mark, for a later opening.
    #[cfg(any(feature = "rocksdb", feature = "jdbc"))]
    pub(crate) fn release(&self) {
        *self.claimed() = None;
    }

    /// Syncs the directory entries, so that a store that only syncs its files is found after a power
    /// loss.
    pub(crate) fn sync_names(&self) -> io::Result<()> {
        for directory in [&self.path, self.parent()] {
            let synced = RealDisk.sync_directory(directory);
            synced.map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Removes a claimed directory; without a claim, nothing.
    pub(crate) fn remove(&self) -> io::Result<()> {
        let mut claimed = self.claimed();
        let Some(claim) = &*claimed else {
            return Ok(());
        };
        self.delete_store()?;
        delete(&self.path.join(MARK))?;
        if claim.made {
            let removed = fs::remove_dir(&self.path);
            removed.map_err(|error| failed("remove", &self.path, &error))?;
        }
        *claimed = None;
        Ok(())
    }

    /// Removes private directories of this store that ended processes have left. One that is locked, or
    /// contains other files, is kept.
    fn sweep(&self) {
        for path in path::abandoned_directories(&self.path, self.store) {
            let left = Directory {
                path,
                store: self.store,
                names: self.names,
                is_private: false,
                claimed: Mutex::new(None),
            };
            if let Ok(claim) = left.take() {
                *left.claimed() = Some(Claim { made: true, ..claim });
                // If it cannot be removed, the next run tries again.
                drop(left.remove());
            }
        }
    }

    fn parent(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    fn claimed(&self) -> MutexGuard<'_, Option<Claim>> {
        self.claimed.lock()
    }

    fn take(&self) -> io::Result<Claim> {
        let made = match fs::create_dir(&self.path) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists && !self.is_private => false,
            Err(error) => return Err(failed("create", &self.path, &error)),
        };
        let mark = self.refuse_unmanaged().and_then(|()| self.lock());
        let mark = mark.inspect_err(|_| {
            if made {
                // It was created a moment ago and is empty; if it has a file by now, it stays.
                drop(fs::remove_dir(&self.path));
            }
        })?;
        Ok(Claim { _mark: mark, made })
    }

    /// The content of this store's mark.
    fn mark(&self) -> String {
        format!("syncline {} store\n", self.store)
    }

    fn refuse_unmanaged(&self) -> io::Result<()> {
        let unreadable = |error: io::Error| failed("read", &self.path, &error);
        let mut there = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(unreadable)? {
            there.push(entry.map_err(unreadable)?.file_name());
        }
        let is_known = |name: &&str| *name == MARK || self.names.contains(name);
        let other = there.iter().find(|name| {
            let name = name.to_str();
            name.as_ref().is_none_or(|name| !is_known(name))
        });
        let mark = match fs::read(self.path.join(MARK)) {
            Ok(mark) => mark,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed("read", &self.path.join(MARK), &error)),
        };
        // An empty mark without other files is one whose creation was interrupted.
        let is_managed = mark == self.mark().as_bytes()
            || mark.is_empty() && there.iter().all(|name| name == MARK);
        let other = other.or_else(|| there.first().filter(|_| !is_managed));
        other.map_or(Ok(()), |name| {
            let path = self.path.join(name);
            let what = "was not made by syncline as part of such a store";
            let advice = "name an unused directory, or remove it yourself";
            let what = format!("{} {what}; {advice}", path.display());
            Err(io::Error::new(ErrorKind::AlreadyExists, what))
        })
    }

    /// Takes the mark's lock, and marks the directory.
    fn lock(&self) -> io::Result<FileLock> {
        let path = self.path.join(MARK);
        let not = |error: io::Error| failed("create", &path, &error);
        let mut lock = FileLock::at(&path).map_err(not)?.ok_or_else(|| {
            io::Error::other(format!("{} is in use by another run", self.path.display()))
        })?;
        lock.file().write_all(self.mark().as_bytes()).map_err(not)?;
        Ok(lock)
    }

    fn delete_store(&self) -> io::Result<()> {
        let paths = self.names.iter().map(|name| self.path.join(name));
        paths.into_iter().try_for_each(|path| delete(&path))
    }
}

impl Drop for Directory {
    /// Removes a private store with its target, also after a panic: its name is not known outside.
    fn drop(&mut self) {
        if self.is_private {
            // The error has no receiver here; a caller that needs it removes the store before.
            drop(self.remove());
        }
    }
}

fn at(url: &Url, path: &str, listing: &Listing) -> Result<PathBuf, Error> {
    let malformed = |why| Error::Malformed { url: url.text.clone(), why, form: listing.form };
    let path = path::plain(path);
    if path.is_empty() || path.contains('\0') {
        return Err(malformed("its path does not name a directory"));
    }
    if path.starts_with("//") {
        return Err(malformed(
            "with two slashes it is unclear whether the path is absolute; use three for an absolute one",
        ));
    }
    let path = path::absolute(Path::new(path))?;
    let Some(directory) = path.parent() else {
        return Err(malformed("its path does not name a separate directory"));
    };
    if !directory.is_dir() {
        let directory = directory.to_owned();
        return Err(Error::DirectoryAbsent { directory });
    }
    Ok(path)
}

fn delete(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed("remove", path, &error)),
        _ => Ok(()),
    }
}

fn failed(doing: &str, path: &Path, error: &io::Error) -> io::Error {
    let what = format!("cannot {doing} {}: {error}", path.display());
    io::Error::new(error.kind(), what)
}

#[cfg(test)]
mod tests {
    use super::{Directory, MARK};
    use crate::path::tests::{ended, left};
    use parking_lot::Mutex;
    use std::fs::{self, File};
    use std::path::Path;

    fn private(folder: &Path) -> Directory {
        Directory {
            path: folder.join(".syncline-lmdb-private"),
            store: "lmdb",
            names: &["data.mdb"],
            is_private: true,
            claimed: Mutex::new(None),
        }
    }

    // A.F1
    #[test]
    fn leftovers_of_ended_processes_are_removed_unless_used_or_unmanaged() {
        let folder = tempfile::tempdir().unwrap();
        let store = |path: &Path| {
            fs::write(path.join(MARK), "syncline lmdb store\n").unwrap();
            fs::write(path.join("data.mdb"), "rows").unwrap();
        };
        let [empty, full, used, unmanaged] = [(); 4].map(|()| left(folder.path(), "lmdb", ended()));
        for path in [&full, &used, &unmanaged] {
            store(path);
        }
        fs::write(unmanaged.join("letter"), "theirs").unwrap();
        let lock = File::open(used.join(MARK)).unwrap();
        lock.try_lock().unwrap();
        let directory = private(folder.path());
        directory.claim().unwrap();
        assert!(!empty.exists() && !full.exists());
        assert!(used.join("data.mdb").exists() && unmanaged.join("letter").exists());
        assert!(unmanaged.join("data.mdb").exists());
    }
}
