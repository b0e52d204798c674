//! How checks read: each read in a transaction of its own.

use syncline_contract::{AccessPattern, Fields, Read, RequestTracker, Session, Stop, Transaction};

/// Reads a store after the run, each read in a transaction of its own.
#[derive(Debug)]
pub(crate) struct CheckReader<'s, S> {
    session: &'s mut S,
    asked: RequestTracker,
}

impl<'s, S: Session> CheckReader<'s, S> {
    /// Through that session.
    pub(crate) fn new(session: &'s mut S) -> CheckReader<'s, S> {
        CheckReader { session, asked: RequestTracker::new(false) }
    }

    /// What `take` makes of the one row of an answer; no row stops the check.
    pub(crate) async fn one<K: Fields, R: Fields, T>(
        &mut self,
        read: &Read<K, R>,
        given: K::Of<'_>,
        take: impl FnOnce(R::Of<'_>) -> T,
    ) -> Result<T, Stop> {
        self.session.begin(AccessPattern::Single);
        let mut transaction = Transaction::new(self.session, &mut self.asked);
        let taken = take(transaction.read(read, given).await?);
        self.session.commit().await?;
        Ok(taken)
    }

    /// Gives every row of an answer to `take`; answers how many there were.
    pub(crate) async fn each<K: Fields, R: Fields>(
        &mut self,
        read: &Read<K, R>,
        given: K::Of<'_>,
        mut take: impl FnMut(R::Of<'_>),
    ) -> Result<u64, Stop> {
        self.session.begin(AccessPattern::Single);
        let mut transaction = Transaction::new(self.session, &mut self.asked);
        transaction.ask(read, given)?;
        let mut rows = 0;
        for row in transaction.answers(read).await? {
            take(row?);
            rows += 1;
        }
        self.session.commit().await?;
        Ok(rows)
    }
}
