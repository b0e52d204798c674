//! A client: commands are queued, sent together when an answer is needed, and answered in order.
//!
//! The server executes each command regardless of the one before it: unlike PostgreSQL, it does not
//! skip the rest of a pipeline after an error. Therefore:
//!
//! 1. Transactions of several operations run under `autocommit=0`. A deadlock rolls the transaction
//!    back at once; under `autocommit=1` the commands after it in the pipeline would each commit alone.
//!    Under `autocommit=0` they begin a transaction, which the abort rolls back.
//! 2. COMMIT is sent only after every write is answered: after a failed write it would commit the rest.
//!    Only where a transaction has at most one write is COMMIT sent together with it: if that write
//!    fails, there is nothing to commit.
//! 3. A user's statements end transactions themselves. They, and plans without pipelining, are sent one
//!    by one: each after the answer to the one before.
//! 4. No part of a command is in the stream before it is to be sent, so that dropping or aborting a
//!    session discards the unsent ones.
//! 5. An abort reads every outstanding answer, then rolls back, so that the session is usable again; a
//!    session with a lost connection returns an error at the next `send`.

use super::connection::{Connection, put_query};
use super::failure::stop;
use super::load::Loads;
use super::prepared::{Prepared, SendMode};
use super::reply::{End, Form};
use crate::transaction_phase::TransactionPhase;
use std::collections::VecDeque;
use syncline_contract::{
    AccessPattern, AnsweredWrite, Failure, FailureKind, Name, OperationId, Replies, Rows, Session,
    Stop, TableId, Value,
};
use syncline_instrument::{Nanos, clock};

/// A command that begins or ends a transaction; its answer has no rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    Autocommit(bool),
    Commit,
    Rollback,
}

impl Control {
    fn text(self) -> &'static str {
        match self {
            Control::Autocommit(true) => "SET autocommit=1",
            Control::Autocommit(false) => "SET autocommit=0",
            Control::Commit => "COMMIT",
            Control::Rollback => "ROLLBACK",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    Operation(OperationId),
    Control(Control),
}

/// A command that has not been answered.
#[derive(Clone, Copy, Debug)]
struct Pending {
    what: Command,
    /// The number of its bytes in `commands`; 0 once it is sent.
    unsent: usize,
}

/// A client's session; the module describes its invariants.
#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each flag describes something different: plan, transaction, server or connection"
)]
pub struct MysqlSession {
    connection: Connection,
    operations: Vec<Prepared>,
    loads: Loads,
    replies: Replies,
    /// Answers in `replies` that the client has not received.
    ready: usize,
    /// Oldest first.
    pending: VecDeque<Pending>,
    /// Encoded and unsent commands, oldest first; the front is at `commands_at`.
    commands: Vec<u8>,
    commands_at: usize,
    pattern: AccessPattern,
    /// True if the plan allows commands to share a round trip.
    pipelines: bool,
    /// True from the first operation of a transaction to its end.
    started: bool,
    /// Writes of the transaction so far.
    writes: usize,
    /// The writes that were sent alone and have been answered.
    answered: Vec<AnsweredWrite>,
    /// When the current single command was sent.
    sent_at: Nanos,
    /// The value of `autocommit` once everything queued has been executed.
    autocommit: bool,
    /// True if the last answer left a transaction open.
    in_transaction: bool,
    /// Set once the connection is unusable.
    lost: bool,
}

impl MysqlSession {
    /// On a configured connection with prepared operations, under `autocommit=1`.
    pub(super) fn new(
        connection: Connection,
        operations: Vec<Prepared>,
        loads: Loads,
        pipelines: bool,
    ) -> MysqlSession {
        MysqlSession {
            connection,
            operations,
            loads,
            replies: Replies::default(),
            ready: 0,
            pending: VecDeque::new(),
            commands: Vec::new(),
            commands_at: 0,
            pattern: AccessPattern::Single,
            pipelines,
            started: false,
            writes: 0,
            answered: Vec::new(),
            sent_at: 0,
            autocommit: true,
            in_transaction: false,
            lost: false,
        }
    }

    /// True if commands are sent one by one.
    #[inline]
    fn one_by_one(&self) -> bool {
        !self.pipelines || self.pattern == AccessPattern::AsWritten
    }

    /// True if the transaction ends with its operation or by a user's statement.
    #[inline]
    fn ends_itself(&self) -> bool {
        matches!(self.pattern, AccessPattern::Single | AccessPattern::AsWritten)
    }

    fn queue_control(&mut self, control: Control) {
        let before = self.commands.len();
        put_query(&mut self.commands, control.text());
        self.pending.push_back(Pending {
            what: Command::Control(control),
            unsent: self.commands.len() - before,
        });
        if let Control::Autocommit(on) = control {
            self.autocommit = on;
        }
    }

