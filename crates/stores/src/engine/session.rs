//! A client: a session of the engine whose transactions begin with their first operation.
//!
//! A read-only transaction begins so that it never conflicts: at the durable LSN, plus the session's
//! own commits. If commits are acknowledged before they are written (durability none), it reads the
//! newest published snapshot instead, which is consistent with the order of commits too.

use super::failure::{statement, stop};
use super::prepared::Operation;
use super::read::Memory;
use super::store::PlanTable;
use super::worker::{Part, next_pass};
use std::rc::Rc;
use std::sync::Arc;
use syncline_contract::{AccessPattern, OperationId, Replies, Rows, Session, Stop, TableId, Value};
use syncline_engine::log::Ticket;
use syncline_engine::{Begin, Change, Error, PrefetchKey, RowLoad, TypedSession};
use syncline_instrument::{Module, tag};
use syncline_vfs::Disk;

/// How many reads a transaction must have deferred for a prefetch: with fewer, the gain is less than
/// the cost.
const PREFETCH_MIN: usize = 4;

/// How many rows a load commits at once, at most.
const LOAD_ROWS: usize = 500;

/// The bytes of values that a load commits at once: several records then fill one write of the log, where a
/// record longer than a write would take another for its end.
const LOAD_BYTES: usize = 56 << 10;

/// A client of the engine.
#[derive(Debug)]
pub struct EngineSession<D: Disk> {
    operations: Arc<[Operation]>,
    client: Client<D>,
    begins: Begins,
    pattern: AccessPattern,
    notes: Box<Notes>,
    /// How many of `deferred_reads` are pending; the others are reusable memory.
    waiting: usize,
    /// The worker whose released batch completes the tickets; `None` where clients block their threads.
    worker: Option<Rc<Part<D>>>,
}

/// The operations of a transaction so far.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The operations that write, in order.
    writes: Vec<OperationId>,
    /// Reads by key that are deferred.
    deferred_reads: Vec<DeferredRead>,
    /// Rows that are being read from the disk for the transaction.
    loads: Vec<RowLoad>,
}

/// A read by primary key that is deferred.
#[derive(Debug)]
struct DeferredRead {
    operation: OperationId,
    prefetch_key: PrefetchKey,
    /// Its position in the worker's prefetch at the end of the pass; `None` if it does not wait for
    /// that.
    place: Option<usize>,
}

/// How transactions begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begins {
    pub(super) reading: Begin,
    pub(super) writing: Begin,
}

/// The state that operations use.
#[derive(Debug)]
pub(super) struct Client<D: Disk> {
    pub(super) session: TypedSession<D>,
    pub(super) tables: Arc<[PlanTable]>,
    pub(super) context: Box<ClientContext>,
}

/// Memory of operations. A transaction uses the memory of the worker's previous one; see `worker`.
#[derive(Debug, Default)]
pub(super) struct ClientContext {
    pub(super) replies: Replies,
    /// The left rows of a join.
    pub(super) left: Rows,
    /// The keys of their right rows while some of them are read together.
    pub(super) prefetch_keys: Vec<PrefetchKey>,
    /// Reusable memory.
    pub(super) values: Memory,
    pub(super) changes: Vec<Change<'static>>,
}

impl<D: Disk> EngineSession<D> {
    pub(super) fn new(
        session: TypedSession<D>,
        tables: Arc<[PlanTable]>,
        operations: Arc<[Operation]>,
        begins: Begins,
        worker: Option<Rc<Part<D>>>,
    ) -> EngineSession<D> {
        EngineSession {
            operations,
            client: Client { session, tables, context: Box::default() },
            begins,
            pattern: AccessPattern::Several,
            notes: Box::default(),
            waiting: 0,
            worker,
        }
    }

    /// Begins the transaction if this is its first operation.
    #[inline]
    fn open(&mut self, writes: bool) -> Result<(), Stop> {
        if self.client.session.is_open() {
            return Ok(());
        }
        let begin = match self.pattern {
            AccessPattern::Several | AccessPattern::AsWritten => self.begins.writing,
            AccessPattern::Single if writes => self.begins.writing,
            AccessPattern::Single | AccessPattern::ReadOnly => self.begins.reading,
        };
        let begun = self.client.session.begin(begin);
        begun.map_err(|error| stop(&error))
    }

    #[inline]
    async fn complete(&self, ticket: Ticket) -> Result<(), Stop> {
        let completed = match &self.worker {
            Some(worker) => {
                let completed = worker.log.completion(ticket).await;
                self.client.session.acknowledged(ticket);
                completed
            }
            None => self.client.session.wait(ticket),
        };
        completed.map_err(|error| stop(&error))
    }

    /// Commits up to the point where only the wait for the ticket remains.
    #[inline]
    fn publish(&mut self) -> Result<Ticket, Stop> {
        let _entered = tag::enter(Module::ClientApi);
        let committed = self.client.session.commit();
        let ticket = committed.map_err(|error| self.stopped(&error, None))?;
        if !self.notes.writes.is_empty() {
            self.staged();
        }
        self.change_memory();
        Ok(ticket)
    }

