//! The phase of a run, as every worker sees it.

use std::sync::atomic::{AtomicU8, Ordering};

/// The phase that workers and clients obey. It only advances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Continue.
    Running,
    /// Start no transaction; sleepers wake at once. Transactions under way may end.
    Ending,
    /// Leave and drop the transactions under way.
    Abort,
}

/// The shared phase. Setting it wakes no thread: unpark the workers' threads afterwards.
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

    /// Advances to a phase; ignores an earlier phase.
    pub(crate) fn advance(&self, phase: Phase) {
        self.0.fetch_max(phase as u8, Ordering::AcqRel);
    }
}
