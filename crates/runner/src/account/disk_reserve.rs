//! The free space on a file system of a store, and the reserve that a run leaves free.

use std::path::PathBuf;

/// A file system that a store writes to, and the space that a run leaves free on it. The run polls the file
/// system through `directory`; the record's `DiskSpace` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskReserve {
    /// A directory of the store on this file system.
    pub directory: PathBuf,
    /// The size of the file system.
    pub bytes: u64,
    /// Free space before the run.
    pub free_bytes: u64,
    /// Space that the run leaves free.
    pub reserve_bytes: u64,
    /// Estimate of what loading writes there; `None` if nothing is loaded.
    pub load_bytes: Option<u64>,
}
