//! Runs a closure as a transaction until it commits.
//!
//! A transaction that loses is run again at once. One that keeps losing, for instance because it reads rows
//! that all transactions change, is finally run exclusively, with the commit gate closed: then no other
//! transaction changes anything, and it wins. A transaction that only reads gains nothing by that: its
//! conflict, such as a snapshot older than the versions in memory, would occur again. Its caller gets the
//! conflict. So does the caller of a closure that returns a conflict even when it runs exclusively: the
//! conflict is not the transaction's own. So the runs end.

use crate::conflict::Conflict;
use crate::error::{Error, Result};
use crate::log::Ticket;
use crate::txn::session::Session;
use crate::txn::transaction::Begin;
use std::sync::atomic::Ordering;
use syncline_vfs::Disk;

impl<D: Disk> Session<D> {
    /// Runs `body` in a transaction and commits it. After a conflict `body` runs again, so it must have no
    /// effects outside the session. If it fails for another reason, or panics, the transaction is aborted. A
    /// dropped or renewed tree is not retried. A conflict of the last run, which is exclusive for a
    /// transaction that writes, is returned.
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
                // A stale handle stays stale.
                Err(Error::Conflict(conflict)) if conflict != Conflict::Dropped && !is_last => {
                    if conflict == Conflict::MadeLater {
                        // A reader of durable state sees the new object once the log is stable.
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
