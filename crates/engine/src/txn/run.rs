//! Runs a closure as a transaction until it commits.
//!
//! A transaction that loses is run again at once. One that keeps losing, for instance because it reads rows
//! that all transactions change, is finally run exclusively, with the commit gate closed: then no other
//! transaction changes anything, and it wins. A transaction that only reads gains nothing by that: its
//! conflict, such as a snapshot older than the versions in memory, would occur again. Its caller gets the
//! conflict. So the runs end.
//!
//! Whether a transaction has lost is known to its session, whatever error the closure returns: nothing that
//! the closure concluded from a broken transaction counts. An error of the closure with its transaction
//! intact ends the runs; so does a conflict of another session that the closure returns.

use crate::conflict::Conflict;
use crate::error::{Error, Result};
use crate::log::Ticket;
use crate::txn::session::Session;
use crate::txn::transaction::Begin;
use std::sync::atomic::Ordering;
use syncline_vfs::Disk;

/// Why a run did not commit.
struct Failed<E> {
    error: E,
    /// The conflict that broke the transaction, if one did.
    conflict: Option<Conflict>,
}

impl<D: Disk> Session<D> {
    /// Runs `body` in a transaction and commits it. After a conflict `body` runs again, so it must have no
    /// effects outside the session and `context`. If it fails for another reason, or panics, the transaction
    /// is aborted. A dropped or renewed tree is not retried. A conflict of the last run, which is exclusive
    /// for a transaction that writes, is returned. `of_engine` makes an error of the caller from one of
    /// begin or commit.
    pub(crate) fn run_with<C, R, E>(
        &mut self,
        begin: Begin,
        context: &mut C,
        mut body: impl FnMut(&mut Session<D>, &mut C) -> Result<R, E>,
        of_engine: impl Fn(&C, Error) -> E,
    ) -> Result<(R, Ticket), E> {
        let may_run_alone = matches!(begin, Begin::Serializable | Begin::Snapshot);
        let mut runs = 0_u32;
        loop {
            let is_last = runs > self.core().options.retries_max;
            let begun = if is_last && may_run_alone {
                self.begin_exclusive_by_caller()
            } else {
                self.begin(begin)
            };
            begun.map_err(|error| of_engine(context, error))?;
            let failed = match self.attempt(context, &mut body, &of_engine) {
                Ok(done) => return Ok(done),
                Err(failed) => failed,
            };
            match failed.conflict {
                // A stale handle stays stale.
                Some(conflict) if conflict != Conflict::Dropped && !is_last => {
                    if conflict == Conflict::MadeLater {
                        // A reader of durable state sees the new object once the log is stable.
                        let flushed = self.core().log.flush();
                        flushed.map_err(|error| of_engine(context, error))?;
                    }
                }
                _ => return Err(failed.error),
            }
            runs = runs.saturating_add(1);
            self.count_retry();
        }
    }

    /// The same without a context, for errors of the engine.
    #[cfg(test)]
    pub(crate) fn run<R>(
        &mut self,
        begin: Begin,
        mut body: impl FnMut(&mut Session<D>) -> Result<R>,
    ) -> Result<(R, Ticket)> {
        self.run_with(begin, &mut (), |session, ()| body(session), |(), error| error)
    }

    fn attempt<C, R, E>(
        &mut self,
        context: &mut C,
        body: &mut impl FnMut(&mut Session<D>, &mut C) -> Result<R, E>,
        of_engine: &impl Fn(&C, Error) -> E,
    ) -> Result<(R, Ticket), Failed<E>> {
        let guard = AbortOnPanic(self);
        match body(guard.0, context) {
            Ok(result) => match guard.0.commit() {
                Ok(ticket) => Ok((result, ticket)),
                Err(error) => {
                    let conflict = error.conflict();
                    Err(Failed { error: of_engine(context, error), conflict })
                }
            },
            Err(error) => {
                let conflict = guard.0.conflict();
                guard.0.abort();
                Err(Failed { error, conflict })
            }
        }
    }

    fn count_retry(&self) {
        let stripe = self.core().counters.of(self.seat());
        stripe.retries.fetch_add(1, Ordering::Relaxed);
    }
}

/// Ends the transaction of a closure that panics, so that the session can be used again.
struct AbortOnPanic<'s, D: Disk>(&'s mut Session<D>);

impl<D: Disk> Drop for AbortOnPanic<'_, D> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abort();
        }
    }
}
