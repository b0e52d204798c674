//! A session: one client's connection to a store.
//!
//! Rules between runner and session:
//! 1. A transaction is `begin`, any number of `send` and `receive`, then `commit` or `abort`.
//! 2. `send` never waits. An embedded store executes in it and keeps the answer; a network store
//!    encodes into its buffer and flushes at the first `receive` that has no answer ready.
//! 3. `receive` lends the answer of the oldest unanswered *read*; writes have no answer.
//! 4. A write is a promise: that it failed, or changed no row, may show at `send`, at a later
//!    `receive` or at `commit`, never after `commit` has succeeded. A row count of zero where the
//!    operation names one row is a [`Statement`](crate::FailureKind::Statement) failure.
//! 5. `commit` succeeds only when the store has acknowledged the commit itself. After an error of
//!    `send`, `receive` or `commit` the runner calls `abort`, and the session must be usable again.
//! 6. A session dropped in mid-transaction must leave no transaction open in the store.
//! 7. Sessions are made and used on one worker's thread: no `Send` bound anywhere.

use crate::operation::OperationId;
use crate::outcome::{Failure, FailureKind, Stop};
use crate::rows::Rows;
use crate::schema::TableId;
use crate::value::Value;
use syncline_instrument::Nanos;

/// What a transaction will do; remembered by `begin`, so that the store can choose how to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPattern {
    /// One operation and nothing else; its `send` may already be the commit, so that an abort after
    /// it undoes nothing.
    Single,
    /// Several operations, none of which writes.
    ReadOnly,
    /// Several operations that may write.
    Several,
    /// Statements of a user's that begin and end transactions themselves, or are one each: the session
    /// adds nothing. `commit` takes what is unanswered and refuses a transaction that was left open.
    AsWritten,
}

/// A write of a network store, from its sending to its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnsweredWrite {
    /// Which.
    pub operation: OperationId,
    /// When it went out.
    pub sent: Nanos,
    /// When its answer was in.
    pub answered: Nanos,
}

/// One client's connection.
pub trait Session {
    /// Starts a transaction; sent with the first operation.
    fn begin(&mut self, shape: AccessPattern);

    /// Sends one operation of the plan. Parameters stand in the order that `operation.rs` states.
    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop>;

    /// Lends the answer of the oldest unanswered read, until the next call.
    async fn receive(&mut self) -> Result<&Rows, Stop>;

    /// Commits; reports also every write that was not yet answered.
    async fn commit(&mut self) -> Result<(), Stop>;

    /// Undoes the transaction; a connection that this leaves unusable says so at the next `send`.
    async fn abort(&mut self);

    /// The writes that were answered since the transaction began, oldest first, for whoever takes them out;
    /// none where a write is answered as `send` returns. Of writes that share a round trip nobody knows
    /// which took how long: they are not among them.
    fn answered_writes(&mut self) -> Option<&mut Vec<AnsweredWrite>> {
        None
    }

    /// The names of the columns that a user's statement answers, as the store says them; none where it
    /// does not say. Asked outside the hot path.
    fn columns(&self, _operation: OperationId) -> Option<Vec<String>> {
        None
    }

    /// Loads a batch of whole rows by the store's bulk path, committed when it returns. Needs
    /// [`Capabilities::loads`](crate::Capabilities::loads).
    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        let what =
            format!("this target has no bulk path for {} rows of table {}", batch.len(), table.0);
        Err(Failure::new(FailureKind::Limit, what).into())
    }
}
