//! A session: one client's connection to a store.
//!
//! Rules between runner and session:
//! 1. A transaction is `begin`, any number of `send` and `receive`, then `commit` or `abort`.
//! 2. `send` never waits. An embedded store executes the operation and keeps the answer; a network store
//!    encodes it into its buffer, which it flushes at the first `receive` without a ready answer.
//! 3. `receive` returns the answer of the oldest unanswered *read*; writes have no answer.
//! 4. Writes are deferred: an error, or that no row changed, may be reported by `send`, by a later
//!    `receive` or by `commit`, but never after `commit` has succeeded. If the operation names one row, a
//!    row count of zero is a [`Statement`](crate::FailureKind::Statement) failure.
//! 5. `commit` succeeds only when the store has acknowledged the commit itself. After an error of
//!    `send`, `receive` or `commit` the runner calls `abort`, and the session must be usable again.
//! 6. A session dropped during a transaction must leave no transaction open in the store.
//! 7. Sessions are made and used on one worker's thread, so they need not be `Send`.

use crate::operation::OperationId;
use crate::outcome::{Failure, FailureKind, Stop};
use crate::rows::Rows;
use crate::schema::TableId;
use crate::value::Value;
use syncline_instrument::Nanos;

/// What a transaction will do; passed to `begin`, so that the store can choose how to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPattern {
    /// A single operation; its `send` may already be the commit, so an abort afterwards may undo nothing.
    Single,
    /// Several operations, all of them reads.
    ReadOnly,
    /// Several operations that may write.
    Several,
    /// User statements that begin and end transactions themselves, or are one each: the session adds nothing.
    /// `commit` receives outstanding answers and refuses a transaction that is still open.
    AsWritten,
}

/// A write to a network store, with the times of its request and answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnsweredWrite {
    /// The operation.
    pub operation: OperationId,
    /// When it was sent.
    pub sent: Nanos,
    /// When its answer arrived.
    pub answered: Nanos,
}

/// One client's connection.
pub trait Session {
    /// Starts a transaction; sent together with the first operation.
    fn begin(&mut self, pattern: AccessPattern);

    /// Sends one operation of the plan. `operation.rs` states the order of the parameters.
    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop>;

    /// The answer of the oldest unanswered read, borrowed until the next call.
    async fn receive(&mut self) -> Result<&Rows, Stop>;

    /// Commits; also reports every write that was not answered yet.
    async fn commit(&mut self) -> Result<(), Stop>;

    /// Rolls the transaction back; if the connection becomes unusable, the next `send` reports it.
    async fn abort(&mut self);

    /// The writes answered since the transaction began, oldest first, for the caller to take out; none if
    /// `send` returns with the answer. Writes that share a round trip are not included, because their
    /// individual times are unknown.
    fn answered_writes(&mut self) -> Option<&mut Vec<AnsweredWrite>> {
        None
    }

    /// The names of the columns that a user statement returns, as reported by the store; none if it does not
    /// report them. Not for the hot path.
    fn columns(&self, _operation: OperationId) -> Option<Vec<String>> {
        None
    }

    /// Loads a batch of whole rows through the store's bulk path; the rows are committed when it returns.
    /// Needs [`Capabilities::loads`](crate::Capabilities::loads).
    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        let what =
            format!("this target has no bulk load for {} rows of table {}", batch.len(), table.0);
        Err(Failure::new(FailureKind::Limit, what).into())
    }
}
