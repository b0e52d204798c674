//! Paths of stores: the path of a URL, or a private one in the current directory.

use crate::error::Error;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use syncline_contract::{Failure, FailureKind, TargetResult};
use syncline_launcher::private_path;

/// The path after a URL's colon; `///data/x.db`, as other programs write an absolute path, means
/// `/data/x.db`.
pub(crate) fn plain(path: &str) -> &str {
    let absolute = path.strip_prefix("//").filter(|rest| rest.starts_with('/'));
    absolute.filter(|rest| !rest.starts_with("//")).unwrap_or(path)
}

/// An absolute path, independent of the current directory.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    Ok(syncline_launcher::absolute(path)?)
}

/// A path in the current directory that is unique among stores and processes:
/// `.syncline-<store>-<pid>-<n>`.
pub(crate) fn private(store: &str) -> Result<PathBuf, Error> {
    Ok(private_path(Path::new("."), store)?)
}

/// Private directories of a store next to that path whose processes have ended: a signal ended them
/// before they could remove them (SIGXFSZ, SIGXCPU, SIGKILL). Only directories of this user are
/// returned; whether a process in another container uses one is checked by its lock.
pub(crate) fn abandoned_directories(path: &Path, store: &str) -> Vec<PathBuf> {
    let prefix = format!(".syncline-{store}-");
    let own = rustix::process::geteuid().as_raw();
    let is_left = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let numbers = name.strip_prefix(&prefix).and_then(|rest| rest.split_once('-'));
        let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_gone = numbers.is_some_and(|(process, count)| {
            plain(process) && plain(count) && !Path::new("/proc").join(process).exists()
        });
        let found = fs::symlink_metadata(path);
        is_gone && found.is_ok_and(|found| found.is_dir() && found.uid() == own)
    };
    let folder = path.parent().unwrap_or(Path::new("/"));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(is_left).collect()
}

/// Removes a file, if it exists.
pub(crate) fn delete(path: &Path) -> TargetResult<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed("remove", path, &error))
        }
        _ => Ok(()),
    }
}

/// A failure for an operation on a file or a directory.
pub(crate) fn failed(doing: &str, path: &Path, error: &io::Error) -> Failure {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FailureKind::DiskFull,
        _ => FailureKind::Storage,
    };
    Failure::new(kind, format!("cannot {doing} {}: {error}", path.display()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::abandoned_directories;
    use std::fs;
    use std::path::{Path, PathBuf};

    /// The id of a process that has ended.
    pub(crate) fn ended() -> u32 {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let number = child.id();
        child.wait().unwrap();
        number
    }

    /// A directory that a process has left.
    pub(crate) fn left(folder: &Path, store: &str, process: u32) -> PathBuf {
        let path = folder.join(format!(".syncline-{store}-{process}-0"));
        fs::create_dir(&path).unwrap();
        path
    }

    // A.F1
    #[test]
    fn only_own_directories_of_ended_processes_are_abandoned() {
        let folder = tempfile::tempdir().unwrap();
        let gone = left(folder.path(), "lmdb", ended());
        left(folder.path(), "lmdb", std::process::id());
        left(folder.path(), "redb", ended());
        for name in [".syncline-lmdb-x-0", ".syncline-lmdb-1", ".syncline-lmdb-99999999-", "other"]
        {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join(".syncline-lmdb-99999998-0"), "a file").unwrap();
        let link = folder.path().join(".syncline-lmdb-99999997-0");
        std::os::unix::fs::symlink(&gone, link).unwrap();
        assert_eq!(abandoned_directories(&folder.path().join("new"), "lmdb"), [gone]);
    }
}
