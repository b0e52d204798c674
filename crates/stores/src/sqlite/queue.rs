//! The queue: one connection for all clients of a worker, one COMMIT for all that are ready.
//!
//! States of the one connection, and who moves between them:
//!
//! | state | means | left by |
//! |---|---|---|
//! | idle | no transaction is open | the first operation of a client: BEGIN IMMEDIATE |
//! | running | one client's transaction, inside a savepoint (a single operation needs none) | its commit: RELEASE; its abort: ROLLBACK TO |
//! | gathered | clients wait whose transactions are released | the next client, or the end of the pass: COMMIT |
//!
//! Invariants:
//! 1. At most one client's transaction is running. A second one that would start meanwhile is a
//!    conflict (`locked`): its work would become part of the other's savepoint.
//! 2. A client is told of its commit only by the COMMIT that held it, or by the error that ended the
//!    whole group: SQLite undoes everything open after some errors.
//! 3. The COMMIT never runs while a client's transaction is running; it then comes with that one's
//!    end.
//! 4. A client that reads what an earlier one of the group wrote commits in the same COMMIT, so the
//!    order of transactions is the order of their savepoints.

use super::execute::{Connected, Control};
use super::session::nothing_asked;
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

    /// A session on the worker's connection, which the first session of a plan opens.
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
            shape: AccessPattern::Single,
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

/// A client's seat in the group.
#[derive(Debug, Default)]
struct Member {
    fate: RefCell<Fate>,
}

/// What became of a member's commit.
#[derive(Debug, Default)]
enum Fate {
    /// It does not wait.
    #[default]
    Away,
    /// It waits for the group's COMMIT.
    Waits(Option<Waker>),
    /// The group has ended.
    Told(Result<(), Stop>),
}

/// The one connection and those who wait for its COMMIT.
#[derive(Debug, Default)]
struct Group {
    connected: Option<Connected>,
    /// True while a client's transaction is running.
    running: bool,
    /// True if a pass ended while one was running (invariant 3).
    overdue: bool,
    waiting: Vec<Rc<Member>>,
}

impl Group {
    fn connected(&mut self) -> &mut Connected {
        self.connected.as_mut().expect("a session exists only after its connection was opened")
    }

    /// Starts a client's transaction, and the group's if it is the first.
    #[inline]
    fn start(&mut self, shape: AccessPattern) -> Result<(), Stop> {
        if self.running {
            return Err(Stop::Conflict(Cause::Locked));
        }
        if self.connected().is_autocommit() {
            self.connected().control(Control::BeginImmediate)?;
        }
        if shape != AccessPattern::Single {
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
            // SQLite has undone the whole group, not this statement alone.
            self.tell(Err(stop));
        }
        done
    }

    /// Ends a client's transaction and seats it among those who wait.
    #[inline]
    fn release(&mut self, shape: AccessPattern, member: &Rc<Member>) -> Result<(), Stop> {
        if shape != AccessPattern::Single {
            self.connected().control(Control::Release)?;
        }
        self.running = false;
        member.fate.replace(Fate::Waits(None));
        self.waiting.push(Rc::clone(member));
        self.commit_if_overdue();
        Ok(())
    }

    /// Undoes a client's running transaction.
    fn undo(&mut self, shape: AccessPattern) {
        self.running = false;
        if shape != AccessPattern::Single && !self.connected().is_autocommit() {
            let undone = self
                .connected()
                .control(Control::RollbackTo)
                .and_then(|()| self.connected().control(Control::Release));
            if let Err(stop) = undone {
                // What cannot be undone alone must not be committed with the others.
                self.rollback();
                self.tell(Err(&stop));
            }
        }
        self.commit_if_overdue();
    }

    #[inline]
    fn pass_ended(&mut self) {
        if self.running {
            self.overdue = true;
        } else {
            self.commit();
        }
    }

    fn commit_if_overdue(&mut self) {
        if std::mem::take(&mut self.overdue) {
            self.commit();
        }
    }

    /// Commits what is open and tells everyone who waits.
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
        self.tell(committed.as_ref().copied());
    }

    fn rollback(&mut self) {
        if !self.connected().is_autocommit() {
            // If it fails the transaction stays open and the next statement says so.
            drop(self.connected().control(Control::Rollback));
        }
    }

    /// Tells everyone who waits how the group ended.
    fn tell(&mut self, ended: Result<(), &Stop>) {
        for member in self.waiting.drain(..) {
            let told = ended.map_err(copied);
            if let Fate::Waits(Some(waker)) = member.fate.replace(Fate::Told(told)) {
                waker.wake();
            }
        }
    }

    /// Loads rows in a transaction of its own, after the group that is open.
    fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        if self.running {
            return Err(Stop::Conflict(Cause::Locked));
        }
        self.commit();
        self.connected().load(table, batch)
    }
}

/// The same stop for another member of the group.
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

/// A client of the queue. Dropping it undoes what it has running.
#[derive(Debug)]
pub struct QueueSession {
    group: Rc<RefCell<Group>>,
    member: Rc<Member>,
    replies: Replies,
    shape: AccessPattern,
    /// True while this client's transaction is the running one.
    running: bool,
}

impl QueueSession {
    fn undo(&mut self) {
        if std::mem::take(&mut self.running) {
            self.group.borrow_mut().undo(self.shape);
        }
    }
}

impl Session for QueueSession {
    #[inline]
    fn begin(&mut self, shape: AccessPattern) {
        self.undo();
        self.shape = shape;
        self.replies.clear();
    }

    #[inline]
    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        let mut group = self.group.borrow_mut();
        if !self.running {
            group.start(self.shape)?;
            self.running = true;
        }
        group.run(operation, values, &mut self.replies)
    }

    #[inline]
    async fn receive(&mut self) -> Result<&Rows, Stop> {
        self.replies.receive().ok_or_else(nothing_asked)
    }

    async fn commit(&mut self) -> Result<(), Stop> {
        if !self.running {
            return Ok(());
        }
        self.group.borrow_mut().release(self.shape, &self.member)?;
        self.running = false;
        poll_fn(|context| {
            let mut fate = self.member.fate.borrow_mut();
            match std::mem::take(&mut *fate) {
                Fate::Told(told) => Poll::Ready(told),
                Fate::Waits(mut waker) => {
                    match &mut waker {
                        Some(waker) => waker.clone_from(context.waker()),
                        None => waker = Some(context.waker().clone()),
                    }
                    *fate = Fate::Waits(waker);
                    Poll::Pending
                }
                Fate::Away => unreachable!("a released member waits or is told"),
            }
        })
        .await
    }

    async fn abort(&mut self) {
        self.undo();
        self.replies.clear();
        // A commit that was waited for and given up keeps its old seat, to be told unheard.
        if !matches!(*self.member.fate.borrow(), Fate::Away) {
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
