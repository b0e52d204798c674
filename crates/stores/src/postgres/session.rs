//! A client: transactions in as few round trips as they allow.
//!
//! Messages are appended to the connection's buffer, and `expected` queues the answer to each. A
//! *stretch* is the messages up to a Sync; the server ends its answer with `ReadyForQuery`, and after an
//! error skips the rest of the stretch.
//!
//! 1. `expected` is in wire order; its first `flushed` entries have been sent, and the last of those is
//!    `Ready`.
//! 2. Pipelined, everything that is written is one stretch and is sent at once; otherwise each
//!    statement is a stretch, and the next is sent once it is answered. The same holds for a user's
//!    independent statements: in one stretch they would be one transaction, and no statement may run
//!    after one that failed.
//! 3. Answers are read when they are requested, in order, so that the first error is the one reported.
//! 4. After an error, [`PostgresSession::abort`] discards unsent messages, reads outstanding answers to
//!    their end, and rolls back an open transaction.

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

/// An answer that is expected from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Bound(Bound),
    Operation(OperationId),
    /// The end of a stretch.
    Ready,
}

/// A client's session; the module describes its invariants.
#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each flag describes the current transaction, and all are independent"
)]
pub struct PostgresSession {
    pub(super) connection: Connection,
    prepared: Vec<Prepared>,
    /// How to load each table.
    pub(super) loads: Vec<super::load::Loading>,
    /// Set when rows were loaded, so that the next connection updates the statistics first.
    pub(super) loaded: Arc<AtomicBool>,
    pipeline: bool,
    pattern: AccessPattern,
    /// BEGIN was written.
    begun: bool,
    /// An operation of this transaction may have written.
    wrote: bool,
    /// Writes of this transaction that were sent alone and have been answered.
    writes: Vec<AnsweredWrite>,
    /// When the current single operation was sent.
    sent_at: Nanos,
    expected: VecDeque<Expected>,
    /// How many of these have been sent.
    flushed: usize,
    /// How many bytes of the connection's buffer have been sent.
    sent: usize,
    /// The ends of stretches that are written and not sent.
    stretches: VecDeque<usize>,
    /// Messages are written after the last stretch.
    open: bool,
    /// The rows that the last answer returned.
    rows: Rows,
    /// User's statements that were sent as text and can be prepared now.
    late: Vec<OperationId>,
    /// BEGIN, COMMIT and ROLLBACK are prepared.
    bounds_are_prepared: bool,
    /// A simple query that waits for its last statement.
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
            pattern: AccessPattern::Single,
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

    /// Writes the statement that begins or ends a transaction.
    #[inline]
    fn bound(&mut self, bound: Bound) -> Result<(), Stop> {
        let written = bound.write(self.bounds_are_prepared, &mut self.connection.out);
        written.map_err(|error| Failure::new(FailureKind::Statement, error.to_string()))?;
        self.expected.push_back(Expected::Bound(bound));
        self.open = true;
        if !self.is_pipelined() {
            self.end_stretch();
        }
        Ok(())
    }

    /// True if everything that is written is one stretch.
    #[inline]
    fn is_pipelined(&self) -> bool {
        self.pipeline && self.pattern != AccessPattern::AsWritten
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

    /// Sends the stretch of the first expected answer, unless it is sent already.
    #[inline]
    async fn send_first(&mut self) -> Result<(), Stop> {
        if self.flushed > 0 {
            return Ok(());
        }
        self.end_stretch();
        // Counted before sending: a send that fails midway may have sent a commit.
        if self.is_pipelined() {
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

    /// Reads the first expected answer and removes it from the queue. True if it is an answer of rows,
    /// which are then in `rows`.
    #[inline]
    async fn step(&mut self) -> Result<bool, Stop> {
        self.send_first().await?;
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
                        return Err(self.connection.garbled("too many rows").into());
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
                    let what = format!("message \"{}\" for {first:?}", other.escape_ascii());
                    return Err(self.connection.garbled(&what).into());
                }
            }
        };
        self.expected.pop_front();
        self.flushed -= 1;
        if let Expected::Operation(operation) = first
            && !self.is_pipelined()
        {
            self.answered(operation, answers);
        }
        checked.map(|()| answers)
    }

