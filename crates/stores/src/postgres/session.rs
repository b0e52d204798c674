//! A client: transactions in as few round trips as they allow.
//!
//! What is sent is written one after another into the connection's buffer, and for each piece stands in
//! `expected` what will be answered. A *stretch* ends with a Sync; the server answers it with its
//! readiness, and after an error passes over the rest of it.
//!
//! 1. `expected` is in the order of the wire; its first `flushed` entries have gone out, and end with a
//!    readiness.
//! 2. Pipelined, everything that is written is one stretch and goes at once; else each statement is a
//!    stretch of its own, and the next goes when it is answered. So do statements of a user's that stand
//!    for themselves: in one stretch they would be one transaction, and none may be run after one that
//!    failed.
//! 3. Answers are read when they are asked for. An error is found where it stands, so that the one that
//!    is told is the first.
//! 4. After an error, [`PostgresSession::abort`] forgets what was not sent, reads what is under way to its
//!    end, and rolls back what is open.

use super::failure::ServerError;
use super::prepared::{Bound, Prepared, prepare_late};
use super::protocol::{Connection, MESSAGE_MAX, Status, tag};
use postgres_protocol::message::frontend;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_contract::{
    AccessPattern, AnsweredWrite, Failure, FailureKind, OperationId, Plan, Protocol, Rows, Session,
    Stop, TableId, Value,
};
use syncline_instrument::{Nanos, clock};

/// What the server will answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Bound(Bound),
    Operation(OperationId),
    /// The end of a stretch.
    Ready,
}

/// See the module.
#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each says one thing of the transaction under way, and none excludes another"
)]
pub struct PostgresSession {
    pub(super) connection: Connection,
    prepared: Vec<Prepared>,
    /// What loads each table.
    pub(super) loads: Vec<super::load::Loading>,
    /// Set when rows were loaded, so that who connects next makes statistics of them.
    pub(super) loaded: Arc<AtomicBool>,
    pipeline: bool,
    shape: AccessPattern,
    /// BEGIN was written.
    begun: bool,
    /// An operation of this transaction may have written.
    wrote: bool,
    /// Its writes that went out by themselves and are answered.
    writes: Vec<AnsweredWrite>,
    /// When the operation that is under way by itself went out.
    sent_at: Nanos,
    expected: VecDeque<Expected>,
    /// Of these, how many are on their way.
    flushed: usize,
    /// How much of the connection's buffer has gone out.
    sent: usize,
    /// Where the stretches end that are written and have not gone out.
    stretches: VecDeque<usize>,
    /// Something is written behind the last stretch.
    open: bool,
    /// The answer that is lent.
    rows: Rows,
    /// User's statements that went as their text and can be prepared now.
    late: Vec<OperationId>,
    /// What begins and ends transactions is prepared.
    bounds_are_prepared: bool,
    /// Texts of the simple protocol that wait for the last one of their request.
    request: String,
}

impl PostgresSession {
    /// On a connection whose statements are prepared.
    pub(super) fn new(
        connection: Connection,
        prepared: Vec<Prepared>,
        loads: Vec<super::load::Loading>,
        loaded: Arc<AtomicBool>,
        plan: &Plan,
    ) -> PostgresSession {
        PostgresSession {
            connection,
            prepared,
            loads,
            loaded,
            pipeline: plan.pipeline,
            shape: AccessPattern::Single,
            begun: false,
            wrote: false,
            writes: Vec::new(),
            sent_at: 0,
            expected: VecDeque::new(),
            flushed: 0,
            sent: 0,
            stretches: VecDeque::new(),
            open: false,
            rows: Rows::default(),
            late: Vec::new(),
            bounds_are_prepared: plan.protocol == Protocol::Prepared,
            request: String::new(),
        }
    }

