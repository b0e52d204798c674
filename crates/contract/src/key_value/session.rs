//! A client's session on a key-value store: begins and ends transactions.

use super::operations::TransactionState;
use super::store::KeyValue;
use crate::operation::OperationId;
use crate::outcome::Stop;
use crate::plan::Plan;
use crate::rows::Rows;
use crate::schema::TableId;
use crate::session::{AccessPattern, Session};
use crate::value::Value;

/// A session of a [`KeyValueTarget`](super::KeyValueTarget). Dropping it discards its writes and releases its
/// locks.
#[derive(Debug)]
pub struct KeyValueSession<K> {
    pub(super) plan: Plan,
    pub(super) work: TransactionState<K>,
}

impl<K: KeyValue> Session for KeyValueSession<K> {
    fn begin(&mut self, _pattern: AccessPattern) {
        self.work.clear();
    }

    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        let action = &self.plan.operation(operation).action;
        let performed = self.work.perform(action, values);
        performed.map_err(|stop| in_operation(stop, operation))
    }

    async fn receive(&mut self) -> Result<&Rows, Stop> {
        let reply = self.work.replies.receive();
        Ok(reply.expect("each read is received once"))
    }

    async fn commit(&mut self) -> Result<(), Stop> {
        self.work.commit()?;
        self.work.clear();
        Ok(())
    }

    async fn abort(&mut self) {
        self.work.clear();
    }

    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        let loaded = self.work.load(table.0, batch);
        self.work.clear();
        loaded
    }
}

fn in_operation(stop: Stop, operation: OperationId) -> Stop {
    match stop {
        Stop::Failed(failure) => failure.in_operation(operation).into(),
        stop => stop,
    }
}
