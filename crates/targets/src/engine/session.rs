//! A client: executes reads at once, keeps writes to itself, and awaits its commit's ticket.

use super::client::Client;
use super::prepared::{Operation, Prepared};
use super::store::{Store, stop};
use super::writes::Change;
use std::rc::Rc;
use std::sync::Arc;
use syncline_contract::{
    Failure, FailureKind, OperationId, Plan, Rows, Session, Shape, Stop, TableId, Value,
};
use syncline_disk::RealDisk;
use syncline_engine::log::{Ticket, Worker};

/// Rows that a load commits at once.
const LOAD_ROWS: usize = 500;

/// A client of the engine's log.
#[derive(Debug)]
pub struct EngineSession {
    prepared: Prepared,
    client: Client,
    /// The worker whose uncork completes the tickets; none where clients block their threads.
    worker: Option<Rc<Worker<RealDisk>>>,
}

impl EngineSession {
    pub(super) fn new(
        store: Arc<Store>,
        worker: Option<Rc<Worker<RealDisk>>>,
        plan: &Plan,
    ) -> EngineSession {
        EngineSession {
            prepared: Prepared::new(plan),
            client: Client::new(store),
            worker,
        }
    }

    /// Publishes what the transaction has written; none if it has written nothing.
    #[inline]
    fn publish(&mut self) -> Result<Option<Ticket>, Stop> {
        let Some((ticket, bytes)) = self.client.publish()? else {
            return Ok(None);
        };
        if let Some(worker) = &self.worker {
            worker.staged(bytes);
        }
        Ok(Some(ticket))
    }

    #[inline]
    async fn complete(&self, ticket: Ticket) -> Result<(), Stop> {
        let completed = match &self.worker {
            Some(worker) => worker.completion(ticket).await,
            None => self.client.store().log.wait(ticket),
        };
        completed.map_err(|error| stop(&error))
    }
}

impl Session for EngineSession {
    #[inline]
    fn begin(&mut self, _shape: Shape) {
        self.client.clear();
    }

    #[inline]
    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        let EngineSession {
            prepared, client, ..
        } = self;
        let keys = |table: usize| &prepared.tables[table];
        let of = Some(operation);
        let sent = match &prepared.operations[operation.0] {
            Operation::Insert { table } => client.insert(of, *table, keys(*table), values),
            Operation::Get { table, columns } => client.get(*table, columns, values),
            Operation::Scan(scan) => client.scan(scan, values),
            Operation::Update { table, sets } => {
                client.update(of, *table, keys(*table), sets, values)
            }
            Operation::Delete { table } => client.write(of, *table, values, Change::Delete),
            Operation::Impossible => Err(misused()),
        };
        sent.map_err(|stop| in_operation(stop, operation))
    }

    #[inline]
    async fn receive(&mut self) -> Result<&Rows, Stop> {
        self.client.receive().ok_or_else(misused)
    }

    #[inline]
    async fn commit(&mut self) -> Result<(), Stop> {
        match self.publish()? {
            Some(ticket) => self.complete(ticket).await,
            None => Ok(()),
        }
    }

    async fn abort(&mut self) {
        self.client.clear();
    }

    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        self.client.clear();
        let mut last = None;
        for (number, row) in batch.iter().enumerate() {
            let keys = &self.prepared.tables[table.0];
            self.client.load(table.0, keys, row)?;
            if (number + 1) % LOAD_ROWS == 0 {
                last = self.publish()?.or(last);
            }
        }
        last = self.publish()?.or(last);
        // What is complete is a prefix: the last part's ticket answers for all.
        match last {
            Some(ticket) => self.complete(ticket).await,
            None => Ok(()),
        }
    }
}

#[cold]
fn misused() -> Stop {
    let what = "the operation is none of this target, or no question waits for an answer";
    Failure::new(FailureKind::Statement, what).into()
}

/// A failure that names no operation is of this one; a read may have found that a write before it
/// does not fit.
#[cold]
fn in_operation(stop: Stop, operation: OperationId) -> Stop {
    match stop {
        Stop::Failed(failure) if failure.operation.is_none() => {
            Stop::Failed(Box::new(failure.in_operation(operation)))
        }
        other => other,
    }
}
