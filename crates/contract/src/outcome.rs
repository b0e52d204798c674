//! How a transaction ends when it does not commit: outcomes are data, failures are one sentence.

use crate::operation::OperationId;
use std::fmt;

/// Why a transaction stopped before its commit was acknowledged.
///
/// Its tag is a whole word. Every answer on the hot path is a result with this error: with a tag of one
/// byte, moving it copied the rest of the word in pieces that were never written as such, and each move
/// waited for the store before it.
#[derive(Debug)]
#[repr(u64)]
pub enum Stop {
    /// The workload's own rule asked for it (TPC-C's 1 %): expected, not an error.
    Abort,
    /// Another transaction was in the way; nothing of this one remains, and it may be retried.
    Conflict(Cause),
    /// It failed; nothing of it remains.
    Failed(Box<Failure>),
    /// It failed, and whether it committed is not known: counted as unfinished.
    Unknown(Box<Failure>),
}

/// What was in the way of a conflicted transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The store gave up waiting for a lock, or refused to wait (`SQLITE_BUSY`, lock time-out).
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

/// What failed, and hence whether going on makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureKind {
    /// The connection was lost; a new one may work.
    Connection,
    /// No space is left where the store writes. Stops the run.
    DiskFull,
    /// The store could not read or write, or has closed itself. Stops the run.
    Storage,
    /// The store refused a statement, or answered something that the plan rules out: wrong row
    /// count, wrong kind. Stops the run, since the figures would measure something else.
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

    /// True if the run must end: whatever comes next would fail too, or mean something else.
    pub fn stops_run(self) -> bool {
        self != FailureKind::Connection
    }
}

/// A failure: what kind, in which operation, and the sentence a user reads.
#[derive(Debug)]
pub struct Failure {
    /// What failed.
    pub kind: FailureKind,
    /// The operation, where one was under way.
    pub operation: Option<OperationId>,
    /// One clear sentence without a final period.
    pub what: String,
}

impl Failure {
    /// A failure outside any one operation.
    pub fn new(kind: FailureKind, what: impl Into<String>) -> Failure {
        Failure { kind, operation: None, what: what.into() }
    }

    /// The same, in an operation.
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

/// How a transaction ended, as its client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Acknowledged as committed.
    Committed,
    /// Nothing of it remains: aborted, conflicted or failed.
    Undone,
    /// Not known: the run ended first, or the store could not say.
    Unknown,
}
