//! Reads for checks, each in its own transaction.

use syncline_contract::{AccessPattern, Fields, Read, RequestTracker, Session, Stop, Transaction};

/// Reads a store after the run, each read in its own transaction.
#[derive(Debug)]
pub(crate) struct CheckReader<'s, S> {
    session: &'s mut S,
    requests: RequestTracker,
}

impl<'s, S: Session> CheckReader<'s, S> {
    /// A reader that uses this session.
    pub(crate) fn new(session: &'s mut S) -> CheckReader<'s, S> {
        CheckReader { session, requests: RequestTracker::new(false) }
    }

    /// Applies `take` to the only row of an answer; no row stops the check.
    pub(crate) async fn one<K: Fields, R: Fields, T>(
        &mut self,
        read: &Read<K, R>,
        parameters: K::Of<'_>,
        take: impl FnOnce(R::Of<'_>) -> T,
    ) -> Result<T, Stop> {
        self.session.begin(AccessPattern::Single);
        let mut transaction = Transaction::new(self.session, &mut self.requests);
        let taken = take(transaction.read(read, parameters).await?);
        self.session.commit().await?;
        Ok(taken)
    }

    /// Passes every row of an answer to `take`; returns the number of rows.
    pub(crate) async fn each<K: Fields, R: Fields>(
        &mut self,
        read: &Read<K, R>,
        parameters: K::Of<'_>,
        mut take: impl FnMut(R::Of<'_>),
    ) -> Result<u64, Stop> {
        self.session.begin(AccessPattern::Single);
        let mut transaction = Transaction::new(self.session, &mut self.requests);
        transaction.ask(read, parameters)?;
        let mut rows = 0;
        for row in transaction.answers(read).await? {
            take(row?);
            rows += 1;
        }
        self.session.commit().await?;
        Ok(rows)
    }
}
