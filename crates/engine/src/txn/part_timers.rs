//! Which module a transaction is in, at the doors of its parts; and how long the parts take.
//!
//! Times are measured in one of 64 transactions of each session: reading the clock twice would cost as
//! much as reading a row.

use crate::distribution::{Distribution, SharedDistribution};
use syncline_instrument::tag::{self, TagGuard};
use syncline_instrument::{Module, Nanos, clock};

/// One in so many transactions is timed, for [`Latencies`].
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

/// What the parts of a sample of transactions took, in nanoseconds. What the flush takes stands in the
/// log's own figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// One row read by its key, from the leaf or an older version.
    pub read_ns: Distribution,
    /// A scan, from its first leaf to its last row.
    pub scan_ns: Distribution,
    /// A write, as the transaction keeps it to itself.
    pub write_ns: Distribution,
    /// Locking all rows of a commit: here conflicts with other writers show.
    pub lock_ns: Distribution,
    /// Taking the commit sequence number.
    pub timestamp_ns: Distribution,
    /// Validating all that was read: here conflicts with other writers' commits are resolved.
    pub validate_ns: Distribution,
    /// Changing all rows and unlocking them.
    pub apply_ns: Distribution,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct PartTimers([SharedDistribution; 7]);

/// A part that is under way. It ends when this drops.
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
            // The log numbers commits.
            Part::Timestamp => Module::Logging,
            Part::Write | Part::Validate | Part::Apply => Module::TransactionControl,
        }
    }
}

impl PartTimers {
    /// A part begins on this thread: its module is entered, and its time measured if that is wanted.
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
