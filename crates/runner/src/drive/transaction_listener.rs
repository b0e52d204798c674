//! The interface for callers that want every single transaction: logs, percentiles of any kind, compatibility
//! with other tools. A run without a listener pays nothing for it.
//!
//! 1. The runner reports every transaction that started in the measured span (in an open loop: that was due
//!    in it), as the outcomes of the result count them.
//! 2. In a run by time it also reports the transactions that were under way at the end of the warm-up and
//!    ended in the span, as `commits_in_span` counts them. A tool with a warm-up counts what ends after it,
//!    and a rate without those is too low by up to one transaction per client. A run by count reports only
//!    its budget.

use syncline_contract::{Cause, FailureKind, OperationId};
use syncline_instrument::Nanos;

/// How a transaction of the measured span ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionOutcome {
    /// Acknowledged as committed.
    Committed,
    /// Rolled back by the workload's own rule.
    Aborted,
    /// Rolled back because of another transaction, after the last retry.
    Conflicted(Cause),
    /// Rolled back by an error.
    Failed(FailureKind),
    /// Under way when the run ended, or of unknown outcome.
    Unknown,
    /// Never started, because it would have been later than the plan allows.
    Skipped,
}

/// A transaction of the measured span that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionEvent {
    /// The client's number.
    pub client: usize,
    /// Its position in the workload's transactions; `None` if it was skipped before it was drawn.
    pub kind: Option<usize>,
    /// When it was due, on the clock of `syncline_instrument::clock`; in a closed loop when it started.
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

/// Receives every transaction of the measured span, on the thread of the worker that performed it, so it must
/// be quick. Calls for one client come in order; calls for several clients may be concurrent.
pub trait TransactionListener: Sync {
    /// A transaction has ended.
    fn ended(&self, one: &TransactionEvent);

    /// The times of the operations of a transaction's last try, in nanoseconds from request to answer. Called
    /// just before [`TransactionListener::ended`], and only with [`crate::RunPlan::operations`].
    fn operations(&self, _client: usize, _times: &[(OperationId, Nanos)]) {}
}