    /// Notes that an operation that was sent alone is answered; in a request of several, the next one
    /// begins at that time.
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
        Err(prepared.refused(id, "returned a row that does not have the prepared types"))
    }

    /// Takes the columns of a user's statement that was sent as text.
    fn columns_came(&mut self, id: OperationId) -> Result<(), Stop> {
        let prepared = &mut self.prepared[id.0];
        if !prepared.describe(self.connection.body()) {
            return Err(self.connection.garbled("the columns of an answer").into());
        }
        self.rows.reset(prepared.columns.len());
        Ok(())
    }

    /// Appends a statement of the simple protocol, and writes the request when it is complete.
    fn push_simple(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        self.end_stretch();
        let prepared = &self.prepared[operation.0];
        let [Value::Text(text)] = values else {
            return Err(prepared.refused(operation, "received a value that is not a text"));
        };
        self.request.push_str(text);
        if !text.ends_with(';') {
            let before = self.connection.out.len();
            let written = frontend::query(&self.request, &mut self.connection.out);
            self.request.clear();
            if let Err(why) = written {
                self.connection.out.truncate(before);
                let what = format!("received a text that cannot be sent: {why}");
                return Err(prepared.refused(operation, &what));
            }
        }
        self.wrote |= !prepared.answers;
        self.expected.push_back(Expected::Operation(operation));
        if self.request.is_empty() {
            // The server ends a simple query by itself, without a Sync.
            self.expected.push_back(Expected::Ready);
            self.stretches.push_back(self.connection.out.len());
        }
        Ok(())
    }

    /// Checks the server's completion tag for a begin or end of a transaction.
    #[inline]
    fn check(&mut self, bound: Bound) -> Result<(), Stop> {
        let answer = self.connection.body();
        if answer.strip_suffix(b"\0") == Some(bound.word().as_bytes()) {
            return Ok(());
        }
        let what = format!(
            "the server answered {} with {}: it rolled the transaction back",
            bound.word(),
            String::from_utf8_lossy(answer).trim_end_matches('\0')
        );
        Err(Failure::new(FailureKind::Statement, what).into())
    }

    /// Handles an error of the server: the rest of its stretch will not be answered.
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

    /// Handles a lost connection; an outstanding commit may have been executed.
    #[cold]
    fn lost(&mut self, failure: Failure) -> Stop {
        if self.commit_may_be_done() { Stop::Unknown(Box::new(failure)) } else { failure.into() }
    }

    /// True if a commit was sent and not acknowledged.
    fn commit_may_be_done(&self) -> bool {
        let mut gone = self.expected.iter().take(self.flushed);
        match self.pattern {
            AccessPattern::Single => self.wrote && self.flushed > 0,
            AccessPattern::AsWritten => self.flushed > 0,
            AccessPattern::ReadOnly => false,
            AccessPattern::Several => {
                self.wrote && gone.any(|one| *one == Expected::Bound(Bound::Commit))
            }
        }
    }

    /// Reads all expected answers.
    #[inline]
    async fn finish(&mut self) -> Result<(), Stop> {
        while !self.expected.is_empty() || self.open {
            self.step().await?;
        }
        Ok(())
    }

    /// Reads all outstanding answers, and ignores errors.
    async fn drain(&mut self) {
        while self.flushed > 0 && !self.connection.broken {
            // The first error was reported when it occurred.
            if self.step().await.is_err() && self.connection.broken {
                return;
            }
        }
    }

    /// Prepares statements that were sent as text, where that is possible by now.
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
    fn begin(&mut self, pattern: AccessPattern) {
        self.pattern = pattern;
        self.begun = false;
        self.wrote = false;
        self.writes.clear();
    }

    #[inline]
    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        if self.connection.broken {
            let what = "the connection was lost earlier";
            return Err(Failure::new(FailureKind::Connection, what).into());
        }
        if !self.begun && matches!(self.pattern, AccessPattern::Several | AccessPattern::ReadOnly) {
            self.bound(Bound::Begin)?;
            self.begun = true;
        }
        let prepared = &self.prepared[operation.0];
        if prepared.is_simple() {
            return self.push_simple(operation, values);
        }
        prepared.write(operation, values, &mut self.connection.out)?;
        self.wrote |= !prepared.answers;
        if prepared.is_late() {
            self.late.push(operation);
        }
        self.expected.push_back(Expected::Operation(operation));
        self.open = true;
        if !self.is_pipelined() {
            self.end_stretch();
        }
        Ok(())
    }

    #[inline]
    async fn receive(&mut self) -> Result<&Rows, Stop> {
        loop {
            if self.expected.is_empty() && !self.open {
                let what = "no operation is waiting for an answer";
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
            let what = "a script left a transaction open: each run of it must end the transactions that it begins";
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
            // The session's state is unknown, so it must not be used again.
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