    /// Takes the worker's memory for a transaction, or returns it.
    #[inline]
    fn change_memory(&mut self) {
        if let Some(worker) = &self.worker {
            worker.exchange(&mut self.client.context, &mut self.notes);
        }
    }

    /// Reports the size of the published record to the worker.
    #[inline]
    fn staged(&self) {
        if let Some(worker) = &self.worker {
            worker.log.staged(self.client.session.record_bytes_max());
        }
    }

    /// Defers a read by key until its answer is received, so that all reads deferred until then are
    /// prefetched together; where clients block their threads it is executed at once. On a worker with many
    /// clients it also waits for those of the others if the transaction only reads or the row is not in
    /// memory. True if it is deferred.
    #[inline]
    fn defer_read(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<bool, Stop> {
        let Some(worker) = &self.worker else {
            return Ok(false);
        };
        let Operation::Get { table, .. } = &self.operations[operation.0] else {
            return Ok(false);
        };
        if self.waiting == self.notes.deferred_reads.len() {
            self.notes.deferred_reads.push(DeferredRead {
                operation,
                prefetch_key: PrefetchKey::default(),
                place: None,
            });
        }
        let deferred = &mut self.notes.deferred_reads[self.waiting];
        let prepared = self.client.prepare_key(*table, values, &mut deferred.prefetch_key);
        if let Err(error) = prepared {
            return Err(self.stopped(&error, Some(operation)));
        }
        deferred.operation = operation;
        let only_reads = matches!(self.pattern, AccessPattern::Single | AccessPattern::ReadOnly);
        let table = &self.client.tables[*table].handle;
        let added = match worker.has_enough_clients() {
            true if only_reads => worker.add(table, &deferred.prefetch_key).map(Some),
            true => worker.add_missing(table, &deferred.prefetch_key),
            false => Ok(None),
        };
        deferred.place = match added {
            Ok(place) => place,
            Err(error) => return Err(self.stopped(&error, Some(operation))),
        };
        self.waiting += 1;
        Ok(true)
    }

    /// True if a deferred read waits for the worker's prefetch.
    #[inline]
    fn waits_for_pass(&self) -> bool {
        let kept = &self.notes.deferred_reads[..self.waiting];
        kept.iter().any(|deferred| deferred.place.is_some())
    }

    /// In the pass after the one that began them: takes the results of the deferred reads, and yields until
    /// their rows are in memory.
    async fn deferred_loaded(&mut self) {
        let Some(worker) = &self.worker else {
            return;
        };
        let Notes { deferred_reads, loads, .. } = &mut *self.notes;
        let deferred_reads = &mut deferred_reads[..self.waiting];
        for deferred in &mut *deferred_reads {
            if let Some(place) = deferred.place {
                worker.set_hint(place, &mut deferred.prefetch_key);
            }
        }
        worker.loads(deferred_reads.iter().filter_map(|deferred| deferred.place), loads);
        if !loads.is_empty() {
            worker.loaded(loads).await;
        }
    }

    /// Executes the deferred reads.
    #[inline]
    fn answer_deferred(&mut self) -> Result<(), Stop> {
        let _entered = tag::enter(Module::ClientApi);
        let waiting = std::mem::take(&mut self.waiting);
        self.open(false)?;
        if let Err(error) = self.prefetch_deferred(waiting) {
            return Err(self.stopped(&error, None));
        }
        for place in 0..waiting {
            let deferred = &self.notes.deferred_reads[place];
            let operation = deferred.operation;
            let Operation::Get { table, columns } = &self.operations[operation.0] else {
                unreachable!("only reads by key are deferred");
            };
            let answered = self.client.get_prefetched(*table, columns, &deferred.prefetch_key);
            answered.map_err(|error| self.stopped(&error, Some(operation)))?;
        }
        Ok(())
    }

    /// Prefetches the first `waiting` deferred reads, unless they are among those of the worker's pass, if
    /// there are enough of them.
    #[inline]
    fn prefetch_deferred(&mut self, waiting: usize) -> syncline_engine::Result<()> {
        let Some(worker) = &self.worker else {
            return Ok(());
        };
        let kept = &mut self.notes.deferred_reads[..waiting];
        if waiting < PREFETCH_MIN || kept.iter().any(|deferred| deferred.place.is_some()) {
            return Ok(());
        }
        let mut prefetcher = worker.transaction_prefetcher();
        for deferred in &*kept {
            if let Operation::Get { table, .. } = &self.operations[deferred.operation.0] {
                prefetcher.add(&self.client.tables[*table].handle, &deferred.prefetch_key)?;
            }
        }
        prefetcher.prefetch();
        for (place, deferred) in kept.iter_mut().enumerate() {
            prefetcher.set_hint(place, &mut deferred.prefetch_key);
        }
        Ok(())
    }

    /// The end that an error causes, with its operation: the current one, or, if the data refuse an
    /// earlier write, the only write of the transaction that can be the cause.
    #[cold]
    fn stopped(&self, error: &Error, current: Option<OperationId>) -> Stop {
        let is_of_writes =
            matches!(error, Error::DuplicateKey { .. } | Error::NoRow { .. } | Error::Unfit { .. });
        let may = |id: &&OperationId| self.operations[id.0].may_cause(error, &self.client.tables);
        let mut causes = self.notes.writes.iter().filter(may).copied();
        let only = causes.next().filter(|first| causes.all(|other| other == *first));
        let is_write = |id: OperationId| self.operations[id.0].writes();
        let operation = match current {
            Some(id) if is_write(id) || !is_of_writes => Some(id),
            _ => only,
        };
        match (stop(error), operation) {
            (Stop::Failed(failure), Some(id)) => Stop::Failed(Box::new(failure.in_operation(id))),
            (stop, _) => stop,
        }
    }
}

impl<D: Disk> Session for EngineSession<D> {
    #[inline]
    fn begin(&mut self, pattern: AccessPattern) {
        let _entered = tag::enter(Module::ClientApi);
        if self.client.session.is_open() {
            self.client.session.abort();
        }
        self.change_memory();
        self.client.context.replies.clear();
        self.waiting = 0;
        self.notes.writes.clear();
        self.notes.loads.clear();
        self.pattern = pattern;
    }

