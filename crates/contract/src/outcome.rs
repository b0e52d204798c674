//! How a transaction ends if it does not commit: outcomes are data, failures are one sentence.

use crate::operation::OperationId;
use std::fmt;

/// Why a transaction stopped before its commit was acknowledged.
///
/// The tag is a whole word. Every answer on the hot path is a result with this error: with a tag of one byte,
/// a move copied the rest of the word in pieces that were never written as such, and each move stalled on
/// store forwarding.
#[derive(Debug)]
#[repr(u64)]
pub enum Stop {
    /// The workload's own rule aborted it (TPC-C's 1 %): expected, not an error.
    Abort,
    /// Another transaction conflicted; nothing of this one remains, and it may be retried.
    Conflict(Cause),
    /// It failed; nothing of it remains.
    Failed(Box<Failure>),
    /// It failed, and whether it committed is unknown: counted as unfinished.
    Unknown(Box<Failure>),
}

/// The cause of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The store gave up waiting for a lock, or refused to wait (`SQLITE_BUSY`, lock timeout).
    Locked,
    /// The store broke a cycle of waits.
    Deadlock,
    /// The store found no serial order, or a newer version of a row (serialization failure).
    Serialization,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Cause; 3] = [Cause::Locked, Cause::Deadlock, Cause::Serialization];

    /// The stable name in records.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Locked => "locked",
            Cause::Deadlock => "deadlock",
            Cause::Serialization => "serialization",
        }
    }
}

/// What failed, which determines whether the run can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureKind {
    /// The connection was lost; a new one may work.
    Connection,
    /// No space is left where the store writes. Stops the run.
    DiskFull,
    /// The store could not read or write, or has shut down. Stops the run.
    Storage,
    /// The store refused a statement, or returned something that the plan rules out: wrong row count, wrong
    /// kind. Stops the run, because the figures would measure something else.
    Statement,
    /// A limit of the store: too many connections, transaction too large. Stops the run.
    Limit,
}

impl FailureKind {
    /// Every kind.
    pub const ALL: [FailureKind; 5] = [
        FailureKind::Connection,
        FailureKind::DiskFull,
        FailureKind::Storage,
        FailureKind::Statement,
        FailureKind::Limit,
    ];

    /// The stable name in records.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Connection => "connection",
            FailureKind::DiskFull => "disk_full",
            FailureKind::Storage => "storage",
            FailureKind::Statement => "statement",
            FailureKind::Limit => "limit",
        }
    }

    /// True if the run must end, because later transactions would fail too or measure something else.
    pub fn stops_run(self) -> bool {
        self != FailureKind::Connection
    }
}

/// A failure: its kind, its operation, and the sentence for the user.
#[derive(Debug)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// The operation, if one was in progress.
    pub operation: Option<OperationId>,
    /// One clear sentence without a final period.
    pub what: String,
}

impl Failure {
    /// A failure that belongs to no operation.
    pub fn new(kind: FailureKind, what: impl Into<String>) -> Failure {
        Failure { kind, operation: None, what: what.into() }
    }

    /// The same failure in an operation.
    #[must_use]
    pub fn in_operation(mut self, operation: OperationId) -> Failure {
        self.operation = Some(operation);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Failure {}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failed(Box::new(failure))
    }
}

/// How a transaction ended, as reported to its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Acknowledged as committed.
    Committed,
    /// Nothing of it remains: aborted, conflicted or failed.
    Undone,
    /// Unknown: the run ended first, or the store could not determine it.
    Unknown,
}
