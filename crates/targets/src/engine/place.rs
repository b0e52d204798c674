//! The directory of a store: refused if it holds what is not ours, emptied, removed.
//!
//! Ours are a log's lock file, its segment files, and the mark of a log being made. Invariants:
//! 1. Nothing is removed from a directory that holds any other name, or a segment file that does not
//!    begin as a log's does.
//! 2. A directory that was there before stays; one that was made here goes with the store.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_contract::{Failure, FailureKind, TargetResult};

const MAGIC: &[u8; 8] = b"SYNCLOG1";

/// See the module.
#[derive(Debug)]
pub(super) struct Place {
    directory: PathBuf,
    is_private: bool,
    claimed: AtomicBool,
    made: AtomicBool,
}

impl Place {
    pub(super) fn new(directory: PathBuf, is_private: bool) -> Place {
        Place {
            directory,
            is_private,
            claimed: AtomicBool::new(false),
            made: AtomicBool::new(false),
        }
    }

    /// Where the log stands.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The directory that stands before and after the run, on the same disk.
    pub(super) fn parent(&self) -> PathBuf {
        self.directory.parent().unwrap_or(Path::new("/")).to_owned()
    }

    /// Makes the directory empty of our own files, or says why not.
    pub(super) fn claim(&self) -> TargetResult<()> {
        match fs::create_dir(&self.directory) {
            Ok(()) => self.made.store(true, Ordering::SeqCst),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !self.is_private => {}
            Err(error) => return Err(failed("make", &self.directory, &error)),
        }
        let ours = self.ours()?;
        refuse_in_use(&self.directory)?;
        self.claimed.store(true, Ordering::SeqCst);
        ours.iter().try_for_each(|path| delete(path))
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
        self.ours()?.iter().try_for_each(|path| delete(path))?;
        if self.made.swap(false, Ordering::SeqCst) {
            let removed = fs::remove_dir(&self.directory);
            removed.map_err(|error| failed("remove", &self.directory, &error))?;
        }
        Ok(())
    }

    /// Our files; a failure if there is any other.
    fn ours(&self) -> TargetResult<Vec<PathBuf>> {
        let looked = |error: &io::Error| failed("look at", &self.directory, error);
        let mut ours = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(|error| looked(&error))? {
            let path = entry.map_err(|error| looked(&error))?.path();
            if !is_ours(&path).map_err(|error| failed("read", &path, &error))? {
                let what = format!(
                    "{} was not made by syncline; name a directory that is free, or empty it yourself",
                    path.display()
                );
                return Err(Failure::new(FailureKind::Storage, what));
            }
            ours.push(path);
        }
        Ok(ours)
    }
}

impl Drop for Place {
    /// A private store goes with its target, also when a panic is what ends it.
    fn drop(&mut self) {
        if self.is_private {
            // There is nobody left to tell; whoever wants to know removes it before.
            drop(self.remove());
        }
    }
}

fn is_ours(path: &Path) -> io::Result<bool> {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    if matches!(name, "lock" | "making") {
        return Ok(fs::symlink_metadata(path)?.len() == 0);
    }
    let number = name
        .strip_prefix("segment-")
        .and_then(|rest| rest.strip_suffix(".log"));
    if number.is_none_or(|number| number.parse::<u32>().is_err()) {
        return Ok(false);
    }
    let mut first = Vec::new();
    File::open(path)?
        .take(MAGIC.len() as u64)
        .read_to_end(&mut first)?;
    // A file whose making was interrupted is empty or begins with zeros.
    Ok(first == MAGIC || first.iter().all(|&byte| byte == 0))
}

fn refuse_in_use(directory: &Path) -> TargetResult<()> {
    let path = directory.join("lock");
    match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed("open", &path, &error)),
        Ok(file) => file.try_lock().map_err(|why| {
            let what = format!("{} is in use by another run: {why}", directory.display());
            Failure::new(FailureKind::Storage, what)
        }),
    }
}

fn delete(path: &Path) -> TargetResult<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed("remove", path, &error))
        }
        _ => Ok(()),
    }
}

fn failed(doing: &str, path: &Path, error: &io::Error) -> Failure {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FailureKind::DiskFull,
        _ => FailureKind::Storage,
    };
    Failure::new(kind, format!("cannot {doing} {}: {error}", path.display()))
}
