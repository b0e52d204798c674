//! Tags the module that a transaction is in, part by part, and measures how long the parts take.
//!
//! One in 64 transactions of each session is measured: reading the clock twice would cost as much as reading
//! a row.

use crate::distribution::{Distribution, SharedDistribution};
use syncline_instrument::tag::{self, TagGuard};
use syncline_instrument::{Module, Nanos, clock};

/// One in this many transactions is timed, for [`Latencies`].
pub const SAMPLED_ONE_IN: u32 = 64;

/// A part of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Read,
    Scan,
    Write,
    Lock,
    Timestamp,
    Validate,
    Apply,
}

/// Durations of the parts of sampled transactions, in nanoseconds. The log's own statistics have the flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// One row read by its key, from the leaf or an older version.
    pub read_ns: Distribution,
    /// A scan, from its first leaf to its last row.
    pub scan_ns: Distribution,
    /// A write into the transaction's private write set.
    pub write_ns: Distribution,
    /// Locking all rows of a commit, including waits for other writers' locks.
    pub lock_ns: Distribution,
    /// Taking the commit sequence number.
    pub timestamp_ns: Distribution,
    /// Validating all reads, which detects conflicts with commits of other writers.
    pub validate_ns: Distribution,
    /// Changing all rows and unlocking them.
    pub apply_ns: Distribution,
}

/// One distribution for each part.
#[derive(Debug, Default)]
pub(super) struct PartTimers([SharedDistribution; 7]);

/// A part under way. Dropping it ends the part.
pub(super) struct PartScope<'w> {
    time: &'w SharedDistribution,
    started: Option<Nanos>,
    _module: TagGuard,
}

impl Part {
    /// The module that the part is charged to.
    fn module(self) -> Module {
        match self {
            Part::Read | Part::Scan => Module::Access,
            Part::Lock => Module::LockManager,
            // The log assigns commit numbers.
            Part::Timestamp => Module::Logging,
            Part::Write | Part::Validate | Part::Apply => Module::TransactionControl,
        }
    }
}

impl PartTimers {
    /// Begins a part on this thread: enters its module, and starts its clock if the transaction is measured.
    #[inline]
    pub(super) fn enter(&self, part: Part, is_measured: bool) -> PartScope<'_> {
        PartScope {
            time: &self.0[part as usize],
            _module: tag::enter(part.module()),
            started: is_measured.then(clock::now),
        }
    }

    pub(super) fn get(&self) -> Latencies {
        let of = |part: Part| self.0[part as usize].get();
        Latencies {
            read_ns: of(Part::Read),
            scan_ns: of(Part::Scan),
            write_ns: of(Part::Write),
            lock_ns: of(Part::Lock),
            timestamp_ns: of(Part::Timestamp),
            validate_ns: of(Part::Validate),
            apply_ns: of(Part::Apply),
        }
    }
}

impl Drop for PartScope<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(started) = self.started {
            self.time.add(clock::now().saturating_sub(started));
        }
    }
}
