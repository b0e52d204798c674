//! Faults that can be armed on a simulated disk, and when each of them is injected.

use super::names::normal;
use std::path::{Path, PathBuf};

/// Something that goes wrong once, or from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A read fails with an I/O error.
    ReadError,
    /// A read returns its bytes with one bit flipped; the stored bytes stay right.
    FlippedBit,
    /// A write, a preallocation or a change of length fails with an I/O error; any first part of the bytes
    /// may have been written.
    WriteError,
    /// A write or a preallocation finds the disk full; any first part may have been written.
    WriteFull,
    /// A preallocation finds the disk full; any first part may have been written.
    PreallocateFull,
    /// A sync, or the sync within a synced write, fails with an I/O error.
    SyncError(SyncFailure),
    /// A sync finds the disk full, because blocks were promised and not allocated; the pages are dropped, as
    /// in [`SyncFailure::PagesDropped`].
    SyncFull,
    /// A directory sync fails with an I/O error and makes nothing stable.
    DirectorySyncError,
}

/// The effect of a failed sync. In every case the writes that it should have covered count as clean: a later
/// sync succeeds without making them stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncFailure {
    /// The pages are dropped: reads see the old bytes, or zeros where the file has grown. Every handle of the
    /// file reports the error once.
    PagesDropped,
    /// The pages stay: reads see the new bytes until [`SimulatedDisk::evict`](super::SimulatedDisk::evict).
    /// Every handle of the file reports the error once.
    PagesKeptUntilEviction,
    /// The pages stay, and only the handle that synced reports the error.
    OneHandleOnly,
}

/// When a fault is injected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRule {
    /// What goes wrong.
    pub fault: Fault,
    /// The file, or the directory with everything below it; empty means the whole disk.
    pub under: PathBuf,
    /// How many matching operations succeed before the fault.
    pub skip: u64,
    /// Whether every matching operation fails from then on, or only one.
    pub repeat: bool,
}

impl FaultRule {
    /// Injects the fault once, at the next matching operation.
    pub fn next(fault: Fault, under: impl Into<PathBuf>) -> FaultRule {
        FaultRule { fault, under: under.into(), skip: 0, repeat: false }
    }
}

/// The kind of an operation, for matching faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    Preallocate,
    SetLen,
    Sync,
    SyncDirectory,
}

/// The armed faults.
#[derive(Debug, Default)]
pub(super) struct Faults {
    rules: Vec<FaultRule>,
    injected: u64,
}

impl Faults {
    pub(super) fn arm(&mut self, mut rule: FaultRule) {
        rule.under = normal(&rule.under).expect("a fault's path has no `..`");
        self.rules.push(rule);
    }

    pub(super) fn disarm(&mut self) {
        self.rules.clear();
    }

    pub(super) fn injected(&self) -> u64 {
        self.injected
    }

    /// The fault to inject into this operation, if any; the rule armed first has priority.
    pub(super) fn inject(&mut self, kind: Kind, path: &Path) -> Option<Fault> {
        let mut injected = None;
        self.rules.retain_mut(|rule| {
            if injected.is_some() || !rule.fault.concerns(kind) || !path.starts_with(&rule.under) {
                return true;
            }
            if rule.skip > 0 {
                rule.skip -= 1;
                return true;
            }
            injected = Some(rule.fault);
            rule.repeat
        });
        self.injected += u64::from(injected.is_some());
        injected
    }
}

impl Fault {
    fn concerns(self, kind: Kind) -> bool {
        match self {
            Fault::ReadError | Fault::FlippedBit => kind == Kind::Read,
            Fault::WriteError => matches!(kind, Kind::Write | Kind::Preallocate | Kind::SetLen),
            Fault::WriteFull => matches!(kind, Kind::Write | Kind::Preallocate),
            Fault::PreallocateFull => kind == Kind::Preallocate,
            Fault::SyncError(_) | Fault::SyncFull => kind == Kind::Sync,
            Fault::DirectorySyncError => kind == Kind::SyncDirectory,
        }
    }
}
