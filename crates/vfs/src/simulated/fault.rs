//! Faults that a simulated disk shows when they are armed, and when each of them strikes.

use super::names::normal;
use std::path::{Path, PathBuf};

/// Something that goes wrong once, or from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A read fails with an I/O error.
    ReadError,
    /// A read returns its bytes with one bit flipped; what is stored stays right.
    FlippedBit,
    /// A write, a preallocation or a change of length fails with an I/O error; of the bytes any first
    /// part may have been written.
    WriteError,
    /// A write or a preallocation finds the disk full; any first part may have been written.
    WriteFull,
    /// A preallocation finds the disk full; any first part may have been written.
    PreallocateFull,
    /// A sync, or the sync within a synced write, fails with an I/O error.
    SyncError(SyncFailure),
    /// A sync finds the disk full, because blocks were promised and not allocated; the pages are
    /// dropped, as in [`SyncFailure::PagesDropped`].
    SyncFull,
    /// A directory sync fails with an I/O error and makes nothing stable.
    DirectorySyncError,
}

/// What a failed sync leaves behind. In every case the writes that it should have covered count as
/// clean: a later sync succeeds without making them stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncFailure {
    /// The pages are dropped: reads see the old bytes, or zeros where the file has grown. Every handle
    /// of the file is told once.
    PagesDropped,
    /// The pages stay: reads see the new bytes until
    /// [`SimulatedDisk::evict`](super::SimulatedDisk::evict). Every handle of the file is told once.
    PagesKeptUntilEviction,
    /// The pages stay, and only the handle that synced is told.
    OneHandleOnly,
}

/// When a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRule {
    /// What goes wrong.
    pub fault: Fault,
    /// The file, or the directory with all that is below it; empty means the whole disk.
    pub under: PathBuf,
    /// How many matching operations pass before it strikes.
    pub skip: u64,
    /// Whether it strikes at every matching operation from then on, or once.
    pub repeat: bool,
}

impl FaultRule {
    /// The fault strikes once, at the next operation that matches.
    pub fn next(fault: Fault, under: impl Into<PathBuf>) -> FaultRule {
        FaultRule { fault, under: under.into(), skip: 0, repeat: false }
    }
}

/// What an operation is, to a fault.
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
    struck: u64,
}

impl Faults {
    pub(super) fn arm(&mut self, mut rule: FaultRule) {
        rule.under = normal(&rule.under).expect("a fault's path has no `..`");
        self.rules.push(rule);
    }

    pub(super) fn disarm(&mut self) {
        self.rules.clear();
    }

    pub(super) fn struck(&self) -> u64 {
        self.struck
    }

    /// The fault that strikes this operation, if one does; the rule armed first goes first.
    pub(super) fn strike(&mut self, kind: Kind, path: &Path) -> Option<Fault> {
        let mut struck = None;
        self.rules.retain_mut(|rule| {
            if struck.is_some() || !rule.fault.concerns(kind) || !path.starts_with(&rule.under) {
                return true;
            }
            if rule.skip > 0 {
                rule.skip -= 1;
                return true;
            }
            struck = Some(rule.fault);
            rule.repeat
        });
        self.struck += u64::from(struck.is_some());
        struck
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
