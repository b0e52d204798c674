//! The files of a store: claimed before anything is written, refused if they are unmanaged, removed.
//!
//! A database is managed if its header has [`APPLICATION_ID`], or if it is in a private directory that
//! did not exist before. Invariants:
//! 1. Only the holder of the lock file's lock creates or removes the other files.
//! 2. An existing unmanaged file is neither opened by SQLite (which could roll back a journal in it) nor
//!    changed.
//! 3. Unclaimed files are not removed.
//! 4. Claiming a private directory removes those next to it that ended processes have left.

use crate::file_lock::FileLock;
use crate::path::{self, delete, failed};
use parking_lot::{Mutex, MutexGuard};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use syncline_contract::{Failure, FailureKind, TargetResult};

/// Marks a database as managed, at byte 68 of its header: the letters `SyLn`.
pub(super) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"SyLn");

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const APPLICATION_ID_AT: usize = 68;

/// The suffixes of the files that SQLite creates with a database.
const SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The files of a store.
#[derive(Debug)]
pub(super) struct DatabaseFiles {
    database: PathBuf,
    /// The directory that is created for this store only and removed with it.
    private: Option<PathBuf>,
    claimed: Mutex<Option<FileLock>>,
}

impl DatabaseFiles {
    /// At a path that the user chose.
    pub(super) fn at(database: PathBuf) -> DatabaseFiles {
        DatabaseFiles { database, private: None, claimed: Mutex::new(None) }
    }

    /// In a private directory, to be created.
    pub(super) fn private(directory: PathBuf) -> DatabaseFiles {
        DatabaseFiles {
            database: directory.join("store.db"),
            private: Some(directory),
            claimed: Mutex::new(None),
        }
    }

    /// The database file.
    pub(super) fn database(&self) -> &Path {
        &self.database
    }

    /// The directory of the database and its log; for a private store its parent, which exists before
    /// and after the run.
    pub(super) fn directory(&self) -> PathBuf {
        let inside = self.private.as_deref().unwrap_or(&self.database);
        inside.parent().unwrap_or(Path::new("/")).to_owned()
    }

    /// Refuses a database that [`DatabaseFiles::claim`] would refuse; changes nothing.
    pub(super) fn check(&self) -> TargetResult<()> {
        self.refuse_unmanaged()
    }

    /// Claims and empties the path, or returns why not. Claiming again empties it again.
    pub(super) fn claim(&self) -> TargetResult<()> {
        let mut claimed = self.claimed();
        if claimed.is_none() {
            if let Some(directory) = &self.private {
                sweep(directory);
                fs::create_dir(directory).map_err(|error| failed("create", directory, &error))?;
            }
            *claimed = Some(self.lock().inspect_err(|_| self.undo_directory())?);
        }
        let emptied = self.refuse_unmanaged().and_then(|()| self.delete_store());
        if emptied.is_err() {
            // Only the lock file and, if private, its directory were made by this store.
            let unlocked = delete(&self.lock_path());
            self.undo_directory();
            *claimed = None;
            return emptied.and(unlocked);
        }
        Ok(())
    }

    /// Claims an existing managed database unchanged; false, and nothing claimed, if there is none.
    /// Refuses any other.
    pub(super) fn adopt(&self) -> TargetResult<bool> {
        let mut claimed = self.claimed();
        *claimed = None;
        if !self.database.exists() {
            return Ok(false);
        }
        let lock = self.lock()?;
        if let Err(refused) = self.refuse_unmanaged() {
            delete(&self.lock_path())?;
            return Err(refused);
        }
        *claimed = Some(lock);
        Ok(true)
    }

    /// Releases a claimed database for a later claim or adoption.
    pub(super) fn release(&self) -> TargetResult<()> {
        let mut claimed = self.claimed();
        if claimed.is_some() {
            delete(&self.lock_path())?;
            *claimed = None;
        }
        Ok(())
    }

    /// True if it is removed with its target.
    pub(super) fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// Removes every file of a claimed database; without a claim, nothing.
    pub(super) fn remove(&self) -> TargetResult<()> {
        let mut claimed = self.claimed();
        if claimed.is_none() {
            return Ok(());
        }
        self.delete_store()?;
        delete(&self.lock_path())?;
        if let Some(directory) = &self.private {
            fs::remove_dir(directory).map_err(|error| failed("remove", directory, &error))?;
        }
        *claimed = None;
        Ok(())
    }

