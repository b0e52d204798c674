//! Creates a database.
//!
//! Creation makes the directory, a file `making` and syncs its name, the data file and the log, syncs their
//! names, and removes `making`: seven syncs. If it is interrupted, nothing next to `making` holds a commit,
//! and the next creation starts anew. A log in another directory is recognized by the database id in the data
//! file, whose name is stable before such a log is made.

use crate::checkpoint::DataFile;
use crate::database::engine::Engine;
use crate::database::open::{Parts, file_options, list, log_directory, txn_options};
use crate::directory;
use crate::error::{Error, Result};
use crate::ids::{Csn, DatabaseId};
use crate::log::{Guard, Log, Threads, unmake};
use crate::options::Options;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syncline_vfs::{Disk, OpenOptions};

/// The data file in a database's directory.
pub(super) const DATA: &str = "data";

/// The directory of the log there.
pub(super) const LOG: &str = "log";

/// The file that says that the database is being made.
pub(super) const MAKING: &str = "making";

/// Makes a database in a directory that is missing, empty, or holds an interrupted creation.
pub(crate) fn create<D: Disk>(
    disk: &D,
    directory: &Path,
    options: Options,
    threads: Threads,
) -> Result<Arc<Engine<D>>> {
    options.check()?;
    begin(disk, directory, &options)?;
    let database = DatabaseId::random();
    let file_options = file_options(&options);
    let data = directory.join(DATA);
    let file = DataFile::create(disk, &data, database, options.page_bytes, &file_options)?;
    let guard = if options.log_directory.is_some() {
        disk.sync_directory(directory)?;
        Guard::Own
    } else {
        Guard::Database
    };
    let mut parts = Parts::new(&options);
    parts.find_pages(&file, options.resident_bytes_max)?;
    let threads = (guard, Csn::ZERO, parts.log_threads(threads));
    let (log_directory, log_options) = (log_directory(directory, &options), options.log.clone());
    let log = Log::create_guarded(disk, &log_directory, database, log_options, threads)?;
    end(disk, directory)?;
    parts.create_catalog_tree()?;
    let txn_options = txn_options(&options);
    parts.assemble(log, Some(file), (options, txn_options), directory)
}

/// A directory in which a database is being made. Dropping it removes what was made, except the mark: what
/// cannot be removed then is removed by the next creation there.
pub(super) struct Unfinished<D: Disk> {
    disk: D,
    directory: PathBuf,
    is_complete: bool,
}

impl<D: Disk> Unfinished<D> {
    pub(super) fn begin(disk: &D, directory: &Path, options: &Options) -> Result<Unfinished<D>> {
        begin(disk, directory, options)?;
        Ok(Unfinished { disk: disk.clone(), directory: directory.to_owned(), is_complete: false })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes the data file.
    pub(super) fn create_data(
        &self,
        database: DatabaseId,
        page_bytes: u32,
        options: &Options,
    ) -> Result<DataFile<D>> {
        let data = self.directory.join(DATA);
        DataFile::create(&self.disk, &data, database, page_bytes, &file_options(options))
    }

    /// Removes the log.
    pub(super) fn clear_log(&self) -> Result<()> {
        clear_log(&self.disk, &self.directory)
    }

    /// Completes the database.
    pub(super) fn end(mut self) -> Result<()> {
        end(&self.disk, &self.directory)?;
        self.is_complete = true;
        Ok(())
    }
}

impl<D: Disk> Drop for Unfinished<D> {
    fn drop(&mut self) {
        if !self.is_complete {
            let _left = abandon(&self.disk, &self.directory).is_err();
        }
    }
}

/// Marks a directory as that of a database which is being made, after an interrupted creation is removed.
fn begin<D: Disk>(disk: &D, directory: &Path, options: &Options) -> Result<()> {
    let names = directory::made(disk, directory)?;
    if names.contains(&MAKING.into()) {
        // The sync of its name may have failed, or never have begun.
        disk.sync_directory(directory)?;
        if options.log_directory.is_some() && names.contains(&DATA.into()) {
            let log_directory = log_directory(directory, options);
            clear_elsewhere(disk, directory, &log_directory, options)?;
        }
        clear(disk, directory, &names)
    } else if names.is_empty() {
        mark(disk, directory)
    } else {
        Err(Error::Exists { directory: directory.to_owned() })
    }
}

fn mark<D: Disk>(disk: &D, directory: &Path) -> Result<()> {
    drop(disk.open(&directory.join(MAKING), OpenOptions::READ_WRITE)?);
    Ok(disk.sync_directory(directory)?)
}

/// Makes the names in the directory stable, then removes the mark: the database is complete.
fn end<D: Disk>(disk: &D, directory: &Path) -> Result<()> {
    disk.sync_directory(directory)?;
    disk.remove(&directory.join(MAKING))?;
    Ok(disk.sync_directory(directory)?)
}

/// Removes what was made since the beginning. The mark stays, so that the next creation begins anew; it is
/// made again if the end has removed it and failed then.
fn abandon<D: Disk>(disk: &D, directory: &Path) -> Result<()> {
    mark(disk, directory)?;
    clear(disk, directory, &list(disk, directory)?.unwrap_or_default())
}

/// Removes a log in another directory that an interrupted creation made. The log of another database stays.
fn clear_elsewhere<D: Disk>(
    disk: &D,
    directory: &Path,
    log_directory: &Path,
    options: &Options,
) -> Result<()> {
    match DataFile::open(disk, &directory.join(DATA), &file_options(options)) {
        Ok(file) => unmake(disk, log_directory, file.root().database),
        Err(error @ Error::Disk(_)) => Err(error),
        // An unreadable data file was never stable, and no log is made before it is.
        Err(_) => Ok(()),
    }
}

/// Removes what an interrupted creation left in the database's own directory, except the file `making`.
fn clear<D: Disk>(disk: &D, directory: &Path, names: &[PathBuf]) -> Result<()> {
    for name in names {
        if name.to_string_lossy().starts_with(DATA) {
            disk.remove(&directory.join(name))?;
        }
    }
    clear_log(disk, directory)
}

fn clear_log<D: Disk>(disk: &D, directory: &Path) -> Result<()> {
    let log = directory.join(LOG);
    for name in list(disk, &log)?.unwrap_or_default() {
        disk.remove(&log.join(name))?;
    }
    Ok(())
}
