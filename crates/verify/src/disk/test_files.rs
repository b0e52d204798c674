//! The files in the directory under test: a managed folder with the blocks and their controls.

use super::writer::Method;
use crate::error::{Error, Result};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use syncline_vfs::{Create, Disk, File, OpenOptions};

/// The folder's name in the directory under test.
const FOLDER: &str = "syncline-vfs";
const BLOCKS: &str = "blocks";
const CONTROL: &str = "control";

/// The folder with the test files.
#[derive(Debug)]
pub(super) struct TestDirectory<D> {
    disk: D,
    directory: PathBuf,
}

/// Newly created files, locked against a second writer.
#[derive(Debug)]
pub(super) struct Files<F> {
    pub(super) blocks: F,
    pub(super) control: F,
}

impl<D: Disk> TestDirectory<D> {
    pub(super) fn in_directory(disk: &D, directory: &Path) -> TestDirectory<D> {
        TestDirectory { disk: disk.clone(), directory: directory.to_owned() }
    }

    /// Fails if a writer is running there, or if the folder holds unmanaged files.
    pub(super) fn must_be_free(&self) -> Result<()> {
        for name in self.names()? {
            if name != Path::new(BLOCKS) && name != Path::new(CONTROL) {
                let path = self.folder().join(name);
                return Err(Error::cannot(format!(
                    "{} was not made by syncline verify disk; move it away",
                    path.display()
                )));
            }
        }
        match self.disk.open(&self.blocks(), OpenOptions::READ) {
            Ok(file) => file.try_lock().map_err(|error| match error {
                syncline_vfs::Error::Locked { .. } => Error::cannot(format!(
                    "a writer is running in {}; check after it has been cut off",
                    self.folder().display()
                )),
                error => failed(error),
            }),
            Err(error) if error.kind() == Some(ErrorKind::NotFound) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    /// Removes the files of an earlier run and creates empty ones, whose names are synced.
    pub(super) fn make(&self, method: Method) -> Result<Files<D::File>> {
        for name in self.names()? {
            let path = self.folder().join(name);
            self.disk.remove(&path).map_err(failed)?;
        }
        match self.disk.create_directory(&self.folder()) {
            Err(error) if error.kind() != Some(ErrorKind::AlreadyExists) => {
                return Err(failed(error));
            }
            _ => {}
        }
        let new = OpenOptions { create: Create::New, ..OpenOptions::READ_WRITE };
        let blocks = self.disk.open(&self.blocks(), method.options(new));
        let blocks = blocks.map_err(failed)?;
        blocks.try_lock().map_err(failed)?;
        let control = self.disk.open(&self.control(), new).map_err(failed)?;
        for file in [&blocks, &control] {
            file.sync_all().map_err(failed)?;
        }
        for directory in [&self.folder(), &self.directory] {
            self.disk.sync_directory(directory).map_err(failed)?;
        }
        Ok(Files { blocks, control })
    }

    /// Opens the file of blocks and that of controls; none for a missing file.
    pub(super) fn open(&self) -> Result<[Option<D::File>; 2]> {
        let open = |path: PathBuf| match self.disk.open(&path, OpenOptions::READ) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == Some(ErrorKind::NotFound) => Ok(None),
            Err(error) => Err(failed(error)),
        };
        Ok([open(self.blocks())?, open(self.control())?])
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.directory.join(FOLDER)
    }

    fn blocks(&self) -> PathBuf {
        self.folder().join(BLOCKS)
    }

    fn control(&self) -> PathBuf {
        self.folder().join(CONTROL)
    }

    fn names(&self) -> Result<Vec<PathBuf>> {
        match self.disk.list(&self.folder()) {
            Ok(names) => Ok(names),
            Err(error) if error.kind() == Some(ErrorKind::NotFound) => Ok(Vec::new()),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Converts a disk error.
#[allow(clippy::needless_pass_by_value, reason = "map_err passes it by value")]
pub(super) fn failed(error: syncline_vfs::Error) -> Error {
    Error::cannot(error.to_string())
}
