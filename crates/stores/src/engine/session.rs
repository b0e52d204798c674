//! A client: a session of the engine whose transactions begin with their first operation.
//!
//! What only reads begins so that it never conflicts: at the horizon of what is stable, with the
//! session's own commits. Where commits are acknowledged before they are written (durability none), it
//! reads the newest published moment instead, which is one of the same order of commits.

use super::failure::{statement, stop};
use super::prepared::Operation;
use super::read::Memory;
use super::store::PlanTable;
use super::worker::{Part, next_pass};
use std::rc::Rc;
use std::sync::Arc;
use syncline_contract::{AccessPattern, OperationId, Replies, Rows, Session, Stop, TableId, Value};
use syncline_engine::log::Ticket;
use syncline_engine::{Begin, Change, Error, PrefetchKey, TypedSession};
use syncline_instrument::{Module, tag};
use syncline_vfs::Disk;

/// So many reads must a transaction ask for at once to be gone ahead of: fewer gain less than it costs.
const AHEAD_MIN: usize = 4;

/// Rows that a load commits at once.
const LOAD_ROWS: usize = 500;

/// A client of the engine.
#[derive(Debug)]
pub struct EngineSession<D: Disk> {
    operations: Arc<[Operation]>,
    client: Client<D>,
    begins: Begins,
    shape: AccessPattern,
    notes: Box<Notes>,
    /// Of the questions so many are not yet made; the others are memory.
    waiting: usize,
    /// The worker whose uncork completes the tickets; none where clients block their threads.
    worker: Option<Rc<Part<D>>>,
}

/// What a transaction has asked for.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The operations that write, in order.
    writes: Vec<OperationId>,
    /// Reads by key that were asked and not yet made.
    questions: Vec<Question>,
}

/// A read by primary key that was asked and not yet made.
#[derive(Debug)]
struct Question {
    operation: OperationId,
    sought: PrefetchKey,
    /// Its place among what the worker goes ahead of when the pass ends; none if it does not wait for that.
    place: Option<usize>,
}

/// How transactions begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begins {
    pub(super) reading: Begin,
    pub(super) writing: Begin,
}

/// What operations work with.
#[derive(Debug)]
pub(super) struct Client<D: Disk> {
    pub(super) session: TypedSession<D>,
    pub(super) tables: Arc<[PlanTable]>,
    pub(super) desk: Box<ClientContext>,
}

