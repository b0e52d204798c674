//! The files of a store: claimed before anything is written, refused if they are not ours, removed.
//!
//! Ours is a database whose header carries [`APPLICATION_ID`], or a private directory that did not
//! exist before. Invariants:
//! 1. Whoever holds the lock file's lock, and only he, makes or removes the files beside it.
//! 2. A file that is there and not ours is neither opened by SQLite (which could roll back a journal
//!    in it) nor changed.
//! 3. What was not claimed is not removed.
//! 4. Whoever claims a private place removes those that ended processes have left beside it.

use crate::file_lock::FileLock;
use crate::path::{self, delete, failed};
use parking_lot::{Mutex, MutexGuard};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use syncline_contract::{Failure, FailureKind, TargetResult};

/// Marks a database as ours, at byte 68 of its header: the letters `SyLn`.
pub(super) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"SyLn");

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const APPLICATION_ID_AT: usize = 68;

/// What SQLite makes beside a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Where a store stands.
#[derive(Debug)]
pub(super) struct DatabaseFiles {
    database: PathBuf,
    /// The directory that is made for this store alone and goes with it.
    private: Option<PathBuf>,
    claimed: Mutex<Option<FileLock>>,
}

impl DatabaseFiles {
    /// At a path of the user's choice.
    pub(super) fn at(database: PathBuf) -> DatabaseFiles {
        DatabaseFiles { database, private: None, claimed: Mutex::new(None) }
    }

    /// In a private directory, to be made.
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

    /// The directory of the database and its log: with a private store, the one it is made in, which
    /// stands before and after the run.
    pub(super) fn directory(&self) -> PathBuf {
        let inside = self.private.as_deref().unwrap_or(&self.database);
        inside.parent().unwrap_or(Path::new("/")).to_owned()
    }

    /// Refuses a database that [`DatabaseFiles::claim`] would find to be somebody else's; touches nothing.
    pub(super) fn look(&self) -> TargetResult<()> {
        self.refuse_foreign()
    }

    /// Makes the place ours and empty, or says why not. Claiming again empties it again.
    pub(super) fn claim(&self) -> TargetResult<()> {
        let mut claimed = self.claimed();
        if claimed.is_none() {
            if let Some(directory) = &self.private {
                sweep(directory);
                fs::create_dir(directory).map_err(|error| failed("make", directory, &error))?;
            }
            *claimed = Some(self.lock().inspect_err(|_| self.undo_directory())?);
        }
        let emptied = self.refuse_foreign().and_then(|()| self.delete_store());
        if emptied.is_err() {
            // Nothing of ours stands here but the lock file and, if private, its directory.
            let unlocked = delete(&self.lock_path());
            self.undo_directory();
            *claimed = None;
            return emptied.and(unlocked);
        }
        Ok(())
    }

    /// Makes a database of ours that is there ours to use, as it is; false, and nothing claimed, if none
    /// is there. Refuses what is not ours.
    pub(super) fn adopt(&self) -> TargetResult<bool> {
        let mut claimed = self.claimed();
        *claimed = None;
        if !self.database.exists() {
            return Ok(false);
        }
        let lock = self.lock()?;
        if let Err(refused) = self.refuse_foreign() {
            delete(&self.lock_path())?;
            return Err(refused);
        }
        *claimed = Some(lock);
        Ok(true)
    }

    /// Leaves a claimed place to whoever claims or adopts it next.
    pub(super) fn let_go(&self) -> TargetResult<()> {
        let mut claimed = self.claimed();
        if claimed.is_some() {
            delete(&self.lock_path())?;
            *claimed = None;
        }
        Ok(())
    }

