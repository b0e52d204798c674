//! A session runs one transaction after another, on the thread of its caller.
//!
//! A transaction reuses the memory of an earlier one on the thread: a begin allocates nothing. A conflict
//! breaks the transaction; each further call returns that conflict until the transaction is aborted or its
//! commit fails. Rows are read and written in `rows`.

use crate::buffer::{MemoryNeed, retry_at_cap};
use crate::conflict::Conflict;
use crate::error::{Error, Result};
use crate::ids::Csn;
use crate::log::Ticket;
use crate::planted_bug::{PlantedBug, planted};
use crate::step::{Step, step};
use crate::thread_slot;
use crate::txn::commit::commit;
use crate::txn::commit_gate::{ClosedBy, ClosedGate};
use crate::txn::commit_path::StagedCommit;
use crate::txn::core::Core;
use crate::txn::part_timers::SAMPLED_ONE_IN;
use crate::txn::record::{Operation, add};
use crate::txn::row_view_guard::check_not_in_row_view;
use crate::txn::transaction::{Begin, Transaction};
use crate::txn::write_set::Savepoint;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use syncline_instrument::{Module, clock, tag};
use syncline_vfs::Disk;

/// Commits of a session that validate early after a conflict.
const WARY_COMMITS: u32 = 32;

/// The number of sessions that the process has had.
static SESSIONS: AtomicU64 = AtomicU64::new(0);

/// A seat in the registry, with the open transaction if there is one.
pub(crate) struct Session<D: Disk> {
    core: Arc<Core<D>>,
    /// Its seat in the registry.
    seat: u32,
    /// Its number among all sessions of the process.
    number: u64,
    /// The number of transactions that it has begun.
    begun: u64,
    /// Its last commit; the next field bounds the length of that commit's log record in bytes.
    last: Csn,
    record_bytes_max: usize,
    /// The next commits that validate early.
    wary: u32,
    txn: Option<Box<Transaction>>,
    /// The last commit, if it is timed and not yet acknowledged.
    staged: Cell<Option<StagedCommit>>,
}

impl<D: Disk> Session<D> {
    /// A new session. Fails beyond [`SESSIONS_MAX`](crate::txn::registry::SESSIONS_MAX).
    pub(crate) fn new(core: &Arc<Core<D>>) -> Result<Session<D>> {
        let seat = core.registry.claim()?;
        Ok(Session {
            core: Arc::clone(core),
            seat,
            number: SESSIONS.fetch_add(1, Ordering::Relaxed),
            begun: 0,
            last: Csn::ZERO,
            record_bytes_max: 0,
            wary: 0,
            txn: None,
            staged: Cell::new(None),
        })
    }

    /// The core that the sessions share.
    pub(crate) fn core(&self) -> &Arc<Core<D>> {
        &self.core
    }

    /// Begins a transaction. Even if the log has failed, read-only transactions work.
    #[inline]
    pub(crate) fn begin(&mut self, begin: Begin) -> Result<()> {
        self.begin_at(begin, false)
    }

    #[inline]
    fn begin_at(&mut self, begin: Begin, runs_alone: bool) -> Result<()> {
        let _entered = tag::enter(Module::TransactionControl);
        check_not_in_row_view()?;
        self.check_none_open()?;
        let core = &*self.core;
        let begin = if core.options.read_only { Begin::ReadOnly } else { begin };
        self.begun += 1;
        let is_measured = self.begun.is_multiple_of(SAMPLED_ONE_IN.into());
        let begun = is_measured.then(clock::now);
        match begin {
            Begin::Serializable | Begin::Snapshot => {
                core.log.check()?;
                // This session's commits may wait for others to be published.
                core.wait_published(self.last)?;
            }
            Begin::ReadOnly => core.wait_stable(self.last)?,
            Begin::ReadOnlyDurable => {}
        }
        step(Step::Begin);
        let mut txn = core.idle.take(thread_slot::of(self.seat));
        txn.seat = self.seat;
        txn.is_measured = is_measured;
        txn.is_wary = self.wary > 0;
        let log = &core.log;
        let is_read_only = matches!(begin, Begin::ReadOnly | Begin::ReadOnlyDurable);
        // The published prefix is never behind the durable LSN, and costs more to read.
        let floor = log.durable_lsn();
        txn.read_point = core.registry.enter(txn.seat, floor, || {
            step(Step::Begin);
            match begin {
                _ if is_read_only && !planted(PlantedBug::ReadUnstable) => log.durable_lsn(),
                // It reads the newest rows in any case: its point moves when it meets a newer one.
                Begin::Serializable if !runs_alone => log.known_published(),
                _ => log.published(),
            }
        });
        txn.kind = Some(begin);
        if let Some(begin) = begun {
            txn.marks.begin = begin;
            txn.marks.begun = clock::now();
        }
        self.txn = Some(txn);
        Ok(())
    }

    /// Begins an exclusive serializable transaction for the engine's own work: the commit gate is closed
    /// until it ends. Others read meanwhile, and wait to commit. It gets no conflict.
    pub(crate) fn begin_exclusive(&mut self) -> Result<()> {
        self.begin_closed(ClosedBy::Engine)
    }

