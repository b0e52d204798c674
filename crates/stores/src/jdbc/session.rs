//! A client: a connection of its own, on which every call blocks until it is done.
//!
//! A transaction of one operation runs in the driver's autocommit, so that it is committed when its
//! `send` returns; any other ends by `commit`. If a store needs a statement to make a commit durable,
//! that is executed before the commit is acknowledged.

use super::connection::Connection;
use super::failure::stop;
use super::jvm::Thrown;
use super::load::Loads;
use super::prepared::Operations;
use super::product::Product;
use crate::transaction_phase::TransactionPhase;
use syncline_contract::{
    AccessPattern, Failure, FailureKind, OperationId, Replies, Rows, Session, Stop, TableId, Value,
};

/// A client's connection. Dropping it rolls back an open transaction and closes it.
#[derive(Debug)]
pub struct JdbcSession {
    pub(super) connection: Connection,
    pub(super) product: &'static Product,
    pub(super) operations: Operations,
    pub(super) loads: Loads,
    /// The statement that makes a commit durable, if the store needs one.
    pub(super) after_commit: Option<&'static str>,
    pub(super) replies: Replies,
    pub(super) pattern: AccessPattern,
    /// True from the first operation of a transaction to its end.
    pub(super) started: bool,
    /// True if the transaction has written.
    pub(super) wrote: bool,
}

impl JdbcSession {
    fn start(&mut self) -> Result<(), Stop> {
        let single = self.pattern == AccessPattern::Single;
        let set = self.connection.set_autocommit(single);
        set.map_err(|thrown| stop(&thrown, TransactionPhase::Begin, self.product))?;
        self.started = true;
        Ok(())
    }

    /// Makes a commit durable.
    fn make_durable(&mut self) -> Result<(), Thrown> {
        match self.after_commit {
            Some(statement) if self.wrote => self.connection.execute(statement),
            _ => Ok(()),
        }
    }

    fn committed(&mut self) -> Result<(), Thrown> {
        if self.pattern != AccessPattern::Single {
            self.connection.commit()?;
        }
        self.make_durable()
    }
}

impl Session for JdbcSession {
    #[inline]
    fn begin(&mut self, pattern: AccessPattern) {
        self.pattern = pattern;
        self.started = false;
        self.wrote = false;
        self.replies.clear();
    }

    #[inline]
    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        if !self.started {
            self.start()?;
        }
        self.wrote |= self.operations.writes(operation);
        let whole = self.pattern == AccessPattern::Single;
        let (connection, replies) = (&mut self.connection, &mut self.replies);
        self.operations.run(connection, operation, values, whole, replies)
    }

    #[inline]
    async fn receive(&mut self) -> Result<&Rows, Stop> {
        self.replies.receive().ok_or_else(no_operation_pending)
    }

    #[inline]
    async fn commit(&mut self) -> Result<(), Stop> {
        if self.started {
            let committed = self.committed();
            committed.map_err(|thrown| stop(&thrown, TransactionPhase::Commit, self.product))?;
        }
        self.started = false;
        Ok(())
    }

    async fn abort(&mut self) {
        self.started = false;
        self.replies.clear();
        if !self.connection.is_autocommit() {
            // If the rollback fails the connection is lost, and the next operation returns an error.
            drop(self.connection.rollback());
        }
    }

    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        self.replies.clear();
        let loaded = self.loads.load(&mut self.connection, table, batch);
        let loaded = loaded.and_then(|()| {
            self.wrote = true;
            let synced = self.make_durable();
            synced.map_err(|thrown| stop(&thrown, TransactionPhase::Load, self.product))
        });
        if loaded.is_err() {
            // The load's own error is the one to report; one of the rollback would only hide it.
            drop(self.connection.rollback());
        }
        loaded
    }
}

#[cold]
fn no_operation_pending() -> Stop {
    let what = "no operation is waiting for an answer";
    Failure::new(FailureKind::Statement, what).into()
}