    /// Writes what begins or ends a transaction.
    #[inline]
    fn bound(&mut self, bound: Bound) -> Result<(), Stop> {
        let written = bound.write(self.bounds_are_prepared, &mut self.connection.out);
        written.map_err(|error| Failure::new(FailureKind::Statement, error.to_string()))?;
        self.expected.push_back(Expected::Bound(bound));
        self.open = true;
        if !self.goes_at_once() {
            self.end_stretch();
        }
        Ok(())
    }

    /// True if what is written goes as one stretch.
    #[inline]
    fn goes_at_once(&self) -> bool {
        self.pipeline && self.shape != AccessPattern::AsWritten
    }

    #[inline]
    fn end_stretch(&mut self) {
        if self.open {
            frontend::sync(&mut self.connection.out);
            self.expected.push_back(Expected::Ready);
            self.stretches.push_back(self.connection.out.len());
            self.open = false;
        }
    }

    /// Sees to it that what is expected first is on its way.
    #[inline]
    async fn go(&mut self) -> Result<(), Stop> {
        if self.flushed > 0 {
            return Ok(());
        }
        self.end_stretch();
        // Counted before it goes: who fails in the middle may have sent a commit.
        if self.goes_at_once() {
            self.flushed = self.expected.len();
            self.stretches.clear();
            let flushed = self.connection.flush().await;
            return flushed.map_err(|failure| self.lost(failure));
        }
        let first = self.expected.iter().position(|one| *one == Expected::Ready);
        let (Some(first), Some(end)) = (first, self.stretches.pop_front()) else {
            return Ok(());
        };
        self.flushed = first + 1;
        self.sent_at = clock::now();
        let flushed = self.connection.flush_part(self.sent..end).await;
        self.sent = end;
        if self.stretches.is_empty() {
            self.connection.out.clear();
            self.sent = 0;
        }
        flushed.map_err(|failure| self.lost(failure))
    }

    /// Reads the answer to what is expected first, and takes it off. True if it is an answer of rows,
    /// which then stand in `rows`.
    #[inline]
    async fn step(&mut self) -> Result<bool, Stop> {
        self.go().await?;
        let Some(first) = self.expected.front().copied() else {
            return Ok(false);
        };
        let answers = match first {
            Expected::Operation(id) => {
                let prepared = &self.prepared[id.0];
                self.rows.reset(prepared.width());
                prepared.answers
            }
            Expected::Bound(_) | Expected::Ready => false,
        };
        let mut bytes = 0;
        let checked = loop {
            let tag = match self.connection.next().await {
                Ok(tag) => tag,
                Err(failure) => return Err(self.lost(failure)),
            };
            match (tag, first) {
                (tag::BIND_COMPLETE | tag::PARSE_COMPLETE | tag::NO_DATA | tag::PARAMETERS, _) => {}
                (tag::DATA_ROW, Expected::Operation(id)) => {
                    bytes += self.connection.message().len();
                    if bytes > MESSAGE_MAX {
                        return Err(self.connection.garbled("rows without end").into());
                    }
                    self.row(id)?;
                }
                (tag::COMMAND_COMPLETE, Expected::Operation(id)) => {
                    break self.prepared[id.0].check(id, self.connection.body());
                }
                (tag::COMMAND_COMPLETE, Expected::Bound(bound)) => break self.check(bound),
                (tag::READY, Expected::Ready) => {
                    self.connection.note_status()?;
                    break Ok(());
                }
                (tag::ROWS, Expected::Operation(id)) => self.columns_came(id)?,
                (tag::EMPTY_QUERY, Expected::Operation(_)) => break Ok(()),
                (tag::ERROR, _) => return Err(self.refused(first)),
                (other, _) => {
                    let what = format!("a message \"{}\" for {first:?}", other.escape_ascii());
                    return Err(self.connection.garbled(&what).into());
                }
            }
        };
        self.expected.pop_front();
        self.flushed -= 1;
        if let Expected::Operation(operation) = first
            && !self.goes_at_once()
        {
            self.answered(operation, answers);
        }
        checked.map(|()| answers)
    }

