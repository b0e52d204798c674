//! The directory of a database: refused if it contains other files, emptied, removed.
//!
//! | name | a file of the database if |
//! |---|---|
//! | `data` | it begins like a data file |
//! | `data.new` | the same, or it begins with zeros: its creation was interrupted |
//! | `making` | it is empty |
//! | `log` | it is a directory with only the names below |
//! | `log/lock`, `log/making` | it is empty |
//! | `log/segment-N.log` | it begins like a log segment, or with zeros |
//!
//! A log in a directory of its own has the same files there, and none in the database's directory. An archive
//! has only segments with the id of the data file, and `segment-N.new`.
//!
//! Invariants:
//! 1. Nothing is removed from a directory with any other file, nor from one with a log whose data file
//!    is missing: the log may be all that is left of a user's rows.
//! 2. A directory that existed before is kept; one that was created here is removed with the database.
//! 3. From a log in a directory of its own, and from an archive, nothing is removed unless all segments carry
//!    the id of the data file: it may be that of another database.
//! 4. Claiming a private directory removes those next to it that ended processes have left.

use crate::file_lock::FileLock;
use crate::path::{self, delete, failed};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_contract::{Failure, FailureKind, TargetResult};

const DATA_MAGIC: [u8; 8] = *b"SYNCDAT1";
const LOG_MAGIC: [u8; 8] = *b"SYNCLOG1";

/// Where roots lie in a data file, and the database's id in a root and in a log segment.
const DATA_ROOTS_AT: [u64; 3] = [0, 8192, 16384];
const DATA_ID_AT: u64 = 40;
const LOG_ID_AT: u64 = 16;

/// The directory of the log within that of the database.
const LOG: &str = "log";

/// The directory, and whether this target has claimed or created it.
#[derive(Debug)]
pub(super) struct DatabaseDirectory {
    directory: PathBuf,
    /// The log's directory, if it is elsewhere.
    log: Option<PathBuf>,
    /// The directory of archived segments.
    archive: Option<PathBuf>,
    is_private: bool,
    claimed: AtomicBool,
    made: AtomicBool,
    /// The log's directory elsewhere did not exist before.
    log_made: AtomicBool,
    /// The archive's directory did not exist before.
    archive_made: AtomicBool,
}

impl DatabaseDirectory {
    pub(super) fn new(
        directory: PathBuf,
        (log, archive): (Option<PathBuf>, Option<PathBuf>),
        is_private: bool,
    ) -> DatabaseDirectory {
        DatabaseDirectory {
            directory,
            log,
            archive,
            log_made: AtomicBool::new(false),
            archive_made: AtomicBool::new(false),
            is_private,
            claimed: AtomicBool::new(false),
            made: AtomicBool::new(false),
        }
    }

    /// The path of the database.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The directory that exists before and after the run, on the same disk.
    pub(super) fn parent(&self) -> PathBuf {
        self.directory.parent().unwrap_or(Path::new("/")).to_owned()
    }

    /// A directory on the log's disk that exists before and after the run.
    pub(super) fn log_location(&self) -> PathBuf {
        match &self.log {
            None => self.parent(),
            Some(log) if log.is_dir() && !self.log_made.load(Ordering::SeqCst) => log.clone(),
            Some(log) => log.parent().unwrap_or(Path::new("/")).to_owned(),
        }
    }

    /// Refuses a directory that [`DatabaseDirectory::claim`] would refuse because of its files; changes
    /// nothing.
    pub(super) fn check(&self) -> TargetResult<()> {
        match fs::symlink_metadata(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            _ => {
                self.archived_files()?;
                self.refuse_lost_log(&self.own_files()?)
            }
        }
    }