    #[inline]
    fn start(&mut self) -> Result<(), Stop> {
        if self.lost {
            return Err(lost());
        }
        if self.autocommit != self.ends_itself() {
            self.queue_control(Control::Autocommit(self.ends_itself()));
        }
        self.started = true;
        Ok(())
    }

    /// Sends all queued commands, or the next one.
    #[inline]
    async fn send_next(&mut self) -> Result<(), Stop> {
        if self.one_by_one() {
            let Some(front) = self.pending.front().copied() else {
                return Ok(());
            };
            let (start, end) = (self.commands_at, self.commands_at + front.unsent);
            if let Command::Operation(id) = front.what
                && self.operations[id.0].send_mode == SendMode::Late
            {
                self.prepare_late(id, start).await?;
            }
            let out = self.connection.queue();
            out.extend_from_slice(&self.commands[start..end]);
            self.commands_at = end;
            self.pending[0].unsent = 0;
            self.sent_at = clock::now();
        } else {
            let out = self.connection.queue();
            out.extend_from_slice(&self.commands[self.commands_at..]);
            self.commands_at = self.commands.len();
            for pending in &mut self.pending {
                pending.unsent = 0;
            }
        }
        if self.commands_at == self.commands.len() {
            self.commands.clear();
            self.commands_at = 0;
        }
        let sent = self.connection.flush().await;
        sent.map_err(|failure| self.lose(failure))
    }

    /// Prepares a user's statement whose table did not exist when the session was opened.
    #[cold]
    async fn prepare_late(&mut self, id: OperationId, at: usize) -> Result<(), Stop> {
        let operation = &mut self.operations[id.0];
        let prepared = operation.prepare_late(&mut self.connection).await;
        match prepared {
            Ok(Ok(())) => {
                operation.write_statement_id(&mut self.commands[at..]);
                Ok(())
            }
            Ok(Err(error)) => {
                Err(stop(&error, TransactionPhase::Operation(id, &operation.operation.name)))
            }
            Err(failure) => Err(self.lose(failure)),
        }
    }

    /// Reads the answer to the oldest command.
    #[inline]
    async fn take_next(&mut self) -> Result<(), Stop> {
        let Some(front) = self.pending.front().copied() else {
            return Err(no_operation_pending());
        };
        if front.unsent > 0 {
            self.send_next().await?;
        }
        let taken = match front.what {
            Command::Operation(id) => self.take_operation(id).await,
            Command::Control(control) => self.take_control(control).await,
        };
        if !self.lost {
            self.pending.pop_front();
        }
        taken
    }

    #[inline]
    async fn take_operation(&mut self, id: OperationId) -> Result<(), Stop> {
        let operation = &mut self.operations[id.0];
        let form = match operation.send_mode {
            SendMode::Text => Form::Text,
            SendMode::Prepared(_) | SendMode::Late => Form::Binary,
        };
        let mut discarded = Rows::default();
        let rows = if operation.answers {
            self.replies.push(operation.answer.len())
        } else {
            &mut discarded
        };
        let (columns, kinds) = (&mut operation.columns, &operation.answer);
        let end = self.connection.read(form, columns, kinds, rows).await;
        match end {
            Ok(End::Success { affected, in_transaction }) => {
                self.in_transaction = in_transaction;
                if operation.changes_one && affected == 0 {
                    let what = "changed no row where its key identifies one";
                    return Err(operation.refused(id, what));
                }
                self.ready += usize::from(operation.answers);
                if !operation.answers && self.one_by_one() {
                    self.answered.push(AnsweredWrite {
                        operation: id,
                        sent: self.sent_at,
                        answered: clock::now(),
                    });
                }
                Ok(())
            }
            Ok(End::Error(error)) => {
                operation.forget_types();
                let name: &Name = &operation.operation.name;
                let whole = self.pattern == AccessPattern::Single && !operation.answers;
                let during = if whole {
                    TransactionPhase::WholeTransaction(id, name)
                } else {
                    TransactionPhase::Operation(id, name)
                };
                Err(stop(&error, during))
            }
            Err(failure) => Err(self.lose(failure.in_operation(id))),
        }
    }

    async fn take_control(&mut self, control: Control) -> Result<(), Stop> {
        let mut columns = Vec::new();
        let mut rows = Rows::default();
        let end = self.connection.read(Form::Text, &mut columns, &[], &mut rows).await;
        match end {
            Ok(End::Success { in_transaction, .. }) => {
                self.in_transaction = in_transaction;
                Ok(())
            }
            Ok(End::Error(error)) => {
                let during = match control {
                    Control::Commit => TransactionPhase::Commit,
                    Control::Autocommit(_) | Control::Rollback => TransactionPhase::Begin,
                };
                Err(stop(&error, during))
            }
            Err(failure) => Err(self.lose(failure)),
        }
    }

