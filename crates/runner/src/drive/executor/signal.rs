//! How far a run has come, as every worker sees it.

use std::sync::atomic::{AtomicU8, Ordering};

/// What workers and clients shall do. Only ever goes forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Go on.
    Running,
    /// Start no transaction; sleepers wake at once. Transactions under way may end.
    Ending,
    /// Leave, dropping what is under way.
    Abort,
}

/// The phase, shared. Setting it wakes nobody: unpark the workers' threads after.
#[derive(Debug, Default)]
pub(crate) struct Signal(AtomicU8);

impl Signal {
    /// The phase now.
    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        match self.0.load(Ordering::Acquire) {
            0 => Phase::Running,
            1 => Phase::Ending,
            _ => Phase::Abort,
        }
    }

    /// Goes forward to a phase; never back.
    pub(crate) fn advance(&self, phase: Phase) {
        self.0.fetch_max(phase as u8, Ordering::AcqRel);
    }
}