    /// Creates the directory or removes our files from it; fails if it contains others.
    pub(super) fn claim(&self) -> TargetResult<()> {
        if self.is_private {
            self.sweep();
        }
        match fs::create_dir(&self.directory) {
            Ok(()) => self.made.store(true, Ordering::SeqCst),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !self.is_private => {}
            Err(error) => return Err(failed("create", &self.directory, &error)),
        }
        for (directory, made) in [(&self.log, &self.log_made), (&self.archive, &self.archive_made)]
        {
            if directory.as_ref().is_some_and(|directory| !directory.exists()) {
                made.store(true, Ordering::SeqCst);
            }
        }
        let own_files = self.own_files()?;
        let archived = self.archived_files()?;
        refuse_in_use(&self.directory, &self.log_directory())?;
        self.refuse_lost_log(&own_files)?;
        self.claimed.store(true, Ordering::SeqCst);
        archived.iter().try_for_each(|path| delete(path))?;
        own_files.remove(self.log.is_none())
    }

    /// The files in the archive; a failure if there are any of another database, or others.
    fn archived_files(&self) -> TargetResult<Vec<PathBuf>> {
        let Some(archive) = self.archive.as_ref().filter(|archive| archive.exists()) else {
            return Ok(Vec::new());
        };
        let paths = paths_in(archive)?.into_iter().map(|path| own(path, is_archived_file));
        let paths = paths.collect::<TargetResult<Vec<_>>>()?;
        self.refuse_other_segments(&paths)?;
        Ok(paths)
    }

    fn log_directory(&self) -> PathBuf {
        self.log.clone().unwrap_or_else(|| self.directory.join(LOG))
    }

    /// Removes private databases that ended processes have left. One that is in use, or contains files
    /// other files, is kept.
    fn sweep(&self) {
        for path in path::abandoned_directories(&self.directory, "engine") {
            let left = DatabaseDirectory::new(path, (None, None), false);
            if left.claim().is_ok() {
                left.made.store(true, Ordering::SeqCst);
                // If it cannot be removed, the next run tries again.
                drop(left.remove());
            }
        }
    }

    /// True if it is removed with its target.
    pub(super) fn is_private(&self) -> bool {
        self.is_private
    }

    /// True if it contains a database; opening it shows whether it is valid.
    pub(super) fn holds_database(&self) -> bool {
        self.directory.join("data").exists()
    }

    /// Keeps the database for a later opening.
    pub(super) fn release(&self) {
        self.claimed.store(false, Ordering::SeqCst);
        self.made.store(false, Ordering::SeqCst);
        self.log_made.store(false, Ordering::SeqCst);
        self.archive_made.store(false, Ordering::SeqCst);
    }

    /// Claims an existing store unchanged.
    pub(super) fn adopt(&self) {
        self.claimed.store(true, Ordering::SeqCst);
    }

    /// Removes every file of a claimed directory; without a claim, nothing.
    pub(super) fn remove(&self) -> TargetResult<()> {
        if !self.claimed.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let removes_log = self.log.is_none() || self.log_made.swap(false, Ordering::SeqCst);
        self.archived_files()?.iter().try_for_each(|path| delete(path))?;
        if let Some(archive) = &self.archive
            && self.archive_made.swap(false, Ordering::SeqCst)
            && archive.exists()
        {
            let removed = fs::remove_dir(archive);
            removed.map_err(|error| failed("remove", archive, &error))?;
        }
        self.own_files()?.remove(removes_log)?;
        if self.made.swap(false, Ordering::SeqCst) {
            let removed = fs::remove_dir(&self.directory);
            removed.map_err(|error| failed("remove", &self.directory, &error))?;
        }
        Ok(())
    }

