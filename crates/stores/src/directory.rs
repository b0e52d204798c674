//! The directory of a store that keeps several files: claimed before anything is written, refused if
//! it is not ours, removed.
//!
//! Ours is a directory in which the file [`MARK`] says which store stands there, or one that is free.
//! Invariants:
//! 1. Whoever holds the mark's lock, and only he, makes or removes what stands beside it.
//! 2. Only the store's own names are removed; anything else in the directory refuses the claim.
//! 3. What was not claimed is not removed, and a directory that was there before stays.
//! 4. Whoever claims a private directory removes those that ended processes have left beside it.

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

/// The file that says that a directory is ours, and whose lock says that it is in use.
const MARK: &str = "syncline-store";

/// Where a store stands.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    /// The store's word, which stands in the mark.
    store: &'static str,
    /// What the store makes in the directory, files and directories.
    names: &'static [&'static str],
    is_private: bool,
    claimed: Mutex<Option<Claim>>,
}

#[derive(Debug)]
struct Claim {
    /// Keeps the mark locked while it is open.
    _mark: FileLock,
    /// True if the directory was not there before.
    made: bool,
}

impl Directory {
    /// Of a URL: at its path, or private in the current directory. Touches nothing.
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

    /// The directory that stands before and after the run, on the same disk.
    pub(crate) fn log_place(&self) -> LogLocation {
        LogLocation::Directory(self.parent().to_owned())
    }

    /// Refuses what [`Directory::claim`] would find to be somebody else's; touches nothing.
    pub(crate) fn look(&self) -> io::Result<()> {
        match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            _ => self.refuse_foreign(),
        }
    }

    /// Makes the directory ours and free of the store's files, or says why not.
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

    /// Takes the directory with what stands in it; `false` if it is not there.
    #[cfg(any(feature = "rocksdb", feature = "jdbc"))]
    pub(crate) fn adopt(&self) -> io::Result<bool> {
        let mut claimed = self.claimed();
        if claimed.is_none() && self.path.exists() {
            *claimed = Some(self.take()?);
        }
        Ok(claimed.is_some())
    }

    /// Leaves the directory, with its mark, to whoever opens it next.
    #[cfg(any(feature = "rocksdb", feature = "jdbc"))]
    pub(crate) fn let_go(&self) {
        *self.claimed() = None;
    }

    /// Syncs the names of what was made, so that a store that syncs its files only is found again.
    pub(crate) fn sync_names(&self) -> io::Result<()> {
        for directory in [&self.path, self.parent()] {
            let synced = RealDisk.sync_directory(directory);
            synced.map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Removes what was claimed; without a claim, nothing.
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

    /// Removes private directories of this store that ended processes have left. One that is locked, or holds
    /// what is not ours, stays.
    fn sweep(&self) {
        for path in path::abandoned(&self.path, self.store) {
            let left = Directory {
                path,
                store: self.store,
                names: self.names,
                is_private: false,
                claimed: Mutex::new(None),
            };
            if let Ok(claim) = left.take() {
                *left.claimed() = Some(Claim { made: true, ..claim });
                // What cannot be removed is tried again by the next run.
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
            Err(error) => return Err(failed("make", &self.path, &error)),
        };
        let mark = self.refuse_foreign().and_then(|()| self.lock());
        let mark = mark.inspect_err(|_| {
            if made {
                // It was made a moment ago and is empty; if someone put a file there, it stays.
                drop(fs::remove_dir(&self.path));
            }
        })?;
        Ok(Claim { _mark: mark, made })
    }

    /// What the mark of this store says.
    fn mark(&self) -> String {
        format!("syncline {} store\n", self.store)
    }

    fn refuse_foreign(&self) -> io::Result<()> {
        let looked = |error: io::Error| failed("look at", &self.path, &error);
        let mut there = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(looked)? {
            there.push(entry.map_err(looked)?.file_name());
        }
        let is_known = |name: &&str| *name == MARK || self.names.contains(name);
        let foreign = there.iter().find(|name| {
            let name = name.to_str();
            name.as_ref().is_none_or(|name| !is_known(name))
        });
        let mark = match fs::read(self.path.join(MARK)) {
            Ok(mark) => mark,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed("read", &self.path.join(MARK), &error)),
        };
        // A mark alone and empty is one whose making was interrupted.
        let is_ours = mark == self.mark().as_bytes()
            || mark.is_empty() && there.iter().all(|name| name == MARK);
        let foreign = foreign.or_else(|| there.first().filter(|_| !is_ours));
        foreign.map_or(Ok(()), |name| {
            let path = self.path.join(name);
            let what = "was not made by syncline as part of such a store";
            let advice = "name a directory that is free, or remove it yourself";
            let what = format!("{} {what}; {advice}", path.display());
            Err(io::Error::new(ErrorKind::AlreadyExists, what))
        })
    }

    /// Takes the mark's lock, and marks the directory.
    fn lock(&self) -> io::Result<FileLock> {
        let path = self.path.join(MARK);
        let not = |error: io::Error| failed("make", &path, &error);
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
    /// A private store goes with its target, also when a panic is what ends it: nobody knows its name.
    fn drop(&mut self) {
        if self.is_private {
            // There is nobody left to tell; whoever wants to know removes it before.
            drop(self.remove());
        }
    }
}

fn at(url: &Url, path: &str, listing: &Listing) -> Result<PathBuf, Error> {
    let malformed = |why| Error::Malformed { url: url.text.clone(), why, form: listing.form };
    let path = path::plain(path);
    if path.is_empty() || path.contains('\0') {
        return Err(malformed("its path names no directory"));
    }
    if path.starts_with("//") {
        return Err(malformed(
            "two slashes leave open whether the path is absolute: write three before an absolute one",
        ));
    }
    let path = path::absolute(Path::new(path))?;
    let Some(directory) = path.parent() else {
        return Err(malformed("its path names no directory of its own"));
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
    fn what_an_ended_process_has_left_is_swept_unless_it_is_used_or_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let store = |path: &Path| {
            fs::write(path.join(MARK), "syncline lmdb store\n").unwrap();
            fs::write(path.join("data.mdb"), "rows").unwrap();
        };
        let [empty, full, used, strange] = [(); 4].map(|()| left(folder.path(), "lmdb", ended()));
        for path in [&full, &used, &strange] {
            store(path);
        }
        fs::write(strange.join("letter"), "theirs").unwrap();
        let lock = File::open(used.join(MARK)).unwrap();
        lock.try_lock().unwrap();
        let directory = private(folder.path());
        directory.claim().unwrap();
        assert!(!empty.exists() && !full.exists());
        assert!(used.join("data.mdb").exists() && strange.join("letter").exists());
        assert!(strange.join("data.mdb").exists());
    }
}
