//! Whoever wants to know of every single transaction: logs, percentiles of any kind, the users of other
//! tools. A run without one pays nothing for it.

use syncline_contract::{Cause, FailureKind};
use syncline_metering::Nanos;

/// How a transaction of the measured span ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
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
pub struct Followed {
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
    pub fate: Fate,
    /// Tries, the first included.
    pub tries: u32,
    /// True if it ended after the measured span: in no rate over a part of that span.
    pub late: bool,
}

/// Who is told of every transaction of the measured span, on the thread of the worker that performed it:
/// be quick. Tells of one client come in their order, those of several at once.
pub trait Follower: Sync {
    /// A transaction has ended.
    fn ended(&self, one: &Followed);
}
