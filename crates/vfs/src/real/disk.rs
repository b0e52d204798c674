//! The operating system's file systems as a disk.
//!
//! Paths are used as the operating system interprets them: relative ones begin at the working directory.
//! Names in [`Disk::list`] do not include the directory.

use super::file::RealFile;
use crate::{Disk, Error, OpenOptions, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The operating system's file systems. It has no state; every copy is the same disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    type File = RealFile;

    fn open(&self, path: &Path, options: OpenOptions) -> Result<RealFile> {
        RealFile::open(path, options)
    }

    fn create_directory(&self, path: &Path) -> Result<()> {
        fs::create_dir(path).map_err(|error| Error::io("create directory", path, error))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).map_err(|error| Error::io("remove", path, error))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let failed = |error| Error::io(format!("rename to {} of", to.display()), from, error);
        fs::rename(from, to).map_err(failed)
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        let failed = |error| Error::io("list", directory, error);
        let mut names = Vec::new();
        for entry in fs::read_dir(directory).map_err(failed)? {
            names.push(PathBuf::from(entry.map_err(failed)?.file_name()));
        }
        names.sort();
        Ok(names)
    }

    fn sync_directory(&self, directory: &Path) -> Result<()> {
        let failed = |error| Error::io("sync directory", directory, error);
        let handle = fs::File::open(directory).map_err(failed)?;
        if !handle.metadata().map_err(failed)?.is_dir() {
            return Err(failed(std::io::ErrorKind::NotADirectory.into()));
        }
        rustix::io::retry_on_intr(|| rustix::fs::fsync(&handle))
            .map_err(|error| failed(error.into()))
    }
}