    /// An operation that went out by itself is answered; of a request of several, the next begins then.
    #[inline]
    fn answered(&mut self, operation: OperationId, answers: bool) {
        let (sent, answered) = (self.sent_at, clock::now());
        self.sent_at = answered;
        if !answers {
            self.writes.push(AnsweredWrite { operation, sent, answered });
        }
    }

    #[inline]
    fn row(&mut self, id: OperationId) -> Result<(), Stop> {
        let prepared = &self.prepared[id.0];
        if !prepared.answers || prepared.push(self.connection.body(), &mut self.rows) {
            return Ok(());
        }
        Err(prepared.refused(id, "answered a row of other types than were prepared"))
    }

    /// Of a user's statement that went as its text.
    fn columns_came(&mut self, id: OperationId) -> Result<(), Stop> {
        let prepared = &mut self.prepared[id.0];
        if !prepared.describe(self.connection.body()) {
            return Err(self.connection.garbled("the columns of an answer").into());
        }
        self.rows.reset(prepared.columns.len());
        Ok(())
    }

    /// Writes a text of the simple protocol, which is a request, or waits for the rest of one.
    fn say(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        self.end_stretch();
        let prepared = &self.prepared[operation.0];
        let [Value::Text(text)] = values else {
            return Err(prepared.refused(operation, "was given no text"));
        };
        self.request.push_str(text);
        if !text.ends_with(';') {
            let before = self.connection.out.len();
            let written = frontend::query(&self.request, &mut self.connection.out);
            self.request.clear();
            if let Err(why) = written {
                self.connection.out.truncate(before);
                let what = format!("was given a text that cannot be sent: {why}");
                return Err(prepared.refused(operation, &what));
            }
        }
        self.wrote |= !prepared.answers;
        self.expected.push_back(Expected::Operation(operation));
        if self.request.is_empty() {
            // The server ends it by itself, without a Sync.
            self.expected.push_back(Expected::Ready);
            self.stretches.push_back(self.connection.out.len());
        }
        Ok(())
    }

    /// Holds the server's word for the beginning or end of a transaction to what was asked.
    #[inline]
    fn check(&mut self, bound: Bound) -> Result<(), Stop> {
        let said = self.connection.body();
        if said.strip_suffix(b"\0") == Some(bound.word().as_bytes()) {
            return Ok(());
        }
        let what = format!(
            "the server answered {} with {}: it undid the transaction",
            bound.word(),
            String::from_utf8_lossy(said).trim_end_matches('\0')
        );
        Err(Failure::new(FailureKind::Statement, what).into())
    }

    /// An error of the server: the rest of its stretch will not be answered.
    #[cold]
    fn refused(&mut self, first: Expected) -> Stop {
        let unknown = self.commit_may_be_done();
        let error: ServerError = self.connection.error();
        while self.flushed > 0 && self.expected.front() != Some(&Expected::Ready) {
            self.expected.pop_front();
            self.flushed -= 1;
        }
        match first {
            Expected::Operation(id) => {
                let name = self.prepared[id.0].name.as_str();
                error.stop(Some((id, name)), "", unknown)
            }
            Expected::Bound(bound) => error.stop(None, bound.word(), unknown),
            Expected::Ready => error.stop(None, "commit", unknown),
        }
    }

    /// A lost connection; what was under way may have been committed.
    #[cold]
    fn lost(&mut self, failure: Failure) -> Stop {
        if self.commit_may_be_done() { Stop::Unknown(Box::new(failure)) } else { failure.into() }
    }

    /// True if a commit has gone out that nobody has acknowledged.
    fn commit_may_be_done(&self) -> bool {
        let mut gone = self.expected.iter().take(self.flushed);
        match self.shape {
            AccessPattern::Single => self.wrote && self.flushed > 0,
            AccessPattern::AsWritten => self.flushed > 0,
            AccessPattern::ReadOnly => false,
            AccessPattern::Several => {
                self.wrote && gone.any(|one| *one == Expected::Bound(Bound::Commit))
            }
        }
    }

