//! Faults that strike below a running store, and when they strike.

use super::file_class::{Class, Classify};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A read fails with an I/O error.
    ReadError,
    /// A read returns its bytes with one bit of each page flipped; the stored bytes stay intact.
    FlippedBit,
    /// A write or a change of length fails with an I/O error and changes nothing.
    WriteError,
    /// A write or the creation of a file finds the disk full and changes nothing.
    DiskFull,
    /// A sync fails with an I/O error. The data that it should have covered counts as clean: no later sync
    /// covers it, and it may or may not have been written.
    SyncError,
    /// A sync succeeds after a delay.
    SlowSync(Duration),
}

impl Fault {
    /// The name in reports.
    pub fn words(self) -> &'static str {
        match self {
            Fault::ReadError => "read error (EIO)",
            Fault::FlippedBit => "bit flipped on read",
            Fault::WriteError => "write error (EIO)",
            Fault::DiskFull => "disk full (ENOSPC)",
            Fault::SyncError => "failed sync (EIO)",
            Fault::SlowSync(_) => "slow sync",
        }
    }

    fn concerns(self, call: Call) -> bool {
        match self {
            Fault::ReadError | Fault::FlippedBit => call == Call::Read,
            Fault::WriteError => matches!(call, Call::Write | Call::SetLen),
            Fault::DiskFull => matches!(call, Call::Write | Call::SetLen | Call::Create),
            Fault::SyncError | Fault::SlowSync(_) => call == Call::Sync,
        }
    }
}

/// A fault, with the calls that it strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultRule {
    /// What goes wrong.
    pub fault: Fault,
    /// The class of files that it strikes; none means all.
    pub class: Option<Class>,
    /// Number of matching calls that succeed before it strikes.
    pub skip: u64,
    /// How many times it strikes.
    pub times: u64,
}

/// The kind of a call, for matching faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Read,
    Write,
    SetLen,
    Create,
    Sync,
}

/// How often each fault has struck, by class.
pub type InjectedFault = BTreeMap<(Class, &'static str), u64>;

/// The armed faults.
#[derive(Debug)]
pub(super) struct Faults {
    rules: Vec<FaultRule>,
    classify: Classify,
    counts: InjectedFault,
}

impl Faults {
    pub(super) fn new(classify: Classify) -> Faults {
        Faults { rules: Vec::new(), classify, counts: InjectedFault::new() }
    }

    pub(super) fn arm(&mut self, rule: FaultRule) {
        self.rules.push(rule);
    }

    /// The class of a path.
    pub(super) fn class(&self, path: &Path) -> Class {
        (self.classify)(path)
    }

    pub(super) fn disarm(&mut self) {
        self.rules.clear();
    }

    pub(super) fn fault_counts(&self) -> &InjectedFault {
        &self.counts
    }

    /// The fault that strikes this call, if any; the rule that was armed first is tried first.
    pub(super) fn strike(&mut self, call: Call, path: &Path) -> Option<Fault> {
        if self.rules.is_empty() {
            return None;
        }
        let class = (self.classify)(path);
        let concerned = |rule: &&mut FaultRule| {
            rule.times > 0
                && rule.fault.concerns(call)
                && rule.class.is_none_or(|wanted| wanted == class)
        };
        let rule = self.rules.iter_mut().find(concerned)?;
        if rule.skip > 0 {
            rule.skip -= 1;
            return None;
        }
        rule.times -= 1;
        *self.counts.entry((class, rule.fault.words())).or_default() += 1;
        Some(rule.fault)
    }
}
