//! The directory of a database: refused if it holds what is not ours, emptied, removed.
//!
//! | name | ours if |
//! |---|---|
//! | `data` | it begins as a data file does |
//! | `data.new` | likewise, or with zeros: its making was cut off |
//! | `making` | it is empty |
//! | `log` | it is a directory of nothing but the names below |
//! | `log/lock`, `log/making` | it is empty |
//! | `log/segment-N.log` | it begins as a log segment does, or with zeros |
//!
//! Invariants:
//! 1. Nothing is removed from a directory that holds anything else, nor from one that holds a log whose
//!    data file is missing: it may be all that is left of somebody's rows.
//! 2. A directory that was there before stays; one that was made here goes with the database.
//! 3. Whoever claims a private directory removes those that ended processes have left beside it.

use crate::file_lock::FileLock;
use crate::path::{self, delete, failed};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_contract::{Failure, FailureKind, TargetResult};

const DATA_MAGIC: [u8; 8] = *b"SYNCDAT1";
const LOG_MAGIC: [u8; 8] = *b"SYNCLOG1";

/// The directory of the log in that of the database.
const LOG: &str = "log";

/// See the module.
#[derive(Debug)]
pub(super) struct DatabaseDirectory {
    directory: PathBuf,
    is_private: bool,
    claimed: AtomicBool,
    made: AtomicBool,
}

impl DatabaseDirectory {
    pub(super) fn new(directory: PathBuf, is_private: bool) -> DatabaseDirectory {
        DatabaseDirectory {
            directory,
            is_private,
            claimed: AtomicBool::new(false),
            made: AtomicBool::new(false),
        }
    }

    /// Where the database stands.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The directory that stands before and after the run, on the same disk.
    pub(super) fn parent(&self) -> PathBuf {
        self.directory.parent().unwrap_or(Path::new("/")).to_owned()
    }

    /// Refuses a directory that [`DatabaseDirectory::claim`] would find to be somebody else's; touches
    /// nothing.
    pub(super) fn look(&self) -> TargetResult<()> {
        match fs::symlink_metadata(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            _ => self.refuse_lone_log(&self.ours()?),
        }
    }

    /// Makes the directory empty of our own files, or says why not.
    pub(super) fn claim(&self) -> TargetResult<()> {
        if self.is_private {
            self.sweep();
        }
        match fs::create_dir(&self.directory) {
            Ok(()) => self.made.store(true, Ordering::SeqCst),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !self.is_private => {}
            Err(error) => return Err(failed("make", &self.directory, &error)),
        }
        let ours = self.ours()?;
        refuse_in_use(&self.directory)?;
        self.refuse_lone_log(&ours)?;
        self.claimed.store(true, Ordering::SeqCst);
        ours.remove()
    }

    /// Removes private databases that ended processes have left. One that is in use, or holds what is not
    /// ours, stays.
    fn sweep(&self) {
        for path in path::abandoned(&self.directory, "engine") {
            let left = DatabaseDirectory::new(path, false);
            if left.claim().is_ok() {
                left.made.store(true, Ordering::SeqCst);
                // What cannot be removed is tried again by the next run.
                drop(left.remove());
            }
        }
    }

    /// True if it goes with its target.
    pub(super) fn is_private(&self) -> bool {
        self.is_private
    }

    /// True if a database stands there; whether it can be opened is found by opening it.
    pub(super) fn holds_database(&self) -> bool {
        self.directory.join("data").exists()
    }

    /// Leaves the database to whoever opens it next.
    pub(super) fn let_go(&self) {
        self.claimed.store(false, Ordering::SeqCst);
        self.made.store(false, Ordering::SeqCst);
    }

    /// A store that is there already is taken as it is.
    pub(super) fn adopt(&self) {
        self.claimed.store(true, Ordering::SeqCst);
    }

    /// Removes every file of a claimed place; without a claim, nothing.
    pub(super) fn remove(&self) -> TargetResult<()> {
        if !self.claimed.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        self.ours()?.remove()?;
        if self.made.swap(false, Ordering::SeqCst) {
            let removed = fs::remove_dir(&self.directory);
            removed.map_err(|error| failed("remove", &self.directory, &error))?;
        }
        Ok(())
    }

    /// Refuses a log that was written to, where the data file is missing and no making was cut off.
    fn refuse_lone_log(&self, ours: &Ours) -> TargetResult<()> {
        let is_there = |name: &str| ours.files.contains(&self.directory.join(name));
        let begun = |path: &&PathBuf| begins_with(path, LOG_MAGIC).unwrap_or(true);
        let in_log = |path: &&PathBuf| path.parent() == ours.log.as_deref();
        let segment = ours.files.iter().filter(in_log).find(begun);
        match segment {
            Some(_) if !["data", "data.new", "making"].into_iter().any(is_there) => {
                let what = format!(
                    "{} holds the log of a database and no data file; bring back the file named data, or \
                     empty the directory yourself",
                    self.directory.display()
                );
                Err(Failure::new(FailureKind::Storage, what))
            }
            _ => Ok(()),
        }
    }

