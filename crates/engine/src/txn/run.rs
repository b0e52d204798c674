//! Running a closure as a transaction until it commits.
//!
//! A transaction that loses is run again at once. One that keeps losing, for instance because it reads
//! what everybody changes, is at last run alone, with the commit gate closed: then nobody changes
//! anything, and it wins. One that only reads gains nothing by that: what ended it, such as a snapshot that
//! is older than the versions that are kept, would end it again. Its caller gets the conflict. So does the
//! caller of a closure that answers a conflict even when it runs alone: it is not the transaction's own. So
//! every run ends.

use crate::error::{Error, Result};
use crate::log::Ticket;
use crate::txn::conflict::Conflict;
use crate::txn::session::Session;
use crate::txn::transaction::Begin;
use std::sync::atomic::Ordering;
use syncline_vfs::Disk;

impl<D: Disk> Session<D> {
    /// Runs `body` in a transaction and commits it. It is run again after a conflict, so it changes
    /// nothing but through the session. If it fails otherwise, or panics, the transaction is aborted. A
    /// tree that was dropped or renewed is no conflict to be tried again. A conflict of the last run, which
    /// is alone where the transaction writes, is the answer.
    pub(crate) fn run<R>(
        &mut self,
        begin: Begin,
        mut body: impl FnMut(&mut Session<D>) -> Result<R>,
    ) -> Result<(R, Ticket)> {
        let may_run_alone = matches!(begin, Begin::Serializable | Begin::Snapshot);
        let mut runs = 0_u32;
        loop {
            let is_last = runs > self.core().options.retries_max;
            if is_last && may_run_alone {
                self.begin_exclusive_by_caller()?;
            } else {
                self.begin(begin)?;
            }
            match self.attempt(&mut body) {
                // A handle that is stale now stays so.
                Err(Error::Conflict(conflict)) if conflict != Conflict::Dropped && !is_last => {
                    if conflict == Conflict::MadeLater {
                        // Who reads what is stable sees what was made once that is stable, too.
                        self.core().log.flush()?;
                    }
                }
                result => return result,
            }
            runs = runs.saturating_add(1);
            self.count_retry();
        }
    }

    fn attempt<R>(
        &mut self,
        body: &mut impl FnMut(&mut Session<D>) -> Result<R>,
    ) -> Result<(R, Ticket)> {
        let guard = AbortOnPanic(self);
        match body(guard.0) {
            Ok(result) => Ok((result, guard.0.commit()?)),
            Err(error) => {
                guard.0.abort();
                Err(error)
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