    /// Reads everything that is expected.
    #[inline]
    async fn finish(&mut self) -> Result<(), Stop> {
        while !self.expected.is_empty() || self.open {
            self.step().await?;
        }
        Ok(())
    }

    /// Reads what is under way to its end, whatever it says.
    async fn drain(&mut self) {
        while self.flushed > 0 && !self.connection.broken {
            // The error that matters was told when it was met.
            if self.step().await.is_err() && self.connection.broken {
                return;
            }
        }
    }

    /// Prepares statements that went as their text, where they can be by now.
    #[cold]
    async fn prepare_late(&mut self) -> Result<(), Stop> {
        while let Some(id) = self.late.pop() {
            let one = &mut self.prepared[id.0];
            if one.is_late() {
                prepare_late(&mut self.connection, id, one).await?;
            }
        }
        Ok(())
    }
}

impl Session for PostgresSession {
    #[inline]
    fn begin(&mut self, shape: AccessPattern) {
        self.shape = shape;
        self.begun = false;
        self.wrote = false;
        self.writes.clear();
    }

    #[inline]
    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        if self.connection.broken {
            let what = "the connection was lost before";
            return Err(Failure::new(FailureKind::Connection, what).into());
        }
        if !self.begun && matches!(self.shape, AccessPattern::Several | AccessPattern::ReadOnly) {
            self.bound(Bound::Begin)?;
            self.begun = true;
        }
        let prepared = &self.prepared[operation.0];
        if prepared.is_simple() {
            return self.say(operation, values);
        }
        prepared.write(operation, values, &mut self.connection.out)?;
        self.wrote |= !prepared.answers;
        if prepared.is_late() {
            self.late.push(operation);
        }
        self.expected.push_back(Expected::Operation(operation));
        self.open = true;
        if !self.goes_at_once() {
            self.end_stretch();
        }
        Ok(())
    }

    #[inline]
    async fn receive(&mut self) -> Result<&Rows, Stop> {
        loop {
            if self.expected.is_empty() && !self.open {
                let what = "no question waits for an answer";
                return Err(Failure::new(FailureKind::Statement, what).into());
            }
            if self.step().await? {
                return Ok(&self.rows);
            }
        }
    }

    #[inline]
    fn answered_writes(&mut self) -> Option<&mut Vec<AnsweredWrite>> {
        Some(&mut self.writes)
    }

    #[inline]
    async fn commit(&mut self) -> Result<(), Stop> {
        if self.begun {
            self.bound(Bound::Commit)?;
        }
        self.finish().await?;
        self.begun = false;
        if self.connection.status != Status::Idle {
            let what = "a script left a transaction open: each run of it must end what it begins";
            return Err(Failure::new(FailureKind::Statement, what).into());
        }
        if !self.late.is_empty() {
            self.prepare_late().await?;
        }
        Ok(())
    }

    async fn abort(&mut self) {
        self.expected.truncate(self.flushed);
        self.connection.out.clear();
        self.stretches.clear();
        self.late.clear();
        self.request.clear();
        (self.sent, self.open, self.begun) = (0, false, false);
        self.drain().await;
        if self.connection.broken || self.connection.status == Status::Idle {
            return;
        }
        if self.bound(Bound::Rollback).is_err() || self.finish().await.is_err() {
            // Whatever state it is in, nobody shall go on in it.
            self.connection.broken = true;
        }
    }

    fn columns(&self, operation: OperationId) -> Option<Vec<String>> {
        let columns = self.prepared[operation.0].columns.iter();
        Some(columns.map(|column| column.name.clone()).collect())
    }

    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        self.copy(table, batch).await?;
        self.loaded.store(true, Ordering::Release);
        Ok(())
    }
}