    /// Our files; a failure if there is any other.
    fn ours(&self) -> TargetResult<Ours> {
        let log = self.directory.join(LOG);
        let mut ours = Ours { files: Vec::new(), log: None };
        for path in paths_in(&self.directory)? {
            if path == log && is_directory(&path) {
                ours.log = Some(path);
            } else {
                ours.files.push(own(path, is_ours)?);
            }
        }
        if let Some(log) = &ours.log {
            for path in paths_in(log)? {
                ours.files.push(own(path, is_ours_in_log)?);
            }
        }
        Ok(ours)
    }
}

/// What stands in a directory and is ours.
struct Ours {
    files: Vec<PathBuf>,
    /// The log's directory, to be removed behind its files.
    log: Option<PathBuf>,
}

impl Ours {
    /// The log goes first, so that no removal that was cut off leaves a log without its data file.
    fn remove(&self) -> TargetResult<()> {
        let (in_log, beside): (Vec<_>, Vec<_>) =
            self.files.iter().partition(|path| path.parent() == self.log.as_deref());
        in_log.into_iter().try_for_each(|path| delete(path))?;
        if let Some(log) = &self.log {
            fs::remove_dir(log).map_err(|error| failed("remove", log, &error))?;
        }
        beside.into_iter().try_for_each(|path| delete(path))
    }
}

impl Drop for DatabaseDirectory {
    /// A private store goes with its target, also when a panic is what ends it.
    fn drop(&mut self) {
        if self.is_private {
            // There is nobody left to tell; whoever wants to know removes it before.
            drop(self.remove());
        }
    }
}

fn paths_in(directory: &Path) -> TargetResult<Vec<PathBuf>> {
    let looked = |error: &io::Error| failed("look at", directory, error);
    let entries = fs::read_dir(directory).map_err(|error| looked(&error))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<io::Result<_>>().map_err(|error| looked(&error))
}

/// The path, if `is_ours` says so of its name.
fn own(path: PathBuf, is_ours: fn(&str, &Path) -> io::Result<bool>) -> TargetResult<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_ours = is_ours(name.unwrap_or_default(), &path);
    if is_ours.map_err(|error| failed("read", &path, &error))? {
        return Ok(path);
    }
    let what = format!(
        "{} was not made by syncline; name a directory that is free, or empty it yourself",
        path.display()
    );
    Err(Failure::new(FailureKind::Storage, what))
}

fn is_ours(name: &str, path: &Path) -> io::Result<bool> {
    match name {
        "data" => begins_with(path, DATA_MAGIC),
        "data.new" => Ok(begins_with(path, DATA_MAGIC)? || begins_with(path, [0; 8])?),
        "making" => is_empty(path),
        _ => Ok(false),
    }
}

fn is_ours_in_log(name: &str, path: &Path) -> io::Result<bool> {
    if matches!(name, "lock" | "making") {
        return is_empty(path);
    }
    let number = name.strip_prefix("segment-").and_then(|rest| rest.strip_suffix(".log"));
    if number.is_none_or(|number| number.parse::<u32>().is_err()) {
        return Ok(false);
    }
    // A file whose making was interrupted is empty or begins with zeros.
    Ok(begins_with(path, LOG_MAGIC)? || begins_with(path, [0; 8])?)
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn is_empty(path: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    Ok(found.is_file() && found.len() == 0)
}

/// True if the file begins with these bytes, or is shorter and all zeros where zeros are sought.
fn begins_with(path: &Path, bytes: [u8; 8]) -> io::Result<bool> {
    let mut first = Vec::new();
    if fs::symlink_metadata(path)?.is_file() {
        File::open(path)?.take(8).read_to_end(&mut first)?;
        return Ok(first == bytes || (bytes == [0; 8] && first.iter().all(|byte| *byte == 0)));
    }
    Ok(false)
}

/// Refuses a database that is open, here or elsewhere.
fn refuse_in_use(directory: &Path) -> TargetResult<()> {
    for path in [directory.join("data"), directory.join(LOG).join("lock")] {
        match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("open", &path, &error)),
            Ok(file) => FileLock::take(file).map(drop).map_err(|why| {
                let what = format!("{} is in use by another run: {why}", directory.display());
                Failure::new(FailureKind::Storage, what)
            })?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{DATA_MAGIC, DatabaseDirectory};
    use crate::path::tests::{ended, left};
    use std::fs::{self, File};

    // A.F1
    #[test]
    fn what_an_ended_process_has_left_is_swept_unless_it_is_used_or_not_ours() {
        let folder = tempfile::tempdir().unwrap();
        let [full, used, strange] = [(); 3].map(|()| left(folder.path(), "engine", ended()));
        for path in [&full, &used, &strange] {
            fs::write(path.join("data"), DATA_MAGIC).unwrap();
            fs::create_dir(path.join("log")).unwrap();
            fs::write(path.join("log/lock"), "").unwrap();
        }
        fs::write(strange.join("letter"), "theirs").unwrap();
        let lock = File::open(used.join("log/lock")).unwrap();
        lock.try_lock().unwrap();
        let place = DatabaseDirectory::new(folder.path().join(".syncline-engine-private"), true);
        place.claim().unwrap();
        assert!(!full.exists());
        assert!(used.join("data").exists() && strange.join("data").exists());
        assert!(strange.join("letter").exists());
    }
}
