//! Whoever wants to know of every single transaction: logs, percentiles of any kind, the users of other
//! tools. A run without one pays nothing for it.
//!
//! 1. The runner reports every transaction that started in the measured span (in an open loop: that was due
//!    in it), as the outcomes of the result count them.
//! 2. In a run by time it also reports what was under way when the warm-up ended and ended in the span, as
//!    `commits_in_span` counts it: a tool with a warm-up counts what ends after it, and a rate without those
//!    is too low by up to one transaction of each client. A run by count reports its budget alone.

use syncline_contract::{Cause, FailureKind, OperationId};
use syncline_instrument::Nanos;

/// How a transaction of the measured span ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionOutcome {
    /// Acknowledged as committed.
    Committed,
    /// Undone by the workload's own rule.
    Aborted,
    /// Undone since others were in the way, after the last retry.
    Conflicted(Cause),
    /// Failed.
    Failed(FailureKind),
    /// Under way when the run ended, or of unknown outcome.
    Unknown,
    /// Never started, since it would have been later than the plan allows.
    Skipped,
}

/// A transaction of the measured span that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionEvent {
    /// The client's number.
    pub client: usize,
    /// Its position in the workload's transactions; none if it was skipped before it was drawn.
    pub kind: Option<usize>,
    /// When it was due, in time of the one clock; in a closed loop when it started.
    pub due: Nanos,
    /// When its first try started.
    pub started: Nanos,
    /// When it ended.
    pub ended: Nanos,
    /// How it ended.
    pub outcome: TransactionOutcome,
    /// Tries, the first included.
    pub tries: u32,
    /// True if it ended after the measured span: in no rate over a part of that span.
    pub late: bool,
    /// True if it was under way when the warm-up ended: it is in no outcome of the result.
    pub began_in_warm_up: bool,
}

/// Who is told of every transaction of the measured span, on the thread of the worker that performed it:
/// be quick. Tells of one client come in their order, those of several at once.
pub trait TransactionListener: Sync {
    /// A transaction has ended.
    fn ended(&self, one: &TransactionEvent);

    /// The times of the operations of its last try, in nanoseconds from sending to answer, just before
    /// [`TransactionListener::ended`] tells of the transaction; only with [`crate::RunPlan::operations`].
    fn operations(&self, _client: usize, _times: &[(OperationId, Nanos)]) {}
}