    /// The same for a caller, who decides when it ends: others wait for it for a limited time.
    pub(crate) fn begin_exclusive_by_caller(&mut self) -> Result<()> {
        self.begin_closed(ClosedBy::Caller)
    }

    fn begin_closed(&mut self, by: ClosedBy) -> Result<()> {
        check_not_in_row_view()?;
        self.check_none_open()?;
        if by == ClosedBy::Caller {
            self.core.check_writable()?;
        }
        self.core.log.check()?;
        let closed = self.core.close_gate_by(by)?;
        self.begin_with(closed)
    }

    /// The same with a gate that is already closed.
    pub(crate) fn begin_with(&mut self, closed: ClosedGate) -> Result<()> {
        self.check_none_open()?;
        self.begin_at(Begin::Serializable, true)?;
        self.begun().alone = Some(closed);
        let stripe = self.core.counters.of(self.seat);
        stripe.exclusive_runs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Its seat in the registry.
    pub(super) fn seat(&self) -> u32 {
        self.seat
    }

    /// Core and transaction for a call within a transaction.
    #[inline]
    pub(super) fn open(&mut self) -> Result<(&Core<D>, &mut Transaction)> {
        match self.txn.as_deref_mut() {
            Some(txn) => Ok((&self.core, txn)),
            None => Err(Error::NotBegun),
        }
    }

    /// The open transaction.
    pub(super) fn transaction(&self) -> Option<&Transaction> {
        self.txn.as_deref()
    }

    /// The transaction. The caller has checked that one is open.
    fn begun(&mut self) -> &mut Transaction {
        let txn = self.txn.as_deref_mut();
        txn.expect("the caller has checked that a transaction is open")
    }

    /// Fails if no transaction is open.
    pub(crate) fn check_open(&self) -> Result<()> {
        match self.txn {
            Some(_) => Ok(()),
            None => Err(Error::NotBegun),
        }
    }

    /// Fails if a transaction is open, which stays as it is.
    #[inline]
    fn check_none_open(&self) -> Result<()> {
        match self.txn {
            Some(_) => Err(Error::AlreadyBegun),
            None => Ok(()),
        }
    }

    /// The conflict that broke the open transaction, if one did.
    pub(super) fn conflict(&self) -> Option<Conflict> {
        self.txn.as_ref()?.broken
    }

    /// True if the transaction is exclusive.
    #[cfg(test)]
    pub(crate) fn runs_alone(&self) -> bool {
        self.txn.as_ref().is_some_and(|txn| txn.alone.is_some())
    }

    /// True while a transaction is open.
    pub(crate) fn is_open(&self) -> bool {
        self.txn.is_some()
    }

    /// The transaction sees the store after this commit and before the next.
    pub(crate) fn read_point(&mut self) -> Csn {
        self.begun().read_point
    }

    /// Adds an operation on a whole tree to the log record: creations precede the rows, drops follow them.
    /// The caller is exclusive and changes the tree itself.
    pub(crate) fn note(&mut self, operation: Operation<'_>) -> Result<()> {
        let (_, txn) = self.open()?;
        txn.check()?;
        assert!(txn.alone.is_some(), "only an exclusive transaction makes and drops trees");
        match operation {
            Operation::CreateTree(_) => add(&mut txn.commit.before_rows, operation),
            Operation::DropTree(_) => {
                add(&mut txn.commit.behind_rows, operation);
            }
            Operation::Put { .. } | Operation::Delete { .. } | Operation::Splice { .. } => {
                panic!("rows are written by put, patch and delete")
            }
        }
        Ok(())
    }

    /// Runs `attempt`, which makes pages. If it is refused memory, reclaims what it needs and tries again.
    /// For exclusive transactions.
    pub(crate) fn with_memory<R>(
        &mut self,
        needed: MemoryNeed,
        mut attempt: impl FnMut() -> Result<R>,
    ) -> Result<R> {
        let (core, txn) = self.open()?;
        retry_at_cap(txn, |txn| core.reclaim(Some(txn), needed), |_txn| attempt())
    }

    /// A point to which the transaction's writes can be rolled back. Reads stay recorded.
    pub(crate) fn savepoint(&mut self) -> Savepoint {
        self.begun().writes.savepoint()
    }

    /// Undoes the writes since a savepoint that is still valid.
    pub(crate) fn rollback_to(&mut self, savepoint: Savepoint) {
        self.begun().writes.rollback_to(savepoint);
    }

    /// False if the transaction was rolled back to an earlier savepoint since.
    pub(crate) fn can_roll_back_to(&mut self, savepoint: Savepoint) -> bool {
        self.begun().writes.reaches(savepoint)
    }

    /// Identifies the open transaction among all of the process.
    pub(crate) fn transaction_number(&self) -> (u64, u64) {
        (self.number, self.begun)
    }

    /// Commits. The transaction is over in any case. The ticket is complete when the commit, or without
    /// writes everything that was read, is stable: see [`Session::wait`].
    #[inline]
    pub(crate) fn commit(&mut self) -> Result<Ticket> {
        check_not_in_row_view()?;
        let (_, txn) = self.open()?;
        let is_measured = txn.is_measured;
        if is_measured {
            txn.marks.called = clock::now();
        }
        let result = self.try_commit();
        if is_measured {
            self.keep_marks(&result);
        }
        self.end();
        result
    }

    /// Keeps the times of a commit that writes, until it is acknowledged.
    #[cold]
    fn keep_marks(&mut self, result: &Result<Ticket>) {
        let last = self.last;
        let txn = self.begun();
        txn.marks.staged = clock::now();
        let ticket = result.as_ref().ok();
        let wrote = ticket.filter(|ticket| ticket.csn == last && !txn.writes.is_empty());
        let staged = wrote.map(|ticket| StagedCommit { csn: ticket.csn, marks: txn.marks });
        self.staged.set(staged);
    }

    /// Call this once a ticket of this session is known to be complete, so that the path of its commit can
    /// end. [`Session::wait`] does it itself.
    #[inline]
    pub(crate) fn acknowledged(&self, ticket: Ticket) {
        let _entered = tag::enter(Module::TransactionControl);
        if let Some(staged) = self.staged.take() {
            self.end_path(staged, ticket);
        }
    }

    #[cold]
    fn end_path(&self, staged: StagedCommit, ticket: Ticket) {
        if staged.csn == ticket.csn
            && let Some(group) = self.core.log.group_of(ticket.csn)
        {
            let path = staged.path(group, clock::now());
            self.core.paths.add(path);
        }
    }

    /// The same for an exclusive session; the gate is still closed afterwards, in any case.
    pub(crate) fn commit_closed(&mut self) -> (Result<Ticket>, ClosedGate) {
        let result = self.try_commit();
        let closed = self.begun().alone.take();
        self.end();
        (result, closed.expect("only an exclusive session keeps the gate closed"))
    }

    #[inline]
    fn try_commit(&mut self) -> Result<Ticket> {
        let txn = self.txn.as_deref_mut();
        let txn = txn.expect("a transaction must begin before it commits");
        let core = &*self.core;
        let _entered = tag::enter(Module::TransactionControl);
        let stripe = core.counters.of(txn.seat);
        let has_writes = !txn.writes.is_empty() || txn.commit.has_whole_trees();
        let result = match txn.broken {
            Some(conflict) => Err(Error::Conflict(conflict)),
            None if has_writes => commit(core, txn),
            // All reads are of one moment, the read point: the transaction is serialized there.
            None => Ok(core.log.ticket(txn.depends_on())),
        };
        self.wary = match &result {
            Err(Error::Conflict(_)) => WARY_COMMITS,
            _ => self.wary.saturating_sub(1),
        };
        match &result {
            Ok(ticket) if has_writes => {
                self.last = ticket.csn;
                self.record_bytes_max = txn.commit.record_bytes_max;
                stripe.commits.fetch_add(1, Ordering::Relaxed);
            }
            Ok(_) => {
                stripe.commits_without_writes.fetch_add(1, Ordering::Relaxed);
            }
            Err(Error::Conflict(conflict)) => stripe.conflict(*conflict),
            Err(_) => {
                stripe.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
        result
    }

    /// Commits with durability none: the commit is complete now, and may be lost until the log, which is
    /// woken at once, has written it.
    pub(crate) fn commit_unsynced(&mut self) -> Result<Csn> {
        let ticket = self.commit()?;
        self.core.log.nudge();
        Ok(ticket.csn)
    }

    /// An upper bound of the last commit's log record, in bytes.
    #[inline]
    pub(crate) fn record_bytes_max(&self) -> usize {
        self.record_bytes_max
    }

    /// Waits until a ticket is complete. If no write is in flight, the caller writes.
    #[inline]
    pub(crate) fn wait(&self, ticket: Ticket) -> Result<()> {
        check_not_in_row_view()?;
        self.core.log.wait(ticket)?;
        self.acknowledged(ticket);
        Ok(())
    }

    /// Ends the transaction, if there is one, without effects.
    pub(crate) fn abort(&mut self) {
        let Some(txn) = &self.txn else {
            return;
        };
        let stripe = self.core.counters.of(self.seat);
        match txn.broken {
            Some(conflict) => stripe.conflict(conflict),
            None => {
                stripe.aborts.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.end();
    }

    #[inline]
    fn end(&mut self) {
        let _entered = tag::enter(Module::TransactionControl);
        self.core.registry.leave(self.seat);
        let Some(txn) = self.txn.take() else {
            return;
        };
        // Memory of a panicked transaction is not reused.
        if !std::thread::panicking() {
            self.core.idle.give(thread_slot::of(self.seat), txn);
        }
    }
}

impl<D: Disk> Drop for Session<D> {
    fn drop(&mut self) {
        self.abort();
        self.core.registry.release(self.seat);
    }
}