    fn claimed(&self) -> MutexGuard<'_, Option<FileLock>> {
        self.claimed.lock()
    }

    fn lock_path(&self) -> PathBuf {
        with_suffix(&self.database, "-syncline-lock")
    }

    /// Takes the lock on the lock file.
    fn lock(&self) -> TargetResult<FileLock> {
        let path = self.lock_path();
        let lock = FileLock::at(&path).map_err(|error| failed("create", &path, &error))?;
        lock.ok_or_else(|| {
            let what = format!("{} is in use by another run", self.database.display());
            Failure::new(FailureKind::Storage, what)
        })
    }

    fn undo_directory(&self) {
        if let Some(directory) = &self.private {
            // It was created a moment ago and is empty; if it has a file by now, it stays.
            drop(fs::remove_dir(directory));
        }
    }

    fn refuse_unmanaged(&self) -> TargetResult<()> {
        let path = &self.database;
        let refused = |what: &str| {
            let what =
                format!("{} {what}; name an unused path, or remove it yourself", path.display());
            Err(Failure::new(FailureKind::Storage, what))
        };
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match SUFFIXES.iter().find(|suffix| with_suffix(path, suffix).exists()) {
                    Some(suffix) => refused(&format!(
                        "does not exist, but {} does, which belongs to another database",
                        with_suffix(path, suffix).display()
                    )),
                    None => Ok(()),
                }
            }
            Err(error) => Err(failed("read", path, &error)),
            Ok(about) if !about.is_file() => refused("exists and is not a file"),
            Ok(_) if is_managed(path).map_err(|error| failed("read", path, &error))? => Ok(()),
            Ok(_) => refused("exists and was not made by syncline"),
        }
    }

    fn delete_store(&self) -> TargetResult<()> {
        // The database is deleted last: while it exists, it shows that its other files are managed.
        for suffix in SUFFIXES {
            delete(&with_suffix(&self.database, suffix))?;
        }
        delete(&self.database)
    }
}

impl Drop for DatabaseFiles {
    /// Removes a private store with its target, also after a panic: its name is not known outside.
    fn drop(&mut self) {
        if self.private.is_some() {
            // The error has no receiver here; a caller that needs it removes the store before.
            drop(self.remove());
        }
    }
}

/// Removes private stores next to a directory that ended processes have left. One that is locked, or
/// contains other files, is kept.
fn sweep(directory: &Path) {
    for path in path::abandoned_directories(directory, "sqlite") {
        let left = DatabaseFiles {
            database: path.join("store.db"),
            private: Some(path.clone()),
            claimed: Mutex::new(None),
        };
        let known = |path: &Path| {
            let mut known = SUFFIXES.iter().map(|suffix| with_suffix(&left.database, suffix));
            path == left.database || path == left.lock_path() || known.any(|one| path == one)
        };
        let entries = fs::read_dir(&path).into_iter().flatten();
        let mut paths = entries.map(|entry| entry.map(|entry| entry.path()));
        let is_managed = paths.all(|path| path.is_ok_and(|path| known(&path)));
        if is_managed && left.adopt().is_ok_and(|is_there| is_there) {
            // If it cannot be removed, the next run tries again.
            drop(left.remove());
        } else {
            // An empty one has only its directory.
            drop(fs::remove_dir(&path));
        }
    }
}

fn with_suffix(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    PathBuf::from(path)
}

fn is_managed(path: &Path) -> io::Result<bool> {
    let mut header = [0; APPLICATION_ID_AT + 4];
    let read = File::open(path)?.read_exact(&mut header);
    match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        read => read?,
    }
    let id = &header[APPLICATION_ID_AT..];
    Ok(header.starts_with(MAGIC) && id == APPLICATION_ID.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::{APPLICATION_ID, DatabaseFiles, MAGIC};
    use crate::path::tests::{ended, left};
    use std::fs::{self, File};

    // A.F1
    #[test]
    fn leftovers_of_ended_processes_are_removed_unless_used_or_unmanaged() {
        let folder = tempfile::tempdir().unwrap();
        let [empty, full, used, unmanaged] =
            [(); 4].map(|()| left(folder.path(), "sqlite", ended()));
        for path in [&full, &used, &unmanaged] {
            let mut header = vec![0; 100];
            header[..MAGIC.len()].copy_from_slice(MAGIC);
            header[68..72].copy_from_slice(&APPLICATION_ID.to_be_bytes());
            fs::write(path.join("store.db"), header).unwrap();
            fs::write(path.join("store.db-wal"), "").unwrap();
            fs::write(path.join("store.db-syncline-lock"), "").unwrap();
        }
        fs::write(unmanaged.join("letter"), "theirs").unwrap();
        let lock = File::open(used.join("store.db-syncline-lock")).unwrap();
        lock.try_lock().unwrap();
        let place = DatabaseFiles::private(folder.path().join(".syncline-sqlite-private"));
        place.claim().unwrap();
        assert!(!empty.exists() && !full.exists());
        assert!(used.join("store.db").exists() && unmanaged.join("store.db").exists());
        assert!(unmanaged.join("letter").exists());
    }
}
