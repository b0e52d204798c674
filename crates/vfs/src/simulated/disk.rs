//! The handle of a simulated disk for tests.

use super::crash::Crash;
use super::fault::FaultRule;
use super::file::SimulatedFile;
use super::names::{Metadata, normal};
use super::state::State;
use crate::{Disk, Error, OpenOptions, Result};
use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A disk in memory. Every copy is the same disk; [`SimulatedDisk::crash`] makes another one.
#[derive(Clone)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

impl SimulatedDisk {
    /// An empty disk; the seed decides where faults flip bits and end partial writes.
    pub fn new(seed: u64, metadata: Metadata) -> SimulatedDisk {
        SimulatedDisk::of(State::new(seed, metadata))
    }

    /// The disk as a crash could leave it now: another disk, with power, without locks, faults or pending
    /// changes, its operations counted from zero. This disk continues unchanged.
    #[must_use]
    pub fn crash(&self, how: Crash) -> SimulatedDisk {
        SimulatedDisk::of(self.state().crash(how))
    }

    /// How many changes a crash could lose or keep now.
    pub fn pending(&self) -> usize {
        self.state().pending().len()
    }

    /// The number of operations so far that change something or sync: opens that create, writes,
    /// preallocations, changes of length, syncs, and all operations on names except listing them.
    pub fn operations(&self) -> u64 {
        self.state().power.operations()
    }

    /// Lets `operations` more of those succeed. During the next one the power fails: that operation fails,
    /// its change is pending (it may or may not have reached the disk), and all later ones fail without any
    /// effect. On a fresh disk, `operations` from zero up covers every power loss of a run.
    pub fn crash_after(&self, operations: u64) {
        self.state().power.off_after(operations);
    }

    /// Arms a fault.
    pub fn arm(&self, rule: FaultRule) {
        self.state().faults.arm(rule);
    }

    /// Disarms all faults.
    pub fn disarm(&self) {
        self.state().faults.disarm();
    }

    /// How many faults were injected: a test of faults that injected none has tested nothing.
    pub fn faults_injected(&self) -> u64 {
        self.state().faults.injected()
    }

    /// Clean pages leave the cache of every file: see
    /// [`SyncFailure::PagesKeptUntilEviction`](super::SyncFailure::PagesKeptUntilEviction).
    pub fn evict(&self) {
        self.state().evict();
    }

    fn of(state: State) -> SimulatedDisk {
        SimulatedDisk { state: Arc::new(Mutex::new(state)) }
    }

    /// The state. A panic of another thread does not corrupt it: tests continue and report.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl fmt::Debug for SimulatedDisk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        formatter
            .debug_struct("SimulatedDisk")
            .field("seed", &state.seed)
            .field("operations", &state.power.operations())
            .field("pending", &state.pending().len())
            .finish_non_exhaustive()
    }
}

impl Disk for SimulatedDisk {
    type File = SimulatedFile;

    fn open(&self, path: &Path, options: OpenOptions) -> Result<SimulatedFile> {
        let handle = normal(path).and_then(|normal| self.state().open(&normal, options));
        let handle = handle.map_err(|error| Error::io("open", path, error))?;
        Ok(SimulatedFile::new(self.clone(), handle, path))
    }

    fn create_directory(&self, path: &Path) -> Result<()> {
        let made = normal(path).and_then(|path| self.state().create_directory(&path));
        made.map_err(|error| Error::io("create directory", path, error))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let removed = normal(path).and_then(|path| self.state().remove(&path));
        removed.map_err(|error| Error::io("remove", path, error))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let rename = || -> io::Result<()> { self.state().rename(&normal(from)?, &normal(to)?) };
        rename().map_err(|error| Error::io(format!("rename to {} of", to.display()), from, error))
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>> {
        let names = normal(directory).and_then(|directory| self.state().list(&directory));
        names.map_err(|error| Error::io("list", directory, error))
    }

    fn sync_directory(&self, directory: &Path) -> Result<()> {
        let synced = normal(directory).and_then(|path| self.state().sync_directory(&path));
        synced.map_err(|error| Error::io("sync directory", directory, error))
    }
}