    #[inline]
    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        if self.defer_read(operation, values)? {
            return Ok(());
        }
        let _entered = tag::enter(Module::ClientApi);
        if self.waiting > 0 {
            self.answer_deferred()?;
        }
        let writes = self.operations[operation.0].writes();
        self.open(writes)?;
        if writes {
            if self.pattern == AccessPattern::ReadOnly {
                return Err(misused());
            }
            self.notes.writes.push(operation);
        }
        let client = &mut self.client;
        let sent = match &self.operations[operation.0] {
            Operation::Insert { table } => client.insert(*table, self.worker.as_deref(), values),
            Operation::Get { table, columns } => client.get(*table, columns, values),
            Operation::Update(update) => client.update(update, values),
            Operation::Change(change) => client.change(change, values),
            Operation::Put { table } => client.put(*table, values),
            Operation::Delete { table } => client.delete(*table, values),
            Operation::Remove { table } => client.remove(*table, values),
            Operation::Sorted(sorted) => client.sorted(sorted, values),
            Operation::Scan(scan) => match scan.rows_max(values) {
                Some(rows_max) => client.scan(scan, rows_max, values),
                None => return Err(statement("the limit of a scan must be a whole number from 0")),
            },
            Operation::Join(join) => client.join(join, self.worker.as_deref(), values),
            Operation::Figure(figure) => return client.figure(figure, values),
        };
        sent.map_err(|error| self.stopped(&error, Some(operation)))
    }

    #[inline]
    async fn receive(&mut self) -> Result<&Rows, Stop> {
        if self.waiting > 0 && self.client.context.replies.is_empty() {
            if self.waits_for_pass() {
                next_pass().await;
                self.deferred_loaded().await;
            }
            self.answer_deferred()?;
        }
        self.client.context.replies.receive().ok_or_else(misused)
    }

    #[inline]
    async fn commit(&mut self) -> Result<(), Stop> {
        if self.waiting > 0 {
            self.answer_deferred()?;
        }
        if !self.client.session.is_open() {
            return Ok(());
        }
        if let Some(worker) = &self.worker
            && !self.notes.writes.is_empty()
            && worker.has_enough_clients()
        {
            let places = worker.add_writes(&self.client.session);
            if !places.is_empty() {
                next_pass().await;
                worker.loads(places, &mut self.notes.loads);
                worker.loaded(&mut self.notes.loads).await;
            }
        }
        let ticket = self.publish()?;
        self.complete(ticket).await
    }

    async fn abort(&mut self) {
        self.client.session.abort();
        self.client.context.replies.clear();
        self.waiting = 0;
        self.change_memory();
    }

    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        self.begin(AccessPattern::Several);
        let mut last = None;
        let row_bytes = (batch.value_bytes() as usize).div_ceil(batch.len().max(1)).max(1);
        let rows_max = (LOAD_BYTES / row_bytes).clamp(1, LOAD_ROWS);
        for first in (0..batch.len()).step_by(rows_max) {
            let rows = first..batch.len().min(first + rows_max);
            let Client { session, tables, .. } = &mut self.client;
            last = Some(tables[table.0].load(session, batch, rows)?);
            self.staged();
        }
        // Completed commits are a prefix: the last ticket covers all of them.
        match last {
            Some(ticket) => self.complete(ticket).await,
            None => Ok(()),
        }
    }
}

#[cold]
fn misused() -> Stop {
    statement("no operation is waiting for an answer, or a read-only transaction writes")
}
