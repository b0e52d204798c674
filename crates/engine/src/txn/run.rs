//! Running a closure as a transaction until it commits.
//!
//! A transaction that loses is run again at once. One that keeps losing, for instance because it reads
//! what everybody changes, is at last run alone, with the commit gate closed: then nobody changes
//! anything, and it wins.

use crate::error::{Error, Result};
use crate::log::Ticket;
use crate::txn::conflict::Conflict;
use crate::txn::session::Session;
use crate::txn::transaction::Begin;
use std::sync::atomic::Ordering;
use syncline_disk::Disk;

impl<D: Disk> Session<D> {
    /// Runs `body` in a transaction and commits it. It is run again after a conflict, so it changes
    /// nothing but through the session. If it fails otherwise, the transaction is aborted. A tree that
    /// was dropped or renewed is no conflict to be tried again.
    pub(crate) fn run<R>(
        &mut self,
        begin: Begin,
        mut body: impl FnMut(&mut Session<D>) -> Result<R>,
    ) -> Result<(R, Ticket)> {
        let may_run_alone = matches!(begin, Begin::Serializable | Begin::Snapshot);
        let mut runs = 0;
        loop {
            if runs > self.core().options.retries_max && may_run_alone {
                self.begin_exclusive()?;
            } else {
                self.begin(begin)?;
            }
            match self.attempt(&mut body) {
                // A handle that is stale now stays so.
                Err(Error::Conflict(conflict)) if conflict != Conflict::Dropped => {
                    if conflict == Conflict::MadeLater {
                        // Who reads what is stable sees what was made once that is stable, too.
                        self.core().log.flush()?;
                    }
                }
                result => return result,
            }
            runs += 1;
            self.count_retry();
        }
    }

    fn attempt<R>(
        &mut self,
        body: &mut impl FnMut(&mut Session<D>) -> Result<R>,
    ) -> Result<(R, Ticket)> {
        match body(self) {
            Ok(result) => Ok((result, self.commit()?)),
            Err(error) => {
                self.abort();
                Err(error)
            }
        }
    }

    fn count_retry(&self) {
        let stripe = self.core().counters.of(self.seat());
        stripe.retries.fetch_add(1, Ordering::Relaxed);
    }
}
