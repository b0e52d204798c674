//! The durable LSN: how far the log is stable, and whether it still works. One value for all threads.
//!
//! Invariants:
//! 1. The durable LSN never decreases, and commits at or below it stay committed even after a failure.
//! 2. A log that has failed stays failed; its first reason is kept.

use crate::error::Error;
use crate::ids::Csn;
use crate::planted_bug::{PlantedBug, planted};
use crate::sync::OnceLock;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// The durable LSN of a log, and the reason if the log has failed.
#[derive(Debug)]
pub(super) struct DurableLsn {
    stable: AtomicU64,
    failure: OnceLock<Arc<str>>,
}

impl DurableLsn {
    pub(super) fn new(stable: Csn) -> DurableLsn {
        DurableLsn { stable: AtomicU64::new(stable.0), failure: OnceLock::new() }
    }

    /// The last commit of the contiguous stable prefix.
    #[inline]
    pub(super) fn get(&self) -> Csn {
        let stable = self.stable.load(Ordering::SeqCst);
        Csn(stable + u64::from(planted(PlantedBug::GroupOffByOne)))
    }

    /// Advances it; returns the previous value.
    pub(super) fn advance(&self, to: Csn) -> Csn {
        Csn(self.stable.fetch_max(to.0, Ordering::SeqCst))
    }

    /// Closes the log for good.
    pub(super) fn fail(&self, because: Arc<str>) {
        // The first reason is kept: later failures follow from it.
        self.failure.get_or_init(|| because);
    }

    /// Why the log has failed, if it has.
    #[inline]
    pub(super) fn failure(&self) -> Option<&Arc<str>> {
        self.failure.get()
    }

    /// The outcome of a commit, if it has one: acknowledged, or indeterminate.
    #[inline]
    pub(super) fn outcome(&self, csn: Csn) -> Option<Result<(), Error>> {
        if self.get() >= csn {
            return Some(Ok(()));
        }
        let because = Arc::clone(self.failure()?);
        // The durable LSN may have passed between the two checks.
        if self.get() >= csn {
            return Some(Ok(()));
        }
        Some(Err(Error::Indeterminate { csn, because }))
    }
}