    /// Refuses a log with records if the data file is missing and no creation was interrupted, or if it is
    /// elsewhere and belongs to another database.
    fn refuse_lost_log(&self, own_files: &OwnFiles) -> TargetResult<()> {
        let is_there = |name: &str| own_files.files.contains(&self.directory.join(name));
        let begun = |path: &&PathBuf| begins_with(path, LOG_MAGIC).unwrap_or(true);
        let in_log = |path: &&PathBuf| path.parent() == own_files.log.as_deref();
        let segment = own_files.files.iter().filter(in_log).find(begun);
        match segment {
            Some(_) if !["data", "data.new", "making"].into_iter().any(is_there) => {
                let what = format!(
                    "{} has the log of a database but no data file; restore the file named data, or \
                     empty the directory yourself",
                    self.directory.display()
                );
                Err(Failure::new(FailureKind::Storage, what))
            }
            _ if self.log.is_some() => self.refuse_other_log(own_files),
            _ => Ok(()),
        }
    }

    fn refuse_other_log(&self, own_files: &OwnFiles) -> TargetResult<()> {
        let in_log = |path: &&PathBuf| path.parent() == own_files.log.as_deref();
        self.refuse_other_segments(own_files.files.iter().filter(in_log))
    }

    /// Refuses segments with another id than the data file, or with any if its id cannot be read.
    fn refuse_other_segments<'p>(
        &self,
        files: impl IntoIterator<Item = &'p PathBuf>,
    ) -> TargetResult<()> {
        let data = self.directory.join("data");
        let unreadable = |error: &io::Error| failed("read", &data, error);
        let database = database_id(&data).map_err(|error| unreadable(&error))?;
        for path in files {
            let is_segment = begins_with(path, LOG_MAGIC).unwrap_or(true);
            let id = || bytes_at(path, LOG_ID_AT).ok();
            if is_segment && id() != database {
                let what = format!(
                    "{} belongs to another database than {}; name the right directory, or empty it \
                     yourself",
                    path.display(),
                    data.display()
                );
                return Err(Failure::new(FailureKind::Storage, what));
            }
        }
        Ok(())
    }

    /// Our files; a failure if there are any others.
    fn own_files(&self) -> TargetResult<OwnFiles> {
        let log = self.log_directory();
        let mut own_files = OwnFiles { files: Vec::new(), log: None };
        if self.log.is_some() && is_directory(&log) {
            own_files.log = Some(log.clone());
        }
        for path in paths_in(&self.directory)? {
            if path == log && is_directory(&path) {
                own_files.log = Some(path);
            } else {
                own_files.files.push(own(path, is_own_file)?);
            }
        }
        if let Some(log) = &own_files.log {
            for path in paths_in(log)? {
                own_files.files.push(own(path, is_own_log_file)?);
            }
        }
        Ok(own_files)
    }
}

/// The files of a database in its directory and its log directory.
struct OwnFiles {
    files: Vec<PathBuf>,
    /// The log's directory, to be removed after its files.
    log: Option<PathBuf>,
}

impl OwnFiles {
    /// Removes the log first, so that an interrupted removal never leaves a log without its data file.
    fn remove(&self, with_log_directory: bool) -> TargetResult<()> {
        let (in_log, others): (Vec<_>, Vec<_>) =
            self.files.iter().partition(|path| path.parent() == self.log.as_deref());
        in_log.into_iter().try_for_each(|path| delete(path))?;
        if let Some(log) = self.log.as_ref().filter(|_| with_log_directory) {
            fs::remove_dir(log).map_err(|error| failed("remove", log, &error))?;
        }
        others.into_iter().try_for_each(|path| delete(path))
    }
}

impl Drop for DatabaseDirectory {
    /// Removes a private store with its target, also after a panic.
    fn drop(&mut self) {
        if self.is_private {
            // The error has no receiver here; a caller that needs it removes the store before.
            drop(self.remove());
        }
    }
}

fn paths_in(directory: &Path) -> TargetResult<Vec<PathBuf>> {
    let unreadable = |error: &io::Error| failed("read", directory, error);
    let entries = fs::read_dir(directory).map_err(|error| unreadable(&error))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<io::Result<_>>().map_err(|error| unreadable(&error))
}