    /// True if it goes with its target.
    pub(super) fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// Removes every file of a claimed place; without a claim, nothing.
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
        beside(&self.database, "-syncline-lock")
    }

    /// Takes the lock file's lock.
    fn lock(&self) -> TargetResult<FileLock> {
        let path = self.lock_path();
        let lock = FileLock::at(&path).map_err(|error| failed("make", &path, &error))?;
        lock.ok_or_else(|| {
            let what = format!("{} is in use by another run", self.database.display());
            Failure::new(FailureKind::Storage, what)
        })
    }

    fn undo_directory(&self) {
        if let Some(directory) = &self.private {
            // It was made a moment ago and is empty; if someone put a file there, it stays.
            drop(fs::remove_dir(directory));
        }
    }

    fn refuse_foreign(&self) -> TargetResult<()> {
        let path = &self.database;
        let refused = |what: &str| {
            let what = format!(
                "{} {what}; name a path that is free, or remove it yourself",
                path.display()
            );
            Err(Failure::new(FailureKind::Storage, what))
        };
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match BESIDE.iter().find(|suffix| beside(path, suffix).exists()) {
                    Some(suffix) => refused(&format!(
                        "is not there, but {} is, which belongs to another database",
                        beside(path, suffix).display()
                    )),
                    None => Ok(()),
                }
            }
            Err(error) => Err(failed("look at", path, &error)),
            Ok(about) if !about.is_file() => refused("is there and is not a file"),
            Ok(_) if is_ours(path).map_err(|error| failed("read", path, &error))? => Ok(()),
            Ok(_) => refused("is there and was not made by syncline"),
        }
    }

    fn delete_store(&self) -> TargetResult<()> {
        // The database goes last: while it stands, what lies beside it is known to be ours.
        for suffix in BESIDE {
            delete(&beside(&self.database, suffix))?;
        }
        delete(&self.database)
    }
}

impl Drop for DatabaseFiles {
    /// A private store goes with its target, also when a panic is what ends it: nobody knows its name.
    fn drop(&mut self) {
        if self.private.is_some() {
            // There is nobody left to tell; whoever wants to know removes it before.
            drop(self.remove());
        }
    }
}

/// Removes private stores that ended processes have left beside a directory. One that is locked, or holds
/// what is not ours, stays.
fn sweep(directory: &Path) {
    for path in path::abandoned(directory, "sqlite") {
        let left = DatabaseFiles {
            database: path.join("store.db"),
            private: Some(path.clone()),
            claimed: Mutex::new(None),
        };
        let known = |path: &Path| {
            let mut known = BESIDE.iter().map(|suffix| beside(&left.database, suffix));
            path == left.database || path == left.lock_path() || known.any(|one| path == one)
        };
        let entries = fs::read_dir(&path).into_iter().flatten();
        let mut paths = entries.map(|entry| entry.map(|entry| entry.path()));
        let is_ours = paths.all(|path| path.is_ok_and(|path| known(&path)));
        if is_ours && left.adopt().is_ok_and(|is_there| is_there) {
            // What cannot be removed is tried again by the next run.
            drop(left.remove());
        } else {
            // Of an empty one nothing else is left.
            drop(fs::remove_dir(&path));
        }
    }
}

fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    PathBuf::from(path)
}

fn is_ours(path: &Path) -> io::Result<bool> {
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
    fn a_database_that_an_ended_process_has_left_is_swept_unless_it_is_used_or_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let [empty, full, used, strange] = [(); 4].map(|()| left(folder.path(), "sqlite", ended()));
        for path in [&full, &used, &strange] {
            let mut header = vec![0; 100];
            header[..MAGIC.len()].copy_from_slice(MAGIC);
            header[68..72].copy_from_slice(&APPLICATION_ID.to_be_bytes());
            fs::write(path.join("store.db"), header).unwrap();
            fs::write(path.join("store.db-wal"), "").unwrap();
            fs::write(path.join("store.db-syncline-lock"), "").unwrap();
        }
        fs::write(strange.join("letter"), "theirs").unwrap();
        let lock = File::open(used.join("store.db-syncline-lock")).unwrap();
        lock.try_lock().unwrap();
        let place = DatabaseFiles::private(folder.path().join(".syncline-sqlite-private"));
        place.claim().unwrap();
        assert!(!empty.exists() && !full.exists());
        assert!(used.join("store.db").exists() && strange.join("store.db").exists());
        assert!(strange.join("letter").exists());
    }
}