/// Memory of operations. A transaction has that in which the worker's last one has worked, see `worker`.
#[derive(Debug, Default)]
pub(super) struct ClientContext {
    pub(super) replies: Replies,
    /// The left rows of a join.
    pub(super) left: Rows,
    /// Their right rows, while some of them are read together.
    pub(super) sought: Vec<PrefetchKey>,
    /// Memory to be used again.
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
            client: Client { session, tables, desk: Box::default() },
            begins,
            shape: AccessPattern::Several,
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
        let begin = match self.shape {
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

    /// Commits, up to where nothing is left but to wait.
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

    /// Takes the worker's memory for a transaction, or gives it back.
    #[inline]
    fn change_memory(&mut self) {
        if let Some(worker) = &self.worker {
            worker.exchange(&mut self.client.desk, &mut self.notes);
        }
    }

    /// Tells the worker how much was published.
    #[inline]
    fn staged(&self) {
        if let Some(worker) = &self.worker {
            worker.log.staged(self.client.session.record_bytes_max());
        }
    }

    /// Keeps a read by key until its answer is wanted, so that all that are asked until then wait for
    /// memory together; where clients block their threads it is made at once. Where the transaction does
    /// nothing but read and many clients share the worker, it waits for those of the others, too. True if
    /// it is kept.
    #[inline]
    fn keep(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<bool, Stop> {
        let Some(worker) = &self.worker else {
            return Ok(false);
        };
        let Operation::Get { table, .. } = &self.operations[operation.0] else {
            return Ok(false);
        };
        if self.waiting == self.notes.questions.len() {
            self.notes.questions.push(Question {
                operation,
                sought: PrefetchKey::default(),
                place: None,
            });
        }
        let question = &mut self.notes.questions[self.waiting];
        let sought = self.client.seek(*table, values, &mut question.sought);
        if let Err(error) = sought {
            return Err(self.stopped(&error, Some(operation)));
        }
        question.operation = operation;
        let only_reads = matches!(self.shape, AccessPattern::Single | AccessPattern::ReadOnly);
        let added = (only_reads && worker.is_crowd()).then(|| {
            let table = &self.client.tables[*table].handle;
            worker.add(table, &question.sought)
        });
        question.place = match added.transpose() {
            Ok(place) => place,
            Err(error) => return Err(self.stopped(&error, Some(operation))),
        };
        self.waiting += 1;
        Ok(true)
    }

    /// True if a read that was kept waits for the worker to go ahead of it.
    #[inline]
    fn waits_for_pass(&self) -> bool {
        let kept = &self.notes.questions[..self.waiting];
        kept.iter().any(|question| question.place.is_some())
    }

    /// Makes the reads that were kept.
    #[inline]
    fn answer_kept(&mut self) -> Result<(), Stop> {
        let _entered = tag::enter(Module::ClientApi);
        let waiting = std::mem::take(&mut self.waiting);
        self.open(false)?;
        if let Err(error) = self.go_ahead(waiting) {
            return Err(self.stopped(&error, None));
        }
        for place in 0..waiting {
            let question = &self.notes.questions[place];
            let operation = question.operation;
            let Operation::Get { table, columns } = &self.operations[operation.0] else {
                unreachable!("only reads by key are kept");
            };
            let answered = self.client.get_sought(*table, columns, &question.sought);
            answered.map_err(|error| self.stopped(&error, Some(operation)))?;
        }
        Ok(())
    }

    /// Learns of the first so many kept reads where their rows are: from the pass that they have waited
    /// for, or now if there are enough of them.
    #[inline]
    fn go_ahead(&mut self, waiting: usize) -> syncline_engine::Result<()> {
        let Some(worker) = &self.worker else {
            return Ok(());
        };
        let kept = &mut self.notes.questions[..waiting];
        let mut alone = 0;
        for question in &mut *kept {
            match question.place {
                Some(place) => worker.tell(place, &mut question.sought),
                None => alone += 1,
            }
        }
        if alone < AHEAD_MIN || alone < waiting {
            return Ok(());
        }
        let mut scout = worker.near();
        for question in &*kept {
            if let Operation::Get { table, .. } = &self.operations[question.operation.0] {
                scout.add(&self.client.tables[*table].handle, &question.sought)?;
            }
        }
        scout.go();
        for (place, question) in kept.iter_mut().enumerate() {
            scout.tell(place, &mut question.sought);
        }
        Ok(())
    }

    /// The end that an error makes, in the operation that met it: the one under way, or if the data
    /// refuse what was written before, the only one of the transaction that can have met it.
    #[cold]
    fn stopped(&self, error: &Error, under_way: Option<OperationId>) -> Stop {
        let is_of_writes =
            matches!(error, Error::DuplicateKey { .. } | Error::NoRow { .. } | Error::Unfit { .. });
        let may = |id: &&OperationId| self.operations[id.0].may_meet(error, &self.client.tables);
        let mut met = self.notes.writes.iter().filter(may).copied();
        let only = met.next().filter(|first| met.all(|other| other == *first));
        let is_write = |id: OperationId| self.operations[id.0].writes();
        let operation = match under_way {
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
    fn begin(&mut self, shape: AccessPattern) {
        let _entered = tag::enter(Module::ClientApi);
        if self.client.session.is_open() {
            self.client.session.abort();
        }
        self.change_memory();
        self.client.desk.replies.clear();
        self.waiting = 0;
        self.notes.writes.clear();
        self.shape = shape;
    }

    #[inline]
    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        if self.keep(operation, values)? {
            return Ok(());
        }
        let _entered = tag::enter(Module::ClientApi);
        if self.waiting > 0 {
            self.answer_kept()?;
        }
        let writes = self.operations[operation.0].writes();
        self.open(writes)?;
        if writes {
            if self.shape == AccessPattern::ReadOnly {
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
                None => return Err(statement("the limit of a scan is no whole number from 0")),
            },
            Operation::Join(join) => client.join(join, self.worker.as_deref(), values),
            Operation::Figure(figure) => return client.figure(figure, values),
        };
        sent.map_err(|error| self.stopped(&error, Some(operation)))
    }

    #[inline]
    async fn receive(&mut self) -> Result<&Rows, Stop> {
        if self.waiting > 0 && self.client.desk.replies.is_empty() {
            if self.waits_for_pass() {
                next_pass().await;
            }
            self.answer_kept()?;
        }
        self.client.desk.replies.receive().ok_or_else(misused)
    }

    #[inline]
    async fn commit(&mut self) -> Result<(), Stop> {
        if self.waiting > 0 {
            self.answer_kept()?;
        }
        if !self.client.session.is_open() {
            return Ok(());
        }
        let ticket = self.publish()?;
        self.complete(ticket).await
    }

    async fn abort(&mut self) {
        self.client.session.abort();
        self.client.desk.replies.clear();
        self.waiting = 0;
        self.change_memory();
    }

    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        self.begin(AccessPattern::Several);
        let mut last = None;
        for first in (0..batch.len()).step_by(LOAD_ROWS) {
            let rows = first..batch.len().min(first + LOAD_ROWS);
            let Client { session, tables, .. } = &mut self.client;
            last = Some(tables[table.0].load(session, batch, rows)?);
            self.staged();
        }
        // What is complete is a prefix: the last part's ticket answers for all.
        match last {
            Some(ticket) => self.complete(ticket).await,
            None => Ok(()),
        }
    }
}

#[cold]
fn misused() -> Stop {
    statement("no question waits for an answer, or a transaction that only reads writes")
}