/// The path, if `is_own_file` accepts it.
fn own(path: PathBuf, is_own_file: fn(&str, &Path) -> io::Result<bool>) -> TargetResult<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str());
    let is_own_file = is_own_file(name.unwrap_or_default(), &path);
    if is_own_file.map_err(|error| failed("read", &path, &error))? {
        return Ok(path);
    }
    let what = format!(
        "{} was not made by syncline; name an unused directory, or empty it yourself",
        path.display()
    );
    Err(Failure::new(FailureKind::Storage, what))
}

fn is_own_file(name: &str, path: &Path) -> io::Result<bool> {
    match name {
        "data" => begins_with(path, DATA_MAGIC),
        "data.new" => Ok(begins_with(path, DATA_MAGIC)? || begins_with(path, [0; 8])?),
        "making" => is_empty(path),
        _ => Ok(false),
    }
}

fn is_own_log_file(name: &str, path: &Path) -> io::Result<bool> {
    if matches!(name, "lock" | "making") {
        return is_empty(path);
    }
    let number = name.strip_prefix("segment-").and_then(|rest| rest.strip_suffix(".log"));
    if number.is_none_or(|number| number.parse::<u32>().is_err()) {
        return Ok(false);
    }
    // A file whose creation was interrupted is empty or begins with zeros.
    Ok(begins_with(path, LOG_MAGIC)? || begins_with(path, [0; 8])?)
}

/// A segment of an archive, or one that was being written when the archiving was interrupted.
fn is_archived_file(name: &str, path: &Path) -> io::Result<bool> {
    match name.strip_suffix(".new") {
        Some(stem) => is_own_log_file(&format!("{stem}.log"), path),
        None => Ok(!matches!(name, "lock" | "making") && is_own_log_file(name, path)?),
    }
}

/// The database's id in a data file: that of its roots, of which one is written when the file is made.
fn database_id(data: &Path) -> io::Result<Option<[u8; 16]>> {
    for root in DATA_ROOTS_AT {
        match bytes_at(data, root) {
            Ok(magic) if magic[..8] == DATA_MAGIC => {
                return bytes_at(data, root + DATA_ID_AT).map(Some);
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn bytes_at(path: &Path, at: u64) -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
}

fn is_empty(path: &Path) -> io::Result<bool> {
    let about = fs::symlink_metadata(path)?;
    Ok(about.is_file() && about.len() == 0)
}

/// True if the file begins with these bytes, or, for zeros, is shorter and all zeros.
fn begins_with(path: &Path, bytes: [u8; 8]) -> io::Result<bool> {
    let mut first = Vec::new();
    if fs::symlink_metadata(path)?.is_file() {
        File::open(path)?.take(8).read_to_end(&mut first)?;
        return Ok(first == bytes || (bytes == [0; 8] && first.iter().all(|byte| *byte == 0)));
    }
    Ok(false)
}

/// Refuses a database that is open, in this process or another.
fn refuse_in_use(directory: &Path, log: &Path) -> TargetResult<()> {
    for path in [directory.join("data"), log.join("lock")] {
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
    fn leftovers_of_ended_processes_are_removed_unless_used_or_unmanaged() {
        let folder = tempfile::tempdir().unwrap();
        let [full, used, unmanaged] = [(); 3].map(|()| left(folder.path(), "engine", ended()));
        for path in [&full, &used, &unmanaged] {
            fs::write(path.join("data"), DATA_MAGIC).unwrap();
            fs::create_dir(path.join("log")).unwrap();
            fs::write(path.join("log/lock"), "").unwrap();
        }
        fs::write(unmanaged.join("letter"), "theirs").unwrap();
        let lock = File::open(used.join("log/lock")).unwrap();
        lock.try_lock().unwrap();
        let place = DatabaseDirectory::new(
            folder.path().join(".syncline-engine-private"),
            (None, None),
            true,
        );
        place.claim().unwrap();
        assert!(!full.exists());
        assert!(used.join("data").exists() && unmanaged.join("data").exists());
        assert!(unmanaged.join("letter").exists());
    }
}
