//! The queue: one connection for all clients of a worker, one COMMIT for all that are ready.
//!
//! States of the connection, and the transitions between them:
//!
//! | state | meaning | left by |
//! |---|---|---|
//! | idle | no transaction is open | the first operation of a client: BEGIN IMMEDIATE |
//! | running | one client's transaction, inside a savepoint (a single operation needs none) | its commit: RELEASE; its abort: ROLLBACK TO |
//! | gathered | clients wait whose savepoints are released | the next client, or the end of the pass: COMMIT |
//!
//! Invariants:
//! 1. At most one client's transaction is running. A second one that would start meanwhile is a
//!    conflict (`locked`): its work would become part of the other's savepoint.
//! 2. A client's commit completes only with the COMMIT that included it, or with the error that ended
//!    the whole group: SQLite rolls back everything after some errors.
//! 3. The COMMIT never runs while a client's transaction is running; it then follows the end of that
//!    transaction.
//! 4. A client that reads what an earlier one of the group wrote commits in the same COMMIT, so the
//!    order of transactions is the order of their savepoints.

use super::execute::{Connected, Control};
use super::session::no_operation_pending;
use super::settings::Settings;
use std::cell::RefCell;
use std::future::poll_fn;
use std::path::PathBuf;
use std::rc::Rc;
use std::task::{Poll, Waker};
use syncline_contract::{
    AccessPattern, Cause, Failure, FailureKind, OperationId, Plan, Replies, Rows, Session, Stop,
    TableId, TargetResult, Value, Worker,
};

/// A worker's queue, shared with its sessions.
#[derive(Debug)]
pub struct QueueWorker {
    path: PathBuf,
    settings: Settings,
    group: Rc<RefCell<Group>>,
}

impl QueueWorker {
    pub(super) fn new(path: PathBuf, settings: Settings) -> QueueWorker {
        QueueWorker { path, settings, group: Rc::default() }
    }

    /// Opens a session on the worker's connection, which the first session of a plan opens.
    pub(super) fn connect(&self, plan: &Plan) -> TargetResult<QueueSession> {
        let mut group = self.group.borrow_mut();
        match &group.connected {
            None => {
                group.connected = Some(Connected::open(&self.path, &self.settings, plan)?);
            }
            Some(connected) if connected.serves(plan) => {}
            Some(_) => {
                let what = "a queue's connection serves the plan of its first client only";
                return Err(Failure::new(FailureKind::Statement, what));
            }
        }
        drop(group);
        Ok(QueueSession {
            group: Rc::clone(&self.group),
            member: Rc::default(),
            replies: Replies::default(),
            pattern: AccessPattern::Single,
            running: false,
        })
    }
}

impl Worker for QueueWorker {
    #[inline]
    fn pass_ended(&self) {
        self.group.borrow_mut().pass_ended();
    }
}

/// A client's membership in the group.
#[derive(Debug, Default)]
struct Member {
    fate: RefCell<Fate>,
}

/// The state of a member's commit.
#[derive(Debug, Default)]
enum Fate {
    /// No commit is pending.
    #[default]
    Idle,
    /// It waits for the group's COMMIT.
    Waits(Option<Waker>),
    /// The group has ended.
    Ended(Result<(), Stop>),
}

/// The connection and the members that wait for its COMMIT.
#[derive(Debug, Default)]
struct Group {
    connected: Option<Connected>,
    /// True while a client's transaction is running.
    running: bool,
    /// True if a pass ended while a transaction was running (invariant 3).
    commit_due: bool,
    waiting: Vec<Rc<Member>>,
}

impl Group {
    fn connected(&mut self) -> &mut Connected {
        self.connected.as_mut().expect("a session exists only after its connection was opened")
    }

    /// Starts a client's transaction, and the group's if it is the first.
    #[inline]
    fn start(&mut self, pattern: AccessPattern) -> Result<(), Stop> {
        if self.running {
            return Err(Stop::Conflict(Cause::Locked));
        }
        if self.connected().is_autocommit() {
            self.connected().control(Control::BeginImmediate)?;
        }
        if pattern != AccessPattern::Single {
            self.connected().control(Control::Savepoint)?;
        }
        self.running = true;
        Ok(())
    }

