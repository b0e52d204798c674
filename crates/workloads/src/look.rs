//! What checks share: reads in transactions of their own, and the count of what was found wrong.

use syncline_contract::{
    Asked, Check, CheckOutcome, Fields, Read, Session, Shape, Stop, Transaction,
};

/// Reads a store after the run, each read in a transaction of its own.
#[derive(Debug)]
pub(crate) struct Look<'s, S> {
    session: &'s mut S,
    asked: Asked,
}

impl<'s, S: Session> Look<'s, S> {
    /// Through that session.
    pub(crate) fn new(session: &'s mut S) -> Look<'s, S> {
        Look {
            session,
            asked: Asked::new(false),
        }
    }

    /// What `take` makes of the one row of an answer; no row stops the check.
    pub(crate) async fn one<K: Fields, R: Fields, T>(
        &mut self,
        read: &Read<K, R>,
        given: K::Of<'_>,
        take: impl FnOnce(R::Of<'_>) -> T,
    ) -> Result<T, Stop> {
        self.session.begin(Shape::Single);
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
        self.session.begin(Shape::Single);
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

/// How much was found wrong, with the first instance in words.
#[derive(Debug, Default)]
pub(crate) struct Wrong {
    count: u64,
    first: Option<String>,
}

impl Wrong {
    /// Adds an instance.
    pub(crate) fn add(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some(what());
        }
    }

    /// Adds an instance unless that is true.
    pub(crate) fn unless(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        if !is_right {
            self.add(what);
        }
    }

    /// The verdict.
    pub(crate) fn check(self, name: &str) -> Check {
        let outcome = match self.first {
            None => CheckOutcome::Held,
            Some(first) if self.count == 1 => CheckOutcome::Violated(first),
            Some(first) => CheckOutcome::Violated(format!("{} times; first: {first}", self.count)),
        };
        Check {
            name: name.to_owned(),
            outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Wrong;
    use syncline_contract::CheckOutcome;

    #[test]
    fn the_first_of_several_is_told_with_their_count() {
        let outcome = |wrong: Wrong| wrong.check("name").outcome;
        assert_eq!(outcome(Wrong::default()), CheckOutcome::Held);
        let mut wrong = Wrong::default();
        wrong.unless(true, || unreachable!("nothing is wrong"));
        wrong.unless(false, || "one".to_owned());
        wrong.add(|| "two".to_owned());
        assert_eq!(
            outcome(wrong),
            CheckOutcome::Violated("2 times; first: one".to_owned())
        );
    }
}
