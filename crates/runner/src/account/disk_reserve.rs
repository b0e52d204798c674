//! The free space on a file system below a store, and what a run leaves of it.

use std::path::PathBuf;

/// A file system below a store, and what a run leaves free on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskReserve {
    /// A directory of the store on it.
    pub directory: PathBuf,
    /// The size of the file system.
    pub bytes: u64,
    /// What was free before the run.
    pub free_bytes: u64,
    /// What the run leaves free.
    pub reserve_bytes: u64,
    /// What loading is expected to write there; none if nothing is loaded.
    pub load_bytes: Option<u64>,
}