    #[inline]
    fn run(
        &mut self,
        operation: OperationId,
        values: &[Value<'_>],
        replies: &mut Replies,
    ) -> Result<(), Stop> {
        let done = self.connected().run(operation, values, false, replies);
        if let Err(stop) = &done
            && self.connected().is_autocommit()
        {
            // SQLite has rolled back the whole group, not only this statement.
            self.complete_all(Err(stop));
        }
        done
    }

    /// Ends a client's transaction and adds it to the waiting members.
    #[inline]
    fn release(&mut self, pattern: AccessPattern, member: &Rc<Member>) -> Result<(), Stop> {
        if pattern != AccessPattern::Single {
            self.connected().control(Control::Release)?;
        }
        self.running = false;
        member.fate.replace(Fate::Waits(None));
        self.waiting.push(Rc::clone(member));
        self.commit_if_due();
        Ok(())
    }

    /// Rolls back a client's running transaction.
    fn undo(&mut self, pattern: AccessPattern) {
        self.running = false;
        if pattern != AccessPattern::Single && !self.connected().is_autocommit() {
            let undone = self
                .connected()
                .control(Control::RollbackTo)
                .and_then(|()| self.connected().control(Control::Release));
            if let Err(stop) = undone {
                // A transaction that cannot be rolled back alone must not be committed with the others.
                self.rollback();
                self.complete_all(Err(&stop));
            }
        }
        self.commit_if_due();
    }

    #[inline]
    fn pass_ended(&mut self) {
        if self.running {
            self.commit_due = true;
        } else {
            self.commit();
        }
    }

    fn commit_if_due(&mut self) {
        if std::mem::take(&mut self.commit_due) {
            self.commit();
        }
    }

    /// Commits the open group and completes all waiting members.
    fn commit(&mut self) {
        let Some(connected) = &mut self.connected else {
            return;
        };
        if connected.is_autocommit() {
            return;
        }
        let committed = connected.control(Control::Commit);
        if committed.is_err() {
            self.rollback();
        }
        self.complete_all(committed.as_ref().copied());
    }

    fn rollback(&mut self) {
        if !self.connected().is_autocommit() {
            // If it fails, the transaction stays open and the next statement returns an error.
            drop(self.connected().control(Control::Rollback));
        }
    }

    /// Completes all waiting members with the result of the group.
    fn complete_all(&mut self, ended: Result<(), &Stop>) {
        for member in self.waiting.drain(..) {
            let result = ended.map_err(copied);
            if let Fate::Waits(Some(waker)) = member.fate.replace(Fate::Ended(result)) {
                waker.wake();
            }
        }
    }

    /// Loads rows in a transaction of its own, after the open group.
    fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        if self.running {
            return Err(Stop::Conflict(Cause::Locked));
        }
        self.commit();
        self.connected().load(table, batch)
    }
}

/// Copies a stop for another member of the group.
fn copied(stop: &Stop) -> Stop {
    let boxed = |failure: &Failure| {
        Box::new(Failure {
            kind: failure.kind,
            operation: failure.operation,
            what: format!("the commit that this transaction shared with others failed: {failure}"),
        })
    };
    match stop {
        Stop::Abort => Stop::Abort,
        Stop::Conflict(cause) => Stop::Conflict(*cause),
        Stop::Failed(failure) => Stop::Failed(boxed(failure)),
        Stop::Unknown(failure) => Stop::Unknown(boxed(failure)),
    }
}

/// A client of the queue. Dropping it rolls back its running transaction.
#[derive(Debug)]
pub struct QueueSession {
    group: Rc<RefCell<Group>>,
    member: Rc<Member>,
    replies: Replies,
    pattern: AccessPattern,
    /// True while this client's transaction is the running one.
    running: bool,
}

impl QueueSession {
    fn undo(&mut self) {
        if std::mem::take(&mut self.running) {
            self.group.borrow_mut().undo(self.pattern);
        }
    }
}

impl Session for QueueSession {
    #[inline]
    fn begin(&mut self, pattern: AccessPattern) {
        self.undo();
        self.pattern = pattern;
        self.replies.clear();
    }

    #[inline]
    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        let mut group = self.group.borrow_mut();
        if !self.running {
            group.start(self.pattern)?;
            self.running = true;
        }
        group.run(operation, values, &mut self.replies)
    }

    #[inline]
    async fn receive(&mut self) -> Result<&Rows, Stop> {
        self.replies.receive().ok_or_else(no_operation_pending)
    }

    async fn commit(&mut self) -> Result<(), Stop> {
        if !self.running {
            return Ok(());
        }
        self.group.borrow_mut().release(self.pattern, &self.member)?;
        self.running = false;
        poll_fn(|context| {
            let mut fate = self.member.fate.borrow_mut();
            match std::mem::take(&mut *fate) {
                Fate::Ended(result) => Poll::Ready(result),
                Fate::Waits(mut waker) => {
                    match &mut waker {
                        Some(waker) => waker.clone_from(context.waker()),
                        None => waker = Some(context.waker().clone()),
                    }
                    *fate = Fate::Waits(waker);
                    Poll::Pending
                }
                Fate::Idle => unreachable!("a released member waits or has a result"),
            }
        })
        .await
    }

    async fn abort(&mut self) {
        self.undo();
        self.replies.clear();
        // A pending commit that is given up keeps its old member, whose result is ignored.
        if !matches!(*self.member.fate.borrow(), Fate::Idle) {
            self.member = Rc::default();
        }
    }

    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        self.group.borrow_mut().load(table, batch)
    }
}

impl Drop for QueueSession {
    fn drop(&mut self) {
        self.undo();
    }
}