    /// Handles a lost connection: the outcome of the transaction is unknown if its commit, or an
    /// operation that commits by itself, was in flight.
    #[cold]
    fn lose(&mut self, failure: Failure) -> Stop {
        self.lost = true;
        let may_have_committed = self.pending.iter().any(|pending| {
            pending.unsent == 0
                && match pending.what {
                    Command::Operation(id) => self.ends_itself() && !self.operations[id.0].answers,
                    Command::Control(control) => control == Control::Commit && self.writes > 0,
                }
        });
        if may_have_committed { Stop::Unknown(Box::new(failure)) } else { failure.into() }
    }

    /// Reads every outstanding answer.
    #[inline]
    async fn take_all(&mut self) -> Result<(), Stop> {
        while !self.pending.is_empty() {
            self.take_next().await?;
        }
        Ok(())
    }

    /// Discards unsent commands, reads outstanding answers, and rolls back.
    async fn undo(&mut self) -> Result<(), Stop> {
        while self.pending.back().is_some_and(|last| last.unsent > 0) {
            let forgotten = self.pending.pop_back();
            match forgotten.map(|pending| pending.what) {
                Some(Command::Control(Control::Autocommit(on))) => self.autocommit = !on,
                Some(Command::Operation(id)) => self.operations[id.0].forget_types(),
                _ => {}
            }
        }
        self.commands.clear();
        self.commands_at = 0;
        while !self.pending.is_empty() && !self.lost {
            // The first error is the cause; the later ones are its consequences.
            drop(self.take_next().await);
        }
        if self.lost || (self.pattern == AccessPattern::Single && !self.in_transaction) {
            return Ok(());
        }
        self.queue_control(Control::Rollback);
        self.take_all().await
    }

    /// Loads rows in a transaction of its own.
    async fn load_batch(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        self.begin(AccessPattern::Several);
        self.start()?;
        self.take_all().await?;
        let loaded = self.loads.send(&mut self.connection, table, batch).await;
        if let Err(Stop::Failed(failure)) = &loaded
            && failure.kind == FailureKind::Connection
        {
            self.lost = true;
        }
        loaded?;
        self.writes = 1;
        self.queue_control(Control::Commit);
        self.take_all().await?;
        self.started = false;
        Ok(())
    }
}

impl Session for MysqlSession {
    #[inline]
    fn begin(&mut self, pattern: AccessPattern) {
        self.pattern = pattern;
        self.started = false;
        self.writes = 0;
        self.answered.clear();
        self.ready = 0;
        self.replies.clear();
    }

    #[inline]
    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        if !self.started {
            self.start()?;
        }
        let before = self.commands.len();
        let prepared = &mut self.operations[operation.0];
        prepared.encode(operation, values, &mut self.commands)?;
        self.writes += usize::from(!prepared.answers);
        self.pending.push_back(Pending {
            what: Command::Operation(operation),
            unsent: self.commands.len() - before,
        });
        Ok(())
    }

    #[inline]
    async fn receive(&mut self) -> Result<&Rows, Stop> {
        while self.ready == 0 {
            self.take_next().await?;
        }
        self.ready -= 1;
        self.replies.receive().ok_or_else(no_operation_pending)
    }

    #[inline]
    fn answered_writes(&mut self) -> Option<&mut Vec<AnsweredWrite>> {
        Some(&mut self.answered)
    }

    #[inline]
    async fn commit(&mut self) -> Result<(), Stop> {
        if !self.started {
            return Ok(());
        }
        if !self.ends_itself() {
            if self.writes > 1 {
                self.take_all().await?;
            }
            self.queue_control(Control::Commit);
        }
        self.take_all().await?;
        self.started = false;
        if self.pattern == AccessPattern::AsWritten && self.in_transaction {
            return Err(left_open());
        }
        Ok(())
    }

    async fn abort(&mut self) {
        self.ready = 0;
        self.replies.clear();
        if self.started || !self.pending.is_empty() {
            // A failed rollback makes the connection unusable.
            if self.undo().await.is_err() {
                self.lost = true;
            }
        }
        self.replies.clear();
        self.ready = 0;
        self.started = false;
    }

    fn columns(&self, operation: OperationId) -> Option<Vec<String>> {
        Some(self.operations[operation.0].names.clone())
    }

    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        let loaded = self.load_batch(table, batch).await;
        if loaded.is_err() {
            self.abort().await;
        }
        loaded
    }
}

#[cold]
fn left_open() -> Stop {
    let what =
        "a script left a transaction open: each run of it must end the transactions that it begins";
    Failure::new(FailureKind::Statement, what).into()
}

#[cold]
fn no_operation_pending() -> Stop {
    Failure::new(FailureKind::Statement, "no operation is waiting for an answer").into()
}

#[cold]
fn lost() -> Stop {
    let what = "the connection was lost, and this session can no longer be used";
    Failure::new(FailureKind::Connection, what).into()
}
